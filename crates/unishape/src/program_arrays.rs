//! Arrays as inputs and outputs of block programs: the boundary between ndarray and `unishape_engine::fused`.

#![allow(unsafe_code)]

use crate::numeric::Numeric;
use ndarray::{ArrayRef, ArrayViewD, Dimension};
use unishape_engine::fused::{Input, Output};

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
