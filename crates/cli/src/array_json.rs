//! Arrays as JSON.

use half::{bf16, f16};
use ndarray::ArrayViewD;
use num_complex::Complex;
use serde_json::Value;
use unishape::Tensor;

/// The elements as nested lists.
///
/// Complex numbers are pairs. JSON has no NaN and no infinities: they are the strings `"nan"`, `"inf"`, `"-inf"`.
pub(crate) fn array_json(tensor: &Tensor) -> Value {
    match tensor {
        Tensor::F16(array) => nested(array.view(), &|x: &f16| float(f64::from(x.to_f32()))),
        Tensor::BF16(array) => nested(array.view(), &|x: &bf16| float(f64::from(x.to_f32()))),
        Tensor::F32(array) => nested(array.view(), &|x| single(*x)),
        Tensor::F64(array) => nested(array.view(), &|x| float(*x)),
        Tensor::I8(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::I16(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::I32(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::I64(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::U8(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::U16(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::U32(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::U64(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::Bool(array) => nested(array.view(), &|x| (*x).into()),
        Tensor::Str(array) => nested(array.view(), &|x| x.as_str().into()),
        Tensor::C64(array) => {
            nested(array.view(), &|x: &Complex<f32>| vec![single(x.re), single(x.im)].into())
        }
        Tensor::C128(array) => {
            nested(array.view(), &|x: &Complex<f64>| vec![float(x.re), float(x.im)].into())
        }
    }
}

fn nested<T>(array: ArrayViewD<'_, T>, element: &impl Fn(&T) -> Value) -> Value {
    match array.ndim() {
        0 => array.first().map_or(Value::Null, element),
        _ => array.outer_iter().map(|part| nested(part, element)).collect(),
    }
}

/// A number with the digits of `float32`: as `float64`, 0.1 would be 0.10000000149011612.
fn single(x: f32) -> Value {
    if x.is_finite() { x.to_string().parse().map_or(Value::Null, float) } else { float(f64::from(x)) }
}

fn float(x: f64) -> Value {
    match x {
        x if x.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        x => x.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::array_json;
    use ndarray::{arr0, arr1, arr2};
    use num_complex::Complex;
    use serde_json::json;

    #[test]
    fn elements_are_nested_lists() {
        assert_eq!(array_json(&arr2(&[[1i64, 2], [3, 4]]).into()), json!([[1, 2], [3, 4]]));
        assert_eq!(array_json(&arr0(0.1f32).into()), json!(0.1));
        assert_eq!(
            array_json(&arr1(&[f64::NAN, f64::NEG_INFINITY, 1e300]).into()),
            json!(["nan", "-inf", 1e300])
        );
        assert_eq!(array_json(&arr1(&[Complex::new(1.0, -2.0)]).into()), json!([[1.0, -2.0]]));
        assert_eq!(array_json(&ndarray::Array2::<u8>::zeros((2, 0)).into()), json!([[], []]));
    }
}
