//! The adjoint of broadcasting.

use crate::error::Error;
use crate::loops::{reserve, row_major};
use crate::operand::Operand;
use ndarray::{Array, ArrayView, Dimension, IntoDimension};
use num_traits::Zero;
use std::ops::Add;
use unishape_core::{Rules, broadcast_strides, element_count};

/// Sums an array down to a shape that could have been broadcast to it: the adjoint of
/// [`broadcast_to`](crate::broadcast_to), and so its gradient.
///
/// Every dimension that broadcasting would have stretched is summed over, so that for all `x` and
/// `y` the inner products ⟨`broadcast_to(x)`, `y`⟩ and ⟨`x`, `sum_to(y)`⟩ are equal.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::sum_to;
///
/// let y = arr2(&[[1, 2, 3], [10, 20, 30]]);
/// assert_eq!(sum_to(&y, 3)?, arr1(&[11, 22, 33]));
/// assert_eq!(sum_to(&y, (2, 1))?, arr2(&[[6], [60]]));
/// assert_eq!(sum_to(&y, ())?.into_scalar(), 66);
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// Elements are added as their type adds them: integers as Rust's do, with overflow checked in
/// debug builds and wrapped in release builds.
///
/// # Errors
///
/// [`Error::CannotStretch`] where `shape` could not have been broadcast to the array's shape,
/// [`Error::TooLarge`] or [`Error::OutOfMemory`] where the result does not fit. Nothing but the
/// result is allocated.
pub fn sum_to<O, Sh>(array: O, shape: Sh) -> Result<Array<O::Elem, Sh::Dim>, Error>
where
    O: Operand,
    O::Elem: Clone + Zero + Add<Output = O::Elem>,
    Sh: IntoDimension,
{
    let shape = shape.into_dimension();
    let (view, to) = (array.as_array().view(), shape.slice());
    // Where in the result each element is added: 0 steps along the dimensions summed over.
    let mut steps = vec![0; view.ndim()];
    if let Err(error) = broadcast_strides(Rules::STANDARD, to, &row_major(to), view.shape(), &mut steps) {
        return Err(Error::cannot_stretch(to, view.shape(), error));
    }
    let steps: Vec<usize> = steps.into_iter().map(isize::unsigned_abs).collect();
    let mut sums = reserve(to)?;
    sums.resize(element_count(to).unwrap_or(0), O::Elem::zero());
    add_rows(&view, &steps, &mut sums);
    Array::from_shape_vec(shape.clone(), sums).map_err(|_| Error::too_large(to, None))
}

/// Adds each row of the array to its place in the sums.
fn add_rows<A, D>(view: &ArrayView<'_, A, D>, steps: &[usize], sums: &mut [A])
where
    A: Clone + Zero + Add<Output = A>,
    D: Dimension,
{
    if view.is_empty() {
        return; // also where there are countless rows of no elements
    }
    let Some((&last, outer)) = steps.split_last() else {
        sums.clone_from_slice(&[view.sum()]);
        return;
    };
    let mut index = vec![0; outer.len()];
    let mut at = 0;
    for row in view.rows() {
        if last == 0 {
            sums[at] = sums[at].clone() + row.sum();
        } else {
            for (sum, element) in sums[at..].iter_mut().zip(row) {
                *sum = sum.clone() + element.clone();
            }
        }
        for dim in (0..outer.len()).rev() {
            index[dim] += 1;
            at += outer[dim];
            if index[dim] < view.shape()[dim] {
                break;
            }
            at -= outer[dim] * index[dim];
            index[dim] = 0;
        }
    }
}
