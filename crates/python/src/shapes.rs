//! Broadcasting itself: views of any arrays, and shapes alone.

use crate::failure::of_shapes;
use crate::input::array;
use crate::memory::{self, NumPy};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple};
use unishape::{Extent, Rules, broadcast_shapes_with};

/// The rule set of a name.
pub(crate) fn rules(name: &str, strict_rank: bool) -> PyResult<Rules> {
    let rules = match name {
        "standard" => Rules::STANDARD,
        "sonnx" => Rules::SONNX,
        _ => {
            let text = format!("there are no rules {name:?}; there are \"standard\" and \"sonnx\"");
            return Err(PyValueError::new_err(text));
        }
    };
    Ok(if strict_rank { rules.strict_rank() } else { rules })
}

/// Brings arrays to one shape, without copying.
///
/// Every array of any type becomes a read-only view of the common shape, in the order of the arguments.
/// Arrays of other libraries come in by DLPack, without a copy where it allows that.
///
/// rules="sonnx" are those of ONNX's safety-related profile: at least one array, and 1 does not stretch to 0.
/// strict_rank=True wants arrays of one rank.
///
/// Raises ValueError with a picture of the shapes where they are incompatible.
///
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
    let rules = self::rules(rules, strict_rank)?;
    let objects: Vec<Bound<'py, PyAny>> = arrays.iter().collect();
    let arrays: Vec<NumPy<'py>> = objects.iter().map(array).collect::<PyResult<_>>()?;
    let shapes: Vec<&[usize]> = arrays.iter().map(|array| array.shape()).collect();
    let common = broadcast_shapes_with(rules, &shapes).map_err(of_shapes)?;
    let views = arrays.iter().zip(&objects).map(|(array, object)| {
        let view = stretched(array, rules, &common)?;
        for_its_library(view, object)
    });
    PyTuple::new(py, views.collect::<PyResult<Vec<_>>>()?)
}

/// Stretches an array to a shape, without copying. The result is a read-only view.
///
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
) -> PyResult<NumPy<'py>> {
    let rules = self::rules(rules, strict_rank)?;
    for_its_library(stretched(&array(x)?, rules, &known_sizes(shape)?)?, x)
}

/// A view of an array of another library's, which may be handed back to it.
fn for_its_library<'py>(view: NumPy<'py>, object: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_instance_of::<PyUntypedArray>() || !object.hasattr("__dlpack__")? {
        return Ok(view);
    }
    let kind = VIEW.import(object.py(), "unishape._view", "View")?;
    Ok(view.call_method1("view", (kind,))?.cast_into()?)
}

/// A view of another shape, if the array can be stretched to it.
fn stretched<'py>(array: &NumPy<'py>, rules: Rules, shape: &[usize]) -> PyResult<NumPy<'py>> {
    memory::stretched(array, rules, shape)?
        .map_err(|error| of_shapes(unishape::Error::not_broadcastable(array.shape(), shape, error)))
}

/// The common shape of several shapes.
///
/// A size that is not known is None. As an integer is a shape of one dimension, broadcast_shapes(3, 1) is (3,).
///
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
    let rules = self::rules(rules, strict_rank)?;
    let shapes: Vec<Vec<Extent>> = shapes.iter().map(|shape| sizes(&shape)).collect::<PyResult<_>>()?;
    let common = broadcast_shapes_with(rules, &shapes).map_err(of_shapes)?;
    PyTuple::new(
        py,
        common.into_iter().map(|size| match size {
            Extent::Known(size) => Some(size),
            Extent::Unknown | Extent::Positive => None,
        }),
    )
}

/// A shape: integers or None, or one integer.
pub(crate) fn sizes(shape: &Bound<'_, PyAny>) -> PyResult<Vec<Extent>> {
    let size = |size: &Bound<'_, PyAny>| -> PyResult<Extent> {
        if size.is_none() {
            return Ok(Extent::Unknown);
        }
        // As Python itself takes indices: its own integers, NumPy's, but no floats.
        size.extract::<usize>().map(Extent::Known).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(size.py()) {
                let is_negative = size.lt(0).unwrap_or(false);
                let what = if is_negative { "cannot be negative" } else { "is too large" };
                return PyValueError::new_err(format!("a size {what}: {size}"));
            }
            let is_no_size = error.is_instance_of::<PyTypeError>(size.py());
            if is_no_size { no_shape(shape) } else { error }
        })
    };
    if shape.is_instance_of::<PyInt>() || (shape.hasattr("__index__")? && !shape.hasattr("__len__")?) {
        return Ok(vec![size(shape)?]);
    }
    let all = shape.try_iter().map_err(|_| no_shape(shape))?;
    all.map(|each| size(&each?)).collect()
}

fn no_shape(shape: &Bound<'_, PyAny>) -> PyErr {
    let text = shape.repr().map_or_else(|_| "this".into(), |repr| repr.to_string());
    PyTypeError::new_err(format!("{text} is no shape; write integers (or None), such as (8, 1, 6, 1)"))
}

/// A shape whose sizes are all known.
pub(crate) fn known_sizes(shape: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let known = sizes(shape)?.into_iter().map(|size| match size {
        Extent::Known(size) => Some(size),
        Extent::Unknown | Extent::Positive => None,
    });
    known.collect::<Option<_>>().ok_or_else(|| PyValueError::new_err("every size has to be known here"))
}
