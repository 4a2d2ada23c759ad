//! Stages that kernels compute in one pass, although the second needs the result of the first.
//!
//! - The position of the smallest or largest element: the first stage folds the elements, the second folds the positions of
//!   those that are equal to the result.
//! - The sum of squared deviations from the mean: the first stage adds up the elements, the second the squares.

use crate::body::Joint;
use crate::stage::{ReadFrom, Stage, StageResult};
use std::collections::HashMap;
use unishape_engine::layout::row_major;
use unishape_kernels::{DType, FoldOp, KernelKey, Op, find_fold};

/// Several stages as one.
pub(crate) struct Joined {
    pub(crate) stage: Stage,
    pub(crate) joint: Joint,
    /// Number of stages that it is. The result of the last one is its second result.
    pub(crate) count: usize,
}

/// One stage for the first ones of some, if they are of such a kind. `number` is that of the first one.
pub(crate) fn joined(number: usize, stages: &[Stage]) -> Option<Joined> {
    let [first, second, ..] = stages else { return None };
    if first.sizes != second.sizes {
        return None;
    }
    if first.is_reduced == second.is_reduced {
        if let Some(stage) = with_position(number, first, second) {
            return Some(Joined { stage, joint: Joint::Position, count: 2 });
        }
        let stage = with_deviations(number, first, second)?;
        return Some(Joined { stage, joint: Joint::Deviations, count: 2 });
    }
    // Sums along several loops may be sums of sums.
    let stage = with_deviations(number, first, second)?;
    let is_rest = is_sum_of(number + 1, second, stages.get(2)?, &first.is_reduced);
    is_rest.then_some(Joined { stage, joint: Joint::Deviations, count: 3 })
}

/// Whether a stage is the sum of another one's results along the loops that remain.
fn is_sum_of(number: usize, part: &Stage, rest: &Stage, is_reduced: &[bool]) -> bool {
    let shape = part.output_shape();
    let ([read], [result]) = (&rest.reads[..], &rest.results[..]) else { return false };
    let natural = row_major(&shape);
    let dims = 0..shape.len();
    rest.steps.is_empty()
        && rest.sizes == shape
        && dims
            .clone()
            .all(|dim| rest.is_reduced[dim] == is_reduced[dim] && (is_reduced[dim] || !part.is_reduced[dim]))
        && (result.value, result.fold, result.dtype) == (0, Some(FoldOp::Sum), part.results[0].dtype)
        && (read.from, read.start) == (ReadFrom::Stage { number, result: 0 }, 0)
        && dims.filter(|&dim| shape[dim] > 1).all(|dim| read.strides[dim] == natural[dim])
}

/// Squared deviations from the mean. The third result is the number of elements.
fn with_deviations(number: usize, sum: &Stage, squares: &Stage) -> Option<Stage> {
    let ([total], [found]) = (&sum.results[..], &squares.results[..]) else { return None };
    let is_sum = |result: &StageResult| result.fold == Some(FoldOp::Sum) && result.dtype == total.dtype;
    if !matches!(total.dtype, DType::F32 | DType::F64) || !is_sum(total) || !is_sum(found) {
        return None;
    }
    let step = |at: usize| squares.steps.get(at.checked_sub(first_step(squares))?);
    let deviation = match step(found.value)? {
        (KernelKey::Call(Op::Square, _), inputs) => inputs[0],
        (KernelKey::Call(Op::Multiply, _), inputs) if inputs[0] == inputs[1] => inputs[0],
        _ => return None,
    };
    let (KernelKey::Call(Op::Subtract, _), difference) = step(deviation)? else { return None };
    let &[element, mean] = &difference[..] else { return None };
    let (KernelKey::Call(Op::Divide, _), quotient) = step(mean)? else { return None };
    let &[dividend, divisor] = &quotient[..] else { return None };
    let is_total = squares.reads.get(dividend)?.from == ReadFrom::Stage { number, result: 0 };
    let count: usize =
        sum.sizes.iter().zip(&sum.is_reduced).filter(|(_, is)| **is).map(|(size, _)| size).product();
    let divisor = squares.constants.get(divisor.checked_sub(squares.reads.len())?)?;
    let is_count = match total.dtype {
        DType::F32 => divisor.get::<f32>() == Some(count as f32),
        _ => divisor.get::<f64>() == Some(count as f64),
    };
    let mut same = Same { first: sum, second: squares, known: HashMap::new() };
    if !is_total || !is_count || !same.is(element, total.value) {
        return None;
    }
    let mut stage = sum.clone();
    stage.results = vec![*total; 3];
    Some(stage)
}

/// The position of the smallest or largest element: what the stage reads last.
fn with_position(number: usize, extreme: &Stage, position: &Stage) -> Option<Stage> {
    let ([value], [found]) = (&extreme.results[..], &position.results[..]) else { return None };
    let is_ordered = value.dtype.is_integer() || matches!(value.dtype, DType::F32 | DType::F64);
    if !is_ordered || !matches!(value.fold, Some(FoldOp::Min | FoldOp::Max)) {
        return None;
    }
    if (found.fold, found.dtype) != (Some(FoldOp::Min), DType::I64) {
        return None;
    }
    // The position where the condition holds, and else a neutral one.
    let step = |at: usize| position.steps.get(at.checked_sub(first_step(position))?);
    let (KernelKey::Call(Op::Where, _), chosen) = step(found.value)? else { return None };
    let &[condition, index, neutral] = &chosen[..] else { return None };
    let index = position.reads.get(index).filter(|read| read.from == ReadFrom::Index)?;
    let neutral = position.constants.get(neutral.checked_sub(position.reads.len())?)?;
    if *neutral != find_fold(FoldOp::Min, DType::I64)?.identity {
        return None;
    }
    // The element is the extreme one, or is no number.
    let mut equal = step(condition)?;
    let mut same = Same { first: extreme, second: position, known: HashMap::new() };
    if let (KernelKey::Call(Op::LogicalOr, _), inputs) = equal {
        let (KernelKey::Call(Op::NotEqual, dtype), unequal) = step(inputs[1])? else { return None };
        let is_same = *dtype == value.dtype && unequal.iter().all(|&own| same.is(own, value.value));
        equal = step(inputs[0]).filter(|_| is_same)?;
    }
    let (KernelKey::Call(Op::Equal, dtype), compared) = equal else { return None };
    let is_extreme = |own: usize| {
        position.reads.get(own).is_some_and(|read| read.from == ReadFrom::Stage { number, result: 0 })
    };
    let &[element, other] = &compared[..] else { return None };
    if *dtype != value.dtype || !is_extreme(other) || !same.is(element, value.value) {
        return None;
    }
    // The position becomes an operand: what comes after the operands has other numbers.
    let count = extreme.reads.len();
    let moved = |own: usize| if own < count { own } else { own + 1 };
    let mut stage = extreme.clone();
    stage.reads.push(index.clone());
    stage.steps.iter_mut().flat_map(|(_, inputs)| inputs).for_each(|input| *input = moved(*input));
    stage.results =
        vec![StageResult { value: moved(value.value), ..*value }, StageResult { value: count, ..*found }];
    Some(stage)
}

fn first_step(stage: &Stage) -> usize {
    stage.reads.len() + stage.constants.len()
}

/// Compares values of two stages.
struct Same<'s> {
    first: &'s Stage,
    second: &'s Stage,
    known: HashMap<(usize, usize), bool>,
}

impl Same<'_> {
    /// Whether a value of the second stage is computed as one of the first is.
    fn is(&mut self, of_second: usize, of_first: usize) -> bool {
        if let Some(&known) = self.known.get(&(of_second, of_first)) {
            return known;
        }
        let (p, e) = (self.second, self.first);
        let is_same = match (p.reads.get(of_second), e.reads.get(of_first)) {
            (Some(own), Some(other)) => own == other,
            (None, None) => {
                let [own, other] = [of_second - p.reads.len(), of_first - e.reads.len()];
                match (p.constants.get(own), e.constants.get(other)) {
                    (Some(own), Some(other)) => own == other,
                    (None, None) => {
                        let (own, other) =
                            (&p.steps[own - p.constants.len()], &e.steps[other - e.constants.len()]);
                        own.0 == other.0
                            && own.1.len() == other.1.len()
                            && own.1.iter().zip(&other.1).all(|(&own, &other)| self.is(own, other))
                    }
                    _ => false,
                }
            }
            _ => false,
        };
        self.known.insert((of_second, of_first), is_same);
        is_same
    }
}
