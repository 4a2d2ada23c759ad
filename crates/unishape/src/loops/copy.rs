//! Copying out: the separate, explicit step that writes a view's elements (BC-10).

use super::each::Operands;
use super::layout::set_row_major;
use super::pages::ask_for_large;
use super::plan::Plan;
use super::walk::{Base, Place, Read};
use crate::error::Error;
use crate::operand::Operand;
use bytemuck::Zeroable;
use ndarray::{Array, ArrayView, Dimension};
use smallvec::SmallVec;
use std::alloc::{Layout, alloc_zeroed};
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

/// A vector of zeros, as many as a shape has elements. Large ones are fresh pages, which are zeros already.
pub(crate) fn zeroed<A: Zeroable>(shape: &[usize]) -> Result<Vec<A>, Error> {
    let bytes = bytes_of::<A>(shape)?;
    let count = element_count(shape).unwrap_or(usize::MAX);
    if bytes == 0 {
        // No elements, or such without a size.
        return Ok(Vec::from_iter(std::iter::repeat_with(A::zeroed).take(count)));
    }
    let Ok(layout) = Layout::array::<A>(count) else {
        return Err(Error::too_large(shape, Some(size_of::<A>())));
    };
    // Safety: the layout has a size, as `bytes` says.
    let first = unsafe { alloc_zeroed(layout) };
    if first.is_null() {
        return Err(Error::OutOfMemory { bytes });
    }
    // Safety: this much was given for this layout by the same allocator, and zeros are such elements.
    let mut elements = unsafe { Vec::from_raw_parts(first.cast::<A>(), count, count) };
    ask_for_large(elements.as_mut_slice());
    Ok(elements)
}

/// The bytes of a shape's elements, if memory can have so many (BC-14).
fn bytes_of<A>(shape: &[usize]) -> Result<usize, Error> {
    match byte_count(shape, size_of::<A>()) {
        Ok(bytes) if bytes <= isize::MAX as usize => Ok(bytes),
        _ => Err(Error::too_large(shape, Some(size_of::<A>()))),
    }
}

/// An empty vector with room for the elements of a shape, no more and no less (BC-14).
pub(crate) fn reserve<A>(shape: &[usize]) -> Result<Vec<A>, Error> {
    let bytes = bytes_of::<A>(shape)?;
    let mut elements = Vec::new();
    match elements.try_reserve_exact(element_count(shape).unwrap_or(usize::MAX)) {
        Ok(()) => {
            ask_for_large(elements.spare_capacity_mut());
            Ok(elements)
        }
        Err(_) => Err(Error::OutOfMemory { bytes }),
    }
}

/// Writes the elements in row-major order to an empty vector that has room for them.
fn copy_elements<A: Clone, D: Dimension>(view: &ArrayView<'_, A, D>, elements: &mut Vec<A>) {
    let (shape, from) = (view.shape(), view.strides());
    let mut to: SmallVec<[isize; 8]> = SmallVec::from_elem(0, shape.len());
    set_row_major(&mut to, shape);
    let plan = Plan::new(shape, 2, |operand, dim| if operand == 0 { to[dim] } else { from[dim] });
    let count = plan.len();
    let operands = (Base::<Place<A>>(elements.as_mut_ptr()), Base::<Read<A>>(view.as_ptr().cast_mut()));
    let copy = |to: *mut A, from: &A| {
        // Safety: this is a place of the vector's, where nothing is yet.
        unsafe { to.write(from.clone()) }
    };
    for plan in plan.tiled() {
        // Safety: the plan walks the view and as many places of the vector.
        plan.blocks(|block| unsafe { operands.run(&copy, block) });
    }
    // Safety: each of them has been written. Where a clone panics, those made so far are never dropped.
    unsafe { elements.set_len(count) };
}
