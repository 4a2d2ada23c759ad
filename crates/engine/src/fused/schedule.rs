//! Schedules: what a program does for each block and what only once, for one layout of its arrays.

use super::block::{BlockLoops, BlockShape, is_contiguous, is_scalar};
use super::fuse::{FusedGroups, StepState, ValueState};
use super::program::{MAX_ARITY, Pair, Program};
use crate::nest::LoopNest;
use crate::tuning::{
    MAX_HOISTED, MAX_REREAD_ROWS, MIN_PAIR_ROW_LEN, MIN_STREAMED_BLOCK, ONE_KERNEL_MIN_ROW_LEN,
    ONE_KERNEL_SCRATCH, REREAD_BLOCK, STREAMED_BLOCK,
};
use smallvec::SmallVec;

/// Location of a value's block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Location {
    /// In the input's own memory.
    Input(u32),
    Constant(u32),
    Scratch(u32),
}

/// How many elements a value has in a block.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum BlockSpan {
    /// One: a broadcast scalar.
    Scalar,
    /// One for each row of the block, contiguous: a column that is stretched along the rows.
    Column,
    /// One for each element of the block.
    Block,
}

/// A value's elements in a block.
///
/// The fields are small, because making a schedule mostly copies them, and every call makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRef {
    pub(super) location: Location,
    /// Bytes of an element.
    pub(super) item: u8,
    pub(super) span: BlockSpan,
    /// Whether each row of a block is contiguous, but rows are not contiguous with each other.
    pub(super) has_row_stride: bool,
}

impl BlockRef {
    /// Whether a kernel can take the elements of a whole block at once.
    pub(super) fn is_whole(self, span: BlockSpan) -> bool {
        span < BlockSpan::Block || self.span != BlockSpan::Column && !self.has_row_stride
    }
}

/// An action, for each block or once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Copies an input's elements to a contiguous scratch block.
    Gather { input: u32, span: BlockSpan, scratch: u32 },
    /// Calls the kernel of a step with as many of `inputs` as it takes, once or for each row. Without a scratch
    /// block the result goes to the output.
    Call { step: u32, inputs: [BlockRef; MAX_ARITY], span: BlockSpan, by_rows: bool, scratch: Option<u32> },
    /// Calls the fused kernel of a group of steps; otherwise as `Call`.
    CallFused { group: u32, by_rows: bool, scratch: Option<u32> },
    /// Writes the result to the output.
    Store { from: BlockRef },
    /// Repeats a value that has fewer elements than the block.
    Expand { from: BlockRef, scratch: u32 },
    /// Folds a result into accumulators.
    FoldOp { from: BlockRef, result: u32 },
    /// Folds a function of two operands into the accumulators of a result.
    FoldPairs { inputs: [BlockRef; 2], result: u32 },
    /// Folds elements into extreme elements and their indices.
    FoldPositions { from: BlockRef, result: u32 },
}

/// The actions of a program for one loop nest.
///
/// Its memory is reused from call to call: for a small array, making a schedule takes longer than running it.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The largest block.
    pub(super) block: BlockShape,
    /// Actions before the first block: values that are invariant.
    pub(super) once: Vec<Action>,
    /// Actions for each block.
    pub(super) each: Vec<Action>,
    /// Bytes of each scratch block.
    pub(super) scratch: Vec<usize>,
    /// Elements of a row, where blocks are processed row by row; else 0.
    pub(super) row_len: usize,
    pub(super) output: OutputLayout,
    /// Whether the output is written with non-temporal stores.
    pub(super) streams: bool,
    /// Contiguous inputs that are read once, where they are prefetched: for the next block while this one is
    /// computed, or, if there are many, for the next step.
    pub(super) prefetched: Vec<u32>,
    /// Whether gathered inputs are prefetched.
    pub(super) prefetches_gathered: bool,
    /// Whether the output is prefetched while its results are computed.
    pub(super) prefetches_output: bool,
    /// Number of kernel calls for each block.
    pub(super) calls: usize,
    /// Whether results are folded by kernels of pairs where the program has these.
    uses_pairs: bool,
    /// Whether one fused kernel computes all steps that have an element for each element of a block.
    is_one_kernel: bool,
    /// Steps that fused kernels compute, and the blocks that each of these kernels takes.
    pub(super) groups: FusedGroups,
    pub(super) group_inputs: Vec<SmallVec<[BlockRef; 8]>>,
    /// State of each value, and unused scratch blocks, while the schedule is made.
    values: Vec<ScheduledValue>,
    free: Vec<u32>,
}

/// The output's elements of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum OutputLayout {
    Contiguous,
    /// Each row is contiguous, but rows are not contiguous with each other.
    Rows,
    #[default]
    Scattered,
    /// The output is accumulators, into which results are folded.
    Folded,
}

/// Where the arrays of a call reside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Residence {
    /// In a core's caches: neither prefetching nor streaming.
    Cache,
    /// In memory: the next block is prefetched.
    Memory,
    /// In memory, and a preallocated output is written with non-temporal stores.
    Stream,
}

/// How a value varies.
#[derive(Clone, Copy, Debug)]
struct Variation {
    span: BlockSpan,
    /// All blocks are equal; the value is computed once.
    is_invariant: bool,
}

/// A value while the schedule is made.
#[derive(Clone, Copy, Debug)]
struct ScheduledValue {
    variation: Variation,
    /// Its block, once it has one.
    block: Option<BlockRef>,
    /// The last step that takes it; `usize::MAX` for results.
    last_use: usize,
}

/// How an index varies within a block.
fn index_span(loops: &BlockLoops, row_len: usize) -> BlockSpan {
    match loops[..] {
        _ if is_scalar(loops) => BlockSpan::Scalar,
        [(len, 0), _] if len == row_len => BlockSpan::Column,
        _ => BlockSpan::Block,
    }
}

/// Folds of rows with a scalar for each into a row of accumulators, where the same rows are read again with other scalars
/// for other accumulators.
#[derive(Clone, Copy)]
pub(super) struct RereadRows {
    pub(super) rows: BlockRef,
    pub(super) scalars: BlockRef,
    pub(super) result: usize,
}

impl Schedule {
    /// Such a fold, where a program does nothing else, for a block or once: scalars that are not contiguous are copied.
    pub(super) fn only_reread_rows(&self, program: &Program, nest: &LoopNest) -> Option<RereadRows> {
        let ([], [Action::FoldPairs { inputs, result }]) = (&self.once[..], &self.each[..]) else {
            return None;
        };
        let found = RereadRows::of(program, nest, *inputs, *result as usize)?;
        let is_reread =
            |input: u32| (0..self.block.level).all(|level| nest.level(level).1[1 + input as usize] == 0);
        matches!(found.rows.location, Location::Input(input) if is_reread(input)).then_some(found)
    }
}

impl RereadRows {
    pub(super) fn of(
        program: &Program,
        nest: &LoopNest,
        [a, b]: [BlockRef; 2],
        result: usize,
    ) -> Option<RereadRows> {
        let (rows, scalars) = match [a.span, b.span] {
            [BlockSpan::Block, BlockSpan::Column] => (a, b),
            [BlockSpan::Column, BlockSpan::Block] => (b, a),
            _ => return None,
        };
        has_reread_rows(program, nest).then_some(RereadRows { rows, scalars, result })
    }
}

/// Whether rows are folded into a row of accumulators by kernels of pairs, and the same rows again in another loop: those
/// of one array with different scalars of another one.
pub(super) fn has_reread_rows(program: &Program, nest: &LoopNest) -> bool {
    let innermost = nest.innermost();
    if !program.is_only_pairs() || innermost < 2 {
        return false;
    }
    let [strides, row_strides] = [innermost, innermost - 1].map(|level| nest.level(level).1);
    let outer = || (0..innermost - 1).map(|level| nest.level(level).1);
    let is_reread = |operand: usize| {
        strides[operand] != 0 && row_strides[operand] != 0 && outer().all(|strides| strides[operand] == 0)
    };
    strides[0] == 1 && row_strides[0] == 0 && (1..strides.len()).any(is_reread)
}

/// The largest block that fits, or a single row where that needs no gathering and saves more than the
/// additional blocks cost.
fn choose_block(program: &Program, nest: &LoopNest) -> BlockShape {
    if has_reread_rows(program, nest) {
        let row = nest.sizes()[nest.innermost()];
        return BlockShape::of_rows(nest, REREAD_BLOCK.min(row.saturating_mul(MAX_REREAD_ROWS)));
    }
    let largest = BlockShape::new(nest, program.block_elements);
    let row = nest.sizes()[nest.depth() - 1];
    if largest.len() <= row || largest.is_whole(nest) {
        return largest;
    }
    let single_row = BlockShape::new(nest, row);
    let is_cheaper = || row as f32 * gather_cost(program, nest, largest) >= program.block_overhead as f32;
    if is_cheaper() && gather_cost(program, nest, single_row) == 0.0 { single_row } else { largest }
}

/// Elements of a row of a block, where it is worth processing row by row: 0 if not.
///
/// Then the rows of inputs and of the output need not be contiguous with each other, and a column need not be repeated
/// along the rows.
fn row_len(program: &Program, nest: &LoopNest, block: BlockShape, min_row_len: usize) -> usize {
    let innermost = nest.depth() - 1;
    let (len, strides) = nest.level(innermost);
    let has_rows = block.level + 1 == innermost && block.iterations > 1;
    // Rows of results are contiguous, or each is folded into one accumulator.
    let has_output = strides[0] == 1 || strides[0] == 0;
    let is_worth = has_rows && len >= min_row_len && has_output && !program.steps.is_empty();
    if is_worth { len } else { 0 }
}

/// Whether accumulators with these loops have rows that kernels of pairs take.
fn has_pair_rows(accumulators: &BlockLoops, row_len: usize) -> bool {
    row_len >= MIN_PAIR_ROW_LEN
        || match accumulators[..] {
            [(len, 0 | 1)] | [(len, 0), (_, 1)] | [(len, 1), (_, 0)] => len >= MIN_PAIR_ROW_LEN,
            _ => false,
        }
}

/// Cost of gathering and scattering for each element of a block, in elements copied one by one.
pub(super) fn gather_cost(program: &Program, nest: &LoopNest, block: BlockShape) -> f32 {
    let row_len = row_len(program, nest, block, program.min_row_len);
    let cost = |operand: usize| {
        let loops = block.loops(nest, operand);
        match loops[..] {
            _ if is_contiguous(&loops) || program.is_position_index(operand) => 0.0,
            [(len, 0), _] if len == row_len => 0.0,
            // A row that is repeated is gathered, so that kernels take whole blocks; those of pairs take rows.
            [(len, 1), (_, stride)] if len == row_len && (stride != 0 || program.is_only_pairs()) => 0.0,
            _ if operand > 0 && (is_scalar(&loops) || block.is_invariant(nest, operand)) => 0.0,
            [(_, 1), ..] => 0.5,
            _ => 1.0,
        }
    };
    // Results that are folded are not scattered.
    (usize::from(program.is_folding())..=program.operands.len()).map(cost).sum()
}

impl Schedule {
    /// Makes the schedule for a nest, which may be a chunk of the work.
    pub(super) fn make(&mut self, program: &Program, nest: &LoopNest, residence: Residence) {
        self.make_with(program, nest, residence, true);
    }

    /// Makes the schedule with a call for each step.
    pub(super) fn make_unfused(&mut self, program: &Program, nest: &LoopNest, residence: Residence) {
        self.make_with(program, nest, residence, false);
    }

    fn make_with(&mut self, program: &Program, nest: &LoopNest, residence: Residence, fuses: bool) {
        // Blocks are as small as they are for the values between steps. One kernel for all steps has none.
        if fuses && residence == Residence::Cache && program.can_be_one_kernel(nest) {
            self.is_one_kernel = true;
            let block = BlockShape::of_rows(nest, program.one_kernel_block);
            self.make_with_block(program, nest, residence, (block, false), true);
            let is_small = self.scratch.iter().sum::<usize>() <= ONE_KERNEL_SCRATCH;
            let calls = self.each.iter().filter(|action| matches!(action, Action::CallFused { .. })).count();
            let is_last = matches!(self.each.last(), Some(Action::CallFused { scratch: None, .. }));
            if is_small && calls == 1 && is_last {
                return;
            }
        }
        self.is_one_kernel = false;
        let item = program.item(program.result());
        // Smaller blocks: prefetched inputs of the next block are in the L1 cache as well.
        let streamed = (residence == Residence::Stream && !program.is_folding())
            .then(|| BlockShape::new(nest, program.block_elements / STREAMED_BLOCK[1] * STREAMED_BLOCK[0]))
            .filter(|block| item * block.len() >= MIN_STREAMED_BLOCK && is_contiguous(&block.loops(nest, 0)));
        let block = match streamed {
            Some(block) => (block.evened_to_cache_lines(nest, item), true),
            None => (choose_block(program, nest).evened(nest), false),
        };
        self.make_with_block(program, nest, residence, block, fuses);
    }

    fn make_with_block(
        &mut self,
        program: &Program,
        nest: &LoopNest,
        residence: Residence,
        (block, streams): (BlockShape, bool),
        fuses: bool,
    ) {
        self.once.clear();
        self.each.clear();
        self.scratch.clear();
        self.values.clear();
        self.prefetched.clear();
        self.free.clear();
        (self.block, self.streams) = (block, streams);
        let most = if self.is_one_kernel { ONE_KERNEL_MIN_ROW_LEN } else { usize::MAX };
        let min_row_len = program.min_row_len.min(most);
        self.row_len = row_len(program, nest, self.block, min_row_len);
        let loops = self.block.loops(nest, 0);
        self.output = match loops[..] {
            _ if program.is_folding() => OutputLayout::Folded,
            _ if is_contiguous(&loops) => OutputLayout::Contiguous,
            [(len, 1), _] if len == self.row_len => OutputLayout::Rows,
            _ => {
                self.row_len = 0;
                OutputLayout::Scattered
            }
        };
        self.prefetches_gathered = residence != Residence::Cache;
        self.classify(program, nest, residence);
        self.groups.clear();
        if fuses {
            self.fuse(program, nest);
        }
        self.count_calls(program, residence != Residence::Cache && !self.block.is_whole(nest));
        self.add_actions(program);
    }

    /// Finds out how each value varies, and which arrays are prefetched.
    fn classify(&mut self, program: &Program, nest: &LoopNest, residence: Residence) {
        // Values of the only block need not be kept.
        let is_whole = self.block.is_whole(nest);
        let prefetches = residence != Residence::Cache && !is_whole;
        for (input, &item) in program.operands.iter().enumerate() {
            let loops = self.block.loops(nest, 1 + input);
            let is_invariant = !is_whole && self.block.is_invariant(nest, 1 + input);
            let location = Location::Input(input as u32);
            let in_place =
                |span: BlockSpan| BlockRef { location, item: item as u8, span, has_row_stride: false };
            let (span, block) = match loops[..] {
                // Indices are not in memory.
                _ if program.is_index[input] => (index_span(&loops, self.row_len), None),
                _ if is_scalar(&loops) => (BlockSpan::Scalar, Some(in_place(BlockSpan::Scalar))),
                _ if is_contiguous(&loops) => (BlockSpan::Block, Some(in_place(BlockSpan::Block))),
                [(len, 0), (_, stride)] if len == self.row_len => {
                    (BlockSpan::Column, (stride == 1).then(|| in_place(BlockSpan::Column)))
                }
                // A row that is repeated is gathered instead, so that kernels take whole blocks; those of pairs, and one
                // for all steps, take rows.
                [(len, 1), (_, stride)]
                    if len == self.row_len
                        && (stride != 0 || self.is_one_kernel || program.is_only_pairs()) =>
                {
                    (BlockSpan::Block, Some(BlockRef { has_row_stride: true, ..in_place(BlockSpan::Block) }))
                }
                _ => (BlockSpan::Block, None),
            };
            if prefetches
                && span == BlockSpan::Block
                && self.block.is_read_once(nest, 1 + input)
                && is_contiguous(&loops)
                && !program.is_index[input]
            {
                self.prefetched.push(input as u32);
            }
            self.push_value(Variation { span, is_invariant }, block, program.last_use[input]);
        }
        for (constant, element) in program.constants.iter().enumerate() {
            let location = Location::Constant(constant as u32);
            let item = element.bytes().len() as u8;
            let block = BlockRef { location, item, span: BlockSpan::Scalar, has_row_stride: false };
            let last_use = program.last_use[program.operands.len() + constant];
            self.push_value(
                Variation { span: BlockSpan::Scalar, is_invariant: !is_whole },
                Some(block),
                last_use,
            );
        }
        self.limit_hoisting();
        for step in &program.steps {
            let mut variation = Variation { span: BlockSpan::Scalar, is_invariant: true };
            for &value in &step.inputs {
                let Variation { span, is_invariant } = self.values[value].variation;
                variation.span = if span > variation.span { span } else { variation.span };
                variation.is_invariant &= is_invariant;
            }
            self.push_value(variation, None, program.last_use[self.values.len()]);
        }
        self.limit_hoisting();
        let is_block = |&value: &usize| self.values[value].variation.span == BlockSpan::Block;
        let is_usable = |pair: &Pair| pair.inputs.iter().any(is_block);
        self.uses_pairs = has_pair_rows(&self.block.accumulator_loops(nest), self.row_len)
            && program.pairs.iter().flatten().all(is_usable)
            && program.pairs.iter().any(Option::is_some);
    }

    /// Finds the steps that fused kernels compute.
    fn fuse(&mut self, program: &Program, nest: &LoopNest) {
        let Schedule { groups, values, uses_pairs, is_one_kernel, group_inputs, .. } = self;
        let first = program.operands.len() + program.constants.len();
        let pairs = program.pairs.iter().flatten().flat_map(|pair| pair.inputs).filter(|_| *uses_pairs);
        let state = |step: usize| {
            let Variation { span, is_invariant } = values[first + step].variation;
            let is_repeated = span == BlockSpan::Block && !is_invariant;
            StepState { is_repeated, is_skipped: *uses_pairs && program.is_replaced[step] }
        };
        let value_state = |value: usize| {
            let ScheduledValue { variation: Variation { span, .. }, block, .. } = values[value];
            let has_row_stride = block.is_some_and(|block| block.has_row_stride);
            let has_rows = span == BlockSpan::Column || has_row_stride;
            ValueState { is_block: span == BlockSpan::Block, has_rows }
        };
        let min_steps = if *is_one_kernel { 1 } else { 2 };
        groups.form(program, nest.len(), min_steps, pairs, state, value_state);
        group_inputs.clear();
        group_inputs.resize_with(groups.groups.len(), SmallVec::new);
        // What a group takes is in use until its last step.
        for group in groups.groups.iter().filter(|group| group.kernel.is_some()) {
            let Some(&root) = group.steps.last() else { continue };
            for &source in &group.inputs {
                let last_use = &mut values[source as usize].last_use;
                *last_use = (*last_use).max(root as usize);
            }
        }
    }

    /// Counts the kernel calls of a block, which prefetch.
    fn count_calls(&mut self, program: &Program, prefetches: bool) {
        let steps = &self.values[program.operands.len() + program.constants.len()..];
        let is_called = |&(number, step): &(usize, &ScheduledValue)| {
            let is_replaced = self.uses_pairs && program.is_replaced[number];
            let is_within = self.groups.of(number).is_some_and(|(_, group)| !group.is_root(number));
            step.variation.span == BlockSpan::Block
                && !step.variation.is_invariant
                && !is_replaced
                && !is_within
        };
        self.calls = steps.iter().enumerate().filter(is_called).count();
        let is_contiguous = self.output == OutputLayout::Contiguous;
        self.prefetches_output = prefetches && self.calls > 0 && is_contiguous && !self.streams;
    }

    fn push_value(&mut self, variation: Variation, block: Option<BlockRef>, last_use: usize) {
        self.values.push(ScheduledValue { variation, block, last_use });
    }

    /// Limits how many invariant values are kept: a long expression of many constants would take a scratch
    /// block for each.
    fn limit_hoisting(&mut self) {
        if self.values.len() <= MAX_HOISTED {
            return;
        }
        let invariant = self.values.iter_mut().filter(|value| value.variation.is_invariant);
        invariant.skip(MAX_HOISTED).for_each(|value| value.variation.is_invariant = false);
    }

    fn add_actions(&mut self, program: &Program) {
        let first = program.operands.len() + program.constants.len();
        for (number, step) in program.steps.iter().enumerate() {
            if self.uses_pairs && program.is_replaced[number] {
                continue;
            }
            let value = first + number;
            let Variation { span, is_invariant } = self.values[value].variation;
            let to_output = value == program.result()
                && span == BlockSpan::Block
                && !is_invariant
                && matches!(self.output, OutputLayout::Contiguous | OutputLayout::Rows)
                && !self.streams;
            if let Some((group, own)) = self.groups.of(number) {
                if own.is_root(number) {
                    self.add_fused(program, group, number, to_output);
                }
                continue;
            }
            let location = Location::Constant(0);
            let unused = BlockRef { location, item: 0, span: BlockSpan::Scalar, has_row_stride: false };
            let mut inputs = [unused; MAX_ARITY];
            for (input, &value) in inputs.iter_mut().zip(&step.inputs) {
                *input = self.block_of(program, value, is_invariant);
            }
            let by_rows = !inputs.iter().all(|input| input.is_whole(span))
                || to_output && self.output == OutputLayout::Rows;
            let scratch = (!to_output).then(|| self.allocate(step.item, span, is_invariant));
            self.push(is_invariant, Action::Call { step: number as u32, inputs, span, by_rows, scratch });
            self.set_scratch(value, step.item, span, scratch);
            if !is_invariant {
                self.free_unused(&step.inputs, number);
            }
        }
        if program.is_folding() {
            (0..program.results.len()).for_each(|result| self.add_fold(program, result));
        } else if self.values[program.result()].block.is_some() || program.result() < first {
            let from = self.block_of(program, program.result(), false);
            self.each.push(Action::Store { from });
        }
    }

    /// Notes the scratch block of a value, if it has one.
    fn set_scratch(&mut self, value: usize, item: usize, span: BlockSpan, scratch: Option<u32>) {
        self.values[value].block = scratch.map(|scratch| BlockRef {
            location: Location::Scratch(scratch),
            item: item as u8,
            span,
            has_row_stride: false,
        });
    }

    /// Calls a fused kernel, whose last step has this number.
    fn add_fused(&mut self, program: &Program, group: u32, root: usize, to_output: bool) {
        let number = group as usize;
        let sources: SmallVec<[usize; 8]> =
            self.groups.groups[number].inputs.iter().map(|&source| source as usize).collect();
        let inputs: SmallVec<[BlockRef; 8]> =
            sources.iter().map(|&value| self.block_of(program, value, false)).collect();
        let by_rows = !inputs.iter().all(|input| input.is_whole(BlockSpan::Block))
            || to_output && self.output == OutputLayout::Rows;
        let value = program.operands.len() + program.constants.len() + root;
        let item = program.item(value);
        let scratch = (!to_output).then(|| self.allocate(item, BlockSpan::Block, false));
        self.group_inputs[number] = inputs;
        self.each.push(Action::CallFused { group, by_rows, scratch });
        self.set_scratch(value, item, BlockSpan::Block, scratch);
        self.free_unused(&sources, root);
    }

    /// Folds a result, which has an element for each element of the block.
    fn add_fold(&mut self, program: &Program, result: usize) {
        if let Some(Some(pair)) = program.pairs.get(result).filter(|_| self.uses_pairs) {
            let inputs = pair.inputs.map(|value| self.block_of(program, value, false));
            return self.each.push(Action::FoldPairs { inputs, result: result as u32 });
        }
        let mut from = self.block_of(program, program.results[result], false);
        if from.span != BlockSpan::Block {
            let scratch = self.allocate(from.item as usize, BlockSpan::Block, false);
            self.each.push(Action::Expand { from, scratch });
            from = BlockRef { location: Location::Scratch(scratch), span: BlockSpan::Block, ..from };
        }
        self.each.push(match program.position(result) {
            Some(_) => Action::FoldPositions { from, result: result as u32 },
            None => Action::FoldOp { from, result: result as u32 },
        });
    }

    fn push(&mut self, is_invariant: bool, action: Action) {
        if is_invariant { self.once.push(action) } else { self.each.push(action) }
    }

    /// The block of a value; an input that is not contiguous is gathered.
    fn block_of(&mut self, program: &Program, value: usize, is_taken_once: bool) -> BlockRef {
        let ScheduledValue { variation: Variation { span, is_invariant }, block, .. } = self.values[value];
        debug_assert!(is_invariant || !is_taken_once, "invariant values depend on invariant ones only");
        let block = block.unwrap_or_else(|| {
            // An input: steps have their blocks before other steps take them.
            let item = program.item(value);
            let scratch = self.allocate(item, span, is_invariant);
            self.push(is_invariant, Action::Gather { input: value as u32, span, scratch });
            BlockRef { location: Location::Scratch(scratch), item: item as u8, span, has_row_stride: false }
        });
        self.values[value].block = Some(block);
        block
    }

    /// An unused scratch block. That of an invariant value is never reused, neither after it nor before it:
    /// it is written before all actions of the first block.
    fn allocate(&mut self, item: usize, span: BlockSpan, is_invariant: bool) -> u32 {
        let (bytes, blocks) = (item * self.block.count(span), &mut self.scratch);
        let number = match self.free.pop() {
            Some(number) if !is_invariant => number,
            free => {
                self.free.extend(free);
                blocks.push(0);
                blocks.len() as u32 - 1
            }
        };
        let capacity = &mut blocks[number as usize];
        *capacity = bytes.max(*capacity);
        number
    }

    /// Frees the scratch blocks of values that no later step takes.
    fn free_unused(&mut self, values: &[usize], step: usize) {
        for (number, &value) in values.iter().enumerate() {
            let is_repeated = values[..number].contains(&value);
            let ScheduledValue { variation, block, last_use } = self.values[value];
            if last_use == step
                && !variation.is_invariant
                && !is_repeated
                && let Some(BlockRef { location: Location::Scratch(scratch), .. }) = block
            {
                self.free.push(scratch);
            }
        }
    }
}

impl BlockShape {
    /// Number of elements that a value has in this block.
    #[inline]
    pub(super) fn count(self, span: BlockSpan) -> usize {
        match span {
            BlockSpan::Scalar => 1,
            BlockSpan::Column => self.iterations,
            BlockSpan::Block => self.len(),
        }
    }
}
