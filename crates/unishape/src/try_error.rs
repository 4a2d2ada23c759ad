//! Errors of verbs whose functions can fail.

use crate::error::Error;
use std::fmt;

/// The error of [`try_map`] and [`try_for_each`].
///
/// [`try_map`]: crate::try_map
/// [`try_for_each`]: crate::try_for_each
///
/// Its message is that of the error inside. In a function that returns `Box<dyn Error>`, or `unishape::Error` where
/// the function fails with that too, `?` converts it.
///
/// ```
/// use unishape::{TryError, try_map};
///
/// fn inverses(x: &[f64]) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
///     Ok(try_map(x, |&x| if x == 0.0 { Err("division by zero") } else { Ok(1.0 / x) })?.to_vec())
/// }
/// assert_eq!(inverses(&[2.0, 4.0]).unwrap(), [0.5, 0.25]);
/// assert_eq!(inverses(&[2.0, 0.0]).unwrap_err().to_string(), "division by zero");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryError<E> {
    /// The arrays cannot be broadcast, or there is no memory for the result.
    Broadcast(Error),
    /// The first error that the function returned.
    Function(E),
}

impl<E> From<Error> for TryError<E> {
    fn from(error: Error) -> TryError<E> {
        TryError::Broadcast(error)
    }
}

impl From<TryError<Error>> for Error {
    fn from(error: TryError<Error>) -> Error {
        match error {
            TryError::Broadcast(error) | TryError::Function(error) => error,
        }
    }
}

impl<E: fmt::Display> fmt::Display for TryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryError::Broadcast(error) => error.fmt(f),
            TryError::Function(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for TryError<E> {}
