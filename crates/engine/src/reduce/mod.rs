//! Executor of reductions: sums of many elements to each element of a smaller array.
//!
//! In some loops of the nest each iteration has a sum of its own, in others all iterations share one. Long
//! loops are halved recursively: where iterations share sums, the second half gets partial sums, which are
//! added to those of the first half afterwards. Rounding errors therefore grow with the logarithm of the
//! number of elements. Only the shape and the strides decide how work is halved, so the result does not
//! depend on the number of threads.

use crate::lanes::{Operand, Read};
use crate::nest::{LoopNest, RowBlock};
use crate::parallel::{Team, cost, is_parallel, run_tasks};
use crate::tuning::{
    ACCUMULATORS, ELEMENTS_PER_PARALLEL_PARTIAL_SUM, ELEMENTS_PER_PARTIAL_SUM, MAX_PARTIAL_SUMS,
    MAX_SUM_TASKS, PARALLEL_MIN_BYTES, SERIAL_SUM, SUM_GRANULARITY,
};
use num_traits::Zero;
use smallvec::SmallVec;
use std::ops::Add;
use unishape_simd::{SimdTask, run_widest};

/// Adds each element of an operand to one of the sums.
///
/// `sum_strides` leads from an index of the operand to its sum. `threads` is the requested number of threads.
///
/// # Panics
///
/// Where `sum_strides` does not fit the shape, or leads out of `sums`.
pub fn add_to_sums<T>(
    input: &Operand<'_, Read<T>>,
    sum_strides: &[isize],
    sums: &mut [T],
    threads: Option<usize>,
) where
    T: Clone + Zero + Add<Output = T>,
{
    let shape = input.shape();
    let (from, strides) = input.parts();
    if shape.contains(&0) {
        return;
    }
    let last = shape.iter().zip(sum_strides).try_fold(0usize, |last, (size, stride)| {
        (size - 1).checked_mul(stride.unsigned_abs())?.checked_add(last)
    });
    assert!(
        sum_strides.len() == shape.len()
            && sum_strides.iter().all(|&s| s >= 0)
            && last.is_some_and(|last| last < sums.len())
    );
    let nest = LoopNest::new(shape, 2, |operand, dim| [strides, sum_strides][operand][dim]);
    let sum = Sum { from, to: sums.as_mut_ptr() };
    // Safety: the nest stays within the operand and, as checked above, within the sums.
    unsafe { if has_tasks::<T>(&nest) { sum.add_tasks(nest, threads) } else { sum.add(nest) } }
}

/// Whether the sum is split into tasks: in every build and for any number of threads, so that results are the same.
fn has_tasks<T>(nest: &LoopNest) -> bool {
    // Where sums coincide, two tasks would share one.
    let are_distinct = || nest.compacted(1).is_injective(1);
    size_of::<T>() > 0
        && is_parallel(cost(nest.touched_bytes([size_of::<T>(); 2].into_iter()), nest.len(), 1))
        && are_distinct()
}

/// Whether several threads may share the tasks. Only for numbers: other types may not be `Send` and `Sync`.
#[cfg_attr(not(feature = "parallel"), allow(clippy::extra_unused_type_parameters))]
fn has_threads<T>() -> bool {
    #[cfg(feature = "parallel")]
    return crate::primitive::is_number::<T>();
    #[cfg(not(feature = "parallel"))]
    false
}

/// Elements, and the sums that they are added to: operands 0 and 1 of a nest.
struct Sum<T> {
    from: *const T,
    to: *mut T,
}

impl<T> Clone for Sum<T> {
    fn clone(&self) -> Sum<T> {
        *self
    }
}

impl<T> Copy for Sum<T> {}

/// A part of a large sum, with sums of its own.
struct Task<T> {
    sum: Sum<T>,
    nest: LoopNest,
}

// Safety: several threads share tasks of numbers only, which any thread may access, and no two tasks share a sum.
unsafe impl<T> Sync for Task<T> {}

/// The parts of a large sum.
struct Tasks<T> {
    tasks: Vec<Task<T>>,
    /// Additions of partial sums, to be done in this order after the tasks.
    merges: Vec<Task<T>>,
    /// Vectors, not boxes: moving a box would invalidate the pointers of the tasks.
    partial_sums: Vec<Vec<T>>,
}

impl<T: Clone + Zero + Add<Output = T>> Sum<T> {
    /// Adds the elements of a nest.
    ///
    /// # Safety
    ///
    /// All elements exist, and nothing else accesses the sums.
    unsafe fn add(self, nest: LoopNest) {
        let level = if nest.len() > SERIAL_SUM { split_level(&nest, false) } else { None };
        let Some(level) = level else {
            // Safety: the caller guarantees the nest.
            return nest.for_each_row_block(|block| unsafe { self.add_block(block) });
        };
        let (first, mut second, is_shared) = halves(&nest, level);
        // Safety: the halves are parts of the nest. They have different sums: those of the nest, or where
        // iterations share sums, new ones.
        unsafe {
            self.add(first);
            if !is_shared {
                return self.add(second);
            }
            let kept = nest.compacted(1);
            let mut partial: SmallVec<[T; 4]> = SmallVec::from_elem(T::zero(), kept.len());
            second.make_contiguous(1);
            Sum { from: self.from, to: partial.as_mut_ptr() }.add(second);
            Sum { from: partial.as_ptr(), to: self.to }.add(kept);
        }
    }

    /// The same in tasks, which several threads may share.
    ///
    /// # Safety
    ///
    /// As for [`add`](Sum::add).
    unsafe fn add_tasks(self, nest: LoopNest, threads: Option<usize>) {
        let max_elements = nest.len().div_ceil(MAX_SUM_TASKS).max(PARALLEL_MIN_BYTES / size_of::<T>());
        let mut tasks = Tasks { tasks: Vec::new(), merges: Vec::new(), partial_sums: Vec::new() };
        tasks.split(self, nest, max_elements);
        let Tasks { tasks, merges, partial_sums } = tasks;
        let run = |task: usize| {
            let Task { sum, nest } = &tasks[task];
            // Safety: the tasks are parts of the nest with different sums.
            unsafe { sum.add(nest.clone()) };
        };
        match has_threads::<T>() {
            true => run_tasks(tasks.len(), Team::of(threads), &run),
            false => (0..tasks.len()).for_each(run),
        }
        for Task { sum, nest } in merges {
            // Safety: partial sums exist until here, and their tasks are done.
            unsafe { sum.add(nest) };
        }
        drop(partial_sums);
    }

    /// # Safety
    ///
    /// All elements of the block exist, and nothing else accesses the sums.
    #[inline]
    unsafe fn add_block(self, block: &RowBlock<2>) {
        // Safety: the block starts there.
        let (from, to) = unsafe { (self.from.offset(block.starts[0]), self.to.offset(block.starts[1])) };
        let rows = SumRows { from, to, block };
        if block.rows * block.len >= ACCUMULATORS {
            run_widest(rows);
        } else {
            rows.run();
        }
    }
}

impl<T: Clone + Zero> Tasks<T> {
    /// Halves a nest into tasks of at most `max_elements` elements, where it can be halved.
    fn split(&mut self, sum: Sum<T>, nest: LoopNest, max_elements: usize) {
        let level = if nest.len() > max_elements { split_level(&nest, true) } else { None };
        let Some(level) = level else {
            return self.tasks.push(Task { sum, nest });
        };
        let (first, mut second, is_shared) = halves(&nest, level);
        self.split(sum, first, max_elements);
        if !is_shared {
            return self.split(sum, second, max_elements);
        }
        let kept = nest.compacted(1);
        let mut partial = vec![T::zero(); kept.len()];
        let to = partial.as_mut_ptr();
        self.partial_sums.push(partial);
        second.make_contiguous(1);
        self.split(Sum { from: sum.from, to }, second, max_elements);
        self.merges.push(Task { sum: Sum { from: to, to: sum.to }, nest: kept });
    }
}

/// The two halves of a nest, and whether their iterations share sums.
fn halves(nest: &LoopNest, level: usize) -> (LoopNest, LoopNest, bool) {
    let (size, strides) = nest.level(level);
    let [min_size, multiple] = SUM_GRANULARITY;
    let middle = (size / 2).next_multiple_of(if size > min_size { multiple } else { 1 });
    let is_shared = strides[1] == 0;
    let (first, second) = nest.split_at(level, middle);
    (first, second, is_shared)
}

/// The outermost loop that is worth halving.
fn split_level(nest: &LoopNest, is_parallel: bool) -> Option<usize> {
    let moving = (0..nest.depth()).map(|level| nest.level(level)).filter(|(_, strides)| strides[1] != 0);
    let sums: usize = moving.map(|(size, _)| size).product();
    let elements = if is_parallel { ELEMENTS_PER_PARALLEL_PARTIAL_SUM } else { ELEMENTS_PER_PARTIAL_SUM };
    let has_partial_sums = sums <= MAX_PARTIAL_SUMS && nest.len() / 2 >= sums * elements;
    (0..nest.depth()).find(|&level| {
        let (size, strides) = nest.level(level);
        size > 1
            && if strides[1] == 0 {
                has_partial_sums
            } else {
                // To share the work, or until there are few enough sums for partial sums.
                (is_parallel || sums > MAX_PARTIAL_SUMS)
                    && (level + 1 < nest.depth() || size >= MAX_PARTIAL_SUMS)
            }
    })
}

/// Elements of a row block, and the sums that they are added to.
struct SumRows<'b, A> {
    from: *const A,
    to: *mut A,
    block: &'b RowBlock<2>,
}

impl<A: Clone + Zero + Add<Output = A>> SimdTask for SumRows<'_, A> {
    #[inline(always)]
    fn run(self) {
        let &RowBlock { rows, row_strides, len, strides, .. } = self.block;
        // Safety: the caller that made the task guarantees the block; indices are those of the block.
        unsafe {
            match (strides, len) {
                ([1, 0], 2) => self.short_sums::<2>(),
                ([1, 0], 3) => self.short_sums::<3>(),
                ([1, 0], 4) => self.short_sums::<4>(),
                ([stride, 0], _) => {
                    for row in 0..rows as isize {
                        let from = self.from.offset(row * row_strides[0]);
                        let sum = if stride == 1 { sum(from, 1, len) } else { sum(from, stride, len) };
                        add(self.to.offset(row * row_strides[1]), sum);
                    }
                }
                ([1, 1], _) if len < ACCUMULATORS / 2 && row_strides == [len as isize, 0] => {
                    self.short_rows()
                }
                _ => {
                    let fours = if row_strides[1] == 0 { rows / 4 * 4 } else { 0 };
                    for row in (0..fours).step_by(4) {
                        self.four_rows(row);
                    }
                    for row in fours..rows {
                        self.one_row(row);
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// `to` points to an element.
#[inline(always)]
unsafe fn add<A: Clone + Add<Output = A>>(to: *mut A, element: A) {
    // Safety: the caller guarantees it.
    unsafe { *to = (*to).clone() + element }
}

/// # Safety
///
/// There is an element `i` strides from `from`.
#[inline(always)]
unsafe fn at<A: Clone>(from: *const A, i: usize, stride: isize) -> A {
    // Safety: the caller guarantees it.
    unsafe { (*from.offset(i as isize * stride)).clone() }
}

/// The sum of `len` elements.
///
/// # Safety
///
/// They exist.
#[inline(always)]
unsafe fn sum<A: Clone + Zero + Add<Output = A>>(from: *const A, stride: isize, len: usize) -> A {
    let whole = if len < 2 * ACCUMULATORS { 0 } else { len / ACCUMULATORS * ACCUMULATORS };
    let mut total = A::zero();
    // Safety: i is below len.
    unsafe {
        if whole > 0 {
            let mut sums: [A; ACCUMULATORS] = std::array::from_fn(|i| at(from, i, stride));
            for first in (ACCUMULATORS..whole).step_by(ACCUMULATORS) {
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.clone() + at(from, first + i, stride);
                }
            }
            let mut half = ACCUMULATORS / 2;
            while half > 0 {
                for i in 0..half {
                    sums[i] = sums[i].clone() + sums[half + i].clone();
                }
                half /= 2;
            }
            total = sums[0].clone();
        }
        for i in whole..len {
            total = total + at(from, i, stride);
        }
    }
    total
}

impl<A: Clone + Zero + Add<Output = A>> SumRows<'_, A> {
    /// Adds each row of `LEN` elements to its sum.
    ///
    /// # Safety
    ///
    /// The block has such rows, which are contiguous.
    #[inline(always)]
    unsafe fn short_sums<const LEN: usize>(&self) {
        let &RowBlock { rows, row_strides, .. } = self.block;
        for row in 0..rows as isize {
            // Safety: indices are those of the block.
            unsafe {
                let from = self.from.offset(row * row_strides[0]);
                let mut sum = at(from, 0, 1);
                for i in 1..LEN {
                    sum = sum + at(from, i, 1);
                }
                add(self.to.offset(row * row_strides[1]), sum);
            }
        }
    }

    /// Adds a row to a row of sums.
    ///
    /// # Safety
    ///
    /// It is a row of the block.
    #[inline(always)]
    unsafe fn one_row(&self, row: usize) {
        let &RowBlock { row_strides, len, strides, .. } = self.block;
        // Safety: indices are those of the block.
        unsafe {
            let from = self.from.offset(row as isize * row_strides[0]);
            let to = self.to.offset(row as isize * row_strides[1]);
            if strides == [1, 1] {
                for i in 0..len {
                    add(to.add(i), at(from, i, 1));
                }
            } else {
                for i in 0..len {
                    add(to.offset(i as isize * strides[1]), at(from, i, strides[0]));
                }
            }
        }
    }

    /// Adds four rows to the row of sums that they share.
    ///
    /// # Safety
    ///
    /// These are rows of the block.
    #[inline(always)]
    unsafe fn four_rows(&self, row: usize) {
        let &RowBlock { row_strides, len, strides, .. } = self.block;
        // Safety: indices are those of the block.
        unsafe {
            let a = self.from.offset(row as isize * row_strides[0]);
            let (b, c, d) =
                (a.offset(row_strides[0]), a.offset(2 * row_strides[0]), a.offset(3 * row_strides[0]));
            if strides == [1, 1] {
                for i in 0..len {
                    add(self.to.add(i), (at(a, i, 1) + at(b, i, 1)) + (at(c, i, 1) + at(d, i, 1)));
                }
            } else {
                let stride = strides[0];
                for i in 0..len {
                    let sum = (at(a, i, stride) + at(b, i, stride)) + (at(c, i, stride) + at(d, i, stride));
                    add(self.to.offset(i as isize * strides[1]), sum);
                }
            }
        }
    }

    /// Adds contiguous rows that are too short for a loop of their own to the row of sums that they share:
    /// several are added as one.
    ///
    /// # Safety
    ///
    /// The block's rows are contiguous and shorter than [`ACCUMULATORS`].
    #[inline(always)]
    unsafe fn short_rows(&self) {
        let &RowBlock { rows, len, .. } = self.block;
        let (together, count) = (ACCUMULATORS / len * len, rows * len);
        let mut sums: [A; ACCUMULATORS] = std::array::from_fn(|_| A::zero());
        // Safety: all elements of the block are contiguous.
        unsafe {
            for first in (0..count).step_by(together) {
                for (i, sum) in sums.iter_mut().take(together.min(count - first)).enumerate() {
                    *sum = sum.clone() + at(self.from, first + i, 1);
                }
            }
            for (i, sum) in sums.into_iter().take(together).enumerate() {
                add(self.to.add(i % len), sum);
            }
        }
    }
}

#[cfg(test)]
mod tests;
