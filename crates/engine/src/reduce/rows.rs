//! Row kernels of reductions: the two innermost loops around a closure, compiled for each combination of cursors.
//!
//! Where the innermost loop is reduced, a row is folded into independent accumulators, which hide the latency of
//! additions and become SIMD lanes. Where it is kept, four rows are folded at a time into a row of accumulators,
//! which is read and written once for all four.

use super::accumulate::{Accumulate, Slot};
use crate::closures::{Access, BroadcastCursor, ContiguousCursor, Cursor, ElementRef, StridedCursor};
use crate::nest::RowBlock;
use crate::tuning::{ACCUMULATORS, MAX_LANE_BYTES, MIN_LANES_LEN, SHORT_ROW_ACCUMULATORS};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use unishape_simd::{SimdTask, run_avx2, try_run_avx2};

/// The closure and the fold of a reduction.
pub(super) struct ReduceFunctions<'f, G, R> {
    pub(super) closure: &'f G,
    pub(super) fold: &'f R,
}

/// Folds the items of a row block; the last operand are the slots of the accumulators.
///
/// Its contract: the first argument points to the [`ReduceFunctions`] that the kernel was made for. The addresses are
/// those of the block's first elements, all of which exist; nothing else accesses the slots. The slots are vacant where
/// the last argument is true, and occupied otherwise.
pub(super) type RowKernel<const M: usize> = unsafe fn(*const (), &[*mut u8; M], &RowBlock<M>, bool);

/// A tuple of [`Access`]es, one for each input, and a closure that takes an element of each.
pub(super) trait RowKernels<G, const M: usize> {
    type Item;
    /// Bytes of an element of each input, and 0 for the accumulators.
    const ITEMS: [usize; M];

    /// The kernel for rows with these strides.
    fn select<R: Accumulate<Self::Item>, S: Slot<R::Acc>>(strides: &[isize; M]) -> RowKernel<M>;

    /// The kernel for any strides.
    fn any<R: Accumulate<Self::Item>, S: Slot<R::Acc>>() -> RowKernel<M>;
}

/// A cursor for each input.
trait Items<G, const M: usize>: Copy {
    type Item;

    /// Cursors at the first elements of row `row`.
    ///
    /// # Safety
    ///
    /// The row exists.
    unsafe fn new(first: &[*mut u8; M], block: &RowBlock<M>, row: usize) -> Self;

    /// What the closure returns for element `i` of each input.
    ///
    /// # Safety
    ///
    /// The row has an element `i`, to which nothing writes.
    unsafe fn item(self, closure: &G, i: usize) -> Self::Item;
}

/// Whether rows are folded into several accumulators, which are on the stack and moved freely.
pub(super) const fn has_lanes<A>() -> bool {
    !needs_drop::<A>() && size_of::<A>() <= MAX_LANE_BYTES
}

/// A row block whose cursors are chosen.
struct FoldRows<'r, G, R, C, S, const M: usize> {
    functions: &'r ReduceFunctions<'r, G, R>,
    first: &'r [*mut u8; M],
    block: &'r RowBlock<M>,
    is_vacant: bool,
    types: PhantomData<(C, S)>,
}

/// [`FoldRows`] with a reduced innermost loop.
struct Reduced<T>(T);

/// [`FoldRows`] with an accumulator for each iteration of the innermost loop.
struct Kept<T>(T);

impl<G, R, C, S, const M: usize> SimdTask for Reduced<FoldRows<'_, G, R, C, S, M>>
where
    C: Items<G, M>,
    R: Accumulate<C::Item>,
    S: Slot<R::Acc>,
{
    #[inline(always)]
    fn run(self) {
        // Safety: the caller that made the task guarantees the block.
        unsafe { self.0.fold_reduced() }
    }
}

impl<G, R, C, S, const M: usize> SimdTask for Kept<FoldRows<'_, G, R, C, S, M>>
where
    C: Items<G, M>,
    R: Accumulate<C::Item>,
    S: Slot<R::Acc>,
{
    #[inline(always)]
    fn run(self) {
        // Safety: the caller that made the task guarantees the block.
        unsafe { self.0.fold_kept() }
    }
}

impl<G, R, C, S, const M: usize> FoldRows<'_, G, R, C, S, M>
where
    C: Items<G, M>,
    R: Accumulate<C::Item>,
    S: Slot<R::Acc>,
{
    const HAS_LANES: bool = has_lanes::<R::Acc>();

    /// # Safety
    ///
    /// The row exists.
    #[inline(always)]
    unsafe fn row(&self, row: usize) -> C {
        // Safety: the caller guarantees the row.
        unsafe { C::new(self.first, self.block, row) }
    }

    /// # Safety
    ///
    /// As for [`Items::item`].
    #[inline(always)]
    unsafe fn item(&self, row: C, i: usize) -> C::Item {
        // Safety: the caller guarantees the element.
        unsafe { row.item(self.functions.closure, i) }
    }

    /// The slots of a row.
    ///
    /// # Safety
    ///
    /// The row exists.
    #[inline(always)]
    unsafe fn slots(&self, row: usize) -> *mut S {
        // Safety: the caller guarantees the row.
        unsafe { self.first[M - 1].cast::<S>().offset(row as isize * self.block.row_strides[M - 1]) }
    }

    /// Adds to a slot, or occupies it.
    ///
    /// # Safety
    ///
    /// The slot is occupied, unless `is_vacant`.
    #[inline(always)]
    unsafe fn put(&self, slot: &mut S, acc: R::Acc, is_vacant: bool) {
        if is_vacant {
            slot.set(acc);
        } else {
            // Safety: the caller guarantees it.
            self.functions.fold.merge(unsafe { slot.get() }, acc);
        }
    }

    /// Folds each row into one accumulator.
    ///
    /// # Safety
    ///
    /// As for [`RowKernel`].
    #[inline(always)]
    unsafe fn fold_reduced(&self) {
        // Safety: the caller guarantees the block. The lengths are that of its rows.
        unsafe {
            match self.block.len {
                2 => self.fold_each_row(|row| self.in_sequence(row, 2)),
                3 => self.fold_each_row(|row| self.in_sequence(row, 3)),
                4 => self.fold_each_row(|row| self.in_sequence(row, 4)),
                len if Self::HAS_LANES && len >= 2 * ACCUMULATORS => {
                    self.fold_each_row(|row| self.in_many_lanes(row, len));
                }
                len if Self::HAS_LANES && len >= MIN_LANES_LEN => {
                    self.fold_each_row(|row| self.in_lanes(row, len));
                }
                len => self.fold_each_row(|row| self.in_sequence(row, len)),
            }
        }
    }

    /// # Safety
    ///
    /// As for [`RowKernel`].
    #[inline(always)]
    unsafe fn fold_each_row(&self, fold: impl Fn(C) -> R::Acc) {
        let share_slot = self.block.row_strides[M - 1] == 0;
        for row in 0..self.block.rows {
            // Safety: it is a row of the block; the first one occupies a slot that others share.
            unsafe {
                let acc = fold(self.row(row));
                self.put(&mut *self.slots(row), acc, self.is_vacant && (row == 0 || !share_slot));
            }
        }
    }

    /// Folds a row, one item after the other.
    ///
    /// # Safety
    ///
    /// The row has `len` elements, and at least one.
    #[inline(always)]
    unsafe fn in_sequence(&self, row: C, len: usize) -> R::Acc {
        let fold = self.functions.fold;
        // Safety: i is below len.
        unsafe {
            let mut acc = fold.start(self.item(row, 0));
            for i in 1..len {
                fold.fold(&mut acc, self.item(row, i));
            }
            acc
        }
    }

    /// Folds a row into [`ACCUMULATORS`], item `i` into accumulator `i % ACCUMULATORS`, and merges these pairwise.
    ///
    /// # Safety
    ///
    /// The row has `len` elements, and at least [`ACCUMULATORS`]. Accumulators need not be dropped.
    #[inline(always)]
    unsafe fn in_many_lanes(&self, row: C, len: usize) -> R::Acc {
        const { assert!(ACCUMULATORS == 4 * SHORT_ROW_ACCUMULATORS) };
        const L: usize = SHORT_ROW_ACCUMULATORS;
        // Safety: indices are below len.
        unsafe {
            // Four arrays: the compiler keeps one of four times the size on the stack, not in registers.
            let [mut a, mut b, mut c, mut d] = [
                self.start_lanes(row, 0),
                self.start_lanes(row, L),
                self.start_lanes(row, 2 * L),
                self.start_lanes(row, 3 * L),
            ];
            let whole = len / ACCUMULATORS * ACCUMULATORS;
            for first in (ACCUMULATORS..whole).step_by(ACCUMULATORS) {
                self.fold_lanes(&mut a, row, first);
                self.fold_lanes(&mut b, row, first + L);
                self.fold_lanes(&mut c, row, first + 2 * L);
                self.fold_lanes(&mut d, row, first + 3 * L);
            }
            self.merge_lanes(&mut a, c);
            self.merge_lanes(&mut b, d);
            self.merge_lanes(&mut a, b);
            self.finish_lanes(a, row, whole, len)
        }
    }

    /// The same with [`SHORT_ROW_ACCUMULATORS`].
    ///
    /// # Safety
    ///
    /// As for [`in_many_lanes`](FoldRows::in_many_lanes).
    #[inline(always)]
    unsafe fn in_lanes(&self, row: C, len: usize) -> R::Acc {
        // Safety: indices are below len.
        unsafe {
            let mut accs = self.start_lanes(row, 0);
            let whole = len / SHORT_ROW_ACCUMULATORS * SHORT_ROW_ACCUMULATORS;
            for first in (SHORT_ROW_ACCUMULATORS..whole).step_by(SHORT_ROW_ACCUMULATORS) {
                self.fold_lanes(&mut accs, row, first);
            }
            self.finish_lanes(accs, row, whole, len)
        }
    }

    /// Accumulators of neighbouring items.
    ///
    /// # Safety
    ///
    /// The row has these elements, from `first` on.
    #[inline(always)]
    unsafe fn start_lanes(&self, row: C, first: usize) -> [R::Acc; SHORT_ROW_ACCUMULATORS] {
        // Safety: the caller guarantees the elements.
        std::array::from_fn(|i| self.functions.fold.start(unsafe { self.item(row, first + i) }))
    }

    /// # Safety
    ///
    /// As for [`start_lanes`](FoldRows::start_lanes).
    #[inline(always)]
    unsafe fn fold_lanes(&self, accs: &mut [R::Acc; SHORT_ROW_ACCUMULATORS], row: C, first: usize) {
        for (i, acc) in accs.iter_mut().enumerate() {
            // Safety: the caller guarantees the elements.
            self.functions.fold.fold(acc, unsafe { self.item(row, first + i) });
        }
    }

    #[inline(always)]
    fn merge_lanes(
        &self,
        accs: &mut [R::Acc; SHORT_ROW_ACCUMULATORS],
        others: [R::Acc; SHORT_ROW_ACCUMULATORS],
    ) {
        accs.iter_mut().zip(others).for_each(|(acc, other)| self.functions.fold.merge(acc, other));
    }

    /// Merges accumulators pairwise, and folds the items from `whole` on.
    ///
    /// # Safety
    ///
    /// The row has `len` elements. Accumulators need not be dropped.
    #[inline(always)]
    unsafe fn finish_lanes(
        &self,
        accs: [R::Acc; SHORT_ROW_ACCUMULATORS],
        row: C,
        whole: usize,
        len: usize,
    ) -> R::Acc {
        let fold = self.functions.fold;
        // The compiler sees an array in memory, and makes vectors of neighbouring accumulators. Otherwise it makes
        // vectors of those that are merged here, which costs shuffles in the loop before.
        let mut accs = std::hint::black_box(accs);
        // Safety: indices are below len. A merged accumulator is not used again, and need not be dropped.
        unsafe {
            let mut half = SHORT_ROW_ACCUMULATORS / 2;
            while half > 0 {
                for i in 0..half {
                    let other = (&raw const accs[half + i]).read();
                    fold.merge(&mut accs[i], other);
                }
                half /= 2;
            }
            let mut total = (&raw const accs[0]).read();
            for i in whole..len {
                fold.fold(&mut total, self.item(row, i));
            }
            total
        }
    }

    /// Folds each row into a row of accumulators.
    ///
    /// # Safety
    ///
    /// As for [`RowKernel`].
    #[inline(always)]
    unsafe fn fold_kept(&self) {
        let &RowBlock { rows, row_strides, len, .. } = self.block;
        let share_slots = row_strides[M - 1] == 0;
        let fold = self.functions.fold;
        // Safety: these are rows of the block; the first ones occupy slots that others share.
        unsafe {
            if share_slots && Self::HAS_LANES && len < ACCUMULATORS / 2 && self.is_contiguous() {
                let together = ACCUMULATORS / len * len;
                if rows * len >= 2 * together {
                    return self.fold_short_rows(together);
                }
            }
            let fours = if share_slots { rows / 4 * 4 } else { 0 };
            for row in (0..fours).step_by(4) {
                let four: [C; 4] = std::array::from_fn(|i| self.row(row + i));
                if self.is_vacant && row == 0 {
                    self.for_each_slot(row, |slot, i| slot.set(self.four_items(four, i)));
                } else {
                    let merge = |slot: &mut S, i| fold.merge(slot.get(), self.four_items(four, i));
                    self.for_each_slot(row, merge);
                }
            }
            for row in fours..rows {
                let one = self.row(row);
                if self.is_vacant && (row == 0 || !share_slots) {
                    self.for_each_slot(row, |slot, i| slot.set(fold.start(self.item(one, i))));
                } else {
                    self.for_each_slot(row, |slot, i| fold.fold(slot.get(), self.item(one, i)));
                }
            }
        }
    }

    /// The accumulator of element `i` of four rows.
    ///
    /// # Safety
    ///
    /// The rows have an element `i`.
    #[inline(always)]
    unsafe fn four_items(&self, [a, b, c, d]: [C; 4], i: usize) -> R::Acc {
        let fold = self.functions.fold;
        // Safety: the caller guarantees the elements.
        unsafe {
            let mut acc = fold.start(self.item(a, i));
            fold.fold(&mut acc, self.item(b, i));
            let mut other = fold.start(self.item(c, i));
            fold.fold(&mut other, self.item(d, i));
            fold.merge(&mut acc, other);
            acc
        }
    }

    /// Calls `put` with each slot of a row, and its index.
    ///
    /// # Safety
    ///
    /// The row exists.
    #[inline(always)]
    unsafe fn for_each_slot(&self, row: usize, put: impl Fn(&mut S, usize)) {
        let (len, stride) = (self.block.len, self.block.strides[M - 1]);
        // Safety: the row's slots are those of the block, and nothing else accesses them.
        unsafe {
            let slots = self.slots(row);
            if stride == 1 {
                for_each(std::slice::from_raw_parts_mut(slots, len), put);
            } else {
                (0..len).for_each(|i| put(&mut *slots.offset(i as isize * stride), i));
            }
        }
    }

    /// Whether all rows are one: each input is contiguous or a broadcast scalar, and the slots are contiguous.
    #[inline(always)]
    fn is_contiguous(&self) -> bool {
        let &RowBlock { row_strides, len, strides, .. } = self.block;
        let is_one = |input: usize| row_strides[input] == strides[input] * len as isize;
        (0..M - 1).all(|input| matches!(strides[input], 0 | 1) && is_one(input)) && strides[M - 1] == 1
    }

    /// Folds rows that are too short for a loop of their own into the row of slots that they share: several are
    /// folded as one row of `together` items.
    ///
    /// # Safety
    ///
    /// All rows [are one](FoldRows::is_contiguous) and share their slots. `together` is a multiple of their length, at
    /// most [`ACCUMULATORS`] and the number of items. Accumulators need not be dropped.
    #[inline(always)]
    unsafe fn fold_short_rows(&self, together: usize) {
        let (len, count) = (self.block.len, self.block.rows * self.block.len);
        let fold = self.functions.fold;
        let mut accs: [MaybeUninit<R::Acc>; ACCUMULATORS] = [const { MaybeUninit::uninit() }; ACCUMULATORS];
        // Safety: indices are those of the block; the first `together` accumulators are initialised first, and
        // each is merged once.
        unsafe {
            let row = self.row(0);
            for (i, acc) in accs.iter_mut().take(together).enumerate() {
                acc.write(fold.start(self.item(row, i)));
            }
            for first in (together..count).step_by(together) {
                for (i, acc) in accs.iter_mut().take(together.min(count - first)).enumerate() {
                    fold.fold(acc.assume_init_mut(), self.item(row, first + i));
                }
            }
            for (i, acc) in accs.iter().take(together).enumerate() {
                let slot = &mut *self.slots(0).add(i % len);
                self.put(slot, acc.assume_init_read(), self.is_vacant && i < len);
            }
        }
    }
}

/// Calls `put` with each slot and its index. As an argument, the slice is known not to alias the inputs.
#[inline(always)]
fn for_each<S>(slots: &mut [S], put: impl Fn(&mut S, usize)) {
    for (i, slot) in slots.iter_mut().enumerate() {
        put(slot, i);
    }
}

/// Rows of contiguous inputs and broadcast scalars, with 256-bit SIMD.
///
/// # Safety
///
/// As for [`RowKernel`], with the strides of the cursors `C`.
unsafe fn simd_rows<G, R, C, S, K, const M: usize>(
    functions: *const (),
    first: &[*mut u8; M],
    block: &RowBlock<M>,
    is_vacant: bool,
) where
    C: Items<G, M>,
    K: RowKernels<G, M, Item = C::Item>,
    R: Accumulate<C::Item>,
    S: Slot<R::Acc>,
{
    // Safety: the caller guarantees the functions.
    let of_rows = unsafe { &*functions.cast::<ReduceFunctions<'_, G, R>>() };
    let rows = FoldRows::<G, R, C, S, M> { functions: of_rows, first, block, is_vacant, types: PhantomData };
    let is_done = if block.strides[M - 1] == 0 {
        try_run_avx2(Reduced(rows)).is_ok()
    } else {
        try_run_avx2(Kept(rows)).is_ok()
    };
    if !is_done {
        // A CPU without AVX2. Few are left, so there is no second set of kernels for them.
        // Safety: as for the caller; this kernel takes any strides.
        unsafe { K::any::<R, S>()(functions, first, block, is_vacant) };
    }
}

/// Rows with any strides.
///
/// # Safety
///
/// As for [`RowKernel`].
unsafe fn any_rows<G, R, C, S, const M: usize>(
    functions: *const (),
    first: &[*mut u8; M],
    block: &RowBlock<M>,
    is_vacant: bool,
) where
    C: Items<G, M>,
    R: Accumulate<C::Item>,
    S: Slot<R::Acc>,
{
    // Safety: the caller guarantees the functions.
    let functions = unsafe { &*functions.cast::<ReduceFunctions<'_, G, R>>() };
    let rows = FoldRows::<G, R, C, S, M> { functions, first, block, is_vacant, types: PhantomData };
    if block.strides[M - 1] == 0 { run_avx2(Reduced(rows)) } else { run_avx2(Kept(rows)) }
}

/// Moves the accumulators of contiguous slots, operand 0, into others.
///
/// # Safety
///
/// As for [`RowKernel`]; all slots are occupied, and those of operand 0 are vacant afterwards.
pub(super) unsafe fn merge_rows<T, R: Accumulate<T>, S: Slot<R::Acc>>(
    fold: *const (),
    first: [*mut S; 2],
    block: &RowBlock<2>,
) {
    // Safety: the caller guarantees fold, slots and block.
    unsafe {
        let fold = &*fold.cast::<R>();
        for row in 0..block.rows as isize {
            let [from, to] = std::array::from_fn(|n| first[n].offset(row * block.row_strides[n]));
            if block.strides == [1, 1] {
                let to = std::slice::from_raw_parts_mut(to, block.len);
                for_each(to, |to, i| fold.merge(to.get(), (*from.add(i)).take()));
                continue;
            }
            for i in 0..block.len as isize {
                let (from, to) = (from.offset(i * block.strides[0]), to.offset(i * block.strides[1]));
                fold.merge((*to).get(), (*from).take());
            }
        }
    }
}

/// Implements [`RowKernels`] for a number of inputs and one operand more. `all`: SIMD kernels for every combination
/// of contiguous inputs and broadcast scalars. `contiguous`: one for contiguous inputs. All have a kernel for any
/// strides.
macro_rules! row_kernels {
    ($M:literal, $kernels:ident: $($K:ident $C:ident $n:tt)+) => {
        impl<$($C: Cursor,)+ G, I> Items<G, $M> for ($($C,)+)
        where
            G: for<'x> Fn($(<$C::Access as ElementRef<'x>>::Item),+) -> I,
        {
            type Item = I;

            #[inline(always)]
            unsafe fn new(first: &[*mut u8; $M], block: &RowBlock<$M>, row: usize) -> Self {
                // Safety: the caller guarantees the row.
                unsafe {
                    ($($C::new(
                        first[$n]
                            .cast::<<$C::Access as Access>::Elem>()
                            .offset(row as isize * block.row_strides[$n]),
                        block.strides[$n],
                    ),)+)
                }
            }

            #[inline(always)]
            unsafe fn item(self, closure: &G, i: usize) -> I {
                // Safety: the caller guarantees the elements.
                unsafe { closure($($C::Access::element(self.$n.at(i))),+) }
            }
        }

        impl<$($K: Access,)+ G, I> RowKernels<G, $M> for ($($K,)+)
        where
            G: for<'x> Fn($(<$K as ElementRef<'x>>::Item),+) -> I,
        {
            type Item = I;
            const ITEMS: [usize; $M] = [$(size_of::<$K::Elem>(),)+ 0];

            fn select<R: Accumulate<I>, S: Slot<R::Acc>>(strides: &[isize; $M]) -> RowKernel<$M> {
                if strides[$M - 1] == 0 || strides[$M - 1] == 1 {
                    row_kernels!(@select $kernels, $M, strides, [$($K $n)+]);
                }
                <Self as RowKernels<G, $M>>::any::<R, S>()
            }

            fn any<R: Accumulate<I>, S: Slot<R::Acc>>() -> RowKernel<$M> {
                any_rows::<G, R, ($(StridedCursor<$K>,)+), S, $M>
            }
        }
    };
    (@select contiguous, $M:literal, $strides:ident, [$($K:ident $n:tt)+]) => {
        if $($strides[$n] == 1)&&+ {
            return simd_rows::<G, R, ($(ContiguousCursor<$K>,)+), S, Self, $M>;
        }
    };
    (@select all, $M:literal, $strides:ident, [$($K:ident $n:tt)+]) => {
        if $(matches!($strides[$n], 0 | 1))&&+ {
            row_kernels!(@cursors () [$($K $n)+] $strides, $M);
        }
    };
    // A decision for each input, then the kernel for the chosen cursors.
    (@cursors ($($chosen:ty,)+) [] $strides:ident, $M:literal) => {
        return simd_rows::<G, R, ($($chosen,)+), S, Self, $M>
    };
    (@cursors ($($chosen:ty,)*) [$K:ident $n:tt $($rest:tt)*] $strides:ident, $M:literal) => {
        if $strides[$n] == 1 {
            row_kernels!(@cursors ($($chosen,)* ContiguousCursor<$K>,) [$($rest)*] $strides, $M)
        } else {
            row_kernels!(@cursors ($($chosen,)* BroadcastCursor<$K>,) [$($rest)*] $strides, $M)
        }
    };
}
row_kernels!(2, all: A C0 0);
row_kernels!(3, all: A C0 0 B C1 1);
row_kernels!(4, all: A C0 0 B C1 1 C C2 2);
row_kernels!(5, contiguous: A C0 0 B C1 1 C C2 2 D C3 3);
row_kernels!(6, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4);
row_kernels!(7, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 F C5 5);
row_kernels!(8, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 F C5 5 H C6 6);
row_kernels!(9, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 F C5 5 H C6 6 J C7 7);
