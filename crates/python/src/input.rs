//! What Python gives us to compute with: arrays, numbers, and what can be made into arrays.

use crate::borrowed::borrowed;
use crate::memory::{self, NumPy, Seen};
use crate::types;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use unishape::DType;
use unishape::expr::{Scalar, Value};

/// One thing to compute with.
pub(crate) enum Input<'py> {
    /// An array whose elements can be read where they are.
    Array(Seen<'py>),
    /// A number of Python's, which takes the type of the arrays it meets.
    Scalar(Scalar),
}

impl<'py> Input<'py> {
    /// An array of NumPy's or of another library's, a number, or anything that NumPy makes an array of.
    pub(crate) fn new(object: &Bound<'py, PyAny>) -> PyResult<Input<'py>> {
        match number(object)? {
            Some(number) => Ok(Input::Scalar(number)),
            None => Input::array(array(object)?),
        }
    }

    /// An array, copied if its elements cannot be read where they are.
    pub(crate) fn array(array: NumPy<'py>) -> PyResult<Input<'py>> {
        Seen::of(array).map(Input::Array)
    }

    /// The array, if it is one.
    pub(crate) fn as_array(&self) -> Option<&NumPy<'py>> {
        match self {
            Input::Array(seen) => Some(seen.array()),
            Input::Scalar(_) => None,
        }
    }

    /// The same as the engine takes it.
    pub(crate) fn value(&self) -> Option<Value<'_>> {
        match self {
            Input::Array(seen) => seen.tensor().map(Value::Array),
            Input::Scalar(number) => Some(Value::Scalar(*number)),
        }
    }
}

impl<'py> Seen<'py> {
    /// An array, copied if it cannot be seen as it is.
    pub(crate) fn of(array: NumPy<'py>) -> PyResult<Seen<'py>> {
        check_unmasked(&array)?;
        let array = match Seen::new(array) {
            Ok(seen) if seen.dtype() != DType::Bool || memory::are_truths(&seen) => return Ok(seen),
            // As bytes, of which each that is not 0 is true.
            Ok(seen) => seen.array().call_method1("view", ("u1",))?.call_method1("astype", ("?",))?,
            Err(array) => {
                let descr = array.dtype();
                match types::of(&descr) {
                    Some(_) => array.call_method0("copy")?,
                    None if types::is_native(&descr) => return Err(not_computed_with(&array)),
                    None => array.call_method1("astype", (descr.call_method1("newbyteorder", ("=",))?,))?,
                }
            }
        };
        Seen::new(array.cast_into()?).map_err(|array| not_computed_with(&array))
    }
}

/// Masked arrays are refused, as their masks would be lost without a word.
fn check_unmasked(array: &NumPy<'_>) -> PyResult<()> {
    if !array.get_type().is(PyUntypedArray::type_object(array.py())) && array.hasattr("mask")? {
        let text = "masked arrays cannot be computed with; use .filled(value), or .data to ignore the mask";
        return Err(PyTypeError::new_err(text));
    }
    Ok(())
}

fn not_computed_with(array: &NumPy<'_>) -> PyErr {
    let descr = array.dtype();
    let what = match descr.str() {
        Ok(name) => name.to_string(),
        Err(_) => "this type".into(),
    };
    let hint = match descr.kind() {
        b'O' => "; it holds Python objects, so it may not be the array you meant",
        b'M' | b'm' => "; compute with x.view('int64')",
        b'U' | b'S' | b'T' => "; it holds text",
        b'f' | b'c' => "; cast it to float64 or complex128 first",
        _ => "",
    };
    PyTypeError::new_err(format!("arrays of {what} cannot be computed with{hint}"))
}

/// A number of Python's own types, not of NumPy's, whose types count.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
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
                Err(PyOverflowError::new_err("this integer is too large for every type; write it as a float"))
            }
        };
    }
    if object.is_exact_instance_of::<PyComplex>() {
        return Ok(Some(Scalar::Complex(object.extract()?)));
    }
    Ok(None)
}

/// An array of NumPy's from anything that is one, or can be seen as one without a copy, or made into one.
pub(crate) fn array<'py>(object: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let py = object.py();
    if let Some(error) = labelled_or_later(object)? {
        return Err(error);
    }
    // NumPy's own scalars speak DLPack in no version, and need not.
    if object.hasattr("__dlpack__")? {
        match borrowed(py)?.from_dlpack.bind(py).call1((object,)) {
            Ok(array) => return Ok(array.cast_into()?),
            Err(error) if object.hasattr("__array__")? => drop(error),
            Err(error) => return Err(not_taken(object, error)),
        }
    }
    let array = borrowed(py)?.as_array.bind(py).call1((object,))?;
    Ok(array.cast_into()?)
}

/// Whether an array is one of Dask's, which is computed later.
pub(crate) fn is_later(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // xarray's arrays have this too, and give None where Dask has nothing to do with them.
    let has_graph = object.hasattr("__dask_graph__")? && !object.call_method0("__dask_graph__")?.is_none();
    Ok(has_graph && !is_labelled(object))
}

/// Whether it is one of xarray's.
fn is_labelled(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().module().is_ok_and(|module| module.to_string().starts_with("xarray."))
}

/// What is not taken as an array of its elements alone, since it is more than that.
fn labelled_or_later(object: &Bound<'_, PyAny>) -> PyResult<Option<PyErr>> {
    let text = if is_labelled(object) {
        "this is an array of xarray's; use unishape.xarray.evaluate, which keeps its labels, or take its .values"
    } else if is_later(object)? {
        "this is a Dask array; use unishape.dask.evaluate, unishape.dask.broadcast_arrays or unishape.lazy, which \
         keep it one, or .compute() it first"
    } else {
        return Ok(None);
    };
    Ok(Some(PyTypeError::new_err(text)))
}

/// Why another library's array was not taken, and what to do.
fn not_taken(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    let kind = object.get_type();
    let name = kind.fully_qualified_name().map_or_else(|_| "object".into(), |name| name.to_string());
    let text = format!(
        "the memory of this {name} cannot be shared with NumPy ({}); move it to the CPU and make a plain array of it first",
        error.value(py)
    );
    let failure = PyTypeError::new_err(text);
    failure.set_cause(py, Some(error));
    failure
}

/// Whether an object is an array, or something that is taken as one, rather than a shape or a number.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let generic = borrowed(object.py())?.generic.bind(object.py());
    Ok(object.is_instance_of::<PyUntypedArray>()
        || object.is_instance(generic)?
        || object.hasattr("__dlpack__")?)
}
