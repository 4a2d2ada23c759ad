//! What a program keeps between calls. The slot does not know its type: that depends on programs itself.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, TryLockError};

/// A slot for one value. Clones are empty.
#[derive(Default)]
pub(super) struct Slot(Mutex<Option<Box<dyn Any + Send>>>);

impl Clone for Slot {
    fn clone(&self) -> Slot {
        Slot::default()
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

impl Slot {
    /// Calls a function with the value that is kept, or with a new one; `None` where another call uses it.
    ///
    /// Does not wait: a child that was forked while another thread held the lock would wait forever. A value is also kept
    /// after a panic.
    pub(super) fn with<T: Any + Send + Default, R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut kept = match self.0.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if !kept.as_ref().is_some_and(|value| value.is::<T>()) {
            *kept = Some(Box::<T>::default());
        }
        kept.as_mut()?.downcast_mut().map(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_for_one_call_at_a_time() {
        let slot = Slot::default();
        let within = |_: &mut u32| assert!(slot.with(|_: &mut u32| ()).is_none());
        assert!(slot.with(within).is_some());
        let count = |slot: &Slot| {
            slot.with(|count: &mut u32| {
                *count += 1;
                *count
            })
        };
        assert_eq!([count(&slot), count(&slot), count(&slot.clone())], [Some(1), Some(2), Some(1)]);
        // As in a child that was forked meanwhile.
        let locked = slot.0.lock().unwrap();
        assert_eq!(count(&slot), None);
        drop(locked);
        assert_eq!(count(&slot), Some(3));
        let panics = || slot.with(|_: &mut u32| panic!("expected"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(count(&slot), Some(4));
        assert_eq!(slot.with(|text: &mut String| text.clone()), Some(String::new()), "another type");
    }
}
