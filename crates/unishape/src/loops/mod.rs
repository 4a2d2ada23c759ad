//! Walking through arrays: the one room of this crate with `unsafe` in it.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | strides of arrays that lie in one piece |
//! | `view` | the stretched view of an array: same elements, new shape, stride 0 where stretched |
//! | `copy` | the elements of a view written out one after another |
//! | `stretched_bytes` | the same for elements that are only bytes, piece by piece |
//! | `mapped` | a file seen as memory |

#![allow(unsafe_code)]

mod copy;
mod layout;
mod mapped;
mod stretched_bytes;
mod view;

pub(crate) use copy::reserve;
pub use copy::to_owned;
pub(crate) use layout::{column_major, row_major};
pub(crate) use mapped::map;
pub(crate) use stretched_bytes::stretched_bytes;
// Named in a hidden method of `Operand`, and so public, though nobody can reach it.
#[allow(unreachable_pub)]
pub use view::Target;
