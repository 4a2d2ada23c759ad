//! Which steps of a program are computed together, in registers, by one fused kernel.

use super::program::Program;
use crate::tuning::MAX_FUSED_STEPS;
use smallvec::SmallVec;
use std::sync::Arc;
use unishape_jit::{Call, Chain, ChainInput, ElementWidth, FusedKernel, MAX_BLOCK_INPUTS, MAX_INPUTS};

/// Steps that one kernel computes. Only the value of the last one, the root, is taken by others.
#[derive(Clone, Debug, Default)]
pub(super) struct FusedGroup {
    /// Numbers of its steps, in ascending order once the group is complete.
    pub(super) steps: SmallVec<[u32; 16]>,
    /// Values that it takes, each once.
    pub(super) inputs: SmallVec<[u32; 8]>,
    width: Option<ElementWidth>,
    /// Bytes of an element of its result.
    pub(super) item: usize,
    /// Its code, once there is some.
    pub(super) kernel: Option<Arc<FusedKernel>>,
}

/// How a step's value is taken by the steps after it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Uses {
    /// By none so far.
    None,
    /// By steps of this group only.
    InGroup(u32),
    /// By others too.
    Outside,
}

/// What a schedule knows of a step when groups are formed.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepState {
    /// Whether it is computed for each element of each block.
    pub(super) is_repeated: bool,
    /// Whether it is not computed at all.
    pub(super) is_skipped: bool,
}

/// How kernels take a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueState {
    /// Whether it has an element for each element of a block.
    pub(super) is_block: bool,
    /// Whether a kernel that takes it is called row by row.
    pub(super) has_rows: bool,
}

/// The fused groups of a schedule. Their memory is reused from call to call.
#[derive(Debug, Default)]
pub(super) struct FusedGroups {
    pub(super) groups: Vec<FusedGroup>,
    /// The group of each step, if it is in one.
    pub(super) of_step: Vec<Option<u32>>,
    uses: Vec<Uses>,
}

impl FusedGroups {
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.of_step.clear();
    }

    /// Forms groups of the steps of a program, from the last step on: a step joins the group of the steps that take
    /// its value, if all of them are in one. `value_state` returns how kernels take a value.
    ///
    /// A kernel computes at least `min_steps` steps, or one where that takes rows: fused kernels loop over them.
    pub(super) fn form(
        &mut self,
        program: &Program,
        elements: usize,
        min_steps: usize,
        taken_by_folds: impl Iterator<Item = usize>,
        state: impl Fn(usize) -> StepState,
        value_state: impl Fn(usize) -> ValueState,
    ) {
        let is_block = |value: usize| value_state(value).is_block;
        let has_rows = |value: usize| value_state(value).has_rows;
        self.clear();
        if elements < program.fused.min_elements {
            return;
        }
        program.fused.add_work(elements);
        if min_steps > 1 && !program.has_fusable_neighbours && !(0..program.last_use.len()).any(has_rows) {
            return;
        }
        let first = program.operands.len() + program.constants.len();
        self.of_step.resize(program.steps.len(), None);
        self.uses.clear();
        self.uses.resize(program.steps.len(), Uses::None);
        let as_step = |value: usize| value.checked_sub(first);
        for step in program.results.iter().copied().chain(taken_by_folds).filter_map(as_step) {
            self.uses[step] = Uses::Outside;
        }
        for (number, step) in program.steps.iter().enumerate().rev() {
            let StepState { is_repeated, is_skipped } = state(number);
            if is_skipped {
                continue;
            }
            let value = (first + number) as u32;
            let group = program.fused.fusable[number].filter(|_| is_repeated).map(|fusable| {
                let width = fusable.width();
                let group = match self.uses[number] {
                    Uses::InGroup(group)
                        if self.groups[group as usize].can_take(value, &step.inputs, width, is_block) =>
                    {
                        group
                    }
                    _ => {
                        self.groups.push(FusedGroup::default());
                        self.groups.len() as u32 - 1
                    }
                };
                self.groups[group as usize].take(number as u32, value, &step.inputs, width);
                group
            });
            self.of_step[number] = group;
            for taken in step.inputs.iter().copied().filter_map(as_step) {
                self.uses[taken] = match (self.uses[taken], group) {
                    (Uses::None, Some(group)) => Uses::InGroup(group),
                    (Uses::InGroup(other), Some(group)) if other == group => Uses::InGroup(group),
                    _ => Uses::Outside,
                };
            }
        }
        for number in 0..self.groups.len() {
            let group = &mut self.groups[number];
            group.steps.reverse();
            group.item = group.steps.last().map_or(0, |&root| program.steps[root as usize].item);
            if group.steps.len() >= min_steps || group.inputs.iter().any(|&input| has_rows(input as usize)) {
                group.kernel = group.compiled(program, is_block);
            }
            if group.kernel.is_none() {
                group.steps.iter().for_each(|&step| self.of_step[step as usize] = None);
            }
        }
    }

    /// The group of a step that has a kernel, with its number.
    pub(super) fn of(&self, step: usize) -> Option<(u32, &FusedGroup)> {
        let group = (*self.of_step.get(step)?)?;
        Some((group, &self.groups[group as usize]))
    }
}

impl FusedGroup {
    /// Whether a step is the last one, whose value others take.
    pub(super) fn is_root(&self, step: usize) -> bool {
        self.steps.last() == Some(&(step as u32))
    }

    /// Whether a step can join: its value is computed in the same vectors, and there is space for its inputs.
    fn can_take(
        &self,
        value: u32,
        inputs: &[usize],
        width: Option<ElementWidth>,
        is_block: impl Fn(usize) -> bool,
    ) -> bool {
        let are_same = width.is_none() || self.width.is_none() || width == self.width;
        let new = |input: &&usize| !self.inputs.contains(&(**input as u32));
        let others = self.inputs.iter().filter(|&&input| input != value);
        let blocks = others.filter(|&&input| is_block(input as usize)).count()
            + inputs.iter().filter(new).filter(|&&input| is_block(input)).count();
        are_same
            && self.steps.len() < MAX_FUSED_STEPS
            && blocks <= MAX_BLOCK_INPUTS
            && self.inputs.len() + inputs.len() <= MAX_INPUTS
    }

    /// The kernel of its steps, if there is one yet.
    fn compiled(&self, program: &Program, is_block: impl Fn(usize) -> bool) -> Option<Arc<FusedKernel>> {
        let bits = self.inputs.iter().enumerate();
        let blocks = bits.fold(0, |bits, (bit, &input)| bits | u32::from(is_block(input as usize)) << bit);
        program.fused.kernel(&(self.steps.clone(), blocks), || compile(program, self, is_block))
    }

    /// Adds a step, whose value is computed instead of taken now.
    fn take(&mut self, step: u32, value: u32, inputs: &[usize], width: Option<ElementWidth>) {
        self.width = self.width.or(width);
        self.steps.push(step);
        self.inputs.retain(|input| *input != value);
        for &input in inputs {
            if !self.inputs.contains(&(input as u32)) {
                self.inputs.push(input as u32);
            }
        }
    }
}

/// The compiled kernel of the only step of a program that computes this many elements, and the operands that it takes.
///
/// `None` where there is none, or none yet.
pub(super) fn single_step(
    program: &Program,
    elements: usize,
    is_block: impl Fn(usize) -> bool,
) -> Option<(Arc<FusedKernel>, SmallVec<[u32; 8]>)> {
    if !program.is_fusable || elements < program.fused.min_elements {
        return None;
    }
    program.fused.add_work(elements);
    let ([step], [Some(fusable)]) = (&program.steps[..], &program.fused.fusable[..]) else { return None };
    if !program.fused.is_ready(elements) {
        return None;
    }
    let mut group = FusedGroup::default();
    group.take(0, program.result() as u32, &step.inputs, fusable.width());
    Some((group.compiled(program, is_block)?, group.inputs))
}

fn compile(program: &Program, group: &FusedGroup, is_block: impl Fn(usize) -> bool) -> Option<FusedKernel> {
    let first = program.operands.len() + program.constants.len();
    let input = |&value: &u32| {
        let constant = (value as usize).checked_sub(program.operands.len());
        match constant.and_then(|constant| program.constants.get(constant)) {
            Some(constant) => ChainInput::Constant(*constant),
            None if is_block(value as usize) => ChainInput::Block,
            None => ChainInput::Scalar,
        }
    };
    let chain_inputs: Vec<ChainInput> = group.inputs.iter().map(input).collect();
    let number = |&value: &usize| {
        let own = value
            .checked_sub(first)
            .and_then(|step| group.steps.iter().position(|&own| own as usize == step));
        match own {
            Some(call) => Some(chain_inputs.len() + call),
            None => group.inputs.iter().position(|&input| input as usize == value),
        }
    };
    let inputs: Option<Vec<SmallVec<[usize; 3]>>> = (group.steps.iter())
        .map(|&step| program.steps[step as usize].inputs.iter().map(number).collect())
        .collect();
    let inputs = inputs?;
    let call = |(&step, inputs)| Call { key: program.steps[step as usize].key, inputs };
    let calls: Vec<Call<'_>> =
        group.steps.iter().zip(inputs.iter().map(|inputs| &inputs[..])).map(call).collect();
    FusedKernel::compile(&Chain { inputs: &chain_inputs, calls: &calls })
}
