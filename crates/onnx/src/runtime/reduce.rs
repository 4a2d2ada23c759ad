//! Reductions as expressions: the operators Reduce…, ArgMax and ArgMin.
//!
//! The result has the element type of the input, and indices are int64. Sums, products and means of integers are
//! computed with 64 bits, those of float16 and bfloat16 in float; the result is rounded once.

use super::element_wise::{narrow, wide, widen};
use super::shape_ops::resolve_axis;
use crate::elem_type::{ElemType, TypeSet};
use crate::error::Error;
use crate::graph::Node;
use crate::operators::{Operator, OperatorVersion};
use unishape::expr::{IndexItem, Lazy, Op, ReduceOp, Reduction, Scalar};
use unishape::{DType, element_count};

/// The axes that a node reduces.
pub(crate) struct ReducedAxes {
    /// Ascending.
    pub(super) axes: Vec<usize>,
    keep_dims: bool,
}

impl ReducedAxes {
    /// Axes of a node whose first input has `rank` dimensions; `given` are those of the input or attribute `axes`.
    pub(crate) fn resolve(
        node: &Node,
        operator: &Operator,
        rank: usize,
        given: Option<Vec<i64>>,
    ) -> Result<ReducedAxes, Error> {
        let given = match operator.axes_input_since() {
            None => vec![node.int("axis", 0)?],
            Some(_) => given.unwrap_or_default(),
        };
        let keep_dims = node.int("keepdims", 1)? != 0;
        if given.is_empty() && node.int("noop_with_empty_axes", 0)? == 0 {
            return Ok(ReducedAxes { axes: (0..rank).collect(), keep_dims });
        }
        let mut axes = Vec::with_capacity(given.len());
        for axis in given {
            let resolved = resolve_axis(axis, rank)?;
            if axes.contains(&resolved) {
                return Err(Error::invalid(format!("axis {axis} is repeated")));
            }
            axes.push(resolved);
        }
        axes.sort_unstable();
        Ok(ReducedAxes { axes, keep_dims })
    }

    /// Shape of the result for an input of this shape.
    pub(crate) fn shape<S: Clone + From<usize>>(&self, shape: &[S]) -> Vec<S> {
        let kept = shape.iter().enumerate().filter_map(|(axis, size)| {
            match (self.axes.contains(&axis), self.keep_dims) {
                (false, _) => Some(size.clone()),
                (true, true) => Some(S::from(1)),
                (true, false) => None,
            }
        });
        kept.collect()
    }

    /// The first reduced axis of size 0.
    fn empty_axis(&self, shape: &[usize]) -> Option<usize> {
        self.axes.iter().copied().find(|&axis| shape[axis] == 0)
    }

    fn reduction(&self, op: ReduceOp) -> Reduction {
        let axes: Vec<i64> = self.axes.iter().map(|&axis| axis as i64).collect();
        Reduction::new(op).axes(axes).keep_dims(self.keep_dims)
    }

    /// Reduces a value; without axes, it is the result.
    fn reduce<'a>(&self, op: ReduceOp, x: Lazy<'a>) -> Lazy<'a> {
        if self.axes.is_empty() { x } else { x.reduce(self.reduction(op)) }
    }

    /// A sum or product of integers, whose result has `dtype` and wraps around.
    fn reduce_to<'a>(&self, op: ReduceOp, x: Lazy<'a>, dtype: DType) -> Lazy<'a> {
        if self.axes.is_empty() { x } else { x.reduce(self.reduction(op).dtype(dtype)) }
    }
}

/// Whether integers of this type are reduced.
fn is_integer(dtype: DType) -> bool {
    TypeSet::INTEGERS.contains(dtype)
}

/// Checks the input types of a reduction and returns its output type.
pub(super) fn result_type(version: &OperatorVersion, types: &[Option<DType>]) -> Result<DType, Error> {
    let dtype = types.first().copied().flatten().ok_or_else(|| Error::missing_input(0))?;
    version.check_type(dtype)?;
    if let Some(axes) = types.get(1).copied().flatten()
        && axes != DType::I64
    {
        return Err(Error::invalid(format!("the axes are {}, not int64", ElemType::of(axes))));
    }
    Ok(if version.operator.axes_input_since().is_none() { DType::I64 } else { dtype })
}

/// Fails where the result is not defined: for some operators, that of no elements.
pub(super) fn check_defined(
    operator: &Operator,
    dtype: DType,
    shape: &[usize],
    axes: &ReducedAxes,
) -> Result<(), Error> {
    let has_result = !axes.shape(shape).contains(&0);
    let Some(axis) = axes.empty_axis(shape).filter(|_| has_result) else { return Ok(()) };
    let of_type = match operator.name {
        "ReduceMean" | "ArgMax" | "ArgMin" => "",
        "ReduceLogSum" | "ReduceLogSumExp" if is_integer(dtype) => " of integers",
        _ => return Ok(()),
    };
    let name = operator.name;
    Err(Error::input(format!(
        "axis {axis} has size 0, and ONNX does not define {name}{of_type} of no elements"
    )))
}

/// Expression of a node, whose input `x` has this type and shape.
pub(super) fn build_expression<'a>(
    node: &Node,
    version: &OperatorVersion,
    x: Lazy<'a>,
    dtype: DType,
    shape: &[usize],
    axes: &ReducedAxes,
) -> Result<Lazy<'a>, Error> {
    let is_integer = is_integer(dtype);
    // Integers are converted only where the definition has a logarithm or a root.
    let as_float = |x: Lazy<'a>| if is_integer { x.cast(DType::F64) } else { widen(dtype, x) };
    let from_float = |x: Lazy<'a>| if is_integer { x.cast(dtype) } else { narrow(dtype, x) };
    Ok(match version.operator.name {
        "ReduceSum" => axes.reduce_to(ReduceOp::Sum, x, dtype),
        "ReduceProd" => axes.reduce_to(ReduceOp::Prod, x, dtype),
        "ReduceL1" => axes.reduce_to(ReduceOp::Sum, x.abs(), dtype),
        "ReduceSumSquare" => {
            let squares = Lazy::call(Op::Square, [widen(dtype, x)]);
            narrow(dtype, axes.reduce_to(ReduceOp::Sum, squares, wide(dtype)))
        }
        "ReduceMean" if is_integer && !axes.axes.is_empty() => {
            let wide = if TypeSet::UNSIGNED.contains(dtype) { DType::U64 } else { DType::I64 };
            let sizes: Vec<usize> = axes.axes.iter().map(|&axis| shape[axis]).collect();
            let count = element_count(&sizes).ok().and_then(|count| i64::try_from(count).ok());
            let count = count.ok_or_else(|| Error::input("the number of reduced elements exceeds int64"))?;
            // Rounded toward 0.
            (axes.reduce_to(ReduceOp::Sum, x, wide) / Lazy::from(count)).cast(dtype)
        }
        "ReduceMean" => axes.reduce(ReduceOp::Mean, x),
        "ReduceL2" => {
            let squares = Lazy::call(Op::Square, [as_float(x)]);
            from_float(axes.reduce(ReduceOp::Sum, squares).sqrt())
        }
        "ReduceLogSum" => from_float(axes.reduce(ReduceOp::Sum, as_float(x)).log()),
        "ReduceLogSumExp" => from_float(axes.reduce(ReduceOp::LogSumExp, as_float(x))),
        name @ ("ReduceMax" | "ReduceMin") => {
            let is_max = name == "ReduceMax";
            let op = if is_max { ReduceOp::Max } else { ReduceOp::Min };
            match axes.empty_axis(shape) {
                Some(_) => x.reduce(axes.reduction(op).initial(neutral(dtype, is_max))),
                None => axes.reduce(op, x),
            }
        }
        name @ ("ArgMax" | "ArgMin") => {
            let op = if name == "ArgMax" { ReduceOp::ArgMax } else { ReduceOp::ArgMin };
            let axis = axes.axes[0];
            if shape[axis] == 0 {
                // There is no result, only its shape.
                return Ok(axes.reduce_to(ReduceOp::Sum, x.cast(DType::I64), DType::I64));
            }
            match version.since >= 12 && node.int("select_last_index", 0)? != 0 {
                false => axes.reduce(op, x),
                // The first one of the reversed axis.
                true => {
                    let reversed = IndexItem::Slice { start: None, stop: None, step: Some(-1) };
                    let found = axes.reduce(op, x.index_axis(axis as i64, reversed));
                    Lazy::from(shape[axis] as i64 - 1) - found
                }
            }
        }
        other => return Err(Error::unsupported(format!("{other} is not a reduction"))),
    })
}

/// Maximum, or minimum, of no elements.
fn neutral(dtype: DType, is_max: bool) -> Scalar {
    let int = |min: i128, max: i128| Scalar::Int(if is_max { min } else { max });
    match dtype {
        DType::Bool => Scalar::Bool(!is_max),
        DType::I8 => int(i8::MIN.into(), i8::MAX.into()),
        DType::I16 => int(i16::MIN.into(), i16::MAX.into()),
        DType::I32 => int(i32::MIN.into(), i32::MAX.into()),
        DType::I64 => int(i64::MIN.into(), i64::MAX.into()),
        DType::U8 => int(0, u8::MAX.into()),
        DType::U16 => int(0, u16::MAX.into()),
        DType::U32 => int(0, u32::MAX.into()),
        DType::U64 => int(0, u64::MAX.into()),
        _ => Scalar::Float(if is_max { f64::NEG_INFINITY } else { f64::INFINITY }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_at_least_the_maximum_of_none() {
        for (dtype, min, max) in [
            (DType::I8, i128::from(i8::MIN), i128::from(i8::MAX)),
            (DType::I16, i16::MIN.into(), i16::MAX.into()),
            (DType::I32, i32::MIN.into(), i32::MAX.into()),
            (DType::I64, i64::MIN.into(), i64::MAX.into()),
            (DType::U8, 0, u8::MAX.into()),
            (DType::U16, 0, u16::MAX.into()),
            (DType::U32, 0, u32::MAX.into()),
            (DType::U64, 0, u64::MAX.into()),
        ] {
            assert_eq!([true, false].map(|is_max| neutral(dtype, is_max)), [min, max].map(Scalar::Int));
        }
        assert_eq!([true, false].map(|is_max| neutral(DType::Bool, is_max)), [false, true].map(Scalar::Bool));
        let infinities = [f64::NEG_INFINITY, f64::INFINITY].map(Scalar::Float);
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            assert_eq!([true, false].map(|is_max| neutral(dtype, is_max)), infinities);
        }
    }
}
