//! Memory: allocation, huge pages, non-temporal stores, prefetching.

mod alloc;
mod caches;
mod huge_pages;
pub(crate) mod prefetch;
pub(crate) mod stream;

pub use alloc::{AllocError, reserve};
#[cfg(feature = "fused")]
pub use alloc::{is_zeroed_by_system, zeroed};
pub(crate) use caches::max_bytes_without_prefetch;
#[cfg(test)]
pub(crate) use caches::max_bytes_without_streaming;
