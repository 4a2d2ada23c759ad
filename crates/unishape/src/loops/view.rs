//! The stretched view of an array.

use crate::error::Error;
use ndarray::{ArrayView, Axis, Dimension, ShapeBuilder};
use unishape_core::{Rules, broadcast_strides, check_broadcast_to};

/// A shape that arrays can be stretched to: one that ndarray can hold.
pub(crate) struct Target<E> {
    rules: Rules,
    dim: E,
}

impl<E: Dimension> Target<E> {
    /// A common shape, which its own inputs fit under any rules.
    #[inline]
    pub(crate) fn new(dim: E) -> Result<Target<E>, Error> {
        Target::with_rules(Rules::STANDARD, dim)
    }

    /// Checks what every ndarray has: the product of its sizes, zeros left out, is an `isize`.
    #[inline]
    pub(crate) fn with_rules(rules: Rules, dim: E) -> Result<Target<E>, Error> {
        let mut product = Some(1usize);
        for &size in dim.slice() {
            if size != 0 {
                product = product.and_then(|product| product.checked_mul(size));
            }
        }
        match product {
            Some(product) if product <= isize::MAX as usize => Ok(Target { rules, dim }),
            _ => Err(Error::too_large(dim.slice(), None)),
        }
    }

    /// The view of this shape whose element at each index is the array's at the index that f gives
    /// (BC-7, BC-10).
    #[inline]
    pub(crate) fn stretch<'a, A, D: Dimension>(
        &self,
        array: ArrayView<'a, A, D>,
    ) -> Result<ArrayView<'a, A, E>, Error> {
        let target = self.dim.slice();
        if let Err(error) = check_broadcast_to(self.rules, array.shape(), target) {
            return Err(Error::cannot_stretch(array.shape(), target, error));
        }
        let mut strides = E::zeros(self.dim.ndim());
        let signed: &mut [isize] = bytemuck::cast_slice_mut(strides.slice_mut());
        if broadcast_strides(array.shape(), array.strides(), target, signed).is_err() {
            // Not after the check above, and not with ndarray's strides, one a dimension.
            return Err(Error::too_large(target, None));
        }
        if signed.iter().all(|&stride| stride >= 0) {
            // Safety: `from_shape_ptr` asks that every index of the new shape reads an element that
            // lives for 'a, that offsets fit an isize, that the sizes' product does, and that no
            // stride is negative. In each dimension the new view has the array's own size and
            // stride, or stride 0, so it reads a subset of the elements that `array` reads, through
            // offsets no larger; where the new shape has elements the array has some too, since a
            // size of 0 stretches to nothing else (`check_broadcast_to`). The product was checked
            // in `with_rules`, the strides one line above. The view is read-only, so that elements
            // seen twice are no aliasing, and 'a is the array's own lifetime.
            return Ok(unsafe {
                ArrayView::from_shape_ptr(self.dim.clone().strides(strides), array.as_ptr())
            });
        }
        Ok(self.stretch_reversed(array, strides))
    }

    /// [`stretch`](Target::stretch) for an array with negative strides, which ndarray takes only
    /// from its own hands: the view is made in ascending order, then its axes are turned round.
    #[cold]
    fn stretch_reversed<'a, A, D: Dimension>(
        &self,
        array: ArrayView<'a, A, D>,
        strides: E,
    ) -> ArrayView<'a, A, E> {
        let mut upright = strides.clone();
        for stride in upright.slice_mut() {
            *stride = (*stride as isize).unsigned_abs();
        }
        let shape = self.dim.clone().strides(upright);
        if array.is_empty() || self.dim.size() == 0 {
            // Safety: as in `stretch`, and there is no element to read, so that the direction of
            // the strides means nothing. The offsets are as large as the array's own.
            return unsafe { ArrayView::from_shape_ptr(shape, array.as_ptr()) };
        }
        let mut lowest = array.as_ptr();
        for (&size, &stride) in self.dim.slice().iter().zip(strides.slice()) {
            let stride = stride as isize;
            if stride < 0 {
                // Safety: a negative stride is the array's own, in a dimension whose size it keeps
                // and which is not 0 here, so this moves to the array's last element in that
                // dimension: in bounds, and `size - 1` fits an isize.
                lowest = unsafe { lowest.offset(stride * (size as isize - 1)) };
            }
        }
        // Safety: as in `stretch`; `lowest` is the array's element with the lowest address, and the
        // strides that lead up from it cover the elements that the array's own lead down to.
        let mut view = unsafe { ArrayView::from_shape_ptr(shape, lowest) };
        for (axis, &stride) in strides.slice().iter().enumerate() {
            if (stride as isize) < 0 {
                view.invert_axis(Axis(axis));
            }
        }
        view
    }
}
