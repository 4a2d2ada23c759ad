//! Number of worker threads.

use pyo3::Borrowed;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// The `threads=` argument of a call.
#[derive(Clone, Copy)]
pub(crate) struct ThreadCount(NonZeroUsize);

impl<'a, 'py> FromPyObject<'a, 'py> for ThreadCount {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<ThreadCount> {
        match parse(&object, "threads")?.map(NonZeroUsize::new) {
            Some(Some(count)) => Ok(ThreadCount(count)),
            _ => {
                let text = format!("threads must be at least 1, not {}; omit it for one per core", *object);
                Err(PyValueError::new_err(text))
            }
        }
    }
}

impl ThreadCount {
    pub(crate) fn get(self) -> usize {
        self.0.get()
    }

    /// The number of a call, or the default.
    pub(crate) fn or_default(count: Option<ThreadCount>) -> usize {
        count.map_or_else(unishape::num_threads, ThreadCount::get)
    }
}

/// A Python integer; `None` where it is negative. The pool limits large numbers.
fn parse(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<usize>> {
    match object.extract::<i64>() {
        Ok(number) => Ok(usize::try_from(number).ok()),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
            Ok(if object.lt(0)? { None } else { Some(usize::MAX) })
        }
        Err(_) => {
            let text = format!("{name} must be an int, not {}", object.get_type().name()?);
            Err(PyTypeError::new_err(text))
        }
    }
}

/// Sets the default number of threads for large inputs in this process.
///
/// The calling thread counts as one of them. The default at start is the environment variable
/// UNISHAPE_NUM_THREADS, or RAYON_NUM_THREADS, or OMP_NUM_THREADS, or the number of CPUs that the process may use: its cgroup quota
/// and its affinity mask are respected. The threads= argument of a call overrides the default for that call.
///
/// Parameters
/// ----------
/// n : int or None
///     Number of threads; values above 256 count as 256. 0 or None restores the default at start.
///
/// Returns
/// -------
/// int
///     The previous number.
///
/// Notes
/// -----
/// Idle workers park after about 50 µs. The environment variable UNISHAPE_SPIN sets another time in
/// microseconds for which they keep spinning: the next call starts sooner, at the cost of CPU time.
/// The variables are read once, before the first large call.
///
/// The package threadpoolctl knows these functions: threadpool_limits(2) and threadpool_limits({"unishape": 2})
/// limit the number of threads for a while.
///
/// Examples
/// --------
/// >>> import unishape
/// >>> previous = unishape.set_num_threads(2)
/// >>> unishape.get_num_threads()
/// 2
/// >>> unishape.set_num_threads(None)
/// 2
/// >>> unishape.get_num_threads() == previous
/// True
#[pyfunction]
#[pyo3(signature = (n, /))]
pub(crate) fn set_num_threads(n: &Bound<'_, PyAny>) -> PyResult<usize> {
    let count = if n.is_none() { Some(0) } else { parse(n, "the number of threads")? };
    let Some(count) = count else {
        let text =
            format!("the number of threads must be at least 1, not {n}; 0 or None restores the default");
        return Err(PyValueError::new_err(text));
    };
    let previous = unishape::num_threads();
    unishape::set_num_threads(count);
    Ok(previous)
}

/// Returns the default number of threads for large inputs, the calling thread included.
///
/// See Also
/// --------
/// set_num_threads : how the default is determined.
///
/// Examples
/// --------
/// >>> import unishape
/// >>> unishape.get_num_threads() >= 1
/// True
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    unishape::num_threads()
}
