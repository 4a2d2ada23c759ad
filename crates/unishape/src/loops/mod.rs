//! Walking through arrays: the one room of this crate with `unsafe` in it.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | strides of arrays that lie in one piece |
//! | `view` | the stretched view of an array: same elements, new shape, stride 0 where stretched |
//! | `plan` | which loops walk several arrays at once, chosen before any element is touched |
//! | `pieces` | large work cut up for several threads |
//! | `threads` | threads of our own |
//! | `cores` | on which core they are woken up |
//! | `walk` | ways through memory in the innermost loop |
//! | `pages` | large pages for large results |
//! | `fetch` | having memory fetched ahead |
//! | `past` | writing past the cache |
//! | `machine` | a chain of kernels run block by block |
//! | `each` | the loops that call a function with an element of each operand |
//! | `for_each` | a function of the elements of several arrays that may change them |
//! | `map` | a function of the elements of several arrays |
//! | `copy` | the elements of a view written out one after another |
//! | `sums` | elements added up, many to one place |

#![allow(unsafe_code)]

mod copy;
mod cores;
mod each;
mod fetch;
mod for_each;
mod layout;
mod machine;
mod map;
mod pages;
mod past;
mod pieces;
mod plan;
mod sums;
mod threads;
mod view;
mod walk;

pub use copy::to_owned;
pub(crate) use copy::{reserve, zeroed};
pub use for_each::{ForEach, Part, for_each};
#[cfg(test)]
pub(crate) use layout::column_major;
pub(crate) use layout::{row_major, set_row_major};
pub use machine::Plain;
pub(crate) use machine::{GoesOn, Input, Program, Step, described, is_parallel, run};
pub use map::{Mapping, map, map_into};
pub(crate) use sums::add_to;
pub use threads::Threads;
// Named in a hidden method of `Operand`, and so public, though nobody can reach it.
#[allow(unreachable_pub)]
pub use view::Target;
pub use walk::Lends;
