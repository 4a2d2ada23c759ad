//! Exceptional results of a call: divisions by zero, overflows, invalid operations.
//!
//! The CPU's floating-point flags report those of arithmetic, at the cost of reading them once for each thread of a call.
//! Executors discard the flags of other functions, and look at their values instead.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use unishape_simd::{float_flags, set_float_flags};

pub use unishape_simd::FloatFlags;

thread_local! {
    /// What has been found so far by looking at values; `None` where no call is watched.
    static FOUND: Cell<Option<FloatFlags>> = const { Cell::new(None) };
}

/// Calls a function, and returns which exceptional results it had.
///
/// Only calls of executors in it are watched.
///
/// ```
/// use unishape_engine::flags::{FloatFlags, watch};
///
/// assert_eq!(watch(|| 5), (5, FloatFlags::NONE));
/// ```
pub fn watch<R>(function: impl FnOnce() -> R) -> (R, FloatFlags) {
    let watched = Watched::new();
    let result = function();
    (result, watched.found())
}

/// While it lives, calls of this thread are watched.
struct Watched {
    found: Option<FloatFlags>,
    flags: FloatFlags,
}

impl Watched {
    fn new() -> Watched {
        let watched = Watched { found: FOUND.replace(Some(FloatFlags::NONE)), flags: float_flags() };
        set_float_flags(FloatFlags::NONE);
        watched
    }

    fn found(self) -> FloatFlags {
        FOUND.get().unwrap_or_default() | float_flags()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        FOUND.set(self.found);
        set_float_flags(self.flags);
    }
}

/// Whether calls of this thread are watched.
#[inline]
pub(crate) fn are_watched() -> bool {
    FOUND.get().is_some()
}

/// Adds exceptional results that were found in values.
pub(crate) fn add(flags: FloatFlags) {
    if let Some(found) = FOUND.get() {
        FOUND.set(Some(found | flags));
    }
}

/// Calls a function whose flags are ignored: those that the CPU has afterwards are those from before.
pub(crate) fn without<R>(function: impl FnOnce() -> R) -> R {
    let before = float_flags();
    let result = function();
    set_float_flags(before);
    result
}

/// Where the threads of a call put what they find, for the caller.
pub(crate) struct Gathered {
    are_watched: bool,
    bits: AtomicU8,
}

impl Gathered {
    pub(crate) fn new() -> Gathered {
        Gathered { are_watched: are_watched(), bits: AtomicU8::new(0) }
    }

    /// Runs a part of the work.
    pub(crate) fn take_part(&self, work: impl FnOnce()) {
        if !self.are_watched {
            return work();
        }
        let ((), found) = watch(work);
        if found != FloatFlags::NONE {
            self.bits.fetch_or(found.bits(), Ordering::Relaxed);
        }
    }

    /// Gives the caller what has been found. All parts are done.
    pub(crate) fn finish(self) {
        add(FloatFlags::from_bits(self.bits.into_inner()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn calls_within_each_other() {
        let ((inner, ()), outer) = watch(|| {
            add(FloatFlags::DIVIDE);
            (watch(|| add(FloatFlags::INVALID)).1, ())
        });
        assert_eq!((inner, outer), (FloatFlags::INVALID, FloatFlags::DIVIDE));
        assert!(!are_watched());
        add(FloatFlags::DIVIDE);
        assert_eq!(watch(|| ()).1, FloatFlags::NONE);
    }

    #[test]
    fn a_panic_ends_it() {
        let result = catch_unwind(AssertUnwindSafe(|| watch(|| panic!("on purpose"))));
        assert!(result.is_err() && !are_watched());
    }

    #[test]
    fn threads_gather() {
        let ((), found) = watch(|| {
            let gathered = Gathered::new();
            std::thread::scope(|scope| {
                for flags in [FloatFlags::DIVIDE, FloatFlags::OVERFLOW] {
                    let gathered = &gathered;
                    scope.spawn(move || gathered.take_part(|| add(flags)));
                }
            });
            gathered.finish();
        });
        assert_eq!(found, FloatFlags::DIVIDE | FloatFlags::OVERFLOW);
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn flags_of_the_cpu_are_found_unless_they_tell_nothing() {
        let divide = || _ = std::hint::black_box(std::hint::black_box(1.0) / std::hint::black_box(0.0));
        let divide: fn() = std::hint::black_box(divide);
        assert_eq!(watch(divide).1, FloatFlags::DIVIDE);
        assert_eq!(watch(|| without(divide)).1, FloatFlags::NONE);
        assert_eq!(watch(|| watch(divide)).1, FloatFlags::NONE);
    }
}
