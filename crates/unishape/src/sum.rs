//! The adjoint of broadcasting.

use crate::error::Error;
use crate::loops::{add_to, reserve, set_row_major};
use crate::operand::Operand;
use ndarray::{Array, Dimension, IntoDimension};
use num_traits::Zero;
use smallvec::SmallVec;
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
/// debug builds and wrapped in release builds. In which order is not said, but it is always the same for an
/// array of the same shape and strides, on any number of threads; and rounding errors grow with the
/// logarithm of how many numbers are added.
///
/// # Errors
///
/// [`Error::CannotStretch`] where `shape` could not have been broadcast to the array's shape,
/// [`Error::TooLarge`] or [`Error::OutOfMemory`] where the result does not fit. What is allocated beside
/// the result are partial sums of a result that has at most 2¹⁴ elements, some at a time.
pub fn sum_to<O, Sh>(array: O, shape: Sh) -> Result<Array<O::Elem, Sh::Dim>, Error>
where
    O: Operand,
    O::Elem: Clone + Zero + Add<Output = O::Elem>,
    Sh: IntoDimension,
{
    let shape = shape.into_dimension();
    let (array, to) = (array.as_array(), shape.slice());
    // Where in the result each element is added: 0 steps along the dimensions summed over.
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, to.len());
    set_row_major(&mut strides, to);
    let mut steps: SmallVec<[isize; 6]> = SmallVec::from_elem(0, array.ndim());
    if let Err(error) = broadcast_strides(Rules::STANDARD, to, &strides, array.shape(), &mut steps) {
        return Err(Error::not_broadcastable(to, array.shape(), error));
    }
    let mut sums = reserve(to)?;
    sums.resize(element_count(to).unwrap_or(0), O::Elem::zero());
    add_to(array, &steps, &mut sums);
    Array::from_shape_vec(shape.clone(), sums).map_err(|_| Error::too_large(to, None))
}
