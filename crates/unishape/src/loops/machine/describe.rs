//! A plan and a routine told in words.

use super::extent::is_one_element;
use super::program::{Program, Step};
use super::routine::{Action, Place, Routine, Source};
use super::{is_large, scope_of_fresh};
use crate::loops::plan::Plan;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt::Write;

/// What is done to compute a program on arrays that lie as the plan says, for people to read. `names` are
/// those of the inputs, `constants` those of the constants.
pub(crate) fn describe(program: &Program, plan: &Plan, names: &[String], constants: &[String]) -> String {
    if plan.len() == 0 {
        return "Nothing is computed: the result has no elements.\n".into();
    }
    let mut text = String::new();
    let scope = scope_of_fresh(program, plan);
    let whole = plan.clone();
    let plans = if is_large(program, plan.len()) { whole.tiled() } else { SmallVec::from_iter([whole]) };
    for (number, plan) in plans.iter().enumerate() {
        let mut routine = Routine::default();
        routine.make(program, plan, scope);
        let teller = Teller { program, plan, routine: &routine, names, constants };
        match number {
            0 => teller.tell(&mut text),
            // What is left over at the ends of tiles is done likewise.
            _ => _ = writeln!(text, "and the rest: {}", teller.loops()),
        }
    }
    text
}

/// `20000 times 1024 elements`.
fn elements(sizes: impl Iterator<Item = usize>) -> String {
    let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
    match sizes.len() {
        0 => "1 element".into(),
        _ => format!("{} elements", sizes.join(" times ")),
    }
}

struct Teller<'t> {
    program: &'t Program,
    plan: &'t Plan,
    routine: &'t Routine,
    names: &'t [String],
    constants: &'t [String],
}

impl Teller<'_> {
    fn tell(&self, text: &mut String) {
        let block = self.routine.block;
        let _ = writeln!(text, "loops: {}", self.loops());
        let _ = writeln!(text, "a block: {}", elements(block.sizes(self.plan).filter(|&size| size > 1)));
        for (input, name) in self.names.iter().enumerate() {
            let _ = writeln!(text, "  {name}: {}", self.input(input));
        }
        let _ = writeln!(text, "  result: {}", self.output());
        let mut held = HashMap::new();
        for (when, actions) in [("once", &self.routine.once), ("for each block", &self.routine.each)] {
            let steps: Vec<String> =
                actions.iter().filter_map(|action| self.step(action, &mut held)).collect();
            if !steps.is_empty() {
                let _ = writeln!(text, "{when}:");
                steps.iter().for_each(|step| _ = writeln!(text, "  {step}"));
            }
        }
    }

    /// From the outermost loop to the innermost one.
    fn loops(&self) -> String {
        elements(self.plan.sizes().iter().copied())
    }

    fn input(&self, input: usize) -> String {
        let program = self.program;
        if !program.steps.iter().any(|step| step.from.contains(&input)) && program.result != input {
            return "not read: the result does not depend on it".into();
        }
        let gathered = |actions: &[Action]| {
            actions
                .iter()
                .any(|action| matches!(action, Action::Gather { input: its, .. } if *its as usize == input))
        };
        let block = self.routine.block;
        let way = block.way(self.plan, 1 + input);
        let moves = |of: usize| self.plan.loop_at(of).1[1 + input] != 0;
        let is_part_of_row = block.cut == self.plan.loops() - 1;
        let stays = block.cut > 0 && is_part_of_row && !(0..block.cut).any(moves);
        if gathered(&self.routine.once) {
            return "the same in every block, put together once".into();
        }
        if gathered(&self.routine.each) {
            return match way[..] {
                [(_, step), (_, row_step), ..]
                    if row_step != 0 && step.unsigned_abs() > row_step.unsigned_abs() =>
                {
                    "turned round on the way into each block".into()
                }
                [(_, 0), ..] => "one element for each row".into(),
                [(_, 1), ..] => "rows, put together for each block".into(),
                [(_, step), ..] => {
                    format!("one of {} elements, put together for each block", step.unsigned_abs())
                }
                [] => String::new(),
            };
        }
        match () {
            _ if is_one_element(&way) && block.repeats(self.plan, 1 + input) => "one element for all".into(),
            _ if is_one_element(&way) => "one element for each block".into(),
            _ if !block.is_all(self.plan) && block.repeats(self.plan, 1 + input) => {
                "the same in every block, read where it is".into()
            }
            _ if stays => "the same in every row, read where it is".into(),
            _ => "read where it is".into(),
        }
    }

    fn output(&self) -> &'static str {
        match self.routine.out_in_place {
            true => "written where it belongs",
            false => "written element by element from a block",
        }
    }

    /// `t1 = multiply(a, 2)`, if it is a step that people want to know of. `held` is what registers hold.
    fn step(&self, action: &Action, held: &mut HashMap<u32, String>) -> Option<String> {
        match action {
            Action::Gather { input, to } => {
                held.insert(*to, self.names.get(*input as usize).cloned().unwrap_or_default());
                None
            }
            Action::Store { from } => Some(format!("result = {}", self.source(from, held))),
            Action::Call { step, from, single, to } => {
                let Step { name, from: arguments, .. } = &self.program.steps[*step as usize];
                let from: Vec<String> =
                    from[..arguments.len()].iter().map(|source| self.source(source, held)).collect();
                let label = to.map_or_else(|| "result".into(), |_| format!("t{}", step + 1));
                let of_one = if *single { ", of one element" } else { "" };
                let step = format!("{label} = {name}({}){of_one}", from.join(", "));
                held.extend(to.map(|to| (to, label)));
                Some(step)
            }
        }
    }

    /// What a step takes.
    fn source(&self, source: &Source, held: &HashMap<u32, String>) -> String {
        let known = match source.place {
            Place::Input(input) => self.names.get(input as usize),
            Place::Constant(constant) => self.constants.get(constant as usize),
            Place::Register(register) => held.get(&register),
        };
        known.cloned().unwrap_or_default()
    }
}
