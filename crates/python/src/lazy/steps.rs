//! Serialized graphs: their steps as Python objects, which pickle supports.

use super::arguments;
use crate::errors::expression_error;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use unishape::DType;
use unishape::expr::{Dag, Expr, ReduceOp, Reduction, Scalar, Term, View};

/// The steps of a graph in topological order; `leaf` makes those of its leaves.
pub(super) fn to_steps<'py, L, M>(
    py: Python<'py>,
    graph: &Dag<L, M>,
    mut leaf: impl FnMut(&Dag<L, M>) -> PyResult<Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyList>> {
    let order = graph.topological();
    let steps = PyList::empty(py);
    for node in order.iter() {
        let at = |input: &Dag<L, M>| order.position(input);
        match node.term() {
            Term::Leaf(_) => steps.append(leaf(node)?)?,
            Term::Scalar(number) => steps.append(("scalar", arguments::number_object(py, number)?))?,
            Term::Call(op, inputs) => {
                steps.append((op.name(), PyTuple::new(py, inputs.iter().map(at))?))?;
            }
            Term::Cast(dtype, input) => steps.append(("cast", dtype.name(), at(input)))?,
            Term::CastLike(cast, inputs) => {
                steps.append((cast.name(), PyTuple::new(py, inputs.iter().map(at))?))?;
            }
            Term::View(own, input) => {
                let (name, argument) = view(py, own)?;
                steps.append((name, argument, at(input)))?;
            }
            Term::Reduce(own, inputs) => {
                steps.append(("reduce", reduction(py, own)?, PyTuple::new(py, inputs.iter().map(at))?))?;
            }
        }
    }
    Ok(steps)
}

/// The steps of an expression from text. Those of its variables are `("variable", name)`.
#[pyfunction]
#[pyo3(signature = (expression, /))]
pub(crate) fn _parse_steps<'py>(py: Python<'py>, expression: &str) -> PyResult<Bound<'py, PyList>> {
    let graph = Expr::parse(expression).map_err(expression_error)?.to_dag();
    to_steps(py, &graph, |node| match node.term() {
        Term::Leaf(name) => ("variable", name).into_pyobject(py),
        _ => Ok(PyTuple::empty(py)),
    })
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

/// The inverse of [`view`]; `None` for steps that are no views.
pub(super) fn to_view(name: &str, argument: &Bound<'_, PyAny>) -> PyResult<Option<View>> {
    Ok(Some(match name {
        "getitem" => View::Index(arguments::index(argument)?),
        "transpose" => View::Transpose(argument.extract()?),
        "swapaxes" => {
            let (one, other) = argument.extract()?;
            View::SwapAxes(one, other)
        }
        "expand_dims" => View::ExpandDims(argument.extract()?),
        "squeeze" => View::Squeeze(argument.extract()?),
        "broadcast_to" => View::BroadcastTo(argument.extract()?),
        _ => return Ok(None),
    }))
}

/// Names of the norms, which differ from those in expressions.
const NORMS: [(&str, ReduceOp); 3] =
    [("norm1", ReduceOp::Norm1), ("norm2", ReduceOp::Norm2), ("norminf", ReduceOp::NormInf)];

/// The argument of a reduction's step: name, axes, keepdims, ddof, dtype and initial value.
///
/// Axes are integers, or names of dimensions.
fn reduction<'py>(py: Python<'py>, reduction: &Reduction) -> PyResult<Bound<'py, PyTuple>> {
    let number = |number: Scalar| arguments::number_object(py, number);
    let norm = NORMS.iter().find(|(_, op)| *op == reduction.op);
    let axes = match (&reduction.dims, &reduction.axes) {
        (Some(dims), _) => Some(PyTuple::new(py, dims)?),
        (None, Some(axes)) => Some(PyTuple::new(py, axes)?),
        (None, None) => None,
    };
    (
        norm.map_or(reduction.op.name(), |(name, _)| name),
        axes,
        reduction.keep_dims,
        number(reduction.ddof)?,
        reduction.dtype.map(DType::name),
        reduction.initial.map(number).transpose()?,
    )
        .into_pyobject(py)
}

/// The inverse of [`reduction`]; `None` where a name is unknown.
pub(super) fn to_reduction(argument: &Bound<'_, PyAny>) -> PyResult<Option<Reduction>> {
    type Fields<'py> = (
        String,
        Option<Vec<Bound<'py, PyAny>>>,
        bool,
        Bound<'py, PyAny>,
        Option<String>,
        Option<Bound<'py, PyAny>>,
    );
    let (name, axes, keep_dims, ddof, dtype, initial): Fields<'_> = argument.extract()?;
    let norm = NORMS.iter().find(|(norm, _)| *norm == name).map(|&(_, op)| op);
    let Some(op) = norm.or_else(|| ReduceOp::from_name(&name)) else { return Ok(None) };
    let is_named = axes.iter().flatten().any(|axis| axis.is_instance_of::<PyString>());
    let (axes, dims) = match axes {
        Some(axes) if is_named => {
            (None, Some(axes.iter().map(|dim| dim.extract()).collect::<PyResult<_>>()?))
        }
        Some(axes) => (Some(axes.iter().map(|axis| axis.extract()).collect::<PyResult<_>>()?), None),
        None => (None, None),
    };
    let dtype = match dtype.as_deref().map(DType::from_name) {
        Some(None) => return Ok(None),
        Some(dtype) => dtype,
        None => None,
    };
    let ddof = arguments::number(Some(&ddof), "ddof")?.unwrap_or(Scalar::Int(0));
    let initial = arguments::number(initial.as_ref(), "initial")?;
    Ok(Some(Reduction { op, axes, dims, keep_dims, ddof, dtype, initial }))
}
