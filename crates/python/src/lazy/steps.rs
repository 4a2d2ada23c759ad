//! Views and reductions in serialized graphs.

use super::arguments;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unishape::DType;
use unishape::expr::{ReduceOp, Reduction, Scalar, View};

/// Names of the steps that are views.
const VIEWS: [&str; 6] = ["getitem", "transpose", "swapaxes", "expand_dims", "squeeze", "broadcast_to"];

pub(super) fn is_view(name: &str) -> bool {
    VIEWS.contains(&name)
}

/// The step of a view: its name and its argument, an object that pickle supports.
pub(super) fn view<'py>(py: Python<'py>, view: &View) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    Ok(match view {
        View::Index(items) => ("getitem", arguments::index_object(py, items)?.into_any()),
        View::Transpose(axes) => ("transpose", axes.clone().into_pyobject(py)?),
        View::SwapAxes(one, other) => ("swapaxes", (one, other).into_pyobject(py)?.into_any()),
        View::ExpandDims(axes) => ("expand_dims", PyTuple::new(py, axes)?.into_any()),
        View::Squeeze(axes) => ("squeeze", axes.clone().into_pyobject(py)?),
        View::BroadcastTo(shape) => ("broadcast_to", PyTuple::new(py, shape)?.into_any()),
    })
}

/// The inverse of [`view`].
pub(super) fn to_view(name: &str, argument: &Bound<'_, PyAny>) -> PyResult<View> {
    Ok(match name {
        "getitem" => View::Index(arguments::index(argument)?),
        "transpose" => View::Transpose(argument.extract()?),
        "swapaxes" => {
            let (one, other) = argument.extract()?;
            View::SwapAxes(one, other)
        }
        "expand_dims" => View::ExpandDims(argument.extract()?),
        "squeeze" => View::Squeeze(argument.extract()?),
        _ => View::BroadcastTo(argument.extract()?),
    })
}

/// The argument of a reduction's step: name, axes, keepdims, ddof, dtype and initial value.
pub(super) fn reduction<'py>(py: Python<'py>, reduction: &Reduction) -> PyResult<Bound<'py, PyTuple>> {
    let number = |number: Scalar| arguments::number_object(py, number);
    (
        reduction.op.name(),
        reduction.axes.clone().map(|axes| PyTuple::new(py, axes)).transpose()?,
        reduction.keep_dims,
        number(reduction.ddof)?,
        reduction.dtype.map(DType::name),
        reduction.initial.map(number).transpose()?,
    )
        .into_pyobject(py)
}

/// The inverse of [`reduction`]; `None` where a name is unknown.
pub(super) fn to_reduction(argument: &Bound<'_, PyAny>) -> PyResult<Option<Reduction>> {
    type Fields<'py> =
        (String, Option<Vec<i64>>, bool, Bound<'py, PyAny>, Option<String>, Option<Bound<'py, PyAny>>);
    let (name, axes, keep_dims, ddof, dtype, initial): Fields<'_> = argument.extract()?;
    let Some(op) = ReduceOp::from_name(&name) else { return Ok(None) };
    let dtype = match dtype.as_deref().map(DType::from_name) {
        Some(None) => return Ok(None),
        Some(dtype) => dtype,
        None => None,
    };
    let ddof = arguments::number(Some(&ddof), "ddof")?.unwrap_or(Scalar::Int(0));
    let initial = arguments::number(initial.as_ref(), "initial")?;
    Ok(Some(Reduction { op, axes, keep_dims, ddof, dtype, initial }))
}
