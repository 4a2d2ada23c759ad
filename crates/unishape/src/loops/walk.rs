//! Ways through memory in the innermost loop, and what a function is given of an element there. What a
//! loop does to each element is compiled anew for each of them, so that the compiler knows which elements
//! are neighbours and which are one and the same.

// Kinds are named in `Part`, and so public, though nobody can reach them.
#![allow(unreachable_pub)]

use std::marker::PhantomData;

/// What a function is given of an element, for as long as it runs: [`for_each`](crate::for_each)'s is given
/// `&T` of what is read and `&mut T` of what is written.
///
/// The second parameter is never named: it says that what is lent out lives for `'x`.
///
/// ```
/// use unishape::{Lends, Part};
///
/// fn same<T>(_: T, _: T) {}
/// type Lent<'x, P> = <<P as Part>::Kind as Lends<'x>>::Item;
/// fn read<'x>(x: Lent<'x, &ndarray::Array1<f32>>) -> &'x f32 {
///     x
/// }
/// fn write<'x>(x: Lent<'x, &mut ndarray::Array1<f32>>) -> &'x mut f32 {
///     x
/// }
/// assert_eq!(read(&1.5), write(&mut 1.5));
/// ```
pub trait Lends<'x, Bounds = &'x Self> {
    /// What is given.
    type Item;
}

/// What is done with an operand's elements.
#[doc(hidden)]
pub trait Kind: for<'x> Lends<'x> {
    type Elem;

    /// Whether each element has to be one thread's alone.
    const WRITES: bool;

    /// # Safety
    ///
    /// There is an element at `place` that lives for `'x`, and meanwhile nobody else has to do with it, or,
    /// where it is only read, writes to it.
    unsafe fn lend<'x>(place: *mut Self::Elem) -> <Self as Lends<'x>>::Item
    where
        Self: 'x;
}

macro_rules! kind {
    ($(#[$doc:meta])+ $Kind:ident, $T:ident, $writes:literal, $place:ident: $Item:ty => $lend:expr) => {
        $(#[$doc])+
        #[doc(hidden)]
        #[derive(Debug)]
        pub struct $Kind<$T>(PhantomData<$T>);

        impl<'x, $T> Lends<'x> for $Kind<$T> {
            type Item = $Item;
        }

        impl<$T> Kind for $Kind<$T> {
            type Elem = $T;
            const WRITES: bool = $writes;

            #[inline(always)]
            unsafe fn lend<'x>($place: *mut $T) -> $Item
            where
                Self: 'x,
            {
                $lend
            }
        }
    };
}
kind! {
    /// Read.
    // Safety: the caller vouches for the element.
    Read, T, false, place: &'x T => unsafe { &*place }
}
kind! {
    /// Read and written.
    // Safety: the caller vouches for the element.
    Write, T, true, place: &'x mut T => unsafe { &mut *place }
}
kind! {
    /// Written to, and perhaps there was nothing before.
    Place, T, true, place: *mut T => place
}

/// Where an operand's element at index 0 is.
#[doc(hidden)]
#[derive(Debug)]
pub struct Base<K: Kind>(pub(crate) *mut K::Elem);

// Safety: sharing the pointer is sharing the elements.
unsafe impl<T: Sync> Sync for Base<Read<T>> {}

// Safety: an element written is an element sent to the thread that has the array, and no element is
// written by two threads.
unsafe impl<T: Send> Sync for Base<Write<T>> {}

// Safety: as for `Write`.
unsafe impl<T: Send> Sync for Base<Place<T>> {}

/// Where one operand's elements are.
pub(crate) trait Walk: Copy {
    type Kind: Kind;

    /// # Safety
    ///
    /// There is an element `i` steps on.
    unsafe fn at(self, i: usize) -> *mut <Self::Kind as Kind>::Elem;

    /// The same way, begun so many elements further on.
    ///
    /// # Safety
    ///
    /// That is still an element of the same array.
    unsafe fn from(self, by: isize) -> Self;
}

/// One after another.
pub(crate) struct Along<K: Kind>(pub(crate) *mut K::Elem);

/// The same one again and again.
pub(crate) struct Same<K: Kind>(pub(crate) *mut K::Elem);

/// With this step, in elements.
pub(crate) struct Steps<K: Kind>(pub(crate) *mut K::Elem, pub(crate) isize);

macro_rules! walk {
    ($Walk:ident $(, $step:tt)?; $self:ident, $i:ident => $by:expr) => {
        impl<K: Kind> Clone for $Walk<K> {
            #[inline(always)]
            fn clone(&self) -> $Walk<K> {
                *self
            }
        }

        impl<K: Kind> Copy for $Walk<K> {}

        impl<K: Kind> Walk for $Walk<K> {
            type Kind = K;

            #[inline(always)]
            unsafe fn at($self, $i: usize) -> *mut K::Elem {
                // Safety: the caller vouches for the element.
                unsafe { $self.0.offset($by) }
            }

            #[inline(always)]
            unsafe fn from(self, by: isize) -> $Walk<K> {
                // Safety: the caller vouches for the place.
                $Walk(unsafe { self.0.offset(by) } $(, self.$step)?)
            }
        }
    };
}
walk!(Along; self, i => i as isize);
walk!(Same; self, _i => 0);
walk!(Steps, 1; self, i => i as isize * self.1);
