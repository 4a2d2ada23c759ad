//! What is done with text: it is compared, chosen and joined, and read and written as numbers.

use crate::error::{Error, named};
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD};
use unishape::expr::lazy;
use unishape::{DType, Tensor, TensorView, map};

fn strings<'t, 'a>(view: &'t TensorView<'a>) -> Result<&'t ArrayViewD<'a, String>, Error> {
    view.typed().ok_or_else(|| Error::invalid(format!("{} where there should be strings", view.dtype())))
}

/// Equal, StringConcat or Where, of strings.
pub(super) fn together(name: &str, from: &[TensorView<'_>]) -> Result<Tensor, Error> {
    match (name, from) {
        ("Equal", [a, b]) => Ok(map((strings(a)?, strings(b)?), |a, b| a == b)?.into()),
        ("StringConcat", [a, b]) => Ok(map((strings(a)?, strings(b)?), |a, b| format!("{a}{b}"))?.into()),
        ("Where", [condition, a, b]) => {
            let condition = condition.typed::<bool>().ok_or_else(|| Error::invalid("input 0 is not bool"))?;
            let chosen =
                map(
                    (condition, strings(a)?, strings(b)?),
                    |&condition, a, b| {
                        if condition { a.clone() } else { b.clone() }
                    },
                );
            Ok(chosen?.into())
        }
        _ => Err(Error::invalid(format!("{name} is not for strings"))),
    }
}

/// Strings as numbers: as ONNX writes them, or in any other way that reads as one.
pub(super) fn to_numbers(view: &TensorView<'_>, to: DType) -> Result<Tensor, Error> {
    let texts = strings(view)?;
    if to == DType::Str {
        return Ok(view.to_owned()?);
    }
    // Whole numbers to the last digit; of others the fraction is dropped by the cast.
    let whole = |text: &String| text.trim().parse::<i128>().ok();
    if matches!(to, DType::I64 | DType::U64) && texts.iter().all(|text| whole(text).is_some()) {
        let of = |text: &String| whole(text).unwrap_or(0);
        return Ok(match to {
            DType::U64 => texts.map(|text| of(text) as u64).into(),
            _ => texts.map(|text| of(text) as i64).into(),
        });
    }
    let parsed = texts.iter().map(|text| {
        let number = text.trim().parse::<f64>();
        number.map_err(|_| Error::given(format!("'{}' is no number to cast to {to}", named(text))))
    });
    let numbers = ArrayD::from_shape_vec(texts.raw_dim(), parsed.collect::<Result<Vec<f64>, _>>()?);
    let numbers = numbers.map_err(|_| Error::unsupported("too many strings"))?;
    // By way of float where it is the type, so that a text is rounded once.
    if to == DType::F32 {
        let floats = texts.map(|text| text.trim().parse::<f32>().unwrap_or(f32::NAN));
        return Ok(floats.into());
    }
    lazy(&numbers).cast(to).compute().map_err(Error::invalid)
}

/// Numbers as strings: plain, with the fewest digits that tell them apart.
pub(super) fn from_numbers(view: &TensorView<'_>) -> Result<Tensor, Error> {
    fn texts<T>(view: &ArrayViewD<'_, T>, text: impl Fn(&T) -> String) -> Result<Tensor, Error> {
        Ok(view.map(text).into())
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
        TensorView::F16(view) => texts(view, |x: &f16| float(x.to_f64(), x.to_string())),
        TensorView::BF16(view) => texts(view, |x: &bf16| float(x.to_f64(), x.to_string())),
        TensorView::F32(view) => texts(view, |x| float((*x).into(), x.to_string())),
        TensorView::F64(view) => texts(view, |x| float(*x, x.to_string())),
        TensorView::I8(view) => texts(view, i8::to_string),
        TensorView::I16(view) => texts(view, i16::to_string),
        TensorView::I32(view) => texts(view, i32::to_string),
        TensorView::I64(view) => texts(view, i64::to_string),
        TensorView::U8(view) => texts(view, u8::to_string),
        TensorView::U16(view) => texts(view, u16::to_string),
        TensorView::U32(view) => texts(view, u32::to_string),
        TensorView::U64(view) => texts(view, u64::to_string),
        TensorView::Bool(view) => texts(view, |&x| if x { "1" } else { "0" }.into()),
        TensorView::Str(view) => texts(view, String::clone),
        TensorView::C64(_) | TensorView::C128(_) => Err(Error::invalid("Cast is not for complex numbers")),
    }
}
