//! Arrays inside objects of pandas, Polars and PyTorch: results are such objects, too.
//!
//! `unishape._containers` has the conversions.

use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyString, PyType};

const MODULE: &str = "unishape._containers";

/// How to convert a result.
pub(crate) struct Containers<'py> {
    wrap: Bound<'py, PyAny>,
}

impl<'py> Containers<'py> {
    /// Checks labels and finds those of the result of some steps. `arrays` has the value of each variable or array.
    pub(crate) fn of_steps(
        steps: &Bound<'py, PyAny>,
        arrays: &Bound<'py, PyAny>,
    ) -> PyResult<Containers<'py>> {
        let wrap = steps.py().import(MODULE)?.call_method1("wrapper", (steps, arrays))?;
        Ok(Containers { wrap })
    }

    /// As [`of_steps`](Containers::of_steps) for one function of some arguments; `None` if none is in a container.
    pub(crate) fn of_call(name: &str, arguments: &[&Bound<'py, PyAny>]) -> PyResult<Option<Containers<'py>>> {
        let mut any = false;
        for object in arguments {
            any |= is_container(object)?;
        }
        let [first, ..] = arguments else { return Ok(None) };
        if !any {
            return Ok(None);
        }
        let module = first.py().import(MODULE)?;
        let wrap = module.call_method1("wrapper_of_call", (name, arguments.to_vec()))?;
        Ok(Some(Containers { wrap }))
    }

    /// As [`of_steps`](Containers::of_steps) for the text of an expression; `None` if no value is in a container.
    pub(crate) fn of_text(
        text: &str,
        names: &[&str],
        objects: &[Bound<'py, PyAny>],
    ) -> PyResult<Option<Containers<'py>>> {
        let mut any = false;
        for object in objects {
            any |= is_container(object)?;
        }
        let [first, ..] = objects else { return Ok(None) };
        if !any {
            return Ok(None);
        }
        let py = first.py();
        let values = PyDict::new(py);
        for (name, object) in names.iter().zip(objects) {
            values.set_item(name, object)?;
        }
        let wrap = py.import(MODULE)?.call_method1("wrapper_of_text", (text, values))?;
        Ok(Some(Containers { wrap }))
    }

    /// The result in a container, if there is one.
    pub(crate) fn wrap(
        containers: Option<Containers<'py>>,
        result: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match containers {
            Some(containers) => containers.wrap.call1((result,)),
            None => Ok(result),
        }
    }
}

/// Whether results are to be converted to the class of an object: a pandas or Polars column or table, or a tensor.
///
/// Subclasses count, too.
pub(crate) fn is_container(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyUntypedArray>() || is_number(object) {
        return Ok(false);
    }
    for base in object.get_type().mro() {
        let Ok(base) = base.cast::<PyType>() else { continue };
        let Ok(module) = base.module() else { continue };
        let name: Bound<'_, PyString> = base.name()?;
        let is_one = match (module.to_str()?.split('.').next(), name.to_str()?) {
            (Some("pandas" | "polars"), name) => matches!(name, "Series" | "DataFrame"),
            (Some("torch"), name) => name == "Tensor",
            _ => false,
        };
        if is_one {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
}

/// The elements of an object of pandas, Polars or PyTorch on the CPU; `None` for others.
pub(crate) fn to_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match is_container(object)? {
        true => object.py().import(MODULE)?.call_method1("to_array", (object,)).map(Some),
        false => Ok(None),
    }
}

/// The result as a tensor, where a value is one.
pub(crate) fn like<'py>(value: &Bound<'py, PyAny>, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match is_container(value)? {
        true => value.py().import(MODULE)?.call_method1("like", (value, result)),
        false => Ok(result),
    }
}

/// The memory of a tensor as an array, for `out=`; `None` for other objects.
pub(crate) fn out_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match is_container(object)? {
        true if object.hasattr("requires_grad")? => to_array(object),
        true => Err(PyTypeError::new_err(format!(
            "out must be a NumPy array or a tensor on the CPU, not {}: assign the result instead",
            object.get_type().name()?
        ))),
        false => Ok(None),
    }
}
