//! `clip`, whose limits are optional, as a call of an operation.

use pyo3::prelude::*;
use smallvec::{SmallVec, smallvec};
use unishape::expr::Op;

/// The operation that limits values to the range from min to max, and its arguments; `None` means no limit.
pub(crate) fn clip_call<'a, 'py>(
    x: &'a Bound<'py, PyAny>,
    min: Option<&'a Bound<'py, PyAny>>,
    max: Option<&'a Bound<'py, PyAny>>,
) -> (Op, SmallVec<[&'a Bound<'py, PyAny>; 3]>) {
    match (min, max) {
        (Some(min), Some(max)) => (Op::Clip, smallvec![x, min, max]),
        (Some(min), None) => (Op::Max, smallvec![x, min]),
        (None, Some(max)) => (Op::Min, smallvec![x, max]),
        (None, None) => (Op::Positive, smallvec![x]),
    }
}
