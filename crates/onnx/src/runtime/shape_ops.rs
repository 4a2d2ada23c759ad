//! Operators that create, read and change shapes, and move elements without computing.

use crate::error::{Error, display_name};
use crate::graph::Node;
use crate::operators::OperatorVersion;
use crate::tensor_proto::TensorProto;
use ndarray::{Axis, IxDyn, Slice, arr0, arr1};
use std::path::Path;
use unishape::notation::short_shape_text;
use unishape::{Tensor, TensorView, broadcast_shapes, element_count};

/// Evaluates an expression with the array inside a tensor of any dtype.
macro_rules! with_array {
    ($Tensor:ident, $tensor:expr, $array:ident => $body:expr) => {
        with_array!(@ $Tensor, $tensor, $array => $body,
            F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128)
    };
    (@ $Tensor:ident, $tensor:expr, $array:ident => $body:expr, $($variant:ident)+) => {
        match $tensor {
            $($Tensor::$variant($array) => $body,)+
        }
    };
}
pub(crate) use with_array;

/// The view with a shorter lifetime.
pub(super) fn reborrow<'t>(view: &'t TensorView<'_>) -> TensorView<'t> {
    with_array!(TensorView, view, array => array.view().into())
}

/// Elements of an int64 or int32 tensor of rank 0 or 1.
pub(crate) fn int_list(view: &TensorView<'_>) -> Result<Vec<i64>, Error> {
    if view.shape().len() > 1 {
        let shape = short_shape_text(view.shape());
        return Err(Error::invalid(format!("a list of integers must have rank 1, not shape {shape}")));
    }
    match view {
        TensorView::I64(view) => Ok(view.iter().copied().collect()),
        TensorView::I32(view) => Ok(view.iter().map(|&int| int.into()).collect()),
        other => {
            Err(Error::invalid(format!("a list of integers must be int64 or int32, not {}", other.dtype())))
        }
    }
}

/// Elements of a list of sizes.
fn size_list(view: &TensorView<'_>) -> Result<Vec<usize>, Error> {
    int_list(view)?.into_iter().map(to_size).collect()
}

fn to_size(size: i64) -> Result<usize, Error> {
    usize::try_from(size).map_err(|_| Error::input(format!("a shape contains the size {size}")))
}

/// Resolves an axis in `-rank..rank` to an index.
pub(crate) fn resolve_axis(axis: i64, rank: usize) -> Result<usize, Error> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    match from_start.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ => Err(Error::invalid(format!("axis {axis} is out of range for rank {rank}"))),
    }
}

/// Output shape of Expand: the common shape of the input and the requested shape.
pub(super) fn expanded_shape(input: &[usize], shape: &TensorView<'_>) -> Result<Vec<usize>, Error> {
    let requested = size_list(shape)?;
    broadcast_shapes(&[input, &requested]).map_err(|error| error.named(&["input", "shape"]).into())
}

/// Value of a Constant node.
pub(crate) fn constant_value(node: &Node, base_dir: Option<&Path>) -> Result<Tensor, Error> {
    let [attribute] = &node.attributes[..] else {
        return Err(Error::invalid(format!("expected 1 attribute, got {}", node.attributes.len())));
    };
    Ok(match attribute.name.as_str() {
        "value" => return attribute.tensor()?.decode(base_dir),
        "value_float" => arr0(attribute.float()?).into(),
        "value_floats" => arr1(&attribute.floats()?).into(),
        "value_int" => arr0(attribute.int()?).into(),
        "value_ints" => arr1(&attribute.ints()?).into(),
        "value_string" => arr0(attribute.string()?).into(),
        "value_strings" => arr1(&attribute.strings()?).into(),
        "sparse_value" => return Err(Error::unsupported("sparse tensors are not supported")),
        other => {
            return Err(Error::invalid(format!("unknown attribute {}", display_name(other))));
        }
    })
}

/// Attribute `value` of a ConstantOfShape node.
pub(crate) fn fill_value(node: &Node) -> Result<Option<TensorProto>, Error> {
    node.attribute("value").map(|value| value.tensor()).transpose()
}

/// Range of dimensions that a Shape node returns, from its attributes `start` and `end`.
pub(crate) fn shape_range(node: &Node, rank: usize) -> Result<std::ops::Range<usize>, Error> {
    let clamp = |axis: i64| {
        let axis = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        axis.clamp(0, rank as i64) as usize
    };
    let (start, end) = (clamp(node.int("start", 0)?), clamp(node.int("end", i64::MAX)?));
    Ok(start..end.max(start))
}

/// Output shape of Reshape, Squeeze or Unsqueeze, whose elements are those of the input in the same order.
pub(super) fn reshaped_shape(
    node: &Node,
    version: &OperatorVersion,
    inputs: &[Option<TensorView<'_>>],
) -> Result<Vec<usize>, Error> {
    let [Some(x), ..] = inputs else { return Err(Error::missing_input(0)) };
    version.check_type(x.dtype())?;
    match version.operator.name {
        "Reshape" => {
            let target = inputs.get(1).and_then(Option::as_ref).ok_or_else(|| Error::missing_input(1))?;
            resolve_reshape(x.shape(), &int_list(target)?, node.int("allowzero", 0)? != 0)
        }
        "Squeeze" => squeeze_shape(x.shape(), axes(node, inputs)?.as_deref()),
        _ => {
            let axes = axes(node, inputs)?.ok_or_else(|| Error::invalid("the attribute axes is missing"))?;
            unsqueeze_shape(x.shape(), &axes)
        }
    }
}

/// Runs a shape operator other than Expand, Reshape, Squeeze and Unsqueeze; omitted inputs are `None`.
pub(super) fn run(
    node: &Node,
    version: &OperatorVersion,
    inputs: &[Option<TensorView<'_>>],
) -> Result<Tensor, Error> {
    let input =
        |index: usize| inputs.get(index).and_then(Option::as_ref).ok_or_else(|| Error::missing_input(index));
    let x = input(0)?;
    version.check_type(x.dtype())?;
    match version.operator.name {
        "Shape" => {
            let range = shape_range(node, x.shape().len())?;
            Ok(arr1(&x.shape()[range].iter().map(|&size| size as i64).collect::<Vec<_>>()).into())
        }
        "Size" => Ok(arr0(element_count(x.shape()).unwrap_or(usize::MAX) as i64).into()),
        "ConstantOfShape" => {
            let fill = match fill_value(node)? {
                Some(value) => value.decode(None)?,
                None => arr1(&[0f32]).into(),
            };
            if element_count(fill.shape()) != Ok(1) {
                return Err(Error::invalid("the attribute value must have exactly one element"));
            }
            let fill = reshape(&fill.view(), &[])?;
            Ok(fill.view().broadcast_to(&size_list(x)?)?.to_owned()?)
        }
        "Concat" => {
            let all = (0..inputs.len()).map(input).collect::<Result<Vec<_>, Error>>()?;
            let axis =
                node.attribute("axis").ok_or_else(|| Error::invalid("the attribute axis is missing"))?;
            concat(&all, resolve_axis(axis.int()?, x.shape().len())?)
        }
        "Gather" => gather(x, input(1)?, resolve_axis(node.int("axis", 0)?, x.shape().len())?),
        "Slice" => slice(x, inputs),
        other => Err(Error::unsupported(format!("{other} is not supported"))),
    }
}

/// Axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since.
fn axes(node: &Node, inputs: &[Option<TensorView<'_>>]) -> Result<Option<Vec<i64>>, Error> {
    match (inputs.get(1).and_then(Option::as_ref), node.attribute("axes")) {
        (Some(axes), _) => int_list(axes).map(Some),
        (None, Some(axes)) => axes.ints().map(Some),
        (None, None) => Ok(None),
    }
}

/// Removes the given axes, or all dimensions of size 1.
pub(crate) fn squeeze_shape<S: Clone + PartialEq<usize>>(
    shape: &[S],
    axes: Option<&[i64]>,
) -> Result<Vec<S>, Error> {
    let is_removed: Vec<bool> = match axes {
        None => shape.iter().map(|size| *size == 1).collect(),
        Some(axes) => {
            let mut is_removed = vec![false; shape.len()];
            for &axis in axes {
                is_removed[resolve_axis(axis, shape.len())?] = true;
            }
            is_removed
        }
    };
    let kept = shape.iter().zip(is_removed).filter(|(_, is_removed)| !is_removed);
    Ok(kept.map(|(size, _)| size.clone()).collect())
}

/// Inserts dimensions of size 1 at the given axes of the result.
pub(crate) fn unsqueeze_shape<S: Clone + From<usize>>(shape: &[S], axes: &[i64]) -> Result<Vec<S>, Error> {
    let rank = shape.len() + axes.len();
    let mut is_new = vec![false; rank];
    for &axis in axes {
        if std::mem::replace(&mut is_new[resolve_axis(axis, rank)?], true) {
            return Err(Error::invalid(format!("axis {axis} is repeated")));
        }
    }
    let mut old = shape.iter();
    Ok(is_new
        .into_iter()
        .filter_map(|is_new| if is_new { Some(S::from(1)) } else { old.next().cloned() })
        .collect())
}

/// Resolves the target of Reshape: 0 copies the size of the input, -1 is inferred.
fn resolve_reshape(shape: &[usize], target: &[i64], allow_zero: bool) -> Result<Vec<usize>, Error> {
    let mut sizes = Vec::with_capacity(target.len());
    let mut inferred = None;
    for (index, &size) in target.iter().enumerate() {
        sizes.push(match size {
            -1 if inferred.is_some() => {
                return Err(Error::input("the target shape contains more than one -1"));
            }
            -1 => {
                inferred = Some(index);
                1
            }
            0 if !allow_zero => *shape.get(index).ok_or_else(|| {
                let rank = shape.len();
                Error::input(format!("the target shape copies dimension {index} of an input of rank {rank}"))
            })?,
            size => to_size(size)?,
        });
    }
    if let Some(index) = inferred {
        let remaining = match (element_count(shape), element_count(&sizes)) {
            (Ok(all), Ok(others)) if others > 0 && all % others == 0 => Some(all / others),
            _ => None,
        };
        sizes[index] =
            remaining.ok_or_else(|| Error::input("no size for -1 in the target shape fits the input"))?;
    }
    Ok(sizes)
}

/// A view of a tensor in another shape of as many elements; copied only where strides do not allow a view.
pub(super) enum Reshaped<'v> {
    View(TensorView<'v>),
    Copy(Tensor),
}

impl<'v> Reshaped<'v> {
    pub(super) fn new(view: TensorView<'v>, shape: &[usize]) -> Result<Reshaped<'v>, Error> {
        match viewed(view.clone(), shape) {
            Ok(view) => Ok(Reshaped::View(view)),
            Err(_) => Ok(Reshaped::Copy(reshape(&view, shape)?)),
        }
    }

    pub(super) fn view(&self) -> TensorView<'_> {
        match self {
            Reshaped::View(view) => reborrow(view),
            Reshaped::Copy(tensor) => tensor.view(),
        }
    }
}

/// A view of the same elements in another shape, in row-major order; fails where that needs a copy.
pub(super) fn viewed<'v>(view: TensorView<'v>, shape: &[usize]) -> Result<TensorView<'v>, Error> {
    if view.shape() == shape {
        return Ok(view);
    }
    let from = short_shape_text(view.shape());
    with_array!(TensorView, view, array => match array.into_shape_with_order(IxDyn(shape)) {
        Ok(array) => Ok(array.into()),
        Err(_) => Err(cannot_reshape(&from, shape)),
    })
}

/// Elements in row-major order, in another shape.
pub(super) fn reshape(view: &TensorView<'_>, shape: &[usize]) -> Result<Tensor, Error> {
    with_shape(view.to_owned()?, shape)
}

/// A tensor in another shape; its elements are not copied.
pub(super) fn with_shape(tensor: Tensor, shape: &[usize]) -> Result<Tensor, Error> {
    if tensor.shape() == shape {
        return Ok(tensor);
    }
    let from = short_shape_text(tensor.shape());
    with_array!(Tensor, tensor, array => match array.into_shape_with_order(IxDyn(shape)) {
        Ok(array) => Ok(array.into()),
        Err(_) => Err(cannot_reshape(&from, shape)),
    })
}

fn cannot_reshape(from: &str, to: &[usize]) -> Error {
    let to = short_shape_text(to);
    Error::input(format!("cannot reshape {from} to {to}: the number of elements differs"))
}

fn concat(all: &[&TensorView<'_>], axis: usize) -> Result<Tensor, Error> {
    macro_rules! by_type {
        ($($variant:ident)+) => {
            match all[0] {
                $(TensorView::$variant(_) => {
                    let views = all.iter().map(|view| match view {
                        TensorView::$variant(view) => Ok(view.view()),
                        other => Err(Error::invalid(format!("cannot concatenate {} and {}", all[0].dtype(), other.dtype()))),
                    });
                    ndarray::concatenate(Axis(axis), &views.collect::<Result<Vec<_>, _>>()?)
                        .map(Tensor::from)
                        .map_err(|_| {
                            let shapes: Vec<String> = all.iter().map(|view| short_shape_text(view.shape())).collect();
                            let shapes = shapes[..shapes.len().min(8)].join(", ");
                            Error::input(format!("cannot concatenate {shapes} along axis {axis}"))
                        })
                })+
            }
        };
    }
    by_type!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128)
}

fn gather(x: &TensorView<'_>, indices: &TensorView<'_>, axis: usize) -> Result<Tensor, Error> {
    let flat: Vec<i64> = match indices {
        TensorView::I64(view) => view.iter().copied().collect(),
        TensorView::I32(view) => view.iter().map(|&int| int.into()).collect(),
        other => {
            return Err(Error::invalid(format!("indices must be int64 or int32, not {}", other.dtype())));
        }
    };
    let size = x.shape()[axis];
    let flat = flat.into_iter().map(|index| {
        let from_start = if index < 0 { index.saturating_add(size as i64) } else { index };
        match usize::try_from(from_start) {
            Ok(index) if index < size => Ok(index),
            _ => Err(Error::input(format!("index {index} is out of range for size {size}"))),
        }
    });
    let flat = flat.collect::<Result<Vec<usize>, Error>>()?;
    let shape = [&x.shape()[..axis], indices.shape(), &x.shape()[axis + 1..]].concat();
    // `select` allocates the result without checking for overflow.
    element_count(&shape).map_err(|_| Error::input("the gathered result has too many elements"))?;
    let gathered: Tensor = with_array!(TensorView, x, array => array.select(Axis(axis), &flat).into());
    reshape(&gathered.view(), &shape)
}

fn slice(x: &TensorView<'_>, inputs: &[Option<TensorView<'_>>]) -> Result<Tensor, Error> {
    let list = |index: usize| inputs.get(index).and_then(Option::as_ref).map(int_list).transpose();
    let missing = |name: &str| Error::invalid(format!("the input {name} is missing"));
    let starts = list(1)?.ok_or_else(|| missing("starts"))?;
    let ends = list(2)?.ok_or_else(|| missing("ends"))?;
    let axes = list(3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = list(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(Error::input("starts, ends, axes and steps have different lengths"));
    }
    let mut slices = vec![(0, None, 1); x.shape().len()];
    for (index, &axis) in axes.iter().enumerate() {
        let axis = resolve_axis(axis, x.shape().len())?;
        let step = isize::try_from(steps[index]).ok().filter(|&step| step != 0 && step != isize::MIN);
        let step = step.ok_or_else(|| Error::input("the step of a slice is 0 or out of range"))?;
        let (start, end) = slice_bounds(x.shape()[axis], starts[index], ends[index], step < 0);
        slices[axis] = (start, Some(end), step);
    }
    with_array!(TensorView, x, array => {
        let mut view = array.view();
        for (axis, &(start, end, step)) in slices.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(start, end, step));
        }
        Ok(unishape::to_owned(view)?.into())
    })
}

/// Half-open index range of a slice, as ndarray expects it: ascending, also for a negative step.
fn slice_bounds(size: usize, start: i64, end: i64, is_reversed: bool) -> (isize, isize) {
    let size = size as i64;
    let from_start = |index: i64| if index < 0 { index.saturating_add(size) } else { index };
    let (low, high) = match is_reversed {
        false => (from_start(start).clamp(0, size), from_start(end).clamp(0, size)),
        // Descends from `start` to `end`, exclusive. A start before the first element is the first element.
        true => {
            let start = from_start(start).max(0).min(size - 1);
            (from_start(end).clamp(-1, size - 1) + 1, start + 1)
        }
    };
    let (low, high) = (low.max(0), high.max(0));
    (low as isize, high.max(low) as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_resolves_0_and_minus_1() {
        let sizes = |target: &[i64]| resolve_reshape(&[2, 3, 4], target, false).ok();
        assert_eq!(sizes(&[0, -1]), Some(vec![2, 12]));
        assert_eq!(sizes(&[4, 6]), Some(vec![4, 6]));
        assert_eq!(
            (sizes(&[5, -1]), sizes(&[-1, -1]), sizes(&[2, 3, 4, 0]), sizes(&[-2])),
            (None, None, None, None)
        );
        assert_eq!(resolve_reshape(&[2, 0], &[0, 5], true).ok(), Some(vec![0, 5]));
        // Any size would do.
        assert_eq!(resolve_reshape(&[0, 3], &[0, -1], false).ok(), None);
    }

    #[test]
    fn slices_match_python_but_for_their_start() {
        let x = Tensor::from(arr1(&[0i64, 1, 2, 3, 4]));
        let list = |int: i64| Some(Tensor::from(arr1(&[int])));
        let sliced = |start: i64, end: i64, step: i64| {
            let inputs = [Some(x.clone()), list(start), list(end), list(0), list(step)];
            let views: Vec<_> = inputs.iter().map(|input| input.as_ref().map(Tensor::view)).collect();
            slice(&x.view(), &views).and_then(|tensor| int_list(&tensor.view())).expect("a slice")
        };
        assert_eq!(sliced(1, 4, 1), [1, 2, 3]);
        assert_eq!(sliced(-2, i64::MAX, 1), [3, 4]);
        assert_eq!(sliced(0, 5, 2), [0, 2, 4]);
        assert_eq!(sliced(-1, i64::MIN, -1), [4, 3, 2, 1, 0]);
        assert_eq!(sliced(3, 0, -2), [3, 1]);
        assert_eq!(sliced(4, 1, 1), Vec::<i64>::new());
        // Unlike in Python, a start before the first element is the first element.
        assert_eq!(sliced(-9, i64::MIN, -1), [0]);
        assert_eq!(sliced(-9, 0, -1), Vec::<i64>::new());
        let empty = Tensor::from(arr1::<i64>(&[]));
        let inputs = [Some(empty.clone()), list(-1), list(i64::MIN), list(0), list(-1)];
        let views: Vec<_> = inputs.iter().map(|input| input.as_ref().map(Tensor::view)).collect();
        assert_eq!(slice(&empty.view(), &views), Ok(empty.clone()));
    }

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!((resolve_axis(-1, 3), resolve_axis(2, 3)), (Ok(2), Ok(2)));
        assert!([3, -4, i64::MIN].into_iter().all(|axis| resolve_axis(axis, 3).is_err()));
    }
}
