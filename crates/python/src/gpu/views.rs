//! Broadcast views of arrays on a GPU.

use super::library::{GpuArray, Library};
use super::result::{DeviceArray, Owner};
use crate::errors::shape_error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unishape::Rules;
use unishape_core::broadcast_strides;

/// A view of an array in a shape, without a copy.
///
/// PyTorch and CuPy have such views. Other libraries get a read-only array by a protocol; JAX has no strides.
pub(crate) fn broadcast<'py>(
    object: &Bound<'py, PyAny>,
    rules: Rules,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if Library::of(object) == Library::Jax {
        return Err(PyTypeError::new_err(
            "JAX arrays have no strides, so that a broadcast view would be a copy; use jax.numpy.broadcast_to, or pass \
             the arrays to unishape.evaluate, which copies nothing",
        ));
    }
    let mut array = GpuArray::new(object, None)?;
    let mut strides = vec![0; shape.len()];
    broadcast_strides(rules, &array.shape, &array.strides, shape, &mut strides)
        .map_err(|error| shape_error(unishape::Error::not_broadcastable(&array.shape, shape, error)))?;
    let sizes = PyTuple::new(py, shape)?;
    match array.library {
        Library::Torch => object.call_method1("expand", (sizes,)),
        Library::CuPy => py.import("cupy")?.call_method1("broadcast_to", (object, sizes)),
        Library::Jax | Library::Other => {
            let view = DeviceArray {
                device: array.device.unwrap_or_default(),
                address: array.address,
                dtype: array.dtype,
                shape: shape.to_vec(),
                strides,
                owner: Owner::Array {
                    array: object.clone().unbind(),
                    imported: array.imported.take(),
                    stream: array.stream,
                },
            };
            Ok(Bound::new(py, view)?.into_any())
        }
    }
}
