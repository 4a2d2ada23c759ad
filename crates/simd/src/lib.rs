//! SIMD dispatch and software prefetch.
//!
//! An internal crate of `unishape`; its API may change with every release.
//!
//! | module | contents |
//! |---|---|
//! | `cpu` | runs a task compiled for AVX2 or AVX-512; the prefetch instruction; all `unsafe` code |
//! | `prefetch` | [`PrefetchQueue`]: which cache lines are prefetched when, and why |

mod cpu;
mod prefetch;

pub use cpu::{SimdTask, prefetch, run_avx2, run_widest, try_run_avx2};
pub use prefetch::{CACHE_LINE, PrefetchQueue};
