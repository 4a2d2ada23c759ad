//! `__cuda_array_interface__`, version 3: arrays of libraries without DLPack.

use super::devices::{driver_error, stream};
use super::dtypes::numpy_dtype;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use unishape::DType;
use unishape::cuda::row_major;
use unishape::cuda::{Device, Error, Stream};

/// What the interface says.
pub(crate) struct Described {
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// In elements.
    pub(crate) strides: Vec<isize>,
    pub(crate) is_read_only: bool,
    pub(crate) stream: Option<Stream>,
    /// The device of the address; `None` where there is no element.
    pub(crate) device: Option<usize>,
}

pub(crate) fn describe(object: &Bound<'_, PyAny>) -> PyResult<Described> {
    let interface = object.getattr("__cuda_array_interface__")?.cast_into::<PyDict>()?;
    let required = |name: &str| {
        interface
            .get_item(name)?
            .ok_or_else(|| PyTypeError::new_err(format!("__cuda_array_interface__ has no entry {name:?}")))
    };
    let optional = |name: &str| -> PyResult<Option<_>> {
        Ok(interface.get_item(name)?.filter(|entry: &Bound<'_, PyAny>| !entry.is_none()))
    };
    if optional("mask")?.is_some() {
        return Err(PyTypeError::new_err(
            "arrays with a mask are not supported: fill the masked elements, or pass an array without the mask",
        ));
    }
    let shape: Vec<usize> = required("shape")?.extract()?;
    let dtype = numpy_dtype(&required("typestr")?)?;
    let (address, is_read_only): (u64, bool) = required("data")?.cast_into::<PyTuple>()?.extract()?;
    let strides = match optional("strides")? {
        Some(strides) => element_strides(&strides.extract::<Vec<isize>>()?, &shape, dtype)?,
        None => row_major(&shape),
    };
    let number = match optional("stream")?.map(|number| number.extract::<usize>()).transpose()? {
        Some(0) => {
            return Err(PyValueError::new_err(
                "__cuda_array_interface__ has the stream 0, which is ambiguous: 1 is the default stream, 2 that of the thread",
            ));
        }
        number => number,
    };
    let device = match address == 0 || shape.contains(&0) {
        true => None,
        false => match Device::of_address(address) {
            Ok(device) => Some(device),
            // Shapes and dtypes need no driver.
            Err(Error::NoLibrary { .. }) => None,
            Err(Error::NotOnDevice) => {
                return Err(PyValueError::new_err(
                    "__cuda_array_interface__ has an address that is of no GPU",
                ));
            }
            Err(error) => return Err(driver_error(error)),
        },
    };
    let stream = number.map(stream);
    Ok(Described { address, dtype, shape, strides, is_read_only, stream, device })
}

/// Strides in elements, from those in bytes.
pub(crate) fn element_strides(bytes: &[isize], shape: &[usize], dtype: DType) -> PyResult<Vec<isize>> {
    let item = dtype.item_size() as isize;
    if bytes.len() != shape.len() {
        return Err(PyValueError::new_err("an array has as many strides as dimensions"));
    }
    let stride = |(&stride, &size): (&isize, &usize)| match stride % item {
        0 => Ok(stride / item),
        _ if size <= 1 => Ok(0),
        _ => {
            Err(PyTypeError::new_err("a stride is not a multiple of the element size; copy the array first"))
        }
    };
    bytes.iter().zip(shape).map(stride).collect()
}
