//! Joins stages that fold the same loops, so that memory is read once for all of them.
//!
//! `sum(a * b) / sqrt(sum(a * a) * sum(b * b))` has three folds of the same loops. One stage computes them all: it
//! reads `a` and `b` once, and folds three values into three accumulators.

use super::stage::{Stage, StageInput, StageSource, stage_name};
use crate::tuning::MAX_RESULTS;
use smallvec::SmallVec;
use std::sync::Arc;
use unishape_engine::fused::Program;

/// Stages that are joined where possible, and the new number of each stage.
pub(crate) struct Joined {
    pub(crate) stages: Vec<Arc<Stage>>,
    pub(crate) numbers: Vec<usize>,
}

/// Joins the stages of one expression, which have one result each.
pub(crate) fn join(stages: Vec<Arc<Stage>>) -> Joined {
    // For each stage, the first one of those that it is joined with, and the number of its first result.
    let mut first: Vec<(usize, usize)> = (0..stages.len()).map(|number| (number, 0)).collect();
    let mut members: Vec<Vec<usize>> = (0..stages.len()).map(|number| vec![number]).collect();
    for number in 0..stages.len() {
        if first[number].0 != number || stages[number].folds.is_empty() {
            continue;
        }
        for other in number + 1..stages.len() {
            let depends_on_earlier = |input: &StageInput| match input.source {
                StageSource::Stage { number: producer, .. } => first[producer].0 < number,
                _ => true,
            };
            let count = members[number].len();
            if count == MAX_RESULTS {
                break;
            }
            if first[other].0 == other
                && can_join(&stages[number], &stages[other])
                && stages[other].inputs.iter().all(depends_on_earlier)
            {
                first[other] = (number, count);
                members[number].push(other);
            }
        }
    }
    let is_first = |&number: &usize| first[number].0 == number;
    let mut new_numbers = vec![0; stages.len()];
    for (new, number) in (0..stages.len()).filter(is_first).enumerate() {
        new_numbers[number] = new;
    }
    let numbers: Vec<usize> = first.iter().map(|&(number, _)| new_numbers[number]).collect();
    if members.iter().all(|members| members.len() == 1) {
        return Joined { stages, numbers };
    }
    // Number of results of each new stage.
    let mut counts = vec![0; stages.len()];
    for (stage, &number) in stages.iter().zip(&numbers) {
        counts[number] += stage.dtypes.len();
    }
    let renumbered = |stage: &Stage| {
        let mut stage = stage.clone();
        for (input, name) in stage.inputs.iter_mut().zip(&mut stage.names) {
            if let StageSource::Stage { number, result } = &mut input.source {
                *result += first[*number].1;
                *number = numbers[*number];
                *name = stage_name(*number);
                if counts[*number] > 1 {
                    *name += &format!(" result {}", *result + 1);
                }
            }
        }
        stage
    };
    let joined = |members: &Vec<usize>| {
        let members: Vec<Stage> = members.iter().map(|&member| renumbered(&stages[member])).collect();
        Arc::new(joint(&members.iter().collect::<Vec<_>>()))
    };
    let stages = members.iter().enumerate().filter(|(number, _)| is_first(number));
    Joined { stages: stages.map(|(_, members)| joined(members)).collect(), numbers }
}

/// A stage of one of several expressions.
#[derive(Clone, Copy)]
pub(crate) struct Partner<'s> {
    /// Number of the expression.
    pub(crate) expr: usize,
    /// Number of the stage in it.
    pub(crate) number: usize,
    pub(crate) stage: &'s Stage,
    /// Number of the stage's first result in the joint stage.
    pub(crate) first_result: usize,
}

/// Joins stages of several expressions, which depend on none of each other: the joint stages, and what they are made
/// of. Stages that are the same have the same results; those that are all the same are left to a joint plan.
pub(crate) fn partners<'s>(candidates: Vec<Partner<'s>>) -> Vec<(Stage, Vec<Partner<'s>>)> {
    let mut left = candidates;
    let mut joined = Vec::new();
    while !left.is_empty() {
        let first = left.remove(0);
        let (mut partners, mut stages) = (vec![first], vec![first.stage]);
        let mut count = first.stage.dtypes.len();
        left.retain(|other| {
            let same = partners.iter().find(|partner| partner.stage.is_same(other.stage));
            let first_result = same.map_or(count, |same| same.first_result);
            let has_space = count + other.stage.dtypes.len() <= MAX_RESULTS;
            let is_joined = same.is_some() || can_join(first.stage, other.stage) && has_space;
            if is_joined {
                if same.is_none() {
                    stages.push(other.stage);
                    count += other.stage.dtypes.len();
                }
                partners.push(Partner { first_result, ..*other });
            }
            !is_joined
        });
        if stages.len() > 1 {
            joined.push((joint(&stages), partners));
        }
    }
    joined
}

/// Whether two stages fold the same loops and read the same array at the same indices.
fn can_join(a: &Stage, b: &Stage) -> bool {
    let is_same = a.shape == b.shape && a.reduced == b.reduced && !a.folds.is_empty() && !b.folds.is_empty();
    let is_array = |input: &&StageInput| !matches!(input.source, StageSource::Index(_));
    is_same && a.inputs.iter().filter(is_array).any(|input| b.inputs.contains(input))
}

/// One stage with the results of all, which fold the same loops.
fn joint(stages: &[&Stage]) -> Stage {
    let [first, others @ ..] = stages else { unreachable!("at least one stage") };
    if others.is_empty() {
        return (*first).clone();
    }
    let (mut inputs, mut names): (Vec<StageInput>, Vec<String>) = (Vec::new(), Vec::new());
    let mut operands: Vec<Vec<usize>> = Vec::new();
    for stage in stages {
        let number_of = |(input, name): (&StageInput, &String)| {
            inputs.iter().position(|other| other == input).unwrap_or_else(|| {
                inputs.push(input.clone());
                names.push(name.clone());
                inputs.len() - 1
            })
        };
        operands.push(stage.inputs.iter().zip(&stage.names).map(number_of).collect());
    }
    let programs: SmallVec<[&Program; 4]> = stages.iter().map(|stage| &*stage.program).collect();
    let operands: SmallVec<[&[usize]; 4]> = operands.iter().map(Vec::as_slice).collect();
    let program = Program::joint(&programs, &operands);
    let constants = program.constants().iter().map(|constant| {
        let text = stages.iter().find_map(|stage| {
            let at = stage.program.constants().iter().position(|own| own == constant)?;
            stage.constants.get(at).cloned()
        });
        text.unwrap_or_default()
    });
    Stage {
        shape: first.shape.clone(),
        inputs,
        constants: constants.collect(),
        program: Arc::new(program),
        folds: stages.iter().flat_map(|stage| stage.folds.iter().copied()).collect(),
        reduced: first.reduced.clone(),
        dtypes: stages.iter().flat_map(|stage| stage.dtypes.iter().copied()).collect(),
        names,
    }
}
