//! Work splitting and the worker pool.
//!
//! Large work is cut into chunks. The calling thread and the workers of one pool take chunks from ranges of
//! their own, and from each other's when they are done; a panic in one chunk stops the others soon.
//!
//! - The pool starts with the first large call. It has one worker less than [`num_threads`], since the
//!   caller takes part; a call that requests more threads adds workers.
//! - Calls of several threads at once share the workers: a call takes those that are idle, and waits for none. It
//!   takes one less for each other caller, which has a core already.
//! - No thread's CPU affinity is changed. Idle workers spin for 50 µs, then they park.
//! - A caller inside a rayon pool uses that pool, unless it requests a number of threads.
//! - A call inside a closure runs on the thread that called the closure, unless it requests a number of
//!   threads or is in a rayon pool.
//! - A forked child starts a pool of its own.
//!
//! Without the feature `parallel` all chunks run on the calling thread.

mod cost;
#[cfg(feature = "parallel")]
mod cpus;
#[cfg(feature = "parallel")]
mod fork_safe;
#[cfg(feature = "parallel")]
mod pool;
mod split;
#[cfg(test)]
#[cfg(feature = "parallel")]
mod visitors;

pub(crate) use cost::cost;
pub use cost::is_parallel;
#[cfg(feature = "parallel")]
pub use cpus::{num_threads, set_num_threads, with_num_threads};
#[cfg(feature = "parallel")]
pub(crate) use pool::{Team, run_tasks};
pub(crate) use split::for_each_chunk;
#[cfg(all(test, feature = "parallel"))]
pub(crate) use visitors::Visitors;
#[cfg(not(feature = "parallel"))]
pub use without_pool::num_threads;
#[cfg(not(feature = "parallel"))]
pub(crate) use without_pool::{Team, run_tasks};

/// Calls `work` with every task from 0 to `count`, on several threads.
///
/// There are as many threads as requested, or [`num_threads`] by default.
///
/// # Panics
///
/// Where `work` panics; the remaining tasks are not started then.
pub fn for_each_task(count: usize, threads: Option<usize>, work: &(dyn Fn(usize) + Sync)) {
    run_tasks(count, Team::of(threads), work);
}

/// What the pool does, on the calling thread.
#[cfg(not(feature = "parallel"))]
mod without_pool {
    #[derive(Clone, Copy)]
    pub(crate) struct Team;

    impl Team {
        pub(crate) fn new(_: usize, _: Option<usize>) -> Team {
            Team
        }

        pub(crate) fn of(_: Option<usize>) -> Team {
            Team
        }

        pub(crate) fn threads(self) -> usize {
            1
        }
    }

    /// How many threads share large work: the calling one alone.
    pub fn num_threads() -> usize {
        1
    }

    pub(crate) fn run_tasks(count: usize, _: Team, work: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(work);
    }
}

#[cfg(test)]
mod tests {
    use super::for_each_task;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_task_runs_once() {
        for threads in [None, Some(1), Some(3)] {
            let counts: [AtomicUsize; 20] = Default::default();
            for_each_task(counts.len(), threads, &|task| _ = counts[task].fetch_add(1, Ordering::Relaxed));
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }
}
