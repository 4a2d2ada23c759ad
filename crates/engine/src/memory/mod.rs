//! Memory: allocation, huge pages, non-temporal stores, prefetching.

mod alloc;
mod huge_pages;
pub(crate) mod prefetch;
pub(crate) mod stream;

#[cfg(feature = "fused")]
pub use alloc::zeroed;
pub use alloc::{AllocError, reserve};
