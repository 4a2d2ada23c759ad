//! Ways through memory in the innermost loop. What a loop does to each element is compiled anew for each
//! of them, so that the compiler knows which elements are neighbours and which are one and the same.

/// Where one operand's elements are.
pub(crate) trait Walk: Copy {
    type Item;

    /// # Safety
    ///
    /// There is an element `i` steps on, it lives for `'a`, and nobody writes to it meanwhile.
    unsafe fn at<'a>(self, i: usize) -> &'a Self::Item;

    /// The same way, begun so many elements further on.
    ///
    /// # Safety
    ///
    /// That is still an element of the same array.
    unsafe fn from(self, by: isize) -> Self;
}

/// One after another.
pub(crate) struct Along<T>(pub(crate) *const T);

/// The same one again and again.
pub(crate) struct Same<T>(pub(crate) *const T);

/// With this step, in elements.
pub(crate) struct Steps<T>(pub(crate) *const T, pub(crate) isize);

macro_rules! walk {
    ($Walk:ident $(, $step:tt)?; $self:ident, $i:ident => $place:expr) => {
        impl<T> Clone for $Walk<T> {
            #[inline(always)]
            fn clone(&self) -> $Walk<T> {
                *self
            }
        }

        impl<T> Copy for $Walk<T> {}

        impl<T> Walk for $Walk<T> {
            type Item = T;

            #[inline(always)]
            unsafe fn at<'a>($self, $i: usize) -> &'a T {
                // Safety: the caller vouches for the element.
                unsafe { &*$place }
            }

            #[inline(always)]
            unsafe fn from(self, by: isize) -> $Walk<T> {
                // Safety: the caller vouches for the place.
                $Walk(unsafe { self.0.offset(by) } $(, self.$step)?)
            }
        }
    };
}
walk!(Along; self, i => self.0.add(i));
walk!(Same; self, _i => self.0);
walk!(Steps, 1; self, i => self.0.offset(i as isize * self.1));

/// A pointer to elements that several threads write to, each to its own.
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(pub(crate) *mut T);

// Safety: an element written is an element sent to the thread that has the array, and no element is
// written by two threads.
unsafe impl<T: Send> Sync for Out<T> {}

/// A pointer to elements that several threads read.
#[derive(Clone, Copy)]
pub(crate) struct In<T>(pub(crate) *const T);

// Safety: sharing the pointer is sharing the elements.
unsafe impl<T: Sync> Sync for In<T> {}
