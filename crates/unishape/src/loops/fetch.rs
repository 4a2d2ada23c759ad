//! Having memory fetched before it is read, where the CPU does not foresee that it will be.

use super::past::LINE;

/// Has so many bytes fetched, if there are such.
#[inline(always)]
pub(crate) fn fetch(place: *const u8, bytes: usize) {
    for at in (0..bytes).step_by(LINE) {
        unishape_simd::prefetch(place.wrapping_add(at));
    }
}

/// Fewer elements than this are not worth it: they may well be in the cache.
const MANY: usize = 1 << 12;

/// More bytes than these do not fit the second cache.
const ROOM: usize = 1 << 18;

/// Has the elements of two loops fetched, if the inner one leaps from line to line and the outer one goes along the
/// lines: else each leap would wait for memory. A loop is how often it runs, and its step in elements of so many bytes.
#[inline]
pub(crate) fn fetch_lines(place: *const u8, item: usize, outer: (usize, isize), inner: (usize, isize)) {
    let ((rows, row_step), (len, step)) = (outer, inner);
    let bytes = rows * row_step.unsigned_abs() * item;
    let leaps = step.unsigned_abs() * item >= LINE && row_step.unsigned_abs() * item < LINE;
    if !leaps || row_step == 0 || rows * len < MANY || len * bytes > ROOM {
        return;
    }
    let first = place.wrapping_offset(row_step.min(0) * ((rows - 1) * item) as isize);
    for i in 0..len {
        fetch(first.wrapping_offset(i as isize * step * item as isize), bytes);
    }
}
