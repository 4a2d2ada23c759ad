//! Operators that read shapes or move elements: Reshape, Slice, Concat, Pad, Resize, …

use super::call::{Call, elem};
use super::elements::infer_tensor;
use crate::elem_type::ElemType;
use crate::runtime::shape_ops::{
    constant_value, fill_value, resolve_axis, shape_range, squeeze_shape, unsqueeze_shape,
};
use crate::shape_inference::expression::SizeExpr;
use crate::shape_inference::inferred_value::{InferredValue, ShapeData};
use crate::shape_inference::symbolic::{Dim, MAX_INFERRED_RANK, SymbolicShape};
use unishape::DType;

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    let (name, output) = (call.node.op_type.as_str(), call.output);
    if name == "Split" {
        return split(call);
    }
    if output > 0 {
        return None;
    }
    let like_x = |dims: Vec<Dim>| Some(InferredValue::new(call.elem(0), dims));
    match name {
        "Constant" => constant(call),
        "Shape" => {
            let len = match call.get(0)?.shape.dims() {
                Some(dims) => Dim::Known(shape_range(call.node, dims.len()).ok()?.len()),
                None => call.anonymous(0),
            };
            Some(InferredValue::new(elem(DType::I64), vec![len]))
        }
        "Size" => Some(InferredValue::new(elem(DType::I64), vec![])),
        "Expand" => expand(call),
        "ConstantOfShape" => {
            let elem = match fill_value(call.node).ok()? {
                Some(value) => value.elem,
                None => ElemType::of(DType::F32),
            };
            let shape = match call.elements(0) {
                Some(sizes) => sizes_shape(call, sizes),
                None => shape_from_list(call, 0)?,
            };
            Some(InferredValue { elem: Some(elem), shape, data: None })
        }
        "Concat" => concat(call),
        "Slice" => slice(call),
        "Squeeze" => {
            let dims = call.dims(0)?;
            let axes = call.ints_or_attribute(1, "axes");
            let is_open = |dim: &Dim| dim.known().is_none();
            if axes.is_none() && (call.get(1).is_some() || dims.iter().any(is_open)) {
                return None;
            }
            like_x(squeeze_shape(dims, axes.as_deref()).ok()?)
        }
        "Unsqueeze" => like_x(unsqueeze_shape(call.dims(0)?, &call.ints_or_attribute(1, "axes")?).ok()?),
        "Reshape" => {
            let shape = match call.elements(1) {
                Some(target) => SymbolicShape::new(reshape(call, target)?),
                // Before opset 5, the shape is an attribute.
                None if call.get(1).is_none() => {
                    let target = call.node.attribute("shape")?.ints().ok()?;
                    let target: Vec<SizeExpr> = target.into_iter().map(SizeExpr::int).collect();
                    SymbolicShape::new(reshape(call, &target)?)
                }
                None => reshape_to_unknown(call)?,
            };
            Some(InferredValue { elem: call.elem(0), shape, data: None })
        }
        "Transpose" => {
            let dims = call.dims(0)?;
            let perm = call.int_list("perm", (0..dims.len() as i64).rev().collect())?;
            let permuted = perm.iter().map(|&axis| Some(dims[resolve_axis(axis, dims.len()).ok()?].clone()));
            like_x(permuted.collect::<Option<Vec<_>>>().filter(|permuted| permuted.len() == dims.len())?)
        }
        "Flatten" => {
            let dims = call.dims(0)?;
            let axis = call.int("axis", 1)?;
            let axis = if axis < 0 { axis + dims.len() as i64 } else { axis };
            let (rows, columns) = dims.split_at_checked(usize::try_from(axis).ok()?)?;
            like_x(vec![call.or_anonymous(product(rows), 0), call.or_anonymous(product(columns), 1)])
        }
        "Pad" => pad(call),
        "Tile" => {
            let dims = call.dims(0)?;
            let repeats = call.elements(1).filter(|repeats| repeats.len() == dims.len());
            let tiled = dims.iter().enumerate().map(|(axis, dim)| {
                let size = repeats.and_then(|repeats| dim.compute(|dim| dim.mul(&repeats[axis])));
                call.or_anonymous(size, axis)
            });
            like_x(tiled.collect())
        }
        "Resize" | "Upsample" => resize(call),
        "DepthToSpace" | "SpaceToDepth" => {
            let [batch, channels, height, width] = call.dims(0)? else { return None };
            let block = call.int("blocksize", 0).filter(|block| *block > 0)?;
            let area = block.checked_mul(block)?;
            let grown = |dim: &Dim, by: i64| dim.compute(|size| size.mul_int(by));
            let reduced = |dim: &Dim, by: i64| dim.compute(|size| size.floor_div_int(by));
            let [channels, height, width] = match name {
                "DepthToSpace" => [reduced(channels, area), grown(height, block), grown(width, block)],
                _ => [grown(channels, area), reduced(height, block), reduced(width, block)],
            };
            let sizes = [channels, height, width].into_iter().enumerate();
            let sizes = sizes.map(|(axis, size)| call.or_anonymous(size, axis + 1));
            like_x([batch.clone()].into_iter().chain(sizes).collect())
        }
        "CenterCropPad" => {
            let mut dims = call.dims(0)?.to_vec();
            let axes = call.int_list("axes", (0..dims.len() as i64).collect())?;
            for (&axis, size) in axes.iter().zip(call.elements(1)?) {
                let axis = resolve_axis(axis, dims.len()).ok()?;
                dims[axis] = Dim::from_expr(size)?;
            }
            like_x(dims)
        }
        _ => None,
    }
}

/// Product of sizes.
pub(super) fn product(dims: &[Dim]) -> Option<Dim> {
    let total = dims.iter().try_fold(SizeExpr::int(1), |total, dim| total.mul(&dim.expr()?))?;
    Dim::from_expr(&total)
}

fn constant(call: Call<'_>) -> Option<InferredValue> {
    if let Some(value) = call.node.attribute("value") {
        return Some(infer_tensor(&value.tensor().ok()?, call.base_dir));
    }
    let constant = constant_value(call.node, None).ok()?;
    let shape = SymbolicShape::known(constant.shape());
    Some(InferredValue { elem: elem(constant.dtype()), shape, data: None })
}

/// The shape whose sizes a list holds; sizes that may be negative are unknown.
fn sizes_shape(call: Call<'_>, sizes: &[SizeExpr]) -> SymbolicShape {
    let dim = |(index, size): (usize, &SizeExpr)| call.or_anonymous(Dim::from_expr(size), index);
    SymbolicShape::new(sizes.iter().enumerate().map(dim).collect())
}

/// Shape given by a list with unknown elements: anonymous dimensions, or unknown rank.
fn shape_from_list(call: Call<'_>, input: usize) -> Option<SymbolicShape> {
    let list = call.get(input)?;
    if let Some(ShapeData::ShapeOf(shape)) = &list.data {
        return Some(shape.clone());
    }
    Some(match list.shape.sizes().as_deref() {
        Some(&[rank]) if rank <= MAX_INFERRED_RANK => {
            SymbolicShape::new((0..rank).map(|dim| call.anonymous(dim)).collect())
        }
        _ => SymbolicShape::unranked(call.id),
    })
}

fn expand(call: Call<'_>) -> Option<InferredValue> {
    let x = call.get(0)?;
    let target = match call.elements(1) {
        Some(sizes) => sizes_shape(call, sizes),
        None => shape_from_list(call, 1)?,
    };
    Some(InferredValue { elem: x.elem, shape: x.shape.broadcast_with(&target)?, data: None })
}

fn concat(call: Call<'_>) -> Option<InferredValue> {
    let count = call.inputs.len();
    // The rank, and sizes of other axes, are those of any input.
    let ranked: Vec<&[Dim]> = (0..count).filter_map(|input| call.dims(input)).collect();
    let mut shape = ranked.first()?.to_vec();
    let axis = resolve_axis(call.node.attribute("axis")?.int().ok()?, shape.len()).ok()?;
    for dims in &ranked {
        if dims.len() != shape.len() {
            return None;
        }
        for (size, other) in shape.iter_mut().zip(*dims) {
            // All are equal; one that is known is the most useful.
            if size.known().is_none() && other.known().is_some() {
                *size = other.clone();
            }
        }
    }
    let total = (0..count)
        .try_fold(SizeExpr::int(0), |total, input| total.add(&call.dims(input)?.get(axis)?.expr()?));
    shape[axis] = call.or_anonymous(total.and_then(|total| Dim::from_expr(&total)), axis);
    Some(InferredValue::new(call.elem(0), shape))
}

/// No size is as large: exporters write this number, or a larger one, for the end of an axis.
const BEYOND: i64 = 1_000_000_000;

/// Number of elements from `start` to `end` with a step along an axis.
fn slice_size(dim: &Dim, start: &SizeExpr, end: &SizeExpr, step: i64) -> Option<Dim> {
    let size = dim.expr()?;
    if step < 0 {
        let (start, end, step) = (start.constant()?, end.constant()?, step.checked_neg()?);
        // The whole axis backwards, with bounds beyond its ends.
        let is_whole = (start == -1 || start >= BEYOND) && end <= -BEYOND;
        if is_whole {
            return Dim::from_expr(&size.ceil_div_int(step)?);
        }
        // By the standard nothing is left; ONNX Runtime takes it for the other end.
        if end >= i32::MAX.into() {
            return None;
        }
        let size = size.constant()?;
        let from_start = |index: i64| if index < 0 { index.saturating_add(size) } else { index };
        // A start before the first element is the first element.
        let first = from_start(start).max(0).min(size - 1);
        let count = (first - from_start(end).clamp(-1, size - 1)).max(0);
        return usize::try_from((count + step - 1) / step).ok().map(Dim::Known);
    }
    let position = |index: &SizeExpr| match index.constant() {
        Some(BEYOND..) => Some(size.clone()),
        Some(index) if index >= 0 => SizeExpr::int(index).smaller(&size),
        Some(index) if index <= -BEYOND => Some(SizeExpr::int(0)),
        Some(index) => size.add_int(index)?.positive(),
        None if index.bounds().0.is_some_and(|low| low >= 0) => index.smaller(&size),
        None => None,
    };
    let count = position(end)?.sub(&position(start)?)?.positive()?;
    Dim::from_expr(&count.ceil_div_int(step)?)
}

fn slice(call: Call<'_>) -> Option<InferredValue> {
    let mut dims = call.dims(0)?.to_vec();
    let list = |input: usize, attribute: &str| match call.get(input) {
        Some(_) => call.elements(input).map(<[SizeExpr]>::to_vec),
        None => Some(call.node.attribute(attribute)?.ints().ok()?.into_iter().map(SizeExpr::int).collect()),
    };
    let (starts, ends) = (list(1, "starts"), list(2, "ends"));
    let count = starts.as_ref().or(ends.as_ref()).map(Vec::len);
    let count = count.or_else(|| call.dims(1)?.first()?.known());
    let axes = match call.ints_or_attribute(3, "axes") {
        Some(axes) => axes,
        // Axes that are not known may be any.
        None if call.get(3).is_some() => {
            let dims = (0..dims.len()).map(|axis| call.anonymous(axis));
            return Some(InferredValue::new(call.elem(0), dims.collect()));
        }
        None => (0..count.filter(|count| *count <= dims.len())? as i64).collect(),
    };
    let steps = match call.get(4) {
        Some(_) => call.ints(4),
        None => Some(vec![1; axes.len()]),
    };
    for (index, &axis) in axes.iter().enumerate() {
        let axis = resolve_axis(axis, dims.len()).ok()?;
        let size = || {
            let (start, end) = (starts.as_ref()?.get(index)?, ends.as_ref()?.get(index)?);
            slice_size(&dims[axis], start, end, *steps.as_ref()?.get(index).filter(|step| **step != 0)?)
        };
        dims[axis] = call.or_anonymous(size(), axis);
    }
    Some(InferredValue::new(call.elem(0), dims))
}

fn split(call: Call<'_>) -> Option<InferredValue> {
    let mut dims = call.dims(0)?.to_vec();
    let axis = call.axis(0, dims.len())?;
    let count = i64::try_from(call.node.outputs.len()).ok()?;
    let size = match call.ints_or_attribute(1, "split") {
        Some(sizes) => usize::try_from(*sizes.get(call.output)?).ok().map(Dim::Known),
        None if call.get(1).is_some() => {
            call.elements(1).and_then(|sizes| Dim::from_expr(sizes.get(call.output)?))
        }
        // Equal parts; the last one may be smaller.
        None => dims[axis].compute(|size| {
            let part = size.ceil_div_int(count)?;
            let is_divisible = size.floor_div_int(count)? == part;
            match is_divisible || call.node.attribute("num_outputs").is_none() {
                true => size.floor_div_int(count),
                false if call.output as i64 + 1 < count => Some(part),
                false => size.sub(&part.mul_int(count - 1)?),
            }
        }),
    };
    dims[axis] = call.or_anonymous(size, axis);
    Some(InferredValue::new(call.elem(0), dims))
}

fn reshape(call: Call<'_>, target: &[SizeExpr]) -> Option<Vec<Dim>> {
    let allow_zero = call.int("allowzero", 0)? != 0;
    let dims = call.dims(0);
    let mut shape: Vec<Dim> = Vec::with_capacity(target.len());
    let (mut inferred, mut is_valid) = (None, true);
    for (index, element) in target.iter().enumerate() {
        shape.push(match element.constant() {
            Some(..-1) => {
                is_valid = false;
                call.anonymous(index)
            }
            Some(-1) => {
                inferred = Some(index);
                Dim::Known(1)
            }
            Some(0) if !allow_zero => {
                is_valid &= dims.is_none_or(|dims| index < dims.len());
                call.or_anonymous(dims.and_then(|dims| dims.get(index)).cloned(), index)
            }
            // A symbolic size that is 0 at run time also means "copy the input's size"; that case is ignored.
            None if element.bounds().0.is_none_or(|low| low < 0) && !is_size(element) => {
                call.anonymous(index)
            }
            _ => call.or_anonymous(Dim::from_expr(element), index),
        });
    }
    // One unknown element may be -1 or 0, and every other is a size.
    if let Some(index) = inferred {
        let remaining = || {
            let total = product(dims?)?.expr()?;
            let others = product(&shape)?.expr()?;
            Dim::from_expr(&total.floor_div(&others)?)
        };
        shape[index] = call.or_anonymous(remaining(), index);
    } else if let Some(dims) = dims.filter(|_| is_valid) {
        // The only unknown size follows from the number of elements.
        let unknown: Vec<usize> =
            (0..shape.len()).filter(|&index| shape[index] == call.anonymous(index)).collect();
        if let [index] = unknown[..] {
            let others: Vec<Dim> = shape
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .map(|(_, dim)| dim.clone())
                .collect();
            let remaining = || {
                let others = product(&others)?;
                // Without elements, the size is not determined.
                others.known().filter(|others| *others > 0)?;
                Dim::from_expr(&product(dims)?.expr()?.floor_div(&others.expr()?)?)
            };
            shape[index] = call.or_anonymous(remaining(), index);
        }
    }
    Some(shape)
}

/// Whether an element is a size, computed from sizes, although its lower bound is not known.
fn is_size(element: &SizeExpr) -> bool {
    !element.has_element()
}

/// Reshape to a list of which only the length is known.
fn reshape_to_unknown(call: Call<'_>) -> Option<SymbolicShape> {
    let shape = shape_from_list(call, 1)?;
    match (shape.dims(), call.dims(0)) {
        (Some([_]), Some(dims)) => Some(SymbolicShape::new(vec![call.or_anonymous(product(dims), 0)])),
        _ => Some(shape),
    }
}

fn pad(call: Call<'_>) -> Option<InferredValue> {
    let mut dims = call.dims(0)?.to_vec();
    let rank = dims.len();
    let axes = match call.get(3) {
        Some(_) => call.ints(3),
        None => Some((0..rank as i64).collect()),
    };
    let pads = match call.get(1) {
        Some(_) => call.elements(1).map(<[SizeExpr]>::to_vec),
        None => {
            let pads = call.node.attribute("pads").or_else(|| call.node.attribute("paddings"))?;
            Some(pads.ints().ok()?.into_iter().map(SizeExpr::int).collect())
        }
    };
    let Some((axes, pads)) = axes.zip(pads).filter(|(axes, pads)| pads.len() == 2 * axes.len()) else {
        let unknown = (0..rank).map(|axis| call.anonymous(axis));
        return Some(InferredValue::new(call.elem(0), unknown.collect()));
    };
    for (index, &axis) in axes.iter().enumerate() {
        let axis = resolve_axis(axis, rank).ok()?;
        let padded = dims[axis].compute(|size| size.add(&pads[index])?.add(&pads[axes.len() + index]));
        dims[axis] = call.or_anonymous(padded, axis);
    }
    Some(InferredValue::new(call.elem(0), dims))
}

fn resize(call: Call<'_>) -> Option<InferredValue> {
    let mut dims = call.dims(0)?.to_vec();
    let rank = dims.len();
    let axes = call.int_list("axes", (0..rank as i64).collect())?;
    let axes = axes.iter().map(|&axis| resolve_axis(axis, rank).ok()).collect::<Option<Vec<usize>>>()?;
    // Before opset 11, the scales are the second input; in opset 7, an attribute.
    let is_old = call.node.op_type == "Upsample" || call.opset < 11;
    let scales = match (is_old, call.get(if is_old { 1 } else { 2 })) {
        (true, None) => {
            Some(call.node.attribute("scales")?.floats().ok()?.into_iter().map(f64::from).collect())
        }
        (_, None) => None,
        (_, Some(_)) => call.floats(if is_old { 1 } else { 2 }),
    };
    let scales: Option<Vec<f64>> = scales.filter(|scales: &Vec<f64>| scales.len() == axes.len());
    let crops = call.string("coordinate_transformation_mode", "")? == "tf_crop_and_resize";
    let keeps_aspect = call.string("keep_aspect_ratio_policy", "stretch")? != "stretch";
    for (index, &axis) in axes.iter().enumerate() {
        let size = || {
            if let Some(scales) = &scales {
                return if crops { None } else { scaled(&dims[axis], scales[index]) };
            }
            match call.elements(3).filter(|_| !keeps_aspect && !is_old) {
                Some(sizes) => Dim::from_expr(sizes.get(index)?),
                None => None,
            }
        };
        dims[axis] = call.or_anonymous(size(), axis);
    }
    Some(InferredValue::new(call.elem(0), dims))
}

/// A size times a scale, rounded down.
fn scaled(dim: &Dim, scale: f64) -> Option<Dim> {
    if let Some(size) = dim.known() {
        // As ONNX Runtime computes it, in float.
        let size = size as f32 * scale as f32;
        return (0.0..1e9).contains(&size).then(|| Dim::Known(size.floor() as usize));
    }
    let inverse = 1.0 / scale;
    match () {
        _ if scale.fract() == 0.0 && (1.0..=1024.0).contains(&scale) => {
            dim.compute(|size| size.mul_int(scale as i64))
        }
        // Powers of two are exact.
        _ if inverse.fract() == 0.0
            && (1.0..=1024.0).contains(&inverse)
            && (inverse as u64).is_power_of_two() =>
        {
            dim.compute(|size| size.floor_div_int(inverse as i64))
        }
        _ => None,
    }
}
