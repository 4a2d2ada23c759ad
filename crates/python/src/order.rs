//! Memory layout of new arrays: NumPy's option `order`.

use crate::input::Input;
use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Layout of a new array.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Order {
    /// As close to that of the inputs as possible.
    #[default]
    Keep,
    /// Row-major.
    C,
    /// Column-major.
    F,
    /// Column-major if all inputs are, otherwise row-major.
    Any,
}

/// Axes from the largest stride to the smallest.
pub(crate) type Axes = SmallVec<[usize; 8]>;

impl Order {
    pub(crate) fn from_name(name: &str) -> PyResult<Order> {
        match name {
            "K" | "k" => Ok(Order::Keep),
            "C" | "c" => Ok(Order::C),
            "F" | "f" => Ok(Order::F),
            "A" | "a" => Ok(Order::Any),
            _ => {
                Err(PyValueError::new_err(format!("order must be one of 'C', 'F', 'A' or 'K', not '{name}'")))
            }
        }
    }

    /// The order of the axes of a new array of this rank; `None` for row-major.
    pub(crate) fn axes(self, rank: usize, inputs: &[Input<'_>]) -> Option<Axes> {
        let arrays = || inputs.iter().filter_map(Input::as_array);
        let axes = match self {
            _ if rank < 2 => return None,
            Order::C => return None,
            Order::F => (0..rank).rev().collect(),
            Order::Any if arrays().all(|array| array.is_fortran_contiguous() && !array.is_c_contiguous()) => {
                (0..rank).rev().collect()
            }
            Order::Any => return None,
            Order::Keep if arrays().all(|array| array.is_c_contiguous()) => return None,
            Order::Keep => {
                let strides: SmallVec<[SmallVec<[usize; 8]>; 4]> =
                    arrays().map(|array| strides(array.shape(), array.strides(), rank)).collect();
                by_stride(rank, &strides)
            }
        };
        (!axes.is_sorted()).then_some(axes)
    }
}

/// Absolute strides of an array along the axes of the result; 0 where it is stretched.
fn strides(shape: &[usize], strides: &[isize], rank: usize) -> SmallVec<[usize; 8]> {
    let mut result = SmallVec::from_elem(0, rank.saturating_sub(shape.len()));
    result.extend(
        shape.iter().zip(strides).map(|(&size, stride)| if size == 1 { 0 } else { stride.unsigned_abs() }),
    );
    result
}

/// Sorts axes by the strides of several arrays, as NumPy's iterator does: insertion sort from the last axis on, in
/// which an axis moves inward past another one if its stride is smaller in all arrays that are stretched along neither.
fn by_stride(rank: usize, arrays: &[SmallVec<[usize; 8]>]) -> Axes {
    // From the innermost axis outward.
    let mut order: Axes = (0..rank).rev().collect();
    for from in 1..rank {
        let axis = order[from];
        let mut to = from;
        for inner in (0..from).rev() {
            let mut should_swap = None;
            for strides in arrays {
                let (own, other) = (strides[axis], strides[order[inner]]);
                if own == 0 || other == 0 {
                    continue;
                }
                if other <= own {
                    should_swap = Some(false);
                } else if should_swap.is_none() {
                    should_swap = Some(true);
                }
            }
            match should_swap {
                Some(true) => to = inner,
                Some(false) => break,
                None => {}
            }
        }
        order[to..=from].rotate_right(1);
    }
    order.reverse();
    order
}
