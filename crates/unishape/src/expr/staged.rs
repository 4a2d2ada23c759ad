//! Executes the stages of an expression, one after another.

use super::axes::{self, DimMaps, Shape};
use super::describe::describe;
use super::error::{ExprError, ExprErrorKind};
use super::group::StageGroup;
use super::lower::StagedExpr;
use super::stage::{Stage, StageInput, StageSource};
use super::value::Value;
use crate::alloc::{checked_bytes, out_of_memory};
use crate::dim_map::DimMap;
use crate::program_arrays::{RawOutput, StageArray, StageBuffer};
use crate::tuning::{MIN_SWAPPED_KEPT, SWAPPED_REDUCED};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use unishape_engine::fused::{self, Input, Options, Output, Program};
use unishape_engine::parallel::{for_each_task, is_parallel};
use unishape_kernels::DType;

/// A staged expression, or a slice of it.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    expr: Arc<StagedExpr>,
    /// The range of each dimension of the result that is computed, where it is not all of it.
    windows: SmallVec<[Option<Range<usize>>; 4]>,
    /// What slices share; without slices, nothing is.
    shared: OnceLock<Arc<Mutex<Precomputed>>>,
    /// Stages that are computed together with those of other expressions.
    joint: Vec<JointMember>,
}

/// A stage with results for several expressions. The first one that needs them computes all.
#[derive(Debug)]
pub(crate) struct JointStage {
    stage: Stage,
    results: Mutex<Option<Vec<Arc<StageBuffer>>>>,
}

/// An expression's share of a [`JointStage`].
#[derive(Clone, Debug)]
pub(crate) struct JointMember {
    /// Number of the stage in the expression.
    pub(crate) stage: usize,
    pub(crate) joint: Arc<JointStage>,
    /// Number of the stage's first result among those of the joint stage.
    pub(crate) first_result: usize,
}

impl JointStage {
    pub(crate) fn new(stage: Stage) -> JointStage {
        JointStage { stage, results: Mutex::default() }
    }

    /// The results. Computes them on first use.
    fn results(
        &self,
        variables: &[Option<StageArray<'_>>],
        options: Options<'_>,
    ) -> Result<Vec<Arc<StageBuffer>>, ExprError> {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(results) = &*results {
            return Ok(results.clone());
        }
        let packed = pack([&self.stage], variables)?;
        let sources = Sources { variables, packed: &packed, temporaries: &Temporaries::default() };
        let mut computed = temporaries(&self.stage.output_shape(), &self.stage)?;
        run_stage(&self.stage, sources, &[], None, outputs(&mut computed), options)?;
        Ok(results.insert(computed.into_iter().map(Arc::new).collect()).clone())
    }
}

/// What all slices of an expression need, computed once.
#[derive(Clone, Debug, Default)]
struct Precomputed {
    packed: Option<Arc<Packed>>,
    temporaries: Temporaries,
}

/// Variables whose elements are read many times and not contiguous, copied: by their number, the indices at which they
/// are read, the loops, and which of these are swapped in the copy. The maps are those of the copy.
pub(super) type Packed = HashMap<PackedKey, (StageBuffer, DimMaps)>;

type PackedKey = (usize, DimMaps, Shape, Option<[usize; 2]>);

/// Results of stages, by the number of the stage and of the result. Sorted: there are few, so that hashing takes longer.
#[derive(Clone, Debug, Default)]
pub(super) struct Temporaries(SmallVec<[KeyedBuffer; 4]>);

/// The numbers of a stage and of one of its results, and the result.
type KeyedBuffer = ((usize, usize), Arc<StageBuffer>);

impl Temporaries {
    pub(super) fn get(&self, key: (usize, usize)) -> Option<&Arc<StageBuffer>> {
        let at = self.0.binary_search_by_key(&key, |(own, _)| *own).ok()?;
        Some(&self.0[at].1)
    }

    fn insert(&mut self, key: (usize, usize), results: Arc<StageBuffer>) {
        match self.0.binary_search_by_key(&key, |(own, _)| *own) {
            Ok(at) => self.0[at].1 = results,
            Err(at) => self.0.insert(at, (key, results)),
        }
    }

    /// Drops the results of all stages but some.
    pub(super) fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        self.0.retain(|((stage, _), _)| is_kept(*stage));
    }

    /// Adds the results of a stage.
    pub(super) fn insert_all(&mut self, stage: usize, results: StageBuffers) {
        for (number, results) in results.into_iter().enumerate() {
            self.insert((stage, number), Arc::new(results));
        }
    }
}

/// The results of one stage.
pub(super) type StageBuffers = SmallVec<[StageBuffer; 1]>;

/// The arrays that a stage writes, one for each result.
pub(super) type Outputs<'a> = SmallVec<[RawOutput<'a>; 1]>;

impl Staged {
    /// Some stages are computed together with those of other expressions.
    pub(crate) fn new(expr: Arc<StagedExpr>, joint: Vec<JointMember>) -> Staged {
        let windows = SmallVec::from_elem(None, expr.shape.len());
        Staged { expr, windows, shared: OnceLock::new(), joint }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.expr.dtype
    }

    /// The whole expression, where no stage of it is computed together with those of other expressions already.
    pub(super) fn whole(&self) -> Option<&StagedExpr> {
        let is_whole = self.joint.is_empty() && self.windows.iter().all(Option::is_none);
        is_whole.then_some(&*self.expr)
    }

    /// A range of one dimension of the result. All slices share the results of earlier stages.
    #[must_use]
    pub(crate) fn slice_axis(&self, dim: usize, range: Range<usize>) -> Staged {
        self.shared.get_or_init(Arc::default);
        let mut slice = self.clone();
        let start = self.windows[dim].as_ref().map_or(0, |window| window.start);
        slice.windows[dim] = Some(start + range.start..start + range.end);
        slice
    }

    /// Whether some stage is large enough for several threads.
    pub(crate) fn is_parallel(&self) -> bool {
        self.expr.stages.iter().any(|stage| {
            let elements = stage.shape.iter().copied().fold(1, usize::saturating_mul);
            let item = stage.dtypes.iter().map(|dtype| dtype.item_size()).max().unwrap_or(1);
            is_parallel(elements.saturating_mul(item))
        })
    }

    /// Iterations of the loops of all stages, without regard to slices. A joint stage counts once.
    pub(crate) fn iterations(&self) -> usize {
        let is_counted = |number: usize| match self.joint.iter().position(|member| member.stage == number) {
            Some(at) => {
                let joint = &self.joint[at].joint;
                !self.joint[..at].iter().any(|member| Arc::ptr_eq(&member.joint, joint))
            }
            None => true,
        };
        let of_stage = |stage: &Arc<Stage>| stage.shape.iter().copied().fold(1, usize::saturating_mul);
        let counted = self.expr.stages.iter().enumerate().filter(|&(number, _)| is_counted(number));
        counted.map(|(_, stage)| of_stage(stage)).fold(0, usize::saturating_add)
    }

    /// Describes the stages; `values` are those of the variables.
    pub(crate) fn describe(&self, values: &[Value<'_>]) -> String {
        // How many results of other expressions are computed together with a stage.
        let others = |stage: usize| {
            let joint = &self.joint.iter().find(|member| member.stage == stage)?.joint;
            let own = self.joint.iter().filter(|member| Arc::ptr_eq(&member.joint, joint));
            let own = own.map(|member| self.expr.stages[member.stage].dtypes.len()).sum::<usize>();
            Some(joint.stage.dtypes.len() - own)
        };
        describe(&self.expr, values, &others)
    }

    /// Computes the expression.
    pub(crate) fn run(
        &self,
        values: &[Value<'_>],
        output: RawOutput<'_>,
        options: Options<'_>,
    ) -> Result<(), ExprError> {
        let Some(group) = self.expr.groups.last().filter(|_| !output.is_empty()) else { return Ok(()) };
        let variables: SmallVec<[Option<StageArray<'_>>; 4]> = values
            .iter()
            .map(|value| match value {
                Value::Array(view) => StageArray::of_tensor(view),
                Value::Scalar(_) => None,
            })
            .collect();
        let is_split = self.is_split(group);
        let Precomputed { packed, temporaries } = match self.shared.get() {
            None => self.prepared(Precomputed::default(), is_split, &variables, options)?,
            Some(shared) => {
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                *shared = self.prepared(shared.clone(), is_split, &variables, options)?;
                shared.clone()
            }
        };
        let packed = packed.unwrap_or_default();
        let sources = Sources { variables: &variables, packed: &packed, temporaries: &temporaries };
        if let Some(results) = temporaries.get((group.last(), 0)) {
            // Computed together with other expressions.
            let start = |dim: usize| self.windows[dim].as_ref().map_or(0, |window| window.start);
            copy_result(&self.expr.stages[group.last()], results, start, output, None);
            return Ok(());
        }
        let last =
            is_split.then(|| StageGroup { members: group.members[group.members.len() - 1..].to_vec() });
        let mut work = GroupWork::new(&self.expr.stages, last.as_ref().unwrap_or(group));
        for (dim, window) in self.windows.iter().enumerate() {
            if let Some(window) = window {
                work.restrict(dim, self.windows.len(), window.clone());
            }
        }
        work.run(sources, smallvec![output], options)
    }

    /// Whether a slice has a part of each row of a group only.
    ///
    /// Then all slices need the results of the group's earlier stages for all rows.
    fn is_split(&self, group: &StageGroup) -> bool {
        let last = &self.expr.stages[group.last()];
        let rank = self.windows.len();
        let is_part = |(dim, window): (usize, &Option<Range<usize>>)| {
            window.as_ref().is_some_and(|window| window.len() != self.expr.shape[dim])
                && last.loop_of(dim, rank) != group.row_dim()
        };
        group.members.len() > 1 && self.windows.iter().enumerate().any(is_part)
    }

    /// Computes what is missing: copies of variables, and the results of all groups but the last.
    ///
    /// With `is_split`, also those of the last group's stages but the last.
    fn prepared(
        &self,
        mut shared: Precomputed,
        is_split: bool,
        variables: &[Option<StageArray<'_>>],
        options: Options<'_>,
    ) -> Result<Precomputed, ExprError> {
        let packed = match shared.packed {
            Some(packed) => packed,
            None => {
                // Joint stages pack what they read.
                let is_own = |(number, _): &(usize, &Arc<Stage>)| {
                    !self.joint.iter().any(|member| member.stage == *number)
                };
                let own = self.expr.stages.iter().enumerate().filter(is_own);
                Arc::new(pack(own.map(|(_, stage)| &**stage), variables)?)
            }
        };
        let Some((last, groups)) = self.expr.groups.split_last() else { return Ok(Precomputed::default()) };
        let options = Options { is_output_fresh: true, ..options };
        for JointMember { stage, joint, first_result } in &self.joint {
            let results = joint.results(variables, options)?;
            for result in 0..self.expr.stages[*stage].dtypes.len() {
                shared.temporaries.insert((*stage, result), results[first_result + result].clone());
            }
        }
        for group in groups {
            if shared.temporaries.get((group.last(), 0)).is_some() {
                continue;
            }
            let stage = &self.expr.stages[group.last()];
            let mut results = temporaries(&stage.output_shape(), stage)?;
            let sources = Sources { variables, packed: &packed, temporaries: &shared.temporaries };
            GroupWork::new(&self.expr.stages, group).run(sources, outputs(&mut results), options)?;
            shared.temporaries.insert_all(group.last(), results);
        }
        if is_split && shared.temporaries.get((last.members[0].0, 0)).is_none() {
            let sources = Sources { variables, packed: &packed, temporaries: &shared.temporaries };
            let results = GroupWork::new(&self.expr.stages, last).run_members(sources, options)?;
            for (key, results) in results.0 {
                shared.temporaries.insert(key, results);
            }
        }
        Ok(Precomputed { packed: Some(packed), ..shared })
    }
}

/// Copies variables that are worth it.
pub(super) fn pack<'s>(
    stages: impl IntoIterator<Item = &'s Stage>,
    variables: &[Option<StageArray<'_>>],
) -> Result<Packed, ExprError> {
    let mut packed = Packed::new();
    for stage in stages {
        let swapped = swapped_loops(stage, variables);
        for StageInput { source, maps } in &stage.inputs {
            let StageSource::Variable(variable) = source else { continue };
            let Some(array) = &variables[*variable] else { continue };
            if swapped.is_none() && !array.may_be_worth_packing(maps, &stage.shape) {
                continue;
            }
            let array = array.mapped(maps, &stage.shape);
            let swapped = swapped.filter(|loops| loops.iter().all(|&dim| array.moves(dim)));
            if swapped.is_none() && !array.is_worth_packing() {
                continue;
            }
            let key = (*variable, maps.clone(), stage.shape.clone(), swapped);
            if packed.contains_key(&key) {
                continue;
            }
            let mut array = array.without_repeats();
            let mut loops = stage.shape.clone();
            if let Some([a, b]) = swapped {
                array = array.swapped(a, b);
                loops.swap(a, b);
            }
            let shape = Shape::from_slice(array.shape());
            let bytes = checked_bytes(&shape, array.item())?;
            let mut copy = StageBuffer::new(bytes, array.item(), shape.clone()).map_err(out_of_memory)?;
            copy_elements(&array, copy.output(), None);
            let mut maps = axes::stretch(&shape, &loops);
            if let Some([a, b]) = swapped {
                for map in &mut maps {
                    map.dim = map.dim.map(|dim| {
                        if dim == a {
                            b
                        } else if dim == b {
                            a
                        } else {
                            dim
                        }
                    });
                }
            }
            packed.insert(key, (copy, maps));
        }
    }
    Ok(packed)
}

/// The two innermost loops of a stage, where arrays that are read along both are copied with these swapped: the stage
/// folds the innermost one, which is short, and its accumulators become rows. The sums of a row of few elements take
/// longer than a row of sums.
fn swapped_loops(stage: &Stage, variables: &[Option<StageArray<'_>>]) -> Option<[usize; 2]> {
    let [kept, reduced] = [stage.shape.len().checked_sub(3)? + 1, stage.shape.len() - 1];
    let is_fitting = stage.reduced[..] == [reduced]
        && SWAPPED_REDUCED.contains(&stage.shape[reduced])
        && stage.shape[kept] >= MIN_SWAPPED_KEPT
        && stage.program.is_only_pairs();
    if !is_fitting {
        return None;
    }
    let (mut rows, mut scalars) = (0, 0);
    for StageInput { source, maps } in &stage.inputs {
        let StageSource::Variable(variable) = source else { return None };
        let array = variables[*variable].as_ref()?.mapped(maps, &stage.shape);
        match [kept, reduced].map(|dim| array.moves(dim)) {
            [true, true] if array.is_worth_transposing() => rows += 1,
            [false, true] => scalars += 1,
            _ => return None,
        }
    }
    (rows == 1 && scalars == 1).then_some([kept, reduced])
}

/// Arrays of this shape for the results of a stage.
pub(super) fn temporaries(shape: &Shape, stage: &Stage) -> Result<StageBuffers, ExprError> {
    let of_dtype = |dtype: &DType| {
        let bytes = checked_bytes(shape, dtype.item_size())?;
        Ok(StageBuffer::new(bytes, dtype.item_size(), shape.clone()).map_err(out_of_memory)?)
    };
    stage.dtypes.iter().map(of_dtype).collect()
}

/// The arrays, to write.
pub(super) fn outputs(results: &mut [StageBuffer]) -> Outputs<'_> {
    results.iter_mut().map(StageBuffer::output).collect()
}

/// What stages read: variables, and results of earlier stages.
#[derive(Clone, Copy)]
pub(super) struct Sources<'s> {
    pub(super) variables: &'s [Option<StageArray<'s>>],
    pub(super) packed: &'s Packed,
    pub(super) temporaries: &'s Temporaries,
}

/// The iterations of one loop of a stage that are computed.
#[derive(Clone, Debug)]
pub(super) struct LoopRange {
    /// The loop.
    pub(super) dim: usize,
    pub(super) range: Range<usize>,
}

/// Results of stages for some rows, and the loop of the reading stage that is the rows.
type LocalResults<'r> = (usize, &'r Temporaries);

/// A group of stages, for some rows of the result or for all.
struct GroupWork<'g> {
    stages: &'g [Arc<Stage>],
    group: &'g StageGroup,
    last: &'g Stage,
    /// The rows of the last stage that are computed.
    rows: Range<usize>,
    /// What is computed of its other loops, where it is not all.
    windows: SmallVec<[LoopRange; 2]>,
}

impl<'g> GroupWork<'g> {
    fn new(stages: &'g [Arc<Stage>], group: &'g StageGroup) -> GroupWork<'g> {
        let last = &*stages[group.last()];
        let rows = 0..last.shape.get(group.row_dim()).copied().unwrap_or(1);
        GroupWork { stages, group, last, rows, windows: SmallVec::new() }
    }

    /// Restricts the output, which has `rank` dimensions, to a range of one of them.
    fn restrict(&mut self, output_dim: usize, rank: usize, window: Range<usize>) {
        let dim = self.last.loop_of(output_dim, rank);
        if self.last.is_reduced(dim) {
            return;
        }
        match self.group.members.len() > 1 && dim == self.group.row_dim() {
            true => self.rows = window,
            false => self.windows.push(LoopRange { dim, range: window }),
        }
    }

    /// Runs the stages for some rows at a time, so that what they share stays in the cache.
    fn run(&self, sources: Sources<'_>, outputs: Outputs<'_>, options: Options<'_>) -> Result<(), ExprError> {
        if self.group.members.len() == 1 {
            return run_stage(self.last, sources, &self.windows, None, outputs, options);
        }
        if outputs[0].is_empty() {
            return Ok(());
        }
        let step = self.step();
        let mut parts: Vec<Outputs<'_>> = Vec::new();
        parts.resize_with(self.rows.len().div_ceil(step), Outputs::new);
        for output in outputs {
            let output_dim = self.last.output_dim(self.group.row_dim(), output.rank());
            for (parts, part) in parts.iter_mut().zip(output.split(output_dim, step)) {
                parts.push(part);
            }
        }
        self.for_each_rows(parts, options, &|rows, part| self.run_rows(rows, sources, part, options))
    }

    /// Rows that are computed at a time.
    fn step(&self) -> usize {
        self.group.rows_per_chunk(self.stages, self.rows.len())
    }

    /// Runs all stages but the last for all rows, and returns their results.
    ///
    /// As many rows at a time as in [`run`](GroupWork::run), so that sums have the same rounding errors.
    fn run_members(&self, sources: Sources<'_>, options: Options<'_>) -> Result<Temporaries, ExprError> {
        let step = self.step();
        let members = &self.group.members[..self.group.members.len() - 1];
        let mut results: Vec<StageBuffers> = members
            .iter()
            .map(|&(number, _)| temporaries(&self.stages[number].output_shape(), &self.stages[number]))
            .collect::<Result<_, ExprError>>()?;
        let mut parts: Vec<Vec<((usize, usize), RawOutput<'_>)>> = Vec::new();
        parts.resize_with(self.rows.len().div_ceil(step), Vec::new);
        for (results, &(stage, dim)) in results.iter_mut().zip(members) {
            for (number, output) in outputs(results).into_iter().enumerate() {
                for (parts, part) in parts.iter_mut().zip(output.split(dim, step)) {
                    parts.push(((stage, number), part));
                }
            }
        }
        self.for_each_rows(parts, options, &|rows, parts| {
            let local = self.local(rows, sources, options)?;
            for (key, part) in parts {
                if let Some(results) = local.get(key) {
                    copy_elements(&results.array(), part, Some(1));
                }
            }
            Ok(())
        })?;
        let mut kept = Temporaries::default();
        for (results, &(stage, _)) in results.into_iter().zip(members) {
            kept.insert_all(stage, results);
        }
        Ok(kept)
    }

    /// Calls a function with some rows at a time and the part of the output for them, on several threads.
    fn for_each_rows<P: Send>(
        &self,
        parts: Vec<P>,
        options: Options<'_>,
        run: &(dyn Fn(Range<usize>, P) -> Result<(), ExprError> + Sync),
    ) -> Result<(), ExprError> {
        let step = self.step();
        for_each_part(parts, options.threads, &|number, part| {
            let start = self.rows.start + number * step;
            run(start..(start + step).min(self.rows.end), part)
        })
    }

    /// Runs all stages for some rows.
    fn run_rows(
        &self,
        rows: Range<usize>,
        sources: Sources<'_>,
        outputs: Outputs<'_>,
        options: Options<'_>,
    ) -> Result<(), ExprError> {
        let local = self.local(rows.clone(), sources, options)?;
        let dim = self.group.row_dim();
        let mut ranges = self.windows.clone();
        ranges.push(LoopRange { dim, range: rows });
        // Other threads run other rows.
        let options = Options { threads: Some(1), ..options };
        run_stage(self.last, sources, &ranges, Some((dim, &local)), outputs, options)
    }

    /// Runs all stages but the last for some rows, and returns their results.
    fn local(
        &self,
        rows: Range<usize>,
        sources: Sources<'_>,
        options: Options<'_>,
    ) -> Result<Temporaries, ExprError> {
        let members = &self.group.members[..self.group.members.len() - 1];
        local_results(self.stages, members, rows, sources, options)
    }
}

/// Runs stages for some rows, and returns their results. The loop of each that is the rows is given with its number.
pub(super) fn local_results(
    stages: &[Arc<Stage>],
    members: &[(usize, usize)],
    rows: Range<usize>,
    sources: Sources<'_>,
    options: Options<'_>,
) -> Result<Temporaries, ExprError> {
    let mut local = Temporaries::default();
    let options = Options { is_output_fresh: true, threads: Some(1), ..options };
    for &(number, dim) in members {
        let stage = &stages[number];
        let mut shape = stage.output_shape();
        shape[dim] = rows.len();
        let mut results = temporaries(&shape, stage)?;
        let ranges = [LoopRange { dim, range: rows.clone() }];
        run_stage(stage, sources, &ranges, Some((dim, &local)), outputs(&mut results), options)?;
        local.insert_all(number, results);
    }
    Ok(local)
}

/// Calls a function with the number of each part and the part, on several threads, until it fails.
pub(crate) fn for_each_part<P: Send>(
    parts: Vec<P>,
    threads: Option<usize>,
    run: &(dyn Fn(usize, P) -> Result<(), ExprError> + Sync),
) -> Result<(), ExprError> {
    let parts: Vec<Mutex<Option<P>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let failed: Mutex<Option<ExprError>> = Mutex::new(None);
    let work = |number: usize| {
        let has_failed = failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let part = parts[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(part) = part.filter(|_| !has_failed)
            && let Err(error) = run(number, part)
        {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    for_each_task(parts.len(), threads, &work);
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Copies a result of a stage to an output: a part of it, which begins at an index for each dimension.
pub(super) fn copy_result(
    stage: &Stage,
    result: &StageBuffer,
    start: impl Fn(usize) -> usize,
    output: RawOutput<'_>,
    threads: Option<usize>,
) {
    let mut maps: DimMaps = SmallVec::from_elem(DimMap::fixed(0), stage.shape.len());
    for dim in 0..output.rank() {
        maps[stage.loop_of(dim, output.rank())] = DimMap { start: start(dim) as isize, ..DimMap::same(dim) };
    }
    copy_elements(&result.array().mapped(&maps, output.shape()), output, threads);
}

/// Copies an array to an output of the same shape.
fn copy_elements(array: &StageArray<'_>, mut output: RawOutput<'_>, threads: Option<usize>) {
    let program = Program::new(vec![array.item()], Vec::new(), Vec::new(), 0);
    let options = Options { is_output_fresh: true, threads, should_continue: &|_| true };
    fused::run(&program, &[array.input()], &mut output.output(), options);
}

/// Runs one stage, or a part of its loops. Sums have the same bits in every part.
pub(super) fn run_stage(
    stage: &Stage,
    sources: Sources<'_>,
    ranges: &[LoopRange],
    local: Option<LocalResults<'_>>,
    mut outputs: Outputs<'_>,
    options: Options<'_>,
) -> Result<(), ExprError> {
    if outputs[0].is_empty() {
        return Ok(());
    }
    let mut shape = Shape::from_slice(&stage.shape);
    for LoopRange { dim, range } in ranges {
        shape[*dim] = range.len();
    }
    let mut arrays: SmallVec<[Option<StageArray<'_>>; 4]> = SmallVec::new();
    let mut indices: SmallVec<[(isize, SmallVec<[isize; 6]>); 4]> = SmallVec::new();
    let swapped = match sources.packed.keys().any(|(.., swapped)| swapped.is_some()) {
        true => swapped_loops(stage, sources.variables),
        false => None,
    };
    // Other stages of a pass may have other copies of the same array.
    let packed = |variable: usize, maps: &DimMaps| {
        let find = |swapped| sources.packed.get(&(variable, maps.clone(), stage.shape.clone(), swapped));
        if sources.packed.is_empty() {
            None
        } else {
            swapped.and_then(|_| find(swapped)).or_else(|| find(None))
        }
    };
    for StageInput { source, maps } in &stage.inputs {
        arrays.push(match source {
            StageSource::Variable(variable) => match packed(*variable, maps) {
                Some((packed, maps)) => Some(packed.array().mapped(&from_start(maps, ranges, None), &shape)),
                None => {
                    let array = sources.variables[*variable].as_ref();
                    array.map(|array| array.mapped(&from_start(maps, ranges, None), &shape))
                }
            },
            StageSource::Stage { number, result } => {
                let found = local.and_then(|(rows, local)| Some((rows, local.get((*number, *result))?)));
                let (rows, results) = match found {
                    Some((rows, results)) => (Some(rows), Some(results)),
                    None => (None, sources.temporaries.get((*number, *result))),
                };
                results.map(|results| results.array().mapped(&from_start(maps, ranges, rows), &shape))
            }
            StageSource::Index(strides) => {
                indices.push(index(strides, &from_start(maps, ranges, None), &shape));
                None
            }
        });
    }
    let mut indices = indices.iter();
    let inputs: SmallVec<[Input<'_>; 4]> = arrays
        .iter()
        .map(|array| match (array, array.is_none().then(|| indices.next()).flatten()) {
            (Some(array), _) => array.input(),
            (None, Some((start, strides))) => Input::index(*start, &shape, strides),
            (None, None) => unreachable!("every array of a stage has a source"),
        })
        .collect();
    let is_complete = if stage.folds.is_empty() {
        fused::run(&stage.program, &inputs, &mut outputs[0].output(), options)
    } else {
        let mut folded: Outputs<'_> =
            outputs.into_iter().map(|output| output.folded(&shape, &stage.reduced)).collect();
        let mut folded: SmallVec<[Output<'_>; 1]> =
            folded.iter_mut().map(|output| output.output().part_of(&stage.shape)).collect();
        fused::run_folds(&stage.program, &inputs, &mut folded, options).map_err(out_of_memory)?
    };
    match is_complete {
        true => Ok(()),
        false => Err(ExprErrorKind::Stopped.into()),
    }
}

/// The maps of an array, from the first index of each range on. The array begins at that of the loop `rows` already.
fn from_start<'m>(maps: &'m DimMaps, ranges: &[LoopRange], rows: Option<usize>) -> Cow<'m, [DimMap]> {
    let mut maps = Cow::Borrowed(&maps[..]);
    for LoopRange { dim, range } in
        ranges.iter().filter(|other| other.range.start > 0 && Some(other.dim) != rows)
    {
        for map in maps.to_mut().iter_mut().filter(|map| map.dim == Some(*dim)) {
            map.start += map.step * range.start as isize;
        }
    }
    maps
}

/// The first index, and the number that each loop's index is multiplied by.
fn index(strides: &[isize], maps: &[DimMap], shape: &Shape) -> (isize, SmallVec<[isize; 6]>) {
    let mut of_loops: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.len());
    let mut start = 0;
    for (map, stride) in maps.iter().zip(strides) {
        start += map.start * stride;
        if let Some(dim) = map.dim {
            of_loops[dim] += stride * map.step;
        }
    }
    (start, of_loops)
}
