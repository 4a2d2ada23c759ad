//! Normalizations as expressions: softmax, and those by mean and variance.
//!
//! float16 and bfloat16 are computed in float, and results are rounded once. Where the attribute `stash_type` is
//! double, elements are normalized in double before they are scaled.

use super::element_wise::{narrow, wide, widen};
use super::shape_ops::resolve_axis;
use crate::elem_type::{ElemType, TypeSet};
use crate::error::Error;
use crate::graph::Node;
use crate::operators::OperatorVersion;
use unishape::expr::{Lazy, Op, ReduceOp, Reduction};
use unishape::notation::short_shape_text;
use unishape::{DType, broadcast_to};

/// Type and shape of an output.
pub(super) type OutputType = (DType, Vec<usize>);

/// Inputs of a normalization, by their types and shapes; omitted inputs are `None`.
pub(super) struct InputTypes<'i> {
    pub(super) dtypes: &'i [Option<DType>],
    pub(super) shapes: &'i [Option<&'i [usize]>],
}

impl<'i> InputTypes<'i> {
    fn dtype(&self, index: usize) -> Result<DType, Error> {
        self.dtypes.get(index).copied().flatten().ok_or_else(|| Error::missing_input(index))
    }

    fn shape(&self, index: usize) -> Result<&'i [usize], Error> {
        self.shapes.get(index).copied().flatten().ok_or_else(|| Error::missing_input(index))
    }
}

/// First of the normalized axes of LayerNormalization and RMSNormalization, or axis of a softmax.
pub(crate) fn first_axis(node: &Node, default: i64, rank: usize) -> Result<usize, Error> {
    resolve_axis(node.int("axis", default)?, rank)
}

/// Axes along which elements depend on each other; none for BatchNormalization, whose statistics are inputs.
pub(super) fn reduced_axes(node: &Node, version: &OperatorVersion, rank: usize) -> Result<Vec<usize>, Error> {
    let first = match version.operator.name {
        "Softmax" | "LogSoftmax" if version.since >= 13 => return Ok(vec![first_axis(node, -1, rank)?]),
        // The input is flattened to a matrix: all axes from this one on are one row.
        "Softmax" | "LogSoftmax" => first_axis(node, 1, rank)?,
        "LayerNormalization" | "RMSNormalization" => first_axis(node, -1, rank)?,
        "InstanceNormalization" => 2,
        _ => rank,
    };
    Ok((first..rank).collect())
}

/// Type of the outputs Mean and InvStdDev of LayerNormalization, from the attribute `stash_type`.
pub(crate) fn stash_type(node: &Node) -> Result<DType, Error> {
    match node.int("stash_type", 1)? {
        1 => Ok(DType::F32),
        16 => Ok(DType::BF16),
        other => {
            let elem = ElemType::new(i32::try_from(other).unwrap_or(-1));
            Err(Error::invalid(format!(
                "the attribute stash_type is {other} ({elem}), but Mean and InvStdDev are 1 (float) or 16 (bfloat16)"
            )))
        }
    }
}

/// Type in which the first stage of a normalization of `dtype` is computed, from the attribute `stash_type`.
///
/// Any floating-point type is allowed. At least the precision of `dtype` is used, and at least that of float.
fn first_stage_type(node: &Node, dtype: DType) -> Result<DType, Error> {
    match node.int("stash_type", 1)? {
        1 | 10 | 16 => Ok(wide(dtype)),
        11 => Ok(DType::F64),
        other => {
            let elem = ElemType::new(i32::try_from(other).unwrap_or(-1));
            Err(Error::invalid(format!(
                "the attribute stash_type is {other} ({elem}), not a floating-point type: 1, 10, 11 or 16"
            )))
        }
    }
}

/// Casts a value of one type to another, if that differs.
fn cast(x: Lazy<'_>, from: DType, to: DType) -> Lazy<'_> {
    if from == to { x } else { x.cast(to) }
}

/// Checks a node and its inputs, and returns the types and shapes of its outputs.
pub(super) fn output_types(
    node: &Node,
    version: &OperatorVersion,
    inputs: &InputTypes<'_>,
) -> Result<Vec<OutputType>, Error> {
    let (dtype, shape) = (inputs.dtype(0)?, inputs.shape(0)?);
    version.check_type(dtype)?;
    check_parameter_types(version, inputs)?;
    let rank = shape.len();
    let mut outputs = vec![(dtype, shape.to_vec())];
    match version.operator.name {
        "Softmax" | "LogSoftmax" => drop(reduced_axes(node, version, rank)?),
        "LayerNormalization" => {
            let first = first_axis(node, -1, rank)?;
            check_broadcast(inputs, 1, "Scale")?;
            check_broadcast(inputs, 2, "B")?;
            first_stage_type(node, dtype)?;
            if node.outputs.iter().skip(1).any(|output| !output.is_empty()) {
                let mut reduced = shape.to_vec();
                reduced[first..].fill(1);
                let stash = stash_type(node)?;
                outputs.extend([(stash, reduced.clone()), (stash, reduced)]);
            }
        }
        "RMSNormalization" => {
            first_axis(node, -1, rank)?;
            first_stage_type(node, dtype)?;
            check_broadcast(inputs, 1, "scale")?;
            outputs[0].0 = inputs.dtype(1)?;
        }
        "BatchNormalization" if rank == 0 => {
            return Err(Error::invalid("the input has rank 0, but must have rank 1 or more"));
        }
        "BatchNormalization" => {
            let is_training = version.since >= 14 && node.int("training_mode", 0)? != 0;
            if is_training || node.outputs.iter().skip(1).any(|output| !output.is_empty()) {
                let problem = "the training mode of BatchNormalization is not supported; \
                               export the model for inference, with one output and training_mode = 0";
                return Err(Error::unsupported(problem));
            }
            let is_spatial = is_spatial(node, version)?;
            for (index, name) in ["scale", "B", "mean", "var"].into_iter().enumerate() {
                match is_spatial {
                    true => check_channels(inputs, index + 1, name, channels(shape))?,
                    false => check_shape(inputs, index + 1, name, shape.get(1..).unwrap_or(&[]))?,
                }
            }
        }
        "InstanceNormalization" => {
            if rank < 3 {
                return Err(Error::invalid(format!(
                    "the input has rank {rank}, but must have rank 3 or more"
                )));
            }
            check_channels(inputs, 1, "scale", shape[1])?;
            check_channels(inputs, 2, "B", shape[1])?;
        }
        "GroupNormalization" => {
            first_stage_type(node, dtype)?;
            let groups = GroupShape::new(node, version, shape)?;
            check_channels(inputs, 1, "scale", groups.parameters)?;
            check_channels(inputs, 2, "bias", groups.parameters)?;
        }
        other => return Err(Error::unsupported(format!("{other} is not a normalization"))),
    }
    Ok(outputs)
}

/// Fails where scale, bias, mean or variance have a type that the version does not allow.
fn check_parameter_types(version: &OperatorVersion, inputs: &InputTypes<'_>) -> Result<(), Error> {
    for index in 1..inputs.dtypes.len() {
        let Ok(actual) = inputs.dtype(index) else { continue };
        // Inputs that share a type, by the first one of them; others may have any floating-point type.
        let shared_with = match (version.operator.name, version.since, index) {
            ("RMSNormalization", _, 1) => None,
            ("BatchNormalization", 14, 3) => None,
            ("BatchNormalization", 14, 4) => Some(3),
            ("BatchNormalization", 15.., 1 | 3) => None,
            ("BatchNormalization", 15.., 2 | 4) => Some(index - 1),
            _ => Some(0),
        };
        let expected = shared_with.map(|other| inputs.dtype(other)).transpose()?;
        let actual_elem = ElemType::of(actual);
        match expected {
            Some(expected) if actual != expected => {
                let expected = ElemType::of(expected);
                let problem = format!("input {index} is {actual_elem}, not {expected}; convert it with Cast");
                return Err(Error::invalid(problem));
            }
            None if !TypeSet::ALL_FLOATS.contains(actual) => {
                let expected = TypeSet::ALL_FLOATS;
                return Err(Error::invalid(format!("input {index} is {actual_elem}, not {expected}")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Fails unless an input, if there is one, can be broadcast to the shape of the first.
fn check_broadcast(inputs: &InputTypes<'_>, index: usize, name: &str) -> Result<(), Error> {
    let Ok(own) = inputs.shape(index) else { return Ok(()) };
    // Arrays of unit elements: only their shapes are checked.
    let unit = ndarray::arr0(());
    let view = broadcast_to(&unit, own)?;
    broadcast_to(view, inputs.shape(0)?).map(drop).map_err(|error| Error::from(error).with_context(name))
}

/// Whether scale and the others of BatchNormalization have one element for each channel, not for each of its elements.
fn is_spatial(node: &Node, version: &OperatorVersion) -> Result<bool, Error> {
    Ok(version.since >= 9 || node.int("spatial", 1)? != 0)
}

/// Number of channels: the size of axis 1; a list has one channel.
fn channels(shape: &[usize]) -> usize {
    shape.get(1).copied().unwrap_or(1)
}

/// Fails unless an input has one element for each channel or group.
fn check_channels(inputs: &InputTypes<'_>, index: usize, name: &str, count: usize) -> Result<(), Error> {
    check_shape(inputs, index, name, &[count])
}

fn check_shape(inputs: &InputTypes<'_>, index: usize, name: &str, expected: &[usize]) -> Result<(), Error> {
    let actual = inputs.shape(index)?;
    if actual == expected {
        return Ok(());
    }
    let (actual, expected) = (short_shape_text(actual), short_shape_text(expected));
    let x = short_shape_text(inputs.shape(0)?);
    Err(Error::input(format!("{name} has shape {actual}, not {expected}, for an input of shape {x}")))
}

/// Expression of an output of a node other than GroupNormalization; `shape` is that of the first input.
pub(super) fn build_expression<'a>(
    node: &Node,
    version: &OperatorVersion,
    output: usize,
    inputs: &[Option<Lazy<'a>>],
    dtypes: &[Option<DType>],
    shape: &[usize],
) -> Result<Lazy<'a>, Error> {
    let input = |index: usize| inputs.get(index).cloned().flatten();
    let required = |index: usize| input(index).ok_or_else(|| Error::missing_input(index));
    let dtype_of =
        |index: usize| dtypes.get(index).copied().flatten().ok_or_else(|| Error::missing_input(index));
    let rank = shape.len();
    let dtype = dtype_of(0)?;
    let x = widen(dtype, required(0)?);
    let epsilon = || node.float("epsilon", 1e-5).map(Lazy::from);
    let axes = reduced_axes(node, version, rank)?;
    match version.operator.name {
        name @ ("Softmax" | "LogSoftmax") => {
            if axes.iter().any(|&axis| shape[axis] == 0) {
                // There are no elements, and no maximum of none.
                return Ok(narrow(dtype, x));
            }
            // At most 0, so that no exponential overflows.
            let shifted = x.clone() - reduce(ReduceOp::Max, x, &axes);
            let exp = shifted.clone().exp();
            let sum = reduce(ReduceOp::Sum, exp.clone(), &axes);
            Ok(narrow(dtype, if name == "Softmax" { exp / sum } else { shifted - sum.log() }))
        }
        "LayerNormalization" => {
            let stage = first_stage_type(node, dtype)?;
            let x = cast(x, wide(dtype), stage);
            let mean = reduce(ReduceOp::Mean, x.clone(), &axes);
            if output == 1 {
                return Ok(mean.cast(stash_type(node)?));
            }
            let centered = x - mean;
            let inverse = inverse_deviation(&centered, &axes, epsilon()?);
            if output == 2 {
                return Ok(inverse.cast(stash_type(node)?));
            }
            let normalized = cast(centered * inverse, stage, wide(dtype));
            let scaled = normalized * widen(dtype, required(1)?);
            let bias = input(2).map(|bias| widen(dtype, bias));
            Ok(narrow(dtype, bias.map_or(scaled.clone(), |bias| scaled + bias)))
        }
        "RMSNormalization" => {
            let stage = first_stage_type(node, dtype)?;
            let x = cast(x, wide(dtype), stage);
            let inverse = inverse_deviation(&x, &axes, epsilon()?);
            let scale_type = dtype_of(1)?;
            let scale = widen(scale_type, required(1)?);
            let normalized = cast(x * inverse, stage, wide(dtype));
            Ok(narrow(scale_type, cast(normalized, wide(dtype), wide(scale_type)) * scale))
        }
        "BatchNormalization" => {
            let types = (0..5).map(dtype_of).collect::<Result<Vec<_>, _>>()?;
            let common = if types.contains(&DType::F64) { DType::F64 } else { DType::F32 };
            let is_spatial = is_spatial(node, version)?;
            let parameter = |index: usize| -> Result<Lazy<'a>, Error> {
                let parameter = required(index)?.cast(common);
                Ok(if is_spatial { for_each_channel(parameter, rank) } else { parameter })
            };
            let (scale, bias) = (parameter(1)?, parameter(2)?);
            let (mean, variance) = (parameter(3)?, parameter(4)?);
            let factor = scale / (variance + epsilon()?).sqrt();
            Ok(((x.cast(common) - mean) * factor + bias).cast(dtype))
        }
        "InstanceNormalization" => {
            let scale = for_each_channel(widen(dtype, required(1)?), rank);
            let bias = for_each_channel(widen(dtype, required(2)?), rank);
            Ok(narrow(dtype, standardized(x, &axes, epsilon()?) * scale + bias))
        }
        other => Err(Error::unsupported(format!("{other} is not a normalization"))),
    }
}

/// The shapes of GroupNormalization: axis 1, the channels, is split into groups and the channels of each.
pub(super) struct GroupShape {
    /// Shape of the input, with the split axis.
    pub(super) split: Vec<usize>,
    /// Elements of scale and bias: one for each group, from opset 21 on one for each channel.
    parameters: usize,
    is_by_channel: bool,
}

impl GroupShape {
    pub(super) fn new(node: &Node, version: &OperatorVersion, shape: &[usize]) -> Result<GroupShape, Error> {
        let [batch, channels, ref spatial @ ..] = *shape else {
            let rank = shape.len();
            return Err(Error::invalid(format!("the input has rank {rank}, but must have rank 2 or more")));
        };
        let groups = node.attribute("num_groups");
        let groups = groups.ok_or_else(|| Error::invalid("the attribute num_groups is missing"))?.int()?;
        let count = usize::try_from(groups).ok().filter(|&count| count > 0 && channels % count == 0);
        let count = count.ok_or_else(|| {
            Error::input(format!(
                "axis 1 has {channels} channels, which num_groups = {groups} does not divide"
            ))
        })?;
        let split = [&[batch, count, channels / count], spatial].concat();
        let is_by_channel = version.since >= 21;
        Ok(GroupShape { split, parameters: if is_by_channel { channels } else { count }, is_by_channel })
    }

    /// Shape of scale and bias, with the split axis.
    pub(super) fn parameter_shape(&self) -> Vec<usize> {
        let mut shape = self.split[1..].to_vec();
        shape[if self.is_by_channel { 2 } else { 1 }..].fill(1);
        shape
    }

    /// Expression of GroupNormalization; all inputs are split.
    pub(super) fn expression<'a>(
        &self,
        node: &Node,
        dtype: DType,
        [x, scale, bias]: [Lazy<'a>; 3],
    ) -> Result<Lazy<'a>, Error> {
        let axes: Vec<usize> = (2..self.split.len()).collect();
        let epsilon = node.float("epsilon", 1e-5)?;
        let stage = first_stage_type(node, dtype)?;
        let x = cast(widen(dtype, x), wide(dtype), stage);
        let normalized = cast(standardized(x, &axes, Lazy::from(epsilon)), stage, wide(dtype));
        Ok(narrow(dtype, normalized * widen(dtype, scale) + widen(dtype, bias)))
    }
}

/// A reduction that keeps its axes; without axes, each element is its own.
fn reduce<'a>(op: ReduceOp, x: Lazy<'a>, axes: &[usize]) -> Lazy<'a> {
    if axes.is_empty() {
        return x;
    }
    let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    x.reduce(Reduction::new(op).axes(axes).keep_dims(true))
}

/// `1 / sqrt(mean(x²) + epsilon)`
fn inverse_deviation<'a>(x: &Lazy<'a>, axes: &[usize], epsilon: Lazy<'a>) -> Lazy<'a> {
    let squares = Lazy::call(Op::Square, [x.clone()]);
    (reduce(ReduceOp::Mean, squares, axes) + epsilon).sqrt().reciprocal()
}

/// `(x - mean) / sqrt(variance + epsilon)`
fn standardized<'a>(x: Lazy<'a>, axes: &[usize], epsilon: Lazy<'a>) -> Lazy<'a> {
    let centered = x.clone() - reduce(ReduceOp::Mean, x, axes);
    let inverse = inverse_deviation(&centered, axes, epsilon);
    centered * inverse
}

/// A list with an element for each channel, so that it broadcasts along axis 1.
fn for_each_channel(list: Lazy<'_>, rank: usize) -> Lazy<'_> {
    list.expand_dims((1..rank as i64 - 1).collect::<Vec<i64>>())
}
