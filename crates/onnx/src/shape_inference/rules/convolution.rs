//! Convolutions and pooling.

use super::call::{Call, elem};
use crate::elem_type::ElemType;
use crate::shape_inference::inferred_value::InferredValue;
use crate::shape_inference::symbolic::Dim;
use unishape::DType;

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    match (&*call.node.op_type, call.output) {
        ("Conv" | "DeformConv" | "FusedConv", 0) => convolution(call, 1, call.elem(0)),
        ("ConvInteger", 0) => convolution(call, 1, elem(DType::I32)),
        ("QLinearConv", 0) => convolution(call, 3, call.elem(7)),
        ("ConvTranspose", 0) => transposed(call),
        ("MaxPool" | "AveragePool" | "LpPool", 0) => pooling(call, call.elem(0)),
        ("MaxPool", 1) => pooling(call, elem(DType::I64)),
        ("GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "QLinearGlobalAveragePool", 0) => {
            let dims = call.dims(0).filter(|dims| dims.len() >= 2)?;
            if call.node.op_type.starts_with('Q') && call.int("channels_last", 0)? != 0 {
                return None;
            }
            let ones = (2..dims.len()).map(|_| Dim::Known(1));
            Some(InferredValue::new(call.elem(0), dims[..2].iter().cloned().chain(ones).collect()))
        }
        ("MaxRoiPool", 0) => {
            let (dims, rois) = (call.dims(0)?, call.dims(1)?);
            let pooled = call.int_list("pooled_shape", vec![])?;
            let pooled = pooled.iter().map(|&size| usize::try_from(size).ok().map(Dim::Known));
            let mut shape = vec![rois.first()?.clone(), dims.get(1)?.clone()];
            shape.extend(pooled.collect::<Option<Vec<_>>>()?);
            Some(InferredValue::new(call.elem(0), shape))
        }
        ("RoiAlign", 0) => {
            let size = |name: &str| usize::try_from(call.int(name, 1)?).ok().map(Dim::Known);
            let (rois, channels) = (call.dims(1)?.first()?, call.dims(0)?.get(1)?);
            let shape = vec![rois.clone(), channels.clone(), size("output_height")?, size("output_width")?];
            Some(InferredValue::new(call.elem(0), shape))
        }
        _ => None,
    }
}

/// A sliding window along one axis.
struct Window {
    kernel: i64,
    stride: i64,
    dilation: i64,
    /// Padding at the start and at the end.
    pads: (i64, i64),
}

impl Window {
    /// Extent of the dilated kernel.
    fn extent(&self) -> Option<i64> {
        self.kernel.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)
    }
}

/// The windows of the spatial axes, and the padding rule; `kernel` are the sizes if no attribute has them.
fn windows(call: Call<'_>, kernel: Option<Vec<i64>>, axes: usize) -> Option<(Vec<Window>, String)> {
    let kernel = call.int_list("kernel_shape", kernel.unwrap_or_default())?;
    let strides = call.int_list("strides", vec![1; axes])?;
    let dilations = call.int_list("dilations", vec![1; axes])?;
    let pads = call.int_list("pads", vec![0; 2 * axes])?;
    let auto_pad = call.string("auto_pad", "NOTSET")?;
    let is_explicit = matches!(&*auto_pad, "NOTSET" | "");
    let pads = if is_explicit { pads } else { vec![0; 2 * axes] };
    if [kernel.len(), strides.len(), dilations.len()].iter().any(|&len| len != axes) || pads.len() != 2 * axes
    {
        return None;
    }
    let window = |axis: usize| {
        let window = Window {
            kernel: kernel[axis],
            stride: strides[axis],
            dilation: dilations[axis],
            pads: (pads[axis], pads[axes + axis]),
        };
        let is_valid = window.kernel > 0 && window.stride > 0 && window.dilation > 0;
        is_valid.then_some(window)
    };
    Some(((0..axes).map(window).collect::<Option<_>>()?, auto_pad))
}

/// Number of windows along an axis; the last may be partial with `ceil`.
fn window_count(size: &Dim, window: &Window, auto_pad: &str, ceil: bool) -> Option<Dim> {
    if auto_pad.starts_with("SAME") {
        return size.compute(|size| size.ceil_div_int(window.stride));
    }
    let extent = window.extent()?;
    let pads = window.pads.0.checked_add(window.pads.1)?;
    // A window that is larger than its input has no defined number of positions.
    if let Some(size) = size.known()
        && i64::try_from(size).ok()?.checked_add(pads)? < extent
    {
        return None;
    }
    let free = |size: crate::SizeExpr| size.add_int(pads.checked_sub(extent)?);
    if !ceil {
        return size.compute(|size| free(size)?.floor_div_int(window.stride)?.add_int(1));
    }
    let rounded_up = size.compute(|size| free(size)?.ceil_div_int(window.stride)?.add_int(1))?;
    // A window that starts in the padding at the end is left out.
    match (size, &rounded_up) {
        (Dim::Known(size), Dim::Known(count)) => {
            let start = i64::try_from(*count).ok()?.checked_sub(1)?.checked_mul(window.stride)?;
            let end = i64::try_from(*size).ok()?.checked_add(window.pads.0)?;
            Some(Dim::Known(if start >= end { count - 1 } else { *count }))
        }
        _ if window.stride.checked_add(window.pads.1)? <= extent => Some(rounded_up),
        _ => None,
    }
}

fn convolution(call: Call<'_>, weights: usize, elem: Option<ElemType>) -> Option<InferredValue> {
    let dims = call.dims(0)?;
    let [batch, _, spatial @ ..] = dims else { return None };
    let weights = call.dims(weights);
    // The rank is known even if the weights are not.
    let kernel = weights.and_then(|weights| {
        let sizes = weights.get(2..)?.iter().map(|size| i64::try_from(size.known()?).ok());
        sizes.collect::<Option<Vec<i64>>>()
    });
    let channels = weights.and_then(|weights| weights.first().cloned());
    let windows = windows(call, kernel, spatial.len());
    let counts = spatial.iter().enumerate().map(|(axis, size)| {
        let count = windows
            .as_ref()
            .and_then(|(windows, auto_pad)| window_count(size, &windows[axis], auto_pad, false));
        call.or_anonymous(count, axis + 2)
    });
    let shape = [batch.clone(), call.or_anonymous(channels, 1)].into_iter().chain(counts);
    Some(InferredValue::new(elem, shape.collect()))
}

fn pooling(call: Call<'_>, elem: Option<ElemType>) -> Option<InferredValue> {
    let [batch, channels, spatial @ ..] = call.dims(0)? else { return None };
    let ceil = call.int("ceil_mode", 0)? != 0;
    let windows = windows(call, None, spatial.len());
    let counts = spatial.iter().enumerate().map(|(axis, size)| {
        let count = windows.as_ref().and_then(|(windows, auto_pad)| {
            // ONNX Runtime pads dilated windows as if they were not dilated.
            let is_defined = windows[axis].dilation == 1 || !auto_pad.starts_with("SAME");
            is_defined.then(|| window_count(size, &windows[axis], auto_pad, ceil))?
        });
        call.or_anonymous(count, axis + 2)
    });
    Some(InferredValue::new(elem, [batch, channels].into_iter().cloned().chain(counts).collect()))
}

fn transposed(call: Call<'_>) -> Option<InferredValue> {
    let [batch, _, spatial @ ..] = call.dims(0)? else { return None };
    let [_, per_group, kernel @ ..] = call.dims(1)? else { return None };
    let channels = per_group.compute(|size| size.mul_int(call.int("group", 1)?));
    let kernel = kernel.iter().map(|size| i64::try_from(size.known()?).ok()).collect::<Option<Vec<i64>>>();
    let windows = windows(call, kernel, spatial.len());
    let output_padding = call.int_list("output_padding", vec![0; spatial.len()])?;
    let fixed = call.int_list("output_shape", vec![])?;
    // Some exporters write the whole shape.
    let fixed = &fixed[fixed.len().saturating_sub(spatial.len())..];
    let sizes = spatial.iter().enumerate().map(|(axis, size)| {
        let size = windows.as_ref().and_then(|(windows, auto_pad)| {
            if let Some(&fixed) = fixed.get(axis) {
                return usize::try_from(fixed).ok().map(Dim::Known);
            }
            let window = &windows[axis];
            let added = output_padding.get(axis)?.checked_add(window.extent()?)?;
            // Padding shortens the result to this size. It cannot lengthen one of windows with gaps between them.
            if auto_pad.starts_with("SAME") && added >= window.stride {
                return size.compute(|size| size.mul_int(window.stride));
            }
            let added = added.checked_sub(window.pads.0)?.checked_sub(window.pads.1)?;
            size.compute(|size| size.add_int(-1)?.mul_int(window.stride)?.add_int(added))
        });
        call.or_anonymous(size, axis + 2)
    });
    let shape = [batch.clone(), call.or_anonymous(channels, 1)].into_iter().chain(sizes);
    Some(InferredValue::new(call.elem(0), shape.collect()))
}
