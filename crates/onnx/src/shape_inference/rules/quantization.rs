//! Quantization; quantized convolutions and matrix products are with the others.

use super::{Call, elem};
use crate::elem_type::ElemType;
use crate::shape_inference::inferred_value::InferredValue;
use unishape::DType;

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    let like_x =
        |elem: Option<ElemType>| Some(InferredValue { elem, shape: call.get(0)?.shape.clone(), data: None });
    match (&*call.node.op_type, call.output) {
        ("DynamicQuantizeLinear", 0) => like_x(elem(DType::U8)),
        ("DynamicQuantizeLinear", 1) => Some(InferredValue::new(elem(DType::F32), vec![])),
        ("DynamicQuantizeLinear", 2) => Some(InferredValue::new(elem(DType::U8), vec![])),
        ("QuantizeLinear", 0) => like_x(match call.int("output_dtype", 0)? {
            0 => call.get(2).map_or(elem(DType::U8), |zero_point| zero_point.elem),
            number => i32::try_from(number).ok().map(ElemType::new),
        }),
        ("DequantizeLinear", 0) => like_x(call.elem(1)),
        _ => None,
    }
}
