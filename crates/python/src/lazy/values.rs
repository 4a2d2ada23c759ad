//! Computed lazy values as arrays of other libraries: the kept array, and what operators accept.

use crate::imports::imports;
use crate::input;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::sync::{Mutex, PoisonError};

/// The computed array of a lazy value, if it is kept. It is read-only.
#[derive(Default)]
pub(super) struct Kept(Mutex<Option<Py<PyAny>>>);

impl Kept {
    pub(super) fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.lock().as_ref().map(|array| array.bind(py).clone())
    }

    /// Keeps an array. Where another thread was faster, its array is the one.
    pub(super) fn set<'py>(&self, array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = array.py();
        array.call_method1("setflags", (false,))?;
        Ok(self.lock().get_or_insert_with(|| array.unbind()).bind(py).clone())
    }

    pub(super) fn release(&self) {
        let array = self.lock().take();
        // Its destructor may run Python code: not while the lock is held.
        drop(array);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Py<PyAny>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an operator takes an object for a number or an array.
pub(super) fn is_operand(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyUntypedArray>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || input::python_scalar(object)?.is_some()
    {
        return Ok(true);
    }
    // An object with `__array_ufunc__ = None` implements operators with arrays itself.
    if object.getattr_opt("__array_ufunc__")?.is_some_and(|function| function.is_none()) {
        return Ok(false);
    }
    for protocol in
        ["__array__", "__dlpack__", "__cuda_array_interface__", "__array_interface__", "__dask_graph__"]
    {
        if object.hasattr(protocol)? {
            return Ok(true);
        }
    }
    object.is_instance(imports(object.py())?.generic.bind(object.py()))
}

/// Whether `==` with an object would be an error in a program rather than a question.
pub(super) fn is_never_comparable(object: &Bound<'_, PyAny>) -> bool {
    object.is_none() || object.is_instance_of::<PyString>()
}

/// Whether an index selects with arrays, lists or booleans, or with a tuple that has one of them.
pub(super) fn is_advanced_index(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_array = |item: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(item.is_instance_of::<PyList>()
            || item.is_instance_of::<pyo3::types::PyBool>()
            || item.hasattr("__array__")?)
    };
    match key.cast::<PyTuple>() {
        Ok(items) => {
            for item in items {
                if is_array(&item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Err(_) => is_array(key),
    }
}

/// Whether NumPy's arrays have a public attribute of this name.
pub(super) fn is_array_attribute(py: Python<'_>, name: &str) -> PyResult<bool> {
    Ok(!name.starts_with('_') && py.get_type::<PyUntypedArray>().hasattr(name)?)
}

/// The only element of an array.
pub(super) fn element<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match array.cast::<PyUntypedArray>()?.len() {
        1 => array.call_method1("reshape", ((),))?.get_item(()),
        size => {
            Err(PyTypeError::new_err(format!("this needs a lazy value of one element, but it has {size}")))
        }
    }
}

/// The product of two matrices, one of which is computed; `NotImplemented` if the other is no array.
pub(super) fn matmul<'py>(
    other: &Bound<'py, PyAny>,
    own: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    is_reflected: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = other.py();
    if !is_operand(other)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    let matmul = py.import("numpy")?.getattr("matmul")?;
    match is_reflected {
        true => matmul.call1((other, own()?)),
        false => matmul.call1((own()?, other)),
    }
}

/// A tuple of two values, unless the first one is `NotImplemented`.
pub(super) fn pair<'py>(
    first: Bound<'py, PyAny>,
    second: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = first.py();
    if first.is(py.NotImplemented()) {
        return Ok(first);
    }
    Ok((first, second()?).into_pyobject(py)?.into_any())
}

/// The DLPack capsule of a read-only array: a copy, where the version of DLPack cannot mark it as read-only.
pub(super) fn dlpack<'py>(
    array: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    match array.call_method("__dlpack__", (), options) {
        Err(error) if error.is_instance_of::<PyBufferError>(array.py()) => {
            array.call_method0("copy")?.call_method("__dlpack__", (), options)
        }
        capsule => capsule,
    }
}
