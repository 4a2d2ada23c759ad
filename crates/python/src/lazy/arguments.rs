//! Arguments of views and reductions, from Python objects and back.

use crate::dtype;
use crate::input;
use numpy::PyArrayDescr;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyList, PySlice, PyString, PyTuple};
use unishape::DType;
use unishape::expr::{IndexItem, Scalar};

/// An integer, from any object with `__index__`.
pub(super) fn integer(object: &Bound<'_, PyAny>, what: &str) -> PyResult<i64> {
    match object.extract() {
        Ok(number) if !object.is_instance_of::<PyBool>() => Ok(number),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Err(error),
        _ => {
            Err(PyTypeError::new_err(format!("{what} must be an integer, not {}", object.get_type().name()?)))
        }
    }
}

/// Axes: an integer, several, or all for `None`.
pub(super) fn axes(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<i64>>> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(None) };
    one_or_more(object, "an axis").map(Some)
}

/// Integers from a call such as `f(1, 2)` or `f((1, 2))`.
pub(super) fn integers(arguments: &Bound<'_, PyTuple>, what: &str) -> PyResult<Vec<i64>> {
    match arguments.len() {
        1 => one_or_more(&arguments.get_item(0)?, what),
        _ => arguments.iter().map(|item| integer(&item, what)).collect(),
    }
}

/// An integer, or a tuple or list of integers.
pub(super) fn one_or_more(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<i64>> {
    match object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        true => object.try_iter()?.map(|item| integer(&item?, what)).collect(),
        false => Ok(vec![integer(object, what)?]),
    }
}

/// The dtype of an argument `dtype=`.
pub(super) fn dtype(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(None) };
    let descr = PyArrayDescr::new(object.py(), object)?;
    match dtype::from_descr(&descr) {
        Some(dtype) => Ok(Some(dtype)),
        None => Err(PyTypeError::new_err(format!("lazy values do not support dtype {descr}"))),
    }
}

/// A number, from Python or NumPy.
pub(super) fn number(object: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Option<Scalar>> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(None) };
    if let Some(scalar) = input::python_scalar(object)? {
        return Ok(Some(scalar));
    }
    let item = if object.hasattr("item")? { Some(object.call_method0("item")?) } else { None };
    match item.map(|item| input::python_scalar(&item)).transpose()?.flatten() {
        Some(scalar) => Ok(Some(scalar)),
        None => {
            Err(PyTypeError::new_err(format!("{what} must be a number, not {}", object.get_type().name()?)))
        }
    }
}

/// The items of an index in brackets.
pub(super) fn index(key: &Bound<'_, PyAny>) -> PyResult<Vec<IndexItem>> {
    match key.cast::<PyTuple>() {
        Ok(items) => items.iter().map(|item| index_item(&item)).collect(),
        Err(_) => Ok(vec![index_item(key)?]),
    }
}

fn index_item(item: &Bound<'_, PyAny>) -> PyResult<IndexItem> {
    if item.is_none() {
        return Ok(IndexItem::NewAxis);
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(IndexItem::Ellipsis);
    }
    if item.is_instance_of::<PySlice>() {
        // As for Python's own sequences, numbers beyond 64 bits are those at its limits.
        let part = |name: &str| -> PyResult<Option<i64>> {
            let part = item.getattr(name)?;
            match part.extract() {
                _ if part.is_none() => Ok(None),
                Ok(number) => Ok(Some(number)),
                Err(_) if part.lt(0).unwrap_or(false) && part.hasattr("__index__")? => Ok(Some(i64::MIN)),
                Err(_) if part.hasattr("__index__")? => Ok(Some(i64::MAX)),
                Err(_) => Err(PyTypeError::new_err(
                    "slice indices must be integers or None or have an __index__ method",
                )),
            }
        };
        return Ok(IndexItem::Slice { start: part("start")?, stop: part("stop")?, step: part("step")? });
    }
    match item.extract() {
        Ok(index) if !item.is_instance_of::<PyBool>() && item.hasattr("__index__")? => {
            Ok(IndexItem::At(index))
        }
        // Sequences, masks and other lazy values have a length; so has text.
        _ if item.hasattr("__len__")? && !item.is_instance_of::<PyString>()
            || item.is_instance_of::<PyBool>() =>
        {
            Err(PyIndexError::new_err(
                "the index of a lazy value consists of integers, slices, None and ...; call .compute() first to index \
                 with arrays",
            ))
        }
        _ => Err(PyIndexError::new_err(format!(
            "the index of a lazy value consists of integers, slices, None and ..., not {}",
            item.get_type().name()?
        ))),
    }
}

/// An index as a Python object: the inverse of [`index`].
pub(super) fn index_object<'py>(py: Python<'py>, items: &[IndexItem]) -> PyResult<Bound<'py, PyTuple>> {
    let slice = py.get_type::<PySlice>();
    let object = |item: &IndexItem| match *item {
        IndexItem::At(index) => Ok(index.into_pyobject(py)?.into_any()),
        IndexItem::Slice { start, stop, step } => slice.call1((start, stop, step)),
        IndexItem::NewAxis => Ok(py.None().into_bound(py)),
        IndexItem::Ellipsis => Ok(PyEllipsis::get(py).to_owned().into_any()),
    };
    PyTuple::new(py, items.iter().map(object).collect::<PyResult<Vec<_>>>()?)
}

/// A number as a Python object: the inverse of [`number`].
pub(crate) fn number_object<'py>(py: Python<'py>, number: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match number {
        Scalar::Bool(number) => number.into_pyobject(py)?.to_owned().into_any(),
        Scalar::Int(number) => number.into_pyobject(py)?.into_any(),
        Scalar::Float(number) => number.into_pyobject(py)?.into_any(),
        Scalar::Complex(number) => number.into_pyobject(py)?.into_any(),
    })
}
