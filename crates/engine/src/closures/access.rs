//! What a closure gets of an operand's elements, and how the innermost loop reaches them.
//!
//! The innermost loop is compiled for each combination of [`Cursor`]s, so that the compiler knows which
//! operands are contiguous and which are broadcast scalars, and can use SIMD.

use std::marker::PhantomData;

/// What a closure gets of an element for the duration of a call.
///
/// `&T` of operands that are read, `&mut T` of operands that are written. References to elements of arrays that are
/// borrowed for longer than the call live as long as that borrow.
///
/// The second parameter is never named: it states that the item lives for `'x`.
pub trait ElementRef<'x, Bounds = &'x Self> {
    /// `&'x T`, `&'x mut T`, or a pointer to uninitialised memory.
    type Item;
}

/// How a closure accesses an operand.
///
/// [`Read`], [`ReadFor`], [`Write`], [`Assign`] or [`WriteUninit`].
pub trait Access: for<'x> ElementRef<'x> {
    /// Element type of the operand.
    type Elem;

    /// Whether each element must be accessed by one thread only.
    const WRITES: bool;

    /// Whether the closure writes to uninitialised memory.
    const INITIALISES: bool = false;

    /// Makes the reference that the closure gets.
    ///
    /// # Safety
    ///
    /// `element` points to an element that lives for `'x`, and where it is [`ReadFor`], for that lifetime. Meanwhile nothing else accesses it, or, where it
    /// is only read, nothing writes to it.
    unsafe fn element<'x>(element: *mut Self::Elem) -> <Self as ElementRef<'x>>::Item
    where
        Self: 'x;
}

macro_rules! access {
    ($(#[$doc:meta])+ $Access:ident, $T:ident, $writes:literal, $element:ident: $Item:ty => $make:expr $(, $initialises:literal)?) => {
        $(#[$doc])+
        #[derive(Debug)]
        pub struct $Access<$T>(PhantomData<$T>);

        impl<'x, $T> ElementRef<'x> for $Access<$T> {
            type Item = $Item;
        }

        impl<$T> Access for $Access<$T> {
            type Elem = $T;
            const WRITES: bool = $writes;
            $(const INITIALISES: bool = $initialises;)?

            #[inline(always)]
            unsafe fn element<'x>($element: *mut $T) -> $Item
            where
                Self: 'x,
            {
                $make
            }
        }
    };
}
access! {
    /// The closure gets `&T`.
    // Safety: the caller guarantees the element.
    Read, T, false, element: &'x T => unsafe { &*element }
}
access! {
    /// The closure gets `&mut T`.
    // Safety: the caller guarantees the element.
    Write, T, true, element: &'x mut T => unsafe { &mut *element }
}
access! {
    /// The closure gets a pointer to write an element to, which may be uninitialised.
    WriteUninit, T, true, element: *mut T => element, true
}
access! {
    /// The closure gets a pointer to assign an element to.
    Assign, T, true, element: *mut T => element
}

/// The closure gets `&'a T`, which it may return.
#[derive(Debug)]
pub struct ReadFor<'a, T>(PhantomData<&'a T>);

impl<'a, T> ElementRef<'_> for ReadFor<'a, T> {
    type Item = &'a T;
}

impl<'a, T> Access for ReadFor<'a, T> {
    type Elem = T;
    const WRITES: bool = false;

    #[inline(always)]
    unsafe fn element<'x>(element: *mut T) -> &'a T
    where
        Self: 'x,
    {
        // Safety: the caller guarantees the element.
        unsafe { &*element }
    }
}

/// An access that only reads: [`Read`] or [`ReadFor`].
pub trait ReadAccess: Access {}

impl<T> ReadAccess for Read<T> {}
impl<T> ReadAccess for ReadFor<'_, T> {}

/// Address of an operand's element in the innermost loop.
pub(crate) trait Cursor: Copy {
    type Access: Access;

    /// A cursor at the first element of a row with this stride.
    fn new(first: *mut <Self::Access as Access>::Elem, stride: isize) -> Self;

    /// # Safety
    ///
    /// The row has an element `i`.
    unsafe fn at(self, i: usize) -> *mut <Self::Access as Access>::Elem;
}

/// Stride 1.
pub(crate) struct ContiguousCursor<K: Access>(*mut K::Elem);

/// Stride 0: a broadcast scalar.
pub(crate) struct BroadcastCursor<K: Access>(*mut K::Elem);

/// Any stride, in elements.
pub(crate) struct StridedCursor<K: Access>(*mut K::Elem, isize);

macro_rules! cursor {
    ($Cursor:ident, $first:ident, $stride:ident => ($($field:expr),+); $self:ident, $i:ident => $offset:expr) => {
        impl<K: Access> Clone for $Cursor<K> {
            #[inline(always)]
            fn clone(&self) -> $Cursor<K> {
                *self
            }
        }

        impl<K: Access> Copy for $Cursor<K> {}

        impl<K: Access> Cursor for $Cursor<K> {
            type Access = K;

            #[inline(always)]
            fn new($first: *mut K::Elem, $stride: isize) -> $Cursor<K> {
                $Cursor($($field),+)
            }

            #[inline(always)]
            unsafe fn at($self, $i: usize) -> *mut K::Elem {
                // Safety: the caller guarantees the element.
                unsafe { $self.0.offset($offset) }
            }
        }
    };
}
cursor!(ContiguousCursor, first, _stride => (first); self, i => i as isize);
cursor!(BroadcastCursor, first, _stride => (first); self, _i => 0);
cursor!(StridedCursor, first, stride => (first, stride); self, i => i as isize * self.1);
