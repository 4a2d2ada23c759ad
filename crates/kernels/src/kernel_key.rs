//! Keys of kernels: what a kernel computes, for executors that have code of their own for it.

use crate::kernels::{Kernel, compare_mixed, find_cast, find_kernel};
use crate::{DType, Op};

/// What a [`Kernel`] computes.
///
/// ```
/// use unishape_kernels::{DType, KernelKey, Op};
///
/// let key = KernelKey::Call(Op::Sqrt, DType::F32);
/// assert_eq!((key.name(), key.result_dtype()), ("sqrt", DType::F32));
/// assert!(key.kernel().is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelKey {
    /// An operation on inputs of a dtype; the first input of [`Op::Where`] is boolean.
    Call(Op, DType),
    /// A comparison of an `int64` and a `uint64`; `true` where the signed one comes first.
    CompareMixed(Op, bool),
    /// A cast from one dtype to another.
    Cast(DType, DType),
}

impl KernelKey {
    /// Name of the operation, or of the dtype that is cast to.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey};
    /// assert_eq!(KernelKey::Cast(DType::F16, DType::F32).name(), "float32");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            KernelKey::Call(op, _) | KernelKey::CompareMixed(op, _) => op.name(),
            KernelKey::Cast(_, to) => to.name(),
        }
    }

    /// The kernel, if there is one.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey, Op};
    /// // Computed as `b < a`.
    /// assert!(KernelKey::Call(Op::Greater, DType::I8).kernel().is_none());
    /// ```
    pub fn kernel(self) -> Option<Kernel> {
        match self {
            KernelKey::Call(op, dtype) => find_kernel(op, dtype),
            KernelKey::CompareMixed(op, signed_first) => compare_mixed(op, signed_first),
            KernelKey::Cast(from, to) => find_cast(from, to),
        }
    }

    /// Dtype of input `position`.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey, Op};
    /// let choose = KernelKey::Call(Op::Where, DType::F64);
    /// assert_eq!([0, 1].map(|at| choose.input_dtype(at)), [DType::Bool, DType::F64]);
    /// ```
    pub const fn input_dtype(self, position: usize) -> DType {
        match self {
            KernelKey::Call(Op::Where, _) if position == 0 => DType::Bool,
            KernelKey::Call(_, dtype) | KernelKey::Cast(dtype, _) => dtype,
            KernelKey::CompareMixed(_, signed_first) if (position == 0) == signed_first => DType::I64,
            KernelKey::CompareMixed(..) => DType::U64,
        }
    }

    /// Dtype of the result.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey, Op};
    /// assert_eq!(KernelKey::Call(Op::Less, DType::F64).result_dtype(), DType::Bool);
    /// assert_eq!(KernelKey::Call(Op::Abs, DType::C64).result_dtype(), DType::F32);
    /// ```
    pub const fn result_dtype(self) -> DType {
        match self {
            KernelKey::CompareMixed(..) => DType::Bool,
            KernelKey::Cast(_, to) => to,
            KernelKey::Call(op, dtype) => match op {
                Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                    DType::Bool
                }
                Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor | Op::LogicalNot => DType::Bool,
                Op::IsNan | Op::IsInf | Op::IsFinite | Op::Signbit => DType::Bool,
                Op::Abs | Op::Real | Op::Imag => dtype.real_dtype(),
                _ => dtype,
            },
        }
    }
}
