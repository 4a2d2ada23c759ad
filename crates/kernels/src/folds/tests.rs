//! All folds against element-wise kernels, and their order, accuracy and treatment of NaN.

use super::loops::{ToElements, ToRow};
use super::operation::Add;
use super::{
    Extremes, FoldKernel, FoldOp, IndexRange, PairFoldKernel, PairFunction, PairOperand, ScaledFold,
    find_fold, find_pair_fold, find_position_fold,
};
use crate::{Constant, DType, DTypeKind, Kernel, Op, Scalar, find_kernel};
use num_complex::Complex;
use proptest::prelude::*;
use std::marker::PhantomData;
use unishape_simd::{SimdTask, run_avx2, run_widest};

const LENS: [usize; 21] =
    [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 5000];

fn cases() -> impl Iterator<Item = (FoldOp, DType, FoldKernel)> {
    let all = FoldOp::ALL.iter().flat_map(|&fold| DType::ALL.iter().map(move |&dtype| (fold, dtype)));
    all.filter_map(|(fold, dtype)| Some((fold, dtype, find_fold(fold, dtype)?)))
}

/// The element-wise kernel that does the same.
fn element_wise(fold: FoldOp, dtype: DType) -> Kernel {
    let op = match fold {
        FoldOp::Sum => Op::Add,
        FoldOp::Product => Op::Multiply,
        FoldOp::Min | FoldOp::All | FoldOp::ArgMin => Op::Min,
        FoldOp::Max | FoldOp::Any | FoldOp::ArgMax => Op::Max,
    };
    find_kernel(op, dtype).unwrap()
}

/// An element from a random number; results of all folds of up to some 10⁵ of them are exact.
fn element(fold: FoldOp, dtype: DType, random: u32) -> Constant {
    let small = f64::from(random % 101) - 50.0;
    let scalar = match (fold, dtype.kind()) {
        (FoldOp::Product, DTypeKind::Complex) => Scalar::Complex(Complex::I.powu(random % 4)),
        (FoldOp::Product, DTypeKind::Float) => Scalar::Float([1.0, -1.0][random as usize % 2]),
        (FoldOp::Product, _) => Scalar::Int((random % 1000 * 2 + 1).into()),
        (_, DTypeKind::Complex) => Scalar::Complex(Complex::new(f64::from(random / 101 % 5), small)),
        (_, DTypeKind::Float) => Scalar::Float(small),
        (_, DTypeKind::Bool) => Scalar::Bool(random.is_multiple_of(3)),
        (_, DTypeKind::Signed) => Scalar::Int(i128::from(random % 256) - 128),
        _ => Scalar::Int((random % 256).into()),
    };
    Constant::from_scalar(scalar, dtype).unwrap()
}

/// Pseudo-random numbers from a seed.
fn random_numbers(mut state: u64) -> impl Iterator<Item = u32> {
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32
    })
}

/// Elements as bytes that are aligned for every dtype.
struct Block {
    words: Vec<u128>,
    bytes: usize,
}

impl Block {
    fn new<'a>(elements: impl IntoIterator<Item = &'a Constant>) -> Block {
        let bytes: Vec<u8> = elements.into_iter().flat_map(|element| element.bytes()).copied().collect();
        let mut words = vec![0; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
        Block { words, bytes: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

/// Whether elements are equal; NaN equals NaN, and 0.0 equals -0.0.
fn is_equal(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    fn same<T: bytemuck::AnyBitPattern + PartialOrd>(a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (bytemuck::cast_slice::<u8, T>(a), bytemuck::cast_slice::<u8, T>(b));
        let is_nan = |a: &T| a.partial_cmp(a).is_none();
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || is_nan(a) && is_nan(b))
    }
    match dtype {
        DType::F32 | DType::C64 => same::<f32>(a, b),
        DType::F64 | DType::C128 => same::<f64>(a, b),
        _ => a == b,
    }
}

/// Checks both functions of a kernel for rows of `len` elements against element-wise kernels.
fn check(fold: FoldOp, dtype: DType, kernel: FoldKernel, elements: &[Constant], len: usize) {
    let (operation, size) = (element_wise(fold, dtype), dtype.item_size());
    let combine = |a: Constant, b: &Constant| Constant::evaluate(operation, &[a, *b], size);
    let (block, rows) = (Block::new(elements), elements.len() / len);

    let expected: Vec<_> =
        elements.chunks(len).map(|row| row.iter().fold(kernel.identity, combine)).collect();
    let expected = Block::new(&expected);
    let mut acc = Block::new(&vec![kernel.identity; rows]);
    (kernel.to_elements)(block.bytes(), len, acc.bytes_mut());
    assert!(
        is_equal(dtype, acc.bytes(), expected.bytes()),
        "{fold:?} of {dtype:?} to elements: {rows} of {len}"
    );

    let columns = (0..len).map(|i| elements.iter().skip(i).step_by(len).fold(kernel.identity, combine));
    let expected = Block::new(&columns.collect::<Vec<_>>());
    let mut acc = Block::new(&vec![kernel.identity; len]);
    (kernel.to_row)(block.bytes(), acc.bytes_mut());
    assert!(
        is_equal(dtype, acc.bytes(), expected.bytes()),
        "{fold:?} of {dtype:?} to a row: {rows} of {len}"
    );
}

#[test]
fn folds_equal_element_wise_kernels() {
    for (fold, dtype, kernel) in cases() {
        for len in LENS {
            for rows in [0, 1, 2, 3, 17, 70, 300].into_iter().filter(|rows| rows * len <= 20_000) {
                let numbers = random_numbers((len + rows) as u64).take(rows * len);
                let elements: Vec<_> = numbers.map(|random| element(fold, dtype, random)).collect();
                check(fold, dtype, kernel, &elements, len);
            }
        }
    }
}

#[test]
fn folds_have_the_names_of_numpy_and_their_dtypes() {
    let names: Vec<_> = FoldOp::ALL.iter().map(|fold| fold.name()).collect();
    assert_eq!(names, ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]);
    for &fold in FoldOp::ALL {
        let missing: Vec<_> =
            DType::ALL.iter().copied().filter(|&dtype| find_fold(fold, dtype).is_none()).collect();
        let mut expected = vec![DType::F16, DType::BF16];
        match fold {
            FoldOp::Min | FoldOp::Max => expected.push(DType::Str),
            FoldOp::ArgMin | FoldOp::ArgMax => expected = DType::ALL.to_vec(),
            FoldOp::Any | FoldOp::All => {
                expected = DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Bool).collect();
            }
            FoldOp::Sum | FoldOp::Product => {
                use DType::*;
                expected.extend([I8, I16, I32, U8, U16, U32, Bool, Str]);
            }
        }
        assert_eq!(missing, expected, "{fold:?}");
    }
}

#[test]
fn accumulators_are_folded_too() {
    for (fold, dtype, kernel) in cases() {
        let elements: Vec<_> = random_numbers(1).take(3).map(|random| element(fold, dtype, random)).collect();
        let all = elements.iter().fold(kernel.identity, |a, &b| {
            Constant::evaluate(element_wise(fold, dtype), &[a, b], dtype.item_size())
        });
        let mut acc = Block::new(&elements[..1]);
        (kernel.to_elements)(Block::new(&elements[1..]).bytes(), 2, acc.bytes_mut());
        assert!(is_equal(dtype, acc.bytes(), all.bytes()), "{fold:?} of {dtype:?}");
    }
}

/// Folds a slice as one row, with a cast to bytes.
fn fold_row<T: bytemuck::Pod>(kernel: FoldKernel, row: &[T]) -> T {
    let mut acc = [kernel.identity.get::<T>().unwrap()];
    (kernel.to_elements)(bytemuck::cast_slice(row), row.len(), bytemuck::cast_slice_mut(&mut acc));
    acc[0]
}

/// Folds rows of `len` elements, `rows_per_call` at a time.
fn fold_to_row<T: bytemuck::Pod>(kernel: FoldKernel, rows: &[T], len: usize, rows_per_call: usize) -> Vec<T> {
    let mut acc = vec![kernel.identity.get::<T>().unwrap(); len];
    for rows in rows.chunks(rows_per_call * len) {
        (kernel.to_row)(bytemuck::cast_slice(rows), bytemuck::cast_slice_mut(&mut acc));
    }
    acc
}

/// Both tasks, as functions of rows, their length and accumulators, run by `$run`.
macro_rules! tasks {
    ($O:ty, $T:ty, $run:expr) => {
        |rows: &[$T], len: usize| {
            let operation = PhantomData::<$O>;
            let mut elements = vec![[0.0]; rows.len() / len];
            $run(ToElements::<$O, $T, 1> { rows, len, acc: &mut elements, operation });
            let mut row = vec![0.0; len];
            $run(ToRow::<$O, $T> { rows, acc: &mut row, operation });
            (elements, row)
        }
    };
}

#[test]
fn bits_of_sums_do_not_depend_on_simd_width() {
    for len in LENS {
        let numbers = random_numbers(len as u64).take(3 * len).map(|random| random as f32 / 3e9 - 0.3);
        let singles: Vec<f32> = numbers.collect();
        let expected = tasks!(Add, f32, SimdTask::run)(&singles, len);
        assert_eq!(tasks!(Add, f32, run_avx2)(&singles, len), expected);
        assert_eq!(tasks!(Add, f32, run_widest)(&singles, len), expected);
        let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x) / 3.0).collect();
        let expected = tasks!(Add, f64, SimdTask::run)(&doubles, len);
        assert_eq!(tasks!(Add, f64, run_avx2)(&doubles, len), expected);
        assert_eq!(tasks!(Add, f64, run_widest)(&doubles, len), expected);
    }
}

#[test]
fn one_nan_at_any_position_makes_minimum_and_maximum_nan() {
    for fold in [FoldOp::Min, FoldOp::Max] {
        let single = find_fold(fold, DType::F32).unwrap();
        let double = find_fold(fold, DType::F64).unwrap();
        let complex = find_fold(fold, DType::C64).unwrap();
        for len in LENS.into_iter().filter(|&len| len <= 1000) {
            for position in (0..len).filter(|i| len < 200 || i % 7 == 0) {
                let mut row = vec![1.0_f32; len];
                row[position] = f32::NAN;
                assert!(fold_row(single, &row).is_nan(), "{fold:?}: element {position} of {len}");
                let row: Vec<f64> = row.into_iter().map(f64::from).collect();
                assert!(fold_row(double, &row).is_nan(), "{fold:?}: element {position} of {len}");
                for nan in [Complex::new(f32::NAN, 0.0), Complex::new(0.0, f32::NAN)] {
                    let mut row = vec![Complex::ONE; len];
                    row[position] = nan;
                    assert!(fold_row(complex, &row).is_nan(), "{fold:?}: element {position} of {len}");
                }
                // The same elements as rows of 1, 3 and 16.
                for columns in [1, 3, 16] {
                    let row = &row[..len / columns * columns];
                    let result = fold_to_row(double, row, columns, len);
                    for (column, result) in result.into_iter().enumerate() {
                        let has_nan = position < row.len() && position % columns == column;
                        assert_eq!(result.is_nan(), has_nan, "{fold:?}: element {position} of {len}");
                    }
                }
            }
        }
    }
}

#[test]
fn infinite_elements_are_extrema() {
    for (fold, extreme) in [(FoldOp::Min, f64::NEG_INFINITY), (FoldOp::Max, f64::INFINITY)] {
        let (real, complex) = (find_fold(fold, DType::F64).unwrap(), find_fold(fold, DType::C128).unwrap());
        for len in LENS {
            // Only the neutral element, and both infinities.
            assert_eq!(fold_row(real, &vec![-extreme; len]), -extreme);
            let mut row = vec![Complex::new(-extreme, 3.0); len];
            assert_eq!(fold_row(complex, &row), row[0]);
            row[len / 2] = Complex::new(extreme, -1.0);
            assert_eq!(fold_row(complex, &row), row[len / 2]);
        }
    }
}

#[test]
fn rows_longer_than_the_largest_block_are_halved() {
    for len in [8191, 8192, 8193, 16_384, 100_001] {
        let numbers: Vec<f64> = random_numbers(7).take(len).map(|random| f64::from(random % 1001)).collect();
        let sum = find_fold(FoldOp::Sum, DType::F64).unwrap();
        assert_eq!(fold_row(sum, &numbers), numbers.iter().sum());
        let max = find_fold(FoldOp::Max, DType::F64).unwrap();
        assert_eq!(fold_row(max, &numbers), numbers.iter().copied().fold(0.0, f64::max));
        let complex: Vec<_> = numbers.iter().map(|&x| Complex::new(x, -x)).collect();
        let sum = find_fold(FoldOp::Sum, DType::C128).unwrap();
        assert_eq!(fold_row(sum, &complex), complex.iter().sum());
    }
}

#[test]
fn sum_of_a_long_row_is_that_of_its_halves() {
    let row: Vec<f32> = random_numbers(3).take(1 << 15).map(|random| random as f32 / 3e9 - 0.2).collect();
    let sum = find_fold(FoldOp::Sum, DType::F32).unwrap();
    let (first, second) = row.split_at(1 << 14);
    assert_eq!(fold_row(sum, &row), fold_row(sum, first) + fold_row(sum, second));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bound that the module states.
    #[test]
    fn sums_of_float32_are_accurate(seed: u64, len in prop_oneof![1usize..300, 300usize..200_000]) {
        let row: Vec<f32> = random_numbers(seed).take(len).map(|random| random as f32 / 3e9 - 0.2).collect();
        let sum = fold_row(find_fold(FoldOp::Sum, DType::F32).unwrap(), &row);
        let (mut exact, mut absolute) = (0.0, 0.0);
        for x in row {
            exact += f64::from(x);
            absolute += f64::from(x).abs();
        }
        let additions = 40.0 + (len as f64 / 8192.0).log2().max(0.0);
        let bound = additions * 0.5_f64.powi(24) * absolute;
        prop_assert!((f64::from(sum) - exact).abs() <= bound, "{sum} for {exact}, {len} elements");
    }

    /// Bits of results do not depend on how rows are grouped into calls, nor on the address of rows.
    #[test]
    fn order_is_fixed(seed: u64, len in 1usize..150, rows in 1usize..80, cut in 1usize..80, offset in 0usize..16) {
        let numbers: Vec<f32> = random_numbers(seed).take(len * rows + offset).map(|x| x as f32 / 3e9 + 0.7).collect();
        let moved = &numbers[offset..];
        let aligned = moved.to_vec();
        for fold in [FoldOp::Sum, FoldOp::Product] {
            let kernel = find_fold(fold, DType::F32).unwrap();
            let whole = fold_to_row(kernel, moved, len, rows);
            prop_assert_eq!(&whole, &fold_to_row(kernel, &aligned, len, cut));
            let sequential = |i: usize| moved[i..].iter().step_by(len).fold(kernel.identity.get().unwrap(), |a: f32, b| {
                if fold == FoldOp::Sum { a + b } else { a * b }
            });
            prop_assert_eq!(whole, (0..len).map(sequential).collect::<Vec<_>>());

            // Rows together, and each on its own.
            let mut acc = vec![kernel.identity.get::<f32>().unwrap(); rows];
            (kernel.to_elements)(bytemuck::cast_slice(moved), len, bytemuck::cast_slice_mut(&mut acc));
            prop_assert_eq!(acc, aligned.chunks(len).map(|row| fold_row(kernel, row)).collect::<Vec<_>>());
        }
    }
}

const PAIR_FOLDS: [(FoldOp, PairFunction); 4] = [
    (FoldOp::Sum, PairFunction::Product),
    (FoldOp::Sum, PairFunction::SquaredDifference),
    (FoldOp::Sum, PairFunction::AbsoluteDifference),
    (FoldOp::Max, PairFunction::AbsoluteDifference),
];

/// How an operand of a pair is laid out.
#[derive(Clone, Copy, Debug)]
enum Layout {
    PairOperand,
    RepeatedRow,
    /// One element for each row.
    Column,
    Scalar,
}

/// The elements of an operand for some rows of `len` elements, and where its element in a row and column is.
fn operand<T: Copy>(layout: Layout, all: &[T], rows: usize, len: usize) -> (&[T], [usize; 2]) {
    match layout {
        Layout::PairOperand => (&all[..rows * len], [len, 1]),
        Layout::RepeatedRow => (&all[..len], [0, 1]),
        Layout::Column => (&all[..rows], [1, 0]),
        Layout::Scalar => (&all[..1], [0, 0]),
    }
}

macro_rules! pair_folds {
    ($name:ident, $T:ident, $dtype:expr) => {
        /// Exact results: elements are small integers, and some are NaN.
        #[test]
        fn $name() {
            let mut numbers = random_numbers(7);
            for (fold, function) in PAIR_FOLDS {
                let PairFoldKernel { to_elements, to_row, scaled_rows } =
                    find_pair_fold(fold, function, $dtype).unwrap();
                let apply = |a: $T, b: $T| match function {
                    PairFunction::Product => a * b,
                    PairFunction::SquaredDifference => (a - b) * (a - b),
                    PairFunction::AbsoluteDifference => (a - b).abs(),
                };
                let combine = |a: $T, b: $T| match fold {
                    FoldOp::Sum => a + b,
                    _ if a.is_nan() || b.is_nan() => $T::NAN,
                    _ => a.max(b),
                };
                let identity = find_fold(fold, $dtype).unwrap().identity.get::<$T>().unwrap();
                let layouts = [Layout::PairOperand, Layout::RepeatedRow, Layout::Column, Layout::Scalar];
                for len in LENS.into_iter().chain([255, 256, 257, 511, 544, 8192, 8193, 20_000]) {
                    for (case, second) in layouts.into_iter().enumerate() {
                        let rows = 1 + (len + case) % 4;
                        let mut elements = || -> Vec<$T> {
                            let one = |number: u32| match number % 3001 {
                                3000 => $T::NAN,
                                _ => (number / 3001 % 5) as $T - 2.0,
                            };
                            (0..rows * len).map(|_| one(numbers.next().unwrap())).collect()
                        };
                        let (all_a, all_b) = (elements(), elements());
                        let (a, of_a) = operand(Layout::PairOperand, &all_a, rows, len);
                        let (b, of_b) = operand(second, &all_b, rows, len);
                        let value = |row: usize, column: usize| {
                            apply(a[row * of_a[0] + column * of_a[1]], b[row * of_b[0] + column * of_b[1]])
                        };
                        let as_rows = |elements, [stride, along]: [usize; 2]| PairOperand {
                            bytes: bytemuck::cast_slice(elements),
                            stride,
                            is_scalar: along == 0,
                        };
                        // The function is symmetric.
                        let mut operands = [as_rows(a, of_a), as_rows(b, of_b)];
                        if case % 2 == 1 {
                            operands.reverse();
                        }
                        let is_equal = |a: &[$T], b: &[$T]| {
                            a.iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
                        };
                        let mut found = vec![identity; rows];
                        to_elements(operands, len, bytemuck::cast_slice_mut(&mut found));
                        let expected: Vec<$T> = (0..rows)
                            .map(|row| (0..len).map(|column| value(row, column)).fold(identity, combine))
                            .collect();
                        assert!(is_equal(&found, &expected), "{fold:?} {function:?} {len} {second:?}");
                        let mut found = vec![identity; len];
                        to_row(operands, rows, bytemuck::cast_slice_mut(&mut found));
                        let expected: Vec<$T> = (0..len)
                            .map(|column| (0..rows).map(|row| value(row, column)).fold(identity, combine))
                            .collect();
                        assert!(is_equal(&found, &expected), "{fold:?} {function:?} {len} {second:?}");
                        if matches!(second, Layout::Column) {
                            let rows: Vec<&[u8]> = a.chunks_exact(len).map(bytemuck::cast_slice).collect();
                            let others = vec![2.0; b.len()];
                            let of_others: Vec<$T> = (0..len)
                                .map(|column| a.iter().skip(column).step_by(len).map(|&a| apply(a, 2.0)))
                                .map(|column| column.fold(identity, combine))
                                .collect();
                            // Once, twice, and three times, with other scalars in between.
                            for count in 1..=3 {
                                let mut found = vec![vec![identity; len]; count];
                                let scalars = |number: usize| if number % 2 == 0 { b } else { &others[..] };
                                let mut folds: Vec<ScaledFold<'_>> = found
                                    .iter_mut()
                                    .enumerate()
                                    .map(|(number, acc)| ScaledFold {
                                        scalars: bytemuck::cast_slice(scalars(number)),
                                        acc: bytemuck::cast_slice_mut(acc),
                                    })
                                    .collect();
                                scaled_rows(&rows, &mut folds);
                                for (number, found) in found.iter().enumerate() {
                                    let expected = if number % 2 == 0 { &expected } else { &of_others };
                                    let is_right = is_equal(found, expected);
                                    assert!(is_right, "{number} of {count}: {fold:?} {function:?} {len}");
                                }
                            }
                        }
                    }
                }
            }
        }
    };
}
pair_folds!(pairs_of_float32, f32, DType::F32);
pair_folds!(pairs_of_float64, f64, DType::F64);

/// Sums of products of rows of any length are as accurate as sums of rows.
#[test]
fn sums_of_products_are_accurate() {
    let kernel = find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap();
    for len in [100, 255, 300, 8192, 100_000] {
        let elements: Vec<f32> =
            random_numbers(len as u64).take(len).map(|number| number as f32 / 2f32.powi(31) + 0.1).collect();
        let rows = PairOperand { bytes: bytemuck::cast_slice(&elements), stride: len, is_scalar: false };
        let mut sum = [0f32];
        (kernel.to_elements)([rows, rows], len, bytemuck::cast_slice_mut(&mut sum));
        let exact: f64 = elements.iter().map(|&element| f64::from(element * element)).sum();
        let most = (40.0 + (len as f64 / 8192.0).log2().max(0.0)) / 2f64.powi(24);
        assert!((f64::from(sum[0]) - exact).abs() <= most * exact, "{len}: {} {exact}", sum[0]);
    }
}

/// The sum of products of two rows.
fn sum_of_products(a: &[f32], b: &[f32]) -> f32 {
    let operand =
        |row| PairOperand { bytes: bytemuck::cast_slice(row), stride: row.len(), is_scalar: row.len() == 1 };
    let kernel = find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap();
    let mut sum = [0f32];
    (kernel.to_elements)([operand(a), operand(b)], a.len(), bytemuck::cast_slice_mut(&mut sum));
    sum[0]
}

/// Numbers whose sums depend on the order of additions.
fn fractions(seed: u64, len: usize) -> Vec<f32> {
    random_numbers(seed).take(len).map(|random| random as f32 / 3e9 - 0.2).collect()
}

#[test]
fn a_pair_row_is_folded_in_the_order_of_a_row() {
    let sum = find_fold(FoldOp::Sum, DType::F32).unwrap();
    for len in LENS.into_iter().skip(1).chain([100, 255, 256, 257, 600, 8191, 8192]) {
        let (a, b) = (fractions(1, len), fractions(2, len));
        let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        assert_eq!(sum_of_products(&a, &b).to_bits(), fold_row(sum, &products).to_bits(), "{len}");
        let products: Vec<f32> = a.iter().map(|a| a * b[0]).collect();
        assert_eq!(sum_of_products(&a, &b[..1]).to_bits(), fold_row(sum, &products).to_bits(), "{len}");
    }
}

#[test]
fn a_long_pair_row_is_folded_as_its_halves_are() {
    let (a, b) = (fractions(3, 1 << 15), fractions(4, 1 << 15));
    for len in [1 << 15, 1 << 14] {
        let ((a0, a1), (b0, b1)) = (a[..len].split_at(len / 2), b[..len].split_at(len / 2));
        let halves = sum_of_products(a0, b0) + sum_of_products(a1, b1);
        assert_eq!(sum_of_products(&a[..len], &b[..len]).to_bits(), halves.to_bits(), "{len}");
    }
}

/// Whether an element replaces another one, by the definition: more extreme, or equal with a lower index.
fn replaces<T: PartialOrd + Copy>(fold: FoldOp, (a, i): (T, i64), (b, j): (T, i64)) -> bool {
    // Only NaN differs from itself.
    let [a_is_nan, b_is_nan] = [a, b].map(|x| x.partial_cmp(&x).is_none());
    match (a_is_nan, b_is_nan) {
        (true, true) => i < j,
        (true, false) => true,
        (false, true) => false,
        _ if a == b => i < j,
        _ => (a < b) == (fold == FoldOp::ArgMin),
    }
}

/// Positions of extreme elements of few different values, NaN among them, folded in every way.
fn check_positions<T>(dtype: DType, from: impl Fn(u32) -> T)
where
    T: bytemuck::Pod + PartialOrd + std::fmt::Debug,
{
    let mut numbers = random_numbers(11);
    for fold in [FoldOp::ArgMin, FoldOp::ArgMax] {
        let kernel = find_position_fold(fold, dtype).unwrap();
        let identity = kernel.identity.get::<T>().unwrap();
        for len in LENS.into_iter().chain([2047, 2048, 2049, 5000, 8192, 8193]) {
            for (step, rare) in [(1, 2), (3, 200), (-1, 100_000), (0, 7)] {
                // Short rows are folded several at a time.
                let rows = 1 + len % 5 + if len < 40 { 32 } else { 0 };
                let mut elements = |count: usize| -> Vec<T> {
                    // Values that are better than most are rare, so that they come late.
                    let one =
                        |number: u32| from(if number.is_multiple_of(rare) { number / rare % 7 } else { 3 });
                    (0..count).map(|_| one(numbers.next().unwrap())).collect()
                };
                let all = elements(rows * len);
                let range = IndexRange { first: 100, step };
                // Accumulators that have elements already, with lower and higher indices; or none.
                let starts = [(identity, i64::MAX), (elements(1)[0], 5), (elements(1)[0], 1_000_000)];
                for start in starts {
                    let (mut extremes, mut indices) = (vec![start.0; rows], vec![start.1; rows]);
                    fn accumulators<'a, T: bytemuck::Pod>(
                        elements: &'a mut [T],
                        indices: &'a mut [i64],
                    ) -> Extremes<'a> {
                        let (elements, indices) =
                            (bytemuck::cast_slice_mut(elements), bytemuck::cast_slice_mut(indices));
                        Extremes { elements, indices }
                    }
                    let best = |elements: &mut dyn Iterator<Item = (T, i64)>| {
                        elements.fold(start, |best, own| if replaces(fold, own, best) { own } else { best }).1
                    };
                    (kernel.to_elements)(
                        bytemuck::cast_slice(&all),
                        range,
                        accumulators(&mut extremes, &mut indices),
                    );
                    let expected: Vec<i64> = all
                        .chunks(len)
                        .map(|row| best(&mut row.iter().enumerate().map(|(at, &x)| (x, range.index(at)))))
                        .collect();
                    assert_eq!(indices, expected, "{fold:?} of {dtype:?}, {rows} rows of {len}, {range:?}");

                    let (mut extremes, mut indices) = (vec![start.0; len], vec![start.1; len]);
                    (kernel.to_row)(
                        bytemuck::cast_slice(&all),
                        range,
                        accumulators(&mut extremes, &mut indices),
                    );
                    let expected: Vec<i64> = (0..len)
                        .map(|column| {
                            let column = all[column..].iter().step_by(len).enumerate();
                            best(&mut column.map(|(row, &x)| (x, range.index(row))))
                        })
                        .collect();
                    assert_eq!(
                        indices, expected,
                        "{fold:?} of {dtype:?}, columns of {rows} x {len}, {range:?}"
                    );

                    let (first, second) = (elements(len), elements(len));
                    let own: Vec<i64> = (0..len as i64).map(|i| i % 3).collect();
                    let (mut extremes, mut indices) = (first.clone(), vec![1; len]);
                    let (bytes, other) = (bytemuck::cast_slice(&second), bytemuck::cast_slice(&own));
                    (kernel.merge)(bytes, other, accumulators(&mut extremes, &mut indices));
                    for i in 0..len {
                        let is_other = replaces(fold, (second[i], own[i]), (first[i], 1));
                        assert_eq!(indices[i], if is_other { own[i] } else { 1 }, "{fold:?} of {dtype:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn positions_of_extreme_elements() {
    check_positions(DType::F32, |number| if number == 6 { f32::NAN } else { number as f32 - 3.0 });
    check_positions(DType::F64, |number| if number == 6 { f64::NAN } else { number as f64 - 3.0 });
    // Signed zeros are equal, and infinity is the neutral element.
    check_positions(DType::F32, |number| {
        [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 0.0][number as usize]
    });
    check_positions(DType::I8, |number| if number == 6 { i8::MAX } else { number as i8 - 3 });
    check_positions(DType::U8, |number| number as u8);
    check_positions(DType::Bool, |number| number as u8 % 2);
    check_positions(DType::I16, |number| number as i16 - 3);
    check_positions(DType::U16, |number| number as u16);
    check_positions(DType::I32, |number| if number == 5 { i32::MIN } else { number as i32 - 3 });
    check_positions(DType::U32, |number| number);
    check_positions(DType::I64, |number| if number == 6 { i64::MAX } else { i64::from(number) - 3 });
    check_positions(DType::U64, u64::from);
}

/// Complex numbers are ordered by real part, then by imaginary part; the first one with NaN counts before all.
#[test]
fn positions_of_complex_elements() {
    let nan = f32::NAN;
    let numbers = |pairs: &[(f32, f32)]| -> Vec<Complex<f32>> {
        pairs.iter().map(|&(re, im)| Complex::new(re, im)).collect()
    };
    let cases = [
        (numbers(&[(1.0, 2.0), (1.0, 1.0), (2.0, 0.0), (1.0, 1.0), (2.0, 0.0)]), [1, 2]),
        (numbers(&[(1.0, 2.0), (0.5, nan), (nan, 1.0), (9.0, 9.0), (0.0, 0.0)]), [1, 1]),
        (numbers(&[(f32::INFINITY, f32::INFINITY), (f32::INFINITY, f32::INFINITY)]), [0, 0]),
    ];
    for (elements, expected) in cases {
        for (fold, expected) in [FoldOp::ArgMin, FoldOp::ArgMax].into_iter().zip(expected) {
            let kernel = find_position_fold(fold, DType::C64).unwrap();
            for repeats in [1, 20, 1000] {
                // The same elements again do not change the result.
                let row: Vec<Complex<f32>> = elements.repeat(repeats);
                for to_row in [false, true] {
                    let (mut best, mut index) =
                        ([kernel.identity.get::<Complex<f32>>().unwrap()], [i64::MAX]);
                    let extremes = Extremes {
                        elements: bytemuck::cast_slice_mut(&mut best),
                        indices: bytemuck::cast_slice_mut(&mut index),
                    };
                    let function = if to_row { kernel.to_row } else { kernel.to_elements };
                    function(bytemuck::cast_slice(&row), IndexRange { first: 0, step: 1 }, extremes);
                    assert_eq!(index, [expected], "{fold:?} of {elements:?}");
                }
            }
        }
    }
}
