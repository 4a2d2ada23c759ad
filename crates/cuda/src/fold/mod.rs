//! Kernels of reductions.
//!
//! | module | kernels |
//! |---|---|
//! | `rows` | several threads fold one result each: what they read is contiguous along reduced loops |
//! | `columns` | a thread folds several neighbouring results: what it reads is contiguous along kept loops, or is so small that it stays in a cache, as in sums over all pairs |
//!
//! Where there are few results, loops are split: the first pass folds parts of them, the second folds the results of
//! the first. How is decided by shapes and strides only, so that sums have the same bits in each run on each device.

mod columns;
mod rows;

use crate::body::Body;
use crate::error::Error;
use crate::launch::{Buffer, Launch};
use crate::operand::Operand;
use unishape_engine::nest::LoopNest;

/// Threads of a block.
const THREADS: usize = 256;

/// Bytes of a vector.
const VECTOR: usize = 16;

/// Number of blocks from which on a GPU is busy.
const MANY_BLOCKS: usize = 2048;

/// Number of results from which on sums over all pairs have a thread for each.
const MANY_RESULTS: usize = 1024;

/// A reduction: its loops and arrays.
#[derive(Debug)]
struct Fold<'f> {
    /// The loops that are kept, in the order of memory. Outputs come first among the arrays.
    kept: LoopNest,
    /// The loops that are reduced. Arrays are inputs only.
    reduced: LoopNest,
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    body: &'f Body,
}

/// How the loops of a reduction are split.
#[derive(Clone, Copy, Debug)]
struct Split {
    /// Iterations of the reduced loops for each part.
    size: usize,
    /// Number of parts.
    parts: usize,
}

impl Split {
    /// At most `parts` parts, whose sizes are multiples of `multiple`.
    fn new(iterations: usize, parts: usize, multiple: usize) -> Split {
        let size = iterations.div_ceil(parts.max(1)).next_multiple_of(multiple.max(1)).max(1);
        Split { size, parts: iterations.div_ceil(size).max(1) }
    }
}

impl Fold<'_> {
    /// Stride of input `input` in a kept loop.
    fn kept_stride(&self, level: usize, input: usize) -> isize {
        self.kept.level(level).1[self.outputs.len() + input]
    }

    /// Strides of an input in all kept loops.
    fn kept_strides(&self, input: usize) -> Vec<isize> {
        (0..self.kept.depth()).map(|level| self.kept_stride(level, input)).collect()
    }

    /// Strides of an input in all reduced loops.
    fn reduced_strides(&self, input: usize) -> Vec<isize> {
        (0..self.reduced.depth()).map(|level| self.reduced.level(level).1[input]).collect()
    }

    /// Strides of an output in all kept loops.
    fn output_strides(&self, output: usize) -> Vec<isize> {
        (0..self.kept.depth()).map(|level| self.kept.level(level).1[output]).collect()
    }

    fn is_moving(sizes: &[usize], strides: &[isize]) -> bool {
        sizes.iter().zip(strides).any(|(&size, &stride)| size > 1 && stride != 0)
    }

    /// Whether an input changes along reduced loops.
    fn is_reduced(&self, input: usize) -> bool {
        Self::is_moving(self.reduced.sizes(), &self.reduced_strides(input))
    }

    /// Whether what is read is contiguous along kept loops rather than along reduced ones.
    fn has_columns(&self) -> bool {
        if self.kept.len() == 1 || u32::try_from(self.reduced.len()).is_err() {
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
            let size = elements(self.kept.sizes(), &kept).saturating_mul(elements(self.reduced.sizes(), &reduced));
            Some((size, along_kept < along_reduced))
        });
        match both.max_by_key(|&(size, _)| size) {
            Some((_, is_along_kept)) => is_along_kept,
            None => self.kept.len() >= MANY_RESULTS,
        }
    }

    /// Bytes of the largest element that changes along some loops.
    fn largest_item(&self, is_counted: impl Fn(usize) -> bool) -> usize {
        let items = (0..self.inputs.len()).filter(|&input| is_counted(input)).map(|input| self.inputs[input].item);
        items.max().unwrap_or_else(|| self.outputs.iter().map(|output| output.item).max().unwrap_or(1))
    }

    /// Buffers for the results of parts, and their launch.
    ///
    /// The array of parts has one more loop, the first or the last one.
    fn second_pass(
        &self,
        split: Split,
        is_first: bool,
        allocate: &mut dyn FnMut(usize) -> Buffer,
    ) -> Result<(Vec<Operand>, Vec<Launch>), Error> {
        let count = self.kept.len();
        let mut sizes = self.kept.sizes().to_vec();
        let at = if is_first { 0 } else { sizes.len() };
        sizes.insert(at, split.parts);
        let strides = crate::operand::row_major(&sizes);
        let parts: Vec<Operand> = self
            .outputs
            .iter()
            .map(|output| {
                let buffer = Some(allocate(count * split.parts * output.item));
                Operand { buffer, alignment: 256, start: 0, strides: strides.clone(), item: output.item }
            })
            .collect();
        let outputs: Vec<Operand> = (0..self.outputs.len())
            .map(|output| {
                let mut strides = self.output_strides(output);
                strides.insert(at, 0);
                Operand { strides, ..self.outputs[output].clone() }
            })
            .collect();
        let mut is_reduced = vec![false; sizes.len()];
        is_reduced[at] = true;
        let body = Body::of_partial_results(&self.body.results);
        let launches = fold(&sizes, &is_reduced, &parts, &outputs, &body, allocate)?;
        Ok((parts, launches))
    }
}

/// The kernels that fold a program's results along some loops, and their arguments.
pub(crate) fn fold(
    sizes: &[usize],
    is_reduced: &[bool],
    operands: &[Operand],
    outputs: &[Operand],
    body: &Body,
    allocate: &mut dyn FnMut(usize) -> Buffer,
) -> Result<Vec<Launch>, Error> {
    let dims = |reduced: bool| (0..sizes.len()).filter(move |&dim| is_reduced[dim] == reduced);
    let (kept_dims, reduced_dims): (Vec<usize>, Vec<usize>) = (dims(false).collect(), dims(true).collect());
    let shape = |dims: &[usize]| dims.iter().map(|&dim| sizes[dim]).collect::<Vec<usize>>();
    let all: Vec<&Operand> = outputs.iter().chain(operands).collect();
    let kept = LoopNest::new(&shape(&kept_dims), all.len(), |array, dim| all[array].strides[kept_dims[dim]]);
    let reduced =
        LoopNest::new(&shape(&reduced_dims), operands.len(), |array, dim| operands[array].strides[reduced_dims[dim]]);
    let moved = |operand: &Operand, start: isize| Operand { start: operand.start + start, ..operand.clone() };
    let starts = kept.starts();
    let outputs: Vec<Operand> = outputs.iter().zip(starts).map(|(output, &start)| moved(output, start)).collect();
    let starts = starts[outputs.len()..].iter().zip(reduced.starts());
    let inputs = operands.iter().zip(starts).map(|(input, (&a, &b))| moved(input, a + b)).collect();
    let fold = Fold { kept, reduced, inputs, outputs, body };
    match fold.has_columns() {
        true => columns::columns(&fold, allocate),
        false => rows::rows(&fold, allocate),
    }
}
