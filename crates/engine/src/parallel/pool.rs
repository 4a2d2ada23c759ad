//! The worker pool.

use super::cpus::{num_threads, scoped_threads};
use super::fork_safe::ForkSafe;
use crate::tuning::{MAX_THREADS, SPIN};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The one pool of this process. It is replaced by a larger one where a call requests more threads.
static POOL: ForkSafe<Arc<ThreadPool>> = ForkSafe::new();

/// A pool of this many workers or more. Of less, or none, where the system gives no more threads.
fn pool(workers: usize) -> Option<Arc<ThreadPool>> {
    POOL.with(|pool| {
        if let Some(pool) = pool
            && pool.current_num_threads() >= workers
        {
            return Some(pool.clone());
        }
        let wanted = workers.max(num_threads() - 1);
        // Grows to powers of two: a caller that requests 2, 3, 4, … threads starts few pools.
        let size = if pool.is_some() { wanted.next_power_of_two() } else { wanted }.min(MAX_THREADS);
        let builder = ThreadPoolBuilder::new()
            .num_threads(size)
            .thread_name(|worker| format!("unishape-{worker}"))
            .start_handler(|_| IS_WORKER.set(true));
        if let Ok(larger) = builder.build() {
            // The threads of the smaller pool end when its last caller is done.
            *pool = Some(Arc::new(larger));
        }
        pool.clone()
    })
}

thread_local! {
    /// Whether this thread is a worker of our pool.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread, which is not one of a rayon pool, runs tasks at the moment.
    static RUNS_TASKS: Cell<bool> = const { Cell::new(false) };
}

/// The workers that share a call.
enum Team {
    /// The calling thread alone.
    Caller,
    /// The rayon pool that the caller is in.
    Current,
    /// Our pool.
    Pool(Arc<ThreadPool>),
}

/// Number of threads for a call, the caller included; none for those of the rayon pool that it is in.
fn requested(threads: Option<usize>) -> Option<usize> {
    if RUNS_TASKS.get() {
        // A call inside a closure of the caller: it would wait for workers that are busy with the outer call.
        return Some(1);
    }
    match threads.or_else(scoped_threads) {
        None if rayon::current_thread_index().is_some() => None,
        threads => Some(threads.unwrap_or_else(num_threads).clamp(1, MAX_THREADS)),
    }
}

/// Number of threads that [`run_tasks`] would use, the caller included.
pub(super) fn team_size(threads: Option<usize>) -> usize {
    requested(threads).unwrap_or_else(current_pool_size)
}

/// Number of threads for a call inside a rayon pool; of ours, no more than configured now.
fn current_pool_size() -> usize {
    let limit = if IS_WORKER.get() { num_threads() } else { MAX_THREADS };
    rayon::current_num_threads().min(limit)
}

/// Number of threads for a call, and the pool that they belong to.
fn team(threads: Option<usize>) -> (usize, Team) {
    match requested(threads) {
        None => (current_pool_size(), Team::Current),
        Some(1) => (1, Team::Caller),
        Some(threads) => match pool(threads - 1) {
            Some(pool) => (threads.min(pool.current_num_threads() + 1), Team::Pool(pool)),
            None => (1, Team::Caller),
        },
    }
}

/// Calls `work` with every task from 0 to `count`, on several threads.
///
/// Each thread has a contiguous range of tasks, because neighbouring tasks share huge pages, on which two
/// threads would contend; a thread that is done takes tasks of the others. The caller takes part, so slow
/// wake-ups of workers do not delay the work.
///
/// # Panics
///
/// Where `work` panics; the remaining tasks are not started then.
pub(crate) fn run_tasks(count: usize, threads: Option<usize>, work: &(dyn Fn(usize) + Sync)) {
    let (threads, team) = team(threads);
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).for_each(work);
    }
    let taken: SmallVec<[AtomicUsize; 16]> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let (aborted, pending) = (AtomicBool::new(false), AtomicUsize::new(threads - 1));
    let first_task = |range: usize| count * range / threads;
    let take_part = |own: usize| {
        let _abort = AbortOnPanic(&aborted);
        for range in (own..threads).chain(0..own) {
            let (first, end) = (first_task(range), first_task(range + 1));
            while !aborted.load(Ordering::Relaxed) {
                let task = first + taken[range].fetch_add(1, Ordering::Relaxed);
                if task >= end {
                    break;
                }
                work(task);
            }
        }
    };
    match team {
        Team::Pool(pool) => {
            // Ends the spinning of the workers after the previous call.
            let call = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
            pool.in_place_scope(|scope| share(scope, threads, &take_part, &pending));
            keep_spinning(&pool, threads - 1, call);
        }
        Team::Current | Team::Caller => {
            rayon::in_place_scope(|scope| share(scope, threads, &take_part, &pending));
        }
    }
}

/// Runs `take_part` on every thread, the caller among them.
fn share<'s>(
    scope: &Scope<'s>,
    threads: usize,
    take_part: &'s (impl Fn(usize) + Sync),
    pending: &'s AtomicUsize,
) {
    for own in 1..threads {
        scope.spawn(move |_| {
            let _done = Decrement(pending);
            take_part(own);
        });
    }
    if rayon::current_thread_index().is_none() {
        let _reset = Reset(RUNS_TASKS.replace(true));
        take_part(0);
    } else {
        take_part(0);
    }
    // Sleeping and waking up takes longer than most workers need to finish.
    let (start, limit) = (Instant::now(), spin_time().unwrap_or(SPIN));
    while pending.load(Ordering::Acquire) > 0 && start.elapsed() < limit {
        std::thread::yield_now();
    }
}

/// Sets `RUNS_TASKS` back when it is dropped.
struct Reset(bool);

impl Drop for Reset {
    fn drop(&mut self) {
        RUNS_TASKS.set(self.0);
    }
}

/// Sets a flag when it is dropped by a panic.
struct AbortOnPanic<'a>(&'a AtomicBool);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Counts down when it is dropped.
struct Decrement<'a>(&'a AtomicUsize);

impl Drop for Decrement<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Number of calls that used the pool.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Spinning time requested by the environment variable `UNISHAPE_SPIN`, in microseconds.
fn spin_time() -> Option<Duration> {
    static TIME: OnceLock<Option<Duration>> = OnceLock::new();
    *TIME.get_or_init(|| {
        let text = std::env::var("UNISHAPE_SPIN").ok()?;
        text.trim().parse().ok().map(|micros: u64| Duration::from_micros(micros.min(1_000_000)))
    })
}

/// Keeps workers awake for the next call, for as long as `UNISHAPE_SPIN` requests. By default they spin as
/// rayon's workers do, which is less than 50 µs, and park.
fn keep_spinning(pool: &ThreadPool, workers: usize, call: usize) {
    let Some(limit) = spin_time().filter(|time| !time.is_zero()) else { return };
    for _ in 0..workers {
        pool.spawn(move || {
            let start = Instant::now();
            // The next call needs the workers.
            while CALLS.load(Ordering::Relaxed) == call && start.elapsed() < limit {
                std::thread::yield_now();
            }
        });
    }
}
