//! Arrays as inputs and outputs of block programs: the boundary between ndarray and `unishape_engine::fused`.

#![allow(unsafe_code)]

use crate::numeric::Numeric;
use ndarray::{ArrayRef, ArrayViewD, Dimension};
use smallvec::SmallVec;
use unishape_engine::fused::{self, Input, Options, Output, Program};
use unishape_engine::layout::set_row_major;
use unishape_engine::memory::{AllocError, is_zeroed_by_system, reserve, zeroed};

/// An array that a program reads.
pub(crate) fn program_input<'a, T: Numeric>(view: &'a ArrayViewD<'_, T>) -> Input<'a> {
    // Safety: address, shape and strides are those of a view that is borrowed for 'a.
    unsafe { Input::new(view.as_ptr(), view.shape(), view.strides()) }
}

/// An array that a program writes.
pub(crate) fn program_output<'a, T: Numeric, D: Dimension>(array: &'a mut ArrayRef<T, D>) -> Output<'a> {
    let first = array.as_mut_ptr();
    let array: &'a ArrayRef<T, D> = array;
    // Safety: address, shape and strides are those of an array that is borrowed mutably for 'a. The sealed
    // trait `Numeric` has the mask of each type.
    unsafe { Output::new(first, array.shape(), array.strides(), T::BYTE_MASK) }
}

/// The elements of a program's result in row-major order.
///
/// `None` where the run was stopped.
pub(crate) fn program_result<T: Numeric>(
    program: &Program,
    inputs: &[Input<'_>],
    shape: &[usize],
    count: usize,
    options: Options<'_>,
) -> Result<Option<Vec<T>>, AllocError> {
    let mut strides: SmallVec<[isize; 8]> = SmallVec::from_elem(0, shape.len());
    set_row_major(&mut strides, shape);
    if is_zeroed_by_system(count.saturating_mul(size_of::<T>())) {
        let mut elements = zeroed::<T>(count)?;
        // Safety: a row-major array of this shape has `count` elements, which are borrowed mutably.
        let mut output = unsafe { Output::new(elements.as_mut_ptr(), shape, &strides, T::BYTE_MASK) };
        return Ok(fused::run(program, inputs, &mut output, options).then_some(elements));
    }
    let mut elements: Vec<T> = reserve(count)?;
    // Safety: there is capacity for a row-major array of this shape, which nothing else accesses.
    let mut output = unsafe { Output::uninit(elements.as_mut_ptr(), shape, &strides, T::BYTE_MASK) };
    if !fused::run(program, inputs, &mut output, options) {
        return Ok(None);
    }
    // Safety: a completed run has written every element.
    unsafe { elements.set_len(count) };
    Ok(Some(elements))
}
