//! The threads that large work is shared among.

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// A pool, whose it is, and how many threads it has.
struct Kept {
    process: u32,
    threads: Option<usize>,
    pool: Arc<ThreadPool>,
}

/// More threads than this only take memory, and time to start.
const MOST_THREADS: usize = 256;

/// So many numbers of threads are kept apart.
const MOST_POOLS: usize = 4;

/// The pool with so many threads, or with one for each core. `None` where the system gives no threads.
///
/// A process that was forked has this memory, but not these threads: it makes its own. The lock is held only
/// by who has the interpreter, and so is free at a fork.
pub(crate) fn pool(_py: Python<'_>, threads: Option<usize>) -> Option<Arc<ThreadPool>> {
    static POOLS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    let process = std::process::id();
    let threads = threads.map(|threads| threads.min(MOST_THREADS));
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.first().is_some_and(|kept| kept.process != process) {
        // To end them, their threads would have to be there.
        std::mem::forget(std::mem::take(&mut *pools));
    }
    if let Some(kept) = pools.iter().find(|kept| kept.threads == threads) {
        return Some(kept.pool.clone());
    }
    let name = |number| format!("unishape {number}");
    let builder = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).thread_name(name);
    let pool = Arc::new(builder.build().ok()?);
    if pools.len() == MOST_POOLS {
        pools.remove(0);
    }
    pools.push(Kept { process, threads, pool: pool.clone() });
    Some(pool)
}
