//! The same elements in another shape, without a copy where that is possible.

use super::graph::{self, LazyDag, Leaf, leaf, unknown_shape};
use super::repr::tuple;
use super::steps;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use unishape::expr::{Term, View};

/// What to do where another shape is not a view.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum IfCopy {
    /// Raises an error: methods of lazy values compute nothing.
    Raise,
    /// Computes the value and reshapes it: NumPy's functions accept any array.
    Compute,
}

/// The same elements in another shape: a view, or for values of Dask arrays what Dask makes of them.
///
/// Other values that are computed have no memory that could be viewed in another shape. For them only axes of size 1
/// can be added and removed without a computation. `to_array` makes a Dask array of values of Dask arrays, and computes
/// others.
pub(super) fn reshape<'py>(
    py: Python<'py>,
    input: &LazyDag,
    shape: &[i64],
    if_copy: IfCopy,
    to_array: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<LazyDag> {
    let from = input.meta().shape.as_ref().ok_or_else(unknown_shape)?;
    let to = resolve(from, shape)?;
    let is_longer = |&&size: &&usize| size != 1;
    if from.iter().filter(is_longer).eq(to.iter().filter(is_longer)) {
        let squeezed = graph::view(View::Squeeze(None), input.clone())?;
        let added = (0i64..).zip(&to).filter(|&(_, &size)| size == 1).map(|(axis, _)| axis);
        return graph::view(View::ExpandDims(added.collect()), squeezed);
    }
    let tuple_of_sizes = PyTuple::new(py, &to)?;
    if input.topological().iter().any(graph::is_deferred) {
        return leaf(&to_array()?.call_method1("reshape", (tuple_of_sizes,))?);
    }
    let of = match as_array(py, input)? {
        Some(array) => {
            let options = PyDict::new(py);
            options.set_item("copy", false)?;
            match array.call_method("reshape", (&tuple_of_sizes,), Some(&options)) {
                Ok(reshaped) => return leaf(&reshaped),
                Err(error) if error.is_instance_of::<PyValueError>(py) => "the array, because of its strides",
                Err(error) => return Err(error),
            }
        }
        None => "computed elements",
    };
    match if_copy {
        IfCopy::Compute => leaf(&to_array()?.call_method1("reshape", (tuple_of_sizes,))?),
        IfCopy::Raise => Err(PyValueError::new_err(format!(
            "reshape of a lazy value is a view and copies nothing, but {} to {} needs a copy of {of}; call .compute() or \
             numpy.asarray first, and reshape the array",
            tuple(from),
            tuple(&to)
        ))),
    }
}

/// The sizes of a shape, one of which may be -1.
fn resolve(from: &[usize], shape: &[i64]) -> PyResult<Vec<usize>> {
    let product = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(1, usize::saturating_mul);
    let size = product(&mut from.iter().copied());
    let mismatch = || {
        PyValueError::new_err(format!(
            "cannot reshape a lazy value of shape {}, {size} elements, into shape {}",
            tuple(from),
            tuple(shape)
        ))
    };
    if shape.iter().filter(|&&size| size < 0).count() > 1 {
        return Err(PyValueError::new_err("only one size of a shape can be -1"));
    }
    let others = product(&mut shape.iter().filter_map(|&size| usize::try_from(size).ok()));
    let mut to: Vec<usize> = Vec::with_capacity(shape.len());
    for &wanted in shape {
        to.push(match wanted {
            -1 if others > 0 && size.is_multiple_of(others) => size / others,
            wanted => usize::try_from(wanted).map_err(|_| mismatch())?,
        });
    }
    match product(&mut to.iter().copied()) == size {
        true => Ok(to),
        false => Err(mismatch()),
    }
}

/// The NumPy array that a value is, or is a view of; `None` for values that are computed.
fn as_array<'py>(py: Python<'py>, input: &LazyDag) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut views = Vec::new();
    let mut node = input;
    while let Term::View(view, of) = node.term() {
        views.push(view);
        node = of;
    }
    let Term::Leaf(Leaf::Array(array)) = node.term() else { return Ok(None) };
    let numpy = py.import("numpy")?;
    let mut array = array.bind(py).clone();
    for view in views.into_iter().rev() {
        let (name, argument) = steps::view(py, view)?;
        array = match view {
            View::Index(_) => array.get_item(argument)?,
            View::SwapAxes(one, other) => array.call_method1(name, (*one, *other))?,
            View::Squeeze(Some(axes)) => array.call_method1(name, (PyTuple::new(py, axes)?,))?,
            _ => numpy.call_method1(name, (array, argument))?,
        };
    }
    // An element is a NumPy scalar.
    numpy.call_method1("asarray", (array,)).map(Some)
}
