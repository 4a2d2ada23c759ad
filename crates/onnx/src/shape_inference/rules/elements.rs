//! Elements of small values: shapes that a model computes when it runs.

use super::call::{Call, elem};
use crate::elem_type::ElemType;
use crate::runtime::shape_ops::{constant_value, fill_value, resolve_axis, shape_range};
use crate::shape_inference::expression::SizeExpr;
use crate::shape_inference::inferred_value::{InferredValue, ShapeData};
use crate::shape_inference::symbolic::{Dim, MAX_INFERRED_RANK, SymbolicShape};
use crate::tensor_proto::TensorProto;
use std::path::Path;
use unishape::{DType, Tensor, TensorView};

/// Largest integer up to which all integers are float values.
const MAX_FLOAT_INT: i64 = 1 << 24;

/// Type and shape of a tensor, and its elements if there are few.
pub(crate) fn infer_tensor(tensor: &TensorProto, base_dir: Option<&Path>) -> InferredValue {
    let is_short = matches!(tensor.shape[..], [] | [0..=MAX_INFERRED_RANK]);
    let data =
        if is_short { tensor.decode(base_dir).ok().and_then(|tensor| tensor_data(&tensor)) } else { None };
    InferredValue { elem: Some(tensor.elem), shape: SymbolicShape::known(&tensor.shape), data }
}

/// Elements of a tensor of rank 0 or 1.
fn tensor_data(tensor: &Tensor) -> Option<ShapeData> {
    if tensor.shape().iter().product::<usize>() > MAX_INFERRED_RANK || tensor.shape().len() > 1 {
        return None;
    }
    let ints =
        |ints: &mut dyn Iterator<Item = i64>| Some(ShapeData::Elements(ints.map(SizeExpr::int).collect()));
    match tensor.view() {
        TensorView::I64(view) => ints(&mut view.iter().copied()),
        TensorView::I32(view) => ints(&mut view.iter().map(|&int| int.into())),
        TensorView::Bool(view) => ints(&mut view.iter().map(|&bit| bit.into())),
        TensorView::F32(view) => Some(floats(view.iter().map(|&x| x.into()).collect())),
        TensorView::F64(view) => Some(floats(view.iter().copied().collect())),
        _ => None,
    }
}

/// Integers if all are, which can be combined with unknown sizes.
fn floats(floats: Vec<f64>) -> ShapeData {
    let int =
        |float: &f64| (float.fract() == 0.0 && float.abs() <= MAX_FLOAT_INT as f64).then_some(*float as i64);
    match floats.iter().map(int).collect::<Option<Vec<i64>>>() {
        Some(ints) => ShapeData::Elements(ints.into_iter().map(SizeExpr::int).collect()),
        None => ShapeData::Floats(floats),
    }
}

/// Elements of an output of this shape; `None` if they are not known.
pub(super) fn data(call: Call<'_>, shape: &SymbolicShape) -> Option<ShapeData> {
    if call.output > 0 && call.node.op_type != "Split" {
        return None;
    }
    if call.node.op_type == "Shape" {
        return shape_data(call);
    }
    if matches!(call.node.op_type.as_str(), "Identity") {
        return call.get(0)?.data.clone();
    }
    // A list of at most this many elements.
    let count = match shape.sizes()?.as_slice() {
        [] => 1,
        &[count] if count <= MAX_INFERRED_RANK => count,
        _ => return None,
    };
    let elements = match call.node.op_type.as_str() {
        "Constant" => return constant(call),
        "Cast" => return cast(call),
        "Floor" | "Ceil" | "Round" => return rounded(call),
        "ConstantOfShape" => {
            let fill = match fill_value(call.node).ok()? {
                Some(tensor) => tensor.decode(None).ok()?,
                None => return Some(ShapeData::Elements(vec![SizeExpr::int(0); count])),
            };
            match tensor_data(&fill)? {
                ShapeData::Elements(fill) => vec![fill.first()?.clone(); count],
                _ => return None,
            }
        }
        "Size" => {
            let dims = call.dims(0)?.iter();
            let count = dims.map(Dim::expr).try_fold(SizeExpr::int(1), |product, dim| product.mul(&dim?));
            vec![count?]
        }
        "Concat" => {
            let lists =
                (0..call.inputs.len()).map(|input| call.elements(input)).collect::<Option<Vec<_>>>()?;
            lists.concat()
        }
        "Gather" => {
            let elements = call.elements(0).filter(|_| call.dims(0).is_some_and(|dims| dims.len() == 1))?;
            let at = |&index: &i64| Some(elements[resolve_axis(index, elements.len()).ok()?].clone());
            call.ints(1)?.iter().map(at).collect::<Option<_>>()?
        }
        "Slice" => slice(call)?,
        "Squeeze" | "Unsqueeze" | "Reshape" | "Flatten" => call.elements(0)?.to_vec(),
        "Expand" => repeated(call.elements(0)?, count)?,
        "Split" => split(call, count)?,
        "Range" => {
            let (start, delta) = (call.ints(0)?, call.ints(2)?);
            let (&[start], &[delta]) = (&start[..], &delta[..]) else { return None };
            let at = |index: i64| Some(SizeExpr::int(start.checked_add(delta.checked_mul(index)?)?));
            (0..count as i64).map(at).collect::<Option<_>>()?
        }
        "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" if count == 1 => {
            let mut elements = call.elements(0)?.iter();
            let first = elements.next()?.clone();
            let reduced = elements.try_fold(first, |total, next| match call.node.op_type.as_str() {
                "ReduceProd" => total.mul(next),
                "ReduceSum" => total.add(next),
                "ReduceMax" => total.larger(next),
                _ => total.smaller(next),
            });
            vec![reduced?]
        }
        _ => return element_wise(call, count),
    };
    (elements.len() == count).then_some(ShapeData::Elements(elements))
}

fn constant(call: Call<'_>) -> Option<ShapeData> {
    if let Some(value) = call.node.attribute("value") {
        return infer_tensor(&value.tensor().ok()?, call.base_dir).data;
    }
    tensor_data(&constant_value(call.node, None).ok()?)
}

/// Sizes of a shape; the whole shape if its rank is unknown.
fn shape_data(call: Call<'_>) -> Option<ShapeData> {
    let x = call.get(0)?;
    let Some(dims) = x.shape.dims() else {
        let is_whole = call.node.attribute("start").is_none() && call.node.attribute("end").is_none();
        return is_whole.then(|| ShapeData::ShapeOf(x.shape.clone()));
    };
    let dims = &dims[shape_range(call.node, dims.len()).ok()?];
    dims.iter().map(Dim::expr).collect::<Option<_>>().map(ShapeData::Elements)
}

/// Casts keep integers that the type can hold; unknown sizes are within the wide types.
fn cast(call: Call<'_>) -> Option<ShapeData> {
    let to = i32::try_from(call.int("to", 0)?).ok().map(ElemType::new)?.dtype()?;
    if to == DType::Bool {
        let bits = call.ints(0)?.into_iter().map(|int| SizeExpr::int((int != 0).into()));
        return Some(ShapeData::Elements(bits.collect()));
    }
    if let Some(ShapeData::Floats(values)) = &call.get(0)?.data {
        return match to {
            DType::I64 | DType::I32 => {
                let int = |&x: &f64| (x.abs() < i32::MAX as f64).then(|| SizeExpr::int(x.trunc() as i64));
                values.iter().map(int).collect::<Option<_>>().map(ShapeData::Elements)
            }
            DType::F32 => Some(floats(values.iter().map(|&x| (x as f32).into()).collect())),
            DType::F64 => Some(ShapeData::Floats(values.clone())),
            _ => None,
        };
    }
    let limit = match to {
        DType::I64 => i64::MAX,
        DType::I32 => i32::MAX.into(),
        DType::F32 | DType::F64 => MAX_FLOAT_INT,
        _ => return None,
    };
    let elements = call.elements(0)?;
    let fits = |element: &SizeExpr| {
        element.constant().is_none_or(|int| int.checked_abs().is_some_and(|int| int <= limit))
    };
    elements.iter().all(fits).then(|| ShapeData::Elements(elements.to_vec()))
}

fn rounded(call: Call<'_>) -> Option<ShapeData> {
    let values = match call.get(0)?.data.as_ref()? {
        ShapeData::Floats(values) => values,
        data => return Some(data.clone()),
    };
    let round = |&x: &f64| match call.node.op_type.as_str() {
        "Floor" => x.floor(),
        "Ceil" => x.ceil(),
        _ => x.round_ties_even(),
    };
    Some(floats(values.iter().map(round).collect()))
}

/// Slice of a list with a positive step.
fn slice(call: Call<'_>) -> Option<Vec<SizeExpr>> {
    let elements = call.elements(0)?;
    let given = |input: usize, attribute: &str| call.ints_or_attribute(input, attribute);
    let (&[start], &[end]) = (&given(1, "starts")?[..], &given(2, "ends")?[..]) else { return None };
    let step = match call.get(4) {
        Some(_) => *call.ints(4)?.first()?,
        None => 1,
    };
    let len = elements.len() as i64;
    let clamp =
        |index: i64| (if index < 0 { index.saturating_add(len) } else { index }).clamp(0, len) as usize;
    let (start, end) = (clamp(start), clamp(end));
    let step = usize::try_from(step).ok().filter(|step| *step > 0)?;
    Some(elements[start..end.max(start)].iter().step_by(step).cloned().collect())
}

fn split(call: Call<'_>, count: usize) -> Option<Vec<SizeExpr>> {
    let elements = call.elements(0)?;
    let start = match call.ints_or_attribute(1, "split") {
        Some(sizes) => usize::try_from(sizes.get(..call.output)?.iter().sum::<i64>()).ok()?,
        None if call.get(1).is_none() => elements.len().div_ceil(call.node.outputs.len()) * call.output,
        None => return None,
    };
    elements.get(start..start.checked_add(count)?).map(<[SizeExpr]>::to_vec)
}

/// The elements, or a single one as often as needed.
fn repeated(elements: &[SizeExpr], count: usize) -> Option<Vec<SizeExpr>> {
    match elements {
        _ if elements.len() == count => Some(elements.to_vec()),
        [single] => Some(vec![single.clone(); count]),
        _ => None,
    }
}

fn element_wise(call: Call<'_>, count: usize) -> Option<ShapeData> {
    let op = call.node.op_type.as_str();
    let known = ["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Neg", "Abs", "Where", "Not", "And", "Or"];
    let compared = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"];
    if !known.contains(&op) && !compared.contains(&op) {
        return None;
    }
    let is_float = call.elem(if op == "Where" { 1 } else { 0 });
    let is_float = is_float == elem(DType::F32) || is_float == elem(DType::F64);
    let all_ints = (0..call.inputs.len()).all(|input| call.elements(input).is_some());
    if is_float && !all_ints {
        return float_arithmetic(call, count);
    }
    let operands = (0..call.inputs.len()).map(|input| repeated(call.elements(input)?, count));
    let operands = operands.collect::<Option<Vec<_>>>()?;
    let at = |index: usize| -> Option<SizeExpr> {
        let operand = |input: usize| operands.get(input).map(|elements| &elements[index]);
        let a = operand(0)?;
        let bit = |bit: bool| Some(SizeExpr::int(bit.into()));
        Some(match op {
            "Neg" => a.mul_int(-1)?,
            "Abs" => match a.bounds() {
                (Some(low), _) if low >= 0 => a.clone(),
                _ => SizeExpr::int(a.constant()?.checked_abs()?),
            },
            "Not" => SizeExpr::int((a.constant()? == 0).into()),
            "Where" => match a.constant()? {
                0 => operand(2)?.clone(),
                _ => operand(1)?.clone(),
            },
            "Min" | "Max" => {
                let rest = (1..operands.len()).map(&operand);
                rest.into_iter().try_fold(a.clone(), |total, next| match op {
                    "Min" => total.smaller(next?),
                    _ => total.larger(next?),
                })?
            }
            _ => {
                let b = operand(1)?;
                let order = a.sub(b)?.bounds();
                let (is_less, is_greater) =
                    (order.1.is_some_and(|high| high < 0), order.0.is_some_and(|low| low > 0));
                let (not_less, not_greater) =
                    (order.0.is_some_and(|low| low >= 0), order.1.is_some_and(|high| high <= 0));
                let decided = |yes: bool, no: bool| {
                    if yes {
                        bit(true)
                    } else if no {
                        bit(false)
                    } else {
                        None
                    }
                };
                match op {
                    "Add" => a.add(b)?,
                    "Sub" => a.sub(b)?,
                    "Mul" => a.mul(b)?,
                    "And" => SizeExpr::int((a.constant()? != 0 && b.constant()? != 0).into()),
                    "Or" => SizeExpr::int((a.constant()? != 0 || b.constant()? != 0).into()),
                    "Equal" => return decided(a == b, a.certainly_differs(b)),
                    "Less" => return decided(is_less, not_less),
                    "Greater" => return decided(is_greater, not_greater),
                    "LessOrEqual" => return decided(not_greater, is_greater),
                    "GreaterOrEqual" => return decided(not_less, is_less),
                    // Floating-point division keeps what an integer division drops.
                    "Div" if is_float => match (a.constant(), b.constant()) {
                        (Some(a), Some(b)) if b != 0 && a % b == 0 => SizeExpr::int(a / b),
                        _ => return None,
                    },
                    // Integers are truncated, which rounds down where they are not negative.
                    "Div" => match (a.constant(), b.constant()) {
                        (Some(a), Some(b)) => SizeExpr::int(a.checked_div(b)?),
                        _ if a.bounds().0.is_some_and(|low| low >= 0)
                            && b.bounds().0.is_some_and(|low| low >= 0) =>
                        {
                            a.floor_div(b)?
                        }
                        _ => return None,
                    },
                    "Mod" => match (a.constant(), b.constant()) {
                        // The remainder has the sign of the divisor, with `fmod` that of the dividend.
                        (Some(a), Some(b)) if b > 0 => SizeExpr::int(match call.int("fmod", 0)? {
                            0 => a.rem_euclid(b),
                            _ => a % b,
                        }),
                        (None, Some(b)) if b > 0 && call.int("fmod", 0)? == 0 => {
                            a.sub(&a.floor_div_int(b)?.mul_int(b)?)?
                        }
                        _ => return None,
                    },
                    _ => return None,
                }
            }
        })
    };
    let elements: Vec<Option<SizeExpr>> = (0..count).map(at).collect();
    // A float that is not an integer must not be taken for one.
    if is_float && elements.contains(&None) {
        return None;
    }
    // An unknown element is an integer of unknown sign.
    let or_element = |(index, element): (usize, Option<SizeExpr>)| {
        element.unwrap_or_else(|| SizeExpr::element(call.id, index))
    };
    Some(ShapeData::Elements(elements.into_iter().enumerate().map(or_element).collect()))
}

/// Arithmetic with known floating-point numbers.
fn float_arithmetic(call: Call<'_>, count: usize) -> Option<ShapeData> {
    let operand = |input: usize| -> Option<Vec<f64>> {
        let floats = call.floats(input)?;
        match &floats[..] {
            [single] => Some(vec![*single; count]),
            _ if floats.len() == count => Some(floats),
            _ => None,
        }
    };
    let (a, b) = (operand(0)?, operand(1)?);
    let is_double = call.elem(0) == elem(DType::F64);
    let result = a.iter().zip(&b).map(|(&a, &b)| {
        let result = match call.node.op_type.as_str() {
            "Add" => a + b,
            "Sub" => a - b,
            "Mul" => a * b,
            "Div" => a / b,
            _ => return None,
        };
        Some(if is_double { result } else { (result as f32).into() })
    });
    Some(floats(result.collect::<Option<_>>()?))
}
