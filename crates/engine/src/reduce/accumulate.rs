//! What a reduction does with its items, and where accumulators are kept.

use std::mem::MaybeUninit;

/// Folds items into accumulators. No call may depend on the order of items.
pub trait Accumulate<T> {
    /// What items are folded into.
    type Acc;

    /// The accumulator of one item.
    fn start(&self, item: T) -> Self::Acc;

    /// Adds an item to an accumulator.
    fn fold(&self, acc: &mut Self::Acc, item: T);

    /// Adds the items of another accumulator.
    fn merge(&self, acc: &mut Self::Acc, other: Self::Acc);
}

/// Memory for an accumulator, which is vacant or occupied.
///
/// Dropping a slot must be allowed in either state: that is all that remains to be done after a panic.
pub(super) trait Slot<A>: Sized {
    fn vacant() -> Self;

    /// Occupies a vacant slot.
    fn set(&mut self, acc: A);

    /// # Safety
    ///
    /// The slot is occupied.
    unsafe fn get(&mut self) -> &mut A;

    /// # Safety
    ///
    /// The slot is occupied. It is vacant afterwards.
    unsafe fn take(&mut self) -> A;
}

/// For accumulators that need not be dropped.
impl<A> Slot<A> for MaybeUninit<A> {
    #[inline(always)]
    fn vacant() -> MaybeUninit<A> {
        MaybeUninit::uninit()
    }

    #[inline(always)]
    fn set(&mut self, acc: A) {
        self.write(acc);
    }

    #[inline(always)]
    unsafe fn get(&mut self) -> &mut A {
        // Safety: the caller guarantees that it is occupied.
        unsafe { self.assume_init_mut() }
    }

    #[inline(always)]
    unsafe fn take(&mut self) -> A {
        // Safety: as for `get`; the caller takes it once.
        unsafe { self.assume_init_read() }
    }
}

/// For accumulators that must be dropped after a panic: the slot knows whether there is one.
impl<A> Slot<A> for Option<A> {
    #[inline(always)]
    fn vacant() -> Option<A> {
        None
    }

    #[inline(always)]
    fn set(&mut self, acc: A) {
        *self = Some(acc);
    }

    #[inline(always)]
    unsafe fn get(&mut self) -> &mut A {
        self.as_mut().expect("an occupied slot")
    }

    #[inline(always)]
    unsafe fn take(&mut self) -> A {
        Option::take(self).expect("an occupied slot")
    }
}
