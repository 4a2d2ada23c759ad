//! ONNX's element-wise operators as expressions.
//!
//! ONNX's rules, not NumPy's: the inputs of an operator have one type, which the output has, and nothing is
//! converted. What takes several steps is computed in single precision where the type is of half precision,
//! and rounded once.

use crate::error::Error;
use crate::graph::Node;
use crate::operators::Version;
use crate::types::{ElemType, Types};
use unishape::DType;
use unishape::expr::{Lazy, Op};

/// The type of an element-wise operator's output, for inputs of these types; what is left out has none.
pub(super) fn result_type(node: &Node, version: &Version, types: &[Option<DType>]) -> Result<DType, Error> {
    let name = version.operator.name;
    let of = |at: usize| types.get(at).copied().flatten();
    let decides = if name == "Where" { 1 } else { 0 };
    let dtype = of(decides).ok_or_else(|| Error::invalid(format!("input {decides} is left out")))?;
    version.check(dtype)?;
    for (at, &its) in types.iter().enumerate() {
        let Some(its) = its else { continue };
        let wanted = match (name, at) {
            ("Where", 0) => DType::Bool,
            ("CastLike", 1) => continue,
            ("Pow", 1) if version.since >= 12 => {
                if matches!(its, DType::Bool | DType::Str | DType::C64 | DType::C128) {
                    return Err(Error::invalid(format!(
                        "an exponent is a real number, not {}",
                        ElemType::of(its)
                    )));
                }
                continue;
            }
            _ => dtype,
        };
        if its != wanted {
            let (its, wanted) = (ElemType::of(its), ElemType::of(wanted));
            let problem = format!("input {at} is {its}, not {wanted}; ONNX converts by Cast alone");
            return Err(Error::invalid(problem));
        }
    }
    Ok(match name {
        "And" | "Or" | "Xor" | "Not" | "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual"
        | "IsNaN" | "IsInf" => DType::Bool,
        "Cast" => cast_target(node)?,
        "CastLike" => of(1).ok_or_else(|| Error::invalid("input 1 is left out"))?,
        _ => dtype,
    })
}

/// The type that a Cast is to.
pub(crate) fn cast_target(node: &Node) -> Result<DType, Error> {
    let to = node.attribute("to").ok_or_else(|| Error::invalid("the attribute to is missing"))?.int()?;
    let elem = ElemType::new(i32::try_from(to).unwrap_or(-1));
    match elem.dtype() {
        Some(DType::C64 | DType::C128) => Err(Error::invalid("Cast is not for complex numbers")),
        Some(dtype) => Ok(dtype),
        None => Err(Error::unsupported(format!("elements of type {elem} are not computed with"))),
    }
}

/// Refuses attributes that would fail only when something is computed.
pub(super) fn check(node: &Node, version: &Version, types: &[Option<DType>]) -> Result<(), Error> {
    let dtype = types.first().copied().flatten();
    match version.operator.name {
        "Mod" => {
            let is_float = matches!(dtype, Some(DType::F16 | DType::BF16 | DType::F32 | DType::F64));
            match node.int("fmod", 0)? {
                0 if is_float && version.since < 28 => Err(Error::invalid(
                    "before opset 28 Mod of floating point wants the attribute fmod to be 1",
                )),
                0 | 1 => Ok(()),
                other => Err(Error::invalid(format!("the attribute fmod is {other}, not 0 or 1"))),
            }
        }
        "BitShift" => direction(node).map(drop),
        "Gelu" => match node.string("approximate", "none")?.as_str() {
            "none" | "tanh" => Ok(()),
            other => {
                let other = crate::error::named(other);
                Err(Error::invalid(format!("the attribute approximate is '{other}', not none or tanh")))
            }
        },
        _ => Ok(()),
    }
}

fn direction(node: &Node) -> Result<Op, Error> {
    match node.string("direction", "")?.as_str() {
        "LEFT" => Ok(Op::ShiftLeft),
        "RIGHT" => Ok(Op::ShiftRight),
        _ => Err(Error::invalid("the attribute direction should be LEFT or RIGHT")),
    }
}

/// The operator of a node, of values of these types, none of which are strings. What is left out is `None`.
pub(super) fn build<'a>(
    node: &Node,
    version: &Version,
    from: &[Option<Lazy<'a>>],
    types: &[Option<DType>],
) -> Result<Lazy<'a>, Error> {
    let left_out = |at: usize| Error::invalid(format!("input {at} is left out"));
    let input = |at: usize| from.get(at).cloned().flatten().ok_or_else(|| left_out(at));
    let dtype_of = |at: usize| types.get(at).copied().flatten().ok_or_else(|| left_out(at));
    let name = version.operator.name;
    if name == "Where" {
        return Ok(Lazy::call(Op::Where, [input(0)?, input(1)?, input(2)?]));
    }
    let (x, dtype) = (input(0)?, dtype_of(0)?);
    let binary = |op: Op| Ok(Lazy::call(op, [input(0)?, input(1)?]));
    let unary = |op: Op| Ok(Lazy::call(op, [x.clone()]));
    let float = |name: &str, default: f32| node.float(name, default).map(Lazy::from);
    let all = || (0..from.len()).map(input).collect::<Result<Vec<_>, Error>>();
    let folded = |op: Op| -> Result<Lazy<'a>, Error> {
        let mut all = all()?.into_iter();
        let first = all.next().ok_or_else(|| left_out(0))?;
        Ok(all.fold(first, |so_far, next| Lazy::call(op, [so_far, next])))
    };
    // Several steps, as one.
    let steps = |make: &dyn Fn(Lazy<'a>) -> Lazy<'a>| Ok(wide(dtype, x.clone(), make));
    match name {
        "Add" => binary(Op::Add),
        "Sub" => binary(Op::Subtract),
        "Mul" => binary(Op::Multiply),
        // Of integers rounded toward 0, as these types have it.
        "Div" => binary(Op::Divide),
        "Mod" => binary(if node.int("fmod", 0)? == 1 { Op::Fmod } else { Op::Remainder }),
        "Pow" => Ok(power(x, input(1)?, dtype, dtype_of(1)?)),
        "Max" => folded(Op::Max),
        "Min" => folded(Op::Min),
        "Sum" | "Mean" => {
            let all = all()?;
            let count = if name == "Mean" { all.len() as i64 } else { 1 };
            let terms = all.into_iter().map(|term| widened(dtype, term));
            let sum = terms.reduce(|so_far, next| so_far + next).ok_or_else(|| left_out(0))?;
            Ok(narrowed(dtype, if count == 1 { sum } else { sum / Lazy::from(count) }))
        }
        "And" => binary(Op::LogicalAnd),
        "Or" => binary(Op::LogicalOr),
        "Xor" => binary(Op::LogicalXor),
        "BitShift" => binary(direction(node)?),
        "BitwiseAnd" => binary(Op::And),
        "BitwiseOr" => binary(Op::Or),
        "BitwiseXor" => binary(Op::Xor),
        "Equal" => binary(Op::Equal),
        "Greater" => binary(Op::Greater),
        "Less" => binary(Op::Less),
        "GreaterOrEqual" => binary(Op::GreaterEqual),
        "LessOrEqual" => binary(Op::LessEqual),
        "PRelu" => binary(Op::LeakyRelu),
        "Abs" => unary(Op::Abs),
        "Neg" => unary(Op::Negative),
        "Sign" => unary(Op::Sign),
        "Exp" => unary(Op::Exp),
        "Log" => unary(Op::Log),
        "Sqrt" => unary(Op::Sqrt),
        "Sigmoid" => unary(Op::Sigmoid),
        "Tanh" => unary(Op::Tanh),
        "Floor" => unary(Op::Floor),
        "Ceil" => unary(Op::Ceil),
        "Reciprocal" => unary(Op::Reciprocal),
        "Round" => unary(Op::Round),
        // Opset 9 had it for integers too, of which there is little left.
        "Erf" if matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64) => unary(Op::Erf),
        "Erf" => Ok(x.cast(DType::F64).erf().cast(dtype)),
        "Sin" => unary(Op::Sin),
        "Cos" => unary(Op::Cos),
        "Tan" => unary(Op::Tan),
        "Asin" => unary(Op::Asin),
        "Acos" => unary(Op::Acos),
        "Atan" => unary(Op::Atan),
        "Sinh" => unary(Op::Sinh),
        "Cosh" => unary(Op::Cosh),
        "Asinh" => unary(Op::Asinh),
        "Acosh" => unary(Op::Acosh),
        "Atanh" => unary(Op::Atanh),
        "Not" => unary(Op::LogicalNot),
        "BitwiseNot" => unary(Op::Invert),
        "IsNaN" => unary(Op::IsNan),
        "IsInf" => {
            let (below, above) = (node.int("detect_negative", 1)? != 0, node.int("detect_positive", 1)? != 0);
            let infinite = x.clone().is_inf();
            Ok(match (below, above) {
                (true, true) => infinite,
                (true, false) => infinite.logical_and(x.less(0)),
                (false, true) => infinite.logical_and(x.greater(0)),
                (false, false) => infinite.logical_and(false),
            })
        }
        "Relu" => Ok(x.max(0)),
        "LeakyRelu" => {
            let alpha = float("alpha", 0.01)?;
            steps(&|x| x.leaky_relu(&alpha))
        }
        "Elu" => {
            let alpha = float("alpha", 1.0)?;
            steps(&|x| where_(x.clone().less(0), &alpha * x.clone().expm1(), x))
        }
        "Selu" => {
            let (alpha, gamma) = (float("alpha", 1.673_263_2)?, float("gamma", 1.050_701)?);
            steps(&|x| &gamma * where_(x.clone().greater(0), x.clone(), &alpha * x.expm1()))
        }
        "Celu" => {
            let alpha = float("alpha", 1.0)?;
            steps(&|x| x.clone().max(0) + (&alpha * (x / &alpha).expm1()).min(0))
        }
        "ThresholdedRelu" => {
            let alpha = float("alpha", 1.0)?;
            steps(&|x| where_(x.clone().greater(&alpha), x, Lazy::from(0)))
        }
        "HardSigmoid" => {
            let (alpha, beta) = (float("alpha", 0.2)?, float("beta", 0.5)?);
            steps(&|x| (&alpha * x + &beta).min(1).max(0))
        }
        "HardSwish" => steps(&|x| x.clone() * (x * (1.0 / 6.0) + 0.5).min(1).max(0)),
        "Softplus" => steps(&softplus),
        "Softsign" => steps(&|x| x.clone() / (x.abs() + 1)),
        "Mish" => steps(&|x| x.clone() * softplus(x).tanh()),
        "Gelu" => match node.string("approximate", "none")?.as_str() {
            "tanh" => steps(&|x| {
                let cube = x.clone() * x.clone() * x.clone();
                let inner = (x.clone() + cube * 0.044_715) * (2.0 / std::f64::consts::PI).sqrt();
                x * 0.5 * (inner.tanh() + 1)
            }),
            _ => steps(&|x| x.clone() * 0.5 * ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1)),
        },
        "Swish" => {
            let alpha = float("alpha", 1.0)?;
            steps(&|x| x.clone() * (&alpha * x).sigmoid())
        }
        "Clip" => {
            // Attributes once, with defaults of their own; then inputs, which can be left out.
            let bound = |at: usize, name: &str, default: f32| -> Result<Option<Lazy<'a>>, Error> {
                match version.since < 11 {
                    true => float(name, default).map(Some),
                    false => Ok(from.get(at).cloned().flatten()),
                }
            };
            let (least, most) = (bound(1, "min", f32::MIN)?, bound(2, "max", f32::MAX)?);
            let x = least.map_or(x.clone(), |least| x.max(least));
            Ok(most.map_or(x.clone(), |most| x.min(most)))
        }
        "Cast" => Ok(x.cast(cast_target(node)?)),
        "CastLike" => Ok(x.cast(dtype_of(1)?)),
        "Identity" => Ok(x),
        other => Err(Error::unsupported(format!("{other} is no element-wise operator"))),
    }
}

/// A number of half precision, or an unchanged one of more.
fn widened(dtype: DType, x: Lazy<'_>) -> Lazy<'_> {
    if matches!(dtype, DType::F16 | DType::BF16) { x.cast(DType::F32) } else { x }
}

fn narrowed(dtype: DType, x: Lazy<'_>) -> Lazy<'_> {
    if matches!(dtype, DType::F16 | DType::BF16) { x.cast(dtype) } else { x }
}

fn wide<'a>(dtype: DType, x: Lazy<'a>, make: &dyn Fn(Lazy<'a>) -> Lazy<'a>) -> Lazy<'a> {
    narrowed(dtype, make(widened(dtype, x)))
}

fn where_<'a>(condition: Lazy<'a>, yes: Lazy<'a>, no: Lazy<'a>) -> Lazy<'a> {
    Lazy::call(Op::Where, [condition, yes, no])
}

/// log(1 + exp(x)), without overflow on the way.
fn softplus(x: Lazy<'_>) -> Lazy<'_> {
    x.logaddexp(0.0)
}

/// The result has the type of the base. The exponent may have another: then both meet where neither loses
/// anything to speak of, as in ONNX's own reference.
fn power<'a>(base: Lazy<'a>, exponent: Lazy<'a>, dtype: DType, other: DType) -> Lazy<'a> {
    let is_whole = |dtype: DType| Types::INTEGERS.has(dtype);
    let meet = match () {
        _ if dtype == other => return base.pow(exponent),
        // Powers of integers wrap, and so nothing is lost on the way through more bits.
        _ if is_whole(dtype) && is_whole(other) => {
            if Types::UNSIGNED.has(other) {
                DType::U64
            } else {
                DType::I64
            }
        }
        _ => dtype.promoted_with(other).unwrap_or(DType::F64),
    };
    base.cast(meet).pow(exponent.cast(meet)).cast(dtype)
}
