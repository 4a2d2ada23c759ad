//! Operators that are about shapes: they make, read, join and change them, and compute nothing.

use crate::error::Error;
use crate::graph::Node;
use crate::operators::Version;
use crate::proto::TensorProto;
use ndarray::{ArrayD, Axis, IxDyn, Slice, arr0, arr1};
use std::path::Path;
use unishape::notation::short_shape_text;
use unishape::{Tensor, TensorView, broadcast_shapes, element_count};

/// Does the same with the array in a tensor, whatever its type.
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

/// The same view, for as long as this one is there.
pub(super) fn reborrowed<'t>(view: &'t TensorView<'_>) -> TensorView<'t> {
    with_array!(TensorView, view, array => array.view().into())
}

/// The integers in a tensor of rank 1 or 0, of int64 or int32.
pub(crate) fn integers(view: &TensorView<'_>) -> Result<Vec<i64>, Error> {
    if view.shape().len() > 1 {
        let shape = short_shape_text(view.shape());
        return Err(Error::invalid(format!("a list of integers is {shape}, and should have one dimension")));
    }
    match view {
        TensorView::I64(view) => Ok(view.iter().copied().collect()),
        TensorView::I32(view) => Ok(view.iter().map(|&int| int.into()).collect()),
        other => Err(Error::invalid(format!("a list of integers is {}", other.dtype()))),
    }
}

/// Sizes from a tensor.
fn sizes(view: &TensorView<'_>) -> Result<Vec<usize>, Error> {
    integers(view)?.into_iter().map(size).collect()
}

fn size(size: i64) -> Result<usize, Error> {
    usize::try_from(size).map_err(|_| Error::given(format!("a shape has the size {size}")))
}

/// An index that may count from the end, of so many.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize, Error> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    match from_start.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ => Err(Error::invalid(format!("there is no dimension {axis} among {rank}"))),
    }
}

/// The shape that Expand gives: that of its input and the given one, broadcast to each other.
pub(super) fn expanded_shape(input: &[usize], shape: &TensorView<'_>) -> Result<Vec<usize>, Error> {
    let wanted = sizes(shape)?;
    broadcast_shapes(&[input, &wanted]).map_err(|error| error.named(&["input", "shape"]).into())
}

/// What a Constant is.
pub(crate) fn constant(node: &Node, folder: Option<&Path>) -> Result<Tensor, Error> {
    let [attribute] = &node.attributes[..] else {
        return Err(Error::invalid(format!("it has {} attributes, not 1", node.attributes.len())));
    };
    Ok(match attribute.name.as_str() {
        "value" => return attribute.tensor()?.decode(folder),
        "value_float" => arr0(attribute.float()?).into(),
        "value_floats" => arr1(&attribute.floats()?).into(),
        "value_int" => arr0(attribute.int()?).into(),
        "value_ints" => arr1(&attribute.ints()?).into(),
        "value_string" => arr0(attribute.string()?).into(),
        "value_strings" => arr1(&attribute.strings()?).into(),
        "sparse_value" => return Err(Error::unsupported("sparse tensors are not computed with")),
        other => {
            return Err(Error::invalid(format!("there is no attribute {}", crate::error::named(other))));
        }
    })
}

/// The one element that a ConstantOfShape is full of.
pub(crate) fn fill(node: &Node) -> Result<Option<TensorProto>, Error> {
    node.attribute("value").map(|value| value.tensor()).transpose()
}

/// The dimensions that Shape tells of: from the first to before the last.
pub(crate) fn shape_range(node: &Node, rank: usize) -> Result<std::ops::Range<usize>, Error> {
    let clamped = |at: i64| {
        let at = if at < 0 { at.saturating_add(rank as i64) } else { at };
        at.clamp(0, rank as i64) as usize
    };
    let (start, end) = (clamped(node.int("start", 0)?), clamped(node.int("end", i64::MAX)?));
    Ok(start..end.max(start))
}

/// Runs an operator that is about shapes, and is no Expand, of inputs that are all there.
pub(super) fn run(node: &Node, version: &Version, from: &[Option<TensorView<'_>>]) -> Result<Tensor, Error> {
    let missing = |at: usize| Error::invalid(format!("input {at} is left out"));
    let input = |at: usize| from.get(at).and_then(Option::as_ref).ok_or_else(|| missing(at));
    let x = input(0)?;
    version.check(x.dtype())?;
    match version.operator.name {
        "Shape" => {
            let range = shape_range(node, x.shape().len())?;
            Ok(arr1(&x.shape()[range].iter().map(|&size| size as i64).collect::<Vec<_>>()).into())
        }
        "Size" => Ok(arr0(element_count(x.shape()).unwrap_or(usize::MAX) as i64).into()),
        "ConstantOfShape" => {
            let one = match fill(node)? {
                Some(value) => value.decode(None)?,
                None => arr1(&[0f32]).into(),
            };
            if element_count(one.shape()) != Ok(1) {
                return Err(Error::invalid("the attribute value is not a single element"));
            }
            let one = reshaped(&one.view(), &[])?;
            Ok(one.view().broadcast_to(&sizes(x)?)?.to_owned()?)
        }
        "Concat" => {
            let all = (0..from.len()).map(input).collect::<Result<Vec<_>, Error>>()?;
            let along =
                node.attribute("axis").ok_or_else(|| Error::invalid("the attribute axis is missing"))?;
            concatenated(&all, axis(along.int()?, x.shape().len())?)
        }
        "Gather" => gathered(x, input(1)?, axis(node.int("axis", 0)?, x.shape().len())?),
        "Slice" => sliced(x, from),
        "Reshape" => {
            let wanted = integers(input(1)?)?;
            reshaped(x, &reshape_sizes(x.shape(), &wanted, node.int("allowzero", 0)? != 0)?)
        }
        "Squeeze" => {
            let axes = axes(node, from)?;
            let shape = squeezed(x.shape(), axes.as_deref())?;
            reshaped(x, &shape)
        }
        "Unsqueeze" => {
            let axes = axes(node, from)?.ok_or_else(|| Error::invalid("the attribute axes is missing"))?;
            reshaped(x, &unsqueezed(x.shape(), &axes)?)
        }
        other => Err(Error::unsupported(format!("{other} is not run"))),
    }
}

/// The axes of Squeeze and Unsqueeze: an attribute once, an input now.
fn axes(node: &Node, from: &[Option<TensorView<'_>>]) -> Result<Option<Vec<i64>>, Error> {
    match (from.get(1).and_then(Option::as_ref), node.attribute("axes")) {
        (Some(axes), _) => integers(axes).map(Some),
        (None, Some(axes)) => axes.ints().map(Some),
        (None, None) => Ok(None),
    }
}

pub(crate) fn squeezed<S: Clone + PartialEq<usize>>(
    shape: &[S],
    axes: Option<&[i64]>,
) -> Result<Vec<S>, Error> {
    let goes: Vec<bool> = match axes {
        None => shape.iter().map(|size| *size == 1).collect(),
        Some(axes) => {
            let mut goes = vec![false; shape.len()];
            for &at in axes {
                goes[axis(at, shape.len())?] = true;
            }
            goes
        }
    };
    Ok(shape.iter().zip(goes).filter(|(_, goes)| !goes).map(|(size, _)| size.clone()).collect())
}

pub(crate) fn unsqueezed<S: Clone + From<usize>>(shape: &[S], axes: &[i64]) -> Result<Vec<S>, Error> {
    let rank = shape.len() + axes.len();
    let mut is_new = vec![false; rank];
    for &at in axes {
        if std::mem::replace(&mut is_new[axis(at, rank)?], true) {
            return Err(Error::invalid(format!("the dimension {at} is to be made twice")));
        }
    }
    let mut old = shape.iter();
    Ok(is_new
        .into_iter()
        .filter_map(|is_new| if is_new { Some(S::from(1)) } else { old.next().cloned() })
        .collect())
}

/// What Reshape means: 0 takes the size that is there, -1 what is left.
fn reshape_sizes(shape: &[usize], wanted: &[i64], zero_is_zero: bool) -> Result<Vec<usize>, Error> {
    let mut sizes = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (at, &wanted) in wanted.iter().enumerate() {
        sizes.push(match wanted {
            -1 if open.is_some() => return Err(Error::given("a shape leaves more than one size open")),
            -1 => {
                open = Some(at);
                1
            }
            0 if !zero_is_zero => *shape
                .get(at)
                .ok_or_else(|| Error::given(format!("a shape keeps dimension {at}, which is not there")))?,
            other => size(other)?,
        });
    }
    if let Some(at) = open {
        let (all, others) = (element_count(shape), element_count(&sizes));
        let left = match (all, others) {
            (Ok(all), Ok(others)) if others > 0 && all % others == 0 => Some(all / others),
            _ => None,
        };
        sizes[at] = left.ok_or_else(|| Error::given("nothing fits where a shape leaves a size open"))?;
    }
    Ok(sizes)
}

/// The elements in row-major order, in another shape.
pub(super) fn reshaped(view: &TensorView<'_>, shape: &[usize]) -> Result<Tensor, Error> {
    fn with_shape<T>(array: ArrayD<T>, shape: &[usize]) -> Result<Tensor, Error>
    where
        Tensor: From<ArrayD<T>>,
    {
        let from = short_shape_text(array.shape());
        match array.into_shape_with_order(IxDyn(shape)) {
            Ok(array) => Ok(array.into()),
            Err(_) => {
                let to = short_shape_text(shape);
                Err(Error::given(format!("{from} cannot be reshaped to {to}, which has other elements")))
            }
        }
    }
    with_array!(Tensor, view.to_owned()?, array => with_shape(array, shape))
}

fn concatenated(all: &[&TensorView<'_>], axis: usize) -> Result<Tensor, Error> {
    macro_rules! by_type {
        ($($variant:ident)+) => {
            match all[0] {
                $(TensorView::$variant(_) => {
                    let views = all.iter().map(|view| match view {
                        TensorView::$variant(view) => Ok(view.view()),
                        other => Err(Error::invalid(format!("{} beside {}", other.dtype(), all[0].dtype()))),
                    });
                    ndarray::concatenate(Axis(axis), &views.collect::<Result<Vec<_>, _>>()?)
                        .map(Tensor::from)
                        .map_err(|_| {
                            let shapes: Vec<String> = all.iter().map(|view| short_shape_text(view.shape())).collect();
                            let shapes = shapes[..shapes.len().min(8)].join(", ");
                            Error::given(format!("{shapes} cannot be joined along dimension {axis}"))
                        })
                })+
            }
        };
    }
    by_type!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128)
}

fn gathered(x: &TensorView<'_>, indices: &TensorView<'_>, axis: usize) -> Result<Tensor, Error> {
    let flat: Vec<i64> = match indices {
        TensorView::I64(view) => view.iter().copied().collect(),
        TensorView::I32(view) => view.iter().map(|&int| int.into()).collect(),
        other => return Err(Error::invalid(format!("indices are {}, not int64 or int32", other.dtype()))),
    };
    let size = x.shape()[axis];
    let flat = flat.into_iter().map(|index| {
        let from_start = if index < 0 { index.saturating_add(size as i64) } else { index };
        match usize::try_from(from_start) {
            Ok(at) if at < size => Ok(at),
            _ => Err(Error::given(format!("index {index} of {size}"))),
        }
    });
    let flat = flat.collect::<Result<Vec<usize>, Error>>()?;
    let shape = [&x.shape()[..axis], indices.shape(), &x.shape()[axis + 1..]].concat();
    // So much memory is taken, and nobody has counted it yet.
    element_count(&shape).map_err(|_| Error::given("more elements are gathered than can be counted"))?;
    let picked: Tensor = with_array!(TensorView, x, array => array.select(Axis(axis), &flat).into());
    reshaped(&picked.view(), &shape)
}

fn sliced(x: &TensorView<'_>, from: &[Option<TensorView<'_>>]) -> Result<Tensor, Error> {
    let list = |at: usize| from.get(at).and_then(Option::as_ref).map(integers).transpose();
    let missing = |what: &str| Error::invalid(format!("the input {what} is left out"));
    let starts = list(1)?.ok_or_else(|| missing("starts"))?;
    let ends = list(2)?.ok_or_else(|| missing("ends"))?;
    let axes = list(3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = list(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(Error::given("starts, ends, axes and steps are not equally many"));
    }
    let mut slices = vec![(0, None, 1); x.shape().len()];
    for (at, &along) in axes.iter().enumerate() {
        let along = axis(along, x.shape().len())?;
        let step = isize::try_from(steps[at]).ok().filter(|&step| step != 0 && step != isize::MIN);
        let step = step.ok_or_else(|| Error::given("a slice in steps of 0, or of too many"))?;
        let (first, end) = slice_bounds(x.shape()[along], starts[at], ends[at], step < 0);
        slices[along] = (first, Some(end), step);
    }
    with_array!(TensorView, x, array => {
        let mut view = array.view();
        for (at, &(start, end, step)) in slices.iter().enumerate() {
            view.slice_axis_inplace(Axis(at), Slice::new(start, end, step));
        }
        Ok(unishape::to_owned(view)?.into())
    })
}

/// The indices that a slice goes over, as ndarray has them: from the lower to before the upper one, also where
/// it goes backwards.
fn slice_bounds(size: usize, start: i64, end: i64, is_backwards: bool) -> (isize, isize) {
    let size = size as i64;
    let from_start = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (low, high) = match is_backwards {
        false => (from_start(start).clamp(0, size), from_start(end).clamp(0, size)),
        // From the start down to behind the end.
        true => {
            let (start, end) = (from_start(start).clamp(-1, size - 1), from_start(end).clamp(-1, size - 1));
            (end + 1, start + 1)
        }
    };
    let (low, high) = (low.max(0), high.max(0));
    (low as isize, high.max(low) as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_reads_zeros_and_what_is_left_open() {
        let sizes = |wanted: &[i64]| reshape_sizes(&[2, 3, 4], wanted, false).ok();
        assert_eq!(sizes(&[0, -1]), Some(vec![2, 12]));
        assert_eq!(sizes(&[4, 6]), Some(vec![4, 6]));
        assert_eq!(
            (sizes(&[5, -1]), sizes(&[-1, -1]), sizes(&[2, 3, 4, 0]), sizes(&[-2])),
            (None, None, None, None)
        );
        assert_eq!(reshape_sizes(&[2, 0], &[0, 5], true).ok(), Some(vec![0, 5]));
    }

    #[test]
    fn slices_go_as_python_has_it() {
        let x = Tensor::from(arr1(&[0i64, 1, 2, 3, 4]));
        let list = |int: i64| Some(Tensor::from(arr1(&[int])));
        let slice = |start: i64, end: i64, step: i64| {
            let inputs = [Some(x.clone()), list(start), list(end), list(0), list(step)];
            let views: Vec<_> = inputs.iter().map(|input| input.as_ref().map(Tensor::view)).collect();
            sliced(&x.view(), &views).and_then(|tensor| integers(&tensor.view())).expect("a slice")
        };
        assert_eq!(slice(1, 4, 1), [1, 2, 3]);
        assert_eq!(slice(-2, i64::MAX, 1), [3, 4]);
        assert_eq!(slice(0, 5, 2), [0, 2, 4]);
        assert_eq!(slice(-1, i64::MIN, -1), [4, 3, 2, 1, 0]);
        assert_eq!(slice(3, 0, -2), [3, 1]);
        assert_eq!(slice(4, 1, 1), Vec::<i64>::new());
    }

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!((axis(-1, 3), axis(2, 3)), (Ok(2), Ok(2)));
        assert!(axis(3, 3).is_err() && axis(-4, 3).is_err() && axis(i64::MIN, 3).is_err());
    }
}
