//! Which type a result has. By default as NumPy 2 has it: operands meet at the smallest type that holds them
//! all, and a number that is written takes the type of the arrays it meets (NEP 50).

use super::error::Problem;
use unishape_kernels::{DType, DTypeKind, Op, Scalar};

/// Which types go together.
///
/// ```
/// use ndarray::arr1;
/// use unishape::expr::{Expr, Typing, Value};
///
/// let (a, b) = (arr1(&[1i16]), arr1(&[0.5f32]));
/// let given = [("a", Value::from(&a)), ("b", Value::from(&b))];
/// let expr = Expr::parse("a + b")?;
/// assert_eq!(expr.bind(given.clone())?.dtype(), unishape::DType::F32);
///
/// let error = expr.typed(Typing::Strict).bind(given).unwrap_err();
/// assert!(error.to_string().starts_with("int16 and float32 differ"));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Typing {
    /// As NumPy 2: operands are converted to their common type, and written numbers do not widen it.
    #[default]
    Promote,
    /// As ONNX: the operands of an operator have one type, which is the result's; nothing is converted but
    /// by a cast. `/` of integers then rounds toward 0.
    Strict,
}

/// What is known about an argument: its type, or that it is a number that takes another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Argument {
    Typed(DType),
    Scalar(Scalar),
}

/// The type that a number has where it meets no array.
pub(crate) fn default_type(number: Scalar) -> DType {
    match number {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(int) if DType::I64.can_hold(int) || !DType::U64.can_hold(int) => DType::I64,
        Scalar::Int(_) => DType::U64,
        Scalar::Float(_) => DType::F64,
        Scalar::Complex(_) => DType::C128,
    }
}

/// The type at which arguments meet.
pub(crate) fn common_type(typing: Typing, arguments: &[Argument]) -> Result<DType, Problem> {
    let typed = || {
        arguments.iter().filter_map(|argument| match argument {
            Argument::Typed(dtype) => Some(*dtype),
            Argument::Scalar(_) => None,
        })
    };
    if typed().any(|dtype| dtype == DType::Str) {
        return Err(Problem::Strings);
    }
    let mut common = None;
    for dtype in typed() {
        common = match common {
            None => Some(dtype),
            Some(same) if same == dtype => Some(same),
            Some(_) if typing == Typing::Strict => return Err(Problem::DifferentTypes(typed().collect())),
            Some(other) => match dtype.promoted_with(other) {
                None => return Err(Problem::NoCommonType(typed().collect())),
                promoted => promoted,
            },
        };
    }
    for argument in arguments {
        let Argument::Scalar(number) = *argument else {
            continue;
        };
        let met = meet(common, number);
        match common {
            Some(strong) if typing == Typing::Strict && met != strong => {
                return Err(Problem::DoesNotFit { number: number.to_string(), dtype: strong });
            }
            _ => common = Some(met),
        }
    }
    common.ok_or_else(|| Problem::NoCommonType(Vec::new()))
}

/// The type of an array together with a written number, which widens it only to another kind.
fn meet(array: Option<DType>, number: Scalar) -> DType {
    let Some(array) = array else {
        return default_type(number);
    };
    match (array.kind(), number) {
        (_, Scalar::Bool(_)) => array,
        (DTypeKind::Bool, number) => default_type(number),
        (DTypeKind::Unsigned | DTypeKind::Signed, Scalar::Float(_)) => DType::F64,
        (DTypeKind::Unsigned | DTypeKind::Signed, Scalar::Complex(_)) => DType::C128,
        (DTypeKind::Float, Scalar::Complex(_)) => match array {
            DType::F64 => DType::C128,
            _ => DType::C64,
        },
        _ => array,
    }
}

/// What a function computes in and what it gives, for arguments that meet at a type.
pub(crate) struct Signature {
    /// What the arguments are cast to.
    pub(crate) takes: DType,
    pub(crate) gives: DType,
}

/// The signature of a function whose arguments meet at `common`, if it has one for it.
pub(crate) fn signature(typing: Typing, op: Op, common: DType) -> Option<Signature> {
    use Op::*;
    let kind = common.kind();
    let same = |dtype| Some(Signature { takes: dtype, gives: dtype });
    let truth = |dtype| Some(Signature { takes: dtype, gives: DType::Bool });
    let is_real = kind < DTypeKind::Complex;
    match op {
        _ if kind == DTypeKind::Str => None,
        Add | Multiply => same(common),
        Subtract | Negative | Positive | Sign => (kind != DTypeKind::Bool).then(|| same(common))?,
        Conj | Square | Reciprocal => same(if kind == DTypeKind::Bool { DType::I8 } else { common }),
        Abs => Some(Signature { takes: common, gives: common.real_dtype() }),
        Divide if typing == Typing::Strict => same(common),
        Divide => same(if kind < DTypeKind::Float { DType::F64 } else { common }),
        LeakyRelu => (is_real && kind != DTypeKind::Bool).then(|| same(common))?,
        FloorDivide | Remainder | Fmod | TruncDivide => {
            is_real.then(|| same(if kind == DTypeKind::Bool { DType::I8 } else { common }))?
        }
        Pow => same(if kind == DTypeKind::Bool { DType::I8 } else { common }),
        Equal | NotEqual => truth(common),
        Less | LessEqual | Greater | GreaterEqual => truth(common),
        LogicalAnd | LogicalOr | LogicalXor | LogicalNot => truth(DType::Bool),
        And | Or | Xor | Invert => (kind < DTypeKind::Float).then(|| same(common))?,
        ShiftLeft | ShiftRight => (kind < DTypeKind::Float)
            .then(|| same(if kind == DTypeKind::Bool { DType::I8 } else { common }))?,
        Min | Max | Clip => same(common),
        Where => same(common),
        Floor | Ceil | Trunc => is_real.then(|| same(common))?,
        Round => same(if kind == DTypeKind::Bool { DType::F16 } else { common }),
        IsNan | IsInf | IsFinite => truth(common),
        Signbit => is_real.then(|| truth(if kind == DTypeKind::Bool { DType::F16 } else { common }))?,
        Real | Imag => Some(Signature { takes: common, gives: common.real_dtype() }),
        Atan2 | Hypot | Logaddexp | Copysign | Nextafter | Cbrt | Erf => {
            is_real.then(|| same(common.float_dtype()))?
        }
        Sigmoid | Acos | Acosh | Asin | Asinh | Atan | Atanh | Cos | Cosh | Exp | Exp2 | Expm1 | Log
        | Log10 | Log1p | Log2 | Sin | Sinh | Sqrt | Tan | Tanh => same(common.float_dtype()),
    }
}
