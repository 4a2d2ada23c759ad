//! Bindings to the programs of core_stretch.mlw.
//!
//! All calls are safe for the same reasons: each pointer is passed with its slice's length, the program
//! accesses nothing outside of the slice (which is proven), it writes only to slices that are `&mut`
//! here, and it keeps no pointer.

use crate::Rules;
use crate::int32::{int32, length, non_negative};
use std::ffi::c_int;
use unishape_core::{LayoutError, StretchError};

#[repr(C)]
struct StretchResult {
    code: i32,
    rank: i32,
    target_rank: i32,
    dim: i32,
    size: usize,
    target: usize,
}

impl StretchResult {
    fn result(self) -> Result<(), StretchError> {
        let StretchResult { code, rank, target_rank, dim, size, target } = self;
        match code {
            0 => Ok(()),
            1 => Err(StretchError::Rank { rank: non_negative(rank), target: non_negative(target_rank) }),
            2 => Err(StretchError::Length),
            3 => Err(StretchError::Size { dim: non_negative(dim), size, target }),
            _ => panic!("the programs have no result code {code}"),
        }
    }
}

#[repr(C)]
struct LayoutResult {
    code: i32,
    dim: i32,
    index: usize,
    size: usize,
    distance: isize,
}

impl LayoutResult {
    fn result(self) -> Result<isize, LayoutError> {
        let LayoutResult { code, dim, index, size, distance } = self;
        match code {
            0 => Ok(distance),
            1 => Err(LayoutError::Length),
            2 => Err(LayoutError::Index { dim: non_negative(dim), index, size }),
            3 => Err(LayoutError::Overflow),
            _ => panic!("the programs have no result code {code}"),
        }
    }
}

/// The C representation of `Option<isize>`: the number, if it does not overflow.
#[repr(C)]
struct CheckedIsize {
    fits: c_int,
    value: isize,
}

impl CheckedIsize {
    fn option(self) -> Option<isize> {
        (self.fits != 0).then_some(self.value)
    }
}

unsafe extern "C" {
    fn core_padded_dim(shape: *const usize, n: i32, rank: i32, dim: i32) -> usize;
    fn core_check_broadcast_to(
        rules: Rules,
        shape: *const usize,
        n: i32,
        target: *const usize,
        rank: i32,
    ) -> StretchResult;
    fn core_broadcast_strides(
        rules: Rules,
        shape: *const usize,
        n: i32,
        strides: *const isize,
        strides_length: i32,
        target: *const usize,
        rank: i32,
        stretched: *mut isize,
        stretched_length: i32,
    ) -> StretchResult;
    fn core_check_index(shape: *const usize, n: i32, index: *const usize, index_length: i32) -> LayoutResult;
    fn core_source_index(
        shape: *const usize,
        n: i32,
        target: *const usize,
        rank: i32,
        index: *const usize,
        index_length: i32,
        source: *mut usize,
        source_length: i32,
    ) -> LayoutResult;
    fn core_source_offset(
        target: *const usize,
        rank: i32,
        strides: *const isize,
        strides_length: i32,
        index: *const usize,
        index_length: i32,
    ) -> LayoutResult;
    safe fn core_index_map(a: usize, b: usize, c: usize) -> usize;
    safe fn core_isize_try_from(x: usize) -> CheckedIsize;
    safe fn core_checked_add_isize(a: isize, b: isize) -> CheckedIsize;
    safe fn core_checked_mul_isize(a: isize, b: isize) -> CheckedIsize;
}

/// `padded_dim`: the program of core_stretch.mlw, for known sizes only.
pub fn padded_known_dim(shape: &[usize], rank: usize, dim: usize) -> usize {
    // Safety: see the module documentation.
    unsafe { core_padded_dim(shape.as_ptr(), length(shape), int32(rank), int32(dim)) }
}

/// `check_broadcast_to`.
pub fn check_broadcast_to(rules: Rules, shape: &[usize], target: &[usize]) -> Result<(), StretchError> {
    let (s, t) = (shape.as_ptr(), target.as_ptr());
    // Safety: see the module documentation.
    unsafe { core_check_broadcast_to(rules, s, length(shape), t, length(target)) }.result()
}

/// `broadcast_strides`.
pub fn broadcast_strides(
    rules: Rules,
    shape: &[usize],
    strides: &[isize],
    target: &[usize],
    stretched: &mut [isize],
) -> Result<(), StretchError> {
    // Safety: see the module documentation.
    let result = unsafe {
        core_broadcast_strides(
            rules,
            shape.as_ptr(),
            length(shape),
            strides.as_ptr(),
            length(strides),
            target.as_ptr(),
            length(target),
            stretched.as_mut_ptr(),
            length(stretched),
        )
    };
    result.result()
}

/// `check_index`.
pub fn check_index(shape: &[usize], index: &[usize]) -> Result<(), LayoutError> {
    let (s, i) = (shape.as_ptr(), index.as_ptr());
    // Safety: see the module documentation.
    unsafe { core_check_index(s, length(shape), i, length(index)) }.result().map(drop)
}

/// `index_map`.
pub fn index_map(a: usize, b: usize, c: usize) -> usize {
    core_index_map(a, b, c)
}

/// `source_index`.
pub fn source_index(
    shape: &[usize],
    target: &[usize],
    index: &[usize],
    source: &mut [usize],
) -> Result<(), LayoutError> {
    // Safety: see the module documentation.
    let result = unsafe {
        core_source_index(
            shape.as_ptr(),
            length(shape),
            target.as_ptr(),
            length(target),
            index.as_ptr(),
            length(index),
            source.as_mut_ptr(),
            length(source),
        )
    };
    result.result().map(drop)
}

/// `source_offset`.
pub fn source_offset(target: &[usize], strides: &[isize], index: &[usize]) -> Result<isize, LayoutError> {
    // Safety: see the module documentation.
    let result = unsafe {
        core_source_offset(
            target.as_ptr(),
            length(target),
            strides.as_ptr(),
            length(strides),
            index.as_ptr(),
            length(index),
        )
    };
    result.result()
}

/// `isize::try_from`.
pub fn isize_try_from(x: usize) -> Option<isize> {
    core_isize_try_from(x).option()
}

/// `isize::checked_add`.
pub fn checked_add_isize(a: isize, b: isize) -> Option<isize> {
    core_checked_add_isize(a, b).option()
}

/// `isize::checked_mul`.
pub fn checked_mul_isize(a: isize, b: isize) -> Option<isize> {
    core_checked_mul_isize(a, b).option()
}
