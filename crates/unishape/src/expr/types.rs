//! Type promotion: the dtype of each result, by default as in NumPy 2 (NEP 50).

use super::error::ExprErrorKind;
use unishape_kernels::{DType, DTypeKind, Op, Scalar};

/// Rules of type promotion.
///
/// ```
/// use ndarray::arr1;
/// use unishape::expr::{Expr, Typing, Value};
///
/// let (a, b) = (arr1(&[1i16]), arr1(&[0.5f32]));
/// let values = [("a", Value::from(&a)), ("b", Value::from(&b))];
/// let expr = Expr::parse("a + b")?;
/// assert_eq!(expr.bind(values.clone())?.dtype(), unishape::DType::F32);
///
/// let error = expr.typed(Typing::Strict).bind(values).unwrap_err();
/// assert!(error.to_string().starts_with("int16 and float32 differ"));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Typing {
    /// As NumPy 2: operands are converted to their common dtype.
    ///
    /// Scalars do not widen it.
    #[default]
    Promote,
    /// As ONNX: operands must have the same dtype, and only casts convert.
    ///
    /// `/` of integers rounds toward 0.
    Strict,
}

/// Type of an argument: a dtype, or a scalar, which takes the dtype of the other arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ArgumentType {
    Typed(DType),
    Scalar(Scalar),
}

/// The dtype of a scalar without arrays.
pub(crate) fn default_type(number: Scalar) -> DType {
    match number {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(int) if DType::I64.can_hold(int) || !DType::U64.can_hold(int) => DType::I64,
        Scalar::Int(_) => DType::U64,
        Scalar::Float(_) => DType::F64,
        Scalar::Complex(_) => DType::C128,
    }
}

/// The common dtype of some arguments.
pub(crate) fn common_type(typing: Typing, arguments: &[ArgumentType]) -> Result<DType, ExprErrorKind> {
    let typed = || {
        arguments.iter().filter_map(|argument| match argument {
            ArgumentType::Typed(dtype) => Some(*dtype),
            ArgumentType::Scalar(_) => None,
        })
    };
    if typed().any(|dtype| dtype == DType::Str) {
        return Err(ExprErrorKind::Strings);
    }
    let mut common = None;
    for dtype in typed() {
        common = match common {
            None => Some(dtype),
            Some(same) if same == dtype => Some(same),
            Some(_) if typing == Typing::Strict => {
                return Err(ExprErrorKind::DifferentTypes(typed().collect()));
            }
            Some(other) => match dtype.promoted_with(other) {
                None => return Err(ExprErrorKind::NoCommonType(typed().collect())),
                promoted => promoted,
            },
        };
    }
    for argument in arguments {
        let ArgumentType::Scalar(number) = *argument else {
            continue;
        };
        let promoted = promote_with_scalar(typing, common, number);
        match common {
            Some(strong) if typing == Typing::Strict && promoted != strong => {
                return Err(ExprErrorKind::DoesNotFit { number: number.to_string(), dtype: strong });
            }
            _ => common = Some(promoted),
        }
    }
    common.ok_or_else(|| ExprErrorKind::NoCommonType(Vec::new()))
}

/// The common dtype of an array and a scalar, which changes that of the array only if its kind is higher.
///
/// bfloat16 is no dtype of NumPy itself: with ml_dtypes', a float gives float32.
fn promote_with_scalar(typing: Typing, array: Option<DType>, number: Scalar) -> DType {
    let Some(array) = array else {
        return default_type(number);
    };
    match (array.kind(), number) {
        (DTypeKind::Bool, number) => default_type(number),
        (DTypeKind::Unsigned | DTypeKind::Signed, Scalar::Float(_)) => DType::F64,
        (DTypeKind::Unsigned | DTypeKind::Signed, Scalar::Complex(_)) => DType::C128,
        (DTypeKind::Float, Scalar::Float(_)) if array == DType::BF16 && typing == Typing::Promote => {
            DType::F32
        }
        (DTypeKind::Float, Scalar::Complex(_)) => match array {
            DType::F64 => DType::C128,
            _ => DType::C64,
        },
        _ => array,
    }
}

/// The dtypes of a function for arguments of a common dtype.
pub(crate) struct Signature {
    /// Dtype to which the arguments are cast.
    pub(crate) operand_dtype: DType,
    /// Dtype of the result.
    pub(crate) result_dtype: DType,
}

/// The signature of a function for arguments of the common dtype `common`; `None` where it does not support it.
pub(crate) fn signature(typing: Typing, op: Op, common: DType) -> Option<Signature> {
    use Op::*;
    let kind = common.kind();
    let same = |dtype| Some(Signature { operand_dtype: dtype, result_dtype: dtype });
    let boolean = |dtype| Some(Signature { operand_dtype: dtype, result_dtype: DType::Bool });
    let is_real = kind < DTypeKind::Complex;
    match op {
        _ if kind == DTypeKind::Str => None,
        Add | Multiply => same(common),
        Subtract | Negative | Positive | Sign => (kind != DTypeKind::Bool).then(|| same(common))?,
        Conj | Square | Reciprocal => same(if kind == DTypeKind::Bool { DType::I8 } else { common }),
        Abs => Some(Signature { operand_dtype: common, result_dtype: common.real_dtype() }),
        Divide if typing == Typing::Strict => same(common),
        Divide => same(if kind < DTypeKind::Float { DType::F64 } else { common }),
        LeakyRelu => (is_real && kind != DTypeKind::Bool).then(|| same(common))?,
        FloorDivide | Remainder | Fmod | TruncDivide => {
            is_real.then(|| same(if kind == DTypeKind::Bool { DType::I8 } else { common }))?
        }
        Pow => same(if kind == DTypeKind::Bool { DType::I8 } else { common }),
        Equal | NotEqual => boolean(common),
        Less | LessEqual | Greater | GreaterEqual => boolean(common),
        LogicalAnd | LogicalOr | LogicalXor | LogicalNot => boolean(DType::Bool),
        And | Or | Xor | Invert => (kind < DTypeKind::Float).then(|| same(common))?,
        ShiftLeft | ShiftRight => (kind < DTypeKind::Float)
            .then(|| same(if kind == DTypeKind::Bool { DType::I8 } else { common }))?,
        Min | Max | Clip => same(common),
        Where => same(common),
        Floor | Ceil | Trunc => is_real.then(|| same(common))?,
        Rint => same(common.float_dtype()),
        Round => same(if kind == DTypeKind::Bool { DType::F16 } else { common }),
        IsNan | IsInf | IsFinite => boolean(common),
        Signbit => is_real.then(|| boolean(if kind == DTypeKind::Bool { DType::F16 } else { common }))?,
        Real | Imag => Some(Signature { operand_dtype: common, result_dtype: common.real_dtype() }),
        Fmax | Fmin => same(common),
        FloatPower => same(if kind == DTypeKind::Complex { DType::C128 } else { DType::F64 }),
        RoundTo => (is_real && kind != DTypeKind::Bool).then(|| same(common))?,
        Atan2 | Hypot | Logaddexp | Logaddexp2 | Copysign | Nextafter | Cbrt | Erf | Heaviside | Deg2rad
        | Rad2deg => is_real.then(|| same(common.float_dtype()))?,
        Sigmoid | Acos | Acosh | Asin | Asinh | Atan | Atanh | Cos | Cosh | Exp | Exp2 | Expm1 | Log
        | Log10 | Log1p | Log2 | Sin | Sinh | Sqrt | Tan | Tanh => same(common.float_dtype()),
    }
}
