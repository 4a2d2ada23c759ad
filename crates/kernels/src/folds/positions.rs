//! Folds that find the index of the smallest or largest element, in one pass.
//!
//! An accumulator is an element and its index. Of equal elements the one with the lowest index counts, and NaN counts
//! as more extreme than any number, as in NumPy. So results do not depend on the order of folding.

use super::fold_op::FoldOp;
use super::loops::{fold_rows, run, separate};
use super::operation::{Extremum, Max, Min};
use crate::{Constant, DType};
use bytemuck::Pod;
use num_complex::Complex;
use std::marker::PhantomData;
use unishape_simd::SimdTask;

// Times are of argmin along rows in the L1 cache of an AMD EPYC (Zen 5), on one thread, the least of 60 runs.

/// Rows of fewer elements are folded several at a time, with a lane for each.
///
/// float32, nanoseconds for a row: 8 elements 2.7 (one by one 28), 16 elements 4.7 (in lanes of a row 20), 24 elements 7
/// (22), 32 elements 8.6 (16), 48 elements 13 (12); int32: 24 elements 13 (12), 32 elements 17 (11).
const MIN_LANES_ROW: usize = 32;

/// Lanes, in elements: one vector of 512 bits with 4-byte elements. Not measured apart.
const LANES: usize = 16;

/// Longer rows of small elements (of 1 or 2 bytes) and of others are not folded in lanes that have the positions of their
/// extremes: first the extreme is found, then its position.
///
/// Nanoseconds for a row in lanes and with a search: float32, 256 elements 17 and 76, 1000 elements 55 and 131, 3000
/// elements 159 and 285; int32, 3000 elements 126 and 203; uint8, 256 elements 16 and 41, 1000 elements 43 and 44, 3000
/// elements 118 and 79.
const MAX_LANES_ROW: [usize; 2] = [1 << 10, 1 << 13];

/// Elements of a row whose extreme is found before its position is searched for, if it is a new one: they are still in the
/// L1 cache (16 KiB of f64). Not measured apart.
const PART: usize = 2048;

/// Elements that are searched at a time, without a branch for each of them. Not measured apart.
const SEARCHED: usize = 64;

/// Columns whose accumulators stay in registers: two vectors of 512 bits with 4-byte elements, and their positions. Not
/// measured apart.
const COLUMNS: usize = 32;

/// Columns of the last, shorter tiles: one vector of 256 bits with 4-byte elements. Not measured apart.
const FEW_COLUMNS: usize = 8;

/// Indices of elements: `first`, `first + step`, and so on.
///
/// ```
/// use unishape_kernels::IndexRange;
///
/// let range = IndexRange { first: 10, step: 5 };
/// assert_eq!(range.index(2), 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRange {
    /// The first index.
    pub first: i64,
    /// Distance of one index from the next.
    pub step: i64,
}

impl IndexRange {
    /// The index at a position.
    ///
    /// ```
    /// # use unishape_kernels::IndexRange;
    /// assert_eq!(IndexRange { first: 3, step: -1 }.index(3), 0);
    /// ```
    #[inline(always)]
    pub fn index(self, position: usize) -> i64 {
        self.first.wrapping_add(self.step.wrapping_mul(position as i64))
    }
}

/// Accumulators: extreme elements and their indices.
///
/// Both are bytes; indices are `int64`, and there are as many as elements.
///
/// ```
/// use unishape_kernels::Extremes;
///
/// let (mut element, mut index) = (255u8.to_ne_bytes(), i64::MAX.to_ne_bytes());
/// let minimum = Extremes { elements: &mut element, indices: &mut index }; // of no uint8 yet
/// assert_eq!(minimum.indices, i64::MAX.to_ne_bytes());
/// ```
#[derive(Debug)]
pub struct Extremes<'a> {
    /// The elements.
    pub elements: &'a mut [u8],
    /// Their indices. That of an accumulator without an element is `i64::MAX`.
    pub indices: &'a mut [u8],
}

/// Functions that fold blocks of elements of one dtype into [`Extremes`].
///
/// ```
/// use unishape_kernels::{DType, Extremes, FoldOp, IndexRange, find_position_fold};
///
/// let kernel = find_position_fold(FoldOp::ArgMin, DType::F32).unwrap();
/// let rows: [f32; 6] = [3.0, 1.0, 1.0, 2.0, 5.0, 0.5];
/// let (mut elements, mut indices) = ([kernel.identity.get::<f32>().unwrap(); 2], [i64::MAX; 2]);
/// let extremes = Extremes {
///     elements: bytemuck::cast_slice_mut(&mut elements),
///     indices: bytemuck::cast_slice_mut(&mut indices),
/// };
/// (kernel.to_elements)(bytemuck::cast_slice(&rows), IndexRange { first: 0, step: 1 }, extremes);
/// assert_eq!((elements, indices), ([1.0, 0.5], [1, 2]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PositionFoldKernel {
    /// The element of an accumulator before its first one.
    pub identity: Constant,
    /// Folds each row of contiguous elements into one accumulator.
    ///
    /// There are as many rows as accumulators. Elements of each row have these indices.
    pub to_elements: fn(rows: &[u8], indices: IndexRange, extremes: Extremes<'_>),
    /// Folds rows element by element into a row of accumulators.
    ///
    /// There are as many accumulators as elements in a row. Rows have these indices.
    pub to_row: fn(rows: &[u8], indices: IndexRange, extremes: Extremes<'_>),
    /// Folds other accumulators, their elements and their indices, into as many.
    pub merge: fn(elements: &[u8], indices: &[u8], extremes: Extremes<'_>),
}

/// The kernel of [`FoldOp::ArgMin`] or [`FoldOp::ArgMax`] in a dtype.
///
/// There is one for the dtypes that have minima.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, find_position_fold};
///
/// assert!(find_position_fold(FoldOp::ArgMax, DType::Bool).is_some());
/// assert!(find_position_fold(FoldOp::ArgMax, DType::F16).is_none());
/// assert!(find_position_fold(FoldOp::Max, DType::Bool).is_none());
/// ```
pub fn find_position_fold(fold: FoldOp, dtype: DType) -> Option<PositionFoldKernel> {
    macro_rules! by_dtype {
        ($Operation:ident, $extreme:expr) => {{
            let identity = super::find_fold($extreme, dtype)?.identity;
            match dtype {
                DType::Bool | DType::U8 => kernel::<$Operation, u8>(identity),
                DType::U16 => kernel::<$Operation, u16>(identity),
                DType::U32 => kernel::<$Operation, u32>(identity),
                DType::U64 => kernel::<$Operation, u64>(identity),
                DType::I8 => kernel::<$Operation, i8>(identity),
                DType::I16 => kernel::<$Operation, i16>(identity),
                DType::I32 => kernel::<$Operation, i32>(identity),
                DType::I64 => kernel::<$Operation, i64>(identity),
                DType::F32 => kernel::<$Operation, f32>(identity),
                DType::F64 => kernel::<$Operation, f64>(identity),
                DType::C64 => kernel::<$Operation, Complex<f32>>(identity),
                DType::C128 => kernel::<$Operation, Complex<f64>>(identity),
                DType::F16 | DType::BF16 | DType::Str => return None,
            }
        }};
    }
    Some(match fold {
        FoldOp::ArgMin => by_dtype!(Min, FoldOp::Min),
        FoldOp::ArgMax => by_dtype!(Max, FoldOp::Max),
        _ => return None,
    })
}

fn kernel<O: Extremum<T>, T: Pod + PartialEq>(identity: Constant) -> PositionFoldKernel {
    PositionFoldKernel {
        identity,
        to_elements: to_elements::<O, T>,
        to_row: to_row::<O, T>,
        merge: merge::<O, T>,
    }
}

/// Elements and indices of accumulators.
fn parts<'a, T: Pod>(extremes: Extremes<'a>) -> (&'a mut [T], &'a mut [i64]) {
    (bytemuck::cast_slice_mut(extremes.elements), bytemuck::cast_slice_mut(extremes.indices))
}

/// Whether an element is NaN: only that differs from itself.
#[inline(always)]
fn is_nan<T: Copy + PartialEq>(element: T) -> bool {
    #[allow(clippy::eq_op)]
    let is_number = element == element;
    !is_number
}

/// Whether an element with an index replaces another one: it is more extreme, or equal with a lower index.
#[inline(always)]
fn replaces<O: Extremum<T>, T: Pod + PartialEq>((a, i): (T, i64), (b, j): (T, i64)) -> bool {
    let is_alike = a == b || is_nan(a) && is_nan(b);
    O::is_more(a, b) || is_alike && i < j
}

fn to_elements<O: Extremum<T>, T: Pod + PartialEq>(rows: &[u8], indices: IndexRange, extremes: Extremes<'_>) {
    let rows = bytemuck::cast_slice::<u8, T>(rows);
    let (elements, positions) = parts::<T>(extremes);
    let len = rows.len() / positions.len().max(1);
    if len <= MAX_LANES_ROW[usize::from(size_of::<T>() > 2)] {
        return run::<O, T>(ShortRows::<O, T> {
            rows,
            len,
            indices,
            elements,
            positions,
            operation: PhantomData,
        });
    }
    for ((row, element), index) in rows.chunks_exact(len).zip(elements).zip(positions) {
        for (number, part) in row.chunks(PART).enumerate() {
            let own = IndexRange { first: indices.index(number * PART), ..indices };
            fold_part::<O, T>(part, own, element, index);
        }
    }
}

/// Folds elements with these indices into an accumulator: finds the extreme, and its position only if it is a new one.
#[inline]
fn fold_part<O: Extremum<T>, T: Pod + PartialEq>(
    part: &[T],
    indices: IndexRange,
    element: &mut T,
    index: &mut i64,
) {
    let Some(&first) = part.first() else { return };
    let mut extreme = [[first]];
    fold_rows::<O, T, 1>(part, part.len(), &mut extreme);
    let [[extreme]] = extreme;
    // Where it is equal to the one so far, all indices of this part may be higher.
    let lowest = indices.first.min(indices.index(part.len() - 1));
    if !replaces::<O, T>((extreme, lowest), (*element, *index)) {
        return;
    }
    let position = if indices.step < 0 { rfind(part, extreme) } else { find(part, extreme) };
    let own = indices.index(position.unwrap_or(0));
    if replaces::<O, T>((extreme, own), (*element, *index)) {
        (*element, *index) = (extreme, own);
    }
}

/// Folds each of some short rows into one accumulator.
struct ShortRows<'a, O, T> {
    rows: &'a [T],
    /// Elements of a row.
    len: usize,
    indices: IndexRange,
    elements: &'a mut [T],
    positions: &'a mut [i64],
    operation: PhantomData<O>,
}

impl<O: Extremum<T>, T: Pod + PartialEq> SimdTask for ShortRows<'_, O, T> {
    #[inline(always)]
    fn run(mut self) {
        if self.len == 0 {
            return;
        }
        if self.len < MIN_LANES_ROW {
            self.fold_tiles();
        }
        let ShortRows { rows, len, indices, elements, positions, .. } = self;
        // Equal elements do not replace those before them.
        let last = len - 1;
        let is_reversed = indices.step < 0;
        for ((row, element), index) in rows.chunks_exact(len).zip(elements).zip(positions) {
            let (extreme, position) = if is_reversed {
                let reversed = row.iter().rev().copied().enumerate();
                let (extreme, position) = first_of::<O, T>((row[last], 0), reversed);
                (extreme, last - position)
            } else {
                first_of_row::<O, T>(row)
            };
            let own = indices.index(position);
            if replaces::<O, T>((extreme, own), (*element, *index)) {
                (*element, *index) = (extreme, own);
            }
        }
    }
}

impl<O: Extremum<T>, T: Pod + PartialEq> ShortRows<'_, O, T> {
    /// Folds tiles of [`LANES`] rows, with a lane for each row. Rows that do not fill a tile are left.
    #[inline(always)]
    fn fold_tiles(&mut self) {
        let (len, indices) = (self.len, self.indices);
        let (rows, rest) = self.rows.split_at(self.rows.len() / (len * LANES) * len * LANES);
        let (elements, positions) = (std::mem::take(&mut self.elements), std::mem::take(&mut self.positions));
        let (element_tiles, elements) = elements.as_chunks_mut::<LANES>();
        let (position_tiles, positions) = positions.as_chunks_mut::<LANES>();
        (self.rows, self.elements, self.positions) = (rest, elements, positions);
        let tiles = rows.chunks_exact(len * LANES).zip(element_tiles.iter_mut().zip(position_tiles));
        for (tile, (elements, positions)) in tiles {
            // From the lowest index on: equal elements do not replace those before them.
            let column = |step: usize| if indices.step < 0 { len - 1 - step } else { step };
            let (mut extremes, mut columns) = ([tile[0]; LANES], [column(0) as u32; LANES]);
            for lane in 0..LANES {
                extremes[lane] = tile[lane * len + column(0)];
            }
            for column in (1..len).map(column) {
                let mut own = [tile[0]; LANES];
                for lane in 0..LANES {
                    own[lane] = tile[lane * len + column];
                }
                for lane in 0..LANES {
                    let is_more = O::is_more(own[lane], extremes[lane]);
                    extremes[lane] = if is_more { own[lane] } else { extremes[lane] };
                    columns[lane] = if is_more { column as u32 } else { columns[lane] };
                }
            }
            for lane in 0..LANES {
                let own = indices.index(columns[lane] as usize);
                let is_new = replaces::<O, T>((extremes[lane], own), (elements[lane], positions[lane]));
                elements[lane] = if is_new { extremes[lane] } else { elements[lane] };
                positions[lane] = if is_new { own } else { positions[lane] };
            }
        }
    }
}

/// The first of the most extreme elements, and its position.
#[inline(always)]
fn first_of<O: Extremum<T>, T: Pod>(
    first: (T, usize),
    elements: impl Iterator<Item = (usize, T)>,
) -> (T, usize) {
    let mut best = first;
    for (position, element) in elements {
        if O::is_more(element, best.0) {
            best = (element, position);
        }
    }
    best
}

/// The first of the most extreme elements of a row that is not empty, and its position.
#[inline(always)]
fn first_of_row<O: Extremum<T>, T: Pod + PartialEq>(row: &[T]) -> (T, usize) {
    let (parts, rest) = row.as_chunks::<LANES>();
    let ([first, parts @ ..], Some(last)) = (parts, row.last_chunk::<LANES>()) else {
        return first_of::<O, T>((row[0], 0), row.iter().copied().enumerate());
    };
    // The extremes of lanes but for NaN, where the part begins in which each is, and which lanes have NaN.
    let (mut lanes, mut starts, mut has_nan) = (*first, [0u32; LANES], [0u32; LANES]);
    fold_lanes::<O, T>(0, first, &mut lanes, &mut starts, &mut has_nan);
    for (part, elements) in (1u32..).zip(parts) {
        fold_lanes::<O, T>(part * LANES as u32, elements, &mut lanes, &mut starts, &mut has_nan);
    }
    // The last elements, some of which were folded already: equal elements do not replace those before them.
    if !rest.is_empty() {
        fold_lanes::<O, T>((row.len() - LANES) as u32, last, &mut lanes, &mut starts, &mut has_nan);
    }
    if has_nan.iter().fold(0, |has, &own| has | own) != 0
        && let Some(position) = find_with(row, row[0], true)
    {
        return (row[position], position);
    }
    let (mut lanes, mut starts) = (lanes, starts);
    if !O::IS_PLAIN {
        separate(&mut lanes);
        separate(&mut starts);
    }
    let [extreme] = O::fold_tree(&lanes);
    let mut positions = [u32::MAX; LANES];
    for i in 0..LANES {
        positions[i] = if lanes[i] == extreme { starts[i] + i as u32 } else { u32::MAX };
    }
    let position = positions.iter().fold(u32::MAX, |lowest, &position| lowest.min(position));
    (extreme, position as usize)
}

/// Folds a part of a row, which begins at `start`, into lanes.
#[inline(always)]
fn fold_lanes<O: Extremum<T>, T: Pod + PartialEq>(
    start: u32,
    part: &[T; LANES],
    lanes: &mut [T; LANES],
    starts: &mut [u32; LANES],
    has_nan: &mut [u32; LANES],
) {
    for i in 0..LANES {
        let is_beyond = O::is_beyond(part[i], lanes[i]);
        lanes[i] = if is_beyond { part[i] } else { lanes[i] };
        starts[i] = if is_beyond { start } else { starts[i] };
        has_nan[i] |= u32::from(is_nan(part[i]));
    }
}

/// Whether an element is the one that is searched for: equal, or NaN if that is.
#[inline(always)]
fn is_found<T: Copy + PartialEq>(element: T, wanted: T, wants_nan: bool) -> bool {
    if wants_nan { is_nan(element) } else { element == wanted }
}

/// Whether some elements have the one that is searched for. The compiler vectorises it.
#[inline(always)]
fn has<T: Copy + PartialEq>(elements: &[T], wanted: T, wants_nan: bool) -> bool {
    elements.iter().fold(false, |has, &element| has | is_found(element, wanted, wants_nan))
}

/// Position of the first element that is equal, or NaN if `wanted` is.
fn find<T: Copy + PartialEq>(elements: &[T], wanted: T) -> Option<usize> {
    find_with(elements, wanted, is_nan(wanted))
}

/// Position of the first element that is equal, or NaN if that is searched for.
fn find_with<T: Copy + PartialEq>(elements: &[T], wanted: T, wants_nan: bool) -> Option<usize> {
    let part = elements.chunks(SEARCHED).position(|part| has(part, wanted, wants_nan))?;
    let first = part * SEARCHED;
    let within = elements[first..].iter().position(|&element| is_found(element, wanted, wants_nan));
    within.map(|within| first + within)
}

/// Position of the last element that is equal, or NaN if `wanted` is.
fn rfind<T: Copy + PartialEq>(elements: &[T], wanted: T) -> Option<usize> {
    let wants_nan = is_nan(wanted);
    elements.iter().rposition(|&element| is_found(element, wanted, wants_nan))
}

fn to_row<O: Extremum<T>, T: Pod + PartialEq>(rows: &[u8], indices: IndexRange, extremes: Extremes<'_>) {
    let rows = bytemuck::cast_slice::<u8, T>(rows);
    let (elements, positions) = parts::<T>(extremes);
    if !elements.is_empty() {
        run::<O, T>(ToRow::<O, T> { rows, indices, elements, positions, operation: PhantomData });
    }
}

fn merge<O: Extremum<T>, T: Pod + PartialEq>(elements: &[u8], indices: &[u8], extremes: Extremes<'_>) {
    let (others, other_indices) = (bytemuck::cast_slice::<u8, T>(elements), bytemuck::cast_slice(indices));
    let (elements, positions) = parts::<T>(extremes);
    for ((element, index), (&other, &own)) in
        elements.iter_mut().zip(positions).zip(others.iter().zip(other_indices))
    {
        if replaces::<O, T>((other, own), (*element, *index)) {
            (*element, *index) = (other, own);
        }
    }
}

/// Folds rows into a row of accumulators.
struct ToRow<'a, O, T> {
    rows: &'a [T],
    indices: IndexRange,
    elements: &'a mut [T],
    positions: &'a mut [i64],
    operation: PhantomData<O>,
}

impl<O: Extremum<T>, T: Pod + PartialEq> SimdTask for ToRow<'_, O, T> {
    #[inline(always)]
    fn run(self) {
        let ToRow { rows, indices, elements, positions, .. } = self;
        let len = elements.len();
        let mut first = 0;
        while len - first >= COLUMNS {
            fold_columns::<O, T, COLUMNS>(rows, indices, elements, positions, &mut first);
        }
        while len - first >= FEW_COLUMNS {
            fold_columns::<O, T, FEW_COLUMNS>(rows, indices, elements, positions, &mut first);
        }
        while first < len {
            fold_columns::<O, T, 1>(rows, indices, elements, positions, &mut first);
        }
    }
}

/// Folds `W` elements of each row, from `first` on, and advances `first`.
#[inline(always)]
fn fold_columns<O: Extremum<T>, T: Pod + PartialEq, const W: usize>(
    rows: &[T],
    indices: IndexRange,
    elements: &mut [T],
    positions: &mut [i64],
    first: &mut usize,
) {
    let len = elements.len();
    let tile = (elements[*first..].first_chunk_mut(), positions[*first..].first_chunk_mut());
    if let (Some(elements), Some(positions)) = tile {
        fold_tile::<O, T, W>(&rows[*first..], len, indices, elements, positions);
    }
    *first += W;
}

/// Folds the first `W` elements of rows that are `stride` elements apart.
#[inline(always)]
fn fold_tile<O: Extremum<T>, T: Pod + PartialEq, const W: usize>(
    rows: &[T],
    stride: usize,
    indices: IndexRange,
    elements: &mut [T; W],
    positions: &mut [i64; W],
) {
    // Equal elements do not replace those before them, so they are folded in the order of their indices.
    let has_lower = positions.iter().fold(false, |has, &position| has | (position > indices.first));
    if indices.step < 0 || has_lower {
        for (number, row) in rows.chunks(stride).enumerate() {
            let own = indices.index(number);
            for ((element, index), &other) in elements.iter_mut().zip(&mut *positions).zip(&row[..W]) {
                if replaces::<O, T>((other, own), (*element, *index)) {
                    (*element, *index) = (other, own);
                }
            }
        }
        return;
    }
    const NONE: u32 = u32::MAX;
    let (mut extremes, mut numbers) = (*elements, [NONE; W]);
    for (number, row) in (0..).zip(rows.chunks(stride)) {
        if let Some(row) = row.first_chunk::<W>() {
            for i in 0..W {
                let is_more = O::is_more(row[i], extremes[i]);
                extremes[i] = if is_more { row[i] } else { extremes[i] };
                numbers[i] = if is_more { number } else { numbers[i] };
            }
        }
    }
    if numbers.iter().fold(false, |has, &number| has | (number != NONE)) {
        *elements = extremes;
        for (position, number) in positions.iter_mut().zip(numbers) {
            if number != NONE {
                *position = indices.index(number as usize);
            }
        }
    }
}
