//! What work costs, and from which cost on several threads share it.

use crate::tuning::{BYTES_PER_STEP, PARALLEL_MIN_BYTES};

/// Cost of element-wise work: the bytes of memory that it touches, with arithmetic counted as bytes.
///
/// Elements that are stretched are touched once, but computed with at every index.
#[inline]
pub(crate) fn cost(touched: usize, elements: usize, steps: usize) -> usize {
    touched.saturating_add(elements.saturating_mul(BYTES_PER_STEP * steps))
}

/// Whether work of a cost in bytes is large enough for several threads.
#[inline]
pub fn is_parallel(bytes: usize) -> bool {
    bytes > PARALLEL_MIN_BYTES
}
