//! The boundary between ndarray and raw memory: stretched views, and arrays as operands of the engine.
//!
//! Beside `program_arrays`, the only module of this crate with `unsafe` code. What it returns is safe to use:
//! views borrow from their arrays, and operands are made from views.

#![allow(unsafe_code)]

use crate::error::Error;
use ndarray::{ArrayRef, ArrayView, Axis, Dimension, ShapeBuilder};
use smallvec::SmallVec;
use std::marker::PhantomData;
use unishape_core::{Rules, broadcast_strides, fits_isize};
use unishape_engine::closures::{Access, Operand, Read, ReadAccess, ReadFor};
#[cfg(feature = "map")]
use unishape_engine::closures::{Assign, Write};

/// Strides of one operand, in elements.
pub(crate) type Strides = SmallVec<[isize; 6]>;

/// An array as an operand of the engine: address, shape, and strides.
#[doc(hidden)]
#[derive(Debug)]
#[allow(unreachable_pub)] // public for the sealed trait `ForEachOperand`, of the feature `map`
pub struct Strided<'a, K: Access> {
    first: *mut K::Elem,
    shape: &'a [usize],
    strides: Strides,
    elements: PhantomData<&'a mut K::Elem>,
}

impl<'a, T> Strided<'a, Read<T>> {
    /// An array that is read, stretched to a shape.
    #[inline]
    pub(crate) fn stretched<D: Dimension>(
        array: &'a ArrayRef<T, D>,
        shape: &'a [usize],
    ) -> Result<Strided<'a, Read<T>>, Error> {
        Strided::new(array.as_ptr(), array.shape(), array.strides(), shape)
    }
}

impl<'a, 'e: 'a, T> Strided<'a, ReadFor<'e, T>> {
    /// An array that is read and borrowed for `'e`, stretched to a shape.
    #[inline]
    pub(crate) fn borrowed<D: Dimension>(
        array: &'e ArrayRef<T, D>,
        shape: &'a [usize],
    ) -> Result<Strided<'a, ReadFor<'e, T>>, Error> {
        Strided::new(array.as_ptr(), array.shape(), array.strides(), shape)
    }

    /// The same for a view, whose elements live for `'e`.
    #[inline]
    pub(crate) fn of_view<D: Dimension>(
        view: &'a ArrayView<'e, T, D>,
        shape: &'a [usize],
    ) -> Result<Strided<'a, ReadFor<'e, T>>, Error> {
        Strided::new(view.as_ptr(), view.shape(), view.strides(), shape)
    }
}

impl<'a, K: ReadAccess> Strided<'a, K> {
    /// A slice as an array of rank 1, stretched to a shape.
    #[inline]
    pub(crate) fn of_slice<'e>(elements: &'e [K::Elem], shape: &'a [usize]) -> Result<Strided<'a, K>, Error>
    where
        K: ReadsFor<'a, 'e>,
    {
        Strided::new(elements.as_ptr(), &[elements.len()], &[1], shape)
    }

    /// A single value, stretched to a shape.
    #[inline]
    pub(crate) fn of_scalar<'e>(value: &'e K::Elem, shape: &'a [usize]) -> Result<Strided<'a, K>, Error>
    where
        K: ReadsFor<'a, 'e>,
    {
        Strided::new(&raw const *value, &[], &[], shape)
    }

    /// An array from the address of its first element, stretched to a shape. The caller guarantees what
    /// [`operand`](Strided::operand) states.
    #[inline]
    fn new(
        first: *const K::Elem,
        own: &[usize],
        own_strides: &[isize],
        shape: &'a [usize],
    ) -> Result<Strided<'a, K>, Error> {
        let mut strides = Strides::from_elem(0, shape.len());
        match broadcast_strides(Rules::STANDARD, own, own_strides, shape, &mut strides) {
            Ok(()) => Ok(Strided { first: first.cast_mut(), shape, strides, elements: PhantomData }),
            Err(reason) => Err(Error::not_broadcastable(own, shape, reason)),
        }
    }

    /// The same elements, read for the duration of a call only.
    pub(crate) fn for_a_call(self) -> Strided<'a, Read<K::Elem>> {
        let Strided { first, shape, strides, .. } = self;
        Strided { first, shape, strides, elements: PhantomData }
    }
}

/// Accesses that read elements borrowed for `'e`, in operands that live for `'a`.
pub(crate) trait ReadsFor<'a, 'e> {}
impl<'a, 'e: 'a, T> ReadsFor<'a, 'e> for Read<T> {}
impl<'e, T> ReadsFor<'_, 'e> for ReadFor<'e, T> {}

#[cfg(feature = "map")]
impl<'a, T> Strided<'a, Write<T>> {
    /// An array that a closure changes.
    #[inline]
    pub(crate) fn writable<D: Dimension>(array: &'a mut ArrayRef<T, D>) -> Strided<'a, Write<T>> {
        let first = array.as_mut_ptr();
        let array: &'a ArrayRef<T, D> = array;
        let strides = Strides::from_slice(array.strides());
        Strided { first, shape: array.shape(), strides, elements: PhantomData }
    }

    /// A slice that a closure changes; `None` where its shape is another one.
    #[inline]
    pub(crate) fn writable_slice(elements: &'a mut [T], shape: &'a [usize]) -> Option<Strided<'a, Write<T>>> {
        let strides = Strides::from_slice(&[1]);
        (shape == [elements.len()]).then(|| Strided {
            first: elements.as_mut_ptr(),
            shape,
            strides,
            elements: PhantomData,
        })
    }
}

#[cfg(feature = "map")]
impl<'a, T> Strided<'a, Assign<T>> {
    /// An array whose elements are assigned.
    #[inline]
    pub(crate) fn assigned<D: Dimension>(array: &'a mut ArrayRef<T, D>) -> Strided<'a, Assign<T>> {
        let Strided { first, shape, strides, .. } = Strided::writable(array);
        Strided { first, shape, strides, elements: PhantomData }
    }
}

impl<'a, K: Access> Strided<'a, K> {
    /// Its shape.
    #[cfg(feature = "map")]
    pub(crate) fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// The operand. It borrows this value mutably, so that an array that is written has one at a time.
    #[inline]
    pub(crate) fn operand(&mut self) -> Operand<'_, K> {
        // Safety: the constructors take the address, the shape and the strides from an array or a slice that is
        // borrowed for 'a, mutably where K writes, and for the lifetime of a `ReadFor`. A stretched array has the strides of the array, or 0, in
        // each dimension (`broadcast_strides`), and so every index leads to one of its elements.
        unsafe { Operand::new(self.first, self.shape, &self.strides) }
    }
}

/// A shape that arrays can be stretched to: one that ndarray can hold.
///
/// Methods return an `Option` and the caller makes the error: a shape that no error refers to can stay in
/// registers, which makes a small broadcast twice as fast.
#[doc(hidden)]
pub struct TargetShape<'d, E>(&'d E);

impl<'d, E: Dimension> TargetShape<'d, E> {
    /// Checks what ndarray requires: the product of the sizes, zeros left out, fits an `isize`.
    #[inline(always)]
    pub(crate) fn new(dim: &'d E) -> Option<TargetShape<'d, E>> {
        fits_isize(dim.slice()).then_some(TargetShape(dim))
    }

    /// The stretched view of an array (BC-7, BC-10); `None` if it cannot be stretched (BC-12).
    #[inline(always)]
    pub(crate) fn stretch<'a, A, D: Dimension>(
        &self,
        rules: Rules,
        array: &'a ArrayRef<A, D>,
    ) -> Option<ArrayView<'a, A, E>> {
        // Safety: the elements live for 'a, as the reference says.
        unsafe { self.stretch_for(rules, array) }
    }

    /// The same for a view, whose elements may outlive it.
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
    /// The array's elements live for `'a`, and nothing writes to them meanwhile.
    #[inline(always)]
    unsafe fn stretch_for<'a, A, D: Dimension>(
        &self,
        rules: Rules,
        array: &ArrayRef<A, D>,
    ) -> Option<ArrayView<'a, A, E>> {
        let target = self.0.slice();
        let mut strides = self.0.clone(); // as long as the shape, and all of it is written
        let signed = as_signed(strides.slice_mut());
        broadcast_strides(rules, array.shape(), array.strides(), target, signed).ok()?;
        if ascending::<E>(signed) {
            // Safety: `from_shape_ptr` requires that every index of the new shape reads an element that lives for 'a,
            // that offsets fit an isize, that the sizes' product does, and that no stride is negative.
            // - In each dimension the new view has the array's own size and stride, or stride 0, so it reads a subset
            //   of the elements that `array` reads, through offsets no larger. Where the new shape has elements the
            //   array has some too, since a size of 0 stretches to nothing else (`broadcast_strides`).
            // - The product was checked in `new`, the strides' signs above.
            // - The view is read-only, so that elements at several indices are not aliased mutably.
            return Some(unsafe {
                ArrayView::from_shape_ptr(self.0.clone().strides(strides), array.as_ptr())
            });
        }
        // Safety: the caller guarantees 'a; the strides are those made above.
        Some(unsafe { stretch_reversed(array, self.0.clone(), strides) })
    }
}

/// Strides of ndarray, which stores them unsigned, as `isize`.
#[inline(always)]
fn as_signed(strides: &mut [usize]) -> &mut [isize] {
    // Safety: the two types have the same size and alignment, and no invalid bit patterns.
    unsafe { std::slice::from_raw_parts_mut(strides.as_mut_ptr().cast(), strides.len()) }
}

/// Whether no stride is negative.
#[inline(always)]
fn ascending<E: Dimension>(strides: &[isize]) -> bool {
    match E::NDIM {
        // A known, small number: testing all signs at once is faster.
        Some(_) => strides.iter().fold(0, |signs, &stride| signs | stride) >= 0,
        // Any number: the same would become SIMD code that takes longer to start than to run.
        None => strides.iter().all(|&stride| stride >= 0),
    }
}

/// [`stretch`](TargetShape::stretch) for an array with negative strides, which ndarray's constructors do not
/// accept: the view is made with positive strides, and its axes are inverted.
///
/// # Safety
///
/// As for `stretch_for`, and `strides` are those of the array stretched to `dim`.
#[cold]
unsafe fn stretch_reversed<'a, A, D: Dimension, E: Dimension>(
    array: &ArrayRef<A, D>,
    dim: E,
    strides: E,
) -> ArrayView<'a, A, E> {
    let mut ascending_strides = strides.clone();
    for stride in ascending_strides.slice_mut() {
        *stride = (*stride as isize).unsigned_abs();
    }
    let shape = dim.clone().strides(ascending_strides);
    if array.is_empty() || dim.size() == 0 {
        // Safety: as in `stretch_for`, and there is no element to read, so that the direction of
        // the strides is irrelevant. The offsets are as large as the array's own.
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
