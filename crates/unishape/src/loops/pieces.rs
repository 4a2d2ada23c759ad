//! Large work cut into pieces that several threads do.

use super::plan::Plan;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// Below this many bytes read and written, a second thread costs more than it saves.
pub(crate) const WORTH_A_THREAD: usize = 1 << 20;

/// Whether work is so large that it is cut up. `bytes` are those read and written for one element.
#[inline]
pub(crate) fn is_worth_a_thread(plan: &Plan, bytes: usize) -> bool {
    plan.len().saturating_mul(bytes) > WORTH_A_THREAD
}

/// Does the work of a plan, in tiles where that helps, and in parallel where it is large. `bytes` are those
/// read and written for one element.
#[inline]
pub(crate) fn in_pieces(plan: Plan, bytes: usize, work: &(impl Fn(&Plan) + Sync)) {
    if !is_worth_a_thread(&plan, bytes) {
        return work(&plan);
    }
    for plan in plan.tiled() {
        split(plan, WORTH_A_THREAD / bytes.max(1), work);
    }
}

/// Does some work with so many threads to share it among.
pub(crate) fn with_threads(threads: usize, work: impl FnOnce() + Send) {
    /// Making threads takes longer than most work, so that they are kept.
    static POOLS: Mutex<Vec<(usize, Arc<ThreadPool>)>> = Mutex::new(Vec::new());
    if threads == rayon::current_num_threads() {
        return work();
    }
    let pool = {
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        match pools.iter().find(|(number, _)| *number == threads) {
            Some((_, pool)) => Some(pool.clone()),
            None => ThreadPoolBuilder::new().num_threads(threads).build().ok().map(|pool| {
                let pool = Arc::new(pool);
                if pools.len() == MOST_POOLS {
                    pools.remove(0);
                }
                pools.push((threads, pool.clone()));
                pool
            }),
        }
    };
    match pool {
        Some(pool) => pool.install(work),
        // The system gives no more threads; the work is done on those that are there.
        None => work(),
    }
}

/// So many numbers of threads are kept apart.
const MOST_POOLS: usize = 4;

/// Halves the work until a piece has so few elements.
fn split(plan: Plan, few: usize, work: &(impl Fn(&Plan) + Sync)) {
    match plan.halves(64) {
        Some((first, second)) if plan.len() > few => {
            rayon::join(|| split(first, few, work), || split(second, few, work));
        }
        _ => work(&plan),
    }
}
