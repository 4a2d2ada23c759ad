//! Block programs: chains of kernels.

use super::check::Check;
use super::fused_kernels::FusedKernels;
use super::slot::Slot;
use crate::flags;
use crate::nest::LoopNest;
use crate::tuning::{
    BLOCK_ELEMENTS, L1_BUDGET, MAX_BLOCK_MULTIPLE, MAX_FEW_KERNELS, MAX_FUSED_STEPS, MIN_PAIR_ROW_LEN,
    MIN_ROW_LEN, ONE_KERNEL_BLOCK, STEP_OVERHEAD,
};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::sync::Arc;
use unishape_kernels::{
    Constant, DType, FoldKernel, FoldOp, Kernel, KernelContext, KernelKey, PairFoldKernel,
    PositionFoldKernel, find_fold,
};

/// The fold of indices: the lowest.
fn lowest_index() -> FoldKernel {
    find_fold(FoldOp::Min, DType::I64).expect("int64 has minima")
}

/// Largest number of inputs of a kernel.
pub(super) const MAX_ARITY: usize = 3;

/// A kernel call of a program.
#[derive(Clone, Debug)]
pub struct Step {
    /// What the kernel computes.
    pub key: KernelKey,
    /// The kernel.
    pub kernel: Kernel,
    /// Values that the kernel takes.
    pub inputs: SmallVec<[usize; 3]>,
    /// Bytes of an element of the result.
    pub item: usize,
}

/// A kernel that folds values computed from two operands.
///
/// The steps that compute these values are left out.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The kernel.
    pub kernel: PairFoldKernel,
    /// The values of the program that it takes.
    pub inputs: [usize; 2],
}

/// A kernel that folds a result into the index of its smallest or largest element.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The kernel.
    pub kernel: PositionFoldKernel,
    /// The operand that has the index of each element.
    ///
    /// See [`Input::index`](super::Input::index).
    pub index: usize,
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
    /// How exceptional results of each step are found.
    pub(super) checks: Vec<Check>,
    /// The kernel that folds each result, unless the result is stored.
    pub(super) folds: SmallVec<[FoldKernel; 1]>,
    /// For each result, the kernel that folds it without its last steps, where there is one and the layout allows it.
    pub(super) pairs: SmallVec<[Option<Pair>; 1]>,
    /// For each result, the kernel that finds the index of an element, where that is what is folded. The fold of such a
    /// result is the lowest index.
    pub(super) positions: SmallVec<[Option<Position>; 1]>,
    /// Which steps the kernels of pairs replace.
    pub(super) is_replaced: Vec<bool>,
    /// Which operands are indices, see [`Input::index`](super::Input::index).
    pub(super) is_index: Vec<bool>,
    /// The values that are results. Several are folded along the same loops.
    pub(super) results: SmallVec<[usize; 1]>,
    /// Last step that takes each value; `usize::MAX` for results.
    pub(super) last_use: Vec<usize>,
    /// Elements of a block: as many as fit the L1 cache with all values that are live at a time.
    pub(super) block_elements: usize,
    /// Elements of a block where one fused kernel computes all steps.
    pub(super) one_kernel_block: usize,
    /// Cost of starting a block and its steps, in elements copied one by one.
    pub(super) block_overhead: usize,
    /// Rows of at least this many elements may be processed one by one.
    pub(super) min_row_len: usize,
    /// Whether steps that can be computed together follow each other.
    pub(super) has_fusable_neighbours: bool,
    /// Whether all steps can be computed by fused kernels, and are few enough for one.
    pub(super) is_fusable: bool,
    /// Compiled code for some of the steps. Clones share it.
    pub(super) fused: Arc<FusedKernels>,
    /// The schedule of the most recent small call.
    pub(super) recent: Slot,
}

impl Program {
    /// A program of these steps.
    ///
    /// Computes everything that does not depend on the arrays' layout, once.
    pub fn new(operands: Vec<usize>, constants: Vec<Constant>, steps: Vec<Step>, result: usize) -> Program {
        Program::with_results(operands, constants, steps, smallvec![result])
    }

    fn with_results(
        operands: Vec<usize>,
        constants: Vec<Constant>,
        steps: Vec<Step>,
        results: SmallVec<[usize; 1]>,
    ) -> Program {
        let mut last_use = vec![0; operands.len() + constants.len() + steps.len()];
        for (number, step) in steps.iter().enumerate() {
            for &value in &step.inputs {
                last_use[value] = number;
            }
        }
        results.iter().for_each(|&result| last_use[result] = usize::MAX);
        let block_overhead = STEP_OVERHEAD * (1 + steps.len());
        let fused = FusedKernels::new(steps.iter().map(|step| step.key));
        let first = operands.len() + constants.len();
        let is_fusable =
            |value: &usize| value.checked_sub(first).is_some_and(|step| fused.fusable[step].is_some());
        let has_fusable_neighbours = (steps.iter().zip(&fused.fusable))
            .any(|(step, own)| own.is_some() && step.inputs.iter().any(is_fusable));
        let is_fusable =
            (1..=MAX_FUSED_STEPS).contains(&steps.len()) && fused.fusable.iter().all(Option::is_some);
        let mut program = Program {
            is_index: vec![false; operands.len()],
            folds: SmallVec::new(),
            pairs: SmallVec::new(),
            positions: SmallVec::new(),
            is_replaced: vec![false; steps.len()],
            operands,
            constants,
            checks: steps.iter().map(|step| Check::new(step.key)).collect(),
            steps,
            results,
            last_use,
            block_elements: 0,
            one_kernel_block: ONE_KERNEL_BLOCK,
            block_overhead,
            min_row_len: MIN_ROW_LEN,
            has_fusable_neighbours,
            is_fusable,
            fused: Arc::new(fused),
            recent: Slot::default(),
        };
        let block = L1_BUDGET / program.max_live_bytes().max(3) / MAX_BLOCK_MULTIPLE * MAX_BLOCK_MULTIPLE;
        program.block_elements = block.clamp(*BLOCK_ELEMENTS.start(), *BLOCK_ELEMENTS.end());
        program
    }

    /// The same program, whose steps are fused at once, also for the smallest arrays.
    #[cfg(test)]
    pub(super) fn with_immediate_fusion(self) -> Program {
        let fused = FusedKernels::compiled_immediately(self.steps.iter().map(|step| step.key));
        Program { fused: Arc::new(fused), ..self }
    }

    /// The same program with its results folded into accumulators, instead of stored.
    #[must_use]
    pub fn folding(self, kernel: FoldKernel) -> Program {
        Program { folds: smallvec![kernel], ..self }
    }

    /// The same program, whose output is the index of the smallest or largest result.
    ///
    /// # Panics
    ///
    /// Where the operand that has the indices is none of [indices](Program::with_index).
    #[must_use]
    pub fn finding_position(self, position: Position) -> Program {
        assert!(self.is_index[position.index], "an operand of indices");
        Program { folds: smallvec![lowest_index()], positions: smallvec![Some(position)], ..self }
    }

    /// The kernel that finds the index of an element, where a result is folded so.
    #[inline]
    pub(super) fn position(&self, result: usize) -> Option<&Position> {
        self.positions.get(result)?.as_ref()
    }

    /// Whether an operand of the nest, of which the first is the output, is indices that a fold of positions takes: these
    /// are not gathered.
    pub(super) fn is_position_index(&self, operand: usize) -> bool {
        self.positions.iter().flatten().any(|position| 1 + position.index == operand)
    }

    /// The same program with [pairs](Pair) for some of its results.
    ///
    /// There is one entry for each result. Its kernel folds without the last steps of that result.
    ///
    /// Where the layout of the arrays does not allow it, the steps are computed.
    ///
    /// # Panics
    ///
    /// Where there is not an entry for each result, or a kernel takes values that do not exist.
    #[must_use]
    pub fn with_pairs(mut self, pairs: &[Option<Pair>]) -> Program {
        assert_eq!(pairs.len(), self.folds.len(), "an entry for each result");
        let first = self.operands.len() + self.constants.len();
        self.pairs = SmallVec::from_slice(pairs);
        // Values that are taken by a step that is computed, by a pair, or that are folded themselves.
        let mut is_taken = vec![false; self.last_use.len()];
        for (pair, &result) in pairs.iter().zip(&self.results) {
            match pair {
                Some(pair) => pair.inputs.iter().for_each(|&value| {
                    is_taken[value] = true;
                    self.last_use[value] = usize::MAX;
                }),
                None => is_taken[result] = true,
            }
        }
        for (number, step) in self.steps.iter().enumerate().rev() {
            self.is_replaced[number] = !is_taken[first + number];
            if is_taken[first + number] {
                step.inputs.iter().for_each(|&value| is_taken[value] = true);
            }
        }
        if self.is_only_pairs() {
            // There are neither scratch blocks nor calls for each row.
            (self.block_elements, self.min_row_len) = (*BLOCK_ELEMENTS.end(), MIN_PAIR_ROW_LEN);
        }
        self
    }

    /// Whether all results are folded by kernels of pairs, and no step is computed.
    pub fn is_only_pairs(&self) -> bool {
        !self.pairs.is_empty() && self.pairs.iter().all(Option::is_some) && !self.is_replaced.contains(&false)
    }

    /// Whether one fused kernel may compute all steps. A single step gains where it has rows, which its own kernel computes
    /// one by one.
    pub(super) fn can_be_one_kernel(&self, nest: &LoopNest) -> bool {
        let gains = self.steps.len() > 1 || nest.depth() > 1;
        self.is_fusable && gains && !self.is_folding() && self.fused.is_ready(nest.len())
    }

    /// Whether all steps can be computed by one kernel that is compiled at run time.
    pub fn is_fusable(&self) -> bool {
        self.is_fusable
    }

    /// Joins programs into one with the results of all.
    ///
    /// All fold their results along the same loops.
    ///
    /// `operands` has the number that each operand of each program has in the joint program. What several programs
    /// compute from the same operands is computed once.
    ///
    /// # Panics
    ///
    /// Where a program stores its results, or operands with one number differ.
    #[must_use]
    pub fn joint(programs: &[&Program], operands: &[&[usize]]) -> Program {
        assert_eq!(programs.len(), operands.len(), "the operands of each program");
        let count = operands.iter().flat_map(|own| own.iter()).max().map_or(0, |&last| last + 1);
        let (mut items, mut is_index) = (vec![0; count], vec![false; count]);
        let mut constants: Vec<Constant> = Vec::new();
        let mut constant_numbers: HashMap<Constant, usize> = HashMap::new();
        for (program, own) in programs.iter().zip(operands) {
            assert!(own.len() == program.operands.len() && !program.folds.is_empty(), "a program that folds");
            for (at, &operand) in own.iter().enumerate() {
                let is_new = items[operand] == 0;
                let is_same =
                    (items[operand], is_index[operand]) == (program.operands[at], program.is_index[at]);
                assert!(is_new || is_same, "one operand");
                (items[operand], is_index[operand]) = (program.operands[at], program.is_index[at]);
            }
            for &constant in &program.constants {
                constant_numbers.entry(constant).or_insert_with(|| {
                    constants.push(constant);
                    constants.len() - 1
                });
            }
        }
        let first = count + constants.len();
        let (mut steps, mut results, mut folds) = (Vec::<Step>::new(), SmallVec::new(), SmallVec::new());
        let mut pairs: SmallVec<[Option<Pair>; 4]> = SmallVec::new();
        let mut positions: SmallVec<[Option<Position>; 1]> = SmallVec::new();
        // A kernel with its inputs, by the number of its step.
        let mut numbers: HashMap<(KernelKey, SmallVec<[usize; 3]>), usize> = HashMap::new();
        for (program, own) in programs.iter().zip(operands) {
            let constants = program.constants.iter().map(|constant| count + constant_numbers[constant]);
            let mut values: Vec<usize> = own.iter().copied().chain(constants).collect();
            for step in &program.steps {
                let inputs: SmallVec<[usize; 3]> = step.inputs.iter().map(|&value| values[value]).collect();
                let number = *numbers.entry((step.key, inputs.clone())).or_insert_with(|| {
                    steps.push(Step { inputs, ..step.clone() });
                    steps.len() - 1
                });
                values.push(first + number);
            }
            results.extend(program.results.iter().map(|&result| values[result]));
            folds.extend(program.folds.iter().copied());
            let of_result = |result: usize| {
                let Pair { kernel, inputs } = (*program.pairs.get(result)?)?;
                Some(Pair { kernel, inputs: inputs.map(|value| values[value]) })
            };
            pairs.extend((0..program.results.len()).map(of_result));
            let position = |result: usize| {
                program.position(result).map(|position| Position { index: own[position.index], ..*position })
            };
            positions.extend((0..program.results.len()).map(position));
        }
        Program { is_index, folds, positions, ..Program::with_results(items, constants, steps, results) }
            .with_pairs(&pairs)
    }

    /// Whether another program has the same operands, constants, steps and results.
    ///
    /// Programs with the same results may fold them differently.
    pub fn is_same(&self, other: &Program) -> bool {
        let is_same = |(a, b): (&Step, &Step)| a.key == b.key && a.inputs == b.inputs;
        self.operands == other.operands
            && self.constants == other.constants
            && self.is_index == other.is_index
            && self.results == other.results
            && self.steps.len() == other.steps.len()
            && self.steps.iter().zip(&other.steps).all(is_same)
    }

    /// The step that computes a value; `None` for operands and constants.
    pub fn step(&self, value: usize) -> Option<&Step> {
        self.steps.get(value.checked_sub(self.operands.len() + self.constants.len())?)
    }

    /// Bytes of an element of each operand.
    pub fn operand_items(&self) -> &[usize] {
        &self.operands
    }

    /// The steps, in the order of execution.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The values that are results.
    pub fn results(&self) -> &[usize] {
        &self.results
    }

    /// The constants.
    pub fn constants(&self) -> &[Constant] {
        &self.constants
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

    /// The steps as text, such as `t1 = multiply(a, 2)`, and the names of the results.
    ///
    /// `names` are those of the operands, `constants` those of the constants.
    pub fn listing(&self, names: &[String], constants: &[String]) -> (Vec<String>, Vec<String>) {
        let first = self.operands.len() + self.constants.len();
        let name = |value: usize| match value.checked_sub(self.operands.len()) {
            None => names.get(value).cloned().unwrap_or_default(),
            Some(constant) if value < first => constants.get(constant).cloned().unwrap_or_default(),
            Some(_) => format!("t{}", value - first + 1),
        };
        let step = |(number, step): (usize, &Step)| {
            let inputs: Vec<String> = step.inputs.iter().map(|&input| name(input)).collect();
            format!("{} = {}({})", name(first + number), step.key.name(), inputs.join(", "))
        };
        let results = self.results.iter().map(|&result| name(result)).collect();
        (self.steps.iter().enumerate().map(step).collect(), results)
    }

    /// The value that is the first result.
    pub fn result(&self) -> usize {
        self.results[0]
    }

    /// Whether results are folded.
    pub(super) fn is_folding(&self) -> bool {
        !self.folds.is_empty()
    }

    /// Bytes of one element of each operand and of the results.
    pub(super) fn items_per_element(&self) -> usize {
        self.operands.iter().sum::<usize>()
            + self.results.iter().map(|&result| self.item(result)).sum::<usize>()
    }

    /// Whether the program is a single kernel of its operands.
    pub fn is_single_kernel(&self) -> bool {
        self.steps.len() == 1
            && self.constants.is_empty()
            && self.result() == self.operands.len()
            && !self.is_folding()
            && !self.is_index.contains(&true)
    }

    /// Calls a function that folds values of a result; the CPU's flags of comparisons are ignored.
    pub(super) fn fold_flags(&self, result: usize, fold: impl FnOnce()) {
        match self.folds[result].has_flags || !flags::are_watched() {
            true => fold(),
            false => flags::without(fold),
        }
    }

    /// Number of steps.
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// Whether the program is a few kernels, whose results are stored.
    #[inline]
    pub fn is_few_kernels(&self) -> bool {
        (1..=MAX_FEW_KERNELS).contains(&self.steps.len())
            && self.results[..] == [self.last_use.len() - 1]
            && !self.is_folding()
            && !self.is_index.contains(&true)
    }

    /// Runs [few kernels](Program::is_few_kernels) on the bytes of elements.
    ///
    /// Elements are contiguous, and equally many of each operand and of the result. One kernel runs after another:
    /// for few elements, for which a schedule takes longer.
    ///
    /// # Panics
    ///
    /// Where the program has other kernels, or the bytes are not those of its elements: their number, or the alignment of
    /// their addresses.
    pub fn run_few_kernels(&self, inputs: &[&[u8]], output: &mut [u8]) {
        assert!(
            self.is_few_kernels() && inputs.len() == self.operands.len(),
            "a few kernels of the operands"
        );
        let Some((last, steps)) = self.steps.split_last() else { return };
        let count = output.len() / last.item;
        let has_size = |(input, item): (&&[u8], &usize)| input.len() == count * item;
        assert!(
            output.len() == count * last.item && inputs.iter().zip(&self.operands).all(has_size),
            "elements of the program"
        );
        if output.is_empty() {
            // Empty slices need not be aligned.
            return;
        }
        if count >= self.fused.min_elements && self.is_single_kernel() {
            return self.run_single_kernel(inputs, output);
        }
        let mut context = KernelContext::default();
        let first = self.operands.len() + self.constants.len();
        let mut results: SmallVec<[(Vec<u128>, usize); MAX_FEW_KERNELS]> = SmallVec::new();
        let mut run = |step: &Step, check: &Check, results: &[(Vec<u128>, usize)], output: &mut [u8]| {
            let mut sources: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
            for (source, &input) in sources.iter_mut().zip(&step.inputs) {
                *source = match input.checked_sub(self.operands.len()) {
                    None => inputs[input],
                    Some(constant) if input < first => self.constants[constant].bytes(),
                    Some(_) => {
                        let (elements, bytes) = &results[input - first];
                        &bytemuck::cast_slice(elements)[..*bytes]
                    }
                };
            }
            check.call(step.kernel, &sources[..step.inputs.len()], output, &mut context);
        };
        for (step, check) in steps.iter().zip(&self.checks) {
            let is_scalar = |input: &usize| match input.checked_sub(first) {
                None => *input >= self.operands.len(),
                Some(step) => results[step].1 == self.steps[step].item,
            };
            // A result of constants is one element.
            let bytes = if step.inputs.iter().all(is_scalar) { step.item } else { count * step.item };
            let mut result = vec![0u128; bytes.div_ceil(size_of::<u128>())];
            run(step, check, &results, &mut bytemuck::cast_slice_mut(&mut result)[..bytes]);
            results.push((result, bytes));
        }
        run(last, &self.checks[steps.len()], &results, output);
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
