//! Operators on strings: Equal, Where, StringConcat, and Cast from and to numbers.

use crate::error::{Error, display_name};
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD};
use unishape::expr::lazy;
use unishape::{DType, Tensor, TensorView, map};

fn strings<'a>(view: &TensorView<'a>) -> Result<ArrayViewD<'a, String>, Error> {
    view.typed().map_err(|_| Error::invalid(format!("expected strings, got {}", view.dtype())))
}

/// Runs Equal, StringConcat or Where on strings.
pub(super) fn broadcast_operator(name: &str, inputs: &[TensorView<'_>]) -> Result<Tensor, Error> {
    match (name, inputs) {
        ("Equal", [a, b]) => Ok(map((strings(a)?, strings(b)?), |a, b| a == b)?.into()),
        ("StringConcat", [a, b]) => Ok(map((strings(a)?, strings(b)?), |a, b| format!("{a}{b}"))?.into()),
        ("Where", [condition, a, b]) => {
            let condition = condition.typed::<bool>().map_err(|_| Error::invalid("input 0 is not bool"))?;
            let select = |&condition: &bool, a: &String, b: &String| (if condition { a } else { b }).clone();
            Ok(map((condition, strings(a)?, strings(b)?), select)?.into())
        }
        _ => Err(Error::invalid(format!("{name} does not support strings"))),
    }
}

/// Parses strings as numbers, in ONNX's or any other decimal notation.
pub(super) fn parse_numbers(view: &TensorView<'_>, to: DType) -> Result<Tensor, Error> {
    let strings = strings(view)?;
    if to == DType::Str {
        return Ok(view.to_owned()?);
    }
    // float64 does not hold all 64-bit integers, so these are parsed exactly.
    let integer = |string: &String| string.trim().parse::<i128>().ok();
    if matches!(to, DType::I64 | DType::U64) && strings.iter().all(|string| integer(string).is_some()) {
        let parse = |string: &String| integer(string).unwrap_or(0);
        return Ok(match to {
            DType::U64 => strings.map(|string| parse(string) as u64).into(),
            _ => strings.map(|string| parse(string) as i64).into(),
        });
    }
    let parsed = strings.iter().map(|string| {
        let number = string.trim().parse::<f64>();
        number.map_err(|_| Error::input(format!("cannot cast '{}' to {to}", display_name(string))))
    });
    let numbers = ArrayD::from_shape_vec(strings.raw_dim(), parsed.collect::<Result<Vec<f64>, _>>()?);
    let numbers = numbers.map_err(|_| Error::unsupported("too many strings"))?;
    // Parsed as f32 directly, so that the number is rounded once.
    if to == DType::F32 {
        let floats = strings.map(|string| string.trim().parse::<f32>().unwrap_or(f32::NAN));
        return Ok(floats.into());
    }
    lazy(&numbers).cast(to).compute().map_err(Error::invalid)
}

/// Formats numbers without exponent, with the fewest digits that round-trip.
pub(super) fn format_numbers(view: &TensorView<'_>) -> Result<Tensor, Error> {
    fn format<T>(view: &ArrayViewD<'_, T>, format: impl Fn(&T) -> String) -> Result<Tensor, Error> {
        Ok(view.map(format).into())
    }
    fn float(number: f64, digits: String) -> String {
        match () {
            _ if number.is_nan() => "NaN".into(),
            _ if number.is_infinite() => if number > 0.0 { "INF" } else { "-INF" }.into(),
            _ if digits.contains('.') => digits,
            _ => digits + ".0",
        }
    }
    match view {
        TensorView::F16(view) => format(view, |x: &f16| float(x.to_f64(), x.to_string())),
        TensorView::BF16(view) => format(view, |x: &bf16| float(x.to_f64(), x.to_string())),
        TensorView::F32(view) => format(view, |x| float((*x).into(), x.to_string())),
        TensorView::F64(view) => format(view, |x| float(*x, x.to_string())),
        TensorView::I8(view) => format(view, i8::to_string),
        TensorView::I16(view) => format(view, i16::to_string),
        TensorView::I32(view) => format(view, i32::to_string),
        TensorView::I64(view) => format(view, i64::to_string),
        TensorView::U8(view) => format(view, u8::to_string),
        TensorView::U16(view) => format(view, u16::to_string),
        TensorView::U32(view) => format(view, u32::to_string),
        TensorView::U64(view) => format(view, u64::to_string),
        TensorView::Bool(view) => format(view, |&x| if x { "1" } else { "0" }.into()),
        TensorView::Str(view) => format(view, String::clone),
        TensorView::C64(_) | TensorView::C128(_) => {
            Err(Error::invalid("Cast does not support complex numbers"))
        }
    }
}
