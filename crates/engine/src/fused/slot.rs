//! What a program keeps between calls. The slot does not know its type: that depends on programs itself.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, TryLockError};

/// A slot for one value. Clones are empty.
#[derive(Default)]
pub(super) struct Slot(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Empty,
    /// A call is using the value. Calls of other threads do without it meanwhile.
    Taken,
    Kept(Box<dyn Any + Send>),
}

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
    /// Does not wait: a child that was forked while another thread held the lock would wait forever.
    pub(super) fn with<T: Any + Send + Default, R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut value: Box<T> = match self.replace(State::Taken)? {
            State::Kept(value) => value.downcast().unwrap_or_default(),
            State::Empty => Box::default(),
            State::Taken => return None,
        };
        let result = work(&mut value);
        self.replace(State::Kept(value));
        Some(result)
    }

    fn replace(&self, state: State) -> Option<State> {
        let mut own = match self.0.try_lock() {
            Ok(own) => own,
            // The state is replaced as a whole, so that no panic leaves it half changed.
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(std::mem::replace(&mut *own, state))
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
    }
}
