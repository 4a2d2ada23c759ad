//! Text descriptions of schedules.

use super::array::Input;
use super::block::is_scalar;
use super::call::{cost, loop_nest, residence, touched_bytes};
use super::program::{Program, Step};
use super::schedule::{Action, BlockRef, BlockSpan, Location, OutputLayout, Schedule};
use crate::layout::row_major;
use crate::nest::LoopNest;
use crate::parallel::{Team, is_parallel};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt::Write;

/// Describes how [`run`](super::run) would compute a freshly allocated result.
///
/// The loops, the block, how each input is read, and what is computed once and what for each block.
/// `names` are those of the inputs, `constants` those of the constants.
pub fn describe(
    program: &Program,
    shape: &[usize],
    inputs: &[Input<'_>],
    names: &[String],
    constants: &[String],
) -> String {
    let nest = loop_nest(shape, &row_major(shape), inputs);
    if nest.is_empty() {
        return "nothing to compute: the result has no elements\n".into();
    }
    let mut text = String::new();
    let touched = touched_bytes(program, &nest);
    let cost = cost(program, nest.len(), touched);
    let residence = residence(touched, Team::new(cost, None).threads());
    let nests = match is_parallel(cost) {
        true => nest.tiles(),
        false => SmallVec::from_iter([nest]),
    };
    for (number, nest) in nests.iter().enumerate() {
        let mut schedule = Schedule::default();
        // Which steps are fused depends on the CPU and on earlier calls.
        schedule.make_unfused(program, nest, residence);
        let description = Description { program, nest, schedule: &schedule, names, constants };
        match number {
            0 => description.write(&mut text),
            _ => _ = writeln!(text, "remainder of the tiles: {}", description.loops()),
        }
    }
    text
}

/// `20000 x 1024 elements`.
fn elements(sizes: impl Iterator<Item = usize>) -> String {
    let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
    match sizes.join(" x ").as_str() {
        "" | "1" => "1 element".into(),
        sizes => format!("{sizes} elements"),
    }
}

struct Description<'t> {
    program: &'t Program,
    nest: &'t LoopNest,
    schedule: &'t Schedule,
    names: &'t [String],
    constants: &'t [String],
}

impl Description<'_> {
    fn write(&self, text: &mut String) {
        let block = self.schedule.block;
        let _ = writeln!(text, "loops: {}", self.loops());
        let _ = writeln!(text, "block: {}", elements(block.sizes(self.nest).filter(|&size| size > 1)));
        for (input, name) in self.names.iter().enumerate() {
            let _ = writeln!(text, "  {name}: {}", self.input(input));
        }
        let _ = writeln!(text, "  result: {}", self.output());
        let mut held = HashMap::new();
        for (when, actions) in [("once", &self.schedule.once), ("for each block", &self.schedule.each)] {
            let steps: Vec<String> =
                actions.iter().filter_map(|action| self.step(action, &mut held)).collect();
            if !steps.is_empty() {
                let _ = writeln!(text, "{when}:");
                steps.iter().for_each(|step| _ = writeln!(text, "  {step}"));
            }
        }
    }

    /// Sizes of the loops, outermost first.
    fn loops(&self) -> String {
        elements(self.nest.sizes().iter().copied())
    }

    fn input(&self, input: usize) -> String {
        let program = self.program;
        if !program.steps.iter().any(|step| step.inputs.contains(&input)) && !program.results.contains(&input)
        {
            return "not read: the result does not depend on it".into();
        }
        let is_gathered = |actions: &[Action]| {
            actions
                .iter()
                .any(|action| matches!(action, Action::Gather { input: own, .. } if *own as usize == input))
        };
        let block = self.schedule.block;
        let loops = block.loops(self.nest, 1 + input);
        let moves = |level: usize| self.nest.level(level).1[1 + input] != 0;
        let is_part_of_row = block.level == self.nest.depth() - 1;
        let is_row = block.level > 0 && is_part_of_row && !(0..block.level).any(moves);
        let is_row_of = |stride: isize| match loops[..] {
            [(len, own), _] => len == self.schedule.row_len && own == stride,
            _ => false,
        };
        if is_row_of(0) {
            return "a column: one element for each row".into();
        }
        if is_gathered(&self.schedule.once) {
            return "the same in every block, gathered once".into();
        }
        if is_gathered(&self.schedule.each) {
            return match loops[..] {
                [(_, stride), (_, row_stride), ..]
                    if row_stride != 0 && stride.unsigned_abs() > row_stride.unsigned_abs() =>
                {
                    "transposed into each block".into()
                }
                [(_, 0), ..] => "one element for each row, repeated into each block".into(),
                [(_, 1), ..] => "contiguous rows, gathered into each block".into(),
                [(_, stride), ..] => format!("stride {}, gathered into each block", stride.unsigned_abs()),
                [] => String::new(),
            };
        }
        let is_invariant = block.is_invariant(self.nest, 1 + input);
        match () {
            _ if is_scalar(&loops) && is_invariant => "broadcast scalar".into(),
            _ if is_scalar(&loops) => "broadcast scalar, one for each block".into(),
            _ if !block.is_whole(self.nest) && is_invariant => {
                "the same in every block, read in place".into()
            }
            _ if is_row_of(1) => "read in place, row by row".into(),
            _ if is_row => "the same in every row, read in place".into(),
            _ => "read in place".into(),
        }
    }

    fn output(&self) -> &'static str {
        match self.schedule.output {
            OutputLayout::Contiguous => "written in place",
            OutputLayout::Rows => "written in place, row by row",
            OutputLayout::Scattered => "scattered from a block",
            OutputLayout::Folded => "folded into accumulators",
        }
    }

    /// `t1 = multiply(a, 2)`, for kernel calls. `held` is what scratch blocks hold.
    fn step(&self, action: &Action, held: &mut HashMap<u32, String>) -> Option<String> {
        match action {
            Action::Gather { input, scratch, .. } => {
                held.insert(*scratch, self.names.get(*input as usize).cloned().unwrap_or_default());
                None
            }
            Action::Store { from } | Action::FoldOp { from, .. } | Action::FoldPositions { from, .. } => {
                Some(format!("result = {}", self.value(from, held)))
            }
            Action::Expand { .. } | Action::FoldPairs { .. } | Action::CallFused { .. } => None,
            Action::Call { step, inputs, span, scratch, .. } => {
                let Step { key, inputs: arguments, .. } = &self.program.steps[*step as usize];
                let inputs: Vec<String> =
                    inputs[..arguments.len()].iter().map(|value| self.value(value, held)).collect();
                let label = scratch.map_or_else(|| "result".into(), |_| format!("t{}", step + 1));
                let of_span = match span {
                    BlockSpan::Scalar => ", a scalar",
                    BlockSpan::Column => ", one element for each row",
                    BlockSpan::Block => "",
                };
                let step = format!("{label} = {}({}){of_span}", key.name(), inputs.join(", "));
                held.extend(scratch.map(|scratch| (scratch, label)));
                Some(step)
            }
        }
    }

    /// Name of a value that a step takes.
    fn value(&self, value: &BlockRef, held: &HashMap<u32, String>) -> String {
        let known = match value.location {
            Location::Input(input) => self.names.get(input as usize),
            Location::Constant(constant) => self.constants.get(constant as usize),
            Location::Scratch(scratch) => held.get(&scratch),
        };
        known.cloned().unwrap_or_default()
    }
}
