//! Row kernels: the two innermost loops around a closure, compiled for each combination of cursors.
//!
//! Everything around them (tiling, streaming, splitting) is compiled once for each number of operands and
//! calls them through a function pointer. A closure is compiled for its row kernels only.

use super::access::{Access, BroadcastCursor, ContiguousCursor, Cursor, ElementRef, StridedCursor};
use super::flow::Flow;
use crate::tuning::{MAX_SHORT_LEN, MIN_SIMD_LEN};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::needs_drop;
use unishape_simd::{SimdTask, try_run_avx2};

/// Rows of elements: addresses of the first ones, and strides in elements.
pub(super) struct Rows<const N: usize> {
    pub(super) first: [*mut u8; N],
    pub(super) rows: usize,
    pub(super) row_strides: [isize; N],
    pub(super) len: usize,
    pub(super) strides: [isize; N],
    /// Set by a kernel whose closure has ended the loop.
    pub(super) is_stopped: Cell<bool>,
}

/// Calls a closure with the elements of each index of some rows.
///
/// Its contract: the first argument points to the closure that the kernel was made for; all elements of the
/// rows exist, as [`Access::element`] requires for each operand.
pub(super) type RowKernel<const N: usize> = unsafe fn(*const (), &Rows<N>);

/// A tuple of [`Access`]es, one for each operand, and a closure that takes an element of each.
pub(super) trait RowKernels<F, const N: usize> {
    /// Bytes of an element of each operand.
    const ITEMS: [usize; N];
    /// Whether each operand is written.
    const WRITES: [bool; N];
    /// Whether there is a SIMD kernel for every combination of contiguous operands and broadcast scalars;
    /// else only for contiguous operands.
    const HAS_BROADCAST_KERNELS: bool;

    /// The kernel for rows of `len` elements with these strides.
    fn select(len: usize, strides: &[isize; N]) -> RowKernel<N>;
}

/// A cursor for each operand.
trait Cursors<F, const N: usize>: Copy {
    /// Cursors at the first elements of row `row`.
    ///
    /// # Safety
    ///
    /// The row exists.
    unsafe fn new(rows: &Rows<N>, row: usize) -> Self;

    /// Calls the closure with element `i` of each operand, and returns whether it ends the loop.
    ///
    /// # Safety
    ///
    /// As for [`Cursor::at`] and [`Access::element`], for each operand.
    unsafe fn call(self, closure: &F, i: usize) -> bool;

    /// Whether the closure initialises operand 0 with elements that need to be dropped.
    const TRACKS_WRITES: bool;

    /// Drops element `i` of operand 0.
    ///
    /// # Safety
    ///
    /// It is initialised, and nothing accesses it any more.
    unsafe fn drop_output(self, i: usize);
}

/// Rows whose cursors are chosen.
struct RowLoop<'r, F, C, const N: usize> {
    closure: &'r F,
    rows: &'r Rows<N>,
    cursors: PhantomData<C>,
}

impl<F, C: Cursors<F, N>, const N: usize> RowLoop<'_, F, C, N> {
    /// Runs rows of `len` elements: `rows.len`, passed separately so that it can be a constant.
    ///
    /// # Safety
    ///
    /// As for [`RowKernel`].
    #[inline(always)]
    unsafe fn run_len(&self, len: usize) {
        // Local copies: the compiler knows that the closure's writes cannot change them.
        let Rows { first, rows, row_strides, strides, .. } = *self.rows;
        let own = Rows { first, rows, row_strides, len, strides, is_stopped: Cell::new(false) };
        let mut written = C::TRACKS_WRITES.then(|| PartlyWritten::<F, C, N> {
            rows: &own,
            row: 0,
            i: 0,
            cursors: PhantomData,
        });
        for row in 0..rows {
            // Safety: row and i are below the numbers of the rows.
            unsafe {
                let cursors = C::new(&own, row);
                for i in 0..len {
                    if let Some(written) = &mut written {
                        (written.row, written.i) = (row, i);
                    }
                    if cursors.call(self.closure, i) {
                        // What has been written is dropped.
                        return self.rows.is_stopped.set(true);
                    }
                }
            }
        }
        std::mem::forget(written);
    }
}

impl<F, C: Cursors<F, N>, const N: usize> SimdTask for RowLoop<'_, F, C, N> {
    #[inline(always)]
    fn run(self) {
        // Safety: the caller that made the task guarantees the rows.
        unsafe { self.run_len(self.rows.len) }
    }
}

/// Drops what a kernel has written to uninitialised memory, when its closure panics or stops.
struct PartlyWritten<'r, F, C: Cursors<F, N>, const N: usize> {
    rows: &'r Rows<N>,
    /// The index at which the closure is called.
    row: usize,
    i: usize,
    cursors: PhantomData<(F, C)>,
}

impl<F, C: Cursors<F, N>, const N: usize> Drop for PartlyWritten<'_, F, C, N> {
    fn drop(&mut self) {
        for row in 0..=self.row {
            for i in 0..if row < self.row { self.rows.len } else { self.i } {
                // Safety: the closure was called for these indices and has written an element at each.
                unsafe { C::new(self.rows, row).drop_output(i) };
            }
        }
    }
}

/// Rows with 256-bit SIMD.
///
/// # Safety
///
/// As for [`RowKernel`].
unsafe fn simd_rows<F, C: Cursors<F, N>, K: RowKernels<F, N>, const N: usize>(
    closure: *const (),
    rows: &Rows<N>,
) {
    // Safety: the caller guarantees the closure.
    let closure = unsafe { &*closure.cast::<F>() };
    if try_run_avx2(RowLoop::<F, C, N> { closure, rows, cursors: PhantomData }).is_err() {
        // A CPU without AVX2. Few are left, so there is no second set of kernels for them.
        // Safety: as for the caller; short rows take any strides.
        unsafe { K::select(0, &rows.strides)((&raw const *closure).cast(), rows) };
    }
}

/// Rows of any length. Those of 2 to 4 elements run without an inner loop.
///
/// # Safety
///
/// As for [`RowKernel`].
unsafe fn short_rows<F, C: Cursors<F, N>, const N: usize>(closure: *const (), rows: &Rows<N>) {
    // Safety: the caller guarantees closure and rows.
    unsafe {
        let rows = RowLoop::<F, C, N> { closure: &*closure.cast::<F>(), rows, cursors: PhantomData };
        match rows.rows.len {
            2 => rows.run_len(2),
            3 => rows.run_len(3),
            4 => rows.run_len(4),
            len => rows.run_len(len),
        }
    }
}

/// Rows of any length, with an inner loop.
///
/// # Safety
///
/// As for [`RowKernel`].
unsafe fn any_rows<F, C: Cursors<F, N>, const N: usize>(closure: *const (), rows: &Rows<N>) {
    // Safety: the caller guarantees closure and rows.
    unsafe {
        let closure = &*closure.cast::<F>();
        RowLoop::<F, C, N> { closure, rows, cursors: PhantomData }.run_len(rows.len);
    }
}

/// Implements [`RowKernels`] for a number of operands. `all`: SIMD and unrolled kernels for every
/// combination of contiguous operands and broadcast scalars. `simd`: only the SIMD ones of these. `contiguous`: a
/// SIMD kernel for contiguous operands only. All have a kernel for strided operands.
macro_rules! row_kernels {
    ($N:literal, $kernels:ident: $($K:ident $C:ident $n:tt)+) => {
        impl<$($C: Cursor,)+ F, O: Flow> Cursors<F, $N> for ($($C,)+)
        where
            F: for<'x> Fn($(<$C::Access as ElementRef<'x>>::Item),+) -> O,
        {
            #[inline(always)]
            unsafe fn new(rows: &Rows<$N>, row: usize) -> Self {
                // Safety: the caller guarantees the row.
                unsafe {
                    ($($C::new(
                        rows.first[$n]
                            .cast::<<$C::Access as Access>::Elem>()
                            .offset(row as isize * rows.row_strides[$n]),
                        rows.strides[$n],
                    ),)+)
                }
            }

            #[inline(always)]
            unsafe fn call(self, closure: &F, i: usize) -> bool {
                // Safety: the caller guarantees the elements.
                unsafe { closure($($C::Access::element(self.$n.at(i))),+) }.stops()
            }

            const TRACKS_WRITES: bool = C0::Access::INITIALISES && needs_drop::<<C0::Access as Access>::Elem>();

            unsafe fn drop_output(self, i: usize) {
                // Safety: the caller guarantees the element.
                unsafe { self.0.at(i).drop_in_place() }
            }
        }

        impl<$($K: Access,)+ F, O: Flow> RowKernels<F, $N> for ($($K,)+)
        where
            F: for<'x> Fn($(<$K as ElementRef<'x>>::Item),+) -> O,
        {
            const ITEMS: [usize; $N] = [$(size_of::<$K::Elem>()),+];
            const WRITES: [bool; $N] = [$($K::WRITES),+];
            const HAS_BROADCAST_KERNELS: bool = row_kernels!(@has $kernels);

            #[inline]
            fn select(len: usize, strides: &[isize; $N]) -> RowKernel<$N> {
                if const { O::CAN_STOP } {
                    // A loop with an early exit does not become SIMD code, so one kernel is enough.
                    return any_rows::<F, ($(StridedCursor<$K>,)+), $N>;
                }
                if len >= MIN_SIMD_LEN && $(strides[$n] == 1)&&+ {
                    return simd_rows::<F, ($(ContiguousCursor<$K>,)+), Self, $N>;
                }
                row_kernels!(@select $kernels, $N, len, strides, [$($K $n)+])
            }
        }
    };
    (@has contiguous) => { false };
    (@has $kernels:ident) => { true };
    (@select contiguous, $N:literal, $len:ident, $strides:ident, [$($K:ident $n:tt)+]) => {
        any_rows::<F, ($(StridedCursor<$K>,)+), $N>
    };
    (@select simd, $N:literal, $len:ident, $strides:ident, [$($K:ident $n:tt)+]) => {{
        let has_cursors = $(($strides[$n] == 1 || !$K::WRITES && $strides[$n] == 0))&&+;
        if has_cursors && $len >= MIN_SIMD_LEN {
            row_kernels!(@cursors () [$($K $n)+] $strides, simd_rows, $N);
        }
        any_rows::<F, ($(StridedCursor<$K>,)+), $N>
    }};
    (@select all, $N:literal, $len:ident, $strides:ident, [$($K:ident $n:tt)+]) => {{
        let has_cursors = $(($strides[$n] == 1 || !$K::WRITES && $strides[$n] == 0))&&+;
        if has_cursors && $len >= MIN_SIMD_LEN {
            row_kernels!(@cursors () [$($K $n)+] $strides, simd_rows, $N);
        }
        if has_cursors && (1..=MAX_SHORT_LEN).contains(&$len) {
            row_kernels!(@cursors () [$($K $n)+] $strides, short_rows, $N);
        }
        short_rows::<F, ($(StridedCursor<$K>,)+), $N>
    }};
    // A decision for each operand, then the kernel for the chosen cursors.
    (@cursors ($($chosen:ty,)+) [] $strides:ident, simd_rows, $N:literal) => {
        return simd_rows::<F, ($($chosen,)+), Self, $N>
    };
    (@cursors ($($chosen:ty,)+) [] $strides:ident, short_rows, $N:literal) => {
        return short_rows::<F, ($($chosen,)+), $N>
    };
    (@cursors ($($chosen:ty,)*) [$K:ident $n:tt $($rest:tt)*] $strides:ident, $rows:ident, $N:literal) => {
        if $K::WRITES || $strides[$n] == 1 {
            row_kernels!(@cursors ($($chosen,)* ContiguousCursor<$K>,) [$($rest)*] $strides, $rows, $N)
        } else {
            row_kernels!(@cursors ($($chosen,)* BroadcastCursor<$K>,) [$($rest)*] $strides, $rows, $N)
        }
    };
}
row_kernels!(1, all: A C0 0);
row_kernels!(2, all: A C0 0 B C1 1);
row_kernels!(3, all: A C0 0 B C1 1 C C2 2);
row_kernels!(4, simd: A C0 0 B C1 1 C C2 2 D C3 3);
row_kernels!(5, simd: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4);
row_kernels!(6, simd: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 G C5 5);
row_kernels!(7, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 G C5 5 H C6 6);
row_kernels!(8, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 G C5 5 H C6 6 I C7 7);
row_kernels!(9, contiguous: A C0 0 B C1 1 C C2 2 D C3 3 E C4 4 G C5 5 H C6 6 I C7 7 J C8 8);
