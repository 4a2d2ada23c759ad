//! Copying out: the separate, explicit step that writes a view's elements (BC-10).

use crate::error::Error;
use crate::operand::Operand;
use ndarray::{Array, ArrayView, Axis, Dimension};
use std::iter::repeat_n;
use unishape_core::{byte_count, element_count};

/// Copies an array or a view, stretched or not, into an array of its own in row-major order.
///
/// It allocates and writes the bytes of the result and nothing beside them. Unlike ndarray's
/// `to_owned`, a result that does not fit is an error and no abort.
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
/// [`Error::OutOfMemory`] where they are not to be had.
pub fn to_owned<O>(array: O) -> Result<Array<O::Elem, O::Dim>, Error>
where
    O: Operand,
    O::Elem: Clone,
{
    let view = array.as_array().view();
    let mut elements = reserve(view.shape())?;
    copy_elements(&view, &mut elements);
    let shape = view.raw_dim();
    Array::from_shape_vec(shape, elements).map_err(|_| Error::too_large(view.shape(), None))
}

/// An empty vector with room for the elements of a shape, no more and no less (BC-14).
pub(crate) fn reserve<A>(shape: &[usize]) -> Result<Vec<A>, Error> {
    let bytes = match byte_count(shape, size_of::<A>()) {
        Ok(bytes) if bytes <= isize::MAX as usize => bytes,
        _ => return Err(Error::too_large(shape, Some(size_of::<A>()))),
    };
    let mut elements = Vec::new();
    match elements.try_reserve_exact(element_count(shape).unwrap_or(usize::MAX)) {
        Ok(()) => Ok(elements),
        Err(_) => Err(Error::OutOfMemory { bytes }),
    }
}

/// Appends the elements in row-major order, a row at a time.
fn copy_elements<A: Clone, D: Dimension>(view: &ArrayView<'_, A, D>, elements: &mut Vec<A>) {
    let Some(last) = view.ndim().checked_sub(1) else {
        elements.extend(view.iter().cloned());
        return;
    };
    if let Some(all) = view.as_slice() {
        elements.extend_from_slice(all);
        return;
    }
    let stretched = view.stride_of(Axis(last)) == 0;
    for row in view.rows() {
        match row.as_slice() {
            Some(row) => elements.extend_from_slice(row),
            None if stretched => {
                elements.extend(row.first().into_iter().flat_map(|x| repeat_n(x.clone(), row.len())))
            }
            None => elements.extend(row.iter().cloned()),
        }
    }
}
