//! The actions of a routine, done: the one place that knows where blocks are in memory.

use super::Input;
use super::elements::{fill, gather, scatter};
use super::extent::Extent;
use super::program::{Program, Step};
use super::routine::{Action, MOST_ARGUMENTS, Place, Routine, Source};
use crate::loops::fetch::fetch_lines;
use crate::loops::past;
use crate::loops::plan::Plan;
use crate::loops::walk::{Base, Write};
use smallvec::SmallVec;
use std::cell::RefCell;
use unishape_kernels::KernelContext;

/// Where a program reads and writes.
pub(super) struct Memory<'m> {
    pub(super) inputs: &'m [Input<'m>],
    /// The output's element of index 0.
    pub(super) out: Base<Write<u8>>,
    /// The bits that may be set in each byte of the output.
    pub(super) mask: u8,
}

impl Memory<'_> {
    /// Where an input has the element that is so many from its first one, if there is one.
    fn place(&self, input: usize, offset: isize) -> *const u8 {
        let Input { first, item, .. } = &self.inputs[input];
        first.0.wrapping_offset(offset * *item as isize)
    }
}

thread_local! {
    /// What a piece of work leaves for the next one to use again.
    pub(super) static DESK: RefCell<(Routine, Registers)> = RefCell::default();
}

/// Blocks of bytes.
#[derive(Default)]
pub(super) struct Registers {
    blocks: Vec<Vec<Page>>,
    /// Where each of them is, found anew for each routine; kept for its memory.
    places: Vec<*mut u8>,
}

/// Blocks begin at pages. A load that differs from a store shortly before it by a multiple of a page waits for
/// the store, as if it were the same place; from blocks that all begin alike, such loads are never near.
#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

const PAGE: usize = 4096;

// Safety: it is bytes, any bytes, without padding.
unsafe impl bytemuck::Zeroable for Page {}
// Safety: as above.
unsafe impl bytemuck::Pod for Page {}

impl Registers {
    /// Makes room for as many registers of these sizes, and tells where each of them is.
    fn fit(&mut self, bytes: &[usize]) -> &[*mut u8] {
        if self.blocks.len() < bytes.len() {
            self.blocks.resize_with(bytes.len(), Vec::new);
        }
        self.places.clear();
        for (block, bytes) in self.blocks.iter_mut().zip(bytes) {
            let pages = bytes.div_ceil(PAGE);
            if block.len() < pages {
                block.resize(pages, Page([0; PAGE]));
            }
            self.places.push(block.as_mut_ptr().cast());
        }
        &self.places
    }
}

impl Routine {
    /// # Safety
    ///
    /// The plan stays within the arrays of `memory`, whose elements have the program's sizes; nobody else has
    /// to do with the places of the output that it walks, and it walks none of them twice.
    pub(super) unsafe fn run(
        &self,
        program: &Program,
        plan: &Plan,
        memory: &Memory<'_>,
        registers: &mut Registers,
    ) {
        let registers = registers.fit(&self.registers);
        let block = self.block;
        let (size, steps) = plan.loop_at(block.cut);
        let mut first = true;
        let mut ahead = KernelContext { wide: self.calls >= MANY_STEPS, ..KernelContext::default() };
        let has_many_inputs = self.ahead.len() > MANY_INPUTS;
        plan.turns(block.cut, Offsets::from_slice(plan.starts()), |starts| {
            self.fetch_lines(program, plan, memory, starts);
            let mut offsets = starts.clone();
            let mut turns = self.first_turns(program, size, memory, starts);
            let mut done = 0;
            while done < size {
                let mut at =
                    At { routine: self, program, plan, memory, registers, offsets: &offsets, extent: block };
                // Safety: the block is within the loops.
                unsafe {
                    if std::mem::take(&mut first) {
                        self.once.iter().for_each(|action| at.act(action, &mut KernelContext::default()));
                    }
                    at.extent.turns = turns.min(size - done);
                    at.look_ahead(&mut ahead);
                    for (number, action) in self.each.iter().enumerate() {
                        if has_many_inputs {
                            at.look_further(number, &mut ahead);
                        }
                        at.act(action, &mut ahead);
                    }
                }
                for (offset, step) in offsets.iter_mut().zip(steps) {
                    *offset += turns as isize * step;
                }
                done += turns;
                turns = block.turns;
            }
        });
        if self.past {
            past::done();
        }
    }

    /// Has those inputs fetched that are gathered line by line, for all blocks from here on in the loop that is cut.
    fn fetch_lines(&self, program: &Program, plan: &Plan, memory: &Memory<'_>, starts: &Offsets) {
        let cut = self.block.cut;
        if cut + 2 != plan.loops() {
            return;
        }
        for action in &self.each {
            if let Action::Gather { input, .. } = action {
                let input = *input as usize;
                let [outer, inner] =
                    [cut, cut + 1].map(|of| plan.loop_at(of)).map(|(size, steps)| (size, steps[1 + input]));
                let item = program.operands[input];
                fetch_lines(memory.place(input, starts[1 + input]), item, outer, inner);
            }
        }
    }

    /// How many turns of the loop the first block has. The rest of them goes to blocks of as many as there can be.
    fn first_turns(&self, program: &Program, size: usize, memory: &Memory<'_>, starts: &Offsets) -> usize {
        if !self.past || self.block.turns >= size {
            return self.block.turns;
        }
        let item = program.item(program.result);
        self.block.first_turns(memory.out.0.wrapping_offset(starts[0] * item as isize), item)
    }
}

/// Makes sure that bytes are elements, whatever a kernel gave.
pub(super) fn mask_bits(output: &mut [u8], mask: u8) {
    if mask != u8::MAX {
        output.iter_mut().for_each(|byte| *byte &= mask);
    }
}

/// How far something is from each operand's element of index 0, in elements; the output comes first.
type Offsets = SmallVec<[isize; 8]>;

/// One block of the loops.
struct At<'r> {
    routine: &'r Routine,
    program: &'r Program,
    plan: &'r Plan,
    memory: &'r Memory<'r>,
    /// Where registers are, each with the bytes that the routine has for it; nobody else has to do with them.
    registers: &'r [*mut u8],
    /// Where this block begins.
    offsets: &'r Offsets,
    extent: Extent,
}

/// So many elements of a block are computed, with all its steps, between one time that something is fetched and the
/// next.
const PART: usize = 128;

/// So many bytes before a single step comes to them, its inputs are fetched, and where its results go, if blocks follow
/// each other there; else it is the next block.
const NEAR: usize = 1 << 11;

/// From so many steps on, computing takes longer than memory does, and the widest vectors pay for all of them.
const MANY_STEPS: usize = 4;

/// More inputs than this are not all fetched for the next block: with the output, [`KernelContext`] has no more places.
const MANY_INPUTS: usize = 7;

impl At<'_> {
    /// # Safety
    ///
    /// As for [`Routine::run`]; the block is within the loops.
    unsafe fn act(&self, action: &Action, ahead: &mut KernelContext) {
        match action {
            Action::Gather { input, to } => {
                // Safety: the block's elements of the input are there, and room for as many in the register.
                unsafe {
                    let item = self.program.operands[*input as usize];
                    self.gather(*input, self.register(*to, item * self.extent.count()));
                }
            }
            Action::Call { step, from, single, to } => {
                let Step { kernel, item, from: arguments, .. } = &self.program.steps[*step as usize];
                let mut sources: [&[u8]; MOST_ARGUMENTS] = [&[]; MOST_ARGUMENTS];
                let sources = &mut sources[..arguments.len()];
                for (source, &from) in sources.iter_mut().zip(from) {
                    // Safety: the inputs are there, and registers hold what earlier actions left.
                    *source = unsafe { self.read(from) };
                }
                // Safety: a step reads no register that it writes to, and there is room for a block in each. The output lies in one piece if there is none, and
                // is nobody else's.
                unsafe {
                    if let &Some(to) = to {
                        let count = if *single { 1 } else { self.extent.count() };
                        kernel(sources, self.register(to, count * item), ahead);
                    } else {
                        let output = self.output(*item);
                        kernel(sources, output, ahead);
                        self.mask(output);
                    }
                }
            }
            Action::Store { from } => {
                // Safety: the inputs are there, and the output is nobody else's.
                unsafe {
                    let source = self.read(*from);
                    if !self.routine.out_in_place {
                        return self.scatter(source, from.item as usize);
                    }
                    if self.routine.past && !from.single {
                        return self.write_past(source, from.item as usize, ahead);
                    }
                    let output = self.output(from.item as usize);
                    if from.single {
                        fill(source, output)
                    } else {
                        output.copy_from_slice(source)
                    }
                    self.mask(output);
                }
            }
        }
    }

    /// Where an input begins in this block, or so many elements further.
    fn place(&self, input: u32, further: isize) -> *const u8 {
        self.memory.place(input as usize, self.offsets[1 + input as usize] + further)
    }

    /// The bytes of a value.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`]; nobody writes to the value's register meanwhile.
    #[inline(always)]
    unsafe fn read(&self, source: Source) -> &[u8] {
        let item = source.item as usize;
        let bytes = item * if source.single { 1 } else { self.extent.count() };
        let first = match source.place {
            Place::Register(register) => {
                debug_assert!(bytes <= self.routine.registers[register as usize]);
                self.registers[register as usize]
            }
            Place::Constant(constant) => return self.program.constants[constant as usize].bytes(),
            Place::Input(input) => self.place(input, 0),
        };
        // Safety: these are elements of the input or in the register, one or those of the block, one after another. A
        // register has room for those of the largest block, which this one is, or smaller.
        unsafe { std::slice::from_raw_parts(first, bytes) }
    }

    /// A register to write to: so many bytes of it.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`]. They are no more than a block of its elements, and nobody reads it meanwhile.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn register(&self, register: u32, bytes: usize) -> &mut [u8] {
        debug_assert!(bytes <= self.routine.registers[register as usize]);
        // Safety: a register has room for the largest block, which this one is, or smaller; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.registers[register as usize], bytes) }
    }

    fn mask(&self, output: &mut [u8]) {
        mask_bits(output, self.memory.mask);
    }

    /// The output's bytes of this block.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`], and the output lies in one piece.
    #[allow(clippy::mut_from_ref)]
    unsafe fn output(&self, item: usize) -> &mut [u8] {
        // Safety: these are elements of the output, one after another, that nobody else has to do with.
        unsafe {
            let first = self.memory.out.0.offset(self.offsets[0] * item as isize);
            std::slice::from_raw_parts_mut(first, item * self.extent.count())
        }
    }

    /// Writes the output's bytes of this block past the cache, and fetches meanwhile.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`], the output lies in one piece, and it pays to write it so.
    unsafe fn write_past(&self, from: &[u8], item: usize, ahead: &mut KernelContext) {
        let mask = self.memory.mask;
        // Safety: the caller vouches for the output.
        let mut output = unsafe { self.output(item) };
        let mut from = from;
        while !output.is_empty() {
            let (now, to);
            let bytes = (past::PART - output.as_ptr().addr() % past::LINE).min(output.len());
            (to, output) = output.split_at_mut(bytes);
            (now, from) = from.split_at(bytes);
            ahead.prefetch.issue();
            // Safety: both have as many bytes, and the caller vouches for that it pays.
            let mut write = |now: &[u8]| unsafe { past::write(now.as_ptr(), to.as_mut_ptr(), bytes) };
            if mask == u8::MAX {
                write(now);
            } else {
                let mut masked = [0; past::PART];
                now.iter().zip(&mut masked).for_each(|(from, to)| *to = from & mask);
                write(&masked[..bytes]);
            }
        }
    }

    /// Has the next block's inputs fetched, and where this block's results go, while its steps are taken.
    fn look_ahead(&self, ahead: &mut KernelContext) {
        let routine = self.routine;
        let part = PART * routine.calls;
        ahead.prefetch.restart(part);
        if routine.ahead.len() > MANY_INPUTS {
            return;
        }
        let (count, item) = (self.extent.count(), self.program.item(self.program.result));
        let parts = routine.calls * count.div_ceil(part.max(1)) + self.writes();
        // A single step reads and writes as it goes.
        let is_single = routine.calls == 1 && !routine.past;
        let further = |operand: usize, item: usize| match self.next(operand) {
            next if is_single && next == count as isize => (NEAR / item) as isize,
            _ if operand == 0 && !is_single => 0,
            next => next,
        };
        if routine.fetches_output {
            let offset = self.offsets[0] + further(0, item);
            ahead.prefetch.push(
                self.memory.out.0.wrapping_offset(offset * item as isize),
                count * item,
                parts,
            );
        }
        for &input in &routine.ahead {
            let item = self.program.operands[input as usize];
            ahead.prefetch.push(self.place(input, further(1 + input as usize, item)), count * item, parts);
        }
    }

    /// Where there are too many inputs for that, those that the next action reads, while this one is done.
    fn look_further(&self, action: usize, ahead: &mut KernelContext) {
        let each = &self.routine.each;
        ahead.prefetch.restart(PART);
        let parts = if let Action::Store { .. } = each[action] {
            self.writes()
        } else {
            self.extent.count().div_ceil(PART)
        };
        let (next, is_further) = each.get(action + 1).map_or((&each[0], true), |next| (next, false));
        let Action::Call { from, .. } = next else { return };
        for source in from.iter().filter(|source| !source.single) {
            if let Place::Input(input) = source.place {
                let further = if is_further { self.next(1 + input as usize) } else { 0 };
                ahead.prefetch.push(
                    self.place(input, further),
                    self.extent.count() * source.item as usize,
                    parts,
                );
            }
        }
    }

    /// In how many parts the results are written past the cache.
    fn writes(&self) -> usize {
        let bytes = self.extent.count() * self.program.item(self.program.result);
        if self.routine.past { bytes.div_ceil(past::PART) } else { 0 }
    }

    /// How far it is to an operand's next block.
    fn next(&self, operand: usize) -> isize {
        self.extent.turns as isize * self.plan.loop_at(self.extent.cut).1[operand]
    }

    /// Copies an input's elements of this block one after another.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`].
    unsafe fn gather(&self, input: u32, to: &mut [u8]) {
        let item = self.program.operands[input as usize];
        let (way, count) = (self.extent.way(self.plan, 1 + input as usize), self.extent.count());
        /// The elements that bytes are.
        fn places<const N: usize>(to: &mut [u8], count: usize) -> &mut [[u8; N]] {
            &mut to.as_chunks_mut().0[..count]
        }
        // Safety: elements may be seen as bytes.
        unsafe {
            let from = self.place(input, 0);
            match item {
                1 => gather::<1>(from.cast(), &way, places(to, count)),
                2 => gather::<2>(from.cast(), &way, places(to, count)),
                4 => gather::<4>(from.cast(), &way, places(to, count)),
                8 => gather::<8>(from.cast(), &way, places(to, count)),
                _ => gather::<16>(from.cast(), &way, places(to, count)),
            }
        }
    }

    /// Writes a block, or one element many times, to where the output has its elements.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`].
    unsafe fn scatter(&self, from: &[u8], item: usize) {
        let (way, mask) = (self.extent.way(self.plan, 0), self.memory.mask);
        // Safety: elements may be seen as bytes.
        unsafe {
            let to = self.memory.out.0.offset(self.offsets[0] * item as isize);
            match item {
                1 => scatter::<1>(from.as_chunks().0, mask, to.cast(), &way),
                2 => scatter::<2>(from.as_chunks().0, mask, to.cast(), &way),
                4 => scatter::<4>(from.as_chunks().0, mask, to.cast(), &way),
                8 => scatter::<8>(from.as_chunks().0, mask, to.cast(), &way),
                _ => scatter::<16>(from.as_chunks().0, mask, to.cast(), &way),
            }
        }
    }
}
