//! Conversion of Python objects to arrays and scalars.

use crate::containers;
use crate::dtype;
use crate::gpu::{self, GpuInput};
use crate::imports::imports;
use crate::memory::{self, NumPy, NumericArray};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use unishape::DType;
use unishape::expr::{Scalar, Value};

/// An input of an expression.
pub(crate) enum Input<'py> {
    Array(NumericArray<'py>),
    /// A Python number, which adopts the dtype of the arrays in the expression.
    Scalar(Scalar),
    /// An array on a GPU.
    Gpu(Bound<'py, PyAny>),
}

impl<'py> Input<'py> {
    /// Converts an array of any library, a number, or an object that `numpy.asarray` accepts.
    pub(crate) fn new(object: &Bound<'py, PyAny>) -> PyResult<Input<'py>> {
        match python_scalar(object)? {
            Some(scalar) => Ok(Input::Scalar(scalar)),
            None if is_on_gpu(object)? => Ok(Input::Gpu(object.clone())),
            None => Input::from_array(as_array(object)?),
        }
    }

    /// Converts an array; copies it if its elements cannot be read in place.
    pub(crate) fn from_array(array: NumPy<'py>) -> PyResult<Input<'py>> {
        NumericArray::from_array(array).map(Input::Array)
    }

    pub(crate) fn as_array(&self) -> Option<&NumPy<'py>> {
        match self {
            Input::Array(array) => Some(array.array()),
            Input::Scalar(_) | Input::Gpu(_) => None,
        }
    }

    /// The value that an expression is bound to.
    pub(crate) fn value(&self) -> Option<Value<'_>> {
        match self {
            Input::Array(array) => array.view().map(Value::Array),
            Input::Scalar(scalar) => Some(Value::Scalar(*scalar)),
            Input::Gpu(_) => None,
        }
    }

    /// The inputs of an expression on a GPU; `None` where no input is on one. `name` is that of an input in errors.
    pub(crate) fn on_gpu(
        inputs: &[Input<'py>],
        name: impl Fn(usize) -> String,
    ) -> PyResult<Option<Vec<GpuInput<'py>>>> {
        let Some(first) = inputs.iter().position(|input| matches!(input, Input::Gpu(_))) else {
            return Ok(None);
        };
        let on_gpu = |(number, input): (usize, &Input<'py>)| match input {
            Input::Gpu(object) => Ok(GpuInput::Array(object.clone())),
            Input::Scalar(scalar) => Ok(GpuInput::Scalar(*scalar)),
            Input::Array(array) if array.array().ndim() == 0 => {
                let bytes: Vec<u8> = array.array().call_method0("tobytes")?.extract()?;
                Ok(GpuInput::Element(array.dtype(), bytes.into()))
            }
            Input::Array(_) => Err(PyTypeError::new_err(format!(
                "{} is on the CPU and {} on the GPU: copy one of them to the other device; only numbers and arrays without \
                 dimensions may be on the CPU",
                name(number),
                name(first)
            ))),
        };
        inputs.iter().enumerate().map(on_gpu).collect::<PyResult<_>>().map(Some)
    }
}

/// Whether an object is an array on a GPU.
pub(crate) fn is_on_gpu(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!object.is_instance_of::<PyUntypedArray>() && gpu::is_gpu_array(object)?)
}

impl<'py> NumericArray<'py> {
    /// Converts an array; copies it if its elements cannot be read in place.
    pub(crate) fn from_array(array: NumPy<'py>) -> PyResult<NumericArray<'py>> {
        check_unmasked(&array)?;
        let copy = match NumericArray::new(array) {
            Ok(array) if array.dtype() != DType::Bool || memory::is_valid_bool(&array) => return Ok(array),
            // Every byte other than 0 is true.
            Ok(array) => array.array().call_method1("view", ("u1",))?.call_method1("astype", ("?",))?,
            Err(array) => {
                let descr = array.dtype();
                match dtype::from_descr(&descr) {
                    Some(_) => array.call_method0("copy")?,
                    None if dtype::is_native(&descr) => return Err(unsupported_dtype(&array)),
                    None => array.call_method1("astype", (descr.call_method1("newbyteorder", ("=",))?,))?,
                }
            }
        };
        NumericArray::new(copy.cast_into()?).map_err(|array| unsupported_dtype(&array))
    }
}

/// Rejects masked arrays, whose masks would be ignored.
pub(crate) fn check_unmasked(array: &NumPy<'_>) -> PyResult<()> {
    if !array.get_type().is(PyUntypedArray::type_object(array.py())) && array.hasattr("mask")? {
        let text = "masked arrays are not supported; use .filled(value), or .data to ignore the mask";
        return Err(PyTypeError::new_err(text));
    }
    Ok(())
}

fn unsupported_dtype(array: &NumPy<'_>) -> PyErr {
    let descr = array.dtype();
    let name = match descr.str() {
        Ok(name) => format!("dtype {name}"),
        Err(_) => "this dtype".into(),
    };
    let hint = match descr.kind() {
        b'O' => "; the array holds Python objects and may not be the one you meant",
        b'M' | b'm' => "; compute with x.view('int64')",
        b'U' | b'S' | b'T' => "; the array holds text",
        b'f' | b'c' => "; cast it to float64 or complex128 first",
        _ => "",
    };
    PyTypeError::new_err(format!("expressions do not support {name}{hint}"))
}

/// A number of one of Python's own types. NumPy's scalars are arrays: their dtype matters.
pub(crate) fn python_scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Some(Scalar::Float(object.extract()?)));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Some(Scalar::Bool(object.extract()?)));
    }
    if object.is_instance_of::<PyInt>() {
        return match object.extract::<i128>() {
            Ok(int) => Ok(Some(Scalar::Int(int))),
            Err(_) => {
                Err(PyOverflowError::new_err("this integer is too large for every dtype; pass it as a float"))
            }
        };
    }
    if object.is_exact_instance_of::<PyComplex>() {
        return Ok(Some(Scalar::Complex(object.extract()?)));
    }
    Ok(None)
}

/// Converts an object to a NumPy array, without a copy where possible.
pub(crate) fn as_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let py = object.py();
    check_convertible(object)?;
    if let Some(array) = containers::to_array(object)? {
        return Ok(array.cast_into()?);
    }
    if object.hasattr("__dlpack__")? {
        match imports(py)?.from_dlpack.bind(py).call1((object,)) {
            Ok(array) => return Ok(array.cast_into()?),
            Err(error) if object.hasattr("__array__")? => drop(error),
            Err(error) => return Err(dlpack_error(object, error)),
        }
    }
    let array = imports(py)?.asarray.bind(py).call1((object,))?;
    Ok(array.cast_into()?)
}

/// Whether an object is a Dask array, whose elements are not computed yet.
pub(crate) fn is_deferred(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // xarray's arrays have the method, too. It returns None where their data is not a Dask array.
    let has_graph = object.hasattr("__dask_graph__")? && !object.call_method0("__dask_graph__")?.is_none();
    Ok(has_graph && !is_xarray(object))
}

fn is_xarray(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().module().is_ok_and(|module| module.to_string().starts_with("xarray."))
}

/// Rejects arrays that would lose their labels or be computed by the conversion.
fn check_convertible(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let text = if is_xarray(object) {
        "this is an xarray object; use unishape.xarray.evaluate or unishape.xarray.lazy, which keep its labels, or pass \
         its .values"
    } else if is_deferred(object)? {
        "this is a Dask array; use unishape.dask.evaluate, unishape.dask.broadcast_arrays or unishape.lazy, which \
         keep it one, or .compute() it first"
    } else {
        return Ok(());
    };
    Err(PyTypeError::new_err(text))
}

/// The error for an array that cannot be imported by DLPack.
fn dlpack_error(object: &Bound<'_, PyAny>, cause: PyErr) -> PyErr {
    let py = object.py();
    let class = object.get_type();
    let name = class.fully_qualified_name().map_or_else(|_| "object".into(), |name| name.to_string());
    let text = format!(
        "the memory of this {name} cannot be shared with NumPy ({}); copy it to a plain array on the CPU first",
        cause.value(py)
    );
    let error = PyTypeError::new_err(text);
    error.set_cause(py, Some(cause));
    error
}

/// Whether an object is an array rather than a shape or a number.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let generic = imports(object.py())?.generic.bind(object.py());
    Ok(object.is_instance_of::<PyUntypedArray>()
        || object.is_instance(generic)?
        || object.hasattr("__dlpack__")?)
}
