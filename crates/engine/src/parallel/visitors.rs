//! Helper of tests: whether calls are shared with workers.

use super::cpus::with_num_threads;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::Instant;

/// Records whether a worker takes part in calls of `visit`.
pub(crate) struct Visitors {
    caller: ThreadId,
    is_first: AtomicBool,
    has_worker: AtomicBool,
}

impl Visitors {
    fn new() -> Visitors {
        let caller = std::thread::current().id();
        Visitors { caller, is_first: true.into(), has_worker: false.into() }
    }

    /// The caller gives workers some time in its first visit: they may be parked, or busy with other tests.
    pub(crate) fn visit(&self) {
        if self.has_worker.load(Ordering::Relaxed) {
            return;
        }
        if std::thread::current().id() != self.caller {
            return self.has_worker.store(true, Ordering::Relaxed);
        }
        if self.is_first.swap(false, Ordering::Relaxed) {
            let start = Instant::now();
            while !self.has_worker.load(Ordering::Relaxed) && start.elapsed().as_millis() < 100 {
                std::thread::yield_now();
            }
        }
    }

    /// Whether a worker takes part in a call that may have 16 threads, in one of several attempts.
    pub(crate) fn has_worker(attempts: usize, call: &dyn Fn(&Visitors)) -> bool {
        (0..attempts).any(|_| {
            let visitors = Visitors::new();
            with_num_threads(16, || call(&visitors));
            visitors.has_worker.into_inner()
        })
    }
}
