//! Where the elements of arrays are in memory.

use super::library::GpuArray;
use std::ops::Range;

/// Whether two arrays may share elements: whether the ranges of their addresses overlap.
pub(super) fn may_share(one: &GpuArray<'_>, other: &GpuArray<'_>) -> bool {
    let (a, b) = (addresses(one), addresses(other));
    one.device == other.device && a.start < b.end && b.start < a.end
}

/// Addresses of the elements, from the lowest to behind the highest.
fn addresses(array: &GpuArray<'_>) -> Range<u64> {
    if array.shape.contains(&0) {
        return array.address..array.address;
    }
    let item = array.dtype.item_size() as i64;
    let (mut below, mut above) = (0, item);
    for (&stride, &size) in array.strides.iter().zip(&array.shape) {
        let end = stride as i64 * item * (size as i64 - 1);
        if end < 0 { below += end } else { above += end }
    }
    array.address.wrapping_add_signed(below)..array.address.wrapping_add_signed(above)
}

/// Whether no two indices share an element. Returns false where that is hard to decide.
pub(super) fn has_distinct_elements(array: &GpuArray<'_>) -> bool {
    let dims = array.strides.iter().zip(&array.shape).filter(|&(_, &size)| size > 1);
    let mut dims: Vec<(usize, usize)> = dims.map(|(stride, &size)| (stride.unsigned_abs(), size)).collect();
    dims.sort_unstable();
    // Elements that the dimensions so far extend over.
    let mut extent = 1;
    array.shape.contains(&0)
        || dims.iter().all(|&(stride, size)| {
            let is_distinct = stride >= extent;
            extent += stride * (size - 1);
            is_distinct
        })
}
