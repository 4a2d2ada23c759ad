//! On which core a thread that sleeps is woken up.
//!
//! A system of few cores may wake a thread on the core of the thread that wakes it, although another one idles. It
//! waits there until its waker has nothing more to do; and since who shares work takes part in it, that is when all
//! of the work is done. So the others are kept off the caller's core for as long as it shares work with them. That
//! is for threads of our own: those of somebody else would afterwards be woken where they were left, all on one core.

#[cfg(target_os = "linux")]
pub(super) use linux::Cores;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Cores;

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
    use smallvec::SmallVec;
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

    /// With more threads than this there are as many cores, among which the system does look for one that idles.
    const FEW: usize = 4;

    /// Where the threads of a pool may run.
    #[derive(Debug)]
    pub(crate) struct Cores {
        /// Those that have begun; none where the system finds an idle core by itself.
        threads: Arc<[OnceLock<Pid>]>,
        /// Only one caller at a time changes it, and so finds and puts back what the user chose.
        turn: Mutex<()>,
    }

    /// Threads that are kept off a core, and where else they may run.
    pub(crate) struct Elsewhere<'a> {
        threads: SmallVec<[(Pid, CpuSet); FEW]>,
        _turn: Option<MutexGuard<'a, ()>>,
    }

    impl Cores {
        /// For a pool of so many threads.
        pub(crate) fn new(number: usize) -> Cores {
            let few = if number <= FEW { number } else { 0 };
            Cores { threads: (0..few).map(|_| OnceLock::new()).collect(), turn: Mutex::new(()) }
        }

        /// What each thread of the pool does first.
        pub(crate) fn when_begun(&self) -> impl Fn(usize) + Send + Sync + 'static {
            let threads = self.threads.clone();
            move |number| {
                if let Some(thread) = threads.get(number) {
                    // Each has a number of its own.
                    let _ = thread.set(gettid());
                }
            }
        }

        /// Keeps them off the core of the caller, until what this gives is dropped. A thread that may run only there,
        /// or which the system does not let us move, is left alone.
        pub(crate) fn elsewhere(&self) -> Elsewhere<'_> {
            let mut elsewhere = Elsewhere { threads: SmallVec::new(), _turn: None };
            if self.threads.is_empty() {
                return elsewhere;
            }
            let Ok(turn) = self.turn.try_lock() else { return elsewhere };
            elsewhere._turn = Some(turn);
            let (caller, here) = (gettid(), sched_getcpu());
            let threads = self.threads.iter().filter_map(OnceLock::get).copied();
            for thread in threads.filter(|&thread| thread != caller) {
                let Ok(allowed) = sched_getaffinity(Some(thread)) else { continue };
                if here >= CpuSet::MAX_CPU || !allowed.is_set(here) || allowed.count() == 1 {
                    continue;
                }
                let mut others = allowed;
                others.unset(here);
                if sched_setaffinity(Some(thread), &others).is_ok() {
                    elsewhere.threads.push((thread, allowed));
                }
            }
            elsewhere
        }
    }

    impl Drop for Elsewhere<'_> {
        fn drop(&mut self) {
            for (thread, allowed) in &self.threads {
                // Where it cannot be put back, because the thread has ended or may run nowhere of that, nothing is lost.
                let _ = sched_setaffinity(Some(*thread), allowed);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    #[derive(Debug)]
    pub(crate) struct Cores;

    impl Cores {
        pub(crate) fn new(_: usize) -> Cores {
            Cores
        }

        pub(crate) fn when_begun(&self) -> impl Fn(usize) + Send + Sync + 'static {
            |_| {}
        }

        pub(crate) fn elsewhere(&self) {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Cores;
    use rayon::{ThreadPool, ThreadPoolBuilder};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    fn pool(number: usize) -> (ThreadPool, Cores) {
        let cores = Cores::new(number);
        let pool =
            ThreadPoolBuilder::new().num_threads(number).start_handler(cores.when_begun()).build().unwrap();
        pool.broadcast(|_| ());
        (pool, cores)
    }

    fn allowed(pool: &ThreadPool) -> Vec<CpuSet> {
        pool.broadcast(|_| sched_getaffinity(None).unwrap())
    }

    /// This thread stays on one core, so that it is known where it is.
    fn stay() -> usize {
        let here = sched_getcpu();
        stay_at(here);
        here
    }

    fn stay_at(core: usize) {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).unwrap();
    }

    #[test]
    fn others_are_kept_off_the_callers_core_and_then_free_again() {
        let (pool, cores) = pool(2);
        let before = allowed(&pool);
        let here = stay();
        for _ in 0..3 {
            let elsewhere = cores.elsewhere();
            for (before, now) in before.iter().zip(allowed(&pool)) {
                assert_eq!(now.is_set(here), before.count() == 1);
                assert!(now.count() >= 1);
            }
            // Who comes meanwhile changes nothing, now or when it is done.
            let now = allowed(&pool);
            drop(cores.elsewhere());
            assert_eq!(allowed(&pool), now);
            drop(elsewhere);
            assert_eq!(allowed(&pool), before);
        }
    }

    #[test]
    fn who_may_run_on_one_core_only_is_left_there() {
        let (pool, cores) = pool(2);
        let here = stay();
        pool.broadcast(|_| stay_at(here));
        let before = allowed(&pool);
        let _elsewhere = cores.elsewhere();
        assert_eq!(allowed(&pool), before);
    }

    #[test]
    fn one_of_the_pool_who_calls_is_not_moved_itself() {
        let (pool, cores) = pool(2);
        let (before, during) = pool.install(|| {
            let own = || sched_getaffinity(None).unwrap();
            let before = own();
            let _elsewhere = cores.elsewhere();
            (before, own())
        });
        assert_eq!(before, during);
    }
}
