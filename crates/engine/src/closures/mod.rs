//! Executor of compiled closures: calls a closure with an element of each operand.
//!
//! `Map` and `ForEach` run on tuples of [`Operand`]s. A loop nest is split into chunks; the two innermost
//! loops of a chunk are a row kernel, compiled for the closure and for the stride of each operand: contiguous,
//! broadcast scalar, or any.

mod access;
#[cfg(feature = "closures")]
mod execute;
#[cfg(feature = "closures")]
mod flow;
#[cfg(feature = "closures")]
mod map;
mod operand;
#[cfg(feature = "closures")]
mod rows;

pub use access::{Access, Assign, ElementRef, Read, ReadAccess, ReadFor, Write, WriteUninit};
pub(crate) use access::{BroadcastCursor, ContiguousCursor, Cursor, StridedCursor};
#[cfg(feature = "closures")]
pub use flow::{Fallible, Flow};
#[cfg(feature = "closures")]
pub use map::{ForEach, Map, clone_elements};
pub use operand::Operand;

#[cfg(test)]
#[cfg(feature = "closures")]
mod tests;
