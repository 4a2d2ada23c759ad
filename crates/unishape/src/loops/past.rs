//! Writing past the cache. A line of memory that is written by ordinary means is read first, which costs a
//! third of what memory can move; and once it is written it takes a place in the cache from what is still
//! to be read. Results are put together in the first cache and go from there to memory as they are, line by
//! line, while the inputs that come next are fetched: memory would rest until they are asked for.

use super::plan::Plan;
use std::mem::{MaybeUninit, needs_drop};

/// A line of the cache, in bytes.
pub(crate) const LINE: usize = 64;

/// Bytes that are put together before they are written: enough that little is lost between one buffer and the
/// next, and few enough that memory does not rest meanwhile.
pub(crate) const BUFFER: usize = 512;

/// So many bytes before they are read, inputs are fetched: so early that they are there in time.
pub(crate) const AHEAD: usize = 4096;

/// Outputs of fewer bytes are likely to be read again before they have left the cache.
const LARGE: usize = 1 << 25;

/// Rows of fewer bytes have too many ends, which are not whole lines.
const LONG: usize = 8 * BUFFER;

/// Room for results.
#[repr(align(64))]
pub(crate) struct Buffer(pub(crate) MaybeUninit<[u8; BUFFER]>);

impl Buffer {
    #[inline(always)]
    pub(crate) fn new() -> Buffer {
        Buffer(MaybeUninit::uninit())
    }
}

/// Whether an output of so many elements is so large, its elements are such and this CPU can.
pub(crate) fn pays<T>(count: usize) -> bool {
    let is_plain = !needs_drop::<T>() && size_of::<T>().is_power_of_two() && size_of::<T>() <= LINE;
    is_plain && count >= LARGE / size_of::<T>() && cpu_can()
}

/// Whether a plan's first operand, the output, has long rows that lie in one piece, and the others' elements
/// are neighbours in them, or each the same one.
pub(crate) fn has_long_rows<T>(plan: &Plan) -> bool {
    let (len, steps) = plan.loop_at(plan.loops() - 1);
    let (first, others) = (steps.first(), &steps[1..]);
    len * size_of::<T>() >= LONG && first == Some(&1) && others.iter().all(|step| matches!(step, 0 | 1))
}

/// Whether this CPU has the instructions.
fn cpu_can() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// How many elements there are from a place to where a buffer ends that begins at the place's line.
#[inline(always)]
pub(crate) fn room<T>(place: *const T) -> usize {
    (BUFFER - place.addr() % LINE) / size_of::<T>()
}

/// Writes so many bytes, whatever they are, and those in whole lines past the cache. [`done`] has to be
/// called on this thread before anybody reads them.
///
/// # Safety
///
/// They can be read from `from` and written to `to`, which are apart, and it [pays], which it does not where the
/// CPU has no such instructions.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx"))]
pub(crate) unsafe fn write(from: *const u8, to: *mut u8, bytes: usize) {
    let before = to.align_offset(LINE).min(bytes);
    let lines = (bytes - before) / LINE;
    let after = before + lines * LINE;
    // Safety: all this is within the bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, before);
        for line in 0..lines {
            let at = before + line * LINE;
            write_line(from.add(at), to.add(at));
        }
        std::ptr::copy_nonoverlapping(from.add(after), to.add(after), bytes - after);
    }
    // The compiler does not know what was done to wide registers. Code for narrow ones, which may come next, would
    // wait for their upper halves at every step: rows of 3 took twice as long.
    #[cfg(target_arch = "x86_64")]
    std::arch::x86_64::_mm256_zeroupper();
}

/// # Safety
///
/// There is a line to read at `from`, and one to write at `to`, where a line begins.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx"))]
unsafe fn write_line(from: *const u8, to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // Safety: the caller vouches for both lines. The intrinsics for this would look at the bytes, of which some
    // may be padding.
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
    // Safety: the caller vouches for both lines.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, LINE);
    }
}

/// What was written past the cache comes before what is written from now on.
#[inline(always)]
pub(crate) fn done() {
    #[cfg(target_arch = "x86_64")]
    // Safety: every x86-64 CPU has this.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
