//! Positions of the smallest or largest elements, found together with these elements.
//!
//! Expressions find them in two stages: the first folds the elements, the second folds the positions of those that are
//! equal to the result. Kernels do both in one pass.

use crate::stage::{ReadFrom, Stage, StageResult};
use std::collections::HashMap;
use unishape_kernels::{DType, Fold, KernelKey, Op, find_fold};

/// One stage for two: what it reads last is the position. `number` is that of the first one.
///
/// `None` where they are not of this kind.
pub(crate) fn joined(number: usize, extreme: &Stage, position: &Stage) -> Option<Stage> {
    let ([value], [found]) = (&extreme.results[..], &position.results[..]) else { return None };
    let is_ordered = value.dtype.is_integer() || matches!(value.dtype, DType::F32 | DType::F64);
    let has_same_loops = extreme.sizes == position.sizes && extreme.is_reduced == position.is_reduced;
    if !is_ordered || !has_same_loops || !matches!(value.fold, Some(Fold::Min | Fold::Max)) {
        return None;
    }
    if (found.fold, found.dtype) != (Some(Fold::Min), DType::I64) {
        return None;
    }
    // The position where the condition holds, and else a neutral one.
    let step = |at: usize| position.steps.get(at.checked_sub(first_step(position))?);
    let (KernelKey::Call(Op::Where, _), chosen) = step(found.value)? else { return None };
    let &[condition, index, neutral] = &chosen[..] else { return None };
    let index = position.reads.get(index).filter(|read| read.from == ReadFrom::Index)?;
    let neutral = position.constants.get(neutral.checked_sub(position.reads.len())?)?;
    if *neutral != find_fold(Fold::Min, DType::I64)?.identity {
        return None;
    }
    // The element is the extreme one, or is no number.
    let mut equal = step(condition)?;
    let mut same = Same { extreme, position, known: HashMap::new() };
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
    extreme: &'s Stage,
    position: &'s Stage,
    known: HashMap<(usize, usize), bool>,
}

impl Same<'_> {
    /// Whether a value of the second stage is computed as one of the first is.
    fn is(&mut self, of_position: usize, of_extreme: usize) -> bool {
        if let Some(&known) = self.known.get(&(of_position, of_extreme)) {
            return known;
        }
        let (p, e) = (self.position, self.extreme);
        let is_same = match (p.reads.get(of_position), e.reads.get(of_extreme)) {
            (Some(own), Some(other)) => own == other,
            (None, None) => {
                let [own, other] = [of_position - p.reads.len(), of_extreme - e.reads.len()];
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
        self.known.insert((of_position, of_extreme), is_same);
        is_same
    }
}
