//! The adjoint of broadcasting.

use crate::error::Error;
use crate::operand::Operand;
use ndarray::{Array, ArrayD, Axis, Dimension, IntoDimension};
use num_traits::Zero;
use std::ops::Add;
use unishape_core::{Rules, check_broadcast_to};

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
/// [`Error::CannotStretch`] where `shape` could not have been broadcast to the array's shape.
pub fn sum_to<O, Sh>(array: O, shape: Sh) -> Result<Array<O::Elem, Sh::Dim>, Error>
where
    O: Operand,
    O::Elem: Clone + Zero + Add<Output = O::Elem>,
    Sh: IntoDimension,
{
    let shape = shape.into_dimension();
    let view = array.as_array().view();
    let (from, to) = (view.shape(), shape.slice());
    if let Err(error) = check_broadcast_to(Rules::STANDARD, to, from) {
        return Err(Error::cannot_stretch(to, from, error));
    }
    let extra = from.len() - to.len();
    let summed: Vec<usize> =
        (0..from.len()).filter(|&dim| dim < extra || to[dim - extra] != from[dim]).collect();
    // From the left, so that as much as possible is added along contiguous rows. The dimensions
    // stay, with size 1, until the last sum is done.
    let mut sum: Option<ArrayD<O::Elem>> = None;
    for dim in summed {
        let partial = match &sum {
            None => view.clone().into_dyn().sum_axis(Axis(dim)),
            Some(sum) => sum.sum_axis(Axis(dim)),
        };
        sum = Some(partial.insert_axis(Axis(dim)));
    }
    let elements = match sum {
        Some(sum) => sum.into_iter().collect(),
        None => crate::to_owned(view)?.into_iter().collect(),
    };
    Array::from_shape_vec(shape.clone(), elements).map_err(|_| Error::too_large(shape.slice(), None))
}
