//! The adjoint of broadcasting.

use crate::failure::of_shapes;
use crate::input::array;
use crate::memory::{self, NumPy, Seen};
use crate::shapes::known_sizes;
use crate::threads::{Asked, number};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use unishape::{TensorView, sum_to as summed, with_num_threads};

/// Sums an array down to a shape that could have been broadcast to the array's: the gradient of broadcast_to.
///
/// Elements are added in their own type, integers wrap. Rounding errors grow with the logarithm of how many
/// numbers are added, and the result is the same on any number of threads.
///
/// >>> import numpy as np, unishape
/// >>> unishape.sum_to(np.array([[1, 2, 3], [10, 20, 30]]), (3,)).tolist()
/// [11, 22, 33]
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, threads=None))]
pub(crate) fn sum_to<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    threads: Option<Asked>,
) -> PyResult<NumPy<'py>> {
    let shape = known_sizes(shape)?;
    let seen = Seen::of(array(x)?)?;
    let threads = number(threads);
    let Some(view) = seen.tensor() else { return Err(not_added()) };
    macro_rules! sums {
        ($view:expr) => {{
            let view = $view;
            let sum = || summed(&view, &shape[..]);
            let sums = if view.len() < FEW { sum() } else { py.detach(|| with_num_threads(threads, sum)) };
            sums.map_err(of_shapes)?
        }};
    }
    macro_rules! by_type {
        ($($float:ident)+; $($integer:ident)+) => {
            match view {
                $(TensorView::$float(view) => memory::handed_over(py, sums!(view), None),)+
                // They wrap, however this is compiled.
                $(TensorView::$integer(view) => {
                    memory::handed_over(py, sums!(memory::wrapping(view)).mapv_into_any(|sum| sum.0), None)
                })+
                _ => Err(not_added()),
            }
        };
    }
    by_type!(F16 BF16 F32 F64 C64 C128; I8 I16 I32 I64 U8 U16 U32 U64)
}

/// So few elements, of whatever type, are added on the caller's thread.
const FEW: usize = 1 << 14;

fn not_added() -> PyErr {
    PyTypeError::new_err("booleans are not added; use x.astype(int)")
}
