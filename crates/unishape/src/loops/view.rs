//! The stretched view of an array.

use ndarray::{ArrayRef, ArrayView, Axis, Dimension, ShapeBuilder};
use unishape_core::{Rules, broadcast_strides};

/// A shape that arrays can be stretched to: one that ndarray can hold.
///
/// What can fail here answers with an `Option`, and who asked makes the error: a shape that nothing
/// refers to can stay in registers, and a small broadcast is then twice as fast.
#[doc(hidden)]
pub struct Target<'d, E>(&'d E);

impl<'d, E: Dimension> Target<'d, E> {
    /// Checks what every ndarray has: the product of its sizes, zeros left out, is an `isize`.
    #[inline(always)]
    pub(crate) fn new(dim: &'d E) -> Option<Target<'d, E>> {
        let mut product = 1usize;
        let mut fits = true;
        for &size in dim.slice() {
            let (next, overflows) = product.overflowing_mul(if size == 0 { 1 } else { size });
            product = next;
            fits &= !overflows;
        }
        (fits && product <= isize::MAX as usize).then_some(Target(dim))
    }

    /// The view of this shape whose element at each index is the array's at the index that f gives
    /// (BC-7, BC-10); `None` if the array cannot be stretched to it (BC-12).
    #[inline(always)]
    pub(crate) fn stretch<'a, A, D: Dimension>(
        &self,
        rules: Rules,
        array: &'a ArrayRef<A, D>,
    ) -> Option<ArrayView<'a, A, E>> {
        // Safety: the elements live for 'a, as the reference says.
        unsafe { self.stretch_for(rules, array) }
    }

    /// The same for a view, whose elements may live longer than the view does.
    #[inline(always)]
    pub(crate) fn stretch_view<'a, A, D: Dimension>(
        &self,
        rules: Rules,
        view: &ArrayView<'a, A, D>,
    ) -> Option<ArrayView<'a, A, E>> {
        // Safety: the elements live for 'a, as the view's type says.
        unsafe { self.stretch_for(rules, view) }
    }

    /// # Safety
    ///
    /// The array's elements live for `'a`, and nobody writes to them meanwhile.
    #[inline(always)]
    unsafe fn stretch_for<'a, A, D: Dimension>(
        &self,
        rules: Rules,
        array: &ArrayRef<A, D>,
    ) -> Option<ArrayView<'a, A, E>> {
        let target = self.0.slice();
        let mut strides = self.0.clone(); // as long as the shape, and all of it is written
        let signed: &mut [isize] = bytemuck::cast_slice_mut(strides.slice_mut());
        broadcast_strides(rules, array.shape(), array.strides(), target, signed).ok()?;
        if ascending::<E>(signed) {
            // Safety: `from_shape_ptr` asks that every index of the new shape reads an element that
            // lives for 'a, that offsets fit an isize, that the sizes' product does, and that no
            // stride is negative. In each dimension the new view has the array's own size and
            // stride, or stride 0, so it reads a subset of the elements that `array` reads, through
            // offsets no larger; where the new shape has elements the array has some too, since a
            // size of 0 stretches to nothing else (`broadcast_strides`). The product was checked
            // in `new`, the strides' signs above. The view is read-only, so that elements
            // seen twice are no aliasing.
            return Some(unsafe {
                ArrayView::from_shape_ptr(self.0.clone().strides(strides), array.as_ptr())
            });
        }
        // Safety: our caller's promise about 'a; the strides are those made above.
        Some(unsafe { stretch_reversed(array, self.0.clone(), strides) })
    }
}

/// Whether no stride is negative.
#[inline(always)]
fn ascending<E: Dimension>(strides: &[isize]) -> bool {
    match E::NDIM {
        // A few known ones: one look at all signs is faster than one at each.
        Some(_) => strides.iter().fold(0, |signs, &stride| signs | stride) >= 0,
        // Any number: the same would become vector code that takes longer to start than to run.
        None => strides.iter().all(|&stride| stride >= 0),
    }
}

/// [`stretch`](Target::stretch) for an array with negative strides, which ndarray takes only
/// from its own hands: the view is made in ascending order, then its axes are turned round.
///
/// # Safety
///
/// As for `stretch_for`, and the strides are those of the array stretched to `dim`.
#[cold]
unsafe fn stretch_reversed<'a, A, D: Dimension, E: Dimension>(
    array: &ArrayRef<A, D>,
    dim: E,
    strides: E,
) -> ArrayView<'a, A, E> {
    let mut upright = strides.clone();
    for stride in upright.slice_mut() {
        *stride = (*stride as isize).unsigned_abs();
    }
    let shape = dim.clone().strides(upright);
    if array.is_empty() || dim.size() == 0 {
        // Safety: as in `stretch`, and there is no element to read, so that the direction of
        // the strides means nothing. The offsets are as large as the array's own.
        return unsafe { ArrayView::from_shape_ptr(shape, array.as_ptr()) };
    }
    let mut lowest = array.as_ptr();
    for (&size, &stride) in dim.slice().iter().zip(strides.slice()) {
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
