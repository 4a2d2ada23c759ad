//! Operators of ONNX Runtime (`com.microsoft`) and of classical machine learning (`ai.onnx.ml`).

use super::call::{Call, elem};
use super::{convolution, layout, lookup, matrix, quantization};
use crate::elem_type::ElemType;
use crate::shape_inference::inferred_value::InferredValue;
use crate::shape_inference::symbolic::Dim;
use unishape::DType;

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    if call.node.domain == "ai.onnx.ml" { machine_learning(call) } else { microsoft(call) }
}

fn like_first(call: Call<'_>, elem: Option<ElemType>) -> Option<InferredValue> {
    Some(InferredValue { elem, shape: call.get(0)?.shape.clone(), data: None })
}

fn microsoft(call: Call<'_>) -> Option<InferredValue> {
    match (&*call.node.op_type, call.output) {
        ("FusedConv" | "QLinearGlobalAveragePool", _) => convolution::infer(call),
        ("FusedGemm", 0) => matrix::gemm(call),
        ("DynamicQuantizeMatMul", 0) => matrix::matmul(call, 0, 1, elem(DType::F32)),
        ("MatMulIntegerToFloat", 0) => matrix::matmul(call, 0, 1, elem(DType::F32)),
        ("FusedMatMul", 0) => matrix::fused_matmul(call),
        ("MatMulNBits", 0) => {
            let mut dims = call.dims(0)?.to_vec();
            *dims.last_mut()? = Dim::Known(usize::try_from(call.int("N", -1)?).ok()?);
            Some(InferredValue::new(call.elem(0), dims))
        }
        ("QLinearAdd" | "QLinearMul", 0) => {
            let shape = call.get(0)?.shape.broadcast_with(&call.get(3)?.shape)?;
            Some(InferredValue { elem: call.elem(0), shape, data: None })
        }
        ("QuantizeLinear" | "DequantizeLinear", _) => quantization::infer(call),
        ("Pad" | "Range", _) => layout::infer(call).or_else(|| lookup::infer(call)),
        (
            "Gelu"
            | "FastGelu"
            | "BiasGelu"
            | "QuickGelu"
            | "QLinearLeakyRelu"
            | "QLinearSigmoid"
            | "QLinearSoftmax"
            | "SkipLayerNormalization"
            | "SkipSimplifiedLayerNormalization"
            | "SimplifiedLayerNormalization"
            | "LayerNormalization"
            | "BiasSoftmax"
            | "BiasAdd"
            | "BiasDropout"
            | "GroupNorm"
            | "RotaryEmbedding"
            | "Trilu"
            | "Inverse",
            0,
        ) => like_first(call, call.elem(0)),
        _ => None,
    }
}

fn machine_learning(call: Call<'_>) -> Option<InferredValue> {
    // A list is one row.
    let rows = || match call.dims(0)? {
        [_] => Some(Dim::Known(1)),
        dims => dims.first().cloned(),
    };
    match (&*call.node.op_type, call.output) {
        ("Scaler" | "Normalizer", 0) => like_first(call, elem(DType::F32)),
        ("Binarizer" | "Imputer", 0) => like_first(call, call.elem(0)),
        ("LabelEncoder", 0) => {
            let text =
                ["values_strings", "default_string"].iter().any(|name| call.node.attribute(name).is_some());
            let dtype = match () {
                _ if text && call.node.attribute("values_strings").is_some() => elem(DType::Str),
                _ if call.node.attribute("values_floats").is_some() => elem(DType::F32),
                _ if call.node.attribute("values_int64s").is_some() => elem(DType::I64),
                _ => None,
            };
            like_first(call, dtype)
        }
        ("TreeEnsembleRegressor", 0) => {
            let targets = usize::try_from(call.int("n_targets", -1)?).ok();
            Some(InferredValue::new(
                elem(DType::F32),
                vec![rows()?, call.or_anonymous(targets.map(Dim::Known), 1)],
            ))
        }
        ("LinearRegressor" | "SVMRegressor", 0) => {
            let targets = usize::try_from(call.int("targets", 1)?).ok();
            Some(InferredValue::new(
                elem(DType::F32),
                vec![rows()?, call.or_anonymous(targets.map(Dim::Known), 1)],
            ))
        }
        ("TreeEnsembleClassifier" | "LinearClassifier" | "SVMClassifier", 0) => {
            let text = ["classlabels_strings", "classlabels_string"];
            let is_text = text.iter().any(|name| call.node.attribute(name).is_some());
            Some(InferredValue::new(elem(if is_text { DType::Str } else { DType::I64 }), vec![rows()?]))
        }
        ("TreeEnsembleClassifier" | "LinearClassifier" | "SVMClassifier", 1) => {
            Some(InferredValue::new(elem(DType::F32), vec![rows()?, call.anonymous(1)]))
        }
        ("ArrayFeatureExtractor", 0) => {
            let dims = call.dims(0)?;
            let (_, outer) = dims.split_last()?;
            // A list is treated as one row.
            let outer = if outer.is_empty() { &[Dim::Known(1)][..] } else { outer };
            let count = call.or_anonymous(layout::product(call.dims(1)?), outer.len());
            Some(InferredValue::new(call.elem(0), [outer, &[count]].concat()))
        }
        _ => None,
    }
}
