//! The compiled part of the Python package `unishape`.
//!
//! | module | holds |
//! |---|---|
//! | `memory` | NumPy's memory seen as Rust's: the room with unsafe code |
//! | `borrowed` | functions of Python's that we call |
//! | `types` | NumPy's element types and ours |
//! | `input` | what Python gives us to compute with |
//! | `failure` | what goes wrong, as Python's exceptions |
//! | `threads` | how many |
//! | `compute` | results computed, into fresh arrays or given ones |
//! | `onnx` | models, for `unishape.onnx` |
//! | `shapes`, `sums`, `explain`, `functions`, `evaluate`, `lazy` | what Python sees |

mod borrowed;
mod compute;
mod evaluate;
mod explain;
mod failure;
mod functions;
mod input;
mod lazy;
mod memory;
mod onnx;
mod shapes;
mod sums;
mod threads;
mod types;

use pyo3::prelude::*;

#[pymodule]
fn _unishape(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // NumPy's functions, too, are looked up now.
    borrowed::borrowed(module.py())?;
    types::descr(module.py(), unishape::DType::F64)?;
    functions::add_to(module)?;
    module.add_function(wrap_pyfunction!(shapes::broadcast_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(shapes::broadcast_to, module)?)?;
    module.add_function(wrap_pyfunction!(shapes::broadcast_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(sums::sum_to, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::_names_in, module)?)?;
    module.add_function(wrap_pyfunction!(lazy::lazy, module)?)?;
    module.add_function(wrap_pyfunction!(lazy::_rebuilt, module)?)?;
    module.add_class::<lazy::Lazy>()?;
    module.add_class::<explain::Explanation>()?;
    onnx::add_to(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
