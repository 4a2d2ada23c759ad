//! Folds blocks of results into accumulators.

use unishape_kernels::FoldKernel;

/// Folds the elements of some loops, innermost first, into accumulators with these strides.
///
/// # Safety
///
/// The accumulators exist, and nothing else accesses them.
pub(super) unsafe fn fold_values(
    kernel: &FoldKernel,
    item: usize,
    values: &[u8],
    first: *mut u8,
    loops: &[(usize, isize)],
) {
    // Safety: the caller guarantees the accumulators; indices are those of the loops.
    let accumulators = |count: usize| unsafe { std::slice::from_raw_parts_mut(first, count * item) };
    match *loops {
        [] => (kernel.to_elements)(values, 1, accumulators(1)),
        [(len, 0)] => (kernel.to_elements)(values, len, accumulators(1)),
        [(len, 0), (rows, 1)] => (kernel.to_elements)(values, len, accumulators(rows)),
        [(len, 1)] | [(len, 1), (_, 0)] => (kernel.to_row)(values, accumulators(len)),
        [ref inner @ .., (count, stride)] => {
            for (i, values) in values.chunks_exact(values.len() / count).enumerate() {
                let first = first.wrapping_offset(i as isize * stride * item as isize);
                // Safety: as above.
                unsafe { fold_values(kernel, item, values, first, inner) };
            }
        }
    }
}
