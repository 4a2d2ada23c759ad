//! Fold kernels: functions that reduce blocks of elements to accumulators.
//!
//! | module | contents |
//! |---|---|
//! | `fold_op` | [`FoldOp`], the operations |
//! | `operation` | what each [`FoldOp`] does with two elements |
//! | `loops` | the loops over rows that all folds share |
//! | `pairs` | folds of simple functions of two operands, such as sums of products |
//! | `positions` | folds that find the index of the smallest or largest element |
//!
//! # Order of operations
//!
//! Sums and products of floating-point elements round, so their order is fixed. It depends on the elements and
//! on the length of rows, but not on SIMD width or alignment.
//!
//! - [`FoldKernel::to_row`] is sequential: it folds row after row into the accumulators. Results do not depend
//!   on how rows are grouped into calls. Rounding errors grow with the number of rows.
//! - [`FoldKernel::to_elements`] folds a row in several levels. Its elements go to 32 lanes in turn. Every 16
//!   elements of each lane are folded on their own, then up to 16 of these results. A tree folds the lanes.
//! - Rows of more than 8192 elements are halved recursively first. Rows of fewer than 256 elements have 16 lanes, and
//!   those of fewer than 16 are folded sequentially.
//!
//! So `to_elements` adds each element of a row of `n` elements at most `40 + log2(n / 8192)` times. The error of a
//! sum is at most that times 2⁻²⁴ (`f32`) or 2⁻⁵³ (`f64`) times the sum of absolute values, but for terms of
//! second order.
//!
//! float16 and bfloat16 are computed as float32, as in element-wise kernels, so they have no folds.

mod fold_kernel;
mod fold_op;
mod loops;
mod operation;
mod pairs;
mod positions;

pub use fold_kernel::FoldKernel;
pub use fold_op::FoldOp;
pub use pairs::{PairFoldKernel, PairFunction, PairOperand, ScaledFold, find_pair_fold};
pub use positions::{Extremes, IndexRange, PositionFoldKernel, find_position_fold};

use crate::DType;
use loops::kernel;
use num_complex::Complex;
use operation::{Add, Max, Min, Multiply};

/// The kernel of a fold in a dtype, if there is one.
///
/// Sums and products exist for 64-bit integers, float32, float64 and complex dtypes, minima and maxima for all
/// dtypes but float16, bfloat16 and text, [`FoldOp::Any`] and [`FoldOp::All`] for booleans. [`find_position_fold`] has
/// [`FoldOp::ArgMin`] and [`FoldOp::ArgMax`].
///
/// ```
/// use unishape_kernels::{Constant, DType, FoldOp, find_fold};
///
/// let min = find_fold(FoldOp::Min, DType::F64).unwrap();
/// assert_eq!(min.identity, Constant::new(f64::INFINITY));
/// // Small integers are cast to int64 or uint64 before they are added.
/// assert!(find_fold(FoldOp::Sum, DType::I8).is_none());
/// ```
pub fn find_fold(fold: FoldOp, dtype: DType) -> Option<FoldKernel> {
    match fold {
        FoldOp::Sum => sum(dtype),
        FoldOp::Product => product(dtype),
        FoldOp::Min => min(dtype),
        FoldOp::Max => max(dtype),
        // Of booleans, these are the maximum and the minimum.
        FoldOp::Any => max(dtype).filter(|_| dtype == DType::Bool),
        FoldOp::All => min(dtype).filter(|_| dtype == DType::Bool),
        // Their accumulators are not elements: see `find_position_fold`.
        FoldOp::ArgMin | FoldOp::ArgMax => None,
    }
}

fn sum(dtype: DType) -> Option<FoldKernel> {
    Some(match dtype {
        DType::I64 | DType::U64 => kernel::<Add, u64, 1>([0]),
        DType::F32 => kernel::<Add, f32, 1>([0.0]),
        DType::F64 => kernel::<Add, f64, 1>([0.0]),
        DType::C64 => kernel::<Add, f32, 2>([0.0; 2]),
        DType::C128 => kernel::<Add, f64, 2>([0.0; 2]),
        _ => return None,
    })
}

fn product(dtype: DType) -> Option<FoldKernel> {
    Some(match dtype {
        DType::I64 | DType::U64 => kernel::<Multiply, u64, 1>([1]),
        DType::F32 => kernel::<Multiply, f32, 1>([1.0]),
        DType::F64 => kernel::<Multiply, f64, 1>([1.0]),
        DType::C64 => kernel::<Multiply, Complex<f32>, 1>([Complex::ONE]),
        DType::C128 => kernel::<Multiply, Complex<f64>, 1>([Complex::ONE]),
        _ => return None,
    })
}

/// The kernel of a minimum or maximum; `$bool` is its neutral element of booleans, `$MOST` that of integers.
macro_rules! extremum {
    ($name:ident, $Operation:ident, $bool:literal, $MOST:ident, $INFINITY:ident) => {
        fn $name(dtype: DType) -> Option<FoldKernel> {
            Some(match dtype {
                DType::Bool => kernel::<$Operation, u8, 1>([$bool]),
                DType::U8 => kernel::<$Operation, u8, 1>([u8::$MOST]),
                DType::U16 => kernel::<$Operation, u16, 1>([u16::$MOST]),
                DType::U32 => kernel::<$Operation, u32, 1>([u32::$MOST]),
                DType::U64 => kernel::<$Operation, u64, 1>([u64::$MOST]),
                DType::I8 => kernel::<$Operation, i8, 1>([i8::$MOST]),
                DType::I16 => kernel::<$Operation, i16, 1>([i16::$MOST]),
                DType::I32 => kernel::<$Operation, i32, 1>([i32::$MOST]),
                DType::I64 => kernel::<$Operation, i64, 1>([i64::$MOST]),
                DType::F32 => kernel::<$Operation, f32, 1>([f32::$INFINITY]),
                DType::F64 => kernel::<$Operation, f64, 1>([f64::$INFINITY]),
                DType::C64 => {
                    kernel::<$Operation, Complex<f32>, 1>([Complex::new(f32::$INFINITY, f32::$INFINITY)])
                }
                DType::C128 => {
                    kernel::<$Operation, Complex<f64>, 1>([Complex::new(f64::$INFINITY, f64::$INFINITY)])
                }
                DType::F16 | DType::BF16 | DType::Str => return None,
            })
        }
    };
}
extremum!(min, Min, 1, MAX, INFINITY);
extremum!(max, Max, 0, MIN, NEG_INFINITY);

#[cfg(test)]
mod tests;
