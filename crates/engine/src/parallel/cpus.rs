//! How many threads share large work.

use crate::tuning::MAX_THREADS;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number set by [`set_num_threads`]; 0 where none is.
static CONFIGURED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Number set by [`with_num_threads`] for calls of this thread; 0 where none is.
    static SCOPED: Cell<usize> = const { Cell::new(0) };
}

/// Calls a function with a number of threads for the work that it starts.
///
/// The number includes the calling thread, and applies to large work only.
///
/// ```
/// use unishape_engine::parallel::{num_threads, with_num_threads};
///
/// assert_eq!(with_num_threads(3, num_threads), 3);
/// ```
pub fn with_num_threads<R>(threads: usize, function: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPED.set(self.0);
        }
    }
    let _restore = Restore(SCOPED.replace(threads.clamp(1, MAX_THREADS)));
    function()
}

/// The number set by [`with_num_threads`].
pub(super) fn scoped_threads() -> Option<usize> {
    Some(SCOPED.get()).filter(|&threads| threads > 0)
}

/// Sets how many threads share large work, the calling one included.
///
/// 0 restores the default.
///
/// ```
/// unishape_engine::parallel::set_num_threads(3);
/// assert_eq!(unishape_engine::parallel::num_threads(), 3);
/// unishape_engine::parallel::set_num_threads(0);
/// assert!(unishape_engine::parallel::num_threads() >= 1);
/// ```
pub fn set_num_threads(threads: usize) {
    CONFIGURED.store(threads.min(MAX_THREADS), Ordering::Relaxed);
}

/// How many threads share large work, the calling one included; at most 256.
///
/// In this order: the number set by [`with_num_threads`] or by [`set_num_threads`], the environment variables
/// `UNISHAPE_NUM_THREADS` and `RAYON_NUM_THREADS`, the CPUs that the calling thread may use (cgroup quota and
/// affinity mask).
pub fn num_threads() -> usize {
    if let Some(threads) = scoped_threads() {
        return threads;
    }
    match CONFIGURED.load(Ordering::Relaxed) {
        0 => from_environment().unwrap_or_else(available_cpus).clamp(1, MAX_THREADS),
        threads => threads,
    }
}

/// The number in the environment, which is read once.
fn from_environment() -> Option<usize> {
    static NUMBER: OnceLock<Option<usize>> = OnceLock::new();
    let positive = |name: &str| {
        let text = std::env::var(name).ok()?;
        text.trim().parse().ok().filter(|&number| number > 0)
    };
    *NUMBER.get_or_init(|| positive("UNISHAPE_NUM_THREADS").or_else(|| positive("RAYON_NUM_THREADS")))
}

/// CPUs that the calling thread may use, at least 1.
///
/// `available_parallelism` reads several files, which takes longer than a middle-sized call. Its answer is
/// kept until the affinity mask, which is one system call to read, has another number of CPUs.
fn available_cpus() -> usize {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let mask = affinity_count();
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 && (known >> 32) as u32 == mask {
        return (known & u64::from(u32::MAX)) as usize;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    KNOWN.store(u64::from(mask) << 32 | cpus as u64, Ordering::Relaxed);
    cpus
}

/// Number of CPUs in the calling thread's affinity mask; 0 where there is none.
fn affinity_count() -> u32 {
    #[cfg(target_os = "linux")]
    {
        rustix::thread::sched_getaffinity(None).map_or(0, |mask| mask.count())
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}
