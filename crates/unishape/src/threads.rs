//! How many threads share large work.

use unishape_engine::parallel;

/// Returns how many threads share large work, the calling one included.
///
/// In this order: the number set by [`with_num_threads`], by [`set_num_threads`], by the environment variables
/// `UNISHAPE_NUM_THREADS`, `RAYON_NUM_THREADS` and `OMP_NUM_THREADS`, and the number of CPUs that the calling thread may use according
/// to its cgroup and its affinity mask. Inside a rayon pool, that pool is used instead.
///
/// ```
/// assert!(unishape::num_threads() >= 1);
/// ```
pub fn num_threads() -> usize {
    parallel::num_threads()
}

/// Sets how many threads share large work in this process.
///
/// At most 256 are used; 0 restores the default.
///
/// ```
/// unishape::set_num_threads(2);
/// assert_eq!(unishape::num_threads(), 2);
/// unishape::set_num_threads(0);
/// ```
pub fn set_num_threads(threads: usize) {
    parallel::set_num_threads(threads);
}

/// Calls a function with a number of threads for the work that it starts.
///
/// The number applies to the work of every verb and expression that is started on this thread, and includes it. With
/// 1, all of it stays on this thread, and no worker is started. The same holds inside a rayon pool of one thread.
///
/// ```
/// use ndarray::Array2;
/// use unishape::{map, with_num_threads};
///
/// let a = Array2::<f32>::ones((1000, 1000));
/// let doubled = with_num_threads(1, || map((&a,), |a| 2.0 * a))?;
/// assert_eq!(doubled[(0, 0)], 2.0);
/// # Ok::<(), unishape::Error>(())
/// ```
pub fn with_num_threads<R>(threads: usize, function: impl FnOnce() -> R) -> R {
    parallel::with_num_threads(threads, function)
}
