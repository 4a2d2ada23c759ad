//! Executors of element-wise work and reductions: loop nests over pointers, shapes and strides.
//!
//! An internal crate of `unishape`; its API may change with every release. It knows neither ndarray nor
//! errors that users see, and holds the unsafe code that touches elements. Callers describe arrays by
//! [`closures::Operand`], [`fused::Input`] and [`fused::Output`], whose constructors are unsafe and state what
//! must hold; everything that takes them is safe.
//!
//! | module | holds |
//! |---|---|
//! | [`nest`] | the loop nest: ordering, coalescing, tiling, splitting, the odometer |
//! | [`closures`] | executor of compiled closures: `map`, `for_each`, copies (feature `closures`) |
//! | [`fused`] | executor of block programs: expressions (feature `fused`) |
//! | [`reduce`] | executor of reductions of closures: `reduce`, `sum_to` |
//! | [`memory`] | allocation, huge pages, streaming stores, prefetching |
//! | [`parallel`] | the worker pool and work splitting (feature `parallel`) |
//! | [`flags`] | exceptional results of a call: overflow, division by zero |
//! | [`layout`] | strides of contiguous arrays |
//! | [`tuning`] | every tuning constant |

#![allow(unsafe_code)]
// Without some of the executors, parts of the modules that they share have no user.
#![cfg_attr(
    not(all(feature = "closures", feature = "parallel", feature = "fused")),
    allow(dead_code, unused_imports)
)]

pub mod closures;
pub mod flags;
#[cfg(feature = "fused")]
pub mod fused;
pub mod layout;
pub mod memory;
pub mod nest;
pub mod parallel;
#[cfg(feature = "parallel")]
mod primitive;
pub mod reduce;
pub mod tuning;
