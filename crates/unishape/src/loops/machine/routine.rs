//! What is done for each block and what only once, decided before any element is touched.

use super::extent::Extent;
use super::program::Program;
use crate::loops::plan::Plan;
use smallvec::SmallVec;

/// Where a value's block is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Where it always was; so many inputs come before it.
    Input(usize),
    Constant(usize),
    Register(usize),
}

/// A value's block, or the one element that stands for all of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) place: Place,
    pub(super) item: usize,
    pub(super) single: bool,
}

/// What is done for each block, or once for all.
#[derive(Debug)]
pub(super) enum Action {
    /// An input's elements are copied one after another.
    Gather { input: usize, to: usize },
    /// One element is written many times.
    Fill { from: Source, to: usize },
    /// A step is taken, for one element or for a block, to a register or right to the output.
    Call { step: usize, from: SmallVec<[Source; MOST_ARGUMENTS]>, single: bool, to: Option<usize> },
    /// The result is written to the output.
    Store { from: Source },
}

/// No function takes more.
pub(super) const MOST_ARGUMENTS: usize = 3;

/// Actions of short programs, without an allocation.
pub(super) type Actions = SmallVec<[Action; 4]>;

/// The actions for a program on a certain plan.
pub(super) struct Routine {
    /// The largest block.
    pub(super) block: Extent,
    pub(super) once: Actions,
    pub(super) each: Actions,
    /// Bytes of each register.
    pub(super) registers: SmallVec<[usize; 4]>,
    /// Whether the output lies in one piece in each block.
    pub(super) out_in_place: bool,
}

/// As many values as this are kept from one block to the next.
const MOST_KEPT: usize = 64;

/// How a value behaves from block to block.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// All elements of a block are the same one.
    single: bool,
    /// All blocks are the same one.
    fixed: bool,
}

impl Routine {
    pub(super) fn new(program: &Program, plan: &Plan) -> Routine {
        Maker::new(program, plan).make()
    }
}

/// Makes a routine: decides what is done once, and which registers hold what.
struct Maker<'p> {
    program: &'p Program,
    plan: &'p Plan,
    block: Extent,
    values: SmallVec<[Value; 6]>,
    free: SmallVec<[usize; 4]>,
    registers: SmallVec<[usize; 4]>,
    once: Actions,
    each: Actions,
}

/// What is known about a value.
#[derive(Clone, Copy, Debug)]
struct Value {
    class: Class,
    /// Where it is, once that is known.
    block: Option<Source>,
    /// Where it is written out many times, if it is one element.
    wide: Option<Source>,
}

impl<'p> Maker<'p> {
    fn new(program: &'p Program, plan: &'p Plan) -> Maker<'p> {
        let mut maker = Maker {
            program,
            plan,
            block: Extent::new(plan, program.block),
            values: SmallVec::with_capacity(program.values()),
            free: SmallVec::new(),
            registers: SmallVec::new(),
            once: SmallVec::new(),
            each: SmallVec::new(),
        };
        maker.classify();
        maker
    }

    fn classify(&mut self) {
        // What is done for the only block need not be kept.
        let is_all = self.block.is_all(self.plan);
        for input in 0..self.program.operands.len() {
            let single = matches!(self.block.way(self.plan, 1 + input)[..], [] | [(_, 0)]);
            let fixed = !is_all && self.block.repeats(self.plan, 1 + input);
            self.value(Class { single, fixed });
        }
        for _ in &self.program.constants {
            self.value(Class { single: true, fixed: !is_all });
        }
        self.keep_few();
        for step in &self.program.steps {
            let all = |is: fn(&Class) -> bool| step.from.iter().all(|&value| is(&self.values[value].class));
            let class = Class { single: all(|class| class.single), fixed: all(|class| class.fixed) };
            self.value(class);
        }
        self.keep_few();
    }

    fn value(&mut self, class: Class) {
        self.values.push(Value { class, block: None, wide: None });
    }

    /// What is the same in every block is kept from one to the next; but not more than some of it, or a long
    /// expression of many numbers would take a block for each.
    fn keep_few(&mut self) {
        let kept = self.values.iter_mut().filter(|value| value.class.fixed);
        kept.skip(MOST_KEPT).for_each(|value| value.class.fixed = false);
    }

    fn make(mut self) -> Routine {
        let program = self.program;
        let first = program.operands.len() + program.constants.len();
        let out_in_place = self.lies_in_one_piece(0);
        for (at, step) in program.steps.iter().enumerate() {
            let value = first + at;
            let Class { single, fixed } = self.values[value].class;
            let from = step.from.iter().map(|&from| self.source(from, single, fixed)).collect();
            let to_output = value == program.result && !single && !fixed && out_in_place;
            let to = (!to_output).then(|| self.register(step.item, fixed));
            self.push(fixed, Action::Call { step: at, from, single, to });
            self.values[value].block =
                to.map(|register| Source { place: Place::Register(register), item: step.item, single });
            if !fixed {
                self.end(&step.from, at);
            }
        }
        if self.values[program.result].block.is_some() || program.result < first {
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
        matches!(self.block.way(self.plan, operand)[..], [] | [(_, 1)])
    }

    /// Where a step finds a value, gathered or filled if need be.
    fn source(&mut self, value: usize, taken_single: bool, taken_once: bool) -> Source {
        let program = self.program;
        let Class { single, fixed } = self.values[value].class;
        let (inputs, item) = (program.operands.len(), program.item(value));
        let source = match self.values[value].block {
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
        self.values[value].block = Some(source);
        debug_assert!(fixed || !taken_once, "what is done once takes only what is there then");
        if !single || taken_single {
            return source;
        }
        if let Some(wide) = self.values[value].wide {
            return wide;
        }
        let to = self.register(item, fixed);
        self.push(fixed, Action::Fill { from: source, to });
        let wide = Source { place: Place::Register(to), item, single: false };
        self.values[value].wide = Some(wide);
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
            let Value { class, block, wide } = self.values[value];
            if self.program.last_use[value] == at && !class.fixed && !again {
                for source in [block, wide].into_iter().flatten() {
                    if let Place::Register(register) = source.place {
                        self.free.push(register);
                    }
                }
            }
        }
    }
}
