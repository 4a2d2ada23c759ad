//! What is done for each block and what only once, decided before any element is touched.

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
    Call { step: usize, from: SmallVec<[Source; 3]>, single: bool, to: Option<usize> },
    /// The result is written to the output.
    Store { from: Source },
}

/// A block: so many rows of so many elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) rows: usize,
    pub(super) len: usize,
}

impl Extent {
    pub(super) fn count(self) -> usize {
        self.rows * self.len
    }
}

/// The actions for a program on a certain plan.
pub(super) struct Routine {
    /// The largest block.
    pub(super) block: Extent,
    pub(super) once: Vec<Action>,
    pub(super) each: Vec<Action>,
    /// Bytes of each register.
    pub(super) registers: Vec<usize>,
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
    pub(super) fn new(program: &Program, plan: &Plan, block: usize) -> Routine {
        let (rows, len) = plan.inner_sizes();
        let block = match len {
            _ if len >= block => Extent { rows: 1, len: block },
            _ => Extent { rows: (block / len.max(1)).clamp(1, rows.max(1)), len },
        };
        Maker::new(program, plan, block).make()
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
        let mut last_use = program.last_uses();
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
        self.keep_few();
        for step in &self.program.steps {
            let all = |is: fn(&Class) -> bool| step.from.iter().all(|&value| is(&self.classes[value]));
            let class = Class { single: all(|class| class.single), fixed: all(|class| class.fixed) };
            self.classes.push(class);
        }
        self.keep_few();
    }

    /// What is the same in every block is kept from one to the next; but not more than some of it, or a long
    /// expression of many numbers would take a block for each.
    fn keep_few(&mut self) {
        let kept = self.classes.iter_mut().filter(|class| class.fixed);
        kept.skip(MOST_KEPT).for_each(|class| class.fixed = false);
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
            self.push(fixed, Action::Call { step: at, from, single, to });
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
