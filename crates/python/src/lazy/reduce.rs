//! Reductions and views of lazy values, from the arguments of NumPy's methods and functions.

use super::arguments::{axes, dtype, integer, integers, number, one_or_more};
use crate::errors::shape_error;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use unishape::expr::{ReduceOp, Reduction, Scalar, View};
use unishape::{DType, Rules};
use unishape_core::broadcast_strides;

/// Arguments of a reduction; those of Python's `None` have their defaults.
#[derive(Default)]
pub(super) struct Arguments<'a, 'py> {
    pub(super) axis: Option<&'a Bound<'py, PyAny>>,
    pub(super) dtype: Option<&'a Bound<'py, PyAny>>,
    pub(super) out: Option<&'a Bound<'py, PyAny>>,
    pub(super) keepdims: bool,
    pub(super) ddof: Option<&'a Bound<'py, PyAny>>,
    pub(super) correction: Option<&'a Bound<'py, PyAny>>,
    pub(super) initial: Option<&'a Bound<'py, PyAny>>,
    pub(super) mask: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Arguments<'_, 'py> {
    pub(super) fn reduction(&self, op: ReduceOp) -> PyResult<Reduction> {
        let ddof = match (number(self.ddof, "ddof")?, number(self.correction, "correction")?) {
            (Some(ddof), Some(_)) if ddof != Scalar::Int(0) => {
                return Err(PyValueError::new_err(
                    "ddof and correction have the same meaning; pass one of them",
                ));
            }
            (ddof, correction) => correction.or(ddof).unwrap_or(Scalar::Int(0)),
        };
        Ok(Reduction {
            op,
            axes: axes(self.axis)?,
            dims: None,
            keep_dims: self.keepdims,
            ddof,
            dtype: dtype(self.dtype)?,
            initial: number(self.initial, "initial")?,
        })
    }

    /// The mask, unless it selects all elements: `True` is NumPy's default.
    pub(super) fn mask(&self) -> Option<&Bound<'py, PyAny>> {
        let is_all = |mask: &Bound<'py, PyAny>| {
            mask.is_none() || mask.cast::<PyBool>().is_ok_and(|mask| mask.is_true())
        };
        self.mask.filter(|mask| !is_all(mask))
    }
}

/// The axes along which an array of one shape is stretched to another one.
pub(crate) fn summed_axes(shape: &[usize], from: &[usize]) -> PyResult<Vec<i64>> {
    let mut strides = vec![0; from.len()];
    broadcast_strides(Rules::STANDARD, shape, &vec![1; shape.len()], from, &mut strides)
        .map_err(|error| shape_error(unishape::Error::not_broadcastable(shape, from, error)))?;
    let added = from.len() - shape.len();
    let is_summed = |&dim: &usize| dim < added || (shape[dim - added] == 1 && from[dim] != 1);
    Ok((0..from.len()).filter(is_summed).map(|dim| dim as i64).collect())
}

/// The sum of these axes; all axes stay.
pub(super) fn sum_to(shape: &[usize], from: &[usize], dtype: Option<DType>) -> PyResult<Reduction> {
    Ok(Reduction {
        op: ReduceOp::Sum,
        axes: Some(summed_axes(shape, from)?),
        dims: None,
        keep_dims: true,
        ddof: Scalar::Int(0),
        dtype,
        initial: None,
    })
}

/// The order of a vector norm: 1, 2, which is the default, or infinity.
pub(super) fn norm(order: Option<&Bound<'_, PyAny>>) -> PyResult<ReduceOp> {
    let Some(order) = order.filter(|order| !order.is_none()) else { return Ok(ReduceOp::Norm2) };
    match order.extract::<f64>() {
        Ok(1.0) => Ok(ReduceOp::Norm1),
        Ok(2.0) => Ok(ReduceOp::Norm2),
        Ok(f64::INFINITY) => Ok(ReduceOp::NormInf),
        _ => Err(PyValueError::new_err("ord must be 1, 2 or inf; call .compute() first for other norms")),
    }
}

/// Whether `np.linalg.norm` of these arguments is a vector norm that lazy values have, and not a norm of matrices.
fn is_vector_norm(array: &Bound<'_, PyAny>, given: &Bound<'_, PyDict>) -> PyResult<bool> {
    let order = given.get_item("ord")?;
    let Some(order) = order.filter(|order| !order.is_none()) else { return Ok(true) };
    let is_one = match axes(given.get_item("axis")?.as_ref())? {
        Some(axes) => axes.len() == 1,
        None => array.getattr("ndim")?.eq(1)?,
    };
    Ok(is_one && norm(Some(&order)).is_ok())
}

/// What a function of NumPy means for its first argument.
pub(super) enum NumpyCall<'py> {
    /// A call of this method of the lazy value.
    Method(&'static str, Bound<'py, PyDict>),
    /// The same elements in another shape.
    Reshape(Vec<i64>),
    View(View),
}

/// Permuted axes, from `transpose()`, `transpose(1, 0)` or `transpose((1, 0))`.
pub(super) fn transpose(axes: &Bound<'_, PyTuple>) -> PyResult<View> {
    let is_reversed = axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none());
    Ok(View::Transpose(if is_reversed { None } else { Some(integers(axes, "an axis")?) }))
}

/// NumPy's functions that have a method of this name, and the parameters that the method has, too.
const METHODS: &[(&str, &str, &[&str])] = &[
    ("sum", "sum", &["axis", "dtype", "out", "keepdims", "initial", "where"]),
    ("prod", "prod", &["axis", "dtype", "out", "keepdims", "initial", "where"]),
    ("max", "max", &["axis", "out", "keepdims", "initial", "where"]),
    ("amax", "max", &["axis", "out", "keepdims", "initial", "where"]),
    ("min", "min", &["axis", "out", "keepdims", "initial", "where"]),
    ("amin", "min", &["axis", "out", "keepdims", "initial", "where"]),
    ("mean", "mean", &["axis", "dtype", "out", "keepdims", "where"]),
    ("var", "var", &["axis", "dtype", "out", "ddof", "keepdims", "where", "correction"]),
    ("std", "std", &["axis", "dtype", "out", "ddof", "keepdims", "where", "correction"]),
    ("any", "any", &["axis", "out", "keepdims", "where"]),
    ("all", "all", &["axis", "out", "keepdims", "where"]),
    ("argmin", "argmin", &["axis", "out", "keepdims"]),
    ("argmax", "argmax", &["axis", "out", "keepdims"]),
    ("count_nonzero", "count_nonzero", &["axis", "keepdims"]),
    ("linalg.norm", "norm", &["ord", "axis", "keepdims"]),
];

/// NumPy's functions that make views, and their parameters.
const VIEWS: &[(&str, &[&str])] = &[
    ("transpose", &["axes"]),
    ("permute_dims", &["axes"]),
    ("swapaxes", &["axis1", "axis2"]),
    ("expand_dims", &["axis"]),
    ("squeeze", &["axis"]),
    ("broadcast_to", &["shape"]),
    ("reshape", &["shape"]),
    ("ravel", &[]),
];

/// One of NumPy's reductions or views, and its array; `None` for other functions and arguments.
///
/// Names of functions in modules of NumPy have the module's name before them: `linalg.norm`.
pub(super) fn array_function<'py>(
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Option<(Bound<'py, PyAny>, NumpyCall<'py>)>> {
    let method = METHODS.iter().find(|(function, ..)| *function == name);
    let view = VIEWS.iter().find(|(function, _)| *function == name);
    let parameters = match (method, view) {
        (Some((_, _, parameters)), _) | (None, Some((_, parameters))) => *parameters,
        (None, None) => return Ok(None),
    };
    let given = options.copy()?;
    let mut positional = arguments.iter();
    let array = match positional.next() {
        Some(array) => Some(array),
        None => {
            let key = match name {
                "broadcast_to" => "array",
                "linalg.norm" => "x",
                _ => "a",
            };
            let array = given.get_item(key)?;
            if array.is_some() {
                given.del_item(key)?;
            }
            array
        }
    };
    let Some(array) = array else { return Ok(None) };
    for (argument, parameter) in positional.zip(parameters) {
        given.set_item(parameter, argument)?;
    }
    for key in given.keys() {
        if !parameters.contains(&key.extract::<String>()?.as_str()) {
            return Ok(None);
        }
    }
    if arguments.len() > parameters.len() + 1 {
        return Ok(None);
    }
    if name == "linalg.norm" && !is_vector_norm(&array, &given)? {
        return Ok(None);
    }
    if let Some((_, method, _)) = method {
        return Ok(Some((array, NumpyCall::Method(method, given))));
    }
    let required = |name: &str| {
        given
            .get_item(name)?
            .ok_or_else(|| PyTypeError::new_err(format!("missing required argument: {name}")))
    };
    let view = match name {
        "swapaxes" => {
            View::SwapAxes(integer(&required("axis1")?, "an axis")?, integer(&required("axis2")?, "an axis")?)
        }
        "expand_dims" => View::ExpandDims(one_or_more(&required("axis")?, "an axis")?),
        "squeeze" => View::Squeeze(axes(given.get_item("axis")?.as_ref())?),
        "broadcast_to" => broadcast_to(&required("shape")?)?,
        "reshape" => {
            return Ok(Some((array, NumpyCall::Reshape(one_or_more(&required("shape")?, "a size")?))));
        }
        "ravel" => return Ok(Some((array, NumpyCall::Reshape(vec![-1])))),
        _ => View::Transpose(axes(given.get_item("axes")?.as_ref())?),
    };
    Ok(Some((array, NumpyCall::View(view))))
}

/// The view of an argument `shape`.
fn broadcast_to(shape: &Bound<'_, PyAny>) -> PyResult<View> {
    let sizes = one_or_more(shape, "a size")?.into_iter().map(usize::try_from).collect::<Result<_, _>>();
    match sizes {
        Ok(sizes) => Ok(View::BroadcastTo(sizes)),
        Err(_) => Err(PyValueError::new_err("the sizes of a shape must not be negative")),
    }
}

/// The method for `ufunc.reduce`.
pub(super) fn method_of_ufunc(name: &str) -> Option<&'static str> {
    Some(match name {
        "add" => "sum",
        "multiply" => "prod",
        "minimum" => "min",
        "maximum" => "max",
        "logical_or" => "any",
        "logical_and" => "all",
        _ => return None,
    })
}

/// Arguments of the method for `ufunc.reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial, where)`.
pub(super) fn ufunc_arguments<'py>(
    rank: Option<usize>,
    inputs: &Bound<'py, PyTuple>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let given = match options {
        Some(options) => options.copy()?,
        None => PyDict::new(inputs.py()),
    };
    let parameters = ["axis", "dtype", "out", "keepdims", "initial", "where"];
    for (argument, parameter) in inputs.iter().skip(1).zip(parameters) {
        given.set_item(parameter, argument)?;
    }
    // The output is a tuple of one.
    if let Some(out) = given.get_item("out")?
        && let Ok(outs) = out.cast::<PyTuple>()
    {
        given.set_item("out", outs.get_item(0)?)?;
    }
    if !given.contains("axis")? && rank != Some(0) {
        given.set_item("axis", 0)?;
    }
    // Minima and maxima have no parameter dtype.
    if given.get_item("dtype")?.is_some_and(|dtype| dtype.is_none()) {
        given.del_item("dtype")?;
    }
    Ok(given)
}
