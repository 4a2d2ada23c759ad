//! A chain of kernels.

use smallvec::SmallVec;
use unishape_kernels::{Constant, Kernel};

/// One kernel of a chain, and which values it takes.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What it is called, for people.
    pub(crate) name: &'static str,
    pub(crate) kernel: Kernel,
    pub(crate) from: SmallVec<[usize; 3]>,
    /// Bytes of an element of what it gives.
    pub(crate) item: usize,
}

/// A chain of kernels. Values are numbered: the operands first, then the constants, then what each step
/// gives; a step takes only values that come before its own.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Bytes of an element of each operand.
    pub(crate) operands: Vec<usize>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) steps: Vec<Step>,
    /// The value that is the result.
    pub(crate) result: usize,
    /// The last step that takes each value; the result is taken after all.
    pub(super) last_use: Vec<usize>,
    /// How many elements a block has: as many as fit the first cache with all that is alive at a time.
    pub(super) block: usize,
    /// To begin with a block, and with each of its steps, takes as long as to repeat one element so often.
    pub(super) begin: usize,
}

/// Registers, operands in place and the output together take about this much of the first cache.
const CACHE: usize = 24 << 10;

/// To begin with anything takes as long as to repeat one element so often.
const BEGIN: usize = 128;

/// No block has more elements than this, however small they are.
const MOST_ELEMENTS: usize = 8192;

impl Program {
    /// What does not depend on where arrays lie is found out here, once.
    pub(crate) fn new(
        operands: Vec<usize>,
        constants: Vec<Constant>,
        steps: Vec<Step>,
        result: usize,
    ) -> Program {
        let mut last_use = vec![0; operands.len() + constants.len() + steps.len()];
        for (at, step) in steps.iter().enumerate() {
            for &value in &step.from {
                last_use[value] = at;
            }
        }
        last_use[result] = usize::MAX;
        let begin = BEGIN * (1 + steps.len());
        let mut program = Program { operands, constants, steps, result, last_use, block: 0, begin };
        program.block = (CACHE / program.most_alive().max(3) / 64 * 64).clamp(128, MOST_ELEMENTS);
        program
    }

    /// Bytes of an element of a value.
    pub(crate) fn item(&self, value: usize) -> usize {
        let constants = self.operands.len();
        let steps = constants + self.constants.len();
        match value {
            _ if value < constants => self.operands[value],
            _ if value < steps => self.constants[value - constants].bytes().len(),
            _ => self.steps[value - steps].item,
        }
    }

    /// Bytes of one element of each value that is alive, where most of them are. Constants take no room.
    fn most_alive(&self) -> usize {
        let is_constant =
            |value| (self.operands.len()..self.operands.len() + self.constants.len()).contains(&value);
        let mut begun = vec![false; self.operands.len()];
        let (mut alive, mut most) = (0usize, 0);
        for (at, step) in self.steps.iter().enumerate() {
            alive += step.item;
            for &value in step.from.iter().filter(|&&value| value < self.operands.len()) {
                if !std::mem::replace(&mut begun[value], true) {
                    alive += self.item(value);
                }
            }
            most = most.max(alive);
            let ends = step.from.iter().filter(|&&value| self.last_use[value] == at && !is_constant(value));
            alive = alive.saturating_sub(ends.map(|&value| self.item(value)).sum());
        }
        most
    }

    /// Bytes read and written for one element.
    pub(super) fn traffic(&self) -> usize {
        self.operands.iter().sum::<usize>() + self.item(self.result)
    }
}
