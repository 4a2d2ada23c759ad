//! The broadcasting rule: shapes, strides and index maps.
//!
//! Broadcasting gives any number of shapes a common shape. Shapes are aligned on the right, and
//! shorter ones are padded with 1s on the left. In each dimension, all sizes other than 1 must be
//! equal. A dimension of size 1 is stretched: every index reads element 0.
//!
//! ```
//! use unishape_core::{Common, Rules};
//!
//! let (mut sizes, mut from) = ([0; 4], [0; 4]); // buffers for up to four dimensions
//! let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
//! common.push(&[8, 1, 6, 1])?;
//! common.push(&[7, 1, 5])?;
//! assert_eq!(common.finish()?, [8, 7, 6, 5]);
//! # Ok::<(), unishape_core::FoldError>(())
//! ```
//!
//! Terms in this crate:
//!
//! - SONNX is the working group that writes a safety-related ONNX profile.
//! - E1 is the error for incompatible shapes in the SONNX documents; here it is [`Mismatch`].
//! - BC-1 to BC-14 are the numbered requirements, listed in `docs/traceability.md`.
//!
//! Each module uses only those above it in this table:
//!
//! | module | contents | requirements |
//! |---|---|---|
//! | `rules` | the rule sets, [`Rules::STANDARD`] and [`Rules::SONNX`] | |
//! | `size` | the rule for one dimension, for known and unknown sizes | BC-6, BC-13 |
//! | `stretch` | a shape stretched to another: padding, check, index map, strides, offsets | BC-5, BC-7, BC-10, BC-12 |
//! | `common` | the common shape, folded one shape at a time | BC-1, BC-4, BC-9, BC-11 |
//! | `count` | numbers of elements and bytes | BC-14 |
//!
//! The crate does not allocate, has no dependencies and no `unsafe`. Every function returns a
//! result or an error for any slices: for sizes of type `usize` or [`Extent`], optimised code has
//! no panic, which a test checks. The loops are simple, so that a proof can follow them line by
//! line. For arrays, use the `unishape` crate.

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

pub use common::{Common, FastCommon, FoldError, Mismatch, join_shape};
pub use count::{TooLarge, byte_count, element_count, fits_isize};
pub use rules::Rules;
pub use size::{Extent, Size, broadcast_dim};
pub use stretch::{
    LayoutError, StretchError, broadcast_strides, check_broadcast_to, index_map, padded_dim, source_index,
    source_offset,
};

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
