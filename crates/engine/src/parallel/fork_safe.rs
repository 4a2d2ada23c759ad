//! A lock that survives `fork`.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// A value of this process behind a lock.
///
/// A child process inherits the memory but not the threads of its parent. An ordinary mutex that another
/// thread held during `fork` stays locked in the child, and a value such as a thread pool is
/// useless there. This lock remembers which process holds it and which process its value belongs to: a child
/// takes over an inherited lock and forgets the inherited value.
pub(super) struct ForkSafe<T> {
    /// Process that holds the lock; 0 where it is free.
    holder: AtomicU32,
    /// Process that the value belongs to.
    owner: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

// Safety: only the holder of the lock accesses the value.
unsafe impl<T: Send> Sync for ForkSafe<T> {}

/// Releases the lock, also when the closure panics.
struct Release<'a>(&'a AtomicU32);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

impl<T> ForkSafe<T> {
    pub(super) const fn new() -> ForkSafe<T> {
        ForkSafe { holder: AtomicU32::new(0), owner: AtomicU32::new(0), value: UnsafeCell::new(None) }
    }

    /// Calls a function with the value, while no other thread has it. The function must not call `with`.
    pub(super) fn with<R>(&self, function: impl FnOnce(&mut Option<T>) -> R) -> R {
        self.with_process(std::process::id(), function)
    }

    fn with_process<R>(&self, process: u32, function: impl FnOnce(&mut Option<T>) -> R) -> R {
        let mut seen = 0;
        while let Err(holder) =
            self.holder.compare_exchange_weak(seen, process, Ordering::Acquire, Ordering::Relaxed)
        {
            seen = match holder == process {
                true => {
                    std::thread::yield_now();
                    0
                }
                // This holder is a thread of another process, which does not exist in this one.
                false => holder,
            };
        }
        let _release = Release(&self.holder);
        if self.owner.swap(process, Ordering::Relaxed) != process {
            // Safety: this thread holds the lock. An inherited value may be half written and its threads do
            // not exist: it is overwritten without being read or dropped.
            unsafe { self.value.get().write(None) };
        }
        // Safety: this thread holds the lock.
        function(unsafe { &mut *self.value.get() })
    }
}

#[cfg(test)]
mod tests {
    use super::ForkSafe;
    use std::sync::atomic::Ordering;

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        static COUNT: ForkSafe<usize> = ForkSafe::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        COUNT.with(|count| *count = Some(count.unwrap_or(0) + 1));
                    }
                });
            }
        });
        assert_eq!(COUNT.with(|count| *count), Some(40_000));
    }

    /// As after a fork in the middle of another thread's `with`.
    #[test]
    fn a_child_takes_over_a_lock_that_its_parent_held() {
        let value: ForkSafe<Box<i32>> = ForkSafe::new();
        value.with_process(1, |value| *value = Some(Box::new(7)));
        value.holder.store(1, Ordering::Relaxed);
        assert!(value.with_process(2, |value| value.is_none()));
        value.with_process(2, |value| *value = Some(Box::new(8)));
        assert_eq!(value.with_process(2, |value| value.take()), Some(Box::new(8)));
    }

    #[test]
    fn a_panic_releases_the_lock() {
        let value: ForkSafe<i32> = ForkSafe::new();
        let panics = || value.with(|_| panic!("expected"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        value.with(|value| *value = Some(1));
        assert_eq!(value.with(|value| *value), Some(1));
    }
}
