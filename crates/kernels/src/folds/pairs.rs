//! Folds of a simple function of two operands, such as the sum of products, in one loop.
//!
//! A kernel and a fold write the function's values to a block and read them again. These loops keep values in
//! registers, which takes less than half of the time where the operands are in a cache.
//!
//! Elements are folded in the order of [`FoldKernel`](super::FoldKernel), but for rows of more than 8192, so which of
//! both is used does not change results.

use super::fold_op::FoldOp;
use super::loops::{AlignedLanes, LANE_ELEMENTS, LANES, MAX_ROW, MIN_LONG, SHORT_LANES, separate};
use super::operation::{Add, Max, MaxOfPositive, Operation};
use crate::DType;
use bytemuck::Pod;
use std::marker::PhantomData;
use unishape_simd::{SimdTask, run_widest};

/// A symmetric function of two elements.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, PairFunction, find_pair_fold};
///
/// assert!(find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).is_some());
/// assert!(find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::I64).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairFunction {
    /// `a * b`.
    Product,
    /// `(a - b) * (a - b)`.
    SquaredDifference,
    /// `|a - b|`.
    AbsoluteDifference,
}

/// Elements of an operand of a [`PairFunction`].
///
/// Contiguous, or a broadcast scalar for a row.
///
/// ```
/// use unishape_kernels::PairOperand;
///
/// // A row of three elements that is repeated, and a column of two.
/// let (row, column): ([f32; 3], [f32; 2]) = ([1.0, 2.0, 3.0], [10.0, 20.0]);
/// let row = PairOperand { bytes: bytemuck::cast_slice(&row), stride: 0, is_scalar: false };
/// let column = PairOperand { bytes: bytemuck::cast_slice(&column), stride: 1, is_scalar: true };
/// assert_eq!((row.bytes.len(), column.bytes.len()), (12, 8));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PairOperand<'r> {
    /// Bytes from the first row's beginning to the last one's end.
    pub bytes: &'r [u8],
    /// Distance between the beginnings of rows, in elements. 0 where all rows are one.
    pub stride: usize,
    /// Whether a row is one element.
    pub is_scalar: bool,
}

/// Functions that fold values of a [`PairFunction`] into accumulators.
///
/// At least one of the operands has rows of several elements.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, PairFunction, PairOperand, find_pair_fold};
///
/// let kernel = find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap();
/// let (a, b): ([f32; 6], [f32; 3]) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 10.0, 100.0]);
/// let rows = PairOperand { bytes: bytemuck::cast_slice(&a), stride: 3, is_scalar: false };
/// let row = PairOperand { bytes: bytemuck::cast_slice(&b), stride: 0, is_scalar: false };
/// let mut sums = [0f32; 2];
/// (kernel.to_elements)([rows, row], 3, bytemuck::cast_slice_mut(&mut sums));
/// assert_eq!(sums, [321.0, 654.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PairFoldKernel {
    /// Folds the values of each row of `len` elements into one accumulator.
    ///
    /// There is a row for each.
    pub to_elements: fn(operands: [PairOperand<'_>; 2], len: usize, acc: &mut [u8]),
    /// Folds the values of this many rows, row after row, into a row of accumulators.
    pub to_row: fn(operands: [PairOperand<'_>; 2], rows: usize, acc: &mut [u8]),
    /// The same for rows of one operand and a scalar of the other for each.
    ///
    /// This may be done several times, with other scalars and accumulators. Some accumulators of two times stay in
    /// registers for all rows. For rows that are in a cache.
    pub scaled_rows: fn(rows: &[&[u8]], folds: &mut [ScaledFold<'_>]),
}

/// Scalars for rows, and the accumulators that the rows are folded into.
///
/// There is a scalar for each row, and one row of accumulators.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, PairFunction, ScaledFold, find_pair_fold};
///
/// let kernel = find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F64).unwrap();
/// let (a, b, scalars, mut sums) = ([1.0, 2.0], [3.0, 4.0], [10.0, 100.0], [0.0; 2]);
/// let rows: [&[u8]; 2] = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
/// let acc = bytemuck::cast_slice_mut(&mut sums);
/// (kernel.scaled_rows)(&rows, &mut [ScaledFold { scalars: bytemuck::cast_slice(&scalars), acc }]);
/// assert_eq!(sums, [310.0, 420.0]);
/// ```
#[derive(Debug)]
pub struct ScaledFold<'f> {
    /// Bytes of the scalars.
    pub scalars: &'f [u8],
    /// Bytes of the accumulators.
    pub acc: &'f mut [u8],
}

/// The kernel of a fold of a function's values in a dtype, if there is one.
///
/// Float32 and float64 have sums of all functions and the maximum of absolute differences.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, PairFunction, find_pair_fold};
///
/// assert!(find_pair_fold(FoldOp::Max, PairFunction::AbsoluteDifference, DType::F64).is_some());
/// assert!(find_pair_fold(FoldOp::Min, PairFunction::Product, DType::F64).is_none());
/// ```
pub fn find_pair_fold(fold: FoldOp, function: PairFunction, dtype: DType) -> Option<PairFoldKernel> {
    macro_rules! by_dtype {
        ($Operation:ident, $OfRow:ident, $SymmetricFunction:ident) => {
            match dtype {
                DType::F32 => Some(kernel::<$Operation, $OfRow, $SymmetricFunction, f32>()),
                DType::F64 => Some(kernel::<$Operation, $OfRow, $SymmetricFunction, f64>()),
                _ => None,
            }
        };
    }
    match (fold, function) {
        (FoldOp::Sum, PairFunction::Product) => by_dtype!(Add, Add, Product),
        (FoldOp::Sum, PairFunction::SquaredDifference) => by_dtype!(Add, Add, SquaredDifference),
        (FoldOp::Sum, PairFunction::AbsoluteDifference) => by_dtype!(Add, Add, AbsoluteDifference),
        (FoldOp::Max, PairFunction::AbsoluteDifference) => by_dtype!(Max, MaxOfPositive, AbsoluteDifference),
        _ => None,
    }
}

/// A function of two elements, which may be swapped.
trait SymmetricFunction<T>: 'static {
    fn apply(a: T, b: T) -> T;
}

struct Product;
struct SquaredDifference;
struct AbsoluteDifference;

macro_rules! floats {
    ($($T:ident)+) => {
        $(
            impl SymmetricFunction<$T> for Product {
                #[inline(always)]
                fn apply(a: $T, b: $T) -> $T {
                    a * b
                }
            }

            impl SymmetricFunction<$T> for SquaredDifference {
                #[inline(always)]
                fn apply(a: $T, b: $T) -> $T {
                    (a - b) * (a - b)
                }
            }

            impl SymmetricFunction<$T> for AbsoluteDifference {
                #[inline(always)]
                fn apply(a: $T, b: $T) -> $T {
                    (a - b).abs()
                }
            }
        )+
    };
}
floats!(f32 f64);

/// The kernel of an operation, with the operation that folds the values of a row.
fn kernel<O: Operation<T>, R: Operation<T>, F: SymmetricFunction<T>, T: Pod>() -> PairFoldKernel {
    PairFoldKernel {
        to_elements: to_elements::<O, R, F, T>,
        to_row: to_row::<O, F, T>,
        scaled_rows: scaled_rows::<O, F, T>,
    }
}

/// The operand with rows of several elements first, as the function is symmetric.
fn ordered(operands: [PairOperand<'_>; 2]) -> [PairOperand<'_>; 2] {
    let [a, b] = operands;
    if a.is_scalar { [b, a] } else { [a, b] }
}

fn to_elements<O: Operation<T>, R: Operation<T>, F: SymmetricFunction<T>, T: Pod>(
    operands: [PairOperand<'_>; 2],
    len: usize,
    acc: &mut [u8],
) {
    let operands = ordered(operands);
    let acc = bytemuck::cast_slice_mut(acc);
    let types = PhantomData::<(O, R, F)>;
    match operands[1].is_scalar {
        true => run_widest(ToElements::<'_, O, R, F, T, true> { operands, len, acc, types }),
        false => run_widest(ToElements::<'_, O, R, F, T, false> { operands, len, acc, types }),
    }
}

fn to_row<O: Operation<T>, F: SymmetricFunction<T>, T: Pod>(
    operands: [PairOperand<'_>; 2],
    rows: usize,
    acc: &mut [u8],
) {
    let operands = ordered(operands);
    let acc = bytemuck::cast_slice_mut(acc);
    let types = PhantomData::<(O, F)>;
    match operands[1].is_scalar {
        true => run_widest(ToRow::<'_, O, F, T, true> { operands, rows, acc, types }),
        false => run_widest(ToRow::<'_, O, F, T, false> { operands, rows, acc, types }),
    }
}

fn scaled_rows<O: Operation<T>, F: SymmetricFunction<T>, T: Pod>(
    rows: &[&[u8]],
    folds: &mut [ScaledFold<'_>],
) {
    let rows: Vec<&[T]> = rows.iter().map(|row| bytemuck::cast_slice(row)).collect();
    fn typed<'f, T: Pod>(fold: &'f mut ScaledFold<'_>) -> (&'f [T], &'f mut [T]) {
        (bytemuck::cast_slice(fold.scalars), bytemuck::cast_slice_mut(fold.acc))
    }
    for pair in folds.chunks_mut(2) {
        match pair {
            [a, b] => {
                let folds = [typed(a), typed(b)];
                run_widest(ScaledRowsTwice::<'_, O, F, T> { rows: &rows, folds, types: PhantomData });
            }
            _ => pair.iter_mut().for_each(|fold| {
                let (scalars, acc) = typed(fold);
                run_widest(ScaledRows::<'_, O, F, T> { rows: &rows, scalars, acc, types: PhantomData });
            }),
        }
    }
}

impl<'r> PairOperand<'r> {
    /// The elements of a row.
    #[inline(always)]
    fn row<T: Pod>(self, row: usize, len: usize) -> &'r [T] {
        let elements: &[T] = bytemuck::cast_slice(self.bytes);
        &elements[row * self.stride..][..if self.is_scalar { 1 } else { len }]
    }
}

/// Folds each row into one accumulator. With `S`, the second operand has one element for each row.
struct ToElements<'a, O, R, F, T, const S: bool> {
    operands: [PairOperand<'a>; 2],
    len: usize,
    acc: &'a mut [T],
    types: PhantomData<(O, R, F)>,
}

impl<O: Operation<T>, R: Operation<T>, F: SymmetricFunction<T>, T: Pod, const S: bool> SimdTask
    for ToElements<'_, O, R, F, T, S>
{
    #[inline(always)]
    fn run(self) {
        let [a, b] = self.operands;
        for (row, acc) in self.acc.iter_mut().enumerate() {
            let pairs = Pairs::<'_, F, T, S> {
                a: a.row(row, self.len),
                b: b.row(row, self.len),
                function: PhantomData,
            };
            *acc = O::combine(*acc, pairs.fold::<R>());
        }
    }
}

/// A row of each operand. With `S`, the second one has one element.
struct Pairs<'a, F, T, const S: bool> {
    a: &'a [T],
    b: &'a [T],
    function: PhantomData<F>,
}

impl<F: SymmetricFunction<T>, T: Pod, const S: bool> Pairs<'_, F, T, S> {
    /// Elements of a range.
    #[inline(always)]
    fn part(&self, start: usize, end: usize) -> Self {
        let b = if S { self.b } else { &self.b[start..end] };
        Pairs { a: &self.a[start..end], b, function: PhantomData }
    }

    #[inline(always)]
    fn value(&self, at: usize) -> T {
        F::apply(self.a[at], self.b[if S { 0 } else { at }])
    }

    /// Folds the values.
    #[inline(always)]
    fn fold<O: Operation<T>>(&self) -> T {
        if self.a.len() > MAX_ROW { self.fold_in_halves::<O>() } else { self.fold_unhalved::<O>() }
    }

    #[inline(always)]
    fn fold_unhalved<O: Operation<T>>(&self) -> T {
        match self.a.len() {
            len if len >= MIN_LONG => self.fold_long::<O>(),
            len if len >= SHORT_LANES => self.fold_short::<O>(),
            _ => self.fold_sequentially::<O>(),
        }
    }

    /// Halves a row of more than [`MAX_ROW`] elements, as a fold does.
    #[inline(never)]
    fn fold_in_halves<O: Operation<T>>(&self) -> T {
        let len = self.a.len();
        if len <= MAX_ROW {
            return self.fold_unhalved::<O>();
        }
        let middle = (len / 2).next_multiple_of(MAX_ROW);
        O::combine(self.part(0, middle).fold_in_halves::<O>(), self.part(middle, len).fold_in_halves::<O>())
    }

    #[inline(always)]
    fn fold_sequentially<O: Operation<T>>(&self) -> T {
        let mut result = self.value(0);
        for at in 1..self.a.len() {
            result = O::combine(result, self.value(at));
        }
        result
    }

    #[inline(always)]
    fn fold_short<O: Operation<T>>(&self) -> T {
        let len = self.a.len();
        let whole = len / SHORT_LANES * SHORT_LANES;
        let mut lanes = [self.a[0]; SHORT_LANES];
        self.part(0, whole).fold_lanes::<O, SHORT_LANES>(&mut lanes);
        let mut eight = [lanes[0]; 8];
        for i in 0..8 {
            eight[i] = O::combine(lanes[i], lanes[i + 8]);
        }
        separate(&mut eight);
        let [result] = O::fold_tree(&eight);
        match whole == len {
            true => result,
            false => O::combine(result, self.part(whole, len).fold_sequentially::<O>()),
        }
    }

    #[inline(always)]
    fn fold_long<O: Operation<T>>(&self) -> T {
        const BLOCK: usize = LANES * LANE_ELEMENTS;
        let len = self.a.len();
        let whole = len / LANES * LANES;
        let (AlignedLanes(lanes), AlignedLanes(block_lanes)) =
            (&mut AlignedLanes([self.a[0]; LANES]), &mut AlignedLanes([self.a[0]; LANES]));
        self.part(0, whole.min(BLOCK)).fold_lanes::<O, LANES>(lanes);
        separate(lanes);
        let mut done = BLOCK;
        while done < whole {
            self.part(done, whole.min(done + BLOCK)).fold_lanes::<O, LANES>(block_lanes);
            separate(block_lanes);
            for (lane, &element) in lanes.iter_mut().zip(&*block_lanes) {
                *lane = O::combine(*lane, element);
            }
            separate(lanes);
            done += BLOCK;
        }
        let result = fold_many::<O, T>(lanes);
        match len - whole {
            0 => result,
            1..SHORT_LANES => O::combine(result, self.part(whole, len).fold_sequentially::<O>()),
            _ => O::combine(result, self.part(whole, len).fold_short::<O>()),
        }
    }

    /// Folds a multiple of `W` values to `W` lanes.
    #[inline(always)]
    fn fold_lanes<O: Operation<T>, const W: usize>(&self, lanes: &mut [T; W]) {
        let (a, b) = (self.a.as_chunks::<W>().0, self.b.as_chunks::<W>().0);
        let scalar = self.b[0];
        // With one element of the second operand, its chunks are not used.
        let b = if S { a } else { b };
        if let ([a, rest_a @ ..], [b, rest_b @ ..]) = (a, b) {
            for i in 0..W {
                lanes[i] = F::apply(a[i], if S { scalar } else { b[i] });
            }
            O::fold_values(
                lanes,
                rest_a.iter().zip(rest_b),
                #[inline(always)]
                |a, b| F::apply(a, if S { scalar } else { b }),
            );
        }
    }
}

/// Folds lanes, as [`Operation::fold_tree`] does, with fewer instructions: down to eight, they stay in SIMD registers.
#[inline(always)]
fn fold_many<O: Operation<T>, T: Pod>(lanes: &[T; LANES]) -> T {
    let mut eight = [lanes[0]; 8];
    for i in 0..8 {
        let (a, b) = (O::combine(lanes[i], lanes[i + 16]), O::combine(lanes[i + 8], lanes[i + 24]));
        eight[i] = O::combine(a, b);
    }
    separate(&mut eight);
    let [result] = O::fold_tree(&eight);
    result
}

/// Folds rows into a row of accumulators.
struct ToRow<'a, O, F, T, const S: bool> {
    operands: [PairOperand<'a>; 2],
    rows: usize,
    acc: &'a mut [T],
    types: PhantomData<(O, F)>,
}

impl<O: Operation<T>, F: SymmetricFunction<T>, T: Pod, const S: bool> SimdTask for ToRow<'_, O, F, T, S> {
    #[inline(always)]
    fn run(self) {
        let (len, [a, b]) = (self.acc.len(), self.operands);
        let mut row = if len == 0 { self.rows } else { 0 };
        // Two rows at a time: the accumulators are loaded and stored half as often.
        while row + 2 <= self.rows {
            let (a, b) = (
                [row, row + 1].map(|row| a.row::<T>(row, len)),
                [row, row + 1].map(|row| b.row::<T>(row, len)),
            );
            let scalars = b.map(|row| row[0]);
            let b = if S { a } else { b };
            let acc = self.acc.iter_mut().zip(a[0].iter().zip(a[1])).zip(b[0].iter().zip(b[1]));
            for ((acc, (&a0, &a1)), (&b0, &b1)) in acc {
                let (b0, b1) = if S { (scalars[0], scalars[1]) } else { (b0, b1) };
                *acc = O::combine(O::combine(*acc, F::apply(a0, b0)), F::apply(a1, b1));
            }
            row += 2;
        }
        if row < self.rows {
            let (a, b) = (a.row::<T>(row, len), b.row::<T>(row, len));
            let scalar = b[0];
            let b = if S { a } else { b };
            for (acc, (&a, &b)) in self.acc.iter_mut().zip(a.iter().zip(b)) {
                *acc = O::combine(*acc, F::apply(a, if S { scalar } else { b }));
            }
        }
    }
}

/// Folds rows with a scalar for each into a row of accumulators.
struct ScaledRows<'a, O, F, T> {
    rows: &'a [&'a [T]],
    scalars: &'a [T],
    acc: &'a mut [T],
    types: PhantomData<(O, F)>,
}

impl<O: Operation<T>, F: SymmetricFunction<T>, T: Pod> SimdTask for ScaledRows<'_, O, F, T> {
    #[inline(always)]
    fn run(self) {
        fold_columns::<O, F, T>(self.rows, self.scalars, 0, self.acc);
    }
}

/// The same with two scalars for each row: elements are loaded once for both. Rows are larger than the L1 cache, so that
/// loads limit the speed.
struct ScaledRowsTwice<'a, O, F, T> {
    rows: &'a [&'a [T]],
    folds: [(&'a [T], &'a mut [T]); 2],
    types: PhantomData<(O, F)>,
}

impl<O: Operation<T>, F: SymmetricFunction<T>, T: Pod> SimdTask for ScaledRowsTwice<'_, O, F, T> {
    #[inline(always)]
    fn run(self) {
        let ScaledRowsTwice { rows, folds: [a, b], .. } = self;
        // As many bytes, so that the accumulators of both fit the registers.
        let done = match size_of::<T>() {
            4 => fold_tiles_twice::<O, F, T, LANES>(rows, [a.0, b.0], [&mut *a.1, &mut *b.1]),
            _ => fold_tiles_twice::<O, F, T, { LANES / 2 }>(rows, [a.0, b.0], [&mut *a.1, &mut *b.1]),
        };
        fold_columns::<O, F, T>(rows, a.0, done, a.1);
        fold_columns::<O, F, T>(rows, b.0, done, b.1);
    }
}

/// Folds the columns of the rows from `done` on.
#[inline(always)]
fn fold_columns<O: Operation<T>, F: SymmetricFunction<T>, T: Pod>(
    rows: &[&[T]],
    scalars: &[T],
    mut done: usize,
    acc: &mut [T],
) {
    let (tiles, rest) = acc[done..].as_chunks_mut::<LANES>();
    for acc in tiles {
        fold_scaled::<O, F, T, LANES>(rows, scalars, done, acc);
        done += LANES;
    }
    let (tiles, rest) = rest.as_chunks_mut::<8>();
    for acc in tiles {
        fold_scaled::<O, F, T, 8>(rows, scalars, done, acc);
        done += 8;
    }
    for acc in rest {
        fold_scaled::<O, F, T, 1>(rows, scalars, done, std::array::from_mut(acc));
        done += 1;
    }
}

/// Folds `W` columns of the rows, from `first` on.
#[inline(always)]
fn fold_scaled<O: Operation<T>, F: SymmetricFunction<T>, T: Pod, const W: usize>(
    rows: &[&[T]],
    scalars: &[T],
    first: usize,
    acc: &mut [T; W],
) {
    let mut folded = *acc;
    for (row, &scalar) in rows.iter().zip(scalars) {
        let Some(Ok(row)) = row.get(first..first + W).map(<&[T; W]>::try_from) else { return };
        fold_into::<O, F, T, W>(&mut folded, row, scalar);
    }
    *acc = folded;
}

/// Folds `W` columns at a time with two scalars for each row, and returns the number of columns.
#[inline(always)]
fn fold_tiles_twice<O: Operation<T>, F: SymmetricFunction<T>, T: Pod, const W: usize>(
    rows: &[&[T]],
    scalars: [&[T]; 2],
    acc: [&mut [T]; 2],
) -> usize {
    let ([a, b], mut done) = (acc.map(|acc| acc.as_chunks_mut::<W>().0), 0);
    for (a, b) in a.iter_mut().zip(b) {
        // Two variables: one array of both does not stay in registers.
        let (mut folded_a, mut folded_b) = (*a, *b);
        for (row, (&scalar_a, &scalar_b)) in rows.iter().zip(scalars[0].iter().zip(scalars[1])) {
            let Some(Ok(row)) = row.get(done..done + W).map(<&[T; W]>::try_from) else { return done };
            fold_into::<O, F, T, W>(&mut folded_a, row, scalar_a);
            fold_into::<O, F, T, W>(&mut folded_b, row, scalar_b);
        }
        (*a, *b) = (folded_a, folded_b);
        done += W;
    }
    done
}

#[inline(always)]
fn fold_into<O: Operation<T>, F: SymmetricFunction<T>, T: Pod, const W: usize>(
    folded: &mut [T; W],
    row: &[T; W],
    scalar: T,
) {
    for i in 0..W {
        folded[i] = O::combine(folded[i], F::apply(row[i], scalar));
    }
}
