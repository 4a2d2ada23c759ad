//! Arrays as the executor of closures sees them.

use super::access::{Access, Assign, Read, ReadFor, Write, WriteUninit};
use std::marker::PhantomData;

/// A strided array that a closure accesses as `K` says.
#[derive(Debug)]
pub struct Operand<'a, K: Access> {
    first: *mut K::Elem,
    shape: &'a [usize],
    strides: &'a [isize],
    elements: PhantomData<&'a mut K::Elem>,
}

// Safety: sharing the operand shares its elements.
unsafe impl<T: Sync> Sync for Operand<'_, Read<T>> {}

// Safety: as for `Read`.
unsafe impl<T: Sync> Sync for Operand<'_, ReadFor<'_, T>> {}

// Safety: an element that another thread writes is sent to the thread that owns the array, and no two
// threads access one element.
unsafe impl<T: Send> Sync for Operand<'_, Write<T>> {}

// Safety: as for `Write`.
unsafe impl<T: Send> Sync for Operand<'_, WriteUninit<T>> {}

// Safety: as for `Write`.
unsafe impl<T: Send> Sync for Operand<'_, Assign<T>> {}

impl<'a, K: Access> Operand<'a, K> {
    /// An operand from the address of its element at index 0.
    ///
    /// # Safety
    ///
    /// `strides`, in elements, is as long as `shape`. Every index of `shape` leads to an element that lives
    /// for `'a`, or to memory for one where `K` is [`WriteUninit`]. Where `K` is [`ReadFor`], they live for
    /// that lifetime. Meanwhile nothing writes to the elements, and where `K` writes them, nothing else accesses them.
    #[inline]
    pub unsafe fn new(first: *mut K::Elem, shape: &'a [usize], strides: &'a [isize]) -> Operand<'a, K> {
        debug_assert_eq!(shape.len(), strides.len());
        Operand { first, shape, strides, elements: PhantomData }
    }

    /// Its shape.
    #[inline]
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    #[inline]
    pub(super) fn erased(&self) -> ErasedOperand<'a> {
        ErasedOperand { first: self.first.cast(), shape: self.shape, strides: self.strides }
    }

    /// Address of the element at index 0, and the strides.
    #[inline]
    pub(crate) fn parts(&self) -> (*mut K::Elem, &'a [isize]) {
        (self.first, self.strides)
    }
}

/// An operand without its element type.
#[derive(Clone, Copy)]
pub(super) struct ErasedOperand<'a> {
    pub(super) first: *mut u8,
    pub(super) shape: &'a [usize],
    pub(super) strides: &'a [isize],
}
