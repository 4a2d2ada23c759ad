//! A chain of kernels run block by block, so that what one leaves for the next stays in the first cache.
//!
//! Every input is read once and the result written once, however long the chain is. An input that lies in
//! one piece is used where it is. What does not lie so, because it is stretched, strided or transposed, is
//! gathered into a block first; what is the same in every block is gathered, and computed, only once.
//!
//! Kernels are safe code that sees slices of bytes, all with as many elements. Only this module knows where
//! these bytes are.
//!
//! | module | holds |
//! |---|---|
//! | `program` | the chain: which kernels, of which values |
//! | `plain` | the elements it can be run on |
//! | `routine` | what is done for each block and what only once, for arrays that lie in a certain way |
//! | `extent` | which part of the loops a block is |
//! | `block` | doing it |
//! | `elements` | elements copied together from where they are, and back |
//! | `describe` | all of this told in words |

mod block;
mod describe;
mod elements;
mod extent;
mod plain;
mod program;
mod routine;

use super::past;
use super::pieces::{in_pieces, is_worth_a_thread};
use super::plan::Plan;
use super::threads::Threads;
use super::walk::{Base, Read};
use block::{DESK, Memory, mask_bits};
use ndarray::{ArrayRef, ArrayViewD, Dimension};
pub use plain::Plain;
pub(crate) use program::{Program, Step};
use routine::{MOST_ARGUMENTS, Scope};
use std::sync::atomic::{AtomicBool, Ordering};
use unishape_kernels::KernelContext;

/// An array that a program reads, stretched already.
pub(crate) struct Input<'a> {
    /// Its element of index 0.
    first: Base<Read<u8>>,
    item: usize,
    shape: &'a [usize],
    strides: &'a [isize],
}

impl<'a> Input<'a> {
    pub(crate) fn new<T: Plain>(view: &'a ArrayViewD<'_, T>) -> Input<'a> {
        Input {
            first: Base(view.as_ptr().cast_mut().cast()),
            item: size_of::<T>(),
            shape: view.shape(),
            strides: view.strides(),
        }
    }
}

/// Whether the work goes on, asked after each piece with how many elements it had.
pub(crate) type GoesOn<'a> = dyn Fn(usize) -> bool + Sync + 'a;

/// Runs a program, and gives whether it came to its end. All arrays have the output's shape, whose memory has been
/// used before or is fresh: that costs more if it is written past the cache.
///
/// # Panics
///
/// Where the arrays are not what the program is for.
pub(crate) fn run<T: Plain, D: Dimension>(
    program: &Program,
    inputs: &[Input<'_>],
    out: &mut ArrayRef<T, D>,
    is_fresh: bool,
    threads: Option<&Threads>,
    goes_on: &GoesOn<'_>,
) -> bool {
    let fits = |(input, &item): (&Input<'_>, &usize)| input.item == item && input.shape == out.shape();
    assert!(inputs.len() == program.operands.len() && inputs.iter().zip(&program.operands).all(fits));
    assert!(program.item(program.result) == size_of::<T>());
    let mask = if T::IS_TRUTH { 1 } else { u8::MAX };
    if at_once(program, inputs, out, mask) {
        return goes_on(out.len());
    }
    let plan = plan(out.shape(), out.strides(), inputs);
    if plan.len() == 0 {
        return true;
    }
    let scope = match scope_of_fresh(program, &plan) {
        Scope::Memory if !is_fresh && past::pays(out.as_ptr(), plan.len()) => Scope::Past,
        scope => scope,
    };
    let out = Base(out.as_mut_ptr().cast::<u8>());
    let memory = Memory { inputs, out, mask };
    let stopped = AtomicBool::new(false);
    let work = |piece: &Plan| {
        let memory = &memory;
        if stopped.load(Ordering::Relaxed) {
            return;
        }
        DESK.with_borrow_mut(|(routine, registers)| {
            routine.make(program, piece, scope);
            // Safety: the plan stays within the arrays, which have the program's elements, and no two
            // pieces of it have a place of the output together. The output is ours, as `&mut` says.
            unsafe { routine.run(program, piece, memory, registers) };
        });
        if !goes_on(piece.len()) {
            stopped.store(true, Ordering::Relaxed);
        }
    };
    // As ever, ndarray's arrays have no element at two indices where they can be written to; one whose maker broke
    // that promise stays on one thread.
    if !is_large(program, plan.len()) || !plan.is_apart(0) {
        work(&plan);
    } else {
        in_pieces(plan, effort(program), threads, &work);
    }
    !stopped.into_inner()
}

/// The commonest small work needs no plan: one function of arrays that lie in one piece, in a single block. Gives
/// whether it was that.
fn at_once<T: Plain, D: Dimension>(
    program: &Program,
    inputs: &[Input<'_>],
    out: &mut ArrayRef<T, D>,
    mask: u8,
) -> bool {
    let ([step], []) = (&program.steps[..], &program.constants[..]) else {
        return false;
    };
    let count = out.len();
    let in_one_piece = |strides: &[isize]| is_row_major(out.shape(), strides);
    let fits = program.result == inputs.len() // what the step gives
        && (1..=program.block).contains(&count)
        && in_one_piece(out.strides())
        && inputs.iter().all(|input| in_one_piece(input.strides));
    if !fits {
        return false;
    }
    let mut sources: [&[u8]; MOST_ARGUMENTS] = [&[]; MOST_ARGUMENTS];
    let sources = &mut sources[..step.from.len()];
    for (source, &from) in sources.iter_mut().zip(&step.from) {
        let Input { first, item, .. } = &inputs[from];
        // Safety: the input has the output's shape, and so as many elements, one after another.
        *source = unsafe { std::slice::from_raw_parts(first.0, count * item) };
    }
    // Safety: these are the output's elements, one after another, and nobody else's, as `&mut` says. What is
    // written are elements again: what a kernel gives, but for the bits that truths have not.
    unsafe {
        let output = std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), count * step.item);
        (step.kernel)(sources, output, &mut KernelContext::default());
        mask_bits(output, mask);
    }
    true
}

/// Whether elements of a shape, of which there are some, lie one after another.
fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    let mut next = 1;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size != 1 && stride != next {
            return false;
        }
        next *= size as isize;
    }
    true
}

/// How much memory work goes through that writes to where nothing was.
fn scope_of_fresh(program: &Program, plan: &Plan) -> Scope {
    if is_worth_a_thread(plan.len(), program.traffic()) { Scope::Memory } else { Scope::Cache }
}

/// The bytes moved for an element. An arithmetic step takes about as long as moving some, which counts for
/// whether to share the work.
fn effort(program: &Program) -> usize {
    program.traffic() + 2 * program.steps.len()
}

/// Whether several threads share the work on arrays of a shape.
pub(crate) fn is_parallel(program: &Program, shape: &[usize]) -> bool {
    let elements = shape.iter().copied().fold(1, usize::saturating_mul);
    is_large(program, elements)
}

/// The same for so many elements.
fn is_large(program: &Program, elements: usize) -> bool {
    is_worth_a_thread(elements, effort(program))
}

/// The loops for arrays that lie like this.
fn plan(shape: &[usize], out: &[isize], inputs: &[Input<'_>]) -> Plan {
    Plan::new(shape, 1 + inputs.len(), |operand, dim| match operand.checked_sub(1) {
        None => out[dim],
        Some(input) => inputs[input].strides[dim],
    })
}

/// What [`run`] would do for a fresh result, in words; the names are those of the inputs and of the constants.
pub(crate) fn described(
    program: &Program,
    shape: &[usize],
    inputs: &[Input<'_>],
    names: &[String],
    constants: &[String],
) -> String {
    describe::describe(program, &plan(shape, &super::row_major(shape), inputs), names, constants)
}

#[cfg(test)]
mod tests;
