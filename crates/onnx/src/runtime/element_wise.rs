//! Element-wise ONNX operators as expressions.
//!
//! ONNX does not promote types: all inputs of an operator have the same element type, and so has the output.
//! Operators that take several steps compute float16 and bfloat16 in float and round once.

use crate::elem_type::{ElemType, TypeSet};
use crate::error::{Error, display_name};
use crate::graph::Node;
use crate::operators::OperatorVersion;
use unishape::DType;
use unishape::expr::{Lazy, Op};

/// Checks the input types of an element-wise node and returns its output type; omitted inputs are `None`.
pub(super) fn result_type(
    node: &Node,
    version: &OperatorVersion,
    types: &[Option<DType>],
) -> Result<DType, Error> {
    let name = version.operator.name;
    let input_type =
        |index: usize| types.get(index).copied().flatten().ok_or_else(|| Error::missing_input(index));
    let dtype = input_type(version.operator.typed_input())?;
    version.check_type(dtype)?;
    for (index, &actual) in types.iter().enumerate() {
        let Some(actual) = actual else { continue };
        let expected = match (name, index) {
            ("Where", 0) => DType::Bool,
            ("CastLike", 1) => continue,
            ("Pow", 1) if version.since >= 12 => {
                if matches!(actual, DType::Bool | DType::Str | DType::C64 | DType::C128) {
                    return Err(Error::invalid(format!(
                        "the exponent must be an integer or a floating-point number, not {}",
                        ElemType::of(actual)
                    )));
                }
                continue;
            }
            _ => dtype,
        };
        if actual != expected {
            let (actual, expected) = (ElemType::of(actual), ElemType::of(expected));
            let problem = format!("input {index} is {actual}, not {expected}; convert it with Cast");
            return Err(Error::invalid(problem));
        }
    }
    Ok(match name {
        _ if version.operator.has_bool_output() => DType::Bool,
        "Cast" => cast_target(node)?,
        "CastLike" => input_type(1)?,
        _ => dtype,
    })
}

/// Target type of a Cast node.
pub(crate) fn cast_target(node: &Node) -> Result<DType, Error> {
    let to = node.attribute("to").ok_or_else(|| Error::invalid("the attribute to is missing"))?.int()?;
    let elem = ElemType::new(i32::try_from(to).unwrap_or(-1));
    match elem.dtype() {
        Some(DType::C64 | DType::C128) => Err(Error::invalid("Cast does not support complex numbers")),
        Some(dtype) => Ok(dtype),
        None => Err(Error::unsupported(format!("element type {elem} is not supported"))),
    }
}

/// Checks attributes before the node is deferred.
pub(super) fn check_attributes(
    node: &Node,
    version: &OperatorVersion,
    types: &[Option<DType>],
) -> Result<(), Error> {
    let dtype = types.first().copied().flatten();
    match version.operator.name {
        "Mod" => {
            let is_float = matches!(dtype, Some(DType::F16 | DType::BF16 | DType::F32 | DType::F64));
            match node.int("fmod", 0)? {
                0 if is_float && version.since < 28 => Err(Error::invalid(
                    "before opset 28, Mod of floating-point numbers requires the attribute fmod = 1",
                )),
                0 | 1 => Ok(()),
                other => Err(Error::invalid(format!("the attribute fmod is {other}, not 0 or 1"))),
            }
        }
        "BitShift" => shift_op(node).map(drop),
        "Gelu" => match node.string("approximate", "none")?.as_str() {
            "none" | "tanh" => Ok(()),
            other => {
                let other = display_name(other);
                Err(Error::invalid(format!("the attribute approximate is '{other}', not none or tanh")))
            }
        },
        _ => Ok(()),
    }
}

fn shift_op(node: &Node) -> Result<Op, Error> {
    match node.string("direction", "")?.as_str() {
        "LEFT" => Ok(Op::ShiftLeft),
        "RIGHT" => Ok(Op::ShiftRight),
        _ => Err(Error::invalid("the attribute direction must be LEFT or RIGHT")),
    }
}

/// Expression of an element-wise node without strings; omitted inputs are `None`.
pub(super) fn build_expression<'a>(
    node: &Node,
    version: &OperatorVersion,
    inputs: &[Option<Lazy<'a>>],
    types: &[Option<DType>],
) -> Result<Lazy<'a>, Error> {
    let missing = Error::missing_input;
    let input = |index: usize| inputs.get(index).cloned().flatten().ok_or_else(|| missing(index));
    let dtype_of = |index: usize| types.get(index).copied().flatten().ok_or_else(|| missing(index));
    let name = version.operator.name;
    if name == "Where" {
        return Ok(Lazy::call(Op::Where, [input(0)?, input(1)?, input(2)?]));
    }
    let (x, dtype) = (input(0)?, dtype_of(0)?);
    let binary = |op: Op| Ok(Lazy::call(op, [input(0)?, input(1)?]));
    let unary = |op: Op| Ok(Lazy::call(op, [x.clone()]));
    let float = |name: &str, default: f32| node.float(name, default).map(Lazy::from);
    let all = || (0..inputs.len()).map(input).collect::<Result<Vec<_>, Error>>();
    let fold = |op: Op| -> Result<Lazy<'a>, Error> {
        let mut all = all()?.into_iter();
        let first = all.next().ok_or_else(|| missing(0))?;
        Ok(all.fold(first, |acc, next| Lazy::call(op, [acc, next])))
    };
    // An expression of several steps, rounded once.
    let steps = |build: &dyn Fn(Lazy<'a>) -> Lazy<'a>| Ok(narrow(dtype, build(widen(dtype, x.clone()))));
    match name {
        "Add" => binary(Op::Add),
        "Sub" => binary(Op::Subtract),
        "Mul" => binary(Op::Multiply),
        // Integer division truncates toward 0.
        "Div" => binary(Op::Divide),
        "Mod" => binary(if node.int("fmod", 0)? == 1 { Op::Fmod } else { Op::Remainder }),
        "Pow" => Ok(pow(x, input(1)?, dtype, dtype_of(1)?)),
        "Max" => fold(Op::Max),
        "Min" => fold(Op::Min),
        "Sum" | "Mean" => {
            let all = all()?;
            let count = if name == "Mean" { all.len() as i64 } else { 1 };
            let terms = all.into_iter().map(|term| widen(dtype, term));
            let sum = terms.reduce(|acc, next| acc + next).ok_or_else(|| missing(0))?;
            Ok(narrow(dtype, if count == 1 { sum } else { sum / Lazy::from(count) }))
        }
        "And" => binary(Op::LogicalAnd),
        "Or" => binary(Op::LogicalOr),
        "Xor" => binary(Op::LogicalXor),
        "BitShift" => binary(shift_op(node)?),
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
        // Opset 9 also supports integers; the result is truncated.
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
            let (negative, positive) =
                (node.int("detect_negative", 1)? != 0, node.int("detect_positive", 1)? != 0);
            let infinite = x.clone().is_inf();
            Ok(match (negative, positive) {
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
            steps(&|x| select(x.clone().less(0), &alpha * x.clone().expm1(), x))
        }
        "Selu" => {
            let (alpha, gamma) = (float("alpha", 1.673_263_2)?, float("gamma", 1.050_701)?);
            steps(&|x| &gamma * select(x.clone().greater(0), x.clone(), &alpha * x.expm1()))
        }
        "Celu" => {
            let alpha = float("alpha", 1.0)?;
            steps(&|x| x.clone().max(0) + (&alpha * (x / &alpha).expm1()).min(0))
        }
        "ThresholdedRelu" => {
            let alpha = float("alpha", 1.0)?;
            steps(&|x| select(x.clone().greater(&alpha), x, Lazy::from(0)))
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
            // Opset 11 turned the attributes min and max, which had defaults, into optional inputs.
            let bound = |index: usize, name: &str, default: f32| -> Result<Option<Lazy<'a>>, Error> {
                match version.since < 11 {
                    true => float(name, default).map(Some),
                    false => Ok(inputs.get(index).cloned().flatten()),
                }
            };
            let (min, max) = (bound(1, "min", f32::MIN)?, bound(2, "max", f32::MAX)?);
            let x = min.map_or(x.clone(), |min| x.max(min));
            Ok(max.map_or(x.clone(), |max| x.min(max)))
        }
        "Cast" => Ok(x.cast(cast_target(node)?)),
        "CastLike" => Ok(x.cast(dtype_of(1)?)),
        "Identity" => Ok(x),
        other => Err(Error::unsupported(format!("{other} is not an element-wise operator"))),
    }
}

/// The type that float16 and bfloat16 are computed in; others are their own.
pub(super) fn wide(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }
}

/// Casts float16 and bfloat16 to float.
pub(super) fn widen(dtype: DType, x: Lazy<'_>) -> Lazy<'_> {
    if wide(dtype) == dtype { x } else { x.cast(wide(dtype)) }
}

/// Casts the result back to float16 or bfloat16.
pub(super) fn narrow(dtype: DType, x: Lazy<'_>) -> Lazy<'_> {
    if wide(dtype) == dtype { x } else { x.cast(dtype) }
}

fn select<'a>(condition: Lazy<'a>, if_true: Lazy<'a>, if_false: Lazy<'a>) -> Lazy<'a> {
    Lazy::call(Op::Where, [condition, if_true, if_false])
}

/// log(1 + exp(x)), without overflow.
fn softplus(x: Lazy<'_>) -> Lazy<'_> {
    x.logaddexp(0.0)
}

/// Power with the type of the base.
///
/// An exponent of another type is computed in a common type, as in the ONNX reference implementation.
fn pow<'a>(base: Lazy<'a>, exponent: Lazy<'a>, base_type: DType, exponent_type: DType) -> Lazy<'a> {
    let is_integer = |dtype: DType| TypeSet::INTEGERS.contains(dtype);
    let common = match () {
        _ if base_type == exponent_type => return base.pow(exponent),
        // Integer powers wrap, so truncating a 64-bit result is exact.
        _ if is_integer(base_type) && is_integer(exponent_type) => {
            if TypeSet::UNSIGNED.contains(exponent_type) { DType::U64 } else { DType::I64 }
        }
        _ => base_type.promoted_with(exponent_type).unwrap_or(DType::F64),
    };
    base.cast(common).pow(exponent.cast(common)).cast(base_type)
}
