//! `sum_to`: the adjoint of broadcasting.

use crate::alloc::{checked_len, out_of_memory};
use crate::boundary::{Strided, Strides};
use crate::error::Error;
use crate::operand::Operand;
use ndarray::{Array, Dimension, IntoDimension};
use num_traits::Zero;
use std::ops::Add;
use unishape_core::{Rules, broadcast_strides};
use unishape_engine::layout::set_row_major;
use unishape_engine::memory::reserve;
use unishape_engine::reduce::add_to_sums;

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
    O: Operand,
    O::Elem: Clone + Zero + Add<Output = O::Elem>,
    Sh: IntoDimension,
{
    let shape = shape.into_dimension();
    let (array, to) = (array.as_array(), shape.slice());
    let count = checked_len::<O::Elem>(to)?;
    // Strides from an index of the array to its sum: 0 along the dimensions that are summed over.
    let mut strides = Strides::from_elem(0, to.len());
    set_row_major(&mut strides, to);
    let mut sum_strides = Strides::from_elem(0, array.ndim());
    if let Err(reason) = broadcast_strides(Rules::STANDARD, to, &strides, array.shape(), &mut sum_strides) {
        return Err(Error::not_broadcastable(to, array.shape(), reason));
    }
    let mut sums = reserve(count).map_err(out_of_memory)?;
    sums.resize(count, O::Elem::zero());
    add_to_sums(&Strided::stretched(array, array.shape())?.operand(), &sum_strides, &mut sums, None);
    Array::from_shape_vec(shape.clone(), sums).map_err(|_| Error::too_large(to, None))
}
