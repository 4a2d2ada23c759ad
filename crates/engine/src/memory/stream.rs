//! Non-temporal (streaming) stores for large outputs.
//!
//! An ordinary store reads its cache line from memory first, which costs a third of the bandwidth, and then
//! evicts lines that are still to be read. Results are therefore write-combined in a staging buffer in the
//! L1 cache and streamed to memory in full cache lines.

use super::caches::max_bytes_without_streaming;
use crate::tuning::{STAGING_BYTES, STREAM_MIN_BYTES};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use unishape_simd::CACHE_LINE;

/// Whether an output is worth streaming: large, of elements that fill cache lines, on a CPU that can, in a call
/// that touches more bytes than the caches hold.
pub(crate) fn can_stream<T>(first: *const T, count: usize, touched: usize, cache_fraction: usize) -> bool {
    let size = size_of::<T>();
    let fills_lines = !needs_drop::<T>()
        && size.is_power_of_two()
        && size <= CACHE_LINE
        && first.addr().is_multiple_of(size);
    fills_lines
        && count >= STREAM_MIN_BYTES / size
        && touched > max_bytes_without_streaming(cache_fraction)
        && has_streaming_stores()
}

/// Whether this CPU has the instructions.
pub(crate) fn has_streaming_stores() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Buffer in which a [`StreamWriter`] combines writes.
#[repr(align(64))]
pub(crate) struct Staging(MaybeUninit<[u8; STAGING_BYTES]>);

impl Staging {
    #[inline(always)]
    pub(crate) fn new() -> Staging {
        Staging(MaybeUninit::uninit())
    }
}

/// Write-combines an output and streams it in full cache lines.
///
/// An incomplete line waits in the staging buffer until the next row continues it. Dropping the writer
/// fences, so that a panic leaves no unordered store; what is still staged then is lost.
pub(crate) struct StreamWriter<'s> {
    /// Start of the staging buffer. Closures write to it through this pointer.
    staging: *mut u8,
    _staging: PhantomData<&'s mut Staging>,
    /// Destination of the staged bytes, and their number.
    target: *mut u8,
    staged: usize,
    _fence: Fence,
}

impl<'s> StreamWriter<'s> {
    #[inline(always)]
    pub(crate) fn new(staging: &'s mut Staging) -> StreamWriter<'s> {
        let staging = staging.0.as_mut_ptr().cast();
        let target = std::ptr::null_mut();
        StreamWriter { staging, _staging: PhantomData, target, staged: 0, _fence: Fence }
    }

    /// Start of the staging buffer.
    #[inline(always)]
    pub(crate) fn buffer(&self) -> *mut u8 {
        self.staging
    }

    /// Bytes at the start of the buffer that are staged.
    #[inline(always)]
    pub(crate) fn staged(&self) -> usize {
        self.staged
    }

    /// Bytes that fit behind the staged ones.
    #[inline(always)]
    pub(crate) fn free(&self) -> usize {
        STAGING_BYTES - self.staged
    }

    /// Sets the destination of the next bytes.
    ///
    /// # Safety
    ///
    /// As for [`advance`](StreamWriter::advance).
    #[inline(always)]
    pub(crate) unsafe fn seek(&mut self, target: *mut u8) {
        if self.target.wrapping_add(self.staged) != target {
            // Safety: as for the caller.
            unsafe { self.flush() };
            self.target = target;
        }
    }

    /// Counts bytes that were written behind the staged ones, and streams full lines.
    ///
    /// # Safety
    ///
    /// `bytes` bytes were written there; their destination is writable, and [`can_stream`] allowed it.
    #[inline(always)]
    pub(crate) unsafe fn advance(&mut self, bytes: usize) {
        self.staged += bytes;
        if self.staged >= STAGING_BYTES {
            let rest = (self.target.addr() + self.staged) % CACHE_LINE;
            // Safety: at least a cache line is written first, so that the rest does not overlap its new place.
            unsafe {
                let whole = self.staged - rest;
                self.write(whole);
                if rest > 0 {
                    let first = self.buffer();
                    std::ptr::copy_nonoverlapping(first.add(whole), first, rest);
                }
                self.target = self.target.add(whole);
                self.staged = rest;
            }
        }
    }

    /// # Safety
    ///
    /// `bytes` bytes are staged, and their destination is writable; [`can_stream`] allowed it.
    #[inline(always)]
    unsafe fn write(&mut self, bytes: usize) {
        // Safety: the caller guarantees both; the staging buffer overlaps no destination.
        unsafe { copy_streaming(self.buffer(), self.target, bytes) };
    }

    /// Writes all that is staged.
    ///
    /// # Safety
    ///
    /// As for [`advance`](StreamWriter::advance).
    unsafe fn flush(&mut self) {
        // Safety: as for the caller; without bytes, nothing is written.
        unsafe { self.write(self.staged) };
        self.staged = 0;
    }

    /// Writes what is staged, and orders all stores before later ones.
    ///
    /// # Safety
    ///
    /// As for [`advance`](StreamWriter::advance).
    pub(crate) unsafe fn finish(mut self) {
        // Safety: as for the caller. Dropping the writer fences.
        unsafe { self.flush() };
    }
}

/// Copies bytes, those in whole cache lines with non-temporal stores. A [`Fence`] has to be dropped on
/// this thread before another one reads them.
///
/// # Safety
///
/// `bytes` bytes are readable at `from` and writable at `to`, which do not overlap, and
/// [`has_streaming_stores`] is true.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx"))]
pub(crate) unsafe fn copy_streaming(from: *const u8, to: *mut u8, bytes: usize) {
    let before = to.align_offset(CACHE_LINE).min(bytes);
    let lines = (bytes - before) / CACHE_LINE;
    let after = before + lines * CACHE_LINE;
    // Safety: every access lies within the `bytes` bytes.
    unsafe {
        // Mostly there is nothing before and after the lines, and copying nothing would still be a call.
        if before > 0 {
            std::ptr::copy_nonoverlapping(from, to, before);
        }
        let (mut from_line, mut to_line) = (from.add(before), to.add(before));
        for _ in 0..lines / 2 {
            stream_line(from_line, to_line);
            stream_line(from_line.add(CACHE_LINE), to_line.add(CACHE_LINE));
            (from_line, to_line) = (from_line.add(2 * CACHE_LINE), to_line.add(2 * CACHE_LINE));
        }
        if !lines.is_multiple_of(2) {
            stream_line(from_line, to_line);
        }
        if after < bytes {
            std::ptr::copy_nonoverlapping(from.add(after), to.add(after), bytes - after);
        }
    }
    // The compiler does not see that the assembly used 256-bit registers. SSE code after it would stall on
    // their upper halves: rows of 3 elements took twice as long.
    #[cfg(target_arch = "x86_64")]
    std::arch::x86_64::_mm256_zeroupper();
}

/// # Safety
///
/// A cache line is readable at `from`, and one is writable at `to`, which is aligned to it.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx"))]
unsafe fn stream_line(from: *const u8, to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // Safety: the caller guarantees both lines. Assembly, because the intrinsics would read the bytes as
    // initialised values, and some may be padding.
    unsafe {
        std::arch::asm!(
            "vmovups {a}, [{from}]",
            "vmovups {b}, [{from} + 32]",
            "vmovntps [{to}], {a}",
            "vmovntps [{to} + 32], {b}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // Safety: the caller guarantees both lines.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, CACHE_LINE);
    }
}

/// Orders streamed stores before all later ones when it is dropped, also by a panic.
pub(crate) struct Fence;

impl Drop for Fence {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(test)]
        tests::FENCES.set(tests::FENCES.get() + 1);
        #[cfg(target_arch = "x86_64")]
        // Safety: every x86-64 CPU has this instruction.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Staging, StreamWriter, can_stream, has_streaming_stores, max_bytes_without_streaming};
    use proptest::prelude::*;

    thread_local! {
        /// Number of fences on this thread.
        pub(super) static FENCES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn a_panic_fences() {
        let before = FENCES.get();
        let panics = || {
            let mut staging = Staging::new();
            let _writer = StreamWriter::new(&mut staging);
            panic!("expected");
        };
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(FENCES.get(), before + 1);
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Line(usize);

    fn written<T: Copy + PartialEq + std::fmt::Debug>(
        element: impl Fn(usize) -> T,
        rows: &[(usize, usize)],
    ) -> Result<(), TestCaseError> {
        let end = rows.iter().map(|(gap, len)| gap + len).sum::<usize>();
        let mut expected: Vec<T> = (0..end).map(|_| element(usize::MAX)).collect();
        let mut out = expected.clone();
        let mut staging = Staging::new();
        let (mut writer, mut at) = (StreamWriter::new(&mut staging), 0);
        for (gap, len) in rows {
            at += gap;
            (at..at + len).for_each(|i| expected[i] = element(i));
            let mut done = 0;
            // Safety: the staging buffer has space for `count` elements, and the rows lie within the vector.
            unsafe {
                writer.seek(out.as_mut_ptr().add(at).cast());
                while done < *len {
                    let count = (writer.free() / size_of::<T>()).min(len - done);
                    let first = writer.buffer().add(writer.staged()).cast::<T>();
                    (0..count).for_each(|i| first.add(i).write(element(at + done + i)));
                    writer.advance(count * size_of::<T>());
                    done += count;
                }
            }
            at += len;
        }
        // Safety: as above.
        unsafe { writer.finish() };
        prop_assert_eq!(out, expected);
        Ok(())
    }

    proptest! {
        /// Contiguous rows, and rows with gaps that must stay untouched.
        #[test]
        fn every_row_is_written(
            rows in prop::collection::vec((prop_oneof![Just(0), 0usize..40], 0usize..700), 0..12),
        ) {
            if has_streaming_stores() {
                written(|i| i as u8, &rows)?;
                written(|i| i as u32, &rows)?;
                written(|i| i as u128, &rows)?;
                written(Line, &rows)?;
            }
        }
    }

    #[test]
    fn only_elements_that_fill_cache_lines_are_streamed() {
        let (bytes, many) = ([0u8; 128], 1 << 26);
        let first = bytes.as_ptr().wrapping_add(bytes.as_ptr().align_offset(64));
        let touched = usize::MAX;
        assert_eq!(can_stream(first.cast::<[u8; 4]>(), many, touched, 2), has_streaming_stores());
        assert!(!can_stream(first.wrapping_add(1).cast::<[u8; 4]>(), many, touched, 2));
        assert!(!can_stream(first.cast::<[u8; 3]>(), many, touched, 2));
        assert!(!can_stream(first.cast::<String>(), many, touched, 2));
        assert!(!can_stream(first, 1 << 20, touched, 2));
        assert!(!can_stream(first.cast::<[u8; 4]>(), many, 1 << 10, 2));
        let most = max_bytes_without_streaming(2);
        assert!(!can_stream(first.cast::<[u8; 4]>(), many, most, 2));
        assert_eq!(can_stream(first.cast::<[u8; 4]>(), many, most + 1, 2), has_streaming_stores());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn cpus_with_avx_have_streaming_stores() {
        assert_eq!(has_streaming_stores(), is_x86_feature_detected!("avx"));
    }
}
