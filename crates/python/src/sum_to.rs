//! `sum_to`, the gradient of broadcasting.

use crate::errors::{expression_error, shape_error};
use crate::gpu::{self, GpuInput};
use crate::input::{as_array, is_on_gpu};
use crate::memory::{self, NumPy, NumericArray};
use crate::shapes::parse_known_shape;
use crate::threads::ThreadCount;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use unishape::cuda::Numerics;
use unishape::expr::Expr;
use unishape::{DType, Rules, TensorView, with_num_threads};
use unishape_core::broadcast_strides;

/// Sums an array to a shape that broadcasts to the array's shape: the gradient of broadcast_to.
///
/// Elements are added in their own dtype; integers wrap on overflow. Rounding errors grow with the logarithm of
/// the number of addends, and the result does not depend on the number of threads.
///
/// Parameters
/// ----------
/// x : array_like
/// shape : int or tuple of ints
///     Shape of the result.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large inputs.
///
/// Returns
/// -------
/// numpy.ndarray
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> unishape.sum_to(np.array([[1, 2, 3], [10, 20, 30]]), (3,)).tolist()
/// [11, 22, 33]
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, threads=None))]
pub(crate) fn sum_to<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = parse_known_shape(shape)?;
    if is_on_gpu(x)? {
        return sum_on_gpu(x, &shape);
    }
    sum_on_cpu(py, x, &shape, threads).map(Bound::into_any)
}

/// Sums an array on a GPU, as an expression.
fn sum_on_gpu<'py>(x: &Bound<'py, PyAny>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let (from, dtype) = gpu::describe(x)?;
    if dtype == DType::Bool {
        return Err(unsupported());
    }
    let mut strides = vec![0; from.len()];
    broadcast_strides(Rules::STANDARD, shape, &vec![1; shape.len()], &from, &mut strides)
        .map_err(|error| shape_error(unishape::Error::not_broadcastable(shape, &from, error)))?;
    let added = from.len() - shape.len();
    let is_summed = |&dim: &usize| dim < added || (shape[dim - added] == 1 && from[dim] != 1);
    let axes: Vec<String> = (0..from.len()).filter(is_summed).map(|dim| format!("{dim},")).collect();
    let text = match axes.is_empty() {
        true => "x[...]".to_owned(),
        false => {
            let index = format!("[{}...]", "0, ".repeat(added));
            format!("sum(x, axis=({}), dtype={dtype}, keepdims=True){index}", axes.concat())
        }
    };
    let expr = Expr::parse(&text).map_err(expression_error)?;
    gpu::compute(x.py(), &expr, &[GpuInput::Array(x.clone())], None, Numerics::Exact)
}

fn sum_on_cpu<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    shape: &[usize],
    threads: Option<ThreadCount>,
) -> PyResult<NumPy<'py>> {
    let array = NumericArray::from_array(as_array(x)?)?;
    let threads = ThreadCount::or_default(threads);
    let Some(view) = array.view() else { return Err(unsupported()) };
    macro_rules! sum {
        ($view:expr) => {{
            let view = $view;
            let sum = || unishape::sum_to(&view, shape);
            let is_small = view.len() < DETACH_THRESHOLD;
            let sum = if is_small { sum() } else { py.detach(|| with_num_threads(threads, sum)) };
            sum.map_err(shape_error)?
        }};
    }
    macro_rules! by_dtype {
        ($($float:ident)+; $($integer:ident)+) => {
            match view {
                $(TensorView::$float(view) => memory::into_numpy(py, sum!(view), None),)+
                // Integers wrap with overflow checks enabled, too.
                $(TensorView::$integer(view) => {
                    memory::into_numpy(py, sum!(memory::wrapping(view)).mapv_into_any(|sum| sum.0), None)
                })+
                _ => Err(unsupported()),
            }
        };
    }
    by_dtype!(F16 BF16 F32 F64 C64 C128; I8 I16 I32 I64 U8 U16 U32 U64)
}

/// From this number of elements on, the GIL is released.
const DETACH_THRESHOLD: usize = 1 << 14;

fn unsupported() -> PyErr {
    PyTypeError::new_err("sum_to does not support bool; use x.astype(int)")
}
