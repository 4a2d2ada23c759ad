//! Functions that fold blocks of elements.

use crate::Constant;

/// Functions that fold blocks of elements of one dtype into accumulators.
///
/// Blocks are bytes, as those of a [`Kernel`](crate::Kernel), and aligned for their elements. Booleans are bytes
/// 0 or 1.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, find_fold};
///
/// let sum = find_fold(FoldOp::Sum, DType::F32).unwrap();
/// let rows: [f32; 6] = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
///
/// let mut sums = [sum.identity.get::<f32>().unwrap(); 2];
/// (sum.to_elements)(bytemuck::cast_slice(&rows), 3, bytemuck::cast_slice_mut(&mut sums));
/// assert_eq!(sums, [6.0, 60.0]);
///
/// let mut sums = [sum.identity.get::<f32>().unwrap(); 3];
/// (sum.to_row)(bytemuck::cast_slice(&rows), bytemuck::cast_slice_mut(&mut sums));
/// assert_eq!(sums, [11.0, 22.0, 33.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FoldKernel {
    /// The neutral element: the value of an accumulator before its first element.
    pub identity: Constant,
    /// Folds each row of `len` contiguous elements into one accumulator.
    ///
    /// `acc` holds as many accumulators as there are rows. `len` is at least 1.
    pub to_elements: fn(rows: &[u8], len: usize, acc: &mut [u8]),
    /// Folds rows element by element, row after row, into a row of accumulators.
    ///
    /// Rows have as many elements as `acc`.
    pub to_row: fn(rows: &[u8], acc: &mut [u8]),
    /// Whether the CPU's floating-point flags say what happened.
    ///
    /// Those of comparisons also report NaN.
    pub has_flags: bool,
}
