//! `broadcast_arrays`, `broadcast_to`, `broadcast_shapes`.

use crate::errors::shape_error;
use crate::gpu;
use crate::input::{as_array, check_unmasked, is_on_gpu};
use crate::memory::{self, NumPy};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple};
use unishape::{Extent, Rules, broadcast_shapes_with};

/// The rule set with a name.
pub(crate) fn parse_rules(name: &str, strict_rank: bool) -> PyResult<Rules> {
    let rules = match name {
        "standard" => Rules::STANDARD,
        "sonnx" => Rules::SONNX,
        _ => {
            let text = format!("unknown rules {name:?}; use \"standard\" or \"sonnx\"");
            return Err(PyValueError::new_err(text));
        }
    };
    Ok(if strict_rank { rules.strict_rank() } else { rules })
}

/// Broadcasts arrays of any dtypes to their common shape, without copying.
///
/// Parameters
/// ----------
/// *arrays : array_like
///     Arrays of other libraries are imported by DLPack, without a copy where possible. Views of arrays on a GPU are
///     there, too: of PyTorch and CuPy as their own, of others as a read-only DeviceArray; JAX has no such views.
/// rules : {"standard", "sonnx"}, default "standard"
///     Rule set. "sonnx" is that of ONNX's safety-related profile: at least one array is required, and 1 does
///     not stretch to 0.
/// strict_rank : bool, default False
///     Whether unequal ranks are an error.
///
/// Returns
/// -------
/// tuple of numpy.ndarray
///     A read-only view for each argument.
///
/// Raises
/// ------
/// ValueError
///     If the shapes are incompatible; the message shows them aligned.
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> a, b = unishape.broadcast_arrays(np.arange(3), np.array([["x"], ["y"]]))
/// >>> b.tolist()
/// [['x', 'x', 'x'], ['y', 'y', 'y']]
#[pyfunction]
#[pyo3(signature = (*arrays, rules="standard", strict_rank=false))]
pub(crate) fn broadcast_arrays<'py>(
    py: Python<'py>,
    arrays: &Bound<'py, PyTuple>,
    rules: &str,
    strict_rank: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let rules = parse_rules(rules, strict_rank)?;
    let objects: Vec<Bound<'py, PyAny>> = arrays.iter().collect();
    if objects.iter().map(is_on_gpu).collect::<PyResult<Vec<bool>>>()?.contains(&true) {
        return broadcast_on_gpu(py, &objects, rules);
    }
    let arrays: Vec<NumPy<'py>> = objects.iter().map(unmasked_array).collect::<PyResult<_>>()?;
    let shapes: Vec<&[usize]> = arrays.iter().map(|array| array.shape()).collect();
    let common = broadcast_shapes_with(rules, &shapes).map_err(shape_error)?;
    let views = arrays.iter().zip(&objects).map(|(array, object)| {
        let view = broadcast_view(array, rules, &common)?;
        exportable(view, object)
    });
    PyTuple::new(py, views.collect::<PyResult<Vec<_>>>()?)
}

/// Views of arrays on a GPU, and of others.
fn broadcast_on_gpu<'py>(
    py: Python<'py>,
    objects: &[Bound<'py, PyAny>],
    rules: Rules,
) -> PyResult<Bound<'py, PyTuple>> {
    let mut shapes: Vec<Vec<usize>> = Vec::new();
    for object in objects {
        shapes.push(match is_on_gpu(object)? {
            true => gpu::describe(object)?.0,
            false => unmasked_array(object)?.shape().to_vec(),
        });
    }
    let common = broadcast_shapes_with(rules, &shapes).map_err(shape_error)?;
    let view = |object: &Bound<'py, PyAny>| match is_on_gpu(object)? {
        true => gpu::broadcast(object, rules, &common),
        false => {
            Ok(exportable(broadcast_view(&unmasked_array(object)?, rules, &common)?, object)?.into_any())
        }
    };
    PyTuple::new(py, objects.iter().map(view).collect::<PyResult<Vec<_>>>()?)
}

/// Broadcasts an array to a shape, without copying.
///
/// Parameters
/// ----------
/// x : array_like
///     The array.
/// shape : int or tuple of ints
///     The shape of the result; every size must be known.
/// rules : {"standard", "sonnx"}, default "standard"
///     Rule set. "sonnx" is that of ONNX's safety-related profile: 1 does not stretch to 0.
/// strict_rank : bool, default False
///     Whether unequal ranks are an error.
///
/// Returns
/// -------
/// numpy.ndarray
///     A read-only view.
///
/// Raises
/// ------
/// ValueError
///     If the array cannot be stretched to the shape; the message shows both aligned.
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> unishape.broadcast_to(np.arange(3), (2, 3)).tolist()
/// [[0, 1, 2], [0, 1, 2]]
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, rules="standard", strict_rank=false))]
pub(crate) fn broadcast_to<'py>(
    x: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    rules: &str,
    strict_rank: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let rules = parse_rules(rules, strict_rank)?;
    let shape = parse_known_shape(shape)?;
    if is_on_gpu(x)? {
        return gpu::broadcast(x, rules, &shape);
    }
    Ok(exportable(broadcast_view(&unmasked_array(x)?, rules, &shape)?, x)?.into_any())
}

/// The array of an object, whose mask would be ignored if it had one.
fn unmasked_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    let array = as_array(object)?;
    check_unmasked(&array)?;
    Ok(array)
}

/// A view of another library's array, as a subclass with a helpful DLPack error.
fn exportable<'py>(view: NumPy<'py>, object: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_instance_of::<PyUntypedArray>() || !object.hasattr("__dlpack__")? {
        return Ok(view);
    }
    let class = VIEW.import(object.py(), "unishape._view", "View")?;
    Ok(view.call_method1("view", (class,))?.cast_into()?)
}

/// A read-only view of another shape.
fn broadcast_view<'py>(array: &NumPy<'py>, rules: Rules, shape: &[usize]) -> PyResult<NumPy<'py>> {
    memory::broadcast_view(array, rules, shape)?
        .map_err(|error| shape_error(unishape::Error::not_broadcastable(array.shape(), shape, error)))
}

/// Broadcasts shapes to their common shape.
///
/// Parameters
/// ----------
/// *shapes : int or tuple of ints and None
///     None is an unknown size. An int is a shape of one dimension: broadcast_shapes(3, 1) is (3,).
/// rules : {"standard", "sonnx"}, default "standard"
///     Rule set. "sonnx" is that of ONNX's safety-related profile: at least one shape is required, and 1 does
///     not stretch to 0.
/// strict_rank : bool, default False
///     Whether unequal ranks are an error.
///
/// Returns
/// -------
/// tuple of ints and None
///     The common shape; None for a size that is unknown.
///
/// Raises
/// ------
/// ValueError
///     If the shapes are incompatible; the message shows them aligned.
///
/// Examples
/// --------
/// >>> import unishape
/// >>> unishape.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))
/// (8, 7, 6, 5)
/// >>> unishape.broadcast_shapes((None, 3), (1, 1))
/// (None, 3)
#[pyfunction]
#[pyo3(signature = (*shapes, rules="standard", strict_rank=false))]
pub(crate) fn broadcast_shapes<'py>(
    py: Python<'py>,
    shapes: &Bound<'py, PyTuple>,
    rules: &str,
    strict_rank: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let rules = parse_rules(rules, strict_rank)?;
    let shapes: Vec<Vec<Extent>> = shapes.iter().map(|shape| parse_shape(&shape)).collect::<PyResult<_>>()?;
    let common = broadcast_shapes_with(rules, &shapes).map_err(shape_error)?;
    PyTuple::new(
        py,
        common.into_iter().map(|size| match size {
            Extent::Known(size) => Some(size),
            Extent::Unknown | Extent::Positive => None,
        }),
    )
}

/// Parses a shape: a sequence of integers and None, or one integer.
pub(crate) fn parse_shape(shape: &Bound<'_, PyAny>) -> PyResult<Vec<Extent>> {
    let size = |size: &Bound<'_, PyAny>| -> PyResult<Extent> {
        if size.is_none() {
            return Ok(Extent::Unknown);
        }
        // As for Python indices: any object with `__index__`, but no floats.
        size.extract::<usize>().map(Extent::Known).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(size.py()) {
                let is_negative = size.lt(0).unwrap_or(false);
                let what = if is_negative { "must not be negative" } else { "is too large" };
                return PyValueError::new_err(format!("a size {what}: {size}"));
            }
            let is_type_error = error.is_instance_of::<PyTypeError>(size.py());
            if is_type_error { invalid_shape(shape) } else { error }
        })
    };
    if shape.is_instance_of::<PyInt>() || (shape.hasattr("__index__")? && !shape.hasattr("__len__")?) {
        return Ok(vec![size(shape)?]);
    }
    let items = shape.try_iter().map_err(|_| invalid_shape(shape))?;
    items.map(|item| size(&item?)).collect()
}

fn invalid_shape(shape: &Bound<'_, PyAny>) -> PyErr {
    let text = shape.repr().map_or_else(|_| "this".into(), |repr| repr.to_string());
    PyTypeError::new_err(format!(
        "invalid shape {text}; use a tuple of integers (or None), such as (8, 1, 6, 1)"
    ))
}

/// Parses a shape without unknown sizes.
pub(crate) fn parse_known_shape(shape: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let known = parse_shape(shape)?.into_iter().map(|size| match size {
        Extent::Known(size) => Some(size),
        Extent::Unknown | Extent::Positive => None,
    });
    known
        .collect::<Option<_>>()
        .ok_or_else(|| PyValueError::new_err("every size must be known; replace None by an integer"))
}
