//! Threads of our own.

use super::cores::Cores;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// So many threads to share work among. Making them takes longer than most work, so that they are kept.
///
/// A process that was forked has this memory, but not these threads: it makes its own. Who forks while another
/// thread is just asking for threads finds the lock taken; who cannot rule that out asks before it goes on.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Threads {
    number: usize,
    /// None where one thread, the caller's, is enough, or where the system gives no more.
    pool: Option<Arc<Pool>>,
}

#[derive(Debug)]
struct Pool {
    threads: ThreadPool,
    cores: Cores,
}

/// A pool, and whose it is.
struct Kept {
    process: u32,
    pool: Arc<Pool>,
}

/// So many numbers of threads are kept apart.
const MOST_POOLS: usize = 4;

/// More threads than this are not made, whatever is asked for.
const MOST_THREADS: usize = 256;

impl Threads {
    /// So many, the caller's among them.
    #[doc(hidden)]
    pub fn new(number: usize) -> Threads {
        let number = number.clamp(1, MOST_THREADS);
        Threads { number, pool: if number == 1 { None } else { pool(number) } }
    }

    /// Does some work for which the caller waits.
    #[doc(hidden)]
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.threads.install(work),
            // What shares its work among others finds none.
            None => match pool(1) {
                Some(pool) => pool.threads.install(work),
                None => work(),
            },
        }
    }

    /// How many take part.
    pub(super) fn number(&self) -> usize {
        if self.pool.is_some() { self.number } else { 1 }
    }

    /// Work that the caller shares with the others.
    pub(super) fn share<'s, R>(&self, work: impl FnOnce(&Scope<'s>) -> R) -> R {
        let Some(pool) = &self.pool else {
            return rayon::in_place_scope(work);
        };
        let _elsewhere = pool.cores.elsewhere();
        pool.threads.in_place_scope(work)
    }
}

fn pool(number: usize) -> Option<Arc<Pool>> {
    static POOLS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    let process = std::process::id();
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.first().is_some_and(|kept| kept.process != process) {
        // To end them, their threads would have to be there.
        std::mem::forget(std::mem::take(&mut *pools));
    }
    if let Some(kept) = pools.iter().find(|kept| kept.pool.threads.current_num_threads() == number) {
        return Some(kept.pool.clone());
    }
    let name = |number| format!("unishape {number}");
    let cores = Cores::new(number);
    let threads =
        ThreadPoolBuilder::new().num_threads(number).thread_name(name).start_handler(cores.when_begun());
    let pool = Arc::new(Pool { threads: threads.build().ok()?, cores });
    if pools.len() == MOST_POOLS {
        pools.remove(0);
    }
    pools.push(Kept { process, pool: pool.clone() });
    Some(pool)
}
