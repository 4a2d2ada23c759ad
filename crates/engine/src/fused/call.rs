//! Options of a call, what it touches and what it costs.

use super::array::Input;
use super::program::Program;
use super::schedule::Residence;
use crate::memory::max_bytes_without_prefetch;
use crate::nest::LoopNest;

/// How a program is run.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// Whether the output is freshly allocated.
    ///
    /// Streaming stores to pages without physical memory are slower.
    pub is_output_fresh: bool,
    /// Requested number of threads.
    ///
    /// Default: [`num_threads`](crate::parallel::num_threads).
    pub threads: Option<usize>,
    /// Called after each chunk with its number of elements; `false` stops the run.
    pub should_continue: &'o (dyn Fn(usize) -> bool + Sync),
}

/// Where the arrays of a call with a freshly allocated output reside, if they take this many bytes.
pub(super) fn residence(touched: usize, threads: usize) -> Residence {
    if touched > max_bytes_without_prefetch(threads) { Residence::Memory } else { Residence::Cache }
}

/// Bytes of memory that a program touches.
pub(super) fn touched_bytes(program: &Program, nest: &LoopNest) -> usize {
    let outputs = program.results.iter().map(|&result| program.item(result)).sum();
    // Indices are not in memory.
    let items = program.operands.iter().zip(&program.is_index);
    let items = items.map(|(&item, &is_index)| if is_index { 0 } else { item });
    nest.touched_bytes(std::iter::once(outputs).chain(items))
}

/// Cost of a program.
pub(super) fn cost(program: &Program, elements: usize, touched: usize) -> usize {
    crate::parallel::cost(touched, elements, program.steps.len())
}

/// The loop nest of an element-wise program.
pub(super) fn loop_nest(shape: &[usize], output: &[isize], inputs: &[Input<'_>]) -> LoopNest {
    LoopNest::new(shape, 1 + inputs.len(), |operand, dim| match operand.checked_sub(1) {
        None => output[dim],
        Some(input) => inputs[input].strides[dim],
    })
}
