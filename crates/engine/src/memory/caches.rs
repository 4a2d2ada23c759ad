//! Sizes of the CPU's caches, and what follows from them.

use crate::tuning::{DEFAULT_L2_CACHE, DEFAULT_LAST_LEVEL_CACHE, STREAM_CACHES_OF_OTHERS};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest number of bytes that a call touches without software prefetching, when it uses `threads` threads and writes
/// its output with regular stores.
///
/// Intel: what fits the L2 caches of these threads. Its last-level cache is far from a core, and prefetching from it is
/// faster. Others: no limit. On an EPYC (Zen 4) prefetching from the last-level cache or from memory made calls slower.
pub(crate) fn max_bytes_without_prefetch(threads: usize) -> usize {
    static L2: AtomicUsize = AtomicUsize::new(0);
    // More than any array has: there is no prefetching.
    let l2 = || if is_intel() { caches().map_or(DEFAULT_L2_CACHE, |[l2, _]| l2) } else { usize::MAX };
    or_init(&L2, l2).saturating_mul(threads)
}

/// Largest number of bytes that a call touches without non-temporal stores.
///
/// Intel: the last-level cache divided by `cache_fraction`. Others: a multiple of that cache.
pub(crate) fn max_bytes_without_streaming(cache_fraction: usize) -> usize {
    static FACTOR: AtomicUsize = AtomicUsize::new(0);
    match or_init(&FACTOR, || if is_intel() { 1 } else { STREAM_CACHES_OF_OTHERS }) {
        1 => last_level_cache() / cache_fraction,
        factor => last_level_cache().saturating_mul(factor),
    }
}

/// Bytes of the largest cache that this CPU shares among its cores.
///
/// Where the CPU does not report it, a typical size.
fn last_level_cache() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    or_init(&SIZE, || caches().map_or(DEFAULT_LAST_LEVEL_CACHE, |[_, last]| last))
}

/// A number that is computed once per process; not 0.
fn or_init(number: &AtomicUsize, compute: impl Fn() -> usize) -> usize {
    match number.load(Ordering::Relaxed) {
        0 => {
            let computed = compute().max(1);
            number.store(computed, Ordering::Relaxed);
            computed
        }
        known => known,
    }
}

/// Bytes of the L2 cache and of the last-level cache, where the CPU reports them.
fn caches() -> Option<[usize; 2]> {
    let level = |level: u32| (0..8).map_while(cache).find(|cache| cache.0 == level).map(|cache| cache.1);
    let last = (0..8).map_while(cache).map(|cache| cache.1).max().filter(|&size| size > 0)?;
    Some([level(2).filter(|&size| size > 0).unwrap_or(DEFAULT_L2_CACHE), last])
}

/// Registers of a leaf and a subleaf of `cpuid`.
#[cfg(target_arch = "x86_64")]
#[allow(
    unused_unsafe,
    reason = "the function is unsafe in older versions of Rust that `rust-version` includes"
)]
fn cpuid(leaf: u32, subleaf: u32) -> std::arch::x86_64::CpuidResult {
    // Safety: every x86-64 CPU has the instruction, which only reads.
    unsafe { std::arch::x86_64::__cpuid_count(leaf, subleaf) }
}

#[cfg(target_arch = "x86_64")]
fn is_vendor(name: &[u8; 12]) -> bool {
    let vendor = cpuid(0, 0);
    let found = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
    found.as_flattened() == name
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    is_vendor(b"GenuineIntel")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

/// Level and bytes of a cache, from the `cpuid` leaf with one cache per subleaf: 4 for Intel, 0x8000001D for AMD.
#[cfg(target_arch = "x86_64")]
fn cache(index: u32) -> Option<(u32, usize)> {
    let leaf = if is_vendor(b"AuthenticAMD") { 0x8000_001D } else { 4 };
    if cpuid(leaf & 0x8000_0000, 0).eax < leaf {
        return None;
    }
    let cache = cpuid(leaf, index);
    decode(cache.eax, cache.ebx, cache.ecx)
}

/// Level and bytes of a cache from registers of `cpuid`; `None`: there are no more caches.
#[cfg(target_arch = "x86_64")]
fn decode(eax: u32, ebx: u32, ecx: u32) -> Option<(u32, usize)> {
    let part = |shift: u32, bits: u32| ((ebx >> shift & ((1 << bits) - 1)) + 1) as usize;
    let sets = ecx as usize + 1;
    let size = || [part(12, 10), part(22, 10), sets].into_iter().fold(part(0, 12), usize::saturating_mul);
    // The low bits are the type.
    (eax & 0x1F != 0).then(|| (eax >> 5 & 7, size()))
}

/// Level and bytes of a cache, as the kernel knows them: `2` and `32768K`.
#[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
fn cache(index: u32) -> Option<(u32, usize)> {
    let read = |file: &str| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}")).ok()
    };
    let level = read("level")?.trim().parse().ok()?;
    let size = read("size")?.trim().strip_suffix('K')?.parse::<usize>().ok()?;
    Some((level, size.checked_mul(1024)?))
}

#[cfg(not(any(target_arch = "x86_64", target_os = "linux")))]
fn cache(_: u32) -> Option<(u32, usize)> {
    None
}

#[cfg(test)]
mod tests {
    use super::{caches, last_level_cache, max_bytes_without_prefetch, max_bytes_without_streaming, or_init};
    use crate::tuning::STREAM_CACHES_OF_OTHERS;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn caches_have_plausible_sizes() {
        let size = last_level_cache();
        assert!((1 << 16..1 << 34).contains(&(size as u64)), "{size} bytes");
        assert_eq!(size, last_level_cache());
        if let Some([l2, last]) = caches() {
            assert!((1 << 15..=last).contains(&l2), "{l2} of {last} bytes");
        }
        if super::is_intel() {
            assert!((1 << 15..1 << 34).contains(&(max_bytes_without_prefetch(1) as u64)));
            assert_eq!(max_bytes_without_prefetch(4), 4 * max_bytes_without_prefetch(1));
            assert_eq!(max_bytes_without_streaming(4), size / 4);
        } else {
            assert_eq!([1, 4].map(max_bytes_without_prefetch), [usize::MAX; 2]);
            assert_eq!([2, 4].map(max_bytes_without_streaming), [size * STREAM_CACHES_OF_OTHERS; 2]);
        }
    }

    #[test]
    fn numbers_are_computed_once() {
        let number = AtomicUsize::new(0);
        assert_eq!([or_init(&number, || 0), or_init(&number, || 7)], [1, 1]);
    }

    /// Line size, partitions, ways and sets, each less 1.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn sizes_are_decoded() {
        let ebx = |line: u32, partitions: u32, ways: u32| {
            (line - 1) | ((partitions - 1) << 12) | ((ways - 1) << 22)
        };
        assert_eq!(super::decode(0x21, ebx(64, 1, 8), 63), Some((1, 32 << 10)));
        assert_eq!(super::decode(0x1c043, ebx(64, 1, 16), 2047), Some((2, 2 << 20)));
        assert_eq!(super::decode(0x63, ebx(128, 2, 3), 0), Some((3, 128 * 2 * 3)));
        assert_eq!(super::decode(0x63, u32::MAX, u32::MAX).map(|cache| cache.0), Some(3));
        assert_eq!(super::decode(0x60, 0, 0), None);
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn vendor_is_that_of_the_kernel() {
        let Ok(info) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        assert_eq!(super::is_intel(), info.contains("GenuineIntel"));
        assert_eq!(super::is_vendor(b"AuthenticAMD"), info.contains("AuthenticAMD"));
    }
}
