//! What is done for each block and what only once, decided before any element is touched.

use super::extent::{Extent, is_one_element, is_one_piece};
use super::program::Program;
use crate::loops::past;
use crate::loops::plan::Plan;

/// Where a value's block is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Where it always was; so many inputs come before it.
    Input(u32),
    Constant(u32),
    Register(u32),
}

/// A value's block, or the one element that stands for all of it. (Small numbers: a routine is made for every
/// call, and most of the time that takes is spent moving these.)
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) place: Place,
    /// Bytes of an element.
    pub(super) item: u8,
    pub(super) single: bool,
}

/// What is done for each block, or once for all.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// An input's elements are copied one after another.
    Gather { input: u32, to: u32 },
    /// A step is taken, for one element or for a block, to a register or right to the output. Of its sources,
    /// those that it has arguments for count.
    Call { step: u32, from: [Source; MOST_ARGUMENTS], single: bool, to: Option<u32> },
    /// The result is written to the output.
    Store { from: Source },
}

/// No function takes more.
pub(super) const MOST_ARGUMENTS: usize = 3;

/// The actions for a program on a certain plan. It is made anew again and again in the same memory: one that is
/// made for a small array takes longer to make than to run.
#[derive(Debug, Default)]
pub(super) struct Routine {
    /// The largest block.
    pub(super) block: Extent,
    pub(super) once: Vec<Action>,
    pub(super) each: Vec<Action>,
    /// Bytes of each register.
    pub(super) registers: Vec<usize>,
    /// Whether the output lies in one piece in each block.
    pub(super) out_in_place: bool,
    /// Whether it is written past the cache.
    pub(super) past: bool,
    /// Inputs that are read where they are and never again, if they are fetched before: for the next block while this
    /// one is computed, or, if there are many, for the next step.
    pub(super) ahead: Vec<u32>,
    /// Whether the output's part is fetched while what goes there is computed.
    pub(super) fetches_output: bool,
    /// How many steps are taken for each block.
    pub(super) calls: usize,
    /// What is known about each value, and registers that hold nothing, while it is made.
    values: Vec<Value>,
    free: Vec<u32>,
}

/// How much memory all of the work goes through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scope {
    /// What a core's caches hold.
    Cache,
    /// More: what comes next is fetched.
    Memory,
    /// More, and an output that is there already is written past the cache.
    Past,
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

/// What is known about a value.
#[derive(Clone, Copy, Debug)]
struct Value {
    class: Class,
    /// Where it is, once it has a place.
    block: Option<Source>,
}

/// The largest block there is room for; or a single row, where nothing has to be copied together for that and
/// what is spared is more than what more blocks cost.
fn largest_block(program: &Program, plan: &Plan) -> Extent {
    let largest = Extent::new(plan, program.block);
    let row = plan.sizes()[plan.loops() - 1];
    if largest.count() <= row || largest.is_all(plan) {
        return largest;
    }
    let single = Extent::new(plan, row);
    let pays = || row as f32 * copying(program, plan, largest) >= program.begin as f32;
    if pays() && copying(program, plan, single) == 0.0 { single } else { largest }
}

/// How long it takes to copy together the operands that are not there as they are needed, the output among them, for
/// each element of a block. It is 1 for what has one element for each row; what lies in one piece within each row is
/// copied faster than that.
fn copying(program: &Program, plan: &Plan, block: Extent) -> f32 {
    let of = |operand: usize| {
        let way = block.way(plan, operand);
        match way[..] {
            _ if is_one_piece(&way) => 0.0,
            _ if operand > 0 && (is_one_element(&way) || block.repeats(plan, operand)) => 0.0,
            [(_, 1), ..] => 0.5,
            _ => 1.0,
        }
    };
    (0..=program.operands.len()).map(of).sum()
}

impl Routine {
    /// What is done for a plan, which may be a part of the work.
    pub(super) fn make(&mut self, program: &Program, plan: &Plan, scope: Scope) {
        self.once.clear();
        self.each.clear();
        self.registers.clear();
        self.values.clear();
        self.ahead.clear();
        self.free.clear();
        let item = program.item(program.result);
        // Inputs of the next block are in the first cache as well.
        let past = (scope == Scope::Past).then(|| Extent::new(plan, program.block / 4 * 3));
        let past =
            past.filter(|block| item * block.count() >= 2 * past::PART && is_one_piece(&block.way(plan, 0)));
        self.past = past.is_some();
        self.block = match past {
            Some(block) => block.of_whole_lines(plan, item),
            None => largest_block(program, plan).even(plan),
        };
        self.out_in_place = is_one_piece(&self.block.way(plan, 0));
        self.classify(program, plan, scope);
        self.take_steps(program);
    }

    fn classify(&mut self, program: &Program, plan: &Plan, scope: Scope) {
        // What is done for the only block need not be kept.
        let is_all = self.block.is_all(plan);
        let fetches = scope != Scope::Cache && !is_all;
        for (input, &item) in program.operands.iter().enumerate() {
            let way = self.block.way(plan, 1 + input);
            let single = is_one_element(&way);
            let source = Source { place: Place::Input(input as u32), item: item as u8, single };
            let class = Class { single, fixed: !is_all && self.block.repeats(plan, 1 + input) };
            if fetches && !single && self.block.goes_on(plan, 1 + input) && is_one_piece(&way) {
                self.ahead.push(input as u32);
            }
            self.value(class, (single || is_one_piece(&way)).then_some(source));
        }
        for (constant, element) in program.constants.iter().enumerate() {
            let place = Place::Constant(constant as u32);
            let source = Source { place, item: element.bytes().len() as u8, single: true };
            self.value(Class { single: true, fixed: !is_all }, Some(source));
        }
        self.keep_few();
        for step in &program.steps {
            let mut class = Class { single: true, fixed: true };
            for &value in &step.from {
                class.single &= self.values[value].class.single;
                class.fixed &= self.values[value].class.fixed;
            }
            self.value(class, None);
        }
        self.keep_few();
        let steps = &self.values[program.operands.len() + program.constants.len()..];
        self.calls = steps.iter().filter(|step| !step.class.single && !step.class.fixed).count();
        self.fetches_output = fetches && self.calls > 0 && self.out_in_place && !self.past;
    }

    fn value(&mut self, class: Class, block: Option<Source>) {
        self.values.push(Value { class, block });
    }

    /// What is the same in every block is kept from one to the next; but not more than some of it, or a long
    /// expression of many numbers would take a block for each.
    fn keep_few(&mut self) {
        if self.values.len() <= MOST_KEPT {
            return;
        }
        let kept = self.values.iter_mut().filter(|value| value.class.fixed);
        kept.skip(MOST_KEPT).for_each(|value| value.class.fixed = false);
    }

    fn take_steps(&mut self, program: &Program) {
        let first = program.operands.len() + program.constants.len();
        for (at, step) in program.steps.iter().enumerate() {
            let value = first + at;
            let Class { single, fixed } = self.values[value].class;
            let mut from = [Source { place: Place::Constant(0), item: 0, single }; MOST_ARGUMENTS];
            for (source, &value) in from.iter_mut().zip(&step.from) {
                *source = self.source(program, value, fixed);
            }
            let to_output = value == program.result && !single && !fixed && self.out_in_place && !self.past;
            let to = (!to_output).then(|| self.register(step.item, fixed));
            self.push(fixed, Action::Call { step: at as u32, from, single, to });
            self.values[value].block =
                to.map(|register| Source { place: Place::Register(register), item: step.item as u8, single });
            if !fixed {
                self.end(program, &step.from, at);
            }
        }
        if self.values[program.result].block.is_some() || program.result < first {
            let from = self.source(program, program.result, false);
            self.each.push(Action::Store { from });
        }
    }

    fn push(&mut self, fixed: bool, action: Action) {
        if fixed { self.once.push(action) } else { self.each.push(action) }
    }

    /// Where a step finds a value, gathered if need be.
    fn source(&mut self, program: &Program, value: usize, taken_once: bool) -> Source {
        let Value { class: Class { single, fixed }, block } = self.values[value];
        debug_assert!(fixed || !taken_once, "what is done once takes only what is there then");
        let source = block.unwrap_or_else(|| {
            // An input: steps have their places before others take them.
            let item = program.item(value);
            let to = self.register(item, fixed);
            self.push(fixed, Action::Gather { input: value as u32, to });
            Source { place: Place::Register(to), item: item as u8, single }
        });
        self.values[value].block = Some(source);
        source
    }

    /// A register that holds nothing. One for a fixed value is never freed, and so is not one that was:
    /// what is done once is done before all that is done for each block.
    fn register(&mut self, item: usize, fixed: bool) -> u32 {
        let (bytes, registers) = (item * self.block.count(), &mut self.registers);
        let register = match self.free.pop() {
            Some(register) if !fixed => register,
            free => {
                self.free.extend(free);
                registers.push(0);
                registers.len() as u32 - 1
            }
        };
        let room = &mut registers[register as usize];
        *room = bytes.max(*room);
        register
    }

    /// Frees the registers of values that no later step takes.
    fn end(&mut self, program: &Program, values: &[usize], at: usize) {
        for (number, &value) in values.iter().enumerate() {
            let again = values[..number].contains(&value);
            let Value { class, block } = self.values[value];
            if program.last_use[value] == at
                && !class.fixed
                && !again
                && let Some(Source { place: Place::Register(register), .. }) = block
            {
                self.free.push(register);
            }
        }
    }
}
