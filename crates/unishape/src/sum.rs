//! `sum_to`: the adjoint of broadcasting.

use crate::alloc::{checked_len, out_of_memory};
use crate::error::Error;
use crate::fold::{Accumulator, Sum};
use crate::operand::MapOperand;
use ndarray::{Array, Dimension, IntoDimension};
use num_traits::Zero;
use smallvec::SmallVec;
use std::ops::Add;
use unishape_core::{Rules, check_broadcast_to, padded_dim};
use unishape_engine::memory::reserve;
use unishape_engine::reduce::reduce_elements;

/// Sums an array to a shape that can be broadcast to its own shape.
///
/// The adjoint of [`broadcast_to`](crate::broadcast_to), and so its gradient: sums over every stretched
/// dimension. For all `x` and `y`, the inner products ⟨`broadcast_to(x)`, `y`⟩ and ⟨`x`, `sum_to(y)`⟩ are equal.
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
/// Elements are added with their own `+`: integers overflow with a panic in debug builds and wrap in release
/// builds. The order of additions is unspecified, but the same for arrays of the same shape and strides on
/// any number of threads. Rounding errors grow with the logarithm of the number of elements.
///
/// # Errors
///
/// [`Error::CannotStretch`] where `shape` cannot be broadcast to the array's shape,
/// [`Error::TooLarge`] or [`Error::OutOfMemory`] where the result does not fit. Beside the result, partial
/// sums are allocated where it has at most 2¹⁴ elements.
///
/// # Panics
///
/// Where `+` panics.
pub fn sum_to<O, Sh>(array: O, shape: Sh) -> Result<Array<O::Elem, Sh::Dim>, Error>
where
    O: MapOperand,
    O::Elem: Clone + Zero + Add<Output = O::Elem>,
    Sh: IntoDimension,
{
    let shape = shape.into_dimension();
    let (sizes, to) = (array.sizes(), shape.slice());
    let from = sizes.as_ref();
    let count = checked_len::<O::Elem>(to)?;
    if let Err(reason) = check_broadcast_to(Rules::STANDARD, to, from) {
        return Err(Error::not_broadcastable(to, from, reason));
    }
    let sums = if from.contains(&0) {
        let mut zeros = reserve(count).map_err(out_of_memory)?;
        zeros.resize_with(count, O::Elem::zero);
        zeros
    } else {
        // Sizes differ in the dimensions that are stretched.
        let is_reduced: SmallVec<[bool; 6]> =
            from.iter().enumerate().map(|(dim, &size)| padded_dim(to, from.len(), dim) != size).collect();
        let mut input = array.strided(from)?.for_a_call();
        reduce_elements(&input.operand(), &is_reduced, &Accumulator(&Sum)).map_err(out_of_memory)?
    };
    Array::from_shape_vec(shape.clone(), sums).map_err(|_| Error::too_large(to, None))
}
