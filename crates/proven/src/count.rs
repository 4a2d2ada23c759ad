//! Bindings to the programs of core_count.mlw.

use crate::int32::length;
use std::ffi::c_int;
use unishape_core::TooLarge;

/// The C representation of `Option<usize>`: the number, if it does not overflow.
#[repr(C)]
struct CheckedUsize {
    fits: c_int,
    number: usize,
}

impl CheckedUsize {
    fn option(self) -> Option<usize> {
        (self.fits != 0).then_some(self.number)
    }
}

unsafe extern "C" {
    safe fn core_checked_mul_usize(a: usize, b: usize) -> CheckedUsize;
    fn core_element_count(shape: *const usize, n: i32) -> CheckedUsize;
    fn core_byte_count(shape: *const usize, n: i32, element: usize) -> CheckedUsize;
    fn core_fits_isize(shape: *const usize, n: i32) -> c_int;
}

/// `usize::checked_mul`.
pub fn checked_mul_usize(a: usize, b: usize) -> Option<usize> {
    core_checked_mul_usize(a, b).option()
}

/// `element_count`.
pub fn element_count(shape: &[usize]) -> Result<usize, TooLarge> {
    // Safety: the pointer is passed with the slice's length, and the program reads within it.
    unsafe { core_element_count(shape.as_ptr(), length(shape)) }.option().ok_or(TooLarge)
}

/// `byte_count`.
pub fn byte_count(shape: &[usize], element: usize) -> Result<usize, TooLarge> {
    // Safety: as for `element_count`.
    unsafe { core_byte_count(shape.as_ptr(), length(shape), element) }.option().ok_or(TooLarge)
}

/// `fits_isize`.
pub fn fits_isize(shape: &[usize]) -> bool {
    // Safety: as for `element_count`.
    unsafe { core_fits_isize(shape.as_ptr(), length(shape)) != 0 }
}
