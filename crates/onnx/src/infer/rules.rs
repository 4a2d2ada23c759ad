//! What operators make of shapes: those that are run, and some that stand between them in models.

use super::dims::{Dim, MOST_DIMENSIONS, Shape, join_all};
use super::{Content, Fact, Item};
use crate::error::Error;
use crate::graph::Node;
use crate::operators::{Operator, Role};
use crate::proto::TensorProto;
use crate::run::cast_target;
use crate::run::rearrange::{self, axis, integers, shape_range, squeezed, unsqueezed};
use crate::types::ElemType;
use std::path::Path;
use unishape::DType;

/// What is known of a node's first output; `None` where nothing is. `number` is of a value that is not known yet,
/// for sizes that nobody has a name for.
pub(super) fn apply(node: &Node, from: &[Option<&Fact>], number: usize) -> Result<Option<Fact>, Error> {
    if !node.is_onnx() {
        return Ok(None);
    }
    // What the inputs are too few for, or attributes are wrong for, is not known; whoever runs it is told why.
    let quietly = |fact: Result<Option<Fact>, Error>| Ok(fact.ok().flatten());
    match Operator::of(node) {
        Some(operator) if operator.role == Role::Together => together(node, operator, from),
        Some(operator) if operator.role == Role::OneWay => one_way(node, from),
        Some(operator) if operator.role == Role::Alone => quietly(alone(node, operator, from)),
        Some(operator) => quietly(shapes(node, operator, from, number)),
        None => quietly(others(node, from, number)),
    }
}

/// What is known of a tensor in the file.
pub(super) fn tensor(tensor: &TensorProto, folder: Option<&Path>) -> Fact {
    let is_short = matches!(tensor.shape[..], [] | [0..=MOST_DIMENSIONS]);
    let is_list = is_short && matches!(tensor.elem.dtype(), Some(DType::I64 | DType::I32));
    let items = is_list.then(|| tensor.decode(folder).and_then(|tensor| integers(&tensor.view())).ok());
    let content = items.flatten().map(|items| Content::Items(items.into_iter().map(Item::Scalar).collect()));
    Fact { elem: Some(tensor.elem), shape: Shape::known(&tensor.shape), content }
}

fn bool_type() -> Option<ElemType> {
    Some(ElemType::of(DType::Bool))
}

fn together(node: &Node, operator: &Operator, from: &[Option<&Fact>]) -> Result<Option<Fact>, Error> {
    let names: Vec<&str> = node.inputs.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
    let shape = join_all(from.iter().flatten().map(|fact| &fact.shape), &names)?;
    let decides = if operator.name == "Where" { 1 } else { 0 };
    let elem = match operator.name {
        "And" | "Or" | "Xor" | "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" => bool_type(),
        _ => from.get(decides).copied().flatten().and_then(|fact| fact.elem),
    };
    Ok(Some(Fact { elem, shape, content: None }))
}

fn one_way(node: &Node, from: &[Option<&Fact>]) -> Result<Option<Fact>, Error> {
    let [Some(x), Some(slope)] = from else { return Ok(None) };
    let names: Vec<&str> = node.inputs.iter().map(String::as_str).collect();
    join_all([&x.shape, &slope.shape], &names)?;
    if let (Some(sizes), Some(slope)) = (x.shape.sizes(), slope.shape.sizes()) {
        // Not only do they go together: nothing but the slope is stretched.
        let nothing = ndarray::arr0(());
        unishape::broadcast_to(unishape::broadcast_to(&nothing, slope)?, sizes)?;
    }
    Ok(Some(Fact { elem: x.elem, shape: x.shape.clone(), content: None }))
}

fn first<'f>(from: &[Option<&'f Fact>]) -> Result<&'f Fact, Error> {
    from.first().copied().flatten().ok_or_else(|| Error::invalid("input 0 is left out"))
}

fn alone(node: &Node, operator: &Operator, from: &[Option<&Fact>]) -> Result<Option<Fact>, Error> {
    let x = first(from)?;
    let elem = match operator.name {
        "IsNaN" | "IsInf" | "Not" => bool_type(),
        // A type that is not computed with is known all the same.
        "Cast" => match cast_target(node) {
            Ok(dtype) => Some(ElemType::of(dtype)),
            Err(_) => node.int("to", 0).ok().and_then(|to| i32::try_from(to).ok()).map(ElemType::new),
        },
        "CastLike" => from.get(1).copied().flatten().and_then(|like| like.elem),
        _ => x.elem,
    };
    let content = match operator.name {
        "Identity" | "Cast" => x.content.clone(),
        _ => None,
    };
    Ok(Some(Fact { elem, shape: x.shape.clone(), content }))
}

/// A list of sizes as a value.
fn list(items: Vec<Item>) -> Fact {
    let content = (items.len() <= MOST_DIMENSIONS).then(|| Content::Items(items.clone()));
    Fact { elem: Some(ElemType::of(DType::I64)), shape: Shape::known(&[items.len()]), content }
}

/// The items of a list, if they are known.
fn items<'f>(from: &[Option<&'f Fact>], at: usize) -> Option<&'f [Item]> {
    match from.get(at).copied().flatten()?.content.as_ref()? {
        Content::Items(items) => Some(items),
        Content::Sizes(_) => None,
    }
}

/// The same, if all are numbers.
fn numbers(from: &[Option<&Fact>], at: usize) -> Option<Vec<i64>> {
    let number = |item: &Item| match item {
        Item::Scalar(number) => Some(*number),
        Item::Size(_) => None,
    };
    items(from, at)?.iter().map(number).collect()
}

fn shapes(
    node: &Node,
    operator: &Operator,
    from: &[Option<&Fact>],
    number: usize,
) -> Result<Option<Fact>, Error> {
    if operator.name == "Constant" {
        if let Some(value) = node.attribute("value") {
            return Ok(Some(tensor(&value.tensor()?, None)));
        }
        let constant = rearrange::constant(node, None)?;
        let items = integers(&constant.view()).ok().filter(|items| items.len() <= MOST_DIMENSIONS);
        let content = items.map(|items| Content::Items(items.into_iter().map(Item::Scalar).collect()));
        let (elem, shape) = (Some(ElemType::of(constant.dtype())), Shape::known(constant.shape()));
        return Ok(Some(Fact { elem, shape, content }));
    }
    let x = first(from)?;
    let like_x = |dims: Vec<Dim>| Some(Fact { elem: x.elem, shape: Shape::new(dims), content: None });
    let dims = x.shape.dims();
    Ok(match operator.name {
        "Shape" => match dims {
            Some(dims) => Some(list(dims[shape_range(node, dims.len())?].iter().map(Item::from).collect())),
            None => {
                let is_whole = node.attribute("start").is_none() && node.attribute("end").is_none();
                Some(Fact {
                    elem: Some(ElemType::of(DType::I64)),
                    shape: Shape::new(vec![Dim::nameless(number, 0)]),
                    content: is_whole.then(|| Content::Sizes(x.shape.clone())),
                })
            }
        },
        "Size" => {
            Some(Fact { elem: Some(ElemType::of(DType::I64)), shape: Shape::known(&[]), content: None })
        }
        "Expand" => expand(x, from, number),
        "ConstantOfShape" => {
            let elem = match rearrange::fill(node)? {
                Some(value) => value.elem,
                None => ElemType::of(DType::F32),
            };
            let shape = match items(from, 0).map(|items| items.iter().map(Item::size).collect()) {
                Some(Some(dims)) => Shape::new(dims),
                _ => sized(x, number),
            };
            Some(Fact { elem: Some(elem), shape, content: None })
        }
        "Concat" => concat(node, x, from, number)?,
        "Gather" => {
            let (Some(dims), Some(Some(indices))) = (dims, from.get(1)) else { return Ok(None) };
            let Some(indices_dims) = indices.shape.dims() else { return Ok(None) };
            let along = axis(node.int("axis", 0)?, dims.len())?;
            let shape = [&dims[..along], indices_dims, &dims[along + 1..]].concat();
            let picked = match (items(from, 0), numbers(from, 1)) {
                (Some(items), Some(indices)) if dims.len() == 1 => indices
                    .iter()
                    .map(|&index| Ok(items[axis(index, items.len())?].clone()))
                    .collect::<Result<Vec<_>, Error>>()
                    .ok(),
                _ => None,
            };
            let content = picked.map(Content::Items);
            Some(Fact { elem: x.elem, shape: Shape::new(shape), content })
        }
        "Slice" => slice(x, from),
        "Squeeze" | "Unsqueeze" => {
            let Some(dims) = dims else { return Ok(None) };
            let axes = match (numbers(from, 1), node.attribute("axes")) {
                (Some(axes), _) => Some(axes),
                (None, Some(axes)) => Some(axes.ints()?),
                (None, None) => None,
            };
            let shape = match (operator.name, axes) {
                ("Squeeze", axes) => {
                    let may_be_one = |dim: &Dim| matches!(dim, Dim::Unknown(_));
                    if axes.is_none() && (from.len() > 1 || dims.iter().any(may_be_one)) {
                        return Ok(None);
                    }
                    squeezed(dims, axes.as_deref())?
                }
                (_, Some(axes)) => unsqueezed(dims, &axes)?,
                (_, None) => return Ok(None),
            };
            let content = if shape.len() < 2 { x.content.clone() } else { None };
            Some(Fact { elem: x.elem, shape: Shape::new(shape), content })
        }
        "Reshape" => {
            let Some(wanted) = items(from, 1) else {
                let lists = from.get(1).copied().flatten().map(|list| sized(list, number));
                return Ok(lists.map(|shape| Fact { elem: x.elem, shape, content: None }));
            };
            like_x(reshape(node, x, wanted, number)?)
        }
        _ => None,
    })
}

/// A shape of as many unknown sizes as a list has items.
fn sized(list: &Fact, number: usize) -> Shape {
    match list.shape.sizes().as_deref() {
        Some(&[rank]) if rank <= MOST_DIMENSIONS => {
            Shape::new((0..rank).map(|dim| Dim::nameless(number, dim)).collect())
        }
        _ => Shape::of(number),
    }
}

fn expand(x: &Fact, from: &[Option<&Fact>], number: usize) -> Option<Fact> {
    let wanted = from.get(1).copied().flatten()?;
    let target = match &wanted.content {
        Some(Content::Sizes(shape)) => shape.clone(),
        Some(Content::Items(items)) => Shape::new(items.iter().map(Item::size).collect::<Option<_>>()?),
        None => sized(wanted, number),
    };
    Some(Fact { elem: x.elem, shape: x.shape.joined(&target)?, content: None })
}

fn concat(node: &Node, x: &Fact, from: &[Option<&Fact>], number: usize) -> Result<Option<Fact>, Error> {
    let Some(dims) = x.shape.dims() else { return Ok(None) };
    let Some(along) = node.attribute("axis") else { return Ok(None) };
    let along = axis(along.int()?, dims.len())?;
    let mut total = Some(0usize);
    for fact in from {
        let size = fact.and_then(|fact| fact.shape.dims()).and_then(|dims| dims.get(along));
        total = match size {
            Some(Dim::Known(size)) => total.and_then(|total| total.checked_add(*size)),
            _ => None,
        };
        if total.is_none() {
            break;
        }
    }
    let mut shape = dims.to_vec();
    shape[along] = total.map_or_else(|| Dim::nameless(number, along), Dim::Known);
    let lists: Option<Vec<&[Item]>> = (0..from.len()).map(|at| items(from, at)).collect();
    let items = lists.filter(|_| dims.len() == 1).map(|lists| lists.concat());
    let content = items.filter(|items| items.len() <= MOST_DIMENSIONS).map(Content::Items);
    Ok(Some(Fact { elem: x.elem, shape: Shape::new(shape), content }))
}

/// Only of lists, and of steps of 1: what shapes are cut with.
fn slice(x: &Fact, from: &[Option<&Fact>]) -> Option<Fact> {
    let items = items(from, 0).filter(|_| x.shape.dims().is_some_and(|dims| dims.len() == 1))?;
    let is_default = |at: usize, value: i64| {
        from.get(at).is_none_or(|fact| fact.is_none()) || numbers(from, at) == Some(vec![value])
    };
    let (&[start], &[end]) = (&numbers(from, 1)?[..], &numbers(from, 2)?[..]) else { return None };
    if !is_default(3, 0) || !is_default(4, 1) {
        return None;
    }
    let len = items.len() as i64;
    let at = |at: i64| (if at < 0 { at.saturating_add(len) } else { at }).clamp(0, len) as usize;
    let (start, end) = (at(start), at(end));
    Some(Fact { elem: x.elem, ..list(items[start..end.max(start)].to_vec()) })
}

fn reshape(node: &Node, x: &Fact, wanted: &[Item], number: usize) -> Result<Vec<Dim>, Error> {
    let keeps_zero = node.int("allowzero", 0)? != 0;
    let dims = x.shape.dims();
    let mut shape: Vec<Dim> = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (at, item) in wanted.iter().enumerate() {
        shape.push(match item {
            Item::Scalar(-1) => {
                open = Some(at);
                Dim::Known(1)
            }
            Item::Scalar(0) if !keeps_zero => {
                dims.and_then(|dims| dims.get(at)).cloned().unwrap_or_else(|| Dim::nameless(number, at))
            }
            // A size of 0 that turns up only when the model runs would mean the same as above.
            item => item.size().unwrap_or_else(|| Dim::nameless(number, at)),
        });
    }
    if let Some(at) = open {
        shape[at] =
            dims.and_then(|dims| left_over(dims, &shape)).unwrap_or_else(|| Dim::nameless(number, at));
    }
    Ok(shape)
}

/// What is left of some sizes without others, where that is a single size.
fn left_over(all: &[Dim], others: &[Dim]) -> Option<Dim> {
    let mut left: Vec<&Dim> = all.iter().collect();
    let (mut above, mut below) = (1usize, 1usize);
    for dim in others {
        match dim {
            Dim::Known(size) => below = below.checked_mul(*size)?,
            unknown => {
                let at = left.iter().position(|one| *one == unknown)?;
                left.remove(at);
            }
        }
    }
    left.retain(|dim| match dim {
        Dim::Known(size) => {
            above = above.saturating_mul(*size);
            false
        }
        Dim::Unknown(_) => true,
    });
    if below == 0 || above == usize::MAX || !above.is_multiple_of(below) {
        return None;
    }
    match (&left[..], above / below) {
        ([], size) => Some(Dim::Known(size)),
        ([unknown], 1) => Some((*unknown).clone()),
        _ => None,
    }
}

/// Operators that are not run, but whose shapes are plain: what stands between the element-wise ones most often.
fn others(node: &Node, from: &[Option<&Fact>], number: usize) -> Result<Option<Fact>, Error> {
    let x = first(from)?;
    let like_x = |shape: Shape| Ok(Some(Fact { elem: x.elem, shape, content: None }));
    match node.op_type.as_str() {
        "Softmax"
        | "LogSoftmax"
        | "Hardmax"
        | "Dropout"
        | "LayerNormalization"
        | "RMSNormalization"
        | "BatchNormalization"
        | "InstanceNormalization"
        | "GroupNormalization"
        | "LpNormalization"
        | "LRN"
        | "MeanVarianceNormalization"
        | "CumSum"
        | "Shrink"
        | "Trilu" => like_x(x.shape.clone()),
        "Transpose" => {
            let Some(dims) = x.shape.dims() else { return Ok(None) };
            let order = match node.attribute("perm") {
                Some(perm) => perm.ints()?,
                None => (0..dims.len() as i64).rev().collect(),
            };
            let picked = order.iter().map(|&at| Ok(dims[axis(at, dims.len())?].clone()));
            let picked = picked.collect::<Result<Vec<_>, Error>>()?;
            if picked.len() != dims.len() { Ok(None) } else { like_x(Shape::new(picked)) }
        }
        "MatMul" => match matmul(x, from) {
            Some(shape) => like_x(shape),
            None => Ok(None),
        },
        "Gemm" => {
            let dims = |at: usize| from.get(at).copied().flatten().and_then(|fact| fact.shape.dims());
            let (Some([a0, a1]), Some([b0, b1])) = (dims(0), dims(1)) else { return Ok(None) };
            let rows = if node.int("transA", 0)? == 0 { a0 } else { a1 };
            let columns = if node.int("transB", 0)? == 0 { b1 } else { b0 };
            like_x(Shape::new(vec![rows.clone(), columns.clone()]))
        }
        "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => reduced(node, x, from, like_x),
        "Conv" => {
            // As many dimensions, the first two of them known; the others by windows that nobody asks for here.
            let (Some(dims), Some(Some(kernel))) = (x.shape.dims(), from.get(1)) else { return Ok(None) };
            let (Some([batch, ..]), Some([channels, ..])) = (Some(dims), kernel.shape.dims()) else {
                return Ok(None);
            };
            let spatial = (2..dims.len()).map(|at| Dim::nameless(number, at));
            like_x(Shape::new([batch.clone(), channels.clone()].into_iter().chain(spatial).collect()))
        }
        _ => Ok(None),
    }
}

fn matmul(a: &Fact, from: &[Option<&Fact>]) -> Option<Shape> {
    let b = from.get(1).copied().flatten()?;
    let (a, b) = (a.shape.dims()?, b.shape.dims()?);
    match (a, b) {
        ([_], [_]) => Some(Shape::new(Vec::new())),
        ([_], [batch @ .., _, columns]) => Some(Shape::new([batch, std::slice::from_ref(columns)].concat())),
        ([rest @ .., _], [_]) => Some(Shape::new(rest.to_vec())),
        ([ours @ .., rows, _], [theirs @ .., _, columns]) => {
            let batch = Shape::new(ours.to_vec()).joined(&Shape::new(theirs.to_vec()))?;
            Some(Shape::new([batch.dims()?, &[rows.clone(), columns.clone()]].concat()))
        }
        _ => None,
    }
}

fn reduced(
    node: &Node,
    x: &Fact,
    from: &[Option<&Fact>],
    like_x: impl Fn(Shape) -> Result<Option<Fact>, Error>,
) -> Result<Option<Fact>, Error> {
    let Some(dims) = x.shape.dims() else { return Ok(None) };
    let has_axes_input = from.get(1).is_some_and(Option::is_some);
    let axes = match (numbers(from, 1), node.attribute("axes")) {
        (Some(axes), _) => axes,
        (None, _) if has_axes_input => return Ok(None),
        (None, Some(axes)) => axes.ints()?,
        (None, None) => Vec::new(),
    };
    let keeps = node.int("keepdims", 1)? != 0;
    let is_gone: Vec<bool> = match axes.is_empty() {
        true if node.int("noop_with_empty_axes", 0)? != 0 => vec![false; dims.len()],
        true => vec![true; dims.len()],
        false => {
            let mut is_gone = vec![false; dims.len()];
            for at in axes {
                is_gone[axis(at, dims.len())?] = true;
            }
            is_gone
        }
    };
    let kept = dims.iter().zip(is_gone).filter_map(|(dim, is_gone)| match (is_gone, keeps) {
        (false, _) => Some(dim.clone()),
        (true, true) => Some(Dim::Known(1)),
        (true, false) => None,
    });
    like_x(Shape::new(kept.collect()))
}
