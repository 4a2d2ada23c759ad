//! Executor of compiled closures: calls a closure with an element of each operand.
//!
//! `Map` and `ForEach` run on tuples of [`Operand`]s. A loop nest is split into chunks; the two innermost
//! loops of a chunk are a row kernel, compiled for the closure and for the stride of each operand: contiguous,
//! broadcast scalar, or any.

mod access;
#[cfg(feature = "lanes")]
mod execute;
#[cfg(feature = "lanes")]
mod map;
mod operand;
#[cfg(feature = "lanes")]
mod rows;

pub use access::{Access, Assign, ElementRef, Read, Write, WriteUninit};
pub(crate) use access::{Broadcast, Contiguous, Cursor, Strided};
#[cfg(feature = "lanes")]
pub use map::{ForEach, Map, clone_elements};
pub use operand::Operand;

#[cfg(test)]
#[cfg(feature = "lanes")]
mod tests;
