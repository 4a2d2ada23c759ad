//! What a kernel computes.

use crate::{DType, Op};

/// What a kernel computes: an operation or a cast.
///
/// ```
/// use unishape_kernels::{DType, Function, Op};
///
/// let less = Function::Call(Op::Less, DType::F64);
/// assert_eq!((less.name(), less.result()), ("less", DType::Bool));
/// assert_eq!(Function::Cast(DType::I8, DType::F32).name(), "float32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// An operation of elements of a dtype. The condition of [`Op::Where`] is boolean.
    Call(Op, DType),
    /// A comparison of a signed and an unsigned integer; `true` where the signed one comes first.
    CompareMixed(Op, bool),
    /// A cast from one dtype to another.
    Cast(DType, DType),
}

impl Function {
    /// Its name in a plan: that of the operation, or of the dtype that is cast to.
    ///
    /// ```
    /// # use unishape_kernels::{DType, Function, Op};
    /// assert_eq!(Function::Call(Op::Pow, DType::F64).name(), "pow");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Function::Call(op, _) | Function::CompareMixed(op, _) => op.name(),
            Function::Cast(_, to) => to.name(),
        }
    }

    /// Dtype of its results, for operations on real numbers.
    ///
    /// ```
    /// # use unishape_kernels::{DType, Function, Op};
    /// assert_eq!(Function::Call(Op::Add, DType::F64).result(), DType::F64);
    /// assert_eq!(Function::Call(Op::Less, DType::F64).result(), DType::Bool);
    /// ```
    pub fn result(self) -> DType {
        match self {
            Function::Cast(_, to) => to,
            Function::CompareMixed(..) => DType::Bool,
            Function::Call(Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Signbit, _) => {
                DType::Bool
            }
            Function::Call(_, dtype) => dtype,
        }
    }
}
