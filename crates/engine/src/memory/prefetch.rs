//! Prefetching where the CPU's own prefetcher does not predict the next access.
//!
//! Kernels prefetch through `unishape_simd::PrefetchQueue` while they compute. This module has the two
//! patterns of the executors: a range ahead of a streamed output, and the rows of a strided operand.

use crate::tuning::{MAX_PREFETCHED_BYTES, MIN_PREFETCHED_ELEMENTS};
use unishape_simd::{CACHE_LINE, prefetch};

/// Prefetches a range of bytes. The memory need not be readable.
#[inline(always)]
pub(crate) fn prefetch_range(first: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(CACHE_LINE) {
        prefetch(first.wrapping_add(offset));
    }
}

/// Prefetches the elements of two loops into the L2 cache, where the inner loop has a stride of at least one cache line
/// and the outer one moves along the lines. Without it each iteration of the inner loop would wait for memory.
///
/// A loop is its number of iterations and its stride in elements of `item` bytes.
#[inline]
pub(crate) fn prefetch_strided(
    first: *const u8,
    item: usize,
    (rows, row_stride): (usize, isize),
    (len, stride): (usize, isize),
) {
    let bytes = rows * row_stride.unsigned_abs() * item;
    let jumps = stride.unsigned_abs() * item >= CACHE_LINE && row_stride.unsigned_abs() * item < CACHE_LINE;
    if !jumps || row_stride == 0 || rows * len < MIN_PREFETCHED_ELEMENTS || len * bytes > MAX_PREFETCHED_BYTES
    {
        return;
    }
    let first = first.wrapping_offset(row_stride.min(0) * ((rows - 1) * item) as isize);
    for i in 0..len {
        prefetch_range(first.wrapping_offset(i as isize * stride * item as isize), bytes);
    }
}
