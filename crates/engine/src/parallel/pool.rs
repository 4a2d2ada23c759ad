//! The worker pool: threads that take part in the callers' work.
//!
//! A call claims workers that are idle, never waits for busy ones, and takes part itself. So calls from
//! several threads at once share the workers, and a call that gets none is no slower than on one thread.
//!
//! A claimed worker may be parked, and wake up after the caller has done everything. The caller then
//! withdraws its offer instead of waiting.

use super::cost::is_parallel;
use super::cpus::{num_threads, scoped_threads, with_num_threads};
use super::fork_safe::ForkSafe;
use crate::flags::Gathered;
use crate::tuning::{CALLS_BETWEEN_STARTS, MAX_THREADS, POLLS_PER_YIELD, SPIN};
use smallvec::SmallVec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{dangling_mut, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

static POOL: ForkSafe<Pool> = ForkSafe::new();

/// The workers of this process. Their number only grows, to the largest number that a call has requested.
#[derive(Default)]
struct Pool {
    workers: Vec<&'static Worker>,
    /// Calls that start no worker, because the system has refused one.
    calls_without_start: usize,
    /// Threads that are in a call.
    callers: usize,
}

impl Pool {
    /// Starts workers until there are as many as requested, or the system refuses one.
    fn grow(&mut self, workers: usize, start: impl Fn(usize) -> Option<&'static Worker>) {
        if self.workers.len() < workers && self.calls_without_start > 0 {
            self.calls_without_start -= 1;
            return;
        }
        while self.workers.len() < workers {
            match start(self.workers.len()) {
                Some(worker) => self.workers.push(worker),
                None => return self.calls_without_start = CALLS_BETWEEN_STARTS,
            }
        }
    }
}

/// A thread of the pool. It lives as long as the process.
struct Worker {
    /// Null while the worker is idle; then a job that a caller offers; `RUNNING` while the worker runs it.
    job: AtomicPtr<SharedJob<'static>>,
    /// The worker's number among the threads of the job. The caller is number 0.
    number: AtomicUsize,
    thread: OnceLock<Thread>,
}

/// No job has this address.
const RUNNING: *mut SharedJob<'static> = dangling_mut();

/// Work that a caller shares with workers.
struct SharedJob<'j> {
    /// Called once on each thread, with its number.
    take_part: &'j (dyn Fn(usize) + Sync),
    /// Workers that may still access the job, and [`WAITING`].
    pending: AtomicUsize,
    caller: Thread,
    /// What the first worker panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Bit of [`SharedJob::pending`]: the caller is parked until there is no pending worker.
const WAITING: usize = 1 << (usize::BITS - 1);

impl Worker {
    /// Starts a thread, unless the system refuses.
    fn start(index: usize) -> Option<&'static Worker> {
        let worker = Arc::new(Worker {
            job: AtomicPtr::new(null_mut()),
            number: AtomicUsize::new(0),
            thread: OnceLock::new(),
        });
        let builder = std::thread::Builder::new().name(format!("unishape-{index}"));
        let of_thread = Arc::clone(&worker);
        let handle = builder.spawn(move || of_thread.run()).ok()?;
        worker.thread.get_or_init(|| handle.thread().clone());
        // Safety: this reference is never given back, so that the worker is never freed.
        Some(unsafe { &*Arc::into_raw(worker) })
    }

    fn run(&self) -> ! {
        loop {
            let job = self.next_job();
            // Fails where the caller has withdrawn the job.
            let taken = self.job.compare_exchange(job, RUNNING, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                // Safety: the caller keeps the job alive while a worker that has taken it is pending.
                unsafe { (*job).run(self.number.load(Ordering::Relaxed)) };
                self.job.store(null_mut(), Ordering::Release);
                // Safety: as above.
                unsafe { SharedJob::finish(job) };
            }
        }
    }

    /// Waits for a job: spins, then parks; spins again after a wake-up, since calls come in series.
    fn next_job(&self) -> *mut SharedJob<'static> {
        loop {
            let offered = || Some(self.job.load(Ordering::Relaxed)).filter(|job| !job.is_null());
            if let Some(job) = spin_until(offered, spin_time()) {
                return job;
            }
            std::thread::park();
        }
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

impl<'j> SharedJob<'j> {
    fn new(take_part: &'j (dyn Fn(usize) + Sync)) -> SharedJob<'j> {
        let (pending, caller) = (AtomicUsize::new(0), std::thread::current());
        SharedJob { take_part, pending, caller, panic: Mutex::new(None) }
    }

    /// Offers the job to workers, so that it has at most `threads` threads with the caller.
    fn offer(&self, threads: usize) -> Offer<'_> {
        let address = (&raw const *self).cast_mut().cast::<SharedJob<'static>>();
        let mut claimed: SmallVec<[&'static Worker; 16]> = SmallVec::new();
        POOL.with(|pool| {
            let pool = pool.get_or_insert_default();
            // Every caller, this one included, has a core already.
            pool.callers += 1;
            let workers = threads.saturating_sub(pool.callers);
            pool.grow(workers, Worker::start);
            // Only here a worker is claimed, one caller at a time.
            let idle = pool.workers.iter().filter(|worker| worker.job.load(Ordering::Acquire).is_null());
            for worker in idle.take(workers) {
                claimed.push(worker);
                self.pending.fetch_add(1, Ordering::Relaxed);
                worker.number.store(claimed.len(), Ordering::Relaxed);
                worker.job.store(address, Ordering::Release);
            }
        });
        claimed.iter().for_each(|worker| worker.wake());
        Offer { job: self, address, claimed }
    }

    /// Runs on a worker.
    fn run(&self, number: usize) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.take_part)(number))) {
            let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            match *panic {
                None => *panic = Some(payload),
                // Dropping it may panic again, which would end the worker.
                Some(_) => std::mem::forget(payload),
            }
        }
    }

    /// Ends a worker's access to a job, which the caller may free meanwhile.
    ///
    /// # Safety
    ///
    /// The worker is pending.
    unsafe fn finish(job: *const SharedJob<'j>) {
        // Safety: the caller keeps the job alive until no worker is pending. Nothing accesses it afterwards.
        let (caller, pending) =
            unsafe { ((*job).caller.clone(), (*job).pending.fetch_sub(1, Ordering::AcqRel)) };
        if pending == WAITING | 1 {
            caller.unpark();
        }
    }
}

/// A job that workers have been offered. Dropping it waits until none of them accesses the job.
struct Offer<'o> {
    job: &'o SharedJob<'o>,
    address: *mut SharedJob<'static>,
    claimed: SmallVec<[&'static Worker; 16]>,
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        POOL.with(|pool| {
            // None in a child process that was forked meanwhile.
            if let Some(pool) = pool {
                pool.callers = pool.callers.saturating_sub(1);
            }
        });
        let pending = &self.job.pending;
        for worker in &self.claimed {
            let withdrawn =
                worker.job.compare_exchange(self.address, null_mut(), Ordering::Relaxed, Ordering::Relaxed);
            if withdrawn.is_ok() {
                pending.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let is_done = || (pending.load(Ordering::Acquire) == 0).then_some(());
        // Sleeping and waking up takes longer than most workers need to finish.
        if spin_until(is_done, spin_time()).is_none() {
            pending.fetch_or(WAITING, Ordering::AcqRel);
            while pending.load(Ordering::Acquire) != WAITING {
                std::thread::park();
            }
        }
    }
}

/// Calls a function until it returns something or the time is up; yields to other threads meanwhile.
fn spin_until<T>(function: impl Fn() -> Option<T>, time: Duration) -> Option<T> {
    let start = Instant::now();
    loop {
        for _ in 0..POLLS_PER_YIELD {
            if let Some(result) = function() {
                return Some(result);
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= time {
            return None;
        }
        std::thread::yield_now();
    }
}

/// How long idle threads spin before they park: by default [`SPIN`], or as many microseconds as the
/// environment variable `UNISHAPE_SPIN` requests.
fn spin_time() -> Duration {
    // Not a `OnceLock`: a child process that was forked while another thread initialised it would wait forever.
    static MICROS: AtomicU32 = AtomicU32::new(u32::MAX);
    let mut micros = MICROS.load(Ordering::Relaxed);
    if micros == u32::MAX {
        micros = spin_micros(std::env::var("UNISHAPE_SPIN").ok().as_deref());
        MICROS.store(micros, Ordering::Relaxed);
    }
    Duration::from_micros(micros.into())
}

/// [`spin_time`] with this value of the environment variable, in microseconds: at most a second.
fn spin_micros(variable: Option<&str>) -> u32 {
    let requested = variable.and_then(|text| text.trim().parse::<u32>().ok());
    requested.map_or(SPIN.as_micros() as u32, |micros| micros.min(1_000_000))
}

/// The threads that share the work of a call: the caller, and workers of the pool or of the rayon pool that the
/// caller is in.
#[derive(Clone, Copy)]
pub(crate) struct Team {
    threads: usize,
    is_of_rayon: bool,
}

impl Team {
    const CALLER: Team = Team { threads: 1, is_of_rayon: false };

    /// The team for work of a cost in bytes: the caller alone where it is small.
    pub(crate) fn new(cost: usize, threads: Option<usize>) -> Team {
        if is_parallel(cost) { Team::of(threads) } else { Team::CALLER }
    }

    /// A team of the requested number of threads; by default [`num_threads`], or those of the rayon pool that the
    /// caller is in.
    pub(crate) fn of(threads: Option<usize>) -> Team {
        match threads.or_else(scoped_threads) {
            None if rayon::current_thread_index().is_some() => {
                Team { threads: rayon::current_num_threads(), is_of_rayon: true }
            }
            threads => {
                let threads = threads.unwrap_or_else(num_threads).clamp(1, MAX_THREADS);
                Team { threads, is_of_rayon: false }
            }
        }
    }

    /// Number of threads, the caller included.
    pub(crate) fn threads(self) -> usize {
        self.threads
    }
}

/// Calls `work` with every task from 0 to `count`, on several threads.
///
/// Each thread has a contiguous range of tasks, because neighbouring tasks share huge pages, on which two
/// threads would contend, and because the next call finds the same elements in the same core's caches. A
/// thread that is done takes tasks of the others. The caller takes part, so slow wake-ups of workers do not
/// delay the work.
///
/// # Panics
///
/// Where `work` panics; the remaining tasks are not started then.
pub(crate) fn run_tasks(count: usize, team: Team, work: &(dyn Fn(usize) + Sync)) {
    let threads = team.threads.min(count);
    if threads <= 1 {
        return (0..count).for_each(work);
    }
    let (tasks, flags) = (SharedTasks::new(count, threads), Gathered::new());
    let take_part = |own: usize| flags.take_part(|| tasks.take_part(own, work));
    if team.is_of_rayon {
        rayon::in_place_scope(|scope| {
            (1..threads).for_each(|own| scope.spawn(move |_| take_part(own)));
            take_part(0);
        });
        return flags.finish();
    }
    // Calls inside `work` stay on their thread: the others are busy with this call.
    let take_part = |own: usize| with_num_threads(1, || take_part(own));
    let job = SharedJob::new(&take_part);
    let offer = job.offer(threads);
    let result = catch_unwind(AssertUnwindSafe(|| take_part(0)));
    drop(offer);
    let of_worker = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (result, of_worker) {
        (Ok(()), None) => flags.finish(),
        (Ok(()), Some(payload)) => resume_unwind(payload),
        (Err(payload), of_worker) => {
            // Dropping it may panic again, which would end the process.
            std::mem::forget(of_worker);
            resume_unwind(payload)
        }
    }
}

/// Tasks that several threads share.
struct SharedTasks {
    count: usize,
    /// How many tasks have been taken of the range of each thread.
    taken: SmallVec<[AtomicUsize; 16]>,
    /// Whether a task has panicked.
    aborted: AtomicBool,
}

impl SharedTasks {
    fn new(count: usize, threads: usize) -> SharedTasks {
        let taken = (0..threads).map(|_| AtomicUsize::new(0)).collect();
        SharedTasks { count, taken, aborted: AtomicBool::new(false) }
    }

    /// Calls `work` with tasks until none is left or one has panicked: first those of the thread's own range.
    fn take_part(&self, own: usize, work: &(dyn Fn(usize) + Sync)) {
        let threads = self.taken.len();
        let first_task = |range: usize| self.count * range / threads;
        let abort = AbortOnPanic(&self.aborted);
        for range in (own..threads).chain(0..own) {
            let (first, end) = (first_task(range), first_task(range + 1));
            while !self.aborted.load(Ordering::Relaxed) {
                let task = first + self.taken[range].fetch_add(1, Ordering::Relaxed);
                if task >= end {
                    break;
                }
                work(task);
            }
        }
        std::mem::forget(abort);
    }
}

/// Sets a flag when it is dropped, which only a panic does.
///
/// `std::thread::panicking` would not tell: a destructor may make a call while its thread unwinds.
struct AbortOnPanic<'a>(&'a AtomicBool);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Runs a test on a thread of its own, and fails where it does not end.
    fn within_10_seconds(test: impl FnOnce() + Send + 'static) {
        let (done, is_done) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            test();
            let _ = done.send(());
        });
        let ended = is_done.recv_timeout(Duration::from_secs(10));
        assert!(ended != Err(mpsc::RecvTimeoutError::Timeout), "still running after 10 seconds");
        thread.join().unwrap();
    }

    /// Waits until a number has been reached, for a while: other tests may use all workers.
    fn wait_for(number: &AtomicUsize, value: usize) -> bool {
        let start = Instant::now();
        while number.load(Ordering::Acquire) < value {
            if start.elapsed() > Duration::from_millis(200) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Calls a function until it returns something.
    fn retry<T>(function: impl Fn() -> Option<T>) -> T {
        (0..40).find_map(|_| function()).expect("idle workers")
    }

    #[test]
    fn callers_at_once_run_every_task_once() {
        within_10_seconds(|| {
            std::thread::scope(|scope| {
                for caller in 0..6 {
                    scope.spawn(move || {
                        for round in 0..300 {
                            let count = 1 + (caller * 7 + round) % 40;
                            let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                            run_tasks(count, Team::of(Some(1 + round % 4)), &|task| {
                                runs[task].fetch_add(1, Ordering::Relaxed);
                            });
                            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
                        }
                    });
                }
            });
        });
    }

    /// Each of them has a core already.
    #[test]
    fn callers_at_once_offer_fewer_workers() {
        let nothing = |_: usize| {};
        let (first, second) = (SharedJob::new(&nothing), SharedJob::new(&nothing));
        let offer = first.offer(2);
        assert_eq!(second.offer(2).claimed.len(), 0);
        drop(offer);
        // Other tests are callers, too.
        assert!((0..10_000).any(|_| {
            std::thread::yield_now();
            !second.offer(16).claimed.is_empty()
        }));
    }

    #[test]
    fn a_nested_call_may_request_threads() {
        within_10_seconds(|| {
            let runs = AtomicUsize::new(0);
            run_tasks(8, Team::of(Some(3)), &|_| {
                run_tasks(8, Team::of(Some(3)), &|_| _ = runs.fetch_add(1, Ordering::Relaxed));
            });
            assert_eq!(runs.load(Ordering::Relaxed), 64);
        });
    }

    #[test]
    fn a_panic_of_a_worker_reaches_the_caller() {
        within_10_seconds(|| {
            let caller = std::thread::current().id();
            let payload = retry(|| {
                let panicking = AtomicUsize::new(0);
                let work = |_| {
                    if std::thread::current().id() == caller {
                        wait_for(&panicking, 1);
                    } else {
                        panicking.store(1, Ordering::Release);
                        panic!("of a worker");
                    }
                };
                catch_unwind(AssertUnwindSafe(|| run_tasks(16, Team::of(Some(16)), &work))).err()
            });
            assert_eq!(payload.downcast_ref(), Some(&"of a worker"));
        });
    }

    /// Workers that take longer than the caller spins, which parks then.
    #[test]
    fn a_call_ends_after_all_of_its_tasks() {
        within_10_seconds(|| {
            let caller = std::thread::current().id();
            retry(|| {
                let (started, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let work = |_| {
                    if std::thread::current().id() == caller {
                        wait_for(&started, 1);
                    } else {
                        started.store(1, Ordering::Release);
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                };
                run_tasks(16, Team::of(Some(16)), &work);
                assert_eq!(done.load(Ordering::Relaxed), 16);
                (started.load(Ordering::Relaxed) == 1).then_some(())
            });
        });
    }

    /// A payload whose destructor panics, too.
    struct Explosive;

    impl Drop for Explosive {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("of a destructor");
            }
        }
    }

    /// Two workers, and then the caller as well.
    #[test]
    fn several_panics_whose_payloads_panic_end_the_call() {
        for does_caller_panic in [false, true] {
            within_10_seconds(move || {
                let caller = std::thread::current().id();
                let payload = retry(|| {
                    let panicking = AtomicUsize::new(0);
                    let work = |_| {
                        let is_caller = std::thread::current().id() == caller;
                        if !is_caller {
                            panicking.fetch_add(1, Ordering::AcqRel);
                        }
                        if wait_for(&panicking, 2) && (!is_caller || does_caller_panic) {
                            std::panic::panic_any(Explosive);
                        }
                    };
                    catch_unwind(AssertUnwindSafe(|| run_tasks(16, Team::of(Some(16)), &work))).err()
                });
                std::mem::forget(payload);
                // The workers are still there.
                let runs = AtomicUsize::new(0);
                run_tasks(64, Team::of(Some(3)), &|_| _ = runs.fetch_add(1, Ordering::Relaxed));
                assert_eq!(runs.load(Ordering::Relaxed), 64);
            });
        }
    }

    #[test]
    fn a_refused_worker_is_requested_again_after_some_calls() {
        let (mut pool, starts) = (Pool::default(), AtomicUsize::new(0));
        for _ in 0..=CALLS_BETWEEN_STARTS + 1 {
            pool.grow(3, |_| {
                starts.fetch_add(1, Ordering::Relaxed);
                None
            });
        }
        assert_eq!((pool.workers.len(), starts.load(Ordering::Relaxed)), (0, 2));
    }

    /// Calls that need no further worker do not count as calls without a start.
    #[test]
    fn as_many_workers_are_started_as_are_requested() {
        static WORKERS: [Worker; 3] = [const {
            let job = AtomicPtr::new(null_mut());
            Worker { job, number: AtomicUsize::new(0), thread: OnceLock::new() }
        }; 3];
        let (mut pool, starts) = (Pool::default(), Mutex::new(Vec::new()));
        let start = |index: usize| {
            starts.lock().unwrap().push(index);
            WORKERS.get(index)
        };
        pool.grow(2, start);
        pool.grow(1, start);
        assert_eq!(*starts.lock().unwrap(), [0, 1]);
        pool.grow(3, |_| None);
        pool.grow(2, start);
        assert_eq!((pool.workers.len(), pool.calls_without_start), (2, CALLS_BETWEEN_STARTS));
        pool.grow(3, start);
        assert_eq!((pool.workers.len(), pool.calls_without_start), (2, CALLS_BETWEEN_STARTS - 1));
    }

    /// The caller is one of the threads.
    #[test]
    fn a_job_has_at_most_the_requested_threads() {
        let nothing = |_: usize| {};
        let job = SharedJob::new(&nothing);
        assert_eq!(job.offer(1).claimed.len(), 0);
        assert!(job.offer(2).claimed.len() <= 1);
        assert!(job.offer(3).claimed.len() <= 2);
    }

    #[test]
    fn no_task_is_started_after_a_panic() {
        let (tasks, runs) = (SharedTasks::new(8, 2), AtomicUsize::new(0));
        let panics = |task: usize| assert_ne!(task, 1, "expected");
        assert!(catch_unwind(AssertUnwindSafe(|| tasks.take_part(0, &panics))).is_err());
        tasks.take_part(1, &|_| _ = runs.fetch_add(1, Ordering::Relaxed));
        assert_eq!(runs.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_thread_takes_tasks_of_its_own_range_first() {
        let (tasks, order) = (SharedTasks::new(5, 2), Mutex::new(Vec::new()));
        tasks.take_part(1, &|task| order.lock().unwrap().push(task));
        tasks.take_part(0, &|task| order.lock().unwrap().push(task));
        assert_eq!(*order.lock().unwrap(), [2, 3, 4, 0, 1]);
    }

    /// Neither depends on how fast this machine is: one has no time, the other more than any test.
    #[test]
    fn threads_spin_until_the_time_is_up() {
        within_10_seconds(|| {
            assert_eq!(spin_until(|| None::<()>, Duration::ZERO), None);
            let polls = AtomicUsize::new(0);
            let last = 3 * POLLS_PER_YIELD + 1;
            let poll = || (polls.fetch_add(1, Ordering::Relaxed) + 1 == last).then_some(7);
            assert_eq!(spin_until(poll, Duration::from_secs(3600)), Some(7));
        });
    }

    #[test]
    fn the_environment_decides_how_long_threads_spin() {
        let default = SPIN.as_micros() as u32;
        let cases = [
            (None, default),
            (Some("0"), 0),
            (Some(" 25 "), 25),
            (Some("5000000"), 1_000_000),
            (Some("-1"), default),
            (Some("soon"), default),
        ];
        for (variable, expected) in cases {
            assert_eq!(spin_micros(variable), expected, "{variable:?}");
        }
        let variable = std::env::var("UNISHAPE_SPIN").ok();
        let expected = Duration::from_micros(spin_micros(variable.as_deref()).into());
        // Read from the environment, and then remembered.
        assert_eq!([spin_time(), spin_time()], [expected; 2]);
    }

    #[test]
    fn a_team_is_of_the_rayon_pool_that_the_caller_is_in() {
        assert!(!Team::of(None).is_of_rayon);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            let inside = Team::of(None);
            assert_eq!((inside.is_of_rayon, inside.threads()), (true, 3));
            let requested = Team::of(Some(2));
            assert_eq!((requested.is_of_rayon, requested.threads()), (false, 2));
        });
    }
}
