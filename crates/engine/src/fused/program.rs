//! Block programs: chains of kernels.

use crate::tuning::{BLOCK_ELEMENTS, L1_BUDGET, MAX_BLOCK_MULTIPLE, MIN_ROW_LEN, STEP_OVERHEAD};
use smallvec::SmallVec;
use unishape_kernels::{Constant, FoldKernel, Kernel, KernelContext};

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
    /// Folds the results, unless they are stored.
    pub(super) fold: Option<FoldKernel>,
    /// Which operands are indices, see [`Input::index`](super::Input::index).
    pub(super) is_index: Vec<bool>,
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
            is_index: vec![false; operands.len()],
            fold: None,
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

    /// The same program with its results folded into accumulators, instead of stored.
    #[must_use]
    pub fn folding(self, kernel: FoldKernel) -> Program {
        Program { fold: Some(kernel), ..self }
    }

    /// The same program with an operand that is an [index](super::Input::index).
    ///
    /// # Panics
    ///
    /// Where there is no such operand, or its elements do not have 8 bytes.
    #[must_use]
    pub fn with_index(mut self, operand: usize) -> Program {
        assert_eq!(self.operands[operand], size_of::<i64>(), "indices are int64");
        self.is_index[operand] = true;
        self
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

    /// The steps as text, such as `t1 = multiply(a, 2)`, and the name of the result.
    ///
    /// `names` are those of the operands, `constants` those of the constants.
    pub fn listing(&self, names: &[String], constants: &[String]) -> (Vec<String>, String) {
        let first = self.operands.len() + self.constants.len();
        let name = |value: usize| match value.checked_sub(self.operands.len()) {
            None => names.get(value).cloned().unwrap_or_default(),
            Some(constant) if value < first => constants.get(constant).cloned().unwrap_or_default(),
            Some(_) => format!("t{}", value - first + 1),
        };
        let step = |(number, step): (usize, &Step)| {
            let inputs: Vec<String> = step.inputs.iter().map(|&input| name(input)).collect();
            format!("{} = {}({})", name(first + number), step.name, inputs.join(", "))
        };
        (self.steps.iter().enumerate().map(step).collect(), name(self.result))
    }

    /// Bytes of one element of each operand and of the result.
    pub(super) fn items_per_element(&self) -> usize {
        self.operands.iter().sum::<usize>() + self.item(self.result)
    }

    /// Whether the program is a single kernel of its operands.
    pub fn is_single_kernel(&self) -> bool {
        self.steps.len() == 1
            && self.constants.is_empty()
            && self.result == self.operands.len()
            && self.fold.is_none()
            && !self.is_index.contains(&true)
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
    pub(super) fn max_live_bytes(&self) -> usize {
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
            let ends = |&(at, &value): &(usize, &usize)| {
                let is_repeated = step.inputs[..at].contains(&value);
                self.last_use[value] == number && !is_constant(value) && !is_repeated
            };
            let ended = step.inputs.iter().enumerate().filter(ends);
            live -= ended.map(|(_, &value)| self.item(value)).sum::<usize>();
        }
        most
    }
}
