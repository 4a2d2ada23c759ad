//! Walking through arrays: the one room with `unsafe` in it.
//!
//! | module | holds |
//! |---|---|
//! | `view` | the stretched view of an array: same elements, new shape, stride 0 where stretched |
//! | `copy` | the elements of a view written out one after another |

#![allow(unsafe_code)]

mod copy;
mod view;

pub use copy::to_owned;
pub(crate) use view::Target;
