//! Broadcast scalars copied to contiguous buffers.
//!
//! A closure of many operands has one SIMD kernel, for contiguous operands, rather than one for each of the
//! 2ⁿ combinations with broadcast scalars. Copies of a scalar in the L1 cache cost next to nothing where the
//! other operands come from memory.

use std::mem::MaybeUninit;

/// Largest size of a number, in bytes.
const MAX_ITEM: usize = 16;

/// A buffer of copies for each operand.
pub(super) struct SplatBuffers<const N: usize> {
    buffers: [Buffer; N],
    /// Which element each buffer has copies of, and how many.
    sources: [(*const u8, usize); N],
}

#[repr(align(64))]
struct Buffer(MaybeUninit<[u8; LEN * MAX_ITEM]>);

const LEN: usize = 256;

impl<const N: usize> SplatBuffers<N> {
    /// Copies in a buffer, at most.
    pub(super) const LEN: usize = LEN;

    #[inline]
    pub(super) fn new() -> SplatBuffers<N> {
        SplatBuffers {
            buffers: [const { Buffer(MaybeUninit::uninit()) }; N],
            sources: [(std::ptr::null(), 0); N],
        }
    }

    /// Address of `copies` copies of an element.
    ///
    /// # Safety
    ///
    /// `element` points to an initialised number of `item` bytes that does not change while this buffer
    /// is in use; `copies` is at most [`LEN`](SplatBuffers::LEN).
    #[inline]
    pub(super) unsafe fn fill(
        &mut self,
        operand: usize,
        element: *const u8,
        item: usize,
        copies: usize,
    ) -> *mut u8 {
        let buffer = self.buffers[operand].0.as_mut_ptr().cast::<u8>();
        if self.sources[operand] != (element, copies) {
            // Safety: the caller guarantees the element and that the copies fit.
            unsafe {
                match item {
                    1 => fill::<1>(buffer, element, copies),
                    2 => fill::<2>(buffer, element, copies),
                    4 => fill::<4>(buffer, element, copies),
                    8 => fill::<8>(buffer, element, copies),
                    _ => fill::<MAX_ITEM>(buffer, element, copies),
                }
            }
            self.sources[operand] = (element, copies);
        }
        buffer
    }
}

/// # Safety
///
/// `element` points to `ITEM` initialised bytes, and `buffer` to memory for `copies` times as many.
#[inline(always)]
unsafe fn fill<const ITEM: usize>(buffer: *mut u8, element: *const u8, copies: usize) {
    // Safety: the caller guarantees both; bytes have no alignment.
    unsafe {
        let element = element.cast::<[u8; ITEM]>().read();
        std::slice::from_raw_parts_mut(buffer.cast::<MaybeUninit<[u8; ITEM]>>(), copies)
            .fill(MaybeUninit::new(element));
    }
}
