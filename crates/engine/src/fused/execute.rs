//! Executes a schedule: resolves block addresses and calls the kernels.

use super::accumulate::fold_values;
use super::array::{Input, Output};
use super::block::{BlockLoops, BlockShape};
use super::fuse::FusedGroup;
use super::gather::{fill, gather, scatter, write_indices};
use super::program::{MAX_ARITY, Program, Step};
use super::schedule::{Action, BlockRef, BlockSpan, Location, OutputLayout, RereadRows, Schedule};
use crate::memory::prefetch::prefetch_strided;
use crate::memory::stream::{Fence, copy_streaming};
use crate::nest::LoopNest;
use crate::tuning::{
    COMPUTE_BOUND_STEPS, MAX_PREFETCHED_INPUTS, NEAR_PREFETCH_DISTANCE, PREFETCH_CHUNK, STAGING_BYTES,
};
use smallvec::SmallVec;
use std::cell::RefCell;
use unishape_jit::MAX_INPUTS;
use unishape_kernels::KernelContext;
use unishape_simd::CACHE_LINE;

/// The arrays of a call.
#[derive(Clone, Copy)]
pub(super) struct Arrays<'m> {
    pub(super) inputs: &'m [Input<'m>],
    /// One array for each result, with equal strides.
    pub(super) outputs: &'m [Output<'m>],
}

impl Arrays<'_> {
    /// Address of the element `offset` elements from an input's element at index 0. It need not exist.
    pub(super) fn input(&self, input: usize, offset: isize) -> *const u8 {
        let Input { first, item, .. } = &self.inputs[input];
        first.wrapping_offset(offset * *item as isize)
    }

    /// The array of the only result.
    fn only_output(&self) -> &Output<'_> {
        &self.outputs[0]
    }

    /// Address of the element `offset` elements from the only output's element at index 0.
    fn output(&self, offset: isize) -> *mut u8 {
        self.only_output().address(offset)
    }
}

thread_local! {
    /// Schedule and scratch memory of this thread, reused from chunk to chunk.
    pub(super) static SCRATCH: RefCell<(Schedule, Scratch)> = RefCell::default();
}

/// Scratch blocks.
#[derive(Default)]
pub(super) struct Scratch {
    blocks: Vec<Vec<Page>>,
    /// Address of each block, for the current schedule; kept for its memory.
    addresses: Vec<*mut u8>,
}

/// Blocks begin at pages, to avoid 4K aliasing: a load waits for a recent store at the same offset of another
/// page. With equally aligned blocks, no such load closely follows the store.
#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

const PAGE: usize = 4096;

// Safety: any bytes are a page, and it has no padding.
unsafe impl bytemuck::Zeroable for Page {}
// Safety: as above.
unsafe impl bytemuck::Pod for Page {}

impl Scratch {
    /// Grows the blocks to these sizes in bytes, and returns their addresses.
    fn resize(&mut self, sizes: &[usize]) -> &[*mut u8] {
        if self.blocks.len() < sizes.len() {
            self.blocks.resize_with(sizes.len(), Vec::new);
        }
        self.addresses.clear();
        for (block, bytes) in self.blocks.iter_mut().zip(sizes) {
            let pages = bytes.div_ceil(PAGE);
            if block.len() < pages {
                block.resize(pages, Page([0; PAGE]));
            }
            self.addresses.push(block.as_mut_ptr().cast());
        }
        &self.addresses
    }
}

impl Schedule {
    /// Runs the program for a loop nest.
    ///
    /// # Safety
    ///
    /// The schedule was made for this program and nest. The nest stays within the arrays, whose elements
    /// have the program's sizes, and meanwhile no other thread accesses the elements of the output that it
    /// visits.
    pub(super) unsafe fn run(
        &self,
        program: &Program,
        nest: &LoopNest,
        arrays: Arrays<'_>,
        scratch: &mut Scratch,
    ) {
        let scratch = scratch.resize(&self.scratch);
        if let Some(reread) = self.only_reread_rows(program, nest) {
            // Safety: the caller guarantees it.
            return unsafe { self.run_reread(reread, program, nest, arrays, scratch) };
        }
        let _fence = self.streams.then(|| Fence);
        let shape = self.block;
        let (size, strides) = nest.level(shape.level);
        let mut is_first = true;
        let mut context =
            KernelContext { wide: self.calls >= COMPUTE_BOUND_STEPS, ..KernelContext::default() };
        let has_many_inputs = self.prefetched.len() > MAX_PREFETCHED_INPUTS;
        nest.for_each_offset(shape.level, Offsets::from_slice(nest.starts()), |starts| {
            self.prefetch_gathered(program, nest, arrays, starts);
            let mut offsets = starts.clone();
            let mut iterations = self.first_iterations(program, size, arrays, starts);
            let mut done = 0;
            while done < size {
                let mut block =
                    Block { schedule: self, program, nest, arrays, scratch, offsets: &offsets, shape };
                // Safety: the block lies within the nest.
                unsafe {
                    if std::mem::take(&mut is_first) {
                        let context = &mut KernelContext::default();
                        self.once.iter().for_each(|action| block.execute(action, context));
                    }
                    block.shape.iterations = iterations.min(size - done);
                    block.queue_next_block(&mut context);
                    for (number, action) in self.each.iter().enumerate() {
                        if has_many_inputs {
                            block.queue_next_action(number, &mut context);
                        }
                        block.execute(action, &mut context);
                    }
                }
                for (offset, stride) in offsets.iter_mut().zip(strides) {
                    *offset += iterations as isize * stride;
                }
                done += iterations;
                iterations = shape.iterations;
            }
        });
    }

    /// Folds rows that are read again with the scalars of two iterations of the outer loops at a time.
    ///
    /// # Safety
    ///
    /// As for [`run`](Schedule::run).
    unsafe fn run_reread(
        &self,
        reread: RereadRows,
        program: &Program,
        nest: &LoopNest,
        arrays: Arrays<'_>,
        scratch: &[*mut u8],
    ) {
        let (size, strides) = nest.level(self.block.level);
        let fold = |starts: &[&Offsets]| {
            let mut offsets: SmallVec<[Offsets; 2]> = starts.iter().map(|&starts| starts.clone()).collect();
            let mut done = 0;
            while done < size {
                let mut shape = self.block;
                shape.iterations = shape.iterations.min(size - done);
                let block =
                    |offsets| Block { schedule: self, program, nest, arrays, scratch, offsets, shape };
                let blocks: SmallVec<[Block<'_>; 2]> = offsets.iter().map(block).collect();
                // Safety: the blocks lie within the nest. Where they are two, their accumulators are of different
                // iterations of kept loops.
                program.fold_flags(reread.result, || unsafe { Block::fold_reread(reread, &blocks) });
                drop(blocks);
                for (offset, stride) in offsets.iter_mut().flat_map(|offsets| offsets.iter_mut().zip(strides))
                {
                    *offset += shape.iterations as isize * stride;
                }
                done += shape.iterations;
            }
        };
        let mut waiting: Option<Offsets> = None;
        nest.for_each_offset(self.block.level, Offsets::from_slice(nest.starts()), |starts| {
            match waiting.take() {
                Some(first) if first[0] != starts[0] => return fold(&[&first, starts]),
                // An outer loop is reduced.
                Some(first) => fold(&[&first]),
                None => {}
            }
            waiting = Some(starts.clone());
        });
        if let Some(last) = &waiting {
            fold(&[last]);
        }
    }

    /// Prefetches inputs that are gathered line by line, for all blocks of the divided loop.
    fn prefetch_gathered(&self, program: &Program, nest: &LoopNest, arrays: Arrays<'_>, starts: &Offsets) {
        let level = self.block.level;
        if !self.prefetches_gathered || level + 2 != nest.depth() {
            return;
        }
        for action in &self.each {
            if let Action::Gather { input, .. } = action
                && !program.is_index[*input as usize]
            {
                let input = *input as usize;
                let [outer, inner] = [level, level + 1]
                    .map(|level| nest.level(level))
                    .map(|(size, strides)| (size, strides[1 + input]));
                let item = program.operands[input];
                prefetch_strided(arrays.input(input, starts[1 + input]), item, outer, inner);
            }
        }
    }

    /// Iterations of the first block: less than of the others where these then begin at cache lines.
    fn first_iterations(
        &self,
        program: &Program,
        size: usize,
        arrays: Arrays<'_>,
        starts: &Offsets,
    ) -> usize {
        if !self.streams || self.block.iterations >= size {
            return self.block.iterations;
        }
        self.block.first_iterations(arrays.output(starts[0]), program.item(program.result()))
    }
}

/// Clears the bits that are invalid in a boolean. Kernels write 0 or 1; this does not rely on it.
pub(super) fn mask_bits(output: &mut [u8], mask: u8) {
    if mask != u8::MAX {
        output.iter_mut().for_each(|byte| *byte &= mask);
    }
}

/// Offset of each operand from its element at index 0, in elements; the output comes first.
pub(super) type Offsets = SmallVec<[isize; 8]>;

/// One block of the nest.
pub(super) struct Block<'r> {
    pub(super) schedule: &'r Schedule,
    pub(super) program: &'r Program,
    pub(super) nest: &'r LoopNest,
    pub(super) arrays: Arrays<'r>,
    /// Addresses of the scratch blocks, each of the size that the schedule has for it. Not aliased.
    scratch: &'r [*mut u8],
    /// Offsets of this block's first elements.
    pub(super) offsets: &'r Offsets,
    pub(super) shape: BlockShape,
}

impl Block<'_> {
    /// # Safety
    ///
    /// As for [`Schedule::run`]; the block lies within the nest.
    unsafe fn execute(&self, action: &Action, context: &mut KernelContext) {
        match action {
            Action::Gather { input, span, scratch } => {
                // Safety: the block's elements of the input exist, and fit the scratch block.
                unsafe {
                    let item = self.program.operands[*input as usize];
                    self.gather(*input, *span, self.scratch(*scratch, item * self.shape.count(*span)));
                }
            }
            Action::Call { step, inputs, span, by_rows: false, scratch } => {
                let Step { kernel, item, inputs: arguments, .. } = &self.program.steps[*step as usize];
                let check = self.program.checks[*step as usize];
                let mut sources: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                let sources = &mut sources[..arguments.len()];
                for (source, &input) in sources.iter_mut().zip(inputs) {
                    // Safety: inputs exist, and scratch blocks hold what earlier actions wrote.
                    *source = unsafe { self.read(input) };
                }
                // Safety: no step reads the scratch block that it writes, and each has space for a block.
                // Without one the output is contiguous, and no other thread accesses it.
                unsafe {
                    if let &Some(scratch) = scratch {
                        let output = self.scratch(scratch, self.shape.count(*span) * item);
                        check.call(*kernel, sources, output, context);
                    } else {
                        let output = self.output();
                        check.call(*kernel, sources, output, context);
                        self.mask(output);
                    }
                }
            }
            // Only results of a whole block are computed row by row.
            Action::Call { step, inputs, by_rows: true, scratch, .. } => {
                let Step { kernel, item, inputs: arguments, .. } = &self.program.steps[*step as usize];
                let check = self.program.checks[*step as usize];
                let mut sources: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                let sources = &mut sources[..arguments.len()];
                for row in 0..self.shape.iterations {
                    // Safety: as above; rows are parts of the block.
                    unsafe {
                        for (source, &input) in sources.iter_mut().zip(inputs) {
                            *source = self.read_row(input, row);
                        }
                        if let &Some(scratch) = scratch {
                            let bytes = self.schedule.row_len * item;
                            let block = self.scratch(scratch, self.shape.len() * item);
                            check.call(*kernel, sources, &mut block[row * bytes..][..bytes], context);
                        } else {
                            let output = self.output_row(row);
                            check.call(*kernel, sources, output, context);
                            self.mask(output);
                        }
                    }
                }
            }
            Action::CallFused { group, by_rows, scratch } => {
                // Safety: as above.
                unsafe { self.call_fused(*group as usize, *by_rows, *scratch, context) }
            }
            Action::Expand { from, scratch } => {
                // Safety: as above; the scratch block has space for a block.
                unsafe {
                    let item = from.item as usize;
                    let block = self.scratch(*scratch, self.shape.len() * item);
                    match from.span {
                        BlockSpan::Column => block
                            .chunks_exact_mut(self.schedule.row_len * item)
                            .enumerate()
                            .for_each(|(row, to)| fill(self.read_row(*from, row), to)),
                        _ => fill(self.read(*from), block),
                    }
                }
            }
            Action::FoldOp { from, result } => self.program.fold_flags(*result as usize, || {
                // Safety: inputs exist, and no other thread accesses the accumulators.
                unsafe { self.fold(*from, *result as usize) }
            }),
            Action::FoldPairs { inputs, result } => self.program.fold_flags(*result as usize, || {
                // Safety: as above.
                unsafe { self.fold_pairs(*inputs, *result as usize) }
            }),
            Action::FoldPositions { from, result } => self.program.fold_flags(*result as usize, || {
                // Safety: as above.
                unsafe { self.fold_positions(*from, *result as usize) }
            }),
            Action::Store { from } => {
                // Safety: inputs exist, and no other thread accesses the output.
                unsafe {
                    if self.schedule.output == OutputLayout::Scattered {
                        return self.scatter(self.read(*from), from.item as usize);
                    }
                    if !from.is_whole(BlockSpan::Block) || self.schedule.output == OutputLayout::Rows {
                        return (0..self.shape.iterations)
                            .for_each(|row| self.store(self.read_row(*from, row), self.output_row(row)));
                    }
                    if self.schedule.streams && from.span == BlockSpan::Block {
                        return self.stream(self.read(*from), context);
                    }
                    self.store(self.read(*from), self.output());
                }
            }
        }
    }

    /// Calls the fused kernel of a group, once or for each row. Without a scratch block the result goes to the output:
    /// its booleans are 0 or 1, so they need no mask.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`]; scratch blocks hold what earlier actions wrote.
    unsafe fn call_fused(
        &self,
        group: usize,
        by_rows: bool,
        scratch: Option<u32>,
        context: &mut KernelContext,
    ) {
        let inputs = &self.schedule.group_inputs[group];
        let FusedGroup { kernel: Some(kernel), item, .. } = &self.schedule.groups.groups[group] else {
            return;
        };
        let item = *item;
        if by_rows && context.prefetch.is_empty() {
            let len = self.schedule.row_len;
            // Safety: inputs exist, scratch blocks hold what earlier actions wrote and have space for a block. No
            // kernel reads the scratch block that it writes. Without one the rows of the output are contiguous, and no
            // other thread accesses it.
            unsafe {
                let output = match scratch {
                    Some(scratch) => {
                        (self.scratch(scratch, self.shape.len() * item).as_mut_ptr(), (len * item) as isize)
                    }
                    None => (self.arrays.output(self.offsets[0]), self.row_stride(0) * item as isize),
                };
                let sources = inputs.iter().map(|&input| self.rows_of(input));
                kernel.run_rows(sources, output, [self.shape.iterations, len]);
            }
            return;
        }
        let (rows, len) =
            if by_rows { (self.shape.iterations, self.schedule.row_len) } else { (1, self.shape.len()) };
        let mut sources: [&[u8]; MAX_INPUTS] = [&[]; MAX_INPUTS];
        let sources = &mut sources[..inputs.len()];
        for row in 0..rows {
            for (source, &input) in sources.iter_mut().zip(inputs) {
                // Safety: as above.
                *source = unsafe { if by_rows { self.read_row(input, row) } else { self.read(input) } };
            }
            // Safety: as above; without rows, the whole block of the output is contiguous.
            let output = unsafe {
                match scratch {
                    Some(scratch) => {
                        &mut self.scratch(scratch, self.shape.len() * item)[row * len * item..][..len * item]
                    }
                    None if by_rows => self.output_row(row),
                    None => self.output(),
                }
            };
            let mut block = kernel.block(sources, output);
            context.prefetch.for_each_chunk(len, len, |first, end| block.run(first, end));
        }
    }

    /// Address of a value in the first row, and the distance to its next row in bytes.
    ///
    /// # Safety
    ///
    /// As for [`read`](Block::read).
    unsafe fn rows_of(&self, value: BlockRef) -> (*const u8, isize) {
        let item = value.item as isize;
        if let (true, Location::Input(input)) = (value.has_row_stride, value.location) {
            return (self.input(input, 0), self.row_stride(1 + input as usize) * item);
        }
        let stride = match value.span {
            BlockSpan::Scalar => 0,
            BlockSpan::Column => item,
            BlockSpan::Block => item * self.schedule.row_len as isize,
        };
        // Safety: the caller guarantees it.
        (unsafe { self.read(value) }.as_ptr(), stride)
    }

    /// Writes elements, or copies of one, to contiguous elements of the output.
    fn store(&self, from: &[u8], output: &mut [u8]) {
        if from.len() == output.len() {
            output.copy_from_slice(from);
        } else {
            fill(from, output);
        }
        self.mask(output);
    }

    /// Folds a value of this block into the accumulators of a result.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`].
    unsafe fn fold(&self, from: BlockRef, result: usize) {
        let kernel = &self.program.folds[result];
        let (item, first) = (from.item as usize, self.arrays.outputs[result].address(self.offsets[0]));
        // Safety: inputs exist, scratch blocks hold what earlier actions wrote, and the nest stays within the
        // accumulators.
        unsafe {
            if !from.has_row_stride {
                let loops = self.shape.accumulator_loops(self.nest);
                return fold_values(kernel, item, self.read(from), first, &loops);
            }
            let row_loop = [(self.schedule.row_len, self.nest.level(self.nest.innermost()).1[0])];
            for row in 0..self.shape.iterations {
                let first = first.wrapping_offset(row as isize * self.row_stride(0) * item as isize);
                fold_values(kernel, item, self.read_row(from, row), first, &row_loop);
            }
        }
    }

    /// Address of an input `offset` elements from its first element of this block.
    fn input(&self, input: u32, offset: isize) -> *const u8 {
        self.arrays.input(input as usize, self.offsets[1 + input as usize] + offset)
    }

    /// The bytes of a value.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`]; meanwhile nothing writes to the value's scratch block.
    #[inline(always)]
    pub(super) unsafe fn read(&self, value: BlockRef) -> &[u8] {
        let bytes = value.item as usize * self.shape.count(value.span);
        let first = match value.location {
            Location::Scratch(scratch) => {
                debug_assert!(bytes <= self.schedule.scratch[scratch as usize]);
                self.scratch[scratch as usize]
            }
            Location::Constant(constant) => return self.program.constants[constant as usize].bytes(),
            Location::Input(input) => self.input(input, 0),
        };
        // Safety: these are elements of the input or of the scratch block: one, or those of the block, which
        // are contiguous. A scratch block has space for the largest block; this one is not larger.
        unsafe { std::slice::from_raw_parts(first, bytes) }
    }

    /// The bytes of a value in one row: all elements of the row, or one.
    ///
    /// # Safety
    ///
    /// As for [`read`](Block::read); the block has this row.
    #[inline(always)]
    pub(super) unsafe fn read_row(&self, value: BlockRef, row: usize) -> &[u8] {
        let item = value.item as usize;
        if let (true, Location::Input(input)) = (value.has_row_stride, value.location) {
            let stride = self.row_stride(1 + input as usize);
            let first = self.input(input, row as isize * stride);
            // Safety: these are elements of the input, contiguous in this row.
            return unsafe { std::slice::from_raw_parts(first, item * self.schedule.row_len) };
        }
        // Safety: the caller guarantees the rest.
        let block = unsafe { self.read(value) };
        match value.span {
            BlockSpan::Scalar => block,
            BlockSpan::Column => &block[row * item..][..item],
            BlockSpan::Block => &block[row * item * self.schedule.row_len..][..item * self.schedule.row_len],
        }
    }

    /// Distance between an operand's rows, in elements.
    #[inline(always)]
    pub(super) fn row_stride(&self, operand: usize) -> isize {
        self.nest.level(self.shape.level).1[operand]
    }

    /// The output's bytes of one row.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`]; rows of the output are contiguous, and the block has this row.
    #[allow(clippy::mut_from_ref)]
    unsafe fn output_row(&self, row: usize) -> &mut [u8] {
        let first = self.arrays.output(self.offsets[0] + row as isize * self.row_stride(0));
        // Safety: these are contiguous elements of the output, which no other thread accesses.
        unsafe { self.arrays.only_output().bytes(first, self.schedule.row_len) }
    }

    /// The first bytes of a scratch block, to write to.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`]. They are no more than a block of its elements, and nothing reads them
    /// meanwhile.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn scratch(&self, scratch: u32, bytes: usize) -> &mut [u8] {
        debug_assert!(bytes <= self.schedule.scratch[scratch as usize]);
        // Safety: it has space for the largest block; this one is not larger. The caller guarantees the rest.
        unsafe { std::slice::from_raw_parts_mut(self.scratch[scratch as usize], bytes) }
    }

    fn mask(&self, output: &mut [u8]) {
        mask_bits(output, self.arrays.only_output().mask);
    }

    /// The output's bytes of this block.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`], and the output is contiguous within the block.
    #[allow(clippy::mut_from_ref)]
    unsafe fn output(&self) -> &mut [u8] {
        // Safety: these are contiguous elements of the output, which no other thread accesses.
        unsafe { self.arrays.only_output().bytes(self.arrays.output(self.offsets[0]), self.shape.len()) }
    }

    /// Streams the output's bytes of this block, and prefetches meanwhile.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`]; the output is contiguous within the block, and the CPU has streaming stores.
    unsafe fn stream(&self, from: &[u8], context: &mut KernelContext) {
        let mask = self.arrays.only_output().mask;
        // Safety: the caller guarantees the output.
        let mut output = unsafe { self.output() };
        let mut from = from;
        while !output.is_empty() {
            let (part, target);
            let bytes = (STAGING_BYTES - output.as_ptr().addr() % CACHE_LINE).min(output.len());
            (target, output) = output.split_at_mut(bytes);
            (part, from) = from.split_at(bytes);
            context.prefetch.issue();
            // Safety: both have `bytes` bytes, and the CPU has the instructions.
            let mut write =
                |part: &[u8]| unsafe { copy_streaming(part.as_ptr(), target.as_mut_ptr(), bytes) };
            if mask == u8::MAX {
                write(part);
            } else {
                let mut masked = [0; STAGING_BYTES];
                part.iter().zip(&mut masked).for_each(|(from, to)| *to = from & mask);
                write(&masked[..bytes]);
            }
        }
    }

    /// Queues the next block's inputs and this block's output for prefetching while its kernels run.
    fn queue_next_block(&self, context: &mut KernelContext) {
        let (schedule, queue) = (self.schedule, &mut context.prefetch);
        let chunk = PREFETCH_CHUNK * schedule.calls;
        queue.restart(chunk);
        if schedule.prefetched.len() > MAX_PREFETCHED_INPUTS {
            return;
        }
        let (len, item) = (self.shape.len(), self.program.item(self.program.result()));
        let chunks = schedule.calls * len.div_ceil(chunk.max(1)) + self.streamed_parts();
        // A single kernel reads and writes as it goes: it prefetches what is near.
        let is_single = schedule.calls == 1 && !schedule.streams;
        // Of what is prefetched, from the first element of this block.
        let offset = |operand: usize, item: usize| match self.block_stride(operand) {
            next if is_single && next == len as isize => (NEAR_PREFETCH_DISTANCE / item) as isize,
            _ if operand == 0 && !is_single => 0,
            next => next,
        };
        if schedule.prefetches_output {
            queue.push(self.arrays.output(self.offsets[0] + offset(0, item)), len * item, chunks);
        }
        for &input in &schedule.prefetched {
            let item = self.program.operands[input as usize];
            queue.push(self.input(input, offset(1 + input as usize, item)), len * item, chunks);
        }
    }

    /// With too many inputs for that, queues those of the next action while this one runs.
    fn queue_next_action(&self, action: usize, context: &mut KernelContext) {
        let each = &self.schedule.each;
        context.prefetch.restart(PREFETCH_CHUNK);
        let chunks = if let Action::Store { .. } = each[action] {
            self.streamed_parts()
        } else {
            self.shape.len().div_ceil(PREFETCH_CHUNK)
        };
        let (next, is_next_block) = each.get(action + 1).map_or((&each[0], true), |next| (next, false));
        let inputs: &[BlockRef] = match next {
            Action::Call { inputs, .. } => inputs,
            Action::CallFused { group, .. } => &self.schedule.group_inputs[*group as usize],
            _ => return,
        };
        for value in inputs.iter().filter(|value| value.span == BlockSpan::Block && !value.has_row_stride) {
            if let Location::Input(input) = value.location {
                let offset = if is_next_block { self.block_stride(1 + input as usize) } else { 0 };
                let bytes = self.shape.len() * value.item as usize;
                context.prefetch.push(self.input(input, offset), bytes, chunks);
            }
        }
    }

    /// Number of parts in which the output is streamed.
    fn streamed_parts(&self) -> usize {
        let bytes = self.shape.len() * self.program.item(self.program.result());
        if self.schedule.streams { bytes.div_ceil(STAGING_BYTES) } else { 0 }
    }

    /// Distance to an operand's next block, in elements.
    fn block_stride(&self, operand: usize) -> isize {
        let (size, strides) = self.nest.level(self.shape.level);
        match self.shape.level.checked_sub(1) {
            // A block that has all iterations of its loop: the next one is that of the next outer iteration.
            Some(outer) if self.schedule.block.iterations >= size => self.nest.level(outer).1[operand],
            _ => self.shape.iterations as isize * strides[operand],
        }
    }

    /// Copies an input's elements of this block to contiguous memory.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`].
    unsafe fn gather(&self, input: u32, span: BlockSpan, to: &mut [u8]) {
        let item = self.program.operands[input as usize];
        let (mut loops, len) = (self.shape.loops(self.nest, 1 + input as usize), self.shape.count(span));
        if span == BlockSpan::Column {
            loops = BlockLoops::from_slice(&[(len, self.row_stride(1 + input as usize))]);
        }
        fn elements<const N: usize>(to: &mut [u8], len: usize) -> &mut [[u8; N]] {
            &mut to.as_chunks_mut().0[..len]
        }
        if self.program.is_index[input as usize] {
            let start = self.arrays.inputs[input as usize].first.addr() as isize;
            let first = start.wrapping_add(self.offsets[1 + input as usize]);
            return write_indices(first, &loops, to.as_chunks_mut().0);
        }
        let from = self.input(input, 0);
        // Safety: the block's elements of the input exist, and may be seen as bytes.
        unsafe {
            match item {
                1 => gather::<1>(from.cast(), &loops, elements(to, len)),
                2 => gather::<2>(from.cast(), &loops, elements(to, len)),
                4 => gather::<4>(from.cast(), &loops, elements(to, len)),
                8 => gather::<8>(from.cast(), &loops, elements(to, len)),
                _ => gather::<16>(from.cast(), &loops, elements(to, len)),
            }
        }
    }

    /// Writes a contiguous block, or copies of one element, to the strided output.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`].
    unsafe fn scatter(&self, from: &[u8], item: usize) {
        let (loops, mask) = (self.shape.loops(self.nest, 0), self.arrays.only_output().mask);
        let to = self.arrays.output(self.offsets[0]);
        // Safety: the block's elements of the output exist, and may be seen as bytes.
        unsafe {
            match item {
                1 => scatter::<1>(from.as_chunks().0, mask, to.cast(), &loops),
                2 => scatter::<2>(from.as_chunks().0, mask, to.cast(), &loops),
                4 => scatter::<4>(from.as_chunks().0, mask, to.cast(), &loops),
                8 => scatter::<8>(from.as_chunks().0, mask, to.cast(), &loops),
                _ => scatter::<16>(from.as_chunks().0, mask, to.cast(), &loops),
            }
        }
    }
}
