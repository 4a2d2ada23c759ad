//! Sizes of the CPU's caches, as it reports them.

use crate::tuning::DEFAULT_LAST_LEVEL_CACHE;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the largest cache that this CPU shares among its cores.
///
/// Asked once per process. Where the CPU does not report it, a typical size.
pub(crate) fn last_level_cache() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    match SIZE.load(Ordering::Relaxed) {
        0 => {
            let size = reported().filter(|&size| size > 0).unwrap_or(DEFAULT_LAST_LEVEL_CACHE);
            SIZE.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}

/// The `cpuid` leaf with one cache per subleaf: 4 for Intel, 0x8000001D for AMD.
#[cfg(target_arch = "x86_64")]
fn reported() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let vendor = __cpuid(0);
    let is_amd = [vendor.ebx, vendor.edx, vendor.ecx]
        == [b"Auth", b"enti", b"cAMD"].map(|part| u32::from_le_bytes(*part));
    let leaf = if is_amd { 0x8000_001D } else { 4 };
    if __cpuid(leaf & 0x8000_0000).eax < leaf {
        return None;
    }
    let size = |subleaf: u32| {
        let cache = __cpuid_count(leaf, subleaf);
        // The low bits are the type; 0: there are no more caches.
        let part = |shift: u32, bits: u32| ((cache.ebx >> shift & ((1 << bits) - 1)) + 1) as usize;
        let sets = cache.ecx as usize + 1;
        (cache.eax & 0x1F != 0).then(|| part(0, 12) * part(12, 10) * part(22, 10) * sets)
    };
    (0..8).map_while(size).max()
}

/// What the kernel knows: `32768K`.
#[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
fn reported() -> Option<usize> {
    let size = |index: usize| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1024)
    };
    (0..8).map_while(size).max()
}

#[cfg(not(any(target_arch = "x86_64", target_os = "linux")))]
fn reported() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::last_level_cache;

    #[test]
    fn the_last_level_cache_has_a_plausible_size() {
        let size = last_level_cache();
        assert!((1 << 16..1 << 34).contains(&size), "{size} bytes");
        assert_eq!(size, last_level_cache());
    }
}
