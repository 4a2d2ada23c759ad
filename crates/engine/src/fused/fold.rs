//! Executor of reductions: folds the results of a program into accumulators.
//!
//! In some loops of the nest each iteration has an accumulator of its own (*kept* loops), in others all
//! iterations share one (*reduced* loops). Long reduced loops are halved recursively: the second half gets
//! partial accumulators, which are merged with those of the first half afterwards. Rounding errors of sums
//! therefore grow with the logarithm of the number of elements.
//!
//! Several results are folded along the same loops, each into accumulators of its own: what they are computed from is
//! read from memory once. Their outputs have equal strides, so that the nest has one operand for all of them.
//!
//! Only the shape and the strides decide where loops are halved and which parts are tasks of their own, so that
//! the result does not depend on the number of threads.

use super::array::{Input, Output};
use super::call::{Options, cost, residence, touched_bytes};
use super::execute::{Arrays, SCRATCH, mask_bits};
use super::gather::fill;
use super::program::{Position, Program};
use super::recent::{RecentCall, is_small};
use super::schedule::{Residence, has_reread_rows};
use crate::memory::{AllocError, zeroed};
use crate::nest::{LoopNest, RowBlock};
use crate::parallel::{Team, run_tasks};
use crate::tuning::{
    FOLD_BLOCKS, FOLD_KEPT, FOLD_MAX_TASKS, FOLD_ROW_SPLIT, FOLD_ROWS, MIN_REREAD_ROW, PARALLEL_MIN_BYTES,
    REREAD_BLOCK, SERIAL_CHUNK_BYTES,
};
use smallvec::SmallVec;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use unishape_kernels::{Extremes, FoldKernel};

/// Runs a program that folds its results, and returns whether it was completed.
///
/// Outputs have one shape and equal strides. Their elements need not be initialised.
///
/// # Errors
///
/// [`AllocError`] where memory for accumulators is not available.
pub(super) fn run(
    program: &Program,
    inputs: &[Input<'_>],
    outputs: &[Output<'_>],
    options: Options<'_>,
) -> Result<bool, AllocError> {
    if let Some(is_complete) = run_small(program, inputs, outputs, options) {
        return is_complete;
    }
    for (output, kernel) in outputs.iter().zip(&program.folds) {
        fill_output(output, kernel.identity.bytes());
    }
    let nest = loop_nest(inputs, &outputs[0]);
    if nest.is_empty() {
        return Ok(true);
    }
    let accumulators = nest.compacted(0);
    let touched = touched_bytes(program, &nest);
    let cost = cost(program, nest.len(), touched);
    let team = Team::new(cost, options.threads);
    let (is_stopped, failure) = (AtomicBool::new(false), OnceLock::new());
    let folding = Folding {
        program,
        inputs,
        outputs,
        residence: residence(touched, team.threads()),
        halving: Halving::new(program, &nest),
        is_stopped: &is_stopped,
        failure: &failure,
        should_continue: options.should_continue,
    };
    // Where outputs are not contiguous in the order of the loops, their elements are accumulated elsewhere.
    let mut temporaries = None;
    let mut extremes = extremes(program, accumulators.len())?;
    let (mut nest, mut firsts): (_, Firsts) = (nest, outputs.iter().map(|output| output.first).collect());
    if !is_identity(&accumulators) {
        nest.make_contiguous(0);
        firsts = addresses(temporaries.insert(self::accumulators(&program.folds, accumulators.len())?));
    }
    firsts.extend(addresses(&mut extremes));
    // Safety: the nest stays within the inputs, as their constructors guarantee, and within the accumulators: the
    // outputs' elements, or as many in contiguous memory. Nothing else accesses them.
    unsafe { folding.fold_tasks(nest, firsts, team) };
    if let Some(&error) = failure.get() {
        return Err(error);
    }
    for (temporary, output) in temporaries.iter().flatten().zip(outputs) {
        for_each_run(&accumulators, |[from, to], [from_stride, to_stride], len| {
            let from = temporary.as_ptr().cast::<u8>().wrapping_offset(from * output.item as isize);
            let to = output.first.wrapping_offset(to * output.item as isize);
            let (count, steps) = if [from_stride, to_stride] == [1, 1] { (len, 1) } else { (1, len) };
            for step in 0..steps as isize {
                let (from, to) = (
                    from.wrapping_offset(step * from_stride * output.item as isize),
                    to.wrapping_offset(step * to_stride * output.item as isize),
                );
                // Safety: these are elements of the temporary accumulators and of the output.
                unsafe { std::ptr::copy_nonoverlapping(from, to, count * output.item) };
            }
        });
    }
    for output in outputs.iter().filter(|output| output.mask != u8::MAX) {
        // Safety: these are elements of the output, which has been written completely.
        for_each_output_run(output, |first, len| unsafe {
            mask_bits(std::slice::from_raw_parts_mut(first, len * output.item), output.mask);
        });
    }
    Ok(!is_stopped.into_inner())
}

/// Runs a small reduction that needs no halving, with the schedule of the program's most recent call if that was for
/// arrays like these.
///
/// `None` where the arrays do not qualify, or another thread uses the schedule.
fn run_small(
    program: &Program,
    inputs: &[Input<'_>],
    outputs: &[Output<'_>],
    options: Options<'_>,
) -> Option<Result<bool, AllocError>> {
    if !is_small(program, &outputs[0]) {
        return None;
    }
    let make = || {
        let nest = loop_nest(inputs, &outputs[0]);
        if nest.is_empty() || residence(touched_bytes(program, &nest), 1) != Residence::Cache {
            return None;
        }
        let accumulators = nest.compacted(0);
        let is_whole = Halving::new(program, &nest).half(&nest).is_none() && is_identity(&accumulators);
        is_whole.then(|| (nest, accumulators.len()))
    };
    let work = |call: &mut RecentCall| {
        let (nest, schedule, count) = call.of(program, inputs, &outputs[0], make)?;
        let mut extremes = match extremes(program, count) {
            Ok(extremes) => extremes,
            Err(error) => return Some(Err(error)),
        };
        let mut extremes = addresses(&mut extremes).into_iter();
        let mut accumulators: SmallVec<[Output<'_>; 2]> = SmallVec::new();
        for (result, (output, kernel)) in outputs.iter().zip(&program.folds).enumerate() {
            // Safety: as many accumulators are contiguous from the first element of the output on, and are all of its
            // elements. Nothing else accesses them; they are written before they are read.
            unsafe { fill(kernel.identity.bytes(), output.bytes(output.first, count)) };
            let mut own = output.at(output.first);
            if program.position(result).is_some() {
                own.extremes = extremes.next().unwrap_or(own.extremes);
            }
            accumulators.push(own);
        }
        let arrays = Arrays { inputs, outputs: &accumulators };
        SCRATCH.with_borrow_mut(|(_, scratch)| {
            // Safety: the schedule was made for this program, and for this nest, which is that of the arrays' shape and
            // strides: it stays within the inputs, as their constructors guarantee, and within the accumulators.
            unsafe { schedule.run(program, nest, arrays, scratch) };
        });
        for output in outputs.iter().filter(|output| output.mask != u8::MAX) {
            // Safety: as above; the elements have been written.
            unsafe { mask_bits(output.at(output.first).bytes(output.first, count), output.mask) };
        }
        Some(Ok((options.should_continue)(nest.len())))
    };
    program.recent.with(work)?
}

/// The loop nest of a reduction. The inputs decide the order of the loops, so that memory is read forwards.
fn loop_nest(inputs: &[Input<'_>], output: &Output<'_>) -> LoopNest {
    let stride = |operand: usize, dim: usize| match inputs.get(operand) {
        Some(input) => input.strides[dim],
        None => output.strides[dim],
    };
    let mut nest = LoopNest::part_of(output.whole, output.shape, 1 + inputs.len(), stride);
    nest.move_last_operand_first();
    nest
}

/// Whether the accumulators are contiguous in the order of the loops; `compacted` is of [`LoopNest::compacted`].
fn is_identity(compacted: &LoopNest) -> bool {
    compacted.starts()[1] == 0
        && (0..compacted.depth()).all(|level| {
            let (size, strides) = compacted.level(level);
            size == 1 || strides[0] == strides[1]
        })
}

/// Calls `work` with runs of elements of a nest of two operands: offsets, strides and length.
fn for_each_run(nest: &LoopNest, mut work: impl FnMut([isize; 2], [isize; 2], usize)) {
    nest.for_each_row_block::<2>(|&RowBlock { starts, rows, row_strides, len, strides }| {
        for row in 0..rows as isize {
            work([starts[0] + row * row_strides[0], starts[1] + row * row_strides[1]], strides, len);
        }
    });
}

/// Calls `work` with runs of contiguous elements of the output, each element once.
fn for_each_output_run(output: &Output<'_>, mut work: impl FnMut(*mut u8, usize)) {
    // Where a reduced dimension has size 0, the output has elements all the same.
    let kept = |(&size, &stride): (&usize, &isize)| if stride == 0 { 1 } else { size };
    let shape: SmallVec<[usize; 6]> = output.shape.iter().zip(output.strides).map(kept).collect();
    let nest = LoopNest::new(&shape, 2, |_, dim| output.strides[dim]);
    for_each_run(&nest, |[start, _], [stride, _], len| {
        let first = output.first.wrapping_offset(start * output.item as isize);
        match stride {
            1 => work(first, len),
            _ => (0..len as isize)
                .for_each(|i| work(first.wrapping_offset(i * stride * output.item as isize), 1)),
        }
    });
}

/// Writes an element to every element of the output.
fn fill_output(output: &Output<'_>, element: &[u8]) {
    for_each_output_run(output, |first, len| {
        // Safety: these are elements of the output, which nothing else accesses; they are written before they are
        // read.
        let elements = unsafe {
            first.write_bytes(0, len * output.item);
            std::slice::from_raw_parts_mut(first, len * output.item)
        };
        fill(element, elements);
    });
}

/// Memory for accumulators of any dtype.
pub(super) type Accumulators = Vec<u128>;

/// Accumulators of each fold that hold its neutral element.
pub(super) fn accumulators(
    folds: &[FoldKernel],
    count: usize,
) -> Result<SmallVec<[Accumulators; 2]>, AllocError> {
    folds.iter().map(|kernel| filled(kernel.identity.bytes(), count)).collect()
}

/// Accumulators of the extreme elements of each result that is the index of one.
fn extremes(program: &Program, count: usize) -> Result<SmallVec<[Accumulators; 2]>, AllocError> {
    let positions = program.positions.iter().flatten();
    positions.map(|position| filled(position.kernel.identity.bytes(), count)).collect()
}

/// As many copies of an element.
fn filled(identity: &[u8], count: usize) -> Result<Accumulators, AllocError> {
    let bytes = count.saturating_mul(identity.len());
    let mut accumulators: Accumulators = zeroed(bytes.div_ceil(size_of::<u128>()))?;
    let elements: &mut [u8] = bytemuck::cast_slice_mut(&mut accumulators);
    fill(identity, &mut elements[..bytes]);
    Ok(accumulators)
}

/// Addresses of the first accumulator of each result, then those of the first extreme element of each result that is the
/// index of one.
type Firsts = SmallVec<[*mut u8; 2]>;

/// The addresses of accumulators. A vector's elements stay where they are when it is moved.
fn addresses(accumulators: &mut [Accumulators]) -> Firsts {
    accumulators.iter_mut().map(|own| own.as_mut_ptr().cast()).collect()
}

/// A reduction that is being computed.
struct Folding<'f> {
    program: &'f Program,
    inputs: &'f [Input<'f>],
    outputs: &'f [Output<'f>],
    residence: Residence,
    halving: Halving<'f>,
    is_stopped: &'f AtomicBool,
    /// The first error of a thread; the others stop.
    failure: &'f OnceLock<AllocError>,
    should_continue: &'f (dyn Fn(usize) -> bool + Sync),
}

/// What decides where a reduction is halved.
struct Halving<'f> {
    program: &'f Program,
    /// Whether folds have rounding errors, as sums of floats have. Others, such as minima and their positions, gain nothing
    /// from being halved.
    is_rounded: bool,
    /// Whether the innermost loop is reduced.
    is_row_reduced: bool,
    /// Iterations of the innermost loop.
    row_len: usize,
}

/// Where a nest is halved.
enum Half {
    /// A loop whose iterations have accumulators of their own.
    Kept { level: usize, middle: usize },
    /// A loop whose iterations share accumulators.
    Reduced { level: usize, middle: usize },
}

/// A part of a reduction with accumulators of its own.
struct Task {
    nest: LoopNest,
    firsts: Firsts,
}

// Safety: elements are plain numbers, which any thread may access, and no two tasks share an accumulator.
unsafe impl Sync for Task {}

/// Partial accumulators, and where they are merged into others.
struct Merge {
    accumulators: LoopNest,
    partials: SmallVec<[Accumulators; 2]>,
    firsts: Firsts,
}

impl<'f> Halving<'f> {
    /// For the whole nest of a reduction.
    fn new(program: &'f Program, nest: &LoopNest) -> Halving<'f> {
        let (row_len, strides) = nest.level(nest.innermost());
        // Kernels whose CPU flags are read are those that round.
        let is_rounded = program.folds.iter().any(|kernel| kernel.has_flags);
        Halving { program, is_rounded, is_row_reduced: strides[0] == 0, row_len }
    }

    /// Elements that are folded into one accumulator without halving their loops.
    ///
    /// Short rows may be folded one by one, and blocks one after another.
    fn max_unhalved(&self) -> usize {
        let row_len = if self.is_row_reduced { self.row_len } else { 1 };
        FOLD_ROWS.saturating_mul(row_len).min(FOLD_BLOCKS * self.program.block_elements)
    }

    /// Where a nest is halved before it is folded, if it is.
    fn half(&self, nest: &LoopNest) -> Option<Half> {
        // Rows that are read again stay in the L2 cache.
        let (len, _) = nest.level(nest.innermost());
        if has_reread_rows(self.program, nest)
            && len >= 2 * MIN_REREAD_ROW
            && nest.sizes()[nest.innermost() - 1] * len > REREAD_BLOCK
        {
            let middle = (len / 2).next_multiple_of(MIN_REREAD_ROW);
            return Some(Half::Kept { level: nest.innermost(), middle });
        }
        let kept = nest.compacted(0).len();
        if nest.len() / kept > self.max_unhalved() {
            // Few accumulators at a time, since partial ones take memory.
            if kept > FOLD_KEPT[usize::from(self.is_row_reduced)]
                && let Some(half) = self.kept_half(nest)
            {
                return Some(half);
            }
            if self.is_rounded || nest.len() > SERIAL_CHUNK_BYTES {
                return self.reduced_half(nest);
            }
        }
        // Chunks end within milliseconds, so that a call can be stopped.
        if nest.len() > SERIAL_CHUNK_BYTES { self.kept_half(nest) } else { None }
    }

    /// The outermost kept loop.
    fn kept_half(&self, nest: &LoopNest) -> Option<Half> {
        let level = (0..nest.depth()).find(|&level| {
            let (size, strides) = nest.level(level);
            strides[0] != 0 && size > if level == nest.innermost() { FOLD_ROW_SPLIT } else { 1 }
        })?;
        Some(Half::Kept { level, middle: nest.middle(level) })
    }

    /// The outermost reduced loop.
    fn reduced_half(&self, nest: &LoopNest) -> Option<Half> {
        let level =
            (0..nest.depth()).find(|&level| nest.level(level).1[0] == 0 && nest.sizes()[level] > 1)?;
        Some(Half::Reduced { level, middle: nest.middle(level) })
    }
}

impl Folding<'_> {
    /// Folds a nest into accumulators that begin at `firsts`.
    ///
    /// # Safety
    ///
    /// The nest stays within the inputs and the accumulators, and nothing else accesses these.
    unsafe fn fold(&self, nest: LoopNest, firsts: &Firsts) {
        // The halves of a long loop alone take as long as a user notices.
        if self.is_stopped.load(Ordering::Relaxed) {
            return;
        }
        // Safety: the halves are parts of the nest. Where they share accumulators, the second one gets its own.
        unsafe {
            match self.halving.half(&nest) {
                None => self.fold_leaf(&nest, firsts),
                Some(Half::Kept { level, middle }) => {
                    let (a, b) = nest.split_at(level, middle);
                    self.fold(a, firsts);
                    self.fold(b, firsts);
                }
                Some(Half::Reduced { level, middle }) => {
                    let (a, mut b) = nest.split_at(level, middle);
                    self.fold(a, firsts);
                    let Some(mut merge) = self.merge(&nest, firsts.clone()) else { return };
                    b.make_contiguous(0);
                    self.fold(b, &addresses(&mut merge.partials));
                    self.run_merge(&merge);
                }
            }
        }
    }

    /// Folds a nest in tasks, on the threads of a team.
    ///
    /// One thread has the same tasks as several, since the sums of a part of the loops may have other bits than those of
    /// all. Only where tasks would be some iterations of an outermost kept loop, one thread folds all of them at once.
    ///
    /// # Safety
    ///
    /// As for [`fold`](Folding::fold).
    unsafe fn fold_tasks(&self, nest: LoopNest, firsts: Firsts, team: Team) {
        let min_elements = PARALLEL_MIN_BYTES / self.outputs[0].item;
        let max_elements = nest.len().div_ceil(FOLD_MAX_TASKS).max(min_elements);
        let (size, strides) = nest.level(0);
        let is_split_outside = strides[0] != 0 && nest.len() / size <= max_elements;
        // Without rounding, large nests are halved where small ones are not: which zero is the maximum depends on that.
        let is_halved_alike = self.halving.is_rounded || nest.len() <= SERIAL_CHUNK_BYTES;
        if nest.len() <= max_elements || team.threads() == 1 && is_split_outside && is_halved_alike {
            // Safety: the caller guarantees it.
            return unsafe { self.fold(nest, &firsts) };
        }
        let (mut tasks, mut merges) = (Vec::new(), Vec::new());
        self.split(nest, firsts, max_elements, &mut tasks, &mut merges);
        run_tasks(tasks.len(), team, &|task| {
            let Task { nest, firsts } = &tasks[task];
            // Safety: the tasks are parts of the nest with different accumulators.
            unsafe { self.fold(nest.clone(), firsts) };
        });
        for merge in &merges {
            // Safety: the tasks are done, and partial accumulators exist until here.
            unsafe { self.run_merge(merge) };
        }
    }

    /// Halves a nest into tasks of at most `max_elements` elements, where it can be halved.
    fn split(
        &self,
        nest: LoopNest,
        firsts: Firsts,
        max_elements: usize,
        tasks: &mut Vec<Task>,
        merges: &mut Vec<Merge>,
    ) {
        let is_long = |nest: &LoopNest| nest.len() / nest.compacted(0).len() > self.halving.max_unhalved();
        let half = match nest.len() > max_elements {
            true => {
                let halving = &self.halving;
                halving.kept_half(&nest).or_else(|| is_long(&nest).then(|| halving.reduced_half(&nest))?)
            }
            false => None,
        };
        match half {
            None => tasks.push(Task { nest, firsts }),
            Some(Half::Kept { level, middle }) => {
                let (a, b) = nest.split_at(level, middle);
                self.split(a, firsts.clone(), max_elements, tasks, merges);
                self.split(b, firsts, max_elements, tasks, merges);
            }
            Some(Half::Reduced { level, middle }) => {
                let (a, mut b) = nest.split_at(level, middle);
                self.split(a, firsts.clone(), max_elements, tasks, merges);
                let Some(mut merge) = self.merge(&nest, firsts) else { return };
                b.make_contiguous(0);
                self.split(b, addresses(&mut merge.partials), max_elements, tasks, merges);
                merges.push(merge);
            }
        }
    }

    /// Partial accumulators for all accumulators of a nest; `None` stops the reduction, which then fails.
    fn merge(&self, nest: &LoopNest, firsts: Firsts) -> Option<Merge> {
        let accumulators = nest.compacted(0);
        let partials =
            self::accumulators(&self.program.folds, accumulators.len()).and_then(|mut partials| {
                partials.extend(extremes(self.program, accumulators.len())?);
                Ok(partials)
            });
        match partials {
            Ok(partials) => Some(Merge { partials, accumulators, firsts }),
            Err(error) => {
                self.failure.get_or_init(|| error);
                self.is_stopped.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Folds partial accumulators into those that they belong to.
    ///
    /// # Safety
    ///
    /// The accumulators exist, and nothing else accesses them.
    unsafe fn run_merge(&self, Merge { accumulators, partials, firsts }: &Merge) {
        let (partials, extreme_partials) = partials.split_at(self.program.folds.len());
        let (firsts, extreme_firsts) = firsts.split_at(self.program.folds.len());
        let mut extremes = extreme_partials.iter().zip(extreme_firsts);
        let results = self.program.folds.iter().zip(partials).zip(firsts);
        for (result, ((kernel, partial), &first)) in results.enumerate() {
            let position =
                self.program.position(result).and_then(|position| Some((position, extremes.next()?)));
            let partial: &[u8] = bytemuck::cast_slice(partial);
            for_each_run(accumulators, |[from, to], [from_stride, to_stride], len| {
                let (count, steps) = if [from_stride, to_stride] == [1, 1] { (len, 1) } else { (1, len) };
                for step in 0..steps as isize {
                    let (from, to) = ((from + step * from_stride) as usize, to + step * to_stride);
                    // Safety: these are accumulators, and partial ones have memory of their own.
                    let to_slice = |first: *mut u8, item: usize| unsafe {
                        let first = first.wrapping_offset(to * item as isize);
                        std::slice::from_raw_parts_mut(first, count * item)
                    };
                    let item = kernel.identity.bytes().len();
                    let own = &partial[from * item..][..count * item];
                    let Some((Position { kernel, .. }, (elements, &first_element))) = position else {
                        let to = to_slice(first, item);
                        self.program.fold_flags(result, || (kernel.to_row)(own, to));
                        continue;
                    };
                    let element = kernel.identity.bytes().len();
                    let elements: &[u8] = bytemuck::cast_slice(elements);
                    let extremes = Extremes {
                        elements: to_slice(first_element, element),
                        indices: to_slice(first, item),
                    };
                    let elements = &elements[from * element..][..count * element];
                    self.program.fold_flags(result, || (kernel.merge)(elements, own, extremes));
                }
            });
        }
    }

    /// Folds a nest that is not halved.
    ///
    /// # Safety
    ///
    /// As for [`fold`](Folding::fold).
    unsafe fn fold_leaf(&self, nest: &LoopNest, firsts: &Firsts) {
        if self.is_stopped.load(Ordering::Relaxed) {
            return;
        }
        let mut outputs: SmallVec<[Output<'_>; 2]> =
            self.outputs.iter().zip(firsts).map(|(output, &first)| output.at(first)).collect();
        let found = (0..outputs.len()).filter(|&result| self.program.position(result).is_some());
        for (result, &first) in found.zip(&firsts[self.outputs.len()..]) {
            outputs[result].extremes = first;
        }
        let arrays = Arrays { inputs: self.inputs, outputs: &outputs };
        SCRATCH.with_borrow_mut(|(schedule, scratch)| {
            schedule.make(self.program, nest, self.residence);
            // Safety: the caller guarantees the nest and the accumulators.
            unsafe { schedule.run(self.program, nest, arrays, scratch) };
        });
        if !(self.should_continue)(nest.len()) {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Program, run};
    use super::*;
    use std::sync::Mutex;
    use unishape_kernels::{DType, FoldOp, find_fold};

    /// Elements of a block, so that at most 8192 elements of a row are folded without halving it.
    const BLOCK: usize = 1024;

    /// Maxima of a dtype. They are halved as if they were rounded.
    fn maximum(dtype: DType, item: usize) -> Program {
        let program = Program { block_elements: BLOCK, ..Program::new(vec![item], vec![], vec![], 0) };
        program.folding(FoldKernel { has_flags: true, ..find_fold(FoldOp::Max, dtype).unwrap() })
    }

    /// Strides of a row-major array that has size 1 in some dimensions, and its number of elements.
    fn strides(shape: &[usize], is_single: impl Fn(usize) -> bool) -> (Vec<isize>, usize) {
        let (mut strides, mut count) = (vec![0; shape.len()], 1);
        for dim in (0..shape.len()).rev().filter(|&dim| !is_single(dim)) {
            strides[dim] = count as isize;
            count *= shape[dim];
        }
        (strides, count)
    }

    /// Elements of the parts that are folded without being halved, in ascending order; without a number of threads, those
    /// of a single task.
    fn parts(shape: &[usize], is_reduced: &[bool], threads: Option<usize>) -> Vec<usize> {
        let ((in_strides, elements), (out_strides, kept)) =
            (strides(shape, |_| false), strides(shape, |dim| is_reduced[dim]));
        let input: Vec<u64> = (0..elements as u64).collect();
        let (mut output, parts) = (vec![0u64; kept], Mutex::new(Vec::new()));
        let should_continue = |count: usize| {
            parts.lock().unwrap().push(count);
            true
        };
        // Safety: address, shape and strides are those of the vectors.
        let (inputs, mut folded) = unsafe {
            let input = Input::new(input.as_ptr(), shape, &in_strides);
            ([input], Output::folded(output.as_mut_ptr(), shape, &out_strides, u8::MAX))
        };
        let program = maximum(DType::U64, 8);
        match threads {
            Some(_) => {
                let options = Options { is_output_fresh: false, threads, should_continue: &should_continue };
                assert!(run(&program, &inputs, &mut folded, options));
            }
            None => {
                let nest = loop_nest(&inputs, &folded);
                let folding = Folding {
                    program: &program,
                    inputs: &inputs,
                    outputs: std::slice::from_ref(&folded),
                    residence: Residence::Cache,
                    halving: Halving::new(&program, &nest),
                    is_stopped: &AtomicBool::new(false),
                    failure: &OnceLock::new(),
                    should_continue: &should_continue,
                };
                // Safety: the nest is that of the vectors, and maxima of no elements are 0.
                unsafe { folding.fold(nest, &Firsts::from_slice(&[folded.first])) };
            }
        }
        assert_eq!(output[kept - 1], elements as u64 - 1, "{shape:?}");
        let mut parts = parts.into_inner().unwrap();
        parts.sort_unstable();
        parts
    }

    const KEPT: bool = false;
    const REDUCED: bool = true;

    #[test]
    fn long_loops_are_halved_at_cache_lines() {
        assert_eq!(parts(&[8192], &[REDUCED], None), [8192]);
        assert_eq!(parts(&[8193], &[REDUCED], None), [4096, 4097]);
        assert_eq!(parts(&[20_000], &[REDUCED], None), [4960, 4992, 4992, 5056]);
        // As many rows as are folded one by one, and more.
        assert_eq!(parts(&[256, 5], &[REDUCED, KEPT], None), [256 * 5]);
        assert_eq!(parts(&[257, 5], &[REDUCED, KEPT], None), [128 * 5, 129 * 5]);
    }

    /// Partial accumulators take memory.
    #[test]
    fn few_accumulators_are_folded_at_a_time() {
        assert_eq!(parts(&[300, 4096], &[REDUCED, KEPT], None), [108 * 4096, 192 * 4096]);
        let halves = [2440, 2560].map(|kept| [108 * kept, 192 * kept]).concat();
        assert_eq!(parts(&[300, 5000], &[REDUCED, KEPT], None), sorted(halves));
        // The outermost loop is halved, whatever its length.
        assert_eq!(parts(&[64, 300, 64], &[KEPT, REDUCED, KEPT], None), [108 * 4096, 192 * 4096]);
        let halves = [2000, 3000].map(|kept| [108 * kept, 192 * kept]).concat();
        assert_eq!(parts(&[5, 300, 1000], &[KEPT, REDUCED, KEPT], None), sorted(halves));
        // Fewer where rows are reduced.
        assert_eq!(parts(&[64, 9000], &[KEPT, REDUCED], None), [64 * 4456, 64 * 4544]);
        let halves = [32, 33].map(|kept| [kept * 4456, kept * 4544]).concat();
        assert_eq!(parts(&[65, 9000], &[KEPT, REDUCED], None), sorted(halves));
    }

    fn sorted(mut numbers: Vec<usize>) -> Vec<usize> {
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn folds_that_are_not_rounded_are_halved_only_to_be_stopped() {
        let program =
            Program::new(vec![8], vec![], vec![], 0).folding(find_fold(FoldOp::Max, DType::U64).unwrap());
        let program = Program { block_elements: BLOCK, ..program };
        let half = |shape: &[usize], is_reduced: &[bool]| {
            let ((in_strides, _), (out_strides, _)) =
                (strides(shape, |_| false), strides(shape, |dim| is_reduced[dim]));
            let nest = LoopNest::new(shape, 2, |operand, dim| [&out_strides, &in_strides][operand][dim]);
            match Halving::new(&program, &nest).half(&nest) {
                None => None,
                Some(Half::Kept { level, .. }) => Some((KEPT, level)),
                Some(Half::Reduced { level, .. }) => Some((REDUCED, level)),
            }
        };
        assert_eq!(half(&[1 << 20], &[REDUCED]), None);
        assert_eq!(half(&[1 << 23], &[REDUCED]), Some((REDUCED, 0)));
        assert_eq!(half(&[300, 4096], &[REDUCED, KEPT]), None);
        assert_eq!(half(&[300, 5000], &[REDUCED, KEPT]), Some((KEPT, 1)));
    }

    #[test]
    fn calls_can_be_stopped_where_no_loop_is_long() {
        assert_eq!(parts(&[1 << 21, 2], &[KEPT, REDUCED], None), [1 << 22]);
        assert_eq!(parts(&[(1 << 21) + 128, 2], &[KEPT, REDUCED], None), [(1 << 21) + 128; 2]);
    }

    /// On several threads parts are smaller, where each has accumulators of its own.
    #[cfg(feature = "parallel")]
    #[test]
    fn threads_decide_which_loops_are_halved_first() {
        assert_eq!(parts(&[4, 65_536], &[KEPT, REDUCED], Some(1)), [4 * 8192; 8]);
        assert_eq!(parts(&[4, 65_536], &[KEPT, REDUCED], Some(2)), [8192; 32]);
        assert_eq!(parts(&[1 << 17, 2], &[KEPT, REDUCED], Some(2)), [1 << 16; 4]);
    }

    /// But not where a kept loop is within a reduced one: if it has one iteration, the loops around it are one.
    #[test]
    fn kept_loops_within_reduced_ones_are_halved_on_any_number_of_threads() {
        for threads in [1, 2, 5].map(Some) {
            assert_eq!(parts(&[256, 8, 100], &[REDUCED, KEPT, REDUCED], threads), [2 * 64 * 100; 16]);
            assert_eq!(
                parts(&[2, 256, 8, 100], &[KEPT, REDUCED, KEPT, REDUCED], threads),
                [2 * 64 * 100; 32]
            );
        }
    }

    /// Elements of the tasks of a reduction on several threads, and the number of their merges.
    fn tasks(shape: &[usize], is_reduced: &[bool], max_elements: usize) -> (Vec<usize>, usize) {
        let ((in_strides, _), (out_strides, kept)) =
            (strides(shape, |_| false), strides(shape, |dim| is_reduced[dim]));
        let (program, mut accumulators) = (maximum(DType::U64, 8), vec![0u64; kept]);
        // Safety: address, shape and strides are those of the vector; the input is not read.
        let (input, output) = unsafe {
            let input = Input::new(std::ptr::dangling::<u64>(), shape, &in_strides);
            (input, Output::folded(accumulators.as_mut_ptr(), shape, &out_strides, u8::MAX))
        };
        let nest = loop_nest(&[input], &output);
        let folding = Folding {
            program: &program,
            inputs: &[],
            outputs: &[],
            residence: Residence::Cache,
            halving: Halving::new(&program, &nest),
            is_stopped: &AtomicBool::new(false),
            failure: &OnceLock::new(),
            should_continue: &|_| true,
        };
        let (mut tasks, mut merges) = (Vec::new(), Vec::new());
        folding.split(nest, Firsts::from_slice(&[output.first]), max_elements, &mut tasks, &mut merges);
        (tasks.iter().map(|task| task.nest.len()).collect(), merges.len())
    }

    #[test]
    fn tasks_have_at_most_the_requested_elements() {
        assert_eq!(tasks(&[10, 100], &[KEPT, REDUCED], 1000), (vec![1000], 0));
        assert_eq!(tasks(&[10, 100], &[KEPT, REDUCED], 999), (vec![500, 500], 0));
        assert_eq!(tasks(&[100, 10], &[REDUCED, KEPT], 999), (vec![1000], 0));
        // Only long loops that share accumulators are divided.
        assert_eq!(tasks(&[256, 4096], &[REDUCED, KEPT], 4096), (vec![256 * 4096], 0));
        assert_eq!(tasks(&[257, 4096], &[REDUCED, KEPT], 4096), (vec![128 * 4096, 129 * 4096], 1));
        assert_eq!(tasks(&[20_000], &[REDUCED], 12_000), (vec![10_048, 9952], 1));
        assert_eq!(tasks(&[20_000], &[REDUCED], 1), (vec![5056, 4992, 4992, 4960], 3));
    }
}
