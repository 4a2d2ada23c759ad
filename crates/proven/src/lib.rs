//! The proven programs, called from Rust. For tests only.
//!
//! `proof/core_*.mlw` holds the core's algorithms once more, in WhyML, with contracts that are proven.
//! Why3 turns these programs into C; this crate compiles the C and calls it, so that the tests can hold
//! every answer of the Rust core against the answer of the program that is proven. Each function here
//! has the name and the arguments of the one in the core that it judges, and gives the core's own
//! results and errors; `Rules` alone is a type of its own, since the programs make their own rule sets.
//!
//! `UNISHAPE_PROVEN_C` names the folder with the C files when this crate is built; `cargo xtask test`
//! makes them and sets it. Without it the crate is empty, and its tests say that they are skipped.
//!
//! Calling C takes `unsafe`. Beside the loops of the `unishape` crate, and SIMD dispatch in
//! `unishape-simd`, this is the only room that has it, and no crate that people use depends on
//! this one.
#![cfg_attr(proven, allow(unsafe_code))]

#[cfg(proven)]
mod common;
#[cfg(proven)]
mod count;
#[cfg(proven)]
mod rules;
#[cfg(proven)]
mod size;
#[cfg(proven)]
mod stretch;

#[cfg(proven)]
pub use common::{Common, Programs, Proven, join_shape, padded_dim};
#[cfg(proven)]
pub use count::{byte_count, checked_mul_usize, element_count};
#[cfg(proven)]
pub use rules::Rules;
#[cfg(proven)]
pub use size::{ExtentRecord, broadcast_dim, join_extents, join_unknown};
#[cfg(proven)]
pub use stretch::{
    broadcast_strides, check_broadcast_to, check_index, checked_add_isize, checked_mul_isize, index_map,
    isize_try_from, padded_known_dim, source_index, source_offset,
};

/// The length of a slice, as the programs count.
///
/// # Panics
///
/// Beyond 2³¹−1: the proof says nothing about longer ones.
#[cfg(proven)]
fn length<T>(slice: &[T]) -> i32 {
    int32(slice.len())
}

#[cfg(proven)]
fn int32(number: usize) -> i32 {
    i32::try_from(number).expect("the programs count dimensions in 32 bits")
}

/// A number that a program gives and that cannot be negative.
#[cfg(proven)]
fn natural(number: i32) -> usize {
    usize::try_from(number).expect("the programs give no negative rank or dimension")
}
