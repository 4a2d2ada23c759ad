//! `to_owned`: explicit copies of views (BC-10).

use crate::alloc::{checked_len, out_of_memory};
use crate::error::Error;
use crate::operand::MapOperand;
use ndarray::{Array, Dimension};
use unishape_engine::closures::clone_elements;

/// Copies an array or a view into a new array in row-major order.
///
/// It allocates the bytes of the result and nothing else. Unlike in ndarray's `to_owned`, a result that does
/// not fit is an error and does not abort the process.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::{broadcast_to, to_owned};
///
/// let row = arr1(&[1, 2]);
/// assert_eq!(to_owned(broadcast_to(&row, (3, 2))?)?, arr2(&[[1, 2], [1, 2], [1, 2]]));
/// assert!(to_owned(broadcast_to(&row, (1 << 50, 2))?).is_err());
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::TooLarge`] where the bytes do not fit the machine's addresses (BC-14),
/// [`Error::OutOfMemory`] where they cannot be allocated.
///
/// # Panics
///
/// Where `clone` panics; the clones so far are dropped.
pub fn to_owned<O>(array: O) -> Result<Array<O::Elem, O::Dim>, Error>
where
    O: MapOperand,
    O::Elem: Clone,
{
    let sizes = array.sizes();
    let shape = sizes.as_ref();
    checked_len::<O::Elem>(shape)?;
    let elements = clone_elements(&array.strided(shape)?.for_a_call().operand()).map_err(out_of_memory)?;
    let mut dim = O::Dim::zeros(shape.len());
    dim.slice_mut().copy_from_slice(shape);
    Array::from_shape_vec(dim, elements).map_err(|_| Error::too_large(shape, None))
}
