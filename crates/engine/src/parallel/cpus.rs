//! How many threads share large work.

use crate::tuning::MAX_THREADS;
use std::cell::Cell;
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
/// `UNISHAPE_NUM_THREADS`, `RAYON_NUM_THREADS` and `OMP_NUM_THREADS`, the CPUs that the calling thread may use (cgroup
/// quota and affinity mask).
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
    // Not a `OnceLock`: a child process that was forked while another thread initialised it would wait forever.
    static NUMBER: AtomicUsize = AtomicUsize::new(usize::MAX);
    let positive = |name: &str| {
        let text = std::env::var(name).ok()?;
        // `OMP_NUM_THREADS` may have a number for each level of nested regions.
        let text = text.split(',').next()?;
        text.trim().parse::<usize>().ok().filter(|&number| number > 0)
    };
    let mut number = NUMBER.load(Ordering::Relaxed);
    if number == usize::MAX {
        let found =
            ["UNISHAPE_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"].into_iter().find_map(positive);
        number = found.unwrap_or(0).min(MAX_THREADS);
        NUMBER.store(number, Ordering::Relaxed);
    }
    Some(number).filter(|&number| number > 0)
}

/// CPUs that the calling thread may use, at least 1.
///
/// `available_parallelism` reads several files, which takes longer than a middle-sized call. Its answer is
/// kept for a second, unless the number of CPUs in the affinity mask changes, which is one system call to read.
fn available_cpus() -> usize {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    known_or(&KNOWN, affinity_count(), seconds(), || {
        std::thread::available_parallelism().map_or(1, usize::from)
    })
}

/// The number of CPUs that `known` has for an affinity mask and a second; else `count` is called, and its
/// result is kept.
fn known_or(known: &AtomicU64, mask: u16, second: u32, count: impl Fn() -> usize) -> usize {
    let key = u64::from(mask) << 48 | u64::from(second) << 16;
    let kept = known.load(Ordering::Relaxed);
    let cpus = kept & u64::from(u16::MAX);
    if cpus != 0 && kept - cpus == key {
        return cpus as usize;
    }
    let cpus = count().clamp(1, MAX_THREADS);
    known.store(key | cpus as u64, Ordering::Relaxed);
    cpus
}

/// Number of CPUs in the calling thread's affinity mask; 0 where there is none.
fn affinity_count() -> u16 {
    #[cfg(target_os = "linux")]
    {
        rustix::thread::sched_getaffinity(None).map_or(0, |mask| mask.count() as u16)
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}

/// Seconds of a monotonic clock; always 0 where it is not cheap to read.
fn seconds() -> u32 {
    #[cfg(target_os = "linux")]
    {
        rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse).tv_sec as u32
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_scope_are_restored() {
        let outside = scoped_threads();
        let (inner, outer) = with_num_threads(3, || (with_num_threads(0, num_threads), num_threads()));
        assert_eq!((inner, outer, scoped_threads()), (1, 3, outside));
        assert_eq!(with_num_threads(usize::MAX, num_threads), MAX_THREADS);
        assert_eq!(with_num_threads(2, scoped_threads), Some(2));
        assert_eq!(outside, None);
    }

    /// In one test, since tests run at the same time.
    #[test]
    fn configured_and_available_threads() {
        set_num_threads(3);
        assert_eq!((num_threads(), with_num_threads(2, num_threads)), (3, 2));
        set_num_threads(0);
        let available = std::thread::available_parallelism().unwrap().get().min(MAX_THREADS);
        assert_eq!(available_cpus(), available);
        assert_eq!(num_threads(), from_environment().unwrap_or(available));
        #[cfg(target_os = "linux")]
        assert!(usize::from(affinity_count()) >= available && seconds() > 0);
    }

    /// The limit of a cgroup can change while a process runs.
    #[test]
    fn cpus_are_counted_again_after_a_second_or_with_another_mask() {
        let known = AtomicU64::new(0);
        assert_eq!(known_or(&known, 8, 5, || 4), 4);
        assert_eq!(known_or(&known, 8, 5, || 2), 4);
        assert_eq!(known_or(&known, 8, 6, || 2), 2);
        assert_eq!(known_or(&known, 3, 6, || 3), 3);
        assert_eq!(known_or(&known, 0, 0, || 0), 1);
        assert_eq!(known_or(&known, u16::MAX, u32::MAX, || 7), 7);
        assert_eq!(known_or(&known, u16::MAX, u32::MAX, || 8), 7);
    }
}
