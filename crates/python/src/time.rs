//! Arrays of datetime64 and timedelta64, which `unishape._datetime` computes as int64.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;

/// Whether an argument is an array or a scalar of datetime64 or timedelta64.
pub(crate) fn is_time(arguments: &[&Bound<'_, PyAny>]) -> PyResult<bool> {
    for argument in arguments {
        if let Ok(dtype) = argument.getattr("dtype")
            && dtype.cast::<PyArrayDescr>().is_ok_and(|descr| matches!(descr.kind(), b'M' | b'm'))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
