//! `sum_to`, the gradient of broadcasting.

use crate::compute::{Options, compute};
use crate::containers;
use crate::errors::expression_error;
use crate::float_errors::Reported;
use crate::input::{Input, as_array, is_on_gpu};
use crate::lazy::{Lazy, lazy, summed_axes};
use crate::memory::NumPy;
use crate::shapes::parse_known_shape;
use crate::threads::ThreadCount;
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use unishape::expr::Expr;

/// Sums an array to a shape that broadcasts to the array's shape: the gradient of broadcast_to.
///
/// The dtype of the result is that of numpy.sum: booleans and small integers are added as int64 or uint64, which wrap
/// on overflow. Rounding errors grow with the logarithm of the number of addends, and the result does not depend on
/// the number of threads. Ctrl-C interrupts the computation.
///
/// Parameters
/// ----------
/// x : array_like or Lazy
///     A lazy value is computed in the same pass and never stored. Its sum is computed now.
/// shape : int or tuple of ints
///     Shape of the result.
/// dtype : dtype, optional
///     Dtype of the result, and of the sums. Default: that of numpy.sum.
/// out : numpy.ndarray, optional
///     Preallocated output: of the given shape, and of the result's dtype or one of the same kind.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large inputs.
///
/// Returns
/// -------
/// numpy.ndarray, or an array on the GPU
///     For a tensor of PyTorch, a tensor.
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> unishape.sum_to(np.array([[1, 2, 3], [10, 20, 30]]), (3,)).tolist()
/// [11, 22, 33]
/// >>> a, b = np.ones((4, 1)), unishape.lazy(np.arange(3.0))
/// >>> unishape.sum_to((b - a) ** 2, (3,)).tolist()
/// [4.0, 0.0, 4.0]
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, dtype=None, out=None, threads=None))]
pub(crate) fn sum_to<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = parse_known_shape(shape)?;
    if let Ok(value) = x.cast::<Lazy>() {
        return value.get().sum_to(py, &shape, dtype, out, threads);
    }
    if is_on_gpu(x)? {
        return lazy(x)?.sum_to(py, &shape, dtype, out, threads);
    }
    let array = as_array(x)?;
    let sum = match dtype {
        None => sum_array(py, &array, &shape, out, threads)?,
        dtype => lazy(array.as_any())?.sum_to(py, &shape, dtype, out, threads)?,
    };
    if out.is_some() { Ok(sum) } else { containers::like(x, sum) }
}

/// Sums an array by the text of an expression, which is parsed and compiled once.
fn sum_array<'py>(
    py: Python<'py>,
    array: &NumPy<'py>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = summed_axes(shape, array.shape())?;
    if axes.is_empty() {
        return lazy(array.as_any())?.sum_to(py, shape, None, out, threads);
    }
    let axes: String = axes.iter().map(|axis| format!("{axis},")).collect();
    let added = "0, ".repeat(array.ndim() - shape.len());
    let text = match added.as_str() {
        "" => format!("sum(x, axis=({axes}), keepdims=True)"),
        added => format!("sum(x, axis=({axes}), keepdims=True)[{added}...]"),
    };
    let expr = Expr::parse(&text).map_err(expression_error)?;
    let inputs = [Input::from_array(array.clone())?];
    let bound = expr.bind_positional(inputs.iter().filter_map(Input::value)).map_err(expression_error)?;
    let sum =
        compute(py, &bound, &inputs, Options::new(out, threads, Reported::Named("sum_to"))?)?.into_any();
    Ok(out.cloned().unwrap_or(sum))
}
