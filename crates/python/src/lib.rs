//! The extension module of the Python package `unishape`.
//!
//! | module | holds |
//! |---|---|
//! | `memory` | NumPy arrays as Rust views and back |
//! | `imports` | Python and NumPy functions that this crate calls |
//! | `dtype` | conversion between NumPy dtypes and [`unishape::DType`] |
//! | `input` | conversion of Python objects to arrays and scalars |
//! | `containers` | objects of pandas, Polars and PyTorch, for `unishape._containers` |
//! | `errors` | Rust errors as Python exceptions |
//! | `float_errors` | divisions by zero and overflows, reported as `numpy.errstate` requests |
//! | `threads` | number of worker threads |
//! | `compute` | evaluation into new and preallocated arrays; Ctrl-C |
//! | `gpu` | arrays on GPUs |
//! | `onnx` | models, for `unishape.onnx` |
//! | `stretch_kind`, `ufunc_calls` | NumPy's operations, watched for broadcasts, for `unishape.guard` |
//! | `powers` | integers to negative powers |
//! | `order` | memory layout of new arrays |
//! | `ufunc` | options of NumPy's ufuncs, subclasses of arrays |
//! | `time` | detection of datetime64 and timedelta64 |
//! | `command` | the command-line tool |
//! | `clip` | `clip` as a call of an operation |
//! | `shapes`, `sum_to`, `explain`, `functions`, `evaluate`, `lazy` | the public functions and classes |

mod clip;
mod command;
mod compute;
mod containers;
mod dtype;
mod errors;
mod evaluate;
mod explain;
mod float_errors;
mod functions;
mod gpu;
mod imports;
mod input;
mod lazy;
mod memory;
mod onnx;
mod order;
mod powers;
mod shapes;
mod stretch_kind;
mod sum_to;
mod threads;
mod time;
mod ufunc;
mod ufunc_calls;

use pyo3::prelude::*;

/// Needs the GIL: NumPy's arrays are read while other threads might write them.
#[pymodule(gil_used = true)]
fn _unishape(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Also resolves NumPy's C API before any thread could fork.
    imports::imports(module.py())?;
    memory::to_descr(module.py(), unishape::DType::F64)?;
    functions::add_to(module)?;
    module.add_function(wrap_pyfunction!(shapes::broadcast_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(shapes::broadcast_to, module)?)?;
    module.add_function(wrap_pyfunction!(shapes::broadcast_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(sum_to::sum_to, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(explain::_alignment, module)?)?;
    module.add_function(wrap_pyfunction!(ufunc_calls::_watch_ufuncs, module)?)?;
    module.add_function(wrap_pyfunction!(ufunc_calls::_unwatch_ufuncs, module)?)?;
    module.add_function(wrap_pyfunction!(ufunc_calls::_broadcast_kind, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_evaluate_silently, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_is_element_wise, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_variables, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_constant, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_check_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_expression_names, module)?)?;
    module.add_function(wrap_pyfunction!(lazy::lazy, module)?)?;
    module.add_function(wrap_pyfunction!(lazy::_from_steps, module)?)?;
    module.add_function(wrap_pyfunction!(lazy::_values_of_steps, module)?)?;
    module.add_function(wrap_pyfunction!(lazy::steps::_parse_steps, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::get_num_threads, module)?)?;
    module.add_class::<lazy::Lazy>()?;
    module.add_class::<explain::Explanation>()?;
    module.add_class::<gpu::DeviceArray>()?;
    errors::add_to(module)?;
    module.add_function(wrap_pyfunction!(command::_run_command, module)?)?;
    onnx::add_to(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
