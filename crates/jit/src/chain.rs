//! What a fused kernel computes: a chain of calls on one vector width.

use unishape_kernels::{Constant, DType, KernelKey, Op};

/// Largest number of [block sources](Source::Block) of a chain: each takes a register.
pub const MAX_BLOCK_SOURCES: usize = 10;

/// Largest number of sources of a chain, scalars and constants included.
pub const MAX_SOURCES: usize = 32;

/// A call of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// What is computed.
    pub key: KernelKey,
    /// The values that it takes: sources first, then the results of calls, both from 0 on.
    pub inputs: &'c [usize],
}

/// What a chain reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
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
    pub sources: &'c [Source],
    /// In topological order.
    pub calls: &'c [Call<'c>],
}

/// How many elements a vector holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// Elements that are computed in 64 bits.
    Four,
    /// Elements that are computed in 32 bits.
    Eight,
}

impl Lanes {
    /// The number.
    pub(crate) fn count(self) -> usize {
        match self {
            Lanes::Four => 4,
            Lanes::Eight => 8,
        }
    }

    /// Whether elements of a dtype can be loaded into a vector.
    pub(crate) fn can_hold(self, dtype: DType) -> bool {
        use DType::*;
        match self {
            Lanes::Eight => matches!(dtype, Bool | U8 | I8 | U16 | I16 | I32 | U32 | F16 | BF16 | F32),
            Lanes::Four => matches!(dtype, Bool | U8 | I8 | U16 | I16 | I32 | F32 | F64 | I64 | U64),
        }
    }
}

/// In which vectors a function can be computed as part of a chain.
///
/// ```
/// use unishape_jit::{Fusable, Lanes, fusable};
/// use unishape_kernels::{DType, KernelKey, Op};
///
/// assert_eq!(fusable(KernelKey::Call(Op::Add, DType::F32)), Some(Fusable::In(Lanes::Eight)));
/// assert_eq!(fusable(KernelKey::Call(Op::And, DType::Bool)), Some(Fusable::InAny));
/// assert_eq!(fusable(KernelKey::Call(Op::Exp, DType::F32)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusable {
    /// In vectors of this many elements.
    In(Lanes),
    /// With any other function: it takes and returns booleans.
    InAny,
}

/// Whether a function can be part of a chain, and in which vectors; `None` if it has a kernel of its own only.
///
/// See [`Fusable`].
pub fn fusable(function: KernelKey) -> Option<Fusable> {
    use DType::*;
    let four = Some(Fusable::In(Lanes::Four));
    let eight = Some(Fusable::In(Lanes::Eight));
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
            is_known.then_some(Fusable::In(if dtype == F32 { Lanes::Eight } else { Lanes::Four }))
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
            is_known.then_some(Fusable::In(if is_long { Lanes::Four } else { Lanes::Eight }))
        }
        KernelKey::Call(..) => None,
    }
}

impl Chain<'_> {
    /// The vectors in which all calls are computed; `None` if there are none.
    pub(crate) fn lanes(&self) -> Option<Lanes> {
        let mut lanes = None;
        for call in self.calls {
            match (fusable(call.key)?, lanes) {
                (Fusable::InAny, _) => {}
                (Fusable::In(own), None) => lanes = Some(own),
                (Fusable::In(own), Some(other)) if own == other => {}
                (Fusable::In(_), Some(_)) => return None,
            }
        }
        lanes
    }
}
