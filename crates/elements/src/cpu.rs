//! What needs this or that CPU: code compiled for several widths of vectors, one of which is chosen when it runs, and
//! fetching.

#![allow(unsafe_code)]

/// Work that is to be compiled anew for each width. `run` has to be `#[inline(always)]`, and what it calls
/// has to be inlined into it, or it stays as narrow as the rest of the program.
#[doc(hidden)]
pub trait Job {
    /// Does the work.
    #[doc(hidden)]
    fn run(self);
}

/// Runs a job that does little for each element, and waits for memory: with vectors of 256 bits. Wider ones make
/// many CPUs take their clock down, and memory with it.
#[doc(hidden)]
#[inline(always)]
pub fn at_usual_width(job: impl Job) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // Safety: the CPU has just said that it has these.
        return unsafe { avx2(job) };
    }
    job.run();
}

/// Runs a job that does much for each element, with the widest vectors there are.
#[doc(hidden)]
#[inline(always)]
pub fn at_full_width(job: impl Job) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // Safety: the CPU has just said that it has these.
            return unsafe { avx512(job) };
        }
    }
    at_usual_width(job);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(job: impl Job) {
    job.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn avx512(job: impl Job) {
    job.run();
}

/// Has a line of memory fetched to the first cache, if there is one.
#[doc(hidden)]
#[inline(always)]
pub fn fetch(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // Safety: this is a hint, which does no harm where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
