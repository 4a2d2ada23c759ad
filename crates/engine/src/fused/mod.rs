//! Executor of block programs: a chain of kernels runs block by block, so that intermediate results stay in
//! the L1 cache.
//!
//! Every input is read once and the result is written once, however long the chain is. Contiguous inputs are
//! read in place. Inputs that are stretched, strided or transposed are gathered into a scratch block first;
//! what is the same in every block is gathered and computed only once.
//!
//! Kernels are safe code on slices of bytes. This module resolves where these bytes are.
//!
//! | module | holds |
//! |---|---|
//! | `program` | [`Program`]: which kernels take which values |
//! | `array` | [`Input`] and [`Output`] |
//! | `check` | exceptional results of a step |
//! | `call` | [`Options`] of a call, and what it costs |
//! | `block` | the shape of a block, and the loops of each operand within it |
//! | `schedule` | what is done for each block and what only once, for one layout of the arrays |
//! | `fuse` | which steps are computed together, in registers |
//! | `fused_kernels` | compiled code for such steps |
//! | `recent` | the schedule of a program's most recent small call |
//! | `slot` | what a program keeps between calls |
//! | `execute` | runs a schedule |
//! | `accumulate` | folds blocks of results into accumulators |
//! | `fold_pairs` | folds functions of two operands into accumulators |
//! | `fold_positions` | folds elements into extreme elements and their indices |
//! | `fold` | reductions: results are folded into accumulators |
//! | `single` | programs of one kernel, where no schedule is needed |
//! | `gather` | gathering and scattering |
//! | `transpose` | gathering a transposed operand |
//! | `describe` | text descriptions of schedules |

mod accumulate;
mod array;
mod block;
mod call;
mod check;
mod describe;
mod execute;
mod fold;
mod fold_pairs;
mod fold_positions;
mod fuse;
mod fused_kernels;
mod gather;
mod program;
mod recent;
mod schedule;
mod single;
mod slot;
mod transpose;

pub use array::{Input, Output};
pub use call::Options;
pub use describe::describe;
pub use program::{Pair, Position, Program, Step};
pub use single::OperandRows;

use crate::layout::row_major;
use crate::memory::AllocError;
use crate::memory::stream::can_stream;
use crate::nest::LoopNest;
use crate::parallel::{Team, for_each_chunk, is_parallel};
use crate::tuning::STREAM_CACHE_FRACTION_FUSED;
use call::{cost, loop_nest, residence, touched_bytes};
use execute::{Arrays, SCRATCH};
use recent::{RecentCall, is_small};
use schedule::Residence;
use single::{is_single_block, run_single_block, run_single_kernel};
use std::sync::atomic::{AtomicBool, Ordering};
use unishape_kernels::FoldKernel;

/// Runs a program and returns whether it was completed.
///
/// All arrays have the output's shape. A program that [folds](Program::folding) its results takes an
/// [`Output::folded`].
///
/// # Panics
///
/// Where the arrays' shapes or element sizes are not the program's, or it has several results; where it folds its
/// results and memory for accumulators is not available, which [`run_folds`] reports.
pub fn run(program: &Program, inputs: &[Input<'_>], output: &mut Output<'_>, options: Options<'_>) -> bool {
    // Borrowed mutably until here, so that no two calls write to one output at a time.
    let output: &Output<'_> = output;
    if program.is_folding() {
        return run_fold(program, inputs, std::slice::from_ref(output), options).expect("memory");
    }
    check_inputs(program, inputs, output.shape);
    assert!(program.item(program.result()) == output.item && !output.is_folded);
    if let Some(elements) = run_single_block(program, inputs, output) {
        return (options.should_continue)(elements);
    }
    let arrays = Arrays { inputs, outputs: std::slice::from_ref(output) };
    if let Some(elements) = run_small(program, arrays) {
        return (options.should_continue)(elements);
    }
    let nest = loop_nest(output.shape, output.strides, inputs);
    if nest.is_empty() {
        return true;
    }
    if !is_parallel(cost(program, nest.len(), nest.len().saturating_mul(program.items_per_element()))) {
        // Small even if no input is stretched: what it touches need not be counted.
        // Safety: the nest stays within the arrays, as their constructors guarantee, and nothing else runs.
        unsafe { run_chunk(program, &nest, arrays, Residence::Cache) };
        return (options.should_continue)(nest.len());
    }
    let is_injective = nest.is_injective(0);
    let touched = touched_bytes(program, &nest);
    let cost = cost(program, nest.len(), touched);
    // A writable array has no element at two indices. Where the caller violates that, the work stays on one
    // thread, so that no two threads write to one element.
    let team = Team::new(cost, if is_injective { options.threads } else { Some(1) });
    let residence = if !options.is_output_fresh && is_injective && streams(output, &nest, touched) {
        Residence::Stream
    } else {
        residence(touched, team.threads())
    };
    let is_stopped = AtomicBool::new(false);
    let work = |chunk: &LoopNest| {
        if is_stopped.load(Ordering::Relaxed) {
            return;
        }
        // Safety: the nest stays within the arrays, as their constructors guarantee. Chunks run on several threads
        // only where they share no element.
        unsafe { run_chunk(program, chunk, arrays, residence) };
        if !(options.should_continue)(chunk.len()) {
            is_stopped.store(true, Ordering::Relaxed);
        }
    };
    for_each_chunk(&nest, cost, team, &work);
    !is_stopped.into_inner()
}

/// Runs a program that folds its results, several at a time.
///
/// Returns whether it was completed.
///
/// # Errors
///
/// [`AllocError`] where memory for accumulators is not available.
///
/// # Panics
///
/// Where the arrays' shapes or element sizes are not the program's, or outputs have different strides.
pub fn run_folds(
    program: &Program,
    inputs: &[Input<'_>],
    outputs: &mut [Output<'_>],
    options: Options<'_>,
) -> Result<bool, AllocError> {
    run_fold(program, inputs, outputs, options)
}

fn run_fold(
    program: &Program,
    inputs: &[Input<'_>],
    outputs: &[Output<'_>],
    options: Options<'_>,
) -> Result<bool, AllocError> {
    let fits = |(output, fold): (&Output<'_>, &FoldKernel)| {
        let is_alike = output.shape == outputs[0].shape && output.strides == outputs[0].strides;
        output.is_folded && output.item == fold.identity.bytes().len() && is_alike
    };
    assert!(program.is_folding() && outputs.len() == program.folds.len());
    assert!(outputs.iter().zip(&program.folds).all(fits));
    check_inputs(program, inputs, outputs[0].shape);
    fold::run(program, inputs, outputs, options)
}

/// Checks that the inputs are those of a program, and have this shape.
fn check_inputs(program: &Program, inputs: &[Input<'_>], shape: &[usize]) {
    let fits = |(input, &item): (&Input<'_>, &usize)| input.item == item && input.shape == shape;
    assert!(inputs.len() == program.operands.len() && inputs.iter().zip(&program.operands).all(fits));
    assert!(inputs.iter().map(|input| input.is_index).eq(program.is_index.iter().copied()));
}

/// Runs a program on small arrays, with the schedule of its most recent call if that was for arrays like these.
///
/// Returns the number of elements, or `None` where the arrays do not qualify or another thread uses the schedule.
fn run_small(program: &Program, arrays: Arrays<'_>) -> Option<usize> {
    let output = &arrays.outputs[0];
    if !is_small(program, output) {
        return None;
    }
    let work = |call: &mut RecentCall| {
        let make = || {
            let nest = loop_nest(output.shape, output.strides, arrays.inputs);
            (!nest.is_empty() && !is_single_block(program, &nest)).then_some((nest, 0))
        };
        let (nest, schedule, _) = call.of(program, arrays.inputs, output, make)?;
        SCRATCH.with_borrow_mut(|(_, scratch)| {
            // Safety: the schedule was made for this program, and for this nest, which is that of the arrays' shape and
            // strides and stays within the arrays, as their constructors guarantee; nothing else runs. `run` has
            // checked that the elements have the program's sizes.
            unsafe { schedule.run(program, nest, arrays, scratch) };
        });
        Some(nest.len())
    };
    program.recent.with(work)?
}

/// Runs a program for a chunk of the loop nest.
///
/// # Safety
///
/// The nest stays within the arrays. Meanwhile no other thread accesses the elements of the output that it visits.
unsafe fn run_chunk(program: &Program, chunk: &LoopNest, arrays: Arrays<'_>, residence: Residence) {
    if residence == Residence::Cache && is_single_block(program, chunk) {
        // Safety: the caller's; each operand has `chunk.len()` contiguous elements from its start on.
        return unsafe { run_single_kernel(program, arrays, chunk.starts(), chunk.len()) };
    }
    SCRATCH.with_borrow_mut(|(schedule, scratch)| {
        schedule.make(program, chunk, residence);
        // Safety: the schedule was just made for this program and nest; the caller guarantees the rest, and `run`
        // has checked that the elements have the program's sizes.
        unsafe { schedule.run(program, chunk, arrays, scratch) };
    });
}

/// Whether the output is worth streaming.
fn streams(output: &Output<'_>, nest: &LoopNest, touched: usize) -> bool {
    let first = output.first.wrapping_offset(nest.starts()[0] * output.item as isize);
    fn fits<const N: usize>(first: *const u8, count: usize, touched: usize) -> bool {
        can_stream(first.cast::<[u8; N]>(), count, touched, STREAM_CACHE_FRACTION_FUSED)
    }
    match output.item {
        1 => fits::<1>(first, nest.len(), touched),
        2 => fits::<2>(first, nest.len(), touched),
        4 => fits::<4>(first, nest.len(), touched),
        8 => fits::<8>(first, nest.len(), touched),
        _ => fits::<16>(first, nest.len(), touched),
    }
}

/// Whether several workers share the work on arrays of a shape.
pub fn is_shared(program: &Program, shape: &[usize], inputs: &[Input<'_>]) -> bool {
    let items = program.items_per_element();
    let elements = shape.iter().copied().fold(1, usize::saturating_mul);
    if !is_parallel(cost(program, elements, elements.saturating_mul(items))) {
        // Even if no input were stretched.
        return false;
    }
    let nest = loop_nest(shape, &row_major(shape), inputs);
    is_parallel(cost(program, nest.len(), touched_bytes(program, &nest)))
}

#[cfg(test)]
mod selection_tests;
#[cfg(test)]
mod tests;
