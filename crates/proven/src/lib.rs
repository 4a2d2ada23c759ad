//! Rust bindings to the proven programs, for tests only.
//!
//! `proof/core_*.mlw` holds the core's algorithms in WhyML, with proven contracts. Why3 extracts these
//! programs to C; this crate compiles and calls the C, so that tests can compare every result of the
//! Rust core with that of the proven program.
//!
//! Each function has the name, arguments, results and errors of the core function that it is compared
//! with. Only `Rules` is a separate type, since the programs create their own rule sets.
//!
//! The module `sonnx` is the exception: it calls the C of `sonnx/c`, a reference implementation on the tensors of SONNX.
//!
//! `UNISHAPE_PROVEN_C` names the folder with the C files at build time; `cargo xtask test` extracts them
//! and sets it. Without it the crate is empty, and its tests report that they are skipped.
//!
//! Calling C requires `unsafe`. No published crate depends on this one.
#![cfg_attr(proven, allow(unsafe_code))]

#[cfg(proven)]
mod common;
#[cfg(proven)]
mod count;
#[cfg(proven)]
mod int32;
#[cfg(proven)]
mod rules;
#[cfg(proven)]
mod size;
#[cfg(proven)]
pub mod sonnx;
#[cfg(proven)]
mod stretch;

#[cfg(proven)]
pub use common::{Common, FastCommon, Programs, Proven, join_shape, padded_dim};
#[cfg(proven)]
pub use count::{byte_count, checked_mul_usize, element_count, fits_isize};
#[cfg(proven)]
pub use rules::Rules;
#[cfg(proven)]
pub use size::{ExtentRecord, broadcast_dim, join_extents, join_known, join_unknown};
#[cfg(proven)]
pub use stretch::{
    broadcast_strides, check_broadcast_to, check_index, checked_add_isize, checked_mul_isize, index_map,
    isize_try_from, padded_known_dim, source_index, source_offset,
};
