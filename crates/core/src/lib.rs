//! The broadcasting rule, and nothing else.
//!
//! Broadcasting brings any number of shapes to one: they are lined up on the right, shorter ones
//! are completed with 1s on the left, and in each dimension every size must be 1 or the one size
//! that the others have. A size of 1 is stretched: every index there reads element 0.
//!
//! ```
//! use unishape_core::{Common, Rules};
//!
//! let (mut sizes, mut from) = ([0; 4], [0; 4]); // room for four dimensions
//! let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
//! common.push(&[8, 1, 6, 1])?;
//! common.push(&[7, 1, 5])?;
//! assert_eq!(common.finish()?, [8, 7, 6, 5]);
//! # Ok::<(), unishape_core::FoldError>(())
//! ```
//!
//! Read the modules in this order; each uses only those before it:
//!
//! | module | holds | requirements |
//! |---|---|---|
//! | `rules` | the rule sets, [`Rules::STANDARD`] and [`Rules::SONNX`] | |
//! | `size` | the rule for one dimension, for sizes known and not yet known | BC-6, BC-13 |
//! | `common` | shapes folded one after another into their common shape | BC-1, BC-4, BC-5, BC-9, BC-11 |
//! | `stretch` | one shape stretched to another: check, index map f, strides, offsets | BC-7, BC-10, BC-12 |
//! | `count` | numbers of elements and bytes | BC-14 |
//!
//! There is no allocation, no dependency, no `unsafe`, and no panic that a caller can reach: every
//! function is total, whatever slices it is given. The loops are plain so that a proof can follow
//! them line by line. For arrays rather than shapes, use the `unishape` crate.

#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod common;
mod count;
mod rules;
mod size;
mod stretch;

pub use common::{Common, FoldError, Mismatch, join_shape};
pub use count::{TooLarge, byte_count, element_count};
pub use rules::Rules;
pub use size::{Extent, Size, broadcast_dim};
pub use stretch::{
    LayoutError, StretchError, broadcast_strides, check_broadcast_to, index_map, padded_dim, source_index,
    source_offset,
};
