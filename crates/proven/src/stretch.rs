//! The programs of core_stretch.mlw.
//!
//! What makes the calls safe is the same everywhere: a program is given each slice's pointer together
//! with its length, touches nothing beyond it (which is proven), writes only to what is `&mut` here, and
//! keeps no pointer.

use crate::{Rules, int32, length, natural};
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
            1 => Err(StretchError::Rank { rank: natural(rank), target: natural(target_rank) }),
            2 => Err(StretchError::Length),
            3 => Err(StretchError::Size { dim: natural(dim), size, target }),
            _ => panic!("the programs know no code {code}"),
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
            2 => Err(LayoutError::Index { dim: natural(dim), index, size }),
            3 => Err(LayoutError::Overflow),
            _ => panic!("the programs know no code {code}"),
        }
    }
}

/// A number, if it fits.
#[repr(C)]
struct Checked {
    fits: c_int,
    value: isize,
}

impl Checked {
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
    safe fn core_isize_try_from(x: usize) -> Checked;
    safe fn core_checked_add_isize(a: isize, b: isize) -> Checked;
    safe fn core_checked_mul_isize(a: isize, b: isize) -> Checked;
}

/// `padded_dim` for sizes that are known.
pub fn padded_known_dim(shape: &[usize], rank: usize, dim: usize) -> usize {
    // Safety: see the module.
    unsafe { core_padded_dim(shape.as_ptr(), length(shape), int32(rank), int32(dim)) }
}

/// `check_broadcast_to`.
pub fn check_broadcast_to(rules: Rules, shape: &[usize], target: &[usize]) -> Result<(), StretchError> {
    let (s, t) = (shape.as_ptr(), target.as_ptr());
    // Safety: see the module.
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
    // Safety: see the module.
    let answer = unsafe {
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
    answer.result()
}

/// `check_index`.
pub fn check_index(shape: &[usize], index: &[usize]) -> Result<(), LayoutError> {
    let (s, i) = (shape.as_ptr(), index.as_ptr());
    // Safety: see the module.
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
    // Safety: see the module.
    let answer = unsafe {
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
    answer.result().map(drop)
}

/// `source_offset`.
pub fn source_offset(target: &[usize], strides: &[isize], index: &[usize]) -> Result<isize, LayoutError> {
    // Safety: see the module.
    let answer = unsafe {
        core_source_offset(
            target.as_ptr(),
            length(target),
            strides.as_ptr(),
            length(strides),
            index.as_ptr(),
            length(index),
        )
    };
    answer.result()
}

/// `isize::try_from`, as the programs do it.
pub fn isize_try_from(x: usize) -> Option<isize> {
    core_isize_try_from(x).option()
}

/// `isize::checked_add`, as the programs do it.
pub fn checked_add_isize(a: isize, b: isize) -> Option<isize> {
    core_checked_add_isize(a, b).option()
}

/// `isize::checked_mul`, as the programs do it.
pub fn checked_mul_isize(a: isize, b: isize) -> Option<isize> {
    core_checked_mul_isize(a, b).option()
}
