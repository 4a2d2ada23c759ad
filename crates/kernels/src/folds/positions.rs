//! Folds that find the index of the smallest or largest element, in one pass.
//!
//! An accumulator is an element and its index. Of equal elements the one with the lowest index counts, and NaN counts
//! as more extreme than any number, as in NumPy. So results do not depend on the order of folding.

use super::fold_op::FoldOp;
use super::loops::{fold_rows, run};
use super::operation::{Extremum, Max, Min};
use crate::{Constant, DType};
use bytemuck::Pod;
use num_complex::Complex;
use std::marker::PhantomData;
use unishape_simd::SimdTask;

/// Elements of a row whose extreme is found before its position is searched for, if it is a new one.
const PART: usize = 2048;

/// Elements that are searched at a time.
const SEARCHED: usize = 64;

/// Rows of fewer elements are folded in lanes that have the positions of their extremes, instead of searching for them.
const MIN_SEARCHED: usize = 256;

/// Lanes of short rows.
const LANES: usize = 16;

/// Columns whose accumulators stay in registers.
const COLUMNS: usize = 32;

/// Columns of the last, shorter tiles.
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

/// Accumulators: extreme elements and their indices, which are `int64`; equally many, as bytes.
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
    /// Folds rows of contiguous elements, as many as there are accumulators, into one accumulator each. Elements of each
    /// row have these indices.
    pub to_elements: fn(rows: &[u8], indices: IndexRange, extremes: Extremes<'_>),
    /// Folds rows element by element into a row of accumulators, of which there are as many as elements in a row. Rows
    /// have these indices.
    pub to_row: fn(rows: &[u8], indices: IndexRange, extremes: Extremes<'_>),
    /// Folds other accumulators, their elements and their indices, into as many.
    pub merge: fn(elements: &[u8], indices: &[u8], extremes: Extremes<'_>),
}

/// The kernel of [`FoldOp::ArgMin`] or [`FoldOp::ArgMax`] in a dtype, if there is one: in those that have minima.
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
    if len < MIN_SEARCHED {
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
    fn run(self) {
        let ShortRows { rows, len, indices, elements, positions, .. } = self;
        if len == 0 {
            return;
        }
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
    let [first, parts @ ..] = parts else {
        return first_of::<O, T>((row[0], 0), row.iter().copied().enumerate());
    };
    // The extremes of lanes, and the number of the part in which each is.
    let (mut lanes, mut numbers) = (*first, [0u32; LANES]);
    for (number, part) in (1..).zip(parts) {
        for i in 0..LANES {
            let is_more = O::is_more(part[i], lanes[i]);
            lanes[i] = if is_more { part[i] } else { lanes[i] };
            numbers[i] = if is_more { number } else { numbers[i] };
        }
    }
    let [extreme] = O::fold_tree(&lanes);
    let wants_nan = is_nan(extreme);
    let mut positions = [u32::MAX; LANES];
    for i in 0..LANES {
        let position = numbers[i] * LANES as u32 + i as u32;
        positions[i] = if is_found(lanes[i], extreme, wants_nan) { position } else { u32::MAX };
    }
    let position = positions.iter().fold(u32::MAX, |lowest, &position| lowest.min(position));
    let first = (row.len() - rest.len()..).zip(rest.iter().copied());
    first_of::<O, T>((extreme, position as usize), first)
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
    let wants_nan = is_nan(wanted);
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
