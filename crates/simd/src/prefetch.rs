//! Prefetching while a kernel computes: which cache lines, and when.
//!
//! A CPU prefetches sequential accesses by itself, but too late to keep memory busy, and not at all while a
//! kernel works on data in the cache. Requesting a whole block at once does not help: a core tracks a few
//! dozen outstanding cache lines, and more requests stall the loads behind them.
//!
//! So kernels split a block into chunks of some 128 elements and prefetch a few cache lines before each one.
//! Loops of a square root or an exponential take 0.82 of the time with that, and 1.05 to 1.3 of it if they
//! prefetch 512 to 4096 elements at once; see `docs/performance.md`.

/// Size of a cache line, in bytes.
pub const CACHE_LINE: usize = 64;

/// Maximum number of memory ranges that are prefetched at the same time; more of them gain nothing.
const MAX_RANGES: usize = 8;

/// Memory ranges to prefetch while kernels compute, a few cache lines per chunk.
///
/// ```
/// use unishape_simd::PrefetchQueue;
///
/// let next_input = [0_u8; 4096];
/// let mut queue = PrefetchQueue::new();
/// // 1000 elements in chunks of 128: all of the next input within 8 chunks.
/// queue.restart(128);
/// queue.push(next_input.as_ptr(), next_input.len(), 8);
/// let mut sum = 0;
/// queue.for_each_chunk(1000, 1000, |first, end| sum += end - first);
/// assert_eq!(sum, 1000);
/// ```
#[derive(Debug, Default)]
pub struct PrefetchQueue {
    ranges: [Range; MAX_RANGES],
    count: usize,
    /// Number of elements that are computed between two calls of `issue`.
    chunk_elements: usize,
}

/// Consecutive cache lines.
#[derive(Clone, Copy, Debug)]
struct Range {
    next: *const u8,
    remaining_lines: usize,
    lines_per_chunk: usize,
}

impl Default for Range {
    #[inline]
    fn default() -> Range {
        Range { next: std::ptr::null(), remaining_lines: 0, lines_per_chunk: 0 }
    }
}

impl PrefetchQueue {
    /// Creates an empty queue, which prefetches nothing.
    #[inline]
    pub fn new() -> PrefetchQueue {
        PrefetchQueue::default()
    }

    /// Empties the queue and sets the chunk size, in elements.
    #[inline]
    pub fn restart(&mut self, chunk_elements: usize) {
        (self.count, self.chunk_elements) = (0, chunk_elements.max(1));
    }

    /// Adds a range of `bytes` bytes, spread evenly over `chunks` chunks.
    ///
    /// The range may extend beyond valid memory. A full queue ignores it.
    #[inline]
    pub fn push(&mut self, first: *const u8, bytes: usize, chunks: usize) {
        if self.count < MAX_RANGES {
            let lines = bytes.div_ceil(CACHE_LINE);
            self.ranges[self.count] =
                Range { next: first, remaining_lines: lines, lines_per_chunk: lines.div_ceil(chunks.max(1)) };
            self.count += 1;
        }
    }

    /// Whether there is nothing to prefetch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Prefetches the cache lines of one chunk, a few of each range.
    #[inline]
    pub fn issue(&mut self) {
        for range in &mut self.ranges[..self.count] {
            let lines = range.lines_per_chunk.min(range.remaining_lines);
            for _ in 0..lines {
                crate::prefetch(range.next);
                range.next = range.next.wrapping_add(CACHE_LINE);
            }
            range.remaining_lines -= lines;
        }
    }

    /// Calls `each(first, end)` for consecutive chunks of `elements`.
    ///
    /// Prefetches before each of them.
    ///
    /// A chunk has at most `max_chunk` elements, and exactly as many (but for the last one) if the queue is
    /// empty.
    #[inline(always)]
    pub fn for_each_chunk(&mut self, elements: usize, max_chunk: usize, mut each: impl FnMut(usize, usize)) {
        let max_chunk = max_chunk.max(1);
        let chunk = if self.count == 0 { max_chunk } else { self.chunk_elements.clamp(1, max_chunk) };
        let mut first = 0;
        while first < elements {
            if self.count > 0 {
                self.issue();
            }
            let end = if elements - first > chunk { first + chunk } else { elements };
            each(first, end);
            first = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CACHE_LINE, MAX_RANGES, PrefetchQueue};
    use proptest::prelude::*;

    proptest! {
        /// Chunks cover the elements once and in order, and all lines are prefetched by the last chunk.
        #[test]
        fn chunks_cover_all_elements_and_prefetch_all_lines(
            elements in 0usize..3000,
            max_chunk in 1usize..2000,
            chunk in 0usize..300,
            sizes in prop::collection::vec(0usize..10_000, 0..12),
        ) {
            let mut queue = PrefetchQueue::new();
            // Ranges from before the restart are not prefetched.
            queue.restart(1);
            queue.push(std::ptr::dangling(), 1, 1);
            prop_assert!(!queue.is_empty());
            queue.restart(chunk);
            prop_assert!(queue.is_empty());
            for &bytes in &sizes {
                queue.push(std::ptr::null(), bytes, elements.div_ceil(chunk.max(1)));
            }
            prop_assert_eq!(queue.count, sizes.len().min(MAX_RANGES));
            let (mut done, mut chunks) = (0, 0);
            queue.for_each_chunk(elements, max_chunk, |first, end| {
                assert!(first == done && end > first && end - first <= max_chunk);
                (done, chunks) = (end, chunks + 1);
            });
            prop_assert_eq!(done, elements);
            let size = if sizes.is_empty() { max_chunk } else { chunk.clamp(1, max_chunk) };
            prop_assert_eq!(chunks, elements.div_ceil(size));
            // Evenly: every chunk prefetches some lines of each range, and no more than needed.
            for (range, bytes) in queue.ranges[..queue.count].iter().zip(sizes) {
                let lines = bytes.div_ceil(CACHE_LINE);
                prop_assert!(elements == 0 || range.remaining_lines == 0);
                prop_assert_eq!(range.next.addr(), (lines - range.remaining_lines) * CACHE_LINE);
                prop_assert_eq!(range.lines_per_chunk, lines.div_ceil(elements.div_ceil(chunk.max(1)).max(1)));
                prop_assert!(range.lines_per_chunk * chunks >= lines || elements == 0);
            }
        }
    }
}
