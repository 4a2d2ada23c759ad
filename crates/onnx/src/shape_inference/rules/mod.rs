//! Inference rules of the operators, one module per family.
//!
//! | module | contents |
//! |---|---|
//! | `call` | a node, with what is known about its inputs |
//! | `convolution` | convolutions and pooling |
//! | `layout` | operators that move elements: Reshape, Slice, Concat, Resize, … |
//! | `lookup` | operators that select elements: Gather, Scatter…, TopK, OneHot, … |
//! | `matrix` | matrix products, Einsum, Attention |
//! | `recurrent` | LSTM, GRU, RNN |
//! | `quantization` | quantized operators |
//! | `contrib` | operators of the domains `com.microsoft` and `ai.onnx.ml` |
//! | `elements` | elements of small values, such as computed shapes |

mod call;
mod contrib;
mod convolution;
mod elements;
mod layout;
mod lookup;
mod matrix;
mod quantization;
mod recurrent;

use super::inferred_value::InferredValue;
use super::symbolic::{Dim, SymbolicShape, broadcast_all};
use crate::elem_type::ElemType;
use crate::error::Error;
use crate::graph::Node;
use crate::operators::{Operator, ShapeRule};
use crate::runtime::cast_target;
use crate::runtime::normalize::{first_axis, stash_type};
use crate::runtime::reduce::ReducedAxes;
use call::elem;
use unishape::DType;

pub(crate) use call::Call;
pub(crate) use elements::infer_tensor;
pub(crate) use matrix::{einsum_operands, gemm_rows_and_columns, has_transposed_batch, matmul_batch};

/// `None` if nothing is known.
type Inferred = Result<Option<InferredValue>, Error>;

/// Infers an output of a node; `None` if nothing is known.
pub(super) fn infer_output(call: Call<'_>) -> Inferred {
    matrix::check(call)?;
    let mut inferred = match (&*call.node.domain, Operator::of_node(call.node)) {
        ("", Some(operator)) => supported(call, operator)?,
        ("", None) => other(call),
        ("com.microsoft" | "ai.onnx.ml", _) => contrib::infer(call),
        _ => None,
    };
    if let Some(value) = &mut inferred
        && value.data.is_none()
    {
        value.data = elements::data(call, &value.shape);
    }
    Ok(inferred)
}

/// An operator of the table.
fn supported(call: Call<'_>, operator: &Operator) -> Inferred {
    // Missing inputs and invalid attributes make the output unknown; they are errors only when the model runs.
    let or_unknown = |value: Inferred| Ok(value.ok().flatten());
    match operator.shape_rule {
        ShapeRule::Normalization => normalization(call.node, operator, call.output, call),
        // No other supported operator has more than one.
        _ if call.output > 0 => Ok(None),
        ShapeRule::Reduction => or_unknown(reduction(call.node, operator, call)),
        ShapeRule::Multidirectional if call.node.legacy_broadcast_attribute().is_some() => {
            // Before opset 7, the second input is broadcast to the first, along other axes than from the right.
            Ok(call.get(0).map(|x| InferredValue { elem: x.elem, shape: x.shape.clone(), data: None }))
        }
        ShapeRule::Multidirectional => multidirectional(call.node, operator, call),
        ShapeRule::Unidirectional => unidirectional(call.node, call),
        ShapeRule::SameShape => or_unknown(same_shape(call.node, operator, call)),
        ShapeRule::ShapeOperator => Ok(layout::infer(call).or_else(|| lookup::infer(call))),
    }
}

/// An operator of the default domain that does not run.
fn other(call: Call<'_>) -> Option<InferredValue> {
    convolution::infer(call)
        .or_else(|| layout::infer(call))
        .or_else(|| lookup::infer(call))
        .or_else(|| matrix::infer(call))
        .or_else(|| recurrent::infer(call))
        .or_else(|| quantization::infer(call))
        .or_else(|| same_as_first(call))
}

/// Operators whose outputs have the shape of the first input.
fn same_as_first(call: Call<'_>) -> Option<InferredValue> {
    let x = call.get(0)?;
    let like = |elem: Option<ElemType>| InferredValue { elem, shape: x.shape.clone(), data: None };
    let of_attribute = |default: Option<ElemType>| match call.int("dtype", 0) {
        Some(0) | None => default,
        Some(number) => i32::try_from(number).ok().map(ElemType::new),
    };
    match (&*call.node.op_type, call.output) {
        (
            "Hardmax"
            | "Dropout"
            | "LpNormalization"
            | "LRN"
            | "MeanVarianceNormalization"
            | "CumSum"
            | "CumProd"
            | "Shrink"
            | "Trilu"
            | "ReverseSequence"
            | "Scatter"
            | "ScatterElements"
            | "ScatterND"
            | "TensorScatter"
            | "RotaryEmbedding"
            | "SwiGLU",
            0,
        ) => Some(like(x.elem)),
        ("Dropout", 1) => Some(like(elem(DType::Bool))),
        ("Bernoulli" | "RandomNormalLike" | "RandomUniformLike" | "EyeLike", 0) => {
            Some(like(of_attribute(x.elem)))
        }
        ("StringNormalizer" | "RegexFullMatch", _) => None,
        _ => None,
    }
}

fn multidirectional(node: &Node, operator: &Operator, inputs: Call<'_>) -> Inferred {
    let names: Vec<&str> = node.inputs.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
    let shape = broadcast_all(inputs.inputs.iter().flatten().map(|input| &input.shape), &names)?;
    let elem = match operator.has_bool_output() {
        true => elem(DType::Bool),
        false => inputs.get(operator.typed_input()).and_then(|input| input.elem),
    };
    Ok(Some(InferredValue { elem, shape, data: None }))
}

fn unidirectional(node: &Node, inputs: Call<'_>) -> Inferred {
    let [Some(x), Some(slope)] = inputs.inputs else { return Ok(None) };
    // Before opset 7, slopes are for channels, which are not the last dimension.
    if inputs.opset < 7 {
        return Ok(Some(InferredValue { elem: x.elem, shape: x.shape.clone(), data: None }));
    }
    check_unidirectional(node, inputs, 1)?;
    // That of x by the standard; ONNX Runtime also stretches x.
    let shape = x.shape.broadcast_with(&slope.shape);
    Ok(shape.map(|shape| InferredValue { elem: x.elem, shape, data: None }))
}

/// Fails if an input, such as a slope, cannot be broadcast to the shape of the first.
fn check_unidirectional(node: &Node, inputs: Call<'_>, index: usize) -> Result<(), Error> {
    let (Some(x), Some(other)) = (inputs.get(0), inputs.get(index)) else { return Ok(()) };
    let names = [&node.inputs[0], &node.inputs[index]].map(String::as_str);
    broadcast_all([&x.shape, &other.shape], &names)?;
    if let (Some(sizes), Some(other)) = (x.shape.sizes(), other.shape.sizes()) {
        // The shapes are compatible; check that only the second is stretched.
        let unit = ndarray::arr0(());
        unishape::broadcast_to(unishape::broadcast_to(&unit, other)?, sizes)?;
    }
    Ok(())
}

fn reduction(node: &Node, operator: &Operator, inputs: Call<'_>) -> Inferred {
    let x = inputs.first()?;
    let elem = if operator.axes_input_since().is_some() { x.elem } else { elem(DType::I64) };
    let Some(dims) = x.shape.dims() else { return Ok(None) };
    let axes = match (inputs.ints(1), node.attribute("axes")) {
        (Some(axes), _) => Some(axes),
        (None, _) if inputs.get(1).is_some() => {
            // Some of the sizes become 1, it is unknown which.
            let unknown = (0..dims.len()).map(|dim| match dims[dim] {
                Dim::Known(1) => Dim::Known(1),
                _ => inputs.anonymous(dim),
            });
            let keeps_rank = node.int("keepdims", 1)? != 0;
            let shape = keeps_rank.then(|| SymbolicShape::new(unknown.collect()));
            return Ok(shape.map(|shape| InferredValue { elem, shape, data: None }));
        }
        (None, Some(axes)) => Some(axes.ints()?),
        (None, None) => None,
    };
    let axes = ReducedAxes::resolve(node, operator, dims.len(), axes)?;
    Ok(Some(InferredValue { elem, shape: SymbolicShape::new(axes.shape(dims)), data: None }))
}

/// Outputs of a normalization; inputs that are broadcast must be compatible.
fn normalization(node: &Node, operator: &Operator, output: usize, inputs: Call<'_>) -> Inferred {
    let Ok(x) = inputs.first() else { return Ok(None) };
    let like_x = InferredValue { elem: x.elem, shape: x.shape.clone(), data: None };
    let is_broadcast = matches!(operator.name, "LayerNormalization" | "RMSNormalization");
    if is_broadcast && output == 0 {
        (1..node.inputs.len()).try_for_each(|index| check_unidirectional(node, inputs, index))?;
    }
    Ok(match (operator.name, output) {
        ("RMSNormalization", 0) => {
            let elem = inputs.get(1).and_then(|scale| scale.elem);
            Some(InferredValue { elem, ..like_x })
        }
        (_, 0) => Some(like_x),
        ("LayerNormalization", 1 | 2) => {
            let Some(dims) = x.shape.dims() else { return Ok(None) };
            let (Ok(first), Ok(stash)) = (first_axis(node, -1, dims.len()), stash_type(node)) else {
                return Ok(None);
            };
            let mut dims = dims.to_vec();
            dims[first..].fill(Dim::Known(1));
            Some(InferredValue { elem: elem(stash), shape: SymbolicShape::new(dims), data: None })
        }
        _ => None,
    })
}

fn same_shape(node: &Node, operator: &Operator, inputs: Call<'_>) -> Inferred {
    let x = inputs.first()?;
    let elem = match operator.name {
        _ if operator.has_bool_output() => elem(DType::Bool),
        // The target may be a type that has no `DType`.
        "Cast" => match cast_target(node) {
            Ok(dtype) => elem(dtype),
            Err(_) => node.int("to", 0).ok().and_then(|to| i32::try_from(to).ok()).map(ElemType::new),
        },
        "CastLike" => inputs.get(1).and_then(|like| like.elem),
        _ => x.elem,
    };
    Ok(Some(InferredValue { elem, shape: x.shape.clone(), data: None }))
}
