//! `clip`, whose limits are optional, as a call of an operation.

use crate::dtype;
use crate::ufunc::python_int;
use numpy::PyArrayDescr;
use pyo3::prelude::*;
use smallvec::{SmallVec, smallvec};
use unishape::expr::Op;

/// The operation that limits values to the range from min to max, and its arguments; `None` means no limit.
///
/// As in NumPy, an integer that is beyond the dtype of `x`, such as -1 for uint8, is no limit either.
pub(crate) fn clip_call<'a, 'py>(
    x: &'a Bound<'py, PyAny>,
    min: Option<&'a Bound<'py, PyAny>>,
    max: Option<&'a Bound<'py, PyAny>>,
) -> (Op, SmallVec<[&'a Bound<'py, PyAny>; 3]>) {
    let range = || {
        let descr = x.getattr("dtype").ok()?.cast_into::<PyArrayDescr>().ok()?;
        dtype::from_descr(&descr).filter(|dtype| dtype.is_integer())?.int_range()
    };
    let min = min.filter(|min| {
        python_int(min).is_none_or(|min| min >= 0 || range().is_none_or(|range| min >= *range.start()))
    });
    let max = max.filter(|max| {
        python_int(max).is_none_or(|max| max <= 127 || range().is_none_or(|range| max <= *range.end()))
    });
    match (min, max) {
        (Some(min), Some(max)) => (Op::Clip, smallvec![x, min, max]),
        (Some(min), None) => (Op::Max, smallvec![x, min]),
        (None, Some(max)) => (Op::Min, smallvec![x, max]),
        (None, None) => (Op::Positive, smallvec![x]),
    }
}
