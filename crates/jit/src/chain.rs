//! What a fused kernel computes: a chain of calls on elements of one width.

use unishape_kernels::{Constant, DType, KernelKey, Op};

/// Largest number of [blocks](ChainInput::Block) among the inputs of a chain.
///
/// Each takes a register.
pub const MAX_BLOCK_INPUTS: usize = 10;

/// Largest number of inputs of a chain, scalars and constants included.
pub const MAX_INPUTS: usize = 32;

/// A call of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// What is computed.
    pub key: KernelKey,
    /// The numbers of the values that it takes.
    ///
    /// The chain's inputs come first, then the results of calls, both from 0 on.
    pub inputs: &'c [usize],
}

/// What a chain reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChainInput {
    /// An element for each element of the result.
    Block,
    /// One element, which is repeated.
    Scalar,
    /// One element, always the same: a kernel may rely on its value.
    Constant(Constant),
}

/// Calls that are computed together; the last one is the result.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'c> {
    /// The inputs.
    pub inputs: &'c [ChainInput],
    /// In topological order.
    pub calls: &'c [Call<'c>],
}

/// In how many bits the elements of a chain are computed; all of them in the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementWidth {
    /// Numbers of 32 bits.
    ///
    /// float32, 32-bit integers, and what becomes one of them: float16, bfloat16, smaller integers.
    Bits32,
    /// float64, 64-bit integers, and what becomes one of them.
    Bits64,
}

#[cfg(target_arch = "x86_64")]
impl ElementWidth {
    /// Bytes of an element.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            ElementWidth::Bits32 => 4,
            ElementWidth::Bits64 => 8,
        }
    }

    /// Whether elements of a dtype can be loaded into a vector of such elements.
    pub(crate) fn can_hold(self, dtype: DType) -> bool {
        use DType::*;
        match self {
            ElementWidth::Bits32 => {
                matches!(dtype, Bool | U8 | I8 | U16 | I16 | I32 | U32 | F16 | BF16 | F32)
            }
            ElementWidth::Bits64 => matches!(dtype, Bool | U8 | I8 | U16 | I16 | I32 | F32 | F64 | I64 | U64),
        }
    }
}

/// In which chains a function can be computed.
///
/// ```
/// use unishape_jit::{Fusable, ElementWidth, fusable};
/// use unishape_kernels::{DType, KernelKey, Op};
///
/// assert_eq!(fusable(KernelKey::Call(Op::Add, DType::F32)), Some(Fusable::In(ElementWidth::Bits32)));
/// assert_eq!(fusable(KernelKey::Call(Op::And, DType::Bool)), Some(Fusable::InAny));
/// assert_eq!(fusable(KernelKey::Call(Op::Exp, DType::F32)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusable {
    /// In those with elements of this width.
    In(ElementWidth),
    /// In all: it takes and returns booleans.
    InAny,
}

impl Fusable {
    /// The width of elements that the function needs, if it needs one.
    pub fn width(self) -> Option<ElementWidth> {
        match self {
            Fusable::In(width) => Some(width),
            Fusable::InAny => None,
        }
    }
}

/// Whether a function can be part of a chain, and of which.
///
/// `None` if it has a kernel of its own only.
///
/// See [`Fusable`].
pub fn fusable(function: KernelKey) -> Option<Fusable> {
    use DType::*;
    let four = Some(Fusable::In(ElementWidth::Bits64));
    let eight = Some(Fusable::In(ElementWidth::Bits32));
    match function {
        KernelKey::CompareMixed(..) => None,
        KernelKey::Cast(from, to) => match (from, to) {
            (Bool, F32) | (F32, Bool | F16 | BF16) | (F16 | BF16 | U8 | I8 | U16 | I16 | I32, F32) => eight,
            (Bool | F32 | U8 | I8 | U16 | I16 | I32, F64) | (F64, Bool | F32) => four,
            _ => None,
        },
        KernelKey::Call(Op::Where, dtype) => match dtype {
            Bool => Some(Fusable::InAny),
            F32 | I32 | U32 | F16 | BF16 => eight,
            F64 | I64 | U64 => four,
            _ => None,
        },
        KernelKey::Call(op, Bool) => {
            use Op::{Add, And, Equal, Invert, Max, Min, Multiply, NotEqual, Or, Xor};
            use Op::{LogicalAnd, LogicalNot, LogicalOr, LogicalXor};
            let is_known = matches!(
                op,
                Add | And
                    | Equal
                    | Invert
                    | Max
                    | Min
                    | Multiply
                    | NotEqual
                    | Or
                    | Xor
                    | LogicalAnd
                    | LogicalNot
                    | LogicalOr
                    | LogicalXor
            );
            is_known.then_some(Fusable::InAny)
        }
        KernelKey::Call(op, dtype @ (F32 | F64)) => {
            use Op::{Abs, Add, Copysign, Divide, LeakyRelu, Max, Min, Multiply, Negative, Sqrt, Subtract};
            use Op::{Ceil, Equal, Floor, Less, LessEqual, NotEqual, Round, Trunc, TruncDivide};
            let is_known = matches!(
                op,
                Abs | Add
                    | Copysign
                    | Divide
                    | LeakyRelu
                    | Max
                    | Min
                    | Multiply
                    | Negative
                    | Sqrt
                    | Subtract
                    | Ceil
                    | Equal
                    | Floor
                    | Less
                    | LessEqual
                    | NotEqual
                    | Round
                    | Trunc
                    | TruncDivide
            );
            is_known.then_some(Fusable::In(if dtype == F32 {
                ElementWidth::Bits32
            } else {
                ElementWidth::Bits64
            }))
        }
        KernelKey::Call(op, dtype @ (I32 | U32 | I64 | U64)) => {
            let (is_long, is_signed) = (matches!(dtype, I64 | U64), matches!(dtype, I32 | I64));
            let is_known = match op {
                Op::Add | Op::Subtract | Op::And | Op::Or | Op::Xor | Op::Equal | Op::NotEqual => true,
                Op::Less | Op::LessEqual => is_signed,
                Op::Multiply | Op::Min | Op::Max => !is_long,
                Op::Abs => dtype == I32,
                _ => false,
            };
            is_known.then_some(Fusable::In(if is_long { ElementWidth::Bits64 } else { ElementWidth::Bits32 }))
        }
        KernelKey::Call(..) => None,
    }
}

#[cfg(target_arch = "x86_64")]
impl Chain<'_> {
    /// The width of elements in which all calls are computed; `None` if there is none.
    pub(crate) fn width(&self) -> Option<ElementWidth> {
        let mut width = None;
        for call in self.calls {
            match (fusable(call.key)?.width(), width) {
                (None, _) => {}
                (own, None) => width = own,
                (own, other) if own == other => {}
                _ => return None,
            }
        }
        width
    }
}
