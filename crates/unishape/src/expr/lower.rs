//! Lowers an expression to stages.

use super::axes::{DimMaps, Shape, compose, identity, stretch};
use super::compile::{Argument, ProgramBuilder};
use super::error::{ExprError, ExprErrorKind};
use super::graph::Graph;
use super::group::{StageGroup, groups};
use super::join::{Joined, join};
use super::pair::pair;
use super::stage::{Stage, StageInput, StageSource, stage_name};
use super::typed::{InputInfo, Positions, TypedGraph, TypedId, TypedKind, index_strides, is_squeeze};
use super::types::Typing;
use crate::alloc::checked_bytes;
use crate::dim_map::DimMap;
use crate::error::Error;
use crate::tuning::{
    FUNCTION_COST, MAX_HOISTED, MAX_UNROLLED, MAX_UNROLLED_OPERATIONS, MIN_HOISTED_REPEATS, MIN_SHARED_COST,
    SMALL_SHARED_ELEMENTS,
};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::sync::Arc;
use unishape_core::Rules;
use unishape_engine::fused::Position;
use unishape_kernels::{DType, FoldOp, Op, find_fold, find_position_fold};

/// Bytes of the largest element.
const MAX_ITEM: usize = 16;

/// Whether an operation takes longer than arithmetic.
fn is_function(op: Op) -> bool {
    op.symbol().is_none()
        && !matches!(
            op,
            Op::Abs | Op::Square | Op::Min | Op::Max | Op::Where | Op::Sqrt | Op::Real | Op::Imag | Op::Conj
        )
}

/// An expression lowered to stages, in the order of execution. The last one computes the result.
#[derive(Clone, Debug)]
pub(crate) struct StagedExpr {
    pub(crate) stages: Vec<Arc<Stage>>,
    /// Which of them run row by row.
    pub(crate) groups: Vec<StageGroup>,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
}

/// Whether what several stages compute may have a stage of its own, whose results are as large as the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// For executors that run [groups](StageGroup) row by row, so that such results stay in a cache.
    WithinGroups,
    /// For executors that run one stage after another, and whose accumulators are single elements.
    Never,
}

/// Lowers an expression with inputs of these types and shapes.
pub(crate) fn lower(
    graph: &Graph,
    inputs: &[InputInfo<'_>],
    typing: Typing,
    sharing: Sharing,
) -> Result<StagedExpr, ExprError> {
    let positions = match sharing {
        Sharing::WithinGroups => Positions::InOnePass,
        Sharing::Never => Positions::InTwoPasses,
    };
    let typed = TypedGraph::new(graph, inputs, typing, Rules::STANDARD, positions)?;
    if sharing == Sharing::Never {
        return Ok(lower_typed(graph, &typed, typing, &[])?.0);
    }
    let lowering = Lowering::new(graph, &typed, typing);
    let [shared, with_hoisted] = [false, true].map(|hoists| lowering.shared_nodes(hoists));
    // Each is a stage more, and what they gain is little: many are not worth the time to plan them.
    let are_few = (1..=MAX_HOISTED).contains(&with_hoisted.len().saturating_sub(shared.len()));
    for (nodes, hoists) in
        [Some((&with_hoisted, true)).filter(|_| are_few), Some((&shared, false))].into_iter().flatten()
    {
        if nodes.is_empty() {
            continue;
        }
        let (staged, shared_stages) = lower_typed(graph, &typed, typing, nodes)?;
        // Worth it only where their results stay in the cache: of a few rows at a time, or all where they are few.
        let is_local = |stage: &usize| staged.groups.iter().any(|group| group.is_local(*stage));
        let is_small = |stage: &usize| {
            let elements =
                staged.stages[*stage].shape.iter().fold(1, |all: usize, &size| all.saturating_mul(size));
            !hoists && SMALL_SHARED_ELEMENTS.contains(&elements)
        };
        if shared_stages.iter().all(|stage| is_local(stage) || is_small(stage)) {
            return Ok(staged);
        }
    }
    Ok(lower_typed(graph, &typed, typing, &[])?.0)
}

/// Lowers a typed graph. Nodes of `shared` are computed once, by stages of their own, whose numbers are returned.
fn lower_typed<'g>(
    graph: &'g Graph,
    typed: &TypedGraph<'g>,
    typing: Typing,
    shared: &[TypedId],
) -> Result<(StagedExpr, Vec<usize>), ExprError> {
    let mut lowering = Lowering::new(graph, typed, typing);
    let mut shared_stages = Vec::new();
    let needed = lowering.needed();
    for id in (0..=typed.root).filter(|&id| needed[id]) {
        if let TypedKind::Fold(fold, dims, input) = &typed.nodes[id].kind
            && !lowering.is_unrolled[id]
        {
            lowering.add_fold(id, *fold, dims, *input)?;
        } else if shared.contains(&id) {
            lowering.add_stage(id, None)?;
            let number = lowering.stages.len() - 1;
            lowering.stage_of.insert(id, number);
            shared_stages.push(number);
        }
    }
    let shape = typed.shape(typed.root).clone();
    if !lowering.is_last_stage(typed.root) {
        lowering.add_stage(typed.root, None)?;
    }
    let Joined { stages, numbers } = join(lowering.stages);
    let shared_stages = shared_stages.into_iter().map(|stage| numbers[stage]).collect();
    let staged = StagedExpr { groups: groups(&stages), stages, shape, dtype: typed.dtype(typed.root) };
    Ok((staged, shared_stages))
}

struct Lowering<'t, 'g> {
    graph: &'g Graph,
    typed: &'t TypedGraph<'g>,
    typing: Typing,
    stages: Vec<Arc<Stage>>,
    /// The stage that computes a fold.
    stage_of: HashMap<TypedId, usize>,
    /// Which folds are computed operation by operation, by the stages that use them.
    is_unrolled: Vec<bool>,
}

impl<'t, 'g> Lowering<'t, 'g> {
    fn new(graph: &'g Graph, typed: &'t TypedGraph<'g>, typing: Typing) -> Lowering<'t, 'g> {
        let is_unrolled = unrolled_folds(typed);
        Lowering { graph, typed, typing, stages: Vec::new(), stage_of: HashMap::new(), is_unrolled }
    }

    /// Whether a node is a fold with a stage of its own.
    fn is_stage(&self, id: TypedId) -> bool {
        matches!(self.typed.nodes[id].kind, TypedKind::Fold(..)) && !self.is_unrolled[id]
    }

    /// Nodes that several stages compute, and that take long enough to be computed only once. With `hoists` also those
    /// that one stage computes again and again, from results of other stages.
    fn shared_nodes(&self, hoists: bool) -> Vec<TypedId> {
        let (nodes, root) = (&self.typed.nodes, self.typed.root);
        let needed = self.needed();
        // For each node, up to two of the stages that compute it, by the node at their end.
        let mut ends: Vec<SmallVec<[TypedId; 2]>> = vec![SmallVec::new(); nodes.len()];
        if let Some(of_root) = ends.get_mut(root) {
            of_root.push(root);
        }
        for id in (0..=root).rev().filter(|&id| needed[id]) {
            let of_node = if self.is_stage(id) { SmallVec::from_slice(&[id]) } else { ends[id].clone() };
            for &input in nodes[id].kind.inputs() {
                for &end in &of_node {
                    if ends[input].len() < 2 && !ends[input].contains(&end) {
                        ends[input].push(end);
                    }
                }
            }
        }
        let costs = self.costs(&needed);
        let elements =
            |id: TypedId| self.typed.shape(id).iter().fold(1, |all: usize, &size| all.saturating_mul(size));
        let loops = |end: TypedId| match &nodes[end].kind {
            TypedKind::Fold(_, _, input) if self.is_stage(end) => elements(*input),
            _ => elements(end),
        };
        let is_shared = |id: TypedId| {
            ends[id].len() == 2
                && costs[id] >= MIN_SHARED_COST
                && matches!(nodes[id].kind, TypedKind::Call(..) | TypedKind::Fold(..))
                && ends[id].iter().all(|&end| loops(end) == elements(id))
        };
        // Such as a mean along another axis than the last one: each of its elements would be divided again for all that
        // it is subtracted from. Along the last axis it is one element for a row, which a stage computes once.
        let is_from_stage = self.are_from_stages();
        let is_hoisted = |id: TypedId| {
            hoists
                && is_from_stage[id]
                && matches!(nodes[id].kind, TypedKind::Call(..))
                && self.typed.shape(id).last().is_some_and(|&size| size > 1)
                && ends[id].iter().any(|&end| loops(end) / MIN_HOISTED_REPEATS >= elements(id))
        };
        let is_shared: Vec<bool> = (0..=root)
            .map(|id| needed[id] && !self.is_stage(id) && (is_shared(id) || is_hoisted(id)))
            .collect();
        // Not those that only other shared nodes use.
        let mut is_used = vec![false; nodes.len()];
        for id in (0..=root).filter(|&id| needed[id] && !is_shared[id]) {
            nodes[id].kind.inputs().iter().for_each(|&input| is_used[input] = true);
        }
        (0..=root).filter(|&id| is_shared[id] && is_used[id]).collect()
    }

    /// Which nodes depend on the results of stages.
    fn are_from_stages(&self) -> Vec<bool> {
        let nodes = &self.typed.nodes;
        let mut are = vec![false; nodes.len()];
        for id in 0..=self.typed.root {
            are[id] = self.is_stage(id) || nodes[id].kind.inputs().iter().any(|&input| are[input]);
        }
        are
    }

    /// How long each node takes within a stage, in arithmetic operations.
    fn costs(&self, needed: &[bool]) -> Vec<usize> {
        let nodes = &self.typed.nodes;
        let mut costs = vec![0usize; nodes.len()];
        for id in (0..=self.typed.root).filter(|&id| needed[id] && !self.is_stage(id)) {
            let inputs =
                nodes[id].kind.inputs().iter().fold(0, |sum: usize, &input| sum.saturating_add(costs[input]));
            costs[id] = match &nodes[id].kind {
                TypedKind::Call(op, _) => {
                    inputs.saturating_add(if is_function(*op) { FUNCTION_COST } else { 1 })
                }
                TypedKind::Cast(..) => inputs.saturating_add(1),
                TypedKind::Fold(_, dims, input) => {
                    let count: usize = dims.iter().map(|&dim| self.typed.shape(*input)[dim]).product();
                    inputs.saturating_add(1).saturating_mul(count)
                }
                _ => inputs,
            };
        }
        costs
    }

    /// Which nodes the result depends on.
    fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.typed.nodes.len()];
        if let Some(root) = needed.get_mut(self.typed.root) {
            *root = true;
        }
        for id in (0..needed.len()).rev().filter(|&id| id <= self.typed.root) {
            if needed[id] {
                self.typed.nodes[id].kind.inputs().iter().for_each(|&input| needed[input] = true);
            }
        }
        needed
    }

    /// Adds the stage that computes a fold.
    fn add_fold(
        &mut self,
        id: TypedId,
        fold: FoldOp,
        dims: &[usize],
        input: TypedId,
    ) -> Result<(), ExprError> {
        let shape = self.typed.shape(input);
        let long: SmallVec<[usize; 4]> = dims.iter().copied().filter(|&dim| shape[dim] > 1).collect();
        let dims: SmallVec<[usize; 4]> = SmallVec::from_slice(dims);
        match long[..] {
            // One loop is reduced later: along it, this stage can run together with those that it depends on, and
            // their results need not be kept.
            [row, _, ..] if !fold.is_position() && self.depends_on_stage(input) => {
                let others = dims.iter().copied().filter(|&dim| dim != row).collect();
                self.add_stage(input, Some((fold, others)))?;
                self.add_fold_of_stage(fold, dims)?;
            }
            _ => self.add_stage(input, Some((fold, dims)))?,
        }
        self.stage_of.insert(id, self.stages.len() - 1);
        Ok(())
    }

    /// Whether a node is computed from the results of another stage.
    fn depends_on_stage(&self, id: TypedId) -> bool {
        let mut seen = vec![false; id + 1];
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            if self.stage_of.contains_key(&id) {
                return true;
            }
            if !std::mem::replace(&mut seen[id], true) {
                left.extend(self.typed.nodes[id].kind.inputs());
            }
        }
        false
    }

    /// Adds a stage that folds the results of the last one.
    fn add_fold_of_stage(&mut self, fold: FoldOp, dims: SmallVec<[usize; 4]>) -> Result<(), ExprError> {
        let number = self.stages.len() - 1;
        let stage = &self.stages[number];
        let (shape, dtype) = (stage.output_shape(), stage.dtypes[0]);
        let mut compiler = ProgramBuilder::new(&[], self.typing);
        let value = compiler.add_input(dtype);
        let value = compiler.typed_value(value)?;
        let kernel = find_fold(fold, dtype).ok_or(ExprErrorKind::NotElementWise)?;
        let input =
            StageInput { source: StageSource::Stage { number, result: 0 }, maps: identity(shape.len()) };
        self.stages.push(Arc::new(Stage {
            shape,
            inputs: vec![input],
            program: Arc::new(compiler.program(value.id).folding(kernel)),
            folds: smallvec![fold],
            reduced: dims,
            dtypes: smallvec![dtype],
            names: vec![stage_name(number)],
            constants: Vec::new(),
        }));
        Ok(())
    }

    /// Whether a node is what the last stage computes, but for dimensions of size 1.
    fn is_last_stage(&self, id: TypedId) -> bool {
        let is_last =
            |id: TypedId| self.stage_of.get(&id).is_some_and(|&stage| stage + 1 == self.stages.len());
        match &self.typed.nodes[id].kind {
            TypedKind::View(maps, of) => match &self.typed.nodes[*of].kind {
                TypedKind::Fold(_, dims, _) => {
                    is_last(*of) && is_squeeze(maps, dims, self.typed.shape(*of), self.typed.shape(id))
                }
                _ => false,
            },
            _ => is_last(id),
        }
    }

    /// Adds the stage that computes a node for every index of its shape.
    fn add_stage(
        &mut self,
        id: TypedId,
        fold: Option<(FoldOp, SmallVec<[usize; 4]>)>,
    ) -> Result<(), ExprError> {
        let source = self.typed.nodes[id].source;
        let error = |kind| ExprError::at(kind, self.graph.span(source));
        let shape = self.typed.shape(id).clone();
        // Loops may be longer than any array, but their elements must be countable.
        if checked_bytes(&shape, MAX_ITEM).is_err() {
            return Err(Error::too_large(&shape, None).into());
        }
        let mut emitter = Emitter {
            lowering: self,
            compiler: ProgramBuilder::new(&[], self.typing),
            inputs: Vec::new(),
            input_values: HashMap::new(),
            values: HashMap::new(),
            names: Vec::new(),
        };
        let value = emitter.emit(id, identity(shape.len())).map_err(error)?;
        let position = fold.as_ref().filter(|(fold, _)| fold.is_position());
        let index = position.map(|(_, dims)| {
            let source = StageSource::Index(index_strides(&shape, dims));
            emitter.input(source, identity(shape.len()), DType::I64, "index".into());
            emitter.inputs.len() - 1
        });
        let mut compiler = emitter.compiler;
        let (inputs, names) = (emitter.inputs, emitter.names);
        let result = compiler.typed_value(value).map_err(error)?;
        let constants = std::mem::take(&mut compiler.constant_names);
        let mut program = compiler.program(result.id);
        for (operand, input) in inputs.iter().enumerate() {
            if let StageSource::Index(_) = input.source {
                program = program.with_index(operand);
            }
        }
        let (mut folds, mut reduced, mut dtype) = (SmallVec::new(), SmallVec::new(), result.dtype);
        if let Some((fold, dims)) = fold {
            // Dtypes without a fold have been refused or cast, unless a kernel is missing.
            let missing = || error(ExprErrorKind::NoCast { from: result.dtype, to: DType::F64 });
            if let Some(index) = index {
                let kernel = find_position_fold(fold, result.dtype).ok_or_else(missing)?;
                program = program.finding_position(Position { kernel, index });
                dtype = DType::I64;
            } else {
                program = program.folding(find_fold(fold, result.dtype).ok_or_else(missing)?);
                let pair = pair(&program, fold, result.dtype);
                program = program.with_pairs(&[pair]);
            }
            (folds, reduced) = (smallvec![fold], dims);
        }
        let (program, dtypes) = (Arc::new(program), smallvec![dtype]);
        let stage = Stage { shape, inputs, program, folds, reduced, dtypes, names, constants };
        self.stages.push(Arc::new(stage));
        Ok(())
    }
}

/// Which folds are unrolled: those of few computed elements, with few operations and no functions such as `exp`.
///
/// What is unrolled may be computed several times: a softmax of eight columns would compute each `exp` eight times.
fn unrolled_folds(typed: &TypedGraph<'_>) -> Vec<bool> {
    let nodes = &typed.nodes;
    let is_computed = |id: TypedId| match &nodes[id].kind {
        TypedKind::Call(..) | TypedKind::Cast(..) => true,
        TypedKind::View(_, of) => !matches!(nodes[*of].kind, TypedKind::Variable(_)),
        _ => false,
    };
    let mut is_unrolled = vec![false; nodes.len()];
    // Operations of each node within a stage.
    let mut operations = vec![0usize; nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        let of_inputs =
            node.kind.inputs().iter().fold(0, |sum: usize, &input| sum.saturating_add(operations[input]));
        operations[id] = match &node.kind {
            TypedKind::Call(op, _) if is_function(*op) => of_inputs.saturating_add(MAX_UNROLLED_OPERATIONS),
            TypedKind::Call(..) | TypedKind::Cast(..) => of_inputs.saturating_add(1),
            TypedKind::Fold(fold, dims, input) => {
                let shape = typed.shape(*input);
                let count = dims.iter().map(|&dim| shape[dim]).fold(1, usize::saturating_mul);
                let all = of_inputs.saturating_add(1).saturating_mul(count);
                is_unrolled[id] = (1..=MAX_UNROLLED).contains(&count)
                    && !fold.is_position()
                    && is_computed(*input)
                    && all <= MAX_UNROLLED_OPERATIONS;
                if is_unrolled[id] { all } else { 0 }
            }
            _ => of_inputs,
        };
    }
    is_unrolled
}

/// Emits the program of one stage.
struct Emitter<'l, 't, 'g> {
    lowering: &'l Lowering<'t, 'g>,
    compiler: ProgramBuilder,
    inputs: Vec<StageInput>,
    input_values: HashMap<StageInput, Argument>,
    /// Value of each node, at the indices at which it is read.
    values: HashMap<(TypedId, DimMaps), Argument>,
    names: Vec<String>,
}

impl Emitter<'_, '_, '_> {
    /// The value of a node at these indices. Not recursive: expressions may have a hundred thousand operators.
    fn emit(&mut self, id: TypedId, maps: DimMaps) -> Result<Argument, ExprErrorKind> {
        let mut stack = vec![(id, maps.clone())];
        while let Some((id, maps)) = stack.last().cloned() {
            if self.values.contains_key(&(id, maps.clone())) {
                stack.pop();
                continue;
            }
            let inputs = self.inputs_of(id, &maps);
            let missing: Vec<_> =
                inputs.iter().filter(|input| !self.values.contains_key(*input)).cloned().collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let arguments: SmallVec<[Argument; 8]> = inputs.iter().map(|input| self.values[input]).collect();
            let value = self.value(id, &maps, &arguments)?;
            self.values.insert((id, maps), value);
            stack.pop();
        }
        Ok(self.values[&(id, maps)])
    }

    /// The nodes that a node's value depends on, at the indices at which they are read.
    fn inputs_of(&self, id: TypedId, maps: &DimMaps) -> SmallVec<[(TypedId, DimMaps); 4]> {
        let typed = self.lowering.typed;
        if self.lowering.stage_of.contains_key(&id) {
            return SmallVec::new();
        }
        match &typed.nodes[id].kind {
            TypedKind::Call(_, inputs) => {
                let shape = typed.shape(id);
                inputs
                    .iter()
                    .map(|&input| (input, compose(&stretch(typed.shape(input), shape), maps)))
                    .collect()
            }
            TypedKind::Cast(_, input) => SmallVec::from_iter([(*input, maps.clone())]),
            TypedKind::View(view, input) => SmallVec::from_iter([(*input, compose(view, maps))]),
            TypedKind::Fold(_, dims, input) => {
                let shape = typed.shape(*input);
                let count: usize = dims.iter().map(|&dim| shape[dim]).product();
                (0..count)
                    .map(|number| {
                        let (mut maps, mut rest) = (maps.clone(), number);
                        for &dim in dims.iter().rev() {
                            maps[dim] = DimMap::fixed((rest % shape[dim]) as isize);
                            rest /= shape[dim];
                        }
                        (*input, maps)
                    })
                    .collect()
            }
            TypedKind::Variable(_) | TypedKind::Scalar(_) | TypedKind::Index(_) => SmallVec::new(),
        }
    }

    fn value(
        &mut self,
        id: TypedId,
        maps: &DimMaps,
        arguments: &[Argument],
    ) -> Result<Argument, ExprErrorKind> {
        let typed = self.lowering.typed;
        if let Some(&stage) = self.lowering.stage_of.get(&id) {
            let source = StageSource::Stage { number: stage, result: 0 };
            return Ok(self.input(source, maps.clone(), typed.dtype(id), stage_name(stage)));
        }
        match &typed.nodes[id].kind {
            TypedKind::Scalar(number) => Ok(Argument::Scalar(*number)),
            TypedKind::Call(op, _) => self.compiler.call(*op, arguments),
            TypedKind::Cast(dtype, _) => {
                let value = self.compiler.typed_value(arguments[0])?;
                self.compiler.cast(value, *dtype).map(Argument::Typed)
            }
            TypedKind::View(..) => Ok(arguments[0]),
            TypedKind::Variable(variable) => {
                let name = self.lowering.graph.names[*variable].clone();
                Ok(self.input(StageSource::Variable(*variable), maps.clone(), typed.dtype(id), name))
            }
            TypedKind::Fold(fold, ..) => self.unrolled(*fold, arguments),
            TypedKind::Index(strides) => {
                Ok(self.input(StageSource::Index(strides.clone()), maps.clone(), DType::I64, "index".into()))
            }
        }
    }

    /// The operand for an array that is read at these indices.
    fn input(&mut self, source: StageSource, maps: DimMaps, dtype: DType, name: String) -> Argument {
        let input = StageInput { source, maps };
        if let Some(value) = self.input_values.get(&input) {
            return *value;
        }
        let value = self.compiler.add_input(dtype);
        self.inputs.push(input.clone());
        self.names.push(name);
        self.input_values.insert(input, value);
        value
    }

    /// A fold of few values: pairs, pairs of pairs, and so on.
    fn unrolled(&mut self, fold: FoldOp, values: &[Argument]) -> Result<Argument, ExprErrorKind> {
        let op = match fold {
            FoldOp::Sum => Op::Add,
            FoldOp::Product => Op::Multiply,
            // Folds of positions are not unrolled.
            FoldOp::Min | FoldOp::ArgMin => Op::Min,
            FoldOp::Max | FoldOp::ArgMax => Op::Max,
            FoldOp::Any => Op::LogicalOr,
            FoldOp::All => Op::LogicalAnd,
        };
        let mut values: SmallVec<[Argument; 8]> = SmallVec::from_slice(values);
        while values.len() > 1 {
            let mut pairs: SmallVec<[Argument; 8]> = SmallVec::new();
            for pair in values.chunks(2) {
                pairs.push(match *pair {
                    [a, b] => self.compiler.call(op, &[a, b])?,
                    _ => pair[0],
                });
            }
            values = pairs;
        }
        Ok(values[0])
    }
}
