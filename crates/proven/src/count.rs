//! The programs of core_count.mlw.

use crate::length;
use std::ffi::c_int;
use unishape_core::TooLarge;

/// A number, if it fits.
#[repr(C)]
struct Counted {
    fits: c_int,
    number: usize,
}

impl Counted {
    fn option(self) -> Option<usize> {
        (self.fits != 0).then_some(self.number)
    }
}

unsafe extern "C" {
    safe fn core_checked_mul_usize(a: usize, b: usize) -> Counted;
    fn core_element_count(shape: *const usize, n: i32) -> Counted;
    fn core_byte_count(shape: *const usize, n: i32, element: usize) -> Counted;
}

/// `usize::checked_mul`, as the programs do it.
pub fn checked_mul_usize(a: usize, b: usize) -> Option<usize> {
    core_checked_mul_usize(a, b).option()
}

/// `element_count`.
pub fn element_count(shape: &[usize]) -> Result<usize, TooLarge> {
    // Safety: the program reads as many sizes as it is told, and these are the slice's.
    unsafe { core_element_count(shape.as_ptr(), length(shape)) }.option().ok_or(TooLarge)
}

/// `byte_count`.
pub fn byte_count(shape: &[usize], element: usize) -> Result<usize, TooLarge> {
    // Safety: as above.
    unsafe { core_byte_count(shape.as_ptr(), length(shape), element) }.option().ok_or(TooLarge)
}
