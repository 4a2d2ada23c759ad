//! How many threads share large work.

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// A number of threads that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked(NonZeroUsize);

impl<'a, 'py> FromPyObject<'a, 'py> for Asked {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Asked> {
        let Ok(number) = object.extract::<i128>() else {
            let text = format!("threads is a number of threads, not {}", object.get_type().name()?);
            return Err(PyTypeError::new_err(text));
        };
        let number = usize::try_from(number).ok().and_then(NonZeroUsize::new).map(Asked);
        let text = "threads is at least 1; leave it out for one on each core";
        number.ok_or_else(|| PyValueError::new_err(text))
    }
}

/// The requested number, or the default one.
pub(crate) fn number(asked: Option<Asked>) -> usize {
    asked.map_or_else(unishape::num_threads, |Asked(number)| number.get())
}
