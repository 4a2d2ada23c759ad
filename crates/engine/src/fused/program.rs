//! Block programs: chains of kernels.

use crate::tuning::{BLOCK_ELEMENTS, L1_BUDGET, MAX_BLOCK_MULTIPLE, MIN_ROW_LEN, STEP_OVERHEAD};
use smallvec::SmallVec;
use unishape_kernels::{Constant, Kernel, KernelContext};

/// Largest number of inputs of a kernel.
pub(super) const MAX_ARITY: usize = 3;

/// A kernel call of a program.
#[derive(Clone, Debug)]
pub struct Step {
    /// Name of the function, for descriptions.
    pub name: &'static str,
    /// The kernel.
    pub kernel: Kernel,
    /// Values that the kernel takes.
    pub inputs: SmallVec<[usize; 3]>,
    /// Bytes of an element of the result.
    pub item: usize,
}

/// A chain of kernels in topological order.
///
/// Values are numbered: operands first, then constants, then the result of each step. A step takes only
/// values with smaller numbers than its own.
#[derive(Clone, Debug)]
pub struct Program {
    /// Bytes of an element of each operand.
    pub(super) operands: Vec<usize>,
    pub(super) constants: Vec<Constant>,
    pub(super) steps: Vec<Step>,
    /// The value that is the result.
    pub(super) result: usize,
    /// Last step that takes each value; `usize::MAX` for the result.
    pub(super) last_use: Vec<usize>,
    /// Elements of a block: as many as fit the L1 cache with all values that are live at a time.
    pub(super) block_elements: usize,
    /// Cost of starting a block and its steps, in elements copied one by one.
    pub(super) block_overhead: usize,
    /// Rows of at least this many elements may be processed one by one.
    pub(super) min_row_len: usize,
}

impl Program {
    /// A program of these steps.
    ///
    /// Computes everything that does not depend on the arrays' layout, once.
    pub fn new(operands: Vec<usize>, constants: Vec<Constant>, steps: Vec<Step>, result: usize) -> Program {
        let mut last_use = vec![0; operands.len() + constants.len() + steps.len()];
        for (number, step) in steps.iter().enumerate() {
            for &value in &step.inputs {
                last_use[value] = number;
            }
        }
        last_use[result] = usize::MAX;
        let block_overhead = STEP_OVERHEAD * (1 + steps.len());
        let mut program = Program {
            operands,
            constants,
            steps,
            result,
            last_use,
            block_elements: 0,
            block_overhead,
            min_row_len: MIN_ROW_LEN,
        };
        let block = L1_BUDGET / program.max_live_bytes().max(3) / MAX_BLOCK_MULTIPLE * MAX_BLOCK_MULTIPLE;
        program.block_elements = block.clamp(*BLOCK_ELEMENTS.start(), *BLOCK_ELEMENTS.end());
        program
    }

    /// Bytes of an element of a value.
    pub fn item(&self, value: usize) -> usize {
        let constants = self.operands.len();
        let steps = constants + self.constants.len();
        match value {
            _ if value < constants => self.operands[value],
            _ if value < steps => self.constants[value - constants].bytes().len(),
            _ => self.steps[value - steps].item,
        }
    }

    /// Bytes of one element of each operand and of the result.
    pub(super) fn items_per_element(&self) -> usize {
        self.operands.iter().sum::<usize>() + self.item(self.result)
    }

    /// Whether the program is a single kernel of its operands.
    pub fn is_single_kernel(&self) -> bool {
        self.steps.len() == 1 && self.constants.is_empty() && self.result == self.operands.len()
    }

    /// Runs a [single kernel](Program::is_single_kernel) on the bytes of contiguous elements, equally many of
    /// each operand and of the result.
    ///
    /// # Panics
    ///
    /// Where the program is no single kernel, or the bytes are not those of its elements: their number, or the
    /// alignment of their addresses.
    #[inline]
    pub fn run_single_kernel(&self, inputs: &[&[u8]], output: &mut [u8]) {
        assert!(
            self.is_single_kernel() && inputs.len() == self.operands.len(),
            "a single kernel of its operands"
        );
        let step = &self.steps[0];
        let count = output.len() / step.item;
        let has_size = |(input, item): (&&[u8], &usize)| input.len() == count * item;
        assert!(output.len() == count * step.item && inputs.iter().zip(&self.operands).all(has_size));
        if output.is_empty() {
            // Empty slices need not be aligned.
            return;
        }
        let mut sources: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
        for (source, &input) in sources.iter_mut().zip(&step.inputs) {
            *source = inputs[input];
        }
        (step.kernel)(&sources[..step.inputs.len()], output, &mut KernelContext::default());
    }

    /// Largest number of bytes that one element of each live value takes. Constants take none.
    fn max_live_bytes(&self) -> usize {
        let is_constant =
            |value| (self.operands.len()..self.operands.len() + self.constants.len()).contains(&value);
        let mut is_live = vec![false; self.operands.len()];
        let (mut live, mut most) = (0usize, 0);
        for (number, step) in self.steps.iter().enumerate() {
            live += step.item;
            for &value in step.inputs.iter().filter(|&&value| value < self.operands.len()) {
                if !std::mem::replace(&mut is_live[value], true) {
                    live += self.item(value);
                }
            }
            most = most.max(live);
            let ends = |&&value: &&usize| self.last_use[value] == number && !is_constant(value);
            live = live.saturating_sub(step.inputs.iter().filter(ends).map(|&value| self.item(value)).sum());
        }
        most
    }
}
