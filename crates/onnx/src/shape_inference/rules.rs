//! Inference rules of the supported operators, and of others that are common between them.

use super::inferred_value::{InferredValue, ShapeData, ShapeElement};
use super::symbolic::{Dim, MAX_INFERRED_RANK, SymbolicShape, broadcast_all};
use crate::elem_type::ElemType;
use crate::error::Error;
use crate::graph::Node;
use crate::operators::{Operator, ShapeRule};
use crate::runtime::cast_target;
use crate::runtime::normalize::{first_axis, stash_type};
use crate::runtime::reduce::ReducedAxes;
use crate::runtime::shape_ops::{
    constant_value, fill_value, int_list, resolve_axis, shape_range, squeeze_shape, unsqueeze_shape,
};
use crate::tensor_proto::TensorProto;
use std::path::Path;
use unishape::DType;

/// `None` if nothing is known.
type Inferred = Result<Option<InferredValue>, Error>;

/// Inferred inputs of a node; omitted inputs are `None`.
#[derive(Clone, Copy)]
struct NodeInputs<'a>(&'a [Option<&'a InferredValue>]);

impl<'a> NodeInputs<'a> {
    fn get(self, index: usize) -> Option<&'a InferredValue> {
        self.0.get(index).copied().flatten()
    }

    fn first(self) -> Result<&'a InferredValue, Error> {
        self.get(0).ok_or_else(|| Error::missing_input(0))
    }

    fn dims(self, index: usize) -> Option<&'a [Dim]> {
        self.get(index)?.shape.dims()
    }

    /// Elements of a list, if they are known.
    fn elements(self, index: usize) -> Option<&'a [ShapeElement]> {
        match self.get(index)?.data.as_ref()? {
            ShapeData::Elements(elements) => Some(elements),
            ShapeData::ShapeOf(_) => None,
        }
    }

    /// Elements of a list, if all are known integers.
    fn ints(self, index: usize) -> Option<Vec<i64>> {
        let int = |element: &ShapeElement| match element {
            ShapeElement::Int(int) => Some(*int),
            ShapeElement::Dim(_) => None,
        };
        self.elements(index)?.iter().map(int).collect()
    }
}

/// Infers an output of a node; `None` if nothing is known.
///
/// `id` is the id of the output, which identifies anonymous dimensions.
pub(super) fn infer_output(
    node: &Node,
    output: usize,
    inputs: &[Option<&InferredValue>],
    id: usize,
) -> Inferred {
    if !node.is_default_domain() {
        return Ok(None);
    }
    let inputs = NodeInputs(inputs);
    // Missing inputs and invalid attributes make the output unknown; they are errors only when the model runs.
    let or_unknown = |value: Inferred| Ok(value.ok().flatten());
    let Some(operator) = Operator::of_node(node) else {
        return match output {
            0 => or_unknown(unsupported_operator(node, inputs, id)),
            _ => Ok(None),
        };
    };
    match operator.shape_rule {
        ShapeRule::Normalization => normalization(node, operator, output, inputs),
        // No other supported operator has more than one.
        _ if output > 0 => Ok(None),
        ShapeRule::Reduction => or_unknown(reduction(node, operator, inputs, id)),
        ShapeRule::Multidirectional => multidirectional(node, operator, inputs),
        ShapeRule::Unidirectional => unidirectional(node, inputs),
        ShapeRule::SameShape => or_unknown(same_shape(node, operator, inputs)),
        ShapeRule::ShapeOperator => or_unknown(shape_operator(node, operator, inputs, id)),
    }
}

/// Type and shape of a tensor, and its elements if they may be a shape.
pub(super) fn infer_tensor(tensor: &TensorProto, base_dir: Option<&Path>) -> InferredValue {
    let is_short = matches!(tensor.shape[..], [] | [0..=MAX_INFERRED_RANK]);
    let is_list = is_short && matches!(tensor.elem.dtype(), Some(DType::I64 | DType::I32));
    let ints = is_list.then(|| tensor.decode(base_dir).and_then(|tensor| int_list(&tensor.view())).ok());
    let data = ints.flatten().map(known_ints);
    InferredValue { elem: Some(tensor.elem), shape: SymbolicShape::known(&tensor.shape), data }
}

fn known_ints(ints: Vec<i64>) -> ShapeData {
    ShapeData::Elements(ints.into_iter().map(ShapeElement::Int).collect())
}

fn elem(dtype: DType) -> Option<ElemType> {
    Some(ElemType::of(dtype))
}

fn multidirectional(node: &Node, operator: &Operator, inputs: NodeInputs<'_>) -> Inferred {
    let names: Vec<&str> = node.inputs.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
    let shape = broadcast_all(inputs.0.iter().flatten().map(|input| &input.shape), &names)?;
    let elem = match operator.has_bool_output() {
        true => elem(DType::Bool),
        false => inputs.get(operator.typed_input()).and_then(|input| input.elem),
    };
    Ok(Some(InferredValue { elem, shape, data: None }))
}

fn unidirectional(node: &Node, inputs: NodeInputs<'_>) -> Inferred {
    let [Some(x), Some(_)] = inputs.0 else { return Ok(None) };
    check_unidirectional(node, inputs, 1)?;
    Ok(Some(InferredValue { elem: x.elem, shape: x.shape.clone(), data: None }))
}

/// Fails if an input, such as a slope, cannot be broadcast to the shape of the first.
fn check_unidirectional(node: &Node, inputs: NodeInputs<'_>, index: usize) -> Result<(), Error> {
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

fn reduction(node: &Node, operator: &Operator, inputs: NodeInputs<'_>, id: usize) -> Inferred {
    let x = inputs.first()?;
    let elem = if operator.axes_input_since().is_some() { x.elem } else { elem(DType::I64) };
    let Some(dims) = x.shape.dims() else { return Ok(None) };
    let axes = match (inputs.ints(1), node.attribute("axes")) {
        (Some(axes), _) => Some(axes),
        (None, _) if inputs.get(1).is_some() => {
            // Some of the sizes become 1, it is unknown which.
            let unknown = (0..dims.len()).map(|dim| match dims[dim] {
                Dim::Known(1) => Dim::Known(1),
                _ => Dim::anonymous(id, dim),
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
fn normalization(node: &Node, operator: &Operator, output: usize, inputs: NodeInputs<'_>) -> Inferred {
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

fn same_shape(node: &Node, operator: &Operator, inputs: NodeInputs<'_>) -> Inferred {
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
    let data = match operator.name {
        "Identity" | "Cast" => x.data.clone(),
        _ => None,
    };
    Ok(Some(InferredValue { elem, shape: x.shape.clone(), data }))
}

/// An int64 value of rank 1 with these elements.
fn list(elements: Vec<ShapeElement>) -> InferredValue {
    let shape = SymbolicShape::known(&[elements.len()]);
    let data = (elements.len() <= MAX_INFERRED_RANK).then_some(ShapeData::Elements(elements));
    InferredValue { elem: elem(DType::I64), shape, data }
}

fn shape_operator(node: &Node, operator: &Operator, inputs: NodeInputs<'_>, id: usize) -> Inferred {
    if operator.name == "Constant" {
        if let Some(value) = node.attribute("value") {
            return Ok(Some(infer_tensor(&value.tensor()?, None)));
        }
        let constant = constant_value(node, None)?;
        let ints = int_list(&constant.view()).ok().filter(|ints| ints.len() <= MAX_INFERRED_RANK);
        let (elem, shape) = (elem(constant.dtype()), SymbolicShape::known(constant.shape()));
        return Ok(Some(InferredValue { elem, shape, data: ints.map(known_ints) }));
    }
    let x = inputs.first()?;
    let dims = x.shape.dims();
    Ok(match operator.name {
        "Shape" => match dims {
            Some(dims) => {
                Some(list(dims[shape_range(node, dims.len())?].iter().map(ShapeElement::from).collect()))
            }
            None => {
                let is_whole = node.attribute("start").is_none() && node.attribute("end").is_none();
                Some(InferredValue {
                    elem: elem(DType::I64),
                    shape: SymbolicShape::new(vec![Dim::anonymous(id, 0)]),
                    data: is_whole.then(|| ShapeData::ShapeOf(x.shape.clone())),
                })
            }
        },
        "Size" => {
            Some(InferredValue { elem: elem(DType::I64), shape: SymbolicShape::known(&[]), data: None })
        }
        "Expand" => expand(x, inputs, id),
        "ConstantOfShape" => {
            let elem = match fill_value(node)? {
                Some(value) => value.elem,
                None => ElemType::of(DType::F32),
            };
            let dims = inputs.elements(0).and_then(|sizes| sizes.iter().map(ShapeElement::size).collect());
            let shape = dims.map_or_else(|| shape_from_list(x, id), SymbolicShape::new);
            Some(InferredValue { elem: Some(elem), shape, data: None })
        }
        "Concat" => concat(node, x, inputs, id)?,
        "Gather" => {
            let (Some(dims), Some(indices_dims)) = (dims, inputs.dims(1)) else { return Ok(None) };
            let axis = resolve_axis(node.int("axis", 0)?, dims.len())?;
            let shape = [&dims[..axis], indices_dims, &dims[axis + 1..]].concat();
            let gathered = match (inputs.elements(0), inputs.ints(1)) {
                (Some(elements), Some(indices)) if dims.len() == 1 => indices
                    .iter()
                    .map(|&index| Ok(elements[resolve_axis(index, elements.len())?].clone()))
                    .collect::<Result<Vec<_>, Error>>()
                    .ok(),
                _ => None,
            };
            let data = gathered.map(ShapeData::Elements);
            Some(InferredValue { elem: x.elem, shape: SymbolicShape::new(shape), data })
        }
        "Slice" => slice(x, inputs),
        "Squeeze" | "Unsqueeze" => {
            let Some(dims) = dims else { return Ok(None) };
            let axes = match (inputs.ints(1), node.attribute("axes")) {
                (Some(axes), _) => Some(axes),
                (None, Some(axes)) => Some(axes.ints()?),
                (None, None) => None,
            };
            let shape = match (operator.name, axes) {
                ("Squeeze", axes) => {
                    let may_be_one = |dim: &Dim| matches!(dim, Dim::Unknown(_));
                    if axes.is_none() && (inputs.0.len() > 1 || dims.iter().any(may_be_one)) {
                        return Ok(None);
                    }
                    squeeze_shape(dims, axes.as_deref())?
                }
                (_, Some(axes)) => unsqueeze_shape(dims, &axes)?,
                (_, None) => return Ok(None),
            };
            let data = if shape.len() < 2 { x.data.clone() } else { None };
            Some(InferredValue { elem: x.elem, shape: SymbolicShape::new(shape), data })
        }
        "Reshape" => {
            let shape = match inputs.elements(1) {
                Some(target) => SymbolicShape::new(reshape(node, x, target, id)?),
                None => match inputs.get(1) {
                    Some(list) => shape_from_list(list, id),
                    None => return Ok(None),
                },
            };
            Some(InferredValue { elem: x.elem, shape, data: None })
        }
        _ => None,
    })
}

/// Shape given by a list with unknown elements: anonymous dimensions, or unknown rank.
fn shape_from_list(list: &InferredValue, id: usize) -> SymbolicShape {
    match list.shape.sizes().as_deref() {
        Some(&[rank]) if rank <= MAX_INFERRED_RANK => {
            SymbolicShape::new((0..rank).map(|dim| Dim::anonymous(id, dim)).collect())
        }
        _ => SymbolicShape::unranked(id),
    }
}

fn expand(x: &InferredValue, inputs: NodeInputs<'_>, id: usize) -> Option<InferredValue> {
    let target = inputs.get(1)?;
    let target = match &target.data {
        Some(ShapeData::ShapeOf(shape)) => shape.clone(),
        Some(ShapeData::Elements(sizes)) => {
            SymbolicShape::new(sizes.iter().map(ShapeElement::size).collect::<Option<_>>()?)
        }
        None => shape_from_list(target, id),
    };
    Some(InferredValue { elem: x.elem, shape: x.shape.broadcast_with(&target)?, data: None })
}

fn concat(node: &Node, x: &InferredValue, inputs: NodeInputs<'_>, id: usize) -> Inferred {
    let Some(dims) = x.shape.dims() else { return Ok(None) };
    let Some(axis) = node.attribute("axis") else { return Ok(None) };
    let axis = resolve_axis(axis.int()?, dims.len())?;
    let count = inputs.0.len();
    let size = |input: usize| match inputs.dims(input)?.get(axis)? {
        Dim::Known(size) => Some(*size),
        Dim::Unknown(_) => None,
    };
    let total = (0..count).try_fold(0usize, |total, input| total.checked_add(size(input)?));
    let mut shape = dims.to_vec();
    shape[axis] = total.map_or_else(|| Dim::anonymous(id, axis), Dim::Known);
    let lists: Option<Vec<&[ShapeElement]>> = (0..count).map(|input| inputs.elements(input)).collect();
    let elements = lists.filter(|_| dims.len() == 1).map(|lists| lists.concat());
    let data = elements.filter(|elements| elements.len() <= MAX_INFERRED_RANK).map(ShapeData::Elements);
    Ok(Some(InferredValue { elem: x.elem, shape: SymbolicShape::new(shape), data }))
}

/// Slice of a list with step 1, as models use it to take a shape apart; other slices are unknown.
fn slice(x: &InferredValue, inputs: NodeInputs<'_>) -> Option<InferredValue> {
    let elements = inputs.elements(0).filter(|_| x.shape.dims().is_some_and(|dims| dims.len() == 1))?;
    let is_default =
        |index: usize, default: i64| inputs.get(index).is_none() || inputs.ints(index) == Some(vec![default]);
    let (&[start], &[end]) = (&inputs.ints(1)?[..], &inputs.ints(2)?[..]) else { return None };
    if !is_default(3, 0) || !is_default(4, 1) {
        return None;
    }
    let len = elements.len() as i64;
    let clamp =
        |index: i64| (if index < 0 { index.saturating_add(len) } else { index }).clamp(0, len) as usize;
    let (start, end) = (clamp(start), clamp(end));
    Some(InferredValue { elem: x.elem, ..list(elements[start..end.max(start)].to_vec()) })
}

fn reshape(node: &Node, x: &InferredValue, target: &[ShapeElement], id: usize) -> Result<Vec<Dim>, Error> {
    let allow_zero = node.int("allowzero", 0)? != 0;
    let dims = x.shape.dims();
    let mut shape: Vec<Dim> = Vec::with_capacity(target.len());
    let mut inferred_dim = None;
    for (index, element) in target.iter().enumerate() {
        shape.push(match element {
            ShapeElement::Int(-1) => {
                inferred_dim = Some(index);
                Dim::Known(1)
            }
            ShapeElement::Int(0) if !allow_zero => {
                dims.and_then(|dims| dims.get(index)).cloned().unwrap_or_else(|| Dim::anonymous(id, index))
            }
            // A symbolic size that is 0 at run time also means "copy the input's size"; that case is ignored.
            element => element.size().unwrap_or_else(|| Dim::anonymous(id, index)),
        });
    }
    if let Some(index) = inferred_dim {
        let remaining = dims.and_then(|dims| remaining_dim(dims, &shape));
        shape[index] = remaining.unwrap_or_else(|| Dim::anonymous(id, index));
    }
    Ok(shape)
}

/// Quotient of the products of two shapes, if it is a known size or a single symbolic dimension.
fn remaining_dim(dividend: &[Dim], divisor: &[Dim]) -> Option<Dim> {
    let mut symbolic: Vec<&Dim> = dividend.iter().collect();
    let (mut dividend_size, mut divisor_size) = (1usize, 1usize);
    for dim in divisor {
        match dim {
            Dim::Known(size) => divisor_size = divisor_size.checked_mul(*size)?,
            unknown => {
                let index = symbolic.iter().position(|dim| *dim == unknown)?;
                symbolic.remove(index);
            }
        }
    }
    symbolic.retain(|dim| match dim {
        Dim::Known(size) => {
            dividend_size = dividend_size.saturating_mul(*size);
            false
        }
        Dim::Unknown(_) => true,
    });
    if divisor_size == 0 || dividend_size == usize::MAX || !dividend_size.is_multiple_of(divisor_size) {
        return None;
    }
    match (&symbolic[..], dividend_size / divisor_size) {
        ([], size) => Some(Dim::Known(size)),
        ([unknown], 1) => Some((*unknown).clone()),
        _ => None,
    }
}

/// Operators that do not run, but are common between element-wise ones and have simple rules.
fn unsupported_operator(node: &Node, inputs: NodeInputs<'_>, id: usize) -> Inferred {
    let x = inputs.first()?;
    let like_x = |shape: SymbolicShape| Ok(Some(InferredValue { elem: x.elem, shape, data: None }));
    match node.op_type.as_str() {
        "Hardmax"
        | "Dropout"
        | "LpNormalization"
        | "LRN"
        | "MeanVarianceNormalization"
        | "CumSum"
        | "Shrink"
        | "Trilu" => like_x(x.shape.clone()),
        "Transpose" => {
            let Some(dims) = x.shape.dims() else { return Ok(None) };
            let perm = match node.attribute("perm") {
                Some(perm) => perm.ints()?,
                None => (0..dims.len() as i64).rev().collect(),
            };
            let permuted = perm.iter().map(|&axis| Ok(dims[resolve_axis(axis, dims.len())?].clone()));
            let permuted = permuted.collect::<Result<Vec<_>, Error>>()?;
            if permuted.len() != dims.len() { Ok(None) } else { like_x(SymbolicShape::new(permuted)) }
        }
        "MatMul" => matmul(x, inputs).map_or(Ok(None), like_x),
        "Gemm" => {
            let (Some([a0, a1]), Some([b0, b1])) = (inputs.dims(0), inputs.dims(1)) else { return Ok(None) };
            let rows = if node.int("transA", 0)? == 0 { a0 } else { a1 };
            let columns = if node.int("transB", 0)? == 0 { b1 } else { b0 };
            like_x(SymbolicShape::new(vec![rows.clone(), columns.clone()]))
        }
        "Conv" => {
            // The spatial sizes depend on kernel, strides and padding, and are left unknown.
            let (Some(dims @ [batch, ..]), Some([channels, ..])) = (x.shape.dims(), inputs.dims(1)) else {
                return Ok(None);
            };
            let spatial = (2..dims.len()).map(|dim| Dim::anonymous(id, dim));
            like_x(SymbolicShape::new([batch.clone(), channels.clone()].into_iter().chain(spatial).collect()))
        }
        _ => Ok(None),
    }
}

fn matmul(a: &InferredValue, inputs: NodeInputs<'_>) -> Option<SymbolicShape> {
    let (a, b) = (a.shape.dims()?, inputs.dims(1)?);
    match (a, b) {
        ([_], [batch @ .., _, columns]) => {
            Some(SymbolicShape::new([batch, std::slice::from_ref(columns)].concat()))
        }
        ([rest @ .., _], [_]) => Some(SymbolicShape::new(rest.to_vec())),
        ([a_batch @ .., rows, _], [b_batch @ .., _, columns]) => {
            let batch = SymbolicShape::new(a_batch.to_vec());
            let batch = batch.broadcast_with(&SymbolicShape::new(b_batch.to_vec()))?;
            Some(SymbolicShape::new([batch.dims()?, &[rows.clone(), columns.clone()]].concat()))
        }
        _ => None,
    }
}
