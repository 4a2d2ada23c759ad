//! A reduction: its loops and arrays.

use crate::body::{Body, identity};
use crate::error::Error;
use crate::launch::Buffer;
use crate::operand::Operand;
use crate::text::Text;
use crate::types::c_type;
use unishape_engine::nest::LoopNest;
use unishape_kernels::{DType, FoldOp};

/// Threads of a block.
pub(super) const THREADS: usize = 256;

/// Bytes of a vector.
pub(super) const VECTOR: usize = 16;

/// Bytes of shared memory that a block may use on every device.
pub(super) const SHARED: usize = 48 << 10;

/// Number of blocks from which on a GPU is busy.
pub(super) const MANY_BLOCKS: usize = 2048;

/// Number of results from which on sums over all pairs have a thread for each.
pub(super) const MANY_RESULTS: usize = 1024;

/// Indices of 32 bits are less: they are divided by multiplication, and the steps of threads go beyond the last one.
pub(super) const MAX_INDEX: usize = 1 << 31;

/// A reduction: its loops and arrays.
#[derive(Debug)]
pub(super) struct FoldLoops<'f> {
    /// The loops that are kept, in the order of memory. Outputs come first among the arrays.
    pub(super) kept: LoopNest,
    /// The loops that are reduced. Arrays are inputs only.
    pub(super) reduced: LoopNest,
    pub(super) inputs: Vec<Operand>,
    pub(super) outputs: Vec<Operand>,
    pub(super) body: &'f Body,
}

/// How the loops of a reduction are split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// Iterations of the reduced loops for each part.
    pub(super) size: usize,
    /// Number of parts.
    pub(super) parts: usize,
}

impl Split {
    /// At most `parts` parts, whose sizes are multiples of `multiple`.
    pub(super) fn new(iterations: usize, parts: usize, multiple: usize) -> Split {
        let size = iterations.div_ceil(parts.max(1)).next_multiple_of(multiple.max(1)).max(1);
        Split { size, parts: iterations.div_ceil(size).max(1) }
    }
}

impl FoldLoops<'_> {
    /// Stride of input `input` in a kept loop.
    pub(super) fn kept_stride(&self, level: usize, input: usize) -> isize {
        self.kept.level(level).1[self.outputs.len() + input]
    }

    /// Strides of an input in all kept loops.
    pub(super) fn kept_strides(&self, input: usize) -> Vec<isize> {
        let stride = |level| if self.kept.sizes()[level] > 1 { self.kept_stride(level, input) } else { 0 };
        (0..self.kept.depth()).map(stride).collect()
    }

    /// Strides of an input in all reduced loops.
    pub(super) fn reduced_strides(&self, input: usize) -> Vec<isize> {
        (0..self.reduced.depth()).map(|level| self.reduced.level(level).1[input]).collect()
    }

    /// Strides of an output in all kept loops.
    pub(super) fn output_strides(&self, output: usize) -> Vec<isize> {
        (0..self.kept.depth()).map(|level| self.kept.level(level).1[output]).collect()
    }

    pub(super) fn is_moving(sizes: &[usize], strides: &[isize]) -> bool {
        sizes.iter().zip(strides).any(|(&size, &stride)| size > 1 && stride != 0)
    }

    /// Whether an input changes along reduced loops.
    pub(super) fn is_reduced(&self, input: usize) -> bool {
        Self::is_moving(self.reduced.sizes(), &self.reduced_strides(input))
    }

    /// Whether what is read is contiguous along kept loops rather than along reduced ones.
    pub(super) fn has_columns(&self) -> bool {
        if self.kept.len() == 1 || self.reduced.len() >= MAX_INDEX {
            return false;
        }
        let smallest = |sizes: &[usize], strides: &[isize]| {
            let moving = sizes.iter().zip(strides).filter(|(size, stride)| **size > 1 && **stride != 0);
            moving.map(|(_, stride)| stride.unsigned_abs()).min()
        };
        let elements = |sizes: &[usize], strides: &[isize]| {
            let moving = sizes.iter().zip(strides).filter(|(_, stride)| **stride != 0);
            moving.fold(1usize, |all, (&size, _)| all.saturating_mul(size))
        };
        // The largest input that changes along both, with its smallest strides.
        let both = (0..self.inputs.len()).filter_map(|input| {
            let (kept, reduced) = (self.kept_strides(input), self.reduced_strides(input));
            let along_kept = smallest(self.kept.sizes(), &kept)?;
            let along_reduced = smallest(self.reduced.sizes(), &reduced)?;
            let size =
                elements(self.kept.sizes(), &kept).saturating_mul(elements(self.reduced.sizes(), &reduced));
            Some((size, along_kept < along_reduced))
        });
        match both.max_by_key(|&(size, _)| size) {
            Some((_, is_along_kept)) => is_along_kept,
            None => self.kept.len() >= MANY_RESULTS,
        }
    }

    /// The input that is the position of an element, where it grows with the iterations: of equal elements, the one that is
    /// found first then comes first.
    pub(super) fn ordered_positions(&self) -> Option<usize> {
        let position = self.body.position()?;
        if self.inputs.get(position)?.buffer.is_some() {
            return None;
        }
        let strides = self.reduced_strides(position);
        let mut last = 0;
        for (&size, &stride) in self.reduced.sizes().iter().zip(&strides).rev().filter(|(size, _)| **size > 1)
        {
            if stride <= last {
                return None;
            }
            last += stride * (size as isize - 1);
        }
        Some(position)
    }

    /// Bytes of the largest element that changes along some loops.
    pub(super) fn largest_item(&self, is_counted: impl Fn(usize) -> bool) -> usize {
        let items =
            (0..self.inputs.len()).filter(|&input| is_counted(input)).map(|input| self.inputs[input].item);
        items.max().unwrap_or_else(|| self.outputs.iter().map(|output| output.item).max().unwrap_or(1))
    }

    /// Lanes of which the accumulators of all threads fit the shared memory beside `used` bytes, at most.
    pub(super) fn limited(&self, lanes: usize, used: usize) -> usize {
        let bytes: usize = self.body.results.iter().map(|result| result.dtype.item_size()).sum();
        let most = ((SHARED - used) / (THREADS * bytes.max(1))).max(1);
        if lanes <= most { lanes } else { 1 << most.ilog2() }
    }

    /// Declares what kernels read and write, and constants.
    pub(super) fn declare(&self, text: &mut Text, outputs: &[Operand]) -> Result<(), Error> {
        for (number, operand) in self.inputs.iter().enumerate() {
            text.source(number, operand);
        }
        for (number, Operand { buffer, item, start, .. }) in outputs.iter().enumerate() {
            let Some(buffer) = *buffer else { return Err(Error::TooLarge) };
            text.target(number, buffer, *item, *start);
        }
        text.constants(self.body, "k");
        Ok(())
    }

    /// The folds of all results: their numbers, and their dtypes.
    pub(super) fn folds(&self) -> impl Iterator<Item = (usize, FoldOp, DType)> {
        let results = self.body.results.iter().enumerate();
        results.filter_map(|(number, result)| Some((number, result.fold?, result.dtype)))
    }

    /// Declarations of accumulators `a…` with dimensions, and statements that make them neutral. `loops` puts a loop around
    /// a statement for the element with an index.
    pub(super) fn accumulators(
        &self,
        dimensions: &str,
        loops: impl Fn(&dyn Fn(&str) -> String) -> String,
    ) -> String {
        let each = |(number, fold, dtype): (usize, FoldOp, DType)| {
            let set = |index: &str| format!("a{number}{index} = {};", identity(fold, dtype));
            format!("  {} a{number}{dimensions};\n{}\n", c_type(dtype), loops(&set))
        };
        let extra =
            |(number, dtype): (usize, DType)| format!("  {} a{number}{dimensions} = {{}};\n", c_type(dtype));
        self.folds().map(each).chain(self.body.extra_accumulators().into_iter().map(extra)).collect()
    }

    /// Arrays for the results of parts, and the reduction of these.
    ///
    /// The arrays have one more loop than the results, the first or the last one.
    pub(super) fn parts(
        &self,
        split: Split,
        is_first: bool,
        allocate: &mut dyn FnMut(usize) -> Buffer,
    ) -> (Vec<Operand>, SecondPass) {
        let count = self.kept.len();
        let mut sizes = self.kept.sizes().to_vec();
        let at = if is_first { 0 } else { sizes.len() };
        sizes.insert(at, split.parts);
        let strides = unishape_engine::layout::row_major(&sizes);
        let part = |output: &Operand| {
            let buffer = Some(allocate(count * split.parts * output.item));
            Operand { buffer, alignment: 256, start: 0, strides: strides.clone(), item: output.item }
        };
        let inputs: Vec<Operand> = self.outputs.iter().map(part).collect();
        let outputs = (0..self.outputs.len()).map(|output| {
            let mut strides = self.output_strides(output);
            strides.insert(at, 0);
            Operand { strides, ..self.outputs[output].clone() }
        });
        let outputs = outputs.collect();
        let body = self.body.of_partial_results();
        (inputs.clone(), SecondPass { sizes, reduced: at, inputs, outputs, body })
    }
}

/// The reduction of the results of parts of a reduction.
#[derive(Debug)]
pub(super) struct SecondPass {
    pub(super) sizes: Vec<usize>,
    /// The loop that is reduced.
    pub(super) reduced: usize,
    pub(super) inputs: Vec<Operand>,
    pub(super) outputs: Vec<Operand>,
    pub(super) body: Body,
}
