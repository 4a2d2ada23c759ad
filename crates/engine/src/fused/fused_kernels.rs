//! Fused kernels of a program: compiled code for some of its steps, kept from call to call.

use crate::tuning::{FUSE_AFTER, MAX_FUSED_KERNELS, MIN_FUSED_ELEMENTS};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use unishape_jit::{Fusable, FusedKernel, fusable};
use unishape_kernels::KernelKey;

/// Which steps a kernel computes, and which of its inputs are blocks, as bits.
pub(super) type Key = (SmallVec<[u32; 16]>, u32);

/// A compiled kernel; `None` if there can be none.
type Entry = (Key, Option<Arc<FusedKernel>>);

/// The fused kernels of a program.
#[derive(Debug)]
pub(super) struct FusedKernels {
    /// Which steps can be computed with others.
    pub(super) fusable: Vec<Option<Fusable>>,
    /// Loop nests with fewer elements are computed step by step.
    pub(super) min_elements: usize,
    /// Compiled so far. Neither readers nor writers wait: a child process that was forked while another thread held the
    /// lock would wait forever. Without a kernel, steps are computed one by one.
    compiled: RwLock<Vec<Entry>>,
    /// Elements that were computed, times the number of steps.
    work: AtomicUsize,
}

impl FusedKernels {
    /// None yet, for a program that computes these functions.
    pub(super) fn new(keys: impl Iterator<Item = KernelKey>) -> FusedKernels {
        FusedKernels::with_mode(keys, mode())
    }

    /// Kernels that are compiled at once, also for the smallest arrays.
    #[cfg(test)]
    pub(super) fn compiled_immediately(keys: impl Iterator<Item = KernelKey>) -> FusedKernels {
        FusedKernels::with_mode(keys, Mode::Always)
    }

    fn with_mode(keys: impl Iterator<Item = KernelKey>, mode: Mode) -> FusedKernels {
        let (min_elements, work) = match mode {
            Mode::Off => (usize::MAX, 0),
            Mode::Adaptive => (MIN_FUSED_ELEMENTS, 0),
            Mode::Always => (0, FUSE_AFTER),
        };
        let fusable = keys.map(fusable).collect();
        FusedKernels { fusable, min_elements, compiled: RwLock::default(), work: AtomicUsize::new(work) }
    }

    /// Notes that all steps are computed for some elements.
    pub(super) fn add_work(&self, elements: usize) {
        if self.work.load(Ordering::Relaxed) < FUSE_AFTER {
            self.work.fetch_add(elements.saturating_mul(self.fusable.len()), Ordering::Relaxed);
        }
    }

    /// Whether kernels are used for this many elements, and compiled if they are not yet.
    pub(super) fn is_ready(&self, elements: usize) -> bool {
        elements >= self.min_elements && self.work.load(Ordering::Relaxed) >= FUSE_AFTER
    }

    /// The kernel with this key. It is compiled when the program has computed enough to amortize the compilation.
    pub(super) fn kernel(
        &self,
        key: &Key,
        compile: impl FnOnce() -> Option<FusedKernel>,
    ) -> Option<Arc<FusedKernel>> {
        let find =
            |entries: &[Entry]| entries.iter().find(|(own, _)| own == key).map(|(_, kernel)| kernel.clone());
        if let Some(known) = find(&self.compiled.try_read().ok()?) {
            return known;
        }
        if self.work.load(Ordering::Relaxed) < FUSE_AFTER
            || self.compiled.try_read().ok()?.len() >= MAX_FUSED_KERNELS
        {
            return None;
        }
        let kernel = compile().map(Arc::new);
        if let Ok(mut entries) = self.compiled.try_write()
            && find(&entries).is_none()
        {
            entries.push((key.clone(), kernel.clone()));
        }
        kernel
    }
}

/// When kernels are compiled at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Never.
    Off,
    /// Once a program has computed enough to amortize the compilation.
    Adaptive,
    /// At once, also for the smallest arrays: for tests.
    Always,
}

impl Mode {
    /// The mode that a variable of the environment names: `0`, `1` (the default) or `always`.
    fn named(value: Option<&str>) -> Mode {
        match value.map(str::trim) {
            Some("0") => Mode::Off,
            Some("always") => Mode::Always,
            _ => Mode::Adaptive,
        }
    }
}

/// The [mode](Mode::named) in the environment, `UNISHAPE_JIT`. Read once.
fn mode() -> Mode {
    // Not a `OnceLock`: a child process that was forked while another thread initialised it would wait forever.
    static KNOWN: AtomicU8 = AtomicU8::new(u8::MAX);
    const MODES: [Mode; 3] = [Mode::Off, Mode::Adaptive, Mode::Always];
    let mut known = KNOWN.load(Ordering::Relaxed);
    if known == u8::MAX {
        known = Mode::named(std::env::var("UNISHAPE_JIT").ok().as_deref()) as u8;
        KNOWN.store(known, Ordering::Relaxed);
    }
    MODES[usize::from(known.min(2))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use unishape_kernels::{DType, Op};

    #[test]
    fn work_counts_each_element_once_for_each_step() {
        let keys = [KernelKey::Call(Op::Add, DType::F32), KernelKey::Call(Op::Multiply, DType::F32)];
        let kernels = FusedKernels::with_mode(keys.into_iter(), Mode::Adaptive);
        let is_compiled = || {
            let mut is_compiled = false;
            kernels.kernel(&(SmallVec::from_slice(&[0, 1]), 0), || {
                is_compiled = true;
                None
            });
            is_compiled
        };
        // Each element counts once for each of the two steps.
        kernels.add_work(FUSE_AFTER / 2 - 1);
        assert!(!kernels.is_ready(MIN_FUSED_ELEMENTS) && !is_compiled());
        kernels.add_work(1);
        assert!(kernels.is_ready(MIN_FUSED_ELEMENTS) && is_compiled());
        assert!(!kernels.is_ready(MIN_FUSED_ELEMENTS - 1));
        assert!(!is_compiled(), "twice");
    }

    #[test]
    fn the_mode_decides_when_kernels_are_compiled() {
        let kernels = |mode| FusedKernels::with_mode(std::iter::empty(), mode);
        assert!(kernels(Mode::Always).is_ready(0));
        assert!(!kernels(Mode::Adaptive).is_ready(usize::MAX));
        assert!(!kernels(Mode::Off).is_ready(usize::MAX));
        let modes = [None, Some("1"), Some("x"), Some("0"), Some(" 0 "), Some("always")].map(Mode::named);
        let adaptive = Mode::Adaptive;
        assert_eq!(modes, [adaptive, adaptive, adaptive, Mode::Off, Mode::Off, Mode::Always]);
    }

    #[test]
    fn a_limited_number_of_kernels_is_compiled_once_each() {
        let kernels = FusedKernels::compiled_immediately(std::iter::empty());
        let mut compiled = 0;
        for number in (0..MAX_FUSED_KERNELS as u32 + 5).chain(0..3) {
            let kernel = kernels.kernel(&(SmallVec::from_slice(&[number]), 0), || {
                compiled += 1;
                None
            });
            assert!(kernel.is_none());
        }
        assert_eq!(compiled, MAX_FUSED_KERNELS);
        // The same steps with other blocks have a kernel of their own.
        let kernels = FusedKernels::compiled_immediately(std::iter::empty());
        for blocks in 0..2 {
            let mut is_compiled = false;
            kernels.kernel(&(SmallVec::from_slice(&[7]), blocks), || {
                is_compiled = true;
                None
            });
            assert!(is_compiled);
        }
    }
}
