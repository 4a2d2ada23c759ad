//! Groups of stages that run row by row.
//!
//! Stages that share a loop, such as those of a softmax along rows, run for some rows at a time: what they read and
//! what they pass on then stays in the cache, and no array of intermediate results is as large as the loops.

use super::stage::{Stage, StageInput, StageSource};
use crate::tuning::{GROUP_CHUNK_ELEMENTS, MANY_ROWS, MAX_ROW_ELEMENTS, MIN_COLUMNS};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Stages that share a loop. All but the last pass their results on within the group only.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageGroup {
    /// Numbers of the stages, in the order of execution, and the loop of each that they share.
    pub(crate) members: Vec<(usize, usize)>,
}

impl StageGroup {
    /// The number of the last stage.
    pub(crate) fn last(&self) -> usize {
        self.members.last().map_or(0, |&(stage, _)| stage)
    }

    /// Whether a stage's results stay within the group.
    pub(crate) fn is_local(&self, stage: usize) -> bool {
        stage != self.last() && self.members.iter().any(|&(member, _)| member == stage)
    }

    /// The loop of the last stage that they share.
    pub(crate) fn row_dim(&self) -> usize {
        self.members.last().map_or(0, |&(_, dim)| dim)
    }

    /// Whether the rows of some stage are along its last loop, within others.
    fn has_columns(&self, stages: &[Arc<Stage>]) -> bool {
        self.members.iter().any(|&(stage, dim)| {
            let outer = &stages[stage].shape[..dim];
            dim + 1 == stages[stage].shape.len() && outer.iter().any(|&size| size > 1)
        })
    }

    /// Rows that are computed at a time.
    pub(crate) fn rows_per_chunk(&self, stages: &[Arc<Stage>], rows: usize) -> usize {
        (GROUP_CHUNK_ELEMENTS / row_elements(stages, &self.members).max(1)).clamp(1, rows.max(1))
    }
}

/// Elements of the loops of one row, of the largest stage.
fn row_elements(stages: &[Arc<Stage>], members: &[(usize, usize)]) -> usize {
    let elements = |&(stage, dim): &(usize, usize)| {
        let sizes = stages[stage].shape.iter().enumerate().filter(|&(other, _)| other != dim);
        sizes.fold(1, |product: usize, (_, &size)| product.saturating_mul(size))
    };
    members.iter().map(elements).max().unwrap_or(1)
}

/// Groups all stages. Groups are in the order of execution.
pub(crate) fn groups(stages: &[Arc<Stage>]) -> Vec<StageGroup> {
    let mut groups = Vec::new();
    let mut grouping = Grouping::new(stages);
    for last in (0..stages.len()).rev() {
        if !grouping.is_grouped[last] {
            let group = grouping.largest_group(last);
            group.members.iter().for_each(|&(stage, _)| grouping.is_grouped[stage] = true);
            groups.push(group);
        }
    }
    groups.reverse();
    groups
}

/// Stages, some of which are grouped already.
struct Grouping<'s> {
    stages: &'s [Arc<Stage>],
    /// The stages that use the results of each stage, and where they read them.
    uses: Vec<Vec<(usize, &'s StageInput)>>,
    is_grouped: Vec<bool>,
}

impl<'s> Grouping<'s> {
    fn new(stages: &'s [Arc<Stage>]) -> Grouping<'s> {
        let mut uses = vec![Vec::new(); stages.len()];
        for (consumer, stage) in stages.iter().enumerate() {
            for input in &stage.inputs {
                if let StageSource::Stage { number, .. } = input.source {
                    uses[number].push((consumer, input));
                }
            }
        }
        Grouping { stages, uses, is_grouped: vec![false; stages.len()] }
    }

    /// The group with the most stages that ends with `last`.
    fn largest_group(&self, last: usize) -> StageGroup {
        let stages = self.stages;
        let is_kept = |&dim: &usize| !stages[last].is_reduced(dim) && stages[last].shape[dim] > 1;
        let candidates = (0..stages[last].shape.len()).filter(is_kept);
        let mut best = StageGroup { members: vec![(last, 0)] };
        for dim in candidates {
            let group = self.group_along(last, dim);
            let (rows, elements) = (stages[last].shape[dim], row_elements(stages, &group.members));
            let is_worth = elements <= MAX_ROW_ELEMENTS || rows >= MANY_ROWS;
            let is_large = rows.saturating_mul(elements) > 2 * GROUP_CHUNK_ELEMENTS;
            let is_wide = group.rows_per_chunk(stages, rows) >= MIN_COLUMNS || !group.has_columns(stages);
            if group.members.len() > best.members.len() && is_worth && is_large && is_wide {
                best = group;
            }
        }
        best
    }

    /// The stages whose results are used for the same rows of `last` only, where its rows are along `dim`.
    fn group_along(&self, last: usize, dim: usize) -> StageGroup {
        let mut rows = BTreeMap::from([(last, dim)]);
        let mut open: BTreeSet<usize> = self.producers(last).collect();
        // Consumers are before their producers in this order, so that all rows of a producer are known.
        while let Some(producer) = open.pop_last() {
            if let Some(dim) = self.row_dim(producer, &rows) {
                rows.insert(producer, dim);
                open.extend(self.producers(producer));
            }
        }
        StageGroup { members: rows.into_iter().collect() }
    }

    /// The stages whose results a stage uses, if they are not grouped already.
    fn producers(&self, consumer: usize) -> impl Iterator<Item = usize> {
        let number = |input: &StageInput| match input.source {
            StageSource::Stage { number, .. } => Some(number),
            _ => None,
        };
        self.stages[consumer].inputs.iter().filter_map(number).filter(|&stage| !self.is_grouped[stage])
    }

    /// The loop of a stage that is the rows of all stages that use its results; `None` where they use them otherwise.
    fn row_dim(&self, producer: usize, rows: &BTreeMap<usize, usize>) -> Option<usize> {
        let mut found = None;
        for &(consumer, StageInput { maps, .. }) in &self.uses[producer] {
            let row = *rows.get(&consumer)?;
            let own = maps.iter().position(|map| map.dim == Some(row) && map.start == 0 && map.step == 1)?;
            let (stage, consumer) = (&self.stages[producer], &self.stages[consumer]);
            let is_same = stage.shape[own] == consumer.shape[row] && !stage.is_reduced(own);
            if !is_same || found.is_some_and(|found| found != own) {
                return None;
            }
            found = Some(own);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::expr::lower::Sharing;
    use crate::expr::value::{Value, Values, infos};
    use ndarray::Array2;

    /// The group by its definition: every stage looks at every other one.
    fn group_along(stages: &[Arc<Stage>], last: usize, dim: usize, is_grouped: &[bool]) -> StageGroup {
        let mut rows: Vec<Option<usize>> = vec![None; stages.len()];
        rows[last] = Some(dim);
        for producer in (0..last).rev().filter(|&stage| !is_grouped[stage]) {
            let uses = stages.iter().zip(&rows).flat_map(|(stage, &row)| {
                let is_own = |input: &&StageInput| matches!(input.source, StageSource::Stage { number, .. } if number == producer);
                stage.inputs.iter().filter(is_own).map(move |input| {
                    let row = row?;
                    let same = |map: &crate::dim_map::DimMap| (map.dim, map.start, map.step) == (Some(row), 0, 1);
                    let own = input.maps.iter().position(same)?;
                    let size = stages[producer].shape[own];
                    (size == stage.shape[row] && !stages[producer].is_reduced(own)).then_some(own)
                })
            });
            let mut uses: Vec<Option<usize>> = uses.collect();
            uses.dedup();
            rows[producer] = if let [one] = uses[..] { one } else { None };
        }
        let members = rows.iter().enumerate().filter_map(|(stage, dim)| Some((stage, (*dim)?)));
        StageGroup { members: members.collect() }
    }

    #[test]
    fn groups_have_all_stages_that_are_used_for_the_same_rows() {
        let mut chain = "x".to_owned();
        for step in 0..6 {
            chain = format!("({chain} - mean({chain}, axis={}, keepdims=True))", step / 2 % 2);
        }
        let mut largest = 0;
        for text in [
            "softmax(x, axis=1) + softmax(x, axis=0)",
            "layer_norm(x) * sum(x)",
            "sum(softmax(x, axis=1) * x, axis=0) - max(x[::-1] - max(x, axis=1, keepdims=True), axis=0)",
            "std(x - max(x, axis=0)) + var(x.T - min(x.T, axis=0, keepdims=True), axis=1).sum()",
            &chain,
        ] {
            let x = Array2::<f32>::zeros((600, 700));
            let values: Values<'_> = [Value::from(&x)].into_iter().collect();
            let staged = Expr::parse(text).unwrap().staged(&infos(&values), Sharing::WithinGroups).unwrap();
            let stages = &staged.stages[..];
            for last in 0..stages.len() {
                // As if some groups existed already.
                for first_free in 0..=last {
                    let mut grouping = Grouping::new(stages);
                    grouping.is_grouped = (0..stages.len()).map(|stage| stage < first_free).collect();
                    for dim in (0..stages[last].shape.len()).filter(|&dim| !stages[last].is_reduced(dim)) {
                        let expected = group_along(stages, last, dim, &grouping.is_grouped);
                        assert_eq!(grouping.group_along(last, dim), expected, "{text}: {last}, {dim}");
                    }
                }
            }
            largest = groups(stages).iter().map(|group| group.members.len()).fold(largest, usize::max);
        }
        assert!(largest > 2, "the largest group has {largest} stages");
    }
}
