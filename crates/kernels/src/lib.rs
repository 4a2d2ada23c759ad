//! Dtypes, operations and kernels: the elementwise part of `unishape`, without shapes.
//!
//! An internal crate of `unishape`; its API may change with every release.
//!
//! A [`Kernel`] computes a block of elements from input blocks. Each [`Op`] has one for each [`DType`] that it
//! computes in, compiled for several SIMD widths. That makes this crate slow to compile, so it is separate.
//!
//! | module | contents |
//! |---|---|
//! | `dtype` | [`DType`], and type promotion |
//! | `op` | [`Op`], the table of operators and functions |
//! | `scalar` | [`Scalar`], a number without a dtype |
//! | `constant` | [`Constant`], one element of any dtype |
//! | `kernels` | kernels of operations and casts |
//! | `kernel_key` | [`KernelKey`], what a kernel computes |
//! | `folds` | [`FoldOp`], and kernels that reduce many elements to one |

mod constant;
mod dtype;
mod folds;
mod kernel_key;
mod kernels;
mod op;
mod scalar;

pub use constant::Constant;
pub use dtype::{DType, DTypeKind, UnknownDType};
pub use folds::{
    Extremes, FoldKernel, FoldOp, IndexRange, PairFoldKernel, PairFunction, PairOperand, PositionFoldKernel,
    ScaledFold, find_fold, find_pair_fold, find_position_fold,
};
pub use kernel_key::KernelKey;
pub use kernels::{Kernel, KernelContext, compare_mixed, find_cast, find_kernel, next_cast};
pub use op::Op;
pub use scalar::Scalar;
