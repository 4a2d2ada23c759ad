//! What closures return: nothing, a signal to stop, or a result.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// What a closure returns to the loop that calls it.
pub trait Flow {
    /// Whether the loop can end before its last index.
    const CAN_STOP: bool;

    /// Whether the loop ends here.
    fn stops(self) -> bool;
}

impl Flow for () {
    const CAN_STOP: bool = false;

    #[inline(always)]
    fn stops(self) -> bool {
        false
    }
}

impl Flow for ControlFlow<()> {
    const CAN_STOP: bool = true;

    #[inline(always)]
    fn stops(self) -> bool {
        self.is_break()
    }
}

/// What a function that can fail returns: a `Result` of a value or an error.
#[diagnostic::on_unimplemented(
    message = "the function must return a `Result`, not `{Self}`",
    label = "returns `{Self}`",
    note = "turn an `Option` into a `Result` with `ok_or`; for a function that cannot fail, call `map` or `for_each`"
)]
pub trait Fallible<T, E> {
    /// This value as a `Result`.
    ///
    /// # Errors
    ///
    /// Where it is one.
    fn into_result(self) -> Result<T, E>;
}

impl<T, E> Fallible<T, E> for Result<T, E> {
    #[inline(always)]
    fn into_result(self) -> Result<T, E> {
        self
    }
}

/// The first error of closures that several threads call.
pub(super) struct FirstError<E>(Mutex<Option<E>>);

impl<E> FirstError<E> {
    pub(super) fn new() -> FirstError<E> {
        FirstError(Mutex::new(None))
    }

    /// Keeps the first error; later ones are dropped.
    #[cold]
    pub(super) fn set(&self, error: E) -> ControlFlow<()> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let later = if first.is_none() { first.replace(error) } else { Some(error) };
        drop(first); // before a destructor of the user's runs
        drop(later);
        ControlFlow::Break(())
    }

    /// The first error, if there was any.
    pub(super) fn into_result(self) -> Result<(), E> {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
