//! The loop nest and the schedule of a program's most recent small call, kept for the next one.
//!
//! For a few thousand elements it takes longer to make them than to run them, and small calls mostly repeat: the same
//! shapes and strides at other addresses.

use super::array::{Input, Output};
use super::call::cost;
use super::program::Program;
use super::schedule::{Residence, Schedule};
use crate::nest::LoopNest;
use crate::parallel::is_parallel;
use smallvec::SmallVec;

/// The loop nest and the schedule of a small call, and the arrays that they were made for.
#[derive(Default)]
pub(super) struct RecentCall {
    shape: SmallVec<[usize; 6]>,
    /// Shape of the array that the output is a part of.
    whole: SmallVec<[usize; 6]>,
    /// Strides of the output, then those of each input.
    strides: SmallVec<[isize; 24]>,
    /// The nest, once there is one.
    nest: Option<LoopNest>,
    schedule: Schedule,
    /// Whether fused kernels were ready when the schedule was made.
    had_fused: bool,
    /// Accumulators of a result that is folded.
    accumulators: usize,
}

impl RecentCall {
    /// The nest and the schedule for these arrays, with the number of accumulators of each result that is folded.
    ///
    /// Makes them where they were made for others; `make` gives the nest and the accumulators. `None` where that does.
    pub(super) fn of(
        &mut self,
        program: &Program,
        inputs: &[Input<'_>],
        output: &Output<'_>,
        make: impl FnOnce() -> Option<(LoopNest, usize)>,
    ) -> Option<(&LoopNest, &Schedule, usize)> {
        if !self.fits(program, inputs, output) {
            self.nest = None;
            let (nest, accumulators) = make()?;
            self.had_fused = program.fused.is_ready(nest.len());
            self.schedule.make(program, &nest, Residence::Cache);
            self.shape = SmallVec::from_slice(output.shape);
            self.whole = SmallVec::from_slice(output.whole);
            self.strides.clear();
            self.strides.extend_from_slice(output.strides);
            inputs.iter().for_each(|input| self.strides.extend_from_slice(input.strides));
            self.accumulators = accumulators;
            self.nest = Some(nest);
        }
        Some((self.nest.as_ref()?, &self.schedule, self.accumulators))
    }

    /// Whether the schedule is one for these arrays, whose ranks are equal.
    fn fits(&self, program: &Program, inputs: &[Input<'_>], output: &Output<'_>) -> bool {
        let (Some(nest), rank) = (&self.nest, output.shape.len()) else { return false };
        let mut strides = &self.strides[..];
        let mut is_next = |other: &[isize]| match strides.split_at_checked(rank) {
            Some((own, rest)) => {
                strides = rest;
                own == other
            }
            None => false,
        };
        self.shape[..] == *output.shape
            && self.whole[..] == *output.whole
            && is_next(output.strides)
            && inputs.iter().all(|input| is_next(input.strides))
            && !self.can_fuse(program, nest.len())
    }

    /// Whether fused kernels have become ready since the schedule was made. Counts the work of a call, as a new schedule
    /// would.
    fn can_fuse(&self, program: &Program, elements: usize) -> bool {
        if self.had_fused || elements < program.fused.min_elements {
            return false;
        }
        program.fused.add_work(elements);
        program.fused.is_ready(elements)
    }
}

/// Whether one thread computes a call with this output, wherever its inputs are stretched.
pub(super) fn is_small(program: &Program, output: &Output<'_>) -> bool {
    let elements = output.shape.iter().fold(1, |product: usize, &size| product.saturating_mul(size));
    !is_parallel(cost(program, elements, elements.saturating_mul(program.items_per_element())))
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Step, run};
    use super::*;
    use unishape_kernels::{DType, FoldOp, KernelKey, Op, find_fold, find_kernel};

    fn step(op: Op, inputs: [usize; 2]) -> Step {
        let kernel = find_kernel(op, DType::F32).unwrap();
        Step { key: KernelKey::Call(op, DType::F32), kernel, inputs: inputs.into_iter().collect(), item: 4 }
    }

    /// `(a + b) * b`, or its sums along the rows.
    fn program(is_folding: bool) -> Program {
        let steps = vec![step(Op::Add, [0, 1]), step(Op::Multiply, [2, 1])];
        let program = Program::new(vec![4, 4], vec![], steps, 3);
        if is_folding { program.folding(find_fold(FoldOp::Sum, DType::F32).unwrap()) } else { program }
    }

    const OPTIONS: Options<'static> =
        Options { is_output_fresh: false, threads: None, should_continue: &|_| true };

    /// The result for matrices with these rows and columns; rows of `b` have this distance.
    fn result(program: &Program, [rows, columns]: [usize; 2], distance: isize, first: f32) -> Vec<f32> {
        let a: Vec<f32> = (0..rows * columns).map(|i| first + (i % 7) as f32).collect();
        let b: Vec<f32> = (0..rows * columns).map(|i| (i % 5) as f32 - first).collect();
        let (shape, is_folding) = ([rows, columns], program.is_folding());
        let mut results = vec![f32::NAN; if is_folding { rows } else { rows * columns }];
        let strides = [columns as isize, 1];
        let (b_strides, out_strides) = ([distance, 1], if is_folding { [1, 0] } else { strides });
        // Safety: these are rows of the vectors.
        unsafe {
            let inputs =
                [Input::new(a.as_ptr(), &shape, &strides), Input::new(b.as_ptr(), &shape, &b_strides)];
            let (first, mask) = (results.as_mut_ptr(), u8::MAX);
            let mut output = match is_folding {
                true => Output::folded(first, &shape, &out_strides, mask),
                false => Output::new(first, &shape, &out_strides, mask),
            };
            assert!(run(program, &inputs, &mut output, OPTIONS));
        }
        results
    }

    /// Calls with other arrays, shapes and strides in turn, before and after fused kernels are compiled.
    #[test]
    fn results_are_those_of_a_new_program() {
        for is_folding in [false, true] {
            let kept = program(is_folding);
            for call in 0..400 {
                let shape = [[20, 30], [30, 20], [3, 200], [1, 64]][call / 3 % 4];
                let distance = [shape[1] as isize, 0, 1][call / 7 % 3];
                let first = call as f32 / 8.0;
                let expected = result(&kept.clone(), shape, distance, first);
                assert_eq!(result(&kept, shape, distance, first), expected, "{call}: {shape:?}, {distance}");
            }
            assert!(kept.fused.is_ready(1000), "fused kernels are used");
        }
    }

    #[test]
    fn a_schedule_is_kept_until_fused_kernels_are_ready() {
        let program = program(false);
        let is_made = |call: &mut RecentCall| {
            let nest = LoopNest::new(&[32, 32], 3, |_, dim| [32, 1][dim]);
            let (shape, strides) = ([32, 32], [32, 1]);
            let (numbers, mut out) = ([0f32; 1024], [0f32; 1024]);
            // Safety: the arrays have 32 rows of 32 elements.
            let (inputs, output) = unsafe {
                let input = Input::new(numbers.as_ptr(), &shape, &strides);
                ([input, input], Output::new(out.as_mut_ptr(), &shape, &strides, u8::MAX))
            };
            let mut is_made = false;
            call.of(&program, &inputs, &output, || {
                is_made = true;
                Some((nest, 0))
            });
            is_made
        };
        let mut call = RecentCall::default();
        let made = (0..300).filter(|_| is_made(&mut call)).count();
        assert_eq!(made, 2, "once, and once more with fused kernels");
    }

    #[test]
    fn large_calls_are_not_small() {
        let program = program(false);
        let (mut out, strides) = ([0f32; 1], [0, 0]);
        let mut is_small = |shape: [usize; 2]| {
            // Safety: all indices lead to one element.
            let output = unsafe { Output::folded(out.as_mut_ptr(), &shape, &strides, u8::MAX) };
            super::is_small(&program, &output)
        };
        assert!(is_small([100, 100]) && !is_small([1000, 1000]) && !is_small([usize::MAX, 2]));
    }
}
