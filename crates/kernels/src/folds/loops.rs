//! The loops over rows that all folds share.

use super::fold_kernel::FoldKernel;
use super::operation::Operation;
use crate::Constant;
use bytemuck::Pod;
use std::marker::PhantomData;
use unishape_simd::{SimdTask, run_widest};

// Constants of loops. They decide the order of operations, and so the bits of sums: changing one changes results.
// "EPYC" is an AMD EPYC (Zen 4); times are of folds of 1.6 MB in its caches, on one thread, the least of two processes.

/// Number of lanes of long rows. A loop over more of them would not be unrolled, and lanes not be registers.
///
/// EPYC, sums of f32: 64 lanes took 1.37 of the time with rows of 300 elements, 1.15 with 512 and 1000, 1.02 with 8000.
pub(super) const LANES: usize = 32;

/// Number of lanes of rows that are too short for more.
///
/// EPYC, sums of f32: rows of 64 elements took 0.22 ns an element with 32 lanes, and 0.13 ns with 16.
pub(super) const SHORT_LANES: usize = 16;

/// Rows of fewer parts are folded in [`SHORT_LANES`]: fewer lanes are left to fold at the end.
///
/// EPYC, sums of f32: with 64, rows of 64 elements took 1.6 of the time, and rows of 128 1.13; with 1024, rows of 300
/// to 1000 elements 1.35 to 1.45.
pub(super) const MIN_LONG: usize = 256;

/// Number of elements of a lane that are folded on their own, and of such results that are folded again.
///
/// EPYC, sums of f32 in rows of 2000 and 8000 elements: 4 took 1.9 to 2.1 of the time, 64 0.97 to 1.01, with a larger
/// error bound.
pub(super) const LANE_ELEMENTS: usize = 16;

/// The length from which on the compiler's own loops over rows are fast.
///
/// EPYC, sums of i64 in rows of 40 to 4000 elements: 32 took as long, 4096 up to 3.6 times. Any value from 32 to 256
/// does.
const PLAIN_MIN: usize = 256;

/// The length up to which rows are folded without halving them. Follows from the constants above.
pub(super) const MAX_ROW: usize = LANES * LANE_ELEMENTS * LANE_ELEMENTS;

/// Number of rows that are folded into accumulators at a time, while these are in registers.
///
/// EPYC, sums of f32 columns: 4 took 0.96 to 1.04 of the time, 64 0.99 to 1.06. Any value from 4 to 64 does.
const ROWS: usize = 16;

/// Rows with fewer elements are folded several at a time, where order does not matter.
///
/// EPYC, sums of i64 columns: rows of 2 to 8 elements took 1.12 to 1.15 of the time one by one, rows of 16 1.07. With
/// 128, rows of 64 took 1.3.
const SHORT_ROW: usize = 32;

/// Size of a SIMD register, in bytes: of AVX-512, the widest. Not a tuning figure.
const VECTOR: usize = 64;

/// The kernel of an operation that treats the `P` parts of each element separately.
pub(super) fn kernel<O: Operation<T>, T: Pod, const P: usize>(identity: [T; P]) -> FoldKernel
where
    [T; P]: Pod,
{
    FoldKernel {
        identity: Constant::new(identity),
        to_elements: to_elements::<O, T, P>,
        to_row: to_row::<O, T>,
        has_flags: O::IS_ORDERED,
    }
}

fn to_elements<O: Operation<T>, T: Pod, const P: usize>(rows: &[u8], len: usize, acc: &mut [u8]) {
    let (rows, acc) = (bytemuck::cast_slice::<u8, T>(rows), bytemuck::cast_slice_mut::<u8, T>(acc));
    let (len, acc) = (len * P, acc.as_chunks_mut().0);
    if len <= MAX_ROW || O::IS_PLAIN {
        return fold_rows::<O, T, P>(rows, len, acc);
    }
    for (row, acc) in rows.chunks_exact(len).zip(acc) {
        combine::<O, T, P>(acc, fold_halves::<O, T, P>(row));
    }
}

/// Folds a row of any length by halving it. Only its length decides where.
fn fold_halves<O: Operation<T>, T: Pod, const P: usize>(row: &[T]) -> [T; P] {
    if row.len() > MAX_ROW {
        let (first, second) = row.split_at((row.len() / 2).next_multiple_of(MAX_ROW));
        let mut result = fold_halves::<O, T, P>(first);
        combine::<O, T, P>(&mut result, fold_halves::<O, T, P>(second));
        return result;
    }
    // The first element is the accumulator of the others.
    let (&first, rest) = row.split_first_chunk().expect("rows are not empty");
    let mut acc = [first];
    if !rest.is_empty() {
        fold_rows::<O, T, P>(rest, rest.len(), &mut acc);
    }
    acc[0]
}

/// Folds rows of `len` parts, of at most [`MAX_ROW`] where order matters.
#[inline(never)]
pub(super) fn fold_rows<O: Operation<T>, T: Pod, const P: usize>(rows: &[T], len: usize, acc: &mut [[T; P]]) {
    run::<O, T>(ToElements::<O, T, P> { rows, len, acc, operation: PhantomData });
}

fn to_row<O: Operation<T>, T: Pod>(rows: &[u8], acc: &mut [u8]) {
    let (rows, acc) = (bytemuck::cast_slice(rows), bytemuck::cast_slice_mut(acc));
    run::<O, T>(ToRow::<O, T> { rows, acc, operation: PhantomData });
}

#[inline(always)]
pub(super) fn run<O: Operation<T>, T: Pod>(task: impl SimdTask) {
    if O::HAS_WIDE_LOOPS { run_widest(task) } else { task.run() }
}

/// Folds an element into an accumulator.
#[inline(always)]
fn combine<O: Operation<T>, T: Pod, const P: usize>(acc: &mut [T; P], element: [T; P]) {
    for (acc, part) in acc.iter_mut().zip(element) {
        *acc = O::combine(*acc, part);
    }
}

/// Folds each row into one accumulator.
pub(super) struct ToElements<'a, O, T, const P: usize> {
    pub(super) rows: &'a [T],
    /// Number of parts of elements in a row.
    pub(super) len: usize,
    pub(super) acc: &'a mut [[T; P]],
    pub(super) operation: PhantomData<O>,
}

impl<O: Operation<T>, T: Pod, const P: usize> SimdTask for ToElements<'_, O, T, P> {
    #[inline(always)]
    fn run(self) {
        match self.len / P {
            0 => {}
            1 => self.fold_short_rows::<1>(),
            2 => self.fold_short_rows::<2>(),
            3 => self.fold_short_rows::<3>(),
            4 => self.fold_short_rows::<4>(),
            8 => self.fold_short_rows::<8>(),
            _ => {
                for (row, acc) in self.rows.chunks_exact(self.len).zip(self.acc) {
                    let is_plain = O::IS_PLAIN && self.len >= PLAIN_MIN;
                    let result = if is_plain || self.len < SHORT_LANES {
                        fold_sequentially::<O, T, P>(row)
                    } else if O::IS_PLAIN || self.len < MIN_LONG {
                        fold_short::<O, T, P>(row)
                    } else {
                        fold_long::<O, T, P>(row)
                    };
                    combine::<O, T, P>(acc, result);
                }
            }
        }
    }
}

impl<O: Operation<T>, T: Pod, const P: usize> ToElements<'_, O, T, P> {
    /// Folds rows of `N` elements; the compiler vectorises the loop over rows.
    #[inline(always)]
    fn fold_short_rows<const N: usize>(self) {
        let rows = self.rows.as_chunks::<P>().0.as_chunks::<N>().0;
        for (row, acc) in rows.iter().zip(self.acc) {
            let mut result = row[0];
            for &element in &row[1..] {
                combine::<O, T, P>(&mut result, element);
            }
            combine::<O, T, P>(acc, result);
        }
    }
}

/// Folds a row that is not empty, element by element.
#[inline(always)]
fn fold_sequentially<O: Operation<T>, T: Pod, const P: usize>(row: &[T]) -> [T; P] {
    let elements = row.as_chunks::<P>().0;
    let mut result = elements[0];
    for &element in &elements[1..] {
        combine::<O, T, P>(&mut result, element);
    }
    result
}

/// Folds a row of at least [`SHORT_LANES`] parts in as many lanes.
#[inline(always)]
fn fold_short<O: Operation<T>, T: Pod, const P: usize>(row: &[T]) -> [T; P] {
    let (whole, rest) = row.split_at(row.len() / SHORT_LANES * SHORT_LANES);
    let mut lanes = [row[0]; SHORT_LANES];
    fold_lanes::<O, T, SHORT_LANES>(whole, &mut lanes);
    let mut result = O::fold_tree(&lanes);
    if !rest.is_empty() {
        combine::<O, T, P>(&mut result, fold_sequentially::<O, T, P>(rest));
    }
    result
}

/// Lanes in memory, aligned so that no SIMD register is split over cache lines: loads would wait for such stores.
#[repr(align(64))]
pub(super) struct AlignedLanes<T>(pub(super) [T; LANES]);

/// Folds a row of at least [`LANES`] parts in as many lanes.
#[inline(always)]
fn fold_long<O: Operation<T>, T: Pod, const P: usize>(row: &[T]) -> [T; P] {
    let (whole, rest) = row.split_at(row.len() / LANES * LANES);
    let (first, blocks) = whole.split_at(whole.len().min(LANES * LANE_ELEMENTS));
    // Both are written in place: the compiler copies arrays of this size with `memcpy`.
    let (AlignedLanes(lanes), AlignedLanes(block_lanes)) =
        (&mut AlignedLanes([row[0]; LANES]), &mut AlignedLanes([row[0]; LANES]));
    fold_lanes::<O, T, LANES>(first, lanes);
    separate(lanes);
    for block in blocks.chunks(LANES * LANE_ELEMENTS) {
        fold_lanes::<O, T, LANES>(block, block_lanes);
        separate(block_lanes);
        for (lane, &element) in lanes.iter_mut().zip(&*block_lanes) {
            *lane = O::combine(*lane, element);
        }
        separate(lanes);
    }
    let mut result = O::fold_tree(lanes);
    match rest.len() {
        0 => {}
        1..SHORT_LANES => combine::<O, T, P>(&mut result, fold_sequentially::<O, T, P>(rest)),
        _ => combine::<O, T, P>(&mut result, fold_short::<O, T, P>(rest)),
    }
    result
}

/// Folds a block of a multiple of `W` elements to `W` lanes.
#[inline(always)]
fn fold_lanes<O: Operation<T>, T: Pod, const W: usize>(block: &[T], lanes: &mut [T; W]) {
    if let Some((first, rest)) = block.split_first_chunk() {
        *lanes = *first;
        O::fold_columns(lanes, rest, W);
    }
}

/// Separates loops over lanes for the compiler.
///
/// It would vectorise the loop over a block by the needs of [`Operation::fold_tree`], in pairs of lanes. So lanes go
/// through memory in between.
#[inline(always)]
pub(super) fn separate<T>(lanes: &mut T) {
    std::hint::black_box(lanes);
}

/// Folds rows into a row of accumulators.
pub(super) struct ToRow<'a, O, T> {
    pub(super) rows: &'a [T],
    pub(super) acc: &'a mut [T],
    pub(super) operation: PhantomData<O>,
}

/// Accumulators of several short rows.
#[repr(align(64))]
struct WideRow([u8; SHORT_ROW * VECTOR]);

impl<O: Operation<T>, T: Pod> SimdTask for ToRow<'_, O, T> {
    #[inline(always)]
    fn run(self) {
        let ToRow { rows, acc, .. } = self;
        let len = acc.len();
        // A multiple of a SIMD register.
        let wide_len = len * (VECTOR / size_of::<T>());
        if len == 0 {
            return;
        }
        let is_wide = !O::IS_ORDERED && len < SHORT_ROW && rows.len() >= 2 * wide_len;
        let mut wide = WideRow([0; SHORT_ROW * VECTOR]);
        let wide = &mut bytemuck::cast_slice_mut::<u8, T>(&mut wide.0)[..if is_wide { wide_len } else { 0 }];
        let (first, rows) = rows.split_at(wide.len());
        wide.copy_from_slice(first);
        let (wide_rows, rows) = rows.split_at(if is_wide { rows.len() / wide_len * wide_len } else { 0 });
        // A loop that the compiler cannot unroll: it compiles the code of all steps once.
        for step in if is_wide { 0 } else { 2 }..std::hint::black_box(3) {
            let (rows, acc): (&[T], &mut [T]) = match step {
                0 => (wide_rows, &mut *wide),
                1 => (&*wide, &mut *acc),
                _ => (rows, &mut *acc),
            };
            fold_to_row::<O, T>(rows, acc);
        }
    }
}

/// Folds some rows at a time, in tiles of columns whose accumulators fit into registers.
#[inline(always)]
fn fold_to_row<O: Operation<T>, T: Pod>(rows: &[T], acc: &mut [T]) {
    let len = acc.len();
    for rows in rows.chunks(ROWS * len) {
        let mut first = 0;
        while len - first >= 32 {
            fold_tile::<O, T, 32>(rows, acc, &mut first);
        }
        // The binary digits of the number of columns that are left.
        if len & 16 != 0 {
            fold_tile::<O, T, 16>(rows, acc, &mut first);
        }
        if len & 8 != 0 {
            fold_tile::<O, T, 8>(rows, acc, &mut first);
        }
        if len & 4 != 0 {
            fold_tile::<O, T, 4>(rows, acc, &mut first);
        }
        if len & 2 != 0 {
            fold_tile::<O, T, 2>(rows, acc, &mut first);
        }
        if len & 1 != 0 {
            fold_tile::<O, T, 1>(rows, acc, &mut first);
        }
    }
}

/// Folds `W` elements of each row, from `first` on, and advances `first`.
#[inline(always)]
fn fold_tile<O: Operation<T>, T: Pod, const W: usize>(rows: &[T], acc: &mut [T], first: &mut usize) {
    let len = acc.len();
    if let Some(acc) = acc[*first..].first_chunk_mut::<W>() {
        O::fold_columns(acc, &rows[*first..], len);
    }
    *first += W;
}
