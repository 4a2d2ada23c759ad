//! Several staged expressions that are computed together: equal stages once, and the rows of one chunk by all.
//!
//! A layer normalization has three results: the normalized elements, means and deviations. All begin with the same
//! folds of the same rows. A joint plan has each such stage once, and runs groups that have the same rows together, so
//! that an array that several of them read comes from memory once.
//!
//! Stages are those of each expression alone, and run for as many rows at a time. So results have the same bits.

use super::axes::DimMaps;
use super::error::ExprError;
use super::group::StageGroup;
use super::lower::StagedExpr;
use super::stage::{Stage, StageInput, StageSource};
use super::staged::{
    LoopRange, Outputs, Sources, StageBuffers, Temporaries, copy_result, for_each_part, local_results,
    outputs, pack, run_stage, temporaries,
};
use super::value::Value;
use crate::DType;
use crate::program_arrays::{RawOutput, StageArray};
use crate::tuning::{JOINT_MAX_EXPRS, PASS_MAX_MEMBERS};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use unishape_engine::fused::Options;

/// Staged expressions that are computed together.
pub(crate) struct JointPlan<'v> {
    /// The arrays of all expressions, each once.
    variables: Vec<Option<StageArray<'v>>>,
    dtypes: Vec<DType>,
    stages: Vec<Arc<Stage>>,
    /// In the order of execution.
    groups: Vec<JointGroup>,
    /// The group of each stage.
    group_of: Vec<usize>,
    /// The stage that computes the result of each expression.
    results: Vec<usize>,
}

/// Stages that run together: those of one group, or of groups with the same rows.
struct JointGroup {
    /// Numbers of the stages, in the order of execution, and the loop of each that is the rows.
    members: Vec<(usize, usize)>,
    /// Number of rows, and how many are computed at a time. `None` for a single stage, which has no rows.
    rows: Option<(usize, usize)>,
    /// The stages whose results are used outside of the group, and their rows.
    ends: Vec<(usize, usize)>,
    /// The expressions that it is computed for.
    exprs: Vec<usize>,
    /// What it reads: variables, and results of other groups.
    reads: Vec<StageSource>,
}

/// How the stages of a group are added to the plan.
struct Placement {
    /// Numbers of the expression's stages in the plan, as far as these are known.
    numbers: Vec<usize>,
    /// Stages that the plan does not have, and their rows.
    new: Vec<(Stage, usize)>,
    /// The first group that can have them: results of other groups exist before it.
    first_group: usize,
}

impl<'v> JointPlan<'v> {
    /// A plan for expressions with these values.
    pub(crate) fn new(exprs: &[(&StagedExpr, &'v [Value<'_>])]) -> JointPlan<'v> {
        let (variables, dtypes, stages) = (Vec::new(), Vec::new(), Vec::new());
        let (groups, group_of, results) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = JointPlan { variables, dtypes, stages, groups, group_of, results };
        for (number, (expr, values)) in exprs.iter().enumerate() {
            let variables: Vec<usize> = values.iter().map(|value| plan.variable(value)).collect();
            let mut numbers = vec![usize::MAX; expr.stages.len()];
            for group in &expr.groups {
                plan.add_group(number, expr, group, &variables, &mut numbers);
            }
            plan.results.push(expr.groups.last().map_or(usize::MAX, |group| numbers[group.last()]));
        }
        plan
    }

    /// The number of an array.
    fn variable(&mut self, value: &'v Value<'_>) -> usize {
        let Value::Array(view) = value else { return usize::MAX };
        let array = StageArray::of_tensor(view);
        let known = self.variables.iter().zip(&self.dtypes).position(|(other, &dtype)| {
            let is_same = array.as_ref().zip(other.as_ref()).is_some_and(|(a, b)| a.is_same(b));
            is_same && dtype == view.dtype()
        });
        known.unwrap_or_else(|| {
            self.variables.push(array);
            self.dtypes.push(view.dtype());
            self.variables.len() - 1
        })
    }

    /// Adds the stages of a group that the plan does not have, to a group with the same rows where there is one.
    fn add_group(
        &mut self,
        number: usize,
        expr: &StagedExpr,
        group: &StageGroup,
        variables: &[usize],
        numbers: &mut Vec<usize>,
    ) {
        let rows = (group.members.len() > 1).then(|| {
            let rows = expr.stages[group.last()].shape[group.row_dim()];
            (rows, group.rows_per_chunk(&expr.stages, rows))
        });
        let reads = reads(expr, group, variables, numbers);
        let found = self.groups.iter().enumerate().find_map(|(at, candidate)| {
            let first = &self.stages[candidate.members[0].0].program;
            let is_fitting = candidate.rows == rows
                && candidate.exprs.len() < PASS_MAX_MEMBERS
                && candidate.reads.iter().any(|source| reads.contains(source))
                && (rows.is_some() || first.is_same(&expr.stages[group.last()].program));
            let placement = is_fitting.then(|| self.placement(at, expr, group, variables, numbers))?;
            self.is_shared(at, &placement, group.members.len()).then_some((at, placement))
        });
        let (at, placement) = found.unwrap_or_else(|| {
            let at = self.groups.len();
            let placement = self.placement(at, expr, group, variables, numbers);
            let (members, ends, exprs) = (Vec::new(), Vec::new(), Vec::new());
            self.groups.push(JointGroup { members, rows, ends, exprs, reads: Vec::new() });
            (at, placement)
        });
        *numbers = placement.numbers;
        let own = &mut self.groups[at];
        for (stage, dim) in placement.new {
            own.members.push((self.stages.len(), dim));
            self.stages.push(Arc::new(stage));
            self.group_of.push(at);
        }
        let end = (numbers[group.last()], group.row_dim());
        if !own.ends.contains(&end) {
            own.ends.push(end);
        }
        if !own.exprs.contains(&number) {
            own.exprs.push(number);
        }
        for source in reads {
            if !own.reads.contains(&source) {
                own.reads.push(source);
            }
        }
    }

    /// The stages of a group as members of a group of the plan, which may be one that does not exist yet.
    fn placement(
        &self,
        at: usize,
        expr: &StagedExpr,
        group: &StageGroup,
        variables: &[usize],
        numbers: &[usize],
    ) -> Placement {
        let members = self.groups.get(at).map_or(&[][..], |group| &group.members[..]);
        let is_member = |stage: usize| group.members.iter().any(|&(member, _)| member == stage);
        let mut placement = Placement { numbers: numbers.to_vec(), new: Vec::new(), first_group: 0 };
        for &(number, dim) in &group.members {
            let mut stage = Stage::clone(&expr.stages[number]);
            for input in &mut stage.inputs {
                match &mut input.source {
                    StageSource::Variable(variable) => *variable = variables[*variable],
                    StageSource::Stage { number, .. } => {
                        let new = placement.numbers[*number];
                        if !is_member(*number) {
                            placement.first_group = placement.first_group.max(self.group_of[new] + 1);
                        }
                        *number = new;
                    }
                    StageSource::Index(_) => {}
                }
            }
            let known =
                members.iter().find(|&&(other, row)| row == dim && self.stages[other].is_same(&stage));
            placement.numbers[number] = known.map_or_else(
                || {
                    placement.new.push((stage, dim));
                    self.stages.len() + placement.new.len() - 1
                },
                |&(other, _)| other,
            );
        }
        placement
    }

    /// Whether a group of the plan and one of `count` stages, placed in it, compute the same or read the same rows.
    fn is_shared(&self, at: usize, placement: &Placement, count: usize) -> bool {
        if placement.first_group > at {
            return false;
        }
        let has_same_rows = |(stage, dim): &(Stage, usize)| {
            self.groups[at]
                .members
                .iter()
                .any(|&(other, row)| read_same_rows((stage, *dim), (&self.stages[other], row)))
        };
        match self.groups[at].rows {
            None => placement.new.is_empty(),
            Some(_) => placement.new.len() < count || placement.new.iter().any(has_same_rows),
        }
    }

    /// The expressions that share stages or rows, directly or through others: lists of their numbers. Lists are not
    /// united to long ones: the results of all their expressions exist at a time.
    pub(crate) fn shared(&self) -> Vec<Vec<usize>> {
        let mut lists: Vec<Vec<usize>> = (0..self.results.len()).map(|expr| vec![expr]).collect();
        for JointGroup { exprs, .. } in self.groups.iter().filter(|group| group.exprs.len() > 1) {
            let (shared, others): (Vec<_>, Vec<_>) =
                lists.into_iter().partition(|list| list.iter().any(|expr| exprs.contains(expr)));
            lists = others;
            let count: usize = shared.iter().map(Vec::len).sum();
            match count <= JOINT_MAX_EXPRS {
                true => lists.push(shared.concat()),
                false => lists.extend(shared),
            }
        }
        lists.iter_mut().for_each(|list| list.sort_unstable());
        lists
    }

    /// Computes all expressions; outputs are in their order, and have elements.
    pub(crate) fn run(&self, outs: Vec<RawOutput<'_>>, options: Options<'_>) -> Result<(), ExprError> {
        let packed = pack(self.stages.iter().map(|stage| &**stage), &self.variables)?;
        let mut outs: Vec<Option<RawOutput<'_>>> = outs.into_iter().map(Some).collect();
        let mut results = Temporaries::default();
        for (at, group) in self.groups.iter().enumerate() {
            // Results that are read by other groups, or are those of several expressions, are kept and copied.
            let is_kept: Vec<bool> = group.ends.iter().map(|&(stage, _)| self.is_kept(stage, at)).collect();
            let mut kept: Vec<StageBuffers> = Vec::with_capacity(group.ends.len());
            for (&(stage, _), &is_kept) in group.ends.iter().zip(&is_kept) {
                let stage = &self.stages[stage];
                kept.push(if is_kept { temporaries(&stage.output_shape(), stage)? } else { smallvec![] });
            }
            let mut ends: Vec<Outputs<'_>> = Vec::with_capacity(group.ends.len());
            for (&(stage, _), kept) in group.ends.iter().zip(&mut kept) {
                ends.push(match kept.is_empty() {
                    false => outputs(kept),
                    true => self.exprs_of(stage).filter_map(|expr| outs[expr].take()).collect(),
                });
            }
            let sources = Sources { variables: &self.variables, packed: &packed, temporaries: &results };
            self.run_group(group, ends, sources, options)?;
            for (&(stage, _), kept) in group.ends.iter().zip(kept).filter(|(_, kept)| !kept.is_empty()) {
                for expr in self.exprs_of(stage) {
                    if let Some(out) = outs[expr].take() {
                        copy_result(&self.stages[stage], &kept[0], |_| 0, out, options.threads);
                    }
                }
                results.insert_all(stage, kept);
            }
            results.retain(|stage| self.is_read_after(stage, at));
        }
        Ok(())
    }

    /// The expressions that a stage computes the result of.
    fn exprs_of(&self, stage: usize) -> impl Iterator<Item = usize> {
        self.results.iter().enumerate().filter(move |(_, result)| **result == stage).map(|(expr, _)| expr)
    }

    /// Whether a stage's results are used by a stage of a later group, or by several expressions.
    fn is_kept(&self, number: usize, group: usize) -> bool {
        self.is_read_after(number, group) || self.exprs_of(number).count() > 1
    }

    /// Whether a stage's results are used by a stage of a group after another one.
    fn is_read_after(&self, number: usize, group: usize) -> bool {
        let reads = |input: &StageInput| matches!(input.source, StageSource::Stage { number: other, .. } if other == number);
        let later = self.stages.iter().zip(&self.group_of).filter(|&(_, &own)| own > group);
        later.flat_map(|(stage, _)| &stage.inputs).any(reads)
    }

    /// Computes the stages of a group; `ends` is what those that are used outside of it write.
    fn run_group(
        &self,
        group: &JointGroup,
        mut ends: Vec<Outputs<'_>>,
        sources: Sources<'_>,
        options: Options<'_>,
    ) -> Result<(), ExprError> {
        let Some((count, step)) = group.rows else {
            let stage = &self.stages[group.members[0].0];
            return ends
                .pop()
                .map_or(Ok(()), |outputs| run_stage(stage, sources, &[], None, outputs, options));
        };
        let mut parts: Vec<Vec<Outputs<'_>>> = Vec::new();
        parts.resize_with(count.div_ceil(step), || ends.iter().map(|_| Outputs::new()).collect());
        for (end, (outputs, &(stage, dim))) in ends.into_iter().zip(&group.ends).enumerate() {
            for output in outputs {
                let output_dim = self.stages[stage].output_dim(dim, output.rank());
                for (parts, part) in parts.iter_mut().zip(output.split(output_dim, step)) {
                    parts[end].push(part);
                }
            }
        }
        // What members of the group read is in scratch memory, and copied where it is also used elsewhere.
        let is_read = |number: usize| {
            let mut inputs = group.members.iter().flat_map(|&(member, _)| &self.stages[member].inputs);
            inputs.any(
                |input| matches!(input.source, StageSource::Stage { number: other, .. } if other == number),
            )
        };
        let is_local: Vec<bool> = group.ends.iter().map(|&(stage, _)| is_read(stage)).collect();
        let is_end = |number: usize| {
            group.ends.iter().zip(&is_local).any(|(&(stage, _), &is_local)| stage == number && !is_local)
        };
        let local: Vec<(usize, usize)> =
            group.members.iter().copied().filter(|&(stage, _)| !is_end(stage)).collect();
        for_each_part(parts, options.threads, &|number, parts| {
            let rows = number * step..(number * step + step).min(count);
            let results = local_results(&self.stages, &local, rows.clone(), sources, options)?;
            for ((outputs, &(number, dim)), &is_local) in parts.into_iter().zip(&group.ends).zip(&is_local) {
                let stage = &self.stages[number];
                if !is_local {
                    let ranges = [LoopRange { dim, range: rows.clone() }];
                    // Other threads run other rows.
                    let options = Options { threads: Some(1), ..options };
                    run_stage(stage, sources, &ranges, Some((dim, &results)), outputs, options)?;
                    continue;
                }
                for (result, output) in outputs.into_iter().enumerate() {
                    if let Some(results) = results.get((number, result)) {
                        copy_result(stage, results, |_| 0, output, Some(1));
                    }
                }
            }
            Ok(())
        })
    }
}

/// What the stages of a group read from outside of it, with these numbers of variables and stages.
fn reads(
    expr: &StagedExpr,
    group: &StageGroup,
    variables: &[usize],
    numbers: &[usize],
) -> SmallVec<[StageSource; 4]> {
    let mut reads: SmallVec<[StageSource; 4]> = SmallVec::new();
    for input in group.members.iter().flat_map(|&(number, _)| &expr.stages[number].inputs) {
        let source = match input.source {
            StageSource::Variable(variable) => StageSource::Variable(variables[variable]),
            StageSource::Stage { number, .. } if group.members.iter().any(|&(own, _)| own == number) => {
                continue;
            }
            StageSource::Stage { number, result } => StageSource::Stage { number: numbers[number], result },
            StageSource::Index(_) => continue,
        };
        if !reads.contains(&source) {
            reads.push(source);
        }
    }
    reads
}

/// Whether two stages, each with the loop that is its rows, read the same array, and the same part of it for each row.
fn read_same_rows((a, row): (&Stage, usize), (b, other_row): (&Stage, usize)) -> bool {
    let dim_of_rows = |maps: &DimMaps, row: usize| {
        maps.iter().position(|map| (map.dim, map.start, map.step) == (Some(row), 0, 1))
    };
    let is_array = |input: &&StageInput| matches!(input.source, StageSource::Variable(_));
    a.inputs.iter().filter(is_array).any(|input| {
        let own = dim_of_rows(&input.maps, row);
        let is_same =
            |other: &StageInput| input.source == other.source && own == dim_of_rows(&other.maps, other_row);
        own.is_some() && b.inputs.iter().any(is_same)
    })
}
