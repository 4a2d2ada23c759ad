//! Values of variables and outputs, without their addresses.

use unishape_kernels::{DType, Scalar};

/// An array on a device, without its address.
///
/// ```
/// use unishape_cuda::ArrayType;
/// use unishape_kernels::DType;
///
/// // Every second column of a matrix with 6 columns.
/// let array = ArrayType { dtype: DType::F32, shape: &[4, 3], strides: &[6, 2], alignment: 16 };
/// # let _ = array;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArrayType<'a> {
    /// Type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: &'a [usize],
    /// Stride of each dimension, in elements.
    pub strides: &'a [isize],
    /// A power of two that divides the address of its element at index 0.
    pub alignment: usize,
}

/// A value of a variable, as far as kernels depend on it.
///
/// ```
/// use unishape_cuda::Variable;
///
/// let two = Variable::Scalar(2.into());
/// # let _ = two;
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Variable<'a> {
    /// An array.
    Array(ArrayType<'a>),
    /// A number without a dtype.
    Scalar(Scalar),
}

/// How precise results are.
///
/// ```
/// assert_eq!(unishape_cuda::Numerics::default(), unishape_cuda::Numerics::Exact);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// As on the CPU: every operation is rounded.
    ///
    /// Terms of sums are computed as by `Fused`.
    #[default]
    Exact,
    /// Multiplications may be fused with additions.
    ///
    /// Division and square roots of single precision are within 2 ulp.
    Fused,
    /// Approximate: as `--use_fast_math`.
    ///
    /// For single precision, the compiler may fuse multiplications with additions, flush subnormal numbers to 0, and
    /// use approximate division, square roots and functions.
    Fast,
}
