//! A chain of kernels run block by block, so that what one leaves for the next stays in the first cache.
//!
//! Every input is read once and the result written once, however long the chain is. An input that lies in
//! one piece is used where it is. What does not lie so, because it is stretched, strided or transposed, is
//! gathered into a block first; what is the same in every block is gathered, and computed, only once.
//!
//! Kernels are safe code that sees slices of bytes, all with as many elements. Only this module knows where
//! these bytes are.

use super::pieces::{in_pieces, with_threads};
use super::plan::Plan;
use super::walk::{Base, Read, Write};
use crate::tensor::Element;
use half::{bf16, f16};
use ndarray::{ArrayRef, ArrayViewD, Dimension};
use num_complex::Complex;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Computes a block from others with as many elements.
pub(crate) type Kernel = fn(&[&[u8]], &mut [u8]);

/// One kernel of a chain, and which values it takes.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) kernel: Kernel,
    pub(crate) from: SmallVec<[usize; 3]>,
    /// Bytes of an element of what it gives.
    pub(crate) item: usize,
}

/// A chain of kernels. Values are numbered: the operands first, then the constants, then what each step
/// gives; a step takes only values that come before its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// Bytes of an element of each operand.
    pub(crate) operands: Vec<usize>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) steps: Vec<Step>,
    /// The value that is the result.
    pub(crate) result: usize,
}

/// An element that is nothing but its bytes.
///
/// ```
/// # use unishape::expr::{Bound, ExprError, Plain};
/// fn into_vector<T: Plain>(bound: &Bound<'_>) -> Result<Vec<T>, ExprError> {
///     let mut out = ndarray::Array1::from_elem(bound.shape()[0], T::zeroed());
///     bound.compute_into(&mut out)?;
///     Ok(out.into_raw_vec_and_offset().0)
/// }
/// ```
///
/// # Safety
///
/// Any bits are an element; or, where it `IS_TRUTH`, any that are 0 but for the lowest one.
pub unsafe trait Plain: Element + bytemuck::NoUninit + bytemuck::Zeroable + Send + Sync {
    /// Whether it is a boolean.
    #[doc(hidden)]
    const IS_TRUTH: bool = false;
}

macro_rules! plain {
    ($($type:ty),+) => {
        $(
            const _: () = {
                const fn any_bits<T: bytemuck::Pod>() {}
                any_bits::<$type>();
            };
            // Safety: as the line above says, any bits are one.
            unsafe impl Plain for $type {}
        )+
    };
}
plain!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f16, bf16, Complex<f32>, Complex<f64>);

// Safety: 0 is false, 1 is true.
unsafe impl Plain for bool {
    const IS_TRUTH: bool = true;
}

/// One element of some type, aligned for any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(align(16))]
pub(crate) struct Constant {
    bytes: [u8; 16],
    item: usize,
}

impl Constant {
    pub(crate) fn new<T: bytemuck::NoUninit>(element: T) -> Constant {
        let (mut bytes, item) = ([0; 16], size_of::<T>());
        bytes[..item].copy_from_slice(bytemuck::bytes_of(&element));
        Constant { bytes, item }
    }

    /// What a kernel makes of some constants.
    pub(crate) fn computed(kernel: Kernel, from: &[Constant], item: usize) -> Constant {
        let mut result = Constant { bytes: [0; 16], item };
        let from: SmallVec<[&[u8]; 3]> = from.iter().map(Constant::bytes).collect();
        kernel(&from, &mut result.bytes[..item]);
        result
    }

    /// The element, if it has the size of such ones.
    pub(crate) fn get<T: bytemuck::AnyBitPattern>(&self) -> Option<T> {
        bytemuck::try_pod_read_unaligned(self.bytes()).ok()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.item]
    }
}

/// Registers, operands in place and the output together take about this much of the first cache.
const CACHE: usize = 24 << 10;

impl Program {
    /// Bytes of an element of a value.
    pub(crate) fn item(&self, value: usize) -> usize {
        let constants = self.operands.len();
        let steps = constants + self.constants.len();
        match value {
            _ if value < constants => self.operands[value],
            _ if value < steps => self.constants[value - constants].item,
            _ => self.steps[value - steps].item,
        }
    }

    /// How many values there are.
    fn values(&self) -> usize {
        self.operands.len() + self.constants.len() + self.steps.len()
    }

    /// How many elements a block has: as many as fit the first cache with all that is alive at a time.
    fn block(&self) -> usize {
        let first_step = self.operands.len() + self.constants.len();
        let mut last_use = vec![0; self.values()];
        for (at, step) in self.steps.iter().enumerate() {
            for &value in &step.from {
                last_use[value] = at;
            }
        }
        let mut begun = vec![false; first_step];
        let (mut alive, mut most) = (0usize, 0);
        for (at, step) in self.steps.iter().enumerate() {
            alive += step.item;
            for &value in step.from.iter().filter(|&&value| value < first_step) {
                if !std::mem::replace(&mut begun[value], true) {
                    alive += self.item(value);
                }
            }
            most = most.max(alive);
            let ends = step.from.iter().filter(|&&value| last_use[value] == at);
            alive = alive.saturating_sub(ends.map(|&value| self.item(value)).sum());
        }
        (CACHE / most.max(8) / 64 * 64).clamp(128, 2048)
    }

    /// Bytes read and written for one element.
    fn traffic(&self) -> usize {
        self.operands.iter().sum::<usize>() + self.item(self.result)
    }
}

/// An array that a program reads, stretched already.
pub(crate) struct Input<'a> {
    /// Its element of index 0.
    first: Base<Read<u8>>,
    item: usize,
    shape: &'a [usize],
    strides: &'a [isize],
}

impl<'a> Input<'a> {
    pub(crate) fn new<T: Plain>(view: &'a ArrayViewD<'_, T>) -> Input<'a> {
        Input {
            first: Base(view.as_ptr().cast_mut().cast()),
            item: size_of::<T>(),
            shape: view.shape(),
            strides: view.strides(),
        }
    }
}

/// Whether the work goes on, asked after each piece with how many elements it had.
pub(crate) type GoesOn<'a> = dyn Fn(usize) -> bool + Sync + 'a;

/// Runs a program, and gives whether it came to its end. All arrays have the output's shape.
///
/// # Panics
///
/// Where the arrays are not what the program is for.
pub(crate) fn run<T: Plain, D: Dimension>(
    program: &Program,
    inputs: &[Input<'_>],
    out: &mut ArrayRef<T, D>,
    threads: Option<usize>,
    goes_on: &GoesOn<'_>,
) -> bool {
    let fits = |(input, &item): (&Input<'_>, &usize)| input.item == item && input.shape == out.shape();
    assert!(inputs.len() == program.operands.len() && inputs.iter().zip(&program.operands).all(fits));
    assert!(program.item(program.result) == size_of::<T>());
    let plan = Plan::new(out.shape(), 1 + inputs.len(), |operand, dim| match operand.checked_sub(1) {
        None => out.strides()[dim],
        Some(input) => inputs[input].strides[dim],
    });
    if plan.len() == 0 {
        return true;
    }
    let out = Base(out.as_mut_ptr().cast::<u8>());
    let mask = if T::IS_TRUTH { 1 } else { u8::MAX };
    let memory = Memory { inputs, out, mask };
    let block = program.block();
    let stopped = AtomicBool::new(false);
    let work = |piece: &Plan| {
        let memory = &memory;
        if stopped.load(Ordering::Relaxed) {
            return;
        }
        let routine = Routine::new(program, piece, block);
        REGISTERS.with_borrow_mut(|registers| {
            // Safety: the plan stays within the arrays, which have the program's elements, and no two
            // pieces of it have a place of the output together. The output is ours, as `&mut` says.
            unsafe { routine.run(program, piece, memory, registers) };
        });
        if !goes_on(piece.len()) {
            stopped.store(true, Ordering::Relaxed);
        }
    };
    // An arithmetic step takes about as long as moving some bytes, which counts for whether to share.
    let bytes = program.traffic() + 2 * program.steps.len();
    match threads {
        None => in_pieces(plan, bytes, &work),
        Some(threads) => with_threads(threads, || in_pieces(plan, bytes, &work)),
    }
    !stopped.into_inner()
}

/// Where a program reads and writes.
struct Memory<'m> {
    inputs: &'m [Input<'m>],
    /// The output's element of index 0.
    out: Base<Write<u8>>,
    /// The bits that may be set in each byte of the output.
    mask: u8,
}

thread_local! {
    static REGISTERS: RefCell<Registers> = const { RefCell::new(Registers(Vec::new())) };
}

/// Blocks of bytes, kept from one piece of work to the next.
struct Registers(Vec<Vec<Line>>);

/// A line of the cache: blocks begin at one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// Safety: it is bytes, any bytes, without padding.
unsafe impl bytemuck::Zeroable for Line {}
// Safety: as above.
unsafe impl bytemuck::Pod for Line {}

impl Registers {
    /// Makes room for as many registers of these sizes.
    fn fit(&mut self, bytes: &[usize]) {
        if self.0.len() < bytes.len() {
            self.0.resize_with(bytes.len(), Vec::new);
        }
        for (register, bytes) in self.0.iter_mut().zip(bytes) {
            let lines = bytes.div_ceil(64);
            if register.len() < lines {
                register.resize(lines, Line([0; 64]));
            }
        }
    }

    fn read(&self, register: usize, bytes: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.0[register])[..bytes]
    }

    /// A register to write to while the others are read; it has to be put back.
    fn take(&mut self, register: usize) -> Vec<Line> {
        std::mem::take(&mut self.0[register])
    }
}

/// Where a value's block is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Where it always was; so many inputs come before it.
    Input(usize),
    Constant(usize),
    Register(usize),
}

/// A value's block, or the one element that stands for all of it.
#[derive(Clone, Copy, Debug)]
struct Source {
    place: Place,
    item: usize,
    single: bool,
}

/// What is done for each block, or once for all.
#[derive(Debug)]
enum Action {
    /// An input's elements are copied one after another.
    Gather { input: usize, to: usize },
    /// One element is written many times.
    Fill { from: Source, to: usize },
    /// A step is taken, for one element or for a block, to a register or right to the output.
    Call { kernel: Kernel, from: SmallVec<[Source; 3]>, item: usize, single: bool, to: Option<usize> },
    /// The result is written to the output.
    Store { from: Source },
}

/// A block: so many rows of so many elements.
#[derive(Clone, Copy, Debug)]
struct Extent {
    rows: usize,
    len: usize,
}

impl Extent {
    fn count(self) -> usize {
        self.rows * self.len
    }
}

/// The actions for a program on a certain plan.
struct Routine {
    /// The largest block.
    block: Extent,
    once: Vec<Action>,
    each: Vec<Action>,
    /// Bytes of each register.
    registers: Vec<usize>,
    /// Whether the output lies in one piece in each block.
    out_in_place: bool,
}

/// How a value behaves from block to block.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// All elements of a block are the same one.
    single: bool,
    /// All blocks are the same one.
    fixed: bool,
}

impl Routine {
    fn new(program: &Program, plan: &Plan, block: usize) -> Routine {
        let (rows, len) = plan.inner_sizes();
        let block = match len {
            _ if len >= block => Extent { rows: 1, len: block },
            _ => Extent { rows: (block / len.max(1)).clamp(1, rows.max(1)), len },
        };
        Maker::new(program, plan, block).make()
    }

    /// # Safety
    ///
    /// The plan stays within the arrays of `memory`, whose elements have the program's sizes; nobody else has
    /// to do with the places of the output that it walks, and it walks none of them twice.
    unsafe fn run(&self, program: &Program, plan: &Plan, memory: &Memory<'_>, registers: &mut Registers) {
        registers.fit(&self.registers);
        let (rows, len) = plan.inner_sizes();
        let mut first = true;
        plan.turns(SmallVec::<[isize; 8]>::from_slice(plan.starts()), |starts| {
            for row in (0..rows).step_by(self.block.rows) {
                for column in (0..len).step_by(self.block.len) {
                    let extent = self.block;
                    let mut at = At { routine: self, program, plan, memory, starts, row, column, extent };
                    // Safety: the block is within the loops.
                    unsafe {
                        if std::mem::take(&mut first) {
                            self.once.iter().for_each(|action| at.act(action, registers));
                        }
                        at.extent.rows = extent.rows.min(rows - row);
                        at.extent.len = extent.len.min(len - column);
                        self.each.iter().for_each(|action| at.act(action, registers));
                    }
                }
            }
        });
    }
}

/// Makes a routine: decides what is done once, and which registers hold what.
struct Maker<'p> {
    program: &'p Program,
    plan: &'p Plan,
    block: Extent,
    classes: Vec<Class>,
    /// Where each value is, once it is known.
    blocks: Vec<Option<Source>>,
    /// Where each value that is one element is written out many times.
    wide: Vec<Option<Source>>,
    /// The last step that takes a value; the result is taken after all.
    last_use: Vec<usize>,
    free: Vec<usize>,
    registers: Vec<usize>,
    once: Vec<Action>,
    each: Vec<Action>,
}

impl<'p> Maker<'p> {
    fn new(program: &'p Program, plan: &'p Plan, block: Extent) -> Maker<'p> {
        let mut last_use = vec![0; program.values()];
        for (at, step) in program.steps.iter().enumerate() {
            for &value in &step.from {
                last_use[value] = at;
            }
        }
        last_use[program.result] = usize::MAX;
        let mut maker = Maker {
            program,
            plan,
            block,
            classes: Vec::new(),
            blocks: vec![None; program.values()],
            wide: vec![None; program.values()],
            last_use,
            free: Vec::new(),
            registers: Vec::new(),
            once: Vec::new(),
            each: Vec::new(),
        };
        maker.classify();
        maker
    }

    fn classify(&mut self) {
        let (_, len) = self.plan.inner_sizes();
        for input in 0..self.program.operands.len() {
            let (row_step, step) = self.plan.inner_steps(1 + input);
            self.classes.push(Class {
                single: step == 0 && (row_step == 0 || self.block.rows == 1),
                fixed: self.plan.stays_outside(1 + input)
                    && row_step == 0
                    && (step == 0 || len == self.block.len),
            });
        }
        let constant = Class { single: true, fixed: true };
        self.classes.extend(self.program.constants.iter().map(|_| constant));
        for step in &self.program.steps {
            let all = |is: fn(&Class) -> bool| step.from.iter().all(|&value| is(&self.classes[value]));
            let class = Class { single: all(|class| class.single), fixed: all(|class| class.fixed) };
            self.classes.push(class);
        }
    }

    fn make(mut self) -> Routine {
        let program = self.program;
        let first = program.operands.len() + program.constants.len();
        let out_in_place = self.lies_in_one_piece(0);
        for (at, step) in program.steps.iter().enumerate() {
            let value = first + at;
            let Class { single, fixed } = self.classes[value];
            let from = step.from.iter().map(|&from| self.source(from, single, fixed)).collect();
            let to_output = value == program.result && !single && !fixed && out_in_place;
            let to = (!to_output).then(|| self.register(step.item, fixed));
            self.push(fixed, Action::Call { kernel: step.kernel, from, item: step.item, single, to });
            self.blocks[value] =
                to.map(|register| Source { place: Place::Register(register), item: step.item, single });
            if !fixed {
                self.end(&step.from, at);
            }
        }
        if self.blocks[program.result].is_some() || program.result < first {
            let from = self.source(program.result, true, false);
            self.each.push(Action::Store { from });
        }
        Routine {
            block: self.block,
            once: self.once,
            each: self.each,
            registers: self.registers,
            out_in_place,
        }
    }

    fn push(&mut self, fixed: bool, action: Action) {
        if fixed { self.once.push(action) } else { self.each.push(action) }
    }

    /// Whether an operand of the plan lies in one piece in each block.
    fn lies_in_one_piece(&self, operand: usize) -> bool {
        let (row_step, step) = self.plan.inner_steps(operand);
        step == 1 && (self.block.rows == 1 || row_step == self.block.len as isize)
    }

    /// Where a step finds a value, gathered or filled if need be.
    fn source(&mut self, value: usize, taken_single: bool, taken_once: bool) -> Source {
        let program = self.program;
        let Class { single, fixed } = self.classes[value];
        let (inputs, item) = (program.operands.len(), program.item(value));
        let source = match self.blocks[value] {
            Some(source) => source,
            None if value >= inputs => Source { place: Place::Constant(value - inputs), item, single },
            None if single || self.lies_in_one_piece(1 + value) => {
                Source { place: Place::Input(value), item, single }
            }
            None => {
                let to = self.register(item, fixed);
                self.push(fixed, Action::Gather { input: value, to });
                Source { place: Place::Register(to), item, single }
            }
        };
        self.blocks[value] = Some(source);
        debug_assert!(fixed || !taken_once, "what is done once takes only what is there then");
        if !single || taken_single {
            return source;
        }
        if let Some(wide) = self.wide[value] {
            return wide;
        }
        let to = self.register(item, fixed);
        self.push(fixed, Action::Fill { from: source, to });
        let wide = Source { place: Place::Register(to), item, single: false };
        self.wide[value] = Some(wide);
        wide
    }

    /// A register that holds nothing. One for a fixed value is never freed, and so is not one that was:
    /// what is done once is done before all that is done for each block.
    fn register(&mut self, item: usize, fixed: bool) -> usize {
        let bytes = item * self.block.count();
        let register = match self.free.pop() {
            Some(register) if !fixed => register,
            free => {
                self.free.extend(free);
                self.registers.push(0);
                self.registers.len() - 1
            }
        };
        self.registers[register] = self.registers[register].max(bytes);
        register
    }

    /// Frees the registers of values that no later step takes.
    fn end(&mut self, values: &[usize], at: usize) {
        for (number, &value) in values.iter().enumerate() {
            let again = values[..number].contains(&value);
            if self.last_use[value] == at && !self.classes[value].fixed && !again {
                for source in [self.blocks[value], self.wide[value]].into_iter().flatten() {
                    if let Place::Register(register) = source.place {
                        self.free.push(register);
                    }
                }
            }
        }
    }
}

/// One block of the loops.
struct At<'r> {
    routine: &'r Routine,
    program: &'r Program,
    plan: &'r Plan,
    memory: &'r Memory<'r>,
    starts: &'r [isize],
    row: usize,
    column: usize,
    extent: Extent,
}

impl At<'_> {
    /// How far an operand's first element of this block is from its element of index 0, in elements.
    fn offset(&self, operand: usize) -> isize {
        let (row_step, step) = self.plan.inner_steps(operand);
        self.starts[operand] + self.row as isize * row_step + self.column as isize * step
    }

    /// # Safety
    ///
    /// As for [`Routine::run`]; the block is within the loops.
    unsafe fn act(&self, action: &Action, registers: &mut Registers) {
        let count = self.extent.count();
        match action {
            Action::Gather { input, to } => {
                let mut block = registers.take(*to);
                // Safety: the block's elements of the input are there.
                unsafe { self.gather(*input, bytemuck::cast_slice_mut(&mut block)) };
                registers.0[*to] = block;
            }
            Action::Fill { from, to } => {
                let mut block = registers.take(*to);
                // Safety: the input is there.
                let element = unsafe { self.read(*from, registers) };
                fill(element, &mut bytemuck::cast_slice_mut(&mut block)[..count * from.item]);
                registers.0[*to] = block;
            }
            Action::Call { kernel, from, item, single, to } => {
                let count = if *single { 1 } else { count };
                let mut block = to.map(|to| registers.take(to));
                // Safety: the inputs are there.
                let sources: SmallVec<[&[u8]; 3]> =
                    from.iter().map(|&from| unsafe { self.read(from, registers) }).collect();
                match &mut block {
                    Some(block) => kernel(&sources, &mut bytemuck::cast_slice_mut(block)[..count * item]),
                    None => {
                        // Safety: the output lies in one piece here, and is nobody else's.
                        let output = unsafe { self.output(*item) };
                        kernel(&sources, output);
                        self.mask(output);
                    }
                }
                drop(sources);
                if let (Some(block), Some(to)) = (block, to) {
                    registers.0[*to] = block;
                }
            }
            Action::Store { from } => {
                // Safety: the inputs are there, and the output is nobody else's.
                unsafe {
                    let source = self.read(*from, registers);
                    if !self.routine.out_in_place {
                        return self.scatter(source, from.item, from.single);
                    }
                    let output = self.output(from.item);
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

    /// The bytes of a value.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`].
    unsafe fn read<'s>(&'s self, source: Source, registers: &'s Registers) -> &'s [u8] {
        let bytes = source.item * if source.single { 1 } else { self.extent.count() };
        match source.place {
            Place::Register(register) => registers.read(register, bytes),
            Place::Constant(constant) => self.program.constants[constant].bytes(),
            Place::Input(input) => {
                let from = self.memory.inputs[input].first.0;
                // Safety: these are elements of the input, one or those of the block, one after another.
                unsafe {
                    let first = from.offset(self.offset(1 + input) * source.item as isize);
                    std::slice::from_raw_parts(first, bytes)
                }
            }
        }
    }

    /// Makes sure that bytes are elements, whatever a kernel gave.
    fn mask(&self, output: &mut [u8]) {
        if self.memory.mask != u8::MAX {
            output.iter_mut().for_each(|byte| *byte &= self.memory.mask);
        }
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
            let first = self.memory.out.0.offset(self.offset(0) * item as isize);
            std::slice::from_raw_parts_mut(first, item * self.extent.count())
        }
    }

    /// Copies an input's elements of this block one after another.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`].
    unsafe fn gather(&self, input: usize, to: &mut [u8]) {
        let item = self.program.operands[input];
        // Safety: elements may be seen as bytes.
        unsafe {
            let from = self.memory.inputs[input].first.0.offset(self.offset(1 + input) * item as isize);
            let steps = self.plan.inner_steps(1 + input);
            match item {
                1 => gather::<1>(from, steps, self.extent, to),
                2 => gather::<2>(from, steps, self.extent, to),
                4 => gather::<4>(from, steps, self.extent, to),
                8 => gather::<8>(from, steps, self.extent, to),
                _ => gather::<16>(from, steps, self.extent, to),
            }
        }
    }

    /// Writes a block, or one element many times, to where the output has its elements.
    ///
    /// # Safety
    ///
    /// As for [`Routine::run`].
    unsafe fn scatter(&self, from: &[u8], item: usize, single: bool) {
        // Safety: elements may be seen as bytes.
        unsafe {
            let to = self.memory.out.0.offset(self.offset(0) * item as isize);
            let (steps, mask) = (self.plan.inner_steps(0), self.memory.mask);
            match item {
                1 => scatter::<1>(from, single, mask, to, steps, self.extent),
                2 => scatter::<2>(from, single, mask, to, steps, self.extent),
                4 => scatter::<4>(from, single, mask, to, steps, self.extent),
                8 => scatter::<8>(from, single, mask, to, steps, self.extent),
                _ => scatter::<16>(from, single, mask, to, steps, self.extent),
            }
        }
    }
}

/// Writes an element's bytes again and again.
fn fill(element: &[u8], to: &mut [u8]) {
    fn elements<const N: usize>(element: &[u8], to: &mut [u8]) {
        if let Ok(element) = <[u8; N]>::try_from(element) {
            to.as_chunks_mut::<N>().0.fill(element);
        }
    }
    match element.len() {
        1 => elements::<1>(element, to),
        2 => elements::<2>(element, to),
        4 => elements::<4>(element, to),
        8 => elements::<8>(element, to),
        _ => elements::<16>(element, to),
    }
}

/// # Safety
///
/// All elements of the block, of `N` bytes each, are there.
unsafe fn gather<const N: usize>(
    from: *const u8,
    (row_step, step): (isize, isize),
    block: Extent,
    to: &mut [u8],
) {
    let (from, to) = (from.cast::<[u8; N]>(), to.as_chunks_mut::<N>().0);
    let to = &mut to[..block.count()];
    let Extent { rows, len } = block;
    // Safety: rows and columns are those of the block.
    unsafe {
        let at = |row: usize, i: usize| from.offset(row as isize * row_step + i as isize * step);
        if row_step == 0 && rows > 1 {
            // The same row again and again.
            gather::<N>(from.cast(), (0, step), Extent { rows: 1, len }, to[..len].as_flattened_mut());
            let mut have = len;
            while have < to.len() {
                let more = have.min(to.len() - have);
                to.copy_within(..more, have);
                have += more;
            }
        } else if step == 1 {
            for (row, to) in to.chunks_exact_mut(len).enumerate() {
                to.copy_from_slice(std::slice::from_raw_parts(at(row, 0), len));
            }
        } else if step == 0 {
            match len {
                2 => repeat::<N, 2>(|row| *at(row, 0), to),
                3 => repeat::<N, 3>(|row| *at(row, 0), to),
                4 => repeat::<N, 4>(|row| *at(row, 0), to),
                _ => to.chunks_exact_mut(len).enumerate().for_each(|(row, to)| to.fill(*at(row, 0))),
            }
        } else if row_step.unsigned_abs() < step.unsigned_abs() && rows > 1 {
            // A column of the block is a row of the input: read by the line, turned round on the way.
            for i in 0..len {
                for (row, to) in to[i..].iter_mut().step_by(len).enumerate() {
                    *to = *at(row, i);
                }
            }
        } else {
            for (row, to) in to.chunks_exact_mut(len).enumerate() {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = *at(row, i);
                }
            }
        }
    }
}

/// Each row's element as often as the row is long, which is known here.
#[inline(always)]
fn repeat<const N: usize, const LEN: usize>(element: impl Fn(usize) -> [u8; N], to: &mut [[u8; N]]) {
    for (row, to) in to.as_chunks_mut::<LEN>().0.iter_mut().enumerate() {
        *to = [element(row); LEN];
    }
}

/// # Safety
///
/// All elements of the block, of `N` bytes each, can be written to.
unsafe fn scatter<const N: usize>(
    from: &[u8],
    single: bool,
    mask: u8,
    to: *mut u8,
    (row_step, step): (isize, isize),
    Extent { rows, len }: Extent,
) {
    let (from, to) = (from.as_chunks::<N>().0, to.cast::<[u8; N]>());
    for row in 0..rows {
        for i in 0..len {
            let element = if single { from[0] } else { from[row * len + i] };
            // Safety: rows and columns are those of the block.
            unsafe {
                *to.offset(row as isize * row_step + i as isize * step) = element.map(|byte| byte & mask)
            };
        }
    }
}
