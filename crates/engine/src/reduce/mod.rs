//! Executor of reductions: folds many items into each element of a smaller array.
//!
//! An item is what a closure returns for an element of each input. In some loops of the nest each iteration has an
//! accumulator of its own (*kept* loops), in others all iterations share one (*reduced* loops). Long loops are
//! halved recursively: where iterations share accumulators, the second half gets partial ones, which are merged
//! with those of the first half afterwards. Rounding errors of sums therefore grow with the logarithm of the
//! number of elements.
//!
//! Only the shape, the strides and the element types decide how work is halved, so the result does not depend on
//! the number of threads.
//!
//! | module | holds |
//! |---|---|
//! | `accumulate` | [`Accumulate`]: what is done with items; slots for accumulators |
//! | `rows` | the two innermost loops, compiled for a closure and a fold |

mod accumulate;
mod rows;

pub use accumulate::Accumulate;

use crate::closures::{ElementRef, Operand, Read, ReadAccess};
use crate::layout::set_row_major;
use crate::memory::{AllocError, reserve};
use crate::nest::{LoopNest, RowBlock};
use crate::parallel::{Team, cost, is_parallel, run_tasks};
use crate::tuning::{
    ELEMENTS_PER_PARALLEL_PARTIAL_SUM, ELEMENTS_PER_PARTIAL_SUM, MAX_LANE_BYTES, MAX_PARTIAL_SUMS,
    MAX_SUM_TASKS, PARALLEL_MIN_BYTES, SERIAL_SUM, SERIAL_SUM_IN_SEQUENCE,
};
use accumulate::Slot;
use rows::{ReduceFunctions, RowKernel, RowKernels, has_lanes, merge_rows};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use std::sync::atomic::{AtomicBool, Ordering};

/// A tuple of operands that are read, and a closure of an element of each.
pub trait Reduce<G> {
    /// What the closure returns.
    type Item;

    /// Folds what the closure returns along the dimensions where `is_reduced`.
    ///
    /// Returns the accumulators in row-major order of the other dimensions. Beside them, a bounded number of
    /// partial accumulators is allocated.
    ///
    /// # Errors
    ///
    /// [`AllocError`] where there is no memory for the accumulators.
    ///
    /// # Panics
    ///
    /// Where the operands differ in shape, `is_reduced` in length, or a reduced dimension of size 0 leaves
    /// accumulators without an item; where the closure or the fold panics. Accumulators are dropped then, and other
    /// threads stop soon.
    fn reduce<R>(self, is_reduced: &[bool], closure: &G, fold: &R) -> Result<Vec<R::Acc>, AllocError>
    where
        R: Accumulate<Self::Item, Acc: Send> + Sync;
}

macro_rules! reduce {
    ($M:literal: $($K:ident $x:ident)+) => {
        impl<$($K: ReadAccess<Elem: Sync>,)+ G, I> Reduce<G> for ($(Operand<'_, $K>,)+)
        where
            G: for<'x> Fn($(<$K as ElementRef<'x>>::Item),+) -> I + Sync,
        {
            type Item = I;

            fn reduce<R>(self, is_reduced: &[bool], closure: &G, fold: &R) -> Result<Vec<R::Acc>, AllocError>
            where
                R: Accumulate<I, Acc: Send> + Sync,
            {
                let ($($x,)+) = &self;
                let inputs = ReduceInputs {
                    shape: self.0.shape(),
                    first: [$($x.parts().0.cast(),)+ std::ptr::null_mut()],
                    strides: [$($x.parts().1,)+ &[]],
                };
                assert!($($x.shape() == inputs.shape)&&+, "operands of one shape");
                // Safety: the operands' constructor guarantees their elements. Any thread may access these, call
                // the functions, and send accumulators.
                unsafe { inputs.reduce::<($($K,)+), G, R>(is_reduced, closure, fold, true) }
            }
        }
    };
}
reduce!(2: A a);
reduce!(3: A a B b);
reduce!(4: A a B b C c);
reduce!(5: A a B b C c D d);
reduce!(6: A a B b C c D d E e);
reduce!(7: A a B b C c D d E e F f);
reduce!(8: A a B b C c D d E e F f H h);
reduce!(9: A a B b C c D d E e F f H h J j);

/// Folds the elements of an operand along the dimensions where `is_reduced`.
///
/// As [`Reduce::reduce`], for elements that may not be `Sync` and accumulators that may not be `Send`: unless they are
/// numbers, they stay on the calling thread.
///
/// # Errors
///
/// As [`Reduce::reduce`].
///
/// # Panics
///
/// As [`Reduce::reduce`].
pub fn reduce_elements<T: Clone, R: Accumulate<T> + Sync>(
    input: &Operand<'_, Read<T>>,
    is_reduced: &[bool],
    fold: &R,
) -> Result<Vec<R::Acc>, AllocError> {
    let (first, strides) = input.parts();
    let first = [first.cast(), std::ptr::null_mut()];
    let inputs = ReduceInputs { shape: input.shape(), first, strides: [strides, &[]] };
    #[cfg(feature = "parallel")]
    let is_shareable = crate::primitive::is_number::<T>() && crate::primitive::is_number::<R::Acc>();
    // There is one thread only. Tasks are made all the same, so that sums of numbers have the same bits.
    #[cfg(not(feature = "parallel"))]
    let is_shareable = true;
    // Safety: the operand's constructor guarantees its elements; any thread may access and clone numbers, and without
    // the feature the calling thread is the only one.
    unsafe { inputs.reduce::<(Read<T>,), _, _>(is_reduced, &|x: &T| x.clone(), fold, is_shareable) }
}

/// The product of sizes, if it does not overflow before a size of 0.
fn checked_product(mut sizes: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    if sizes.clone().any(|size| size == 0) {
        return Some(0);
    }
    sizes.try_fold(1usize, |count, size| count.checked_mul(size))
}

/// Addresses and strides of the inputs; the last of the `M` operands are the accumulators.
struct ReduceInputs<'i, const M: usize> {
    shape: &'i [usize],
    first: [*mut u8; M],
    strides: [&'i [isize]; M],
}

impl<const M: usize> ReduceInputs<'_, M> {
    /// Folds the items of all indices, and returns the accumulators.
    ///
    /// # Safety
    ///
    /// The inputs' elements are those of the accesses `K`, exist, and nothing writes to them. Where `is_shareable`, any
    /// thread may access them, call the functions, and send accumulators.
    unsafe fn reduce<K, G, R>(
        &self,
        is_reduced: &[bool],
        closure: &G,
        fold: &R,
        is_shareable: bool,
    ) -> Result<Vec<R::Acc>, AllocError>
    where
        K: RowKernels<G, M>,
        R: Accumulate<K::Item>,
    {
        // Safety: as for the caller.
        unsafe {
            if const { needs_drop::<R::Acc>() } {
                self.reduce_in::<Option<R::Acc>, K, G, R>(is_reduced, closure, fold, is_shareable)
            } else {
                self.reduce_in::<MaybeUninit<R::Acc>, K, G, R>(is_reduced, closure, fold, is_shareable)
            }
        }
    }

    /// The same, with accumulators in slots of type `S`.
    ///
    /// # Safety
    ///
    /// As for [`reduce`](ReduceInputs::reduce).
    unsafe fn reduce_in<S, K, G, R>(
        &self,
        is_reduced: &[bool],
        closure: &G,
        fold: &R,
        is_shareable: bool,
    ) -> Result<Vec<R::Acc>, AllocError>
    where
        S: Slot<R::Acc>,
        K: RowKernels<G, M>,
        R: Accumulate<K::Item>,
    {
        assert_eq!(is_reduced.len(), self.shape.len(), "one flag a dimension");
        let kept: SmallVec<[usize; 8]> = self
            .shape
            .iter()
            .zip(is_reduced)
            .map(|(&size, &is_reduced)| if is_reduced { 1 } else { size })
            .collect();
        let count = checked_product(kept.iter().copied()).ok_or(AllocError { bytes: usize::MAX })?;
        assert!(count == 0 || !self.shape.contains(&0), "accumulators without an item");
        let mut strides: SmallVec<[isize; 8]> = SmallVec::from_elem(0, kept.len());
        set_row_major(&mut strides, &kept);
        for (stride, _) in strides.iter_mut().zip(is_reduced).filter(|(_, is_reduced)| **is_reduced) {
            *stride = 0;
        }
        let mut slots: Vec<S> = reserve(count)?;
        slots.resize_with(count, S::vacant);
        if count > 0 {
            let nest = LoopNest::new(self.shape, M, |operand, dim| match operand {
                _ if operand == M - 1 => strides[dim],
                _ => self.strides[operand][dim],
            });
            let functions = ReduceFunctions { closure, fold };
            let is_stopped = AtomicBool::new(false);
            let reduction = ReduceJob::<S, M> {
                first: self.first,
                items: K::ITEMS,
                functions: (&raw const functions).cast(),
                fold: (&raw const *fold).cast(),
                select: K::select::<R, S>,
                merge: merge_rows::<K::Item, R, S>,
                // Without independent accumulators, smaller parts keep rounding errors small.
                max_serial: if has_lanes::<R::Acc>() { SERIAL_SUM } else { SERIAL_SUM_IN_SEQUENCE },
                is_stopped: &is_stopped,
                slots: PhantomData,
            };
            // Safety: the nest stays within the inputs, and within the slots: their strides are those of a
            // row-major array. All slots are vacant.
            unsafe { reduction.run(slots.as_mut_ptr(), nest, is_shareable) };
        }
        // Safety: every slot has been occupied. In place: slots are as large as accumulators, or larger.
        Ok(slots.into_iter().map(|mut slot| unsafe { slot.take() }).collect())
    }
}

/// A reduction has been stopped, because another part of it panicked.
struct Stopped;

/// Functions and inputs of a reduction; the last of the `M` operands of its nests are slots of type `S`.
struct ReduceJob<'r, S, const M: usize> {
    first: [*mut u8; M],
    /// Bytes of an element of each input.
    items: [usize; M],
    functions: *const (),
    fold: *const (),
    select: fn(&[isize; M]) -> RowKernel<M>,
    merge: unsafe fn(*const (), [*mut S; 2], &RowBlock<2>),
    /// Elements that are folded without halving.
    max_serial: usize,
    is_stopped: &'r AtomicBool,
    slots: PhantomData<S>,
}

// Safety: several threads use it only where `ReduceInputs::reduce` was called with functions, inputs and accumulators
// that any thread may access.
unsafe impl<S, const M: usize> Sync for ReduceJob<'_, S, M> {}

/// A part of a reduction, with slots of its own.
struct Task<S> {
    to: *mut S,
    nest: LoopNest,
}

// Safety: no two tasks share a slot, and accumulators may be sent wherever several threads run tasks.
unsafe impl<S> Sync for Task<S> {}

/// Accumulators that are moved from partial ones, which are contiguous, when the tasks are done.
struct Merge<S> {
    from: *mut S,
    to: *mut S,
    nest: LoopNest,
}

/// The parts of a large reduction, which several threads can share.
struct ReduceTasks<S> {
    tasks: Vec<Task<S>>,
    /// To be done in this order.
    merges: Vec<Merge<S>>,
    /// Vectors, not boxes: moving a box would invalidate the pointers of the tasks.
    partial: Vec<Vec<S>>,
}

impl<S, const M: usize> ReduceJob<'_, S, M> {
    /// Folds the items of a nest, in tasks that several threads share where it is large and `is_shareable`.
    ///
    /// There are tasks in builds without threads too, so that results are the same.
    ///
    /// # Safety
    ///
    /// All elements exist, the slots are vacant, and nothing else accesses them. Where `is_shareable`, any
    /// thread may access the inputs, call the functions, and send accumulators.
    unsafe fn run<A>(&self, to: *mut S, nest: LoopNest, is_shareable: bool)
    where
        S: Slot<A>,
    {
        let mut items = self.items;
        items[M - 1] = size_of::<S>();
        let cost = cost(nest.touched_bytes(items.into_iter()), nest.len(), 1);
        // Safety: as for the caller.
        unsafe {
            if is_shareable && is_parallel(cost) {
                self.run_tasks(to, nest, cost);
            } else {
                // Nothing else runs that could stop it.
                let _ = self.run_serial(to, nest);
            }
        }
    }

    /// # Safety
    ///
    /// As for [`run`](ReduceJob::run).
    unsafe fn run_serial<A>(&self, to: *mut S, nest: LoopNest) -> Result<(), Stopped>
    where
        S: Slot<A>,
    {
        let level = if nest.len() > self.max_serial { split_level::<S>(&nest, false) } else { None };
        let Some(level) = level else {
            // Safety: as for the caller.
            return unsafe { self.run_leaf(to, &nest) };
        };
        let (first, mut second, are_shared) = halves(&nest, level);
        // Safety: the halves are parts of the nest. They have different slots: those of the nest, or where
        // iterations share slots, new ones.
        unsafe {
            self.run_serial(to, first)?;
            if !are_shared {
                return self.run_serial(to, second);
            }
            let kept = nest.compacted(M - 1);
            let mut partial: SmallVec<[S; 4]> = SmallVec::new();
            partial.resize_with(kept.len(), S::vacant);
            second.make_contiguous(M - 1);
            self.run_serial(partial.as_mut_ptr(), second)?;
            self.run_merge(&Merge { from: partial.as_mut_ptr(), to, nest: kept });
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`run`](ReduceJob::run).
    unsafe fn run_tasks<A>(&self, to: *mut S, nest: LoopNest, cost: usize)
    where
        S: Slot<A>,
    {
        let min_elements = PARALLEL_MIN_BYTES / (cost / nest.len()).max(1);
        let max_elements = nest.len().div_ceil(MAX_SUM_TASKS).max(min_elements);
        let mut tasks = ReduceTasks { tasks: Vec::new(), merges: Vec::new(), partial: Vec::new() };
        tasks.split(to, nest, M - 1, max_elements);
        let ReduceTasks { tasks, merges, partial } = tasks;
        run_tasks(tasks.len(), Team::of(None), &|task| {
            let stop = StopOnPanic(self.is_stopped);
            let Task { to, nest } = &tasks[task];
            // Safety: the tasks are parts of the nest with different slots. A stopped one has no result: the
            // panic that stopped it ends the call.
            let _ = unsafe { self.run_serial(*to, nest.clone()) };
            std::mem::forget(stop);
        });
        for merge in &merges {
            // Safety: partial accumulators exist until here, and their tasks are done.
            unsafe { self.run_merge(merge) };
        }
        drop(partial);
    }

    /// Folds the items of a nest that is not halved.
    ///
    /// # Safety
    ///
    /// As for [`run`](ReduceJob::run).
    unsafe fn run_leaf(&self, to: *mut S, nest: &LoopNest) -> Result<(), Stopped> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        let innermost = nest.innermost();
        let row =
            |level: usize| -> [isize; M] { std::array::from_fn(|operand| nest.level(level).1[operand]) };
        let (len, strides) = (nest.sizes()[innermost], row(innermost));
        let (rows, row_strides) = match innermost.checked_sub(1) {
            Some(level) => (nest.sizes()[level], row(level)),
            None => (1, [0; M]),
        };
        let mut first = self.first;
        first[M - 1] = to.cast();
        let mut items = self.items;
        items[M - 1] = size_of::<S>();
        let kernel = (self.select)(&strides);
        let starts = std::array::from_fn(|operand| nest.starts()[operand]);
        let mut block = RowBlock { starts, rows, row_strides, len, strides };
        for_each_block(nest, 0, true, &mut block, &mut |block, is_vacant| {
            let first: [*mut u8; M] = std::array::from_fn(|operand| {
                first[operand].wrapping_offset(block.starts[operand] * items[operand] as isize)
            });
            // Safety: the caller guarantees functions, elements and slots.
            unsafe { kernel(self.functions, &first, block, is_vacant) };
        });
        Ok(())
    }

    /// # Safety
    ///
    /// All slots of the merge are occupied, and nothing else accesses them.
    unsafe fn run_merge(&self, Merge { from, to, nest }: &Merge<S>) {
        nest.for_each_row_block::<2>(|block| {
            // Safety: the caller guarantees the slots.
            unsafe {
                let first = [from.offset(block.starts[0]), to.offset(block.starts[1])];
                (self.merge)(self.fold, first, block);
            }
        });
    }
}

/// Calls `work` with the two innermost loops, for every combination of the loops from `level` on, and whether the
/// slots of the last operand have not been visited before.
fn for_each_block<const M: usize>(
    nest: &LoopNest,
    level: usize,
    is_vacant: bool,
    block: &mut RowBlock<M>,
    work: &mut impl FnMut(&RowBlock<M>, bool),
) {
    if level >= nest.innermost().saturating_sub(1) {
        return work(block, is_vacant);
    }
    let (size, strides) = nest.level(level);
    let starts = block.starts;
    for i in 0..size {
        block.starts =
            std::array::from_fn(|operand| starts[operand].wrapping_add(i as isize * strides[operand]));
        for_each_block(nest, level + 1, is_vacant && (i == 0 || strides[M - 1] != 0), block, work);
    }
    block.starts = starts;
}

/// Stops the other parts of a reduction when it is dropped, which only a panic does.
struct StopOnPanic<'s>(&'s AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<S> ReduceTasks<S> {
    /// Halves a nest into tasks of at most `max_elements` elements, where it can be halved. `slots` is the operand of
    /// the slots.
    fn split<A>(&mut self, to: *mut S, nest: LoopNest, slots: usize, max_elements: usize)
    where
        S: Slot<A>,
    {
        let level = if nest.len() > max_elements { split_level::<S>(&nest, true) } else { None };
        let Some(level) = level else {
            return self.tasks.push(Task { to, nest });
        };
        let (first, mut second, are_shared) = halves(&nest, level);
        self.split(to, first, slots, max_elements);
        if !are_shared {
            return self.split(to, second, slots, max_elements);
        }
        let kept = nest.compacted(slots);
        let mut partial = Vec::new();
        partial.resize_with(kept.len(), S::vacant);
        let from = partial.as_mut_ptr();
        self.partial.push(partial);
        second.make_contiguous(slots);
        self.split(from, second, slots, max_elements);
        self.merges.push(Merge { from, to, nest: kept });
    }
}

/// The stride of the slots, the last operand, in a loop.
fn slot_stride(nest: &LoopNest, level: usize) -> isize {
    nest.level(level).1.last().copied().unwrap_or(0)
}

/// The two halves of a nest, and whether their iterations share slots.
fn halves(nest: &LoopNest, level: usize) -> (LoopNest, LoopNest, bool) {
    let (first, second) = nest.split_at(level, nest.middle(level));
    (first, second, slot_stride(nest, level) == 0)
}

/// The outermost loop that is worth halving.
fn split_level<S>(nest: &LoopNest, is_parallel: bool) -> Option<usize> {
    // Large accumulators: fewer of them.
    let max_partial = MAX_PARTIAL_SUMS * MAX_LANE_BYTES / size_of::<S>().max(MAX_LANE_BYTES);
    let kept = (0..nest.depth()).filter(|&level| slot_stride(nest, level) != 0);
    let slots: usize = kept.map(|level| nest.sizes()[level]).product();
    let elements = if is_parallel { ELEMENTS_PER_PARALLEL_PARTIAL_SUM } else { ELEMENTS_PER_PARTIAL_SUM };
    let has_partial = slots <= max_partial && nest.len() / 2 >= slots * elements;
    (0..nest.depth()).find(|&level| {
        let size = nest.sizes()[level];
        size > 1
            && if slot_stride(nest, level) == 0 {
                has_partial
            } else {
                // To share the work, or until there are few enough accumulators for partial ones.
                (is_parallel || slots > max_partial) && (level + 1 < nest.depth() || size >= max_partial)
            }
    })
}

#[cfg(test)]
mod tests;
