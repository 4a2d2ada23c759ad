//! SIMD dispatch, software prefetch and floating-point flags.
//!
//! An internal crate of `unishape`; its API may change with every release.
//!
//! | module | contents |
//! |---|---|
//! | `cpu` | runs a task compiled for AVX2 or AVX-512; the prefetch instruction |
//! | `flags` | [`FloatFlags`]: the CPU's flags of exceptional results |
//! | `prefetch` | [`PrefetchQueue`]: which cache lines are prefetched when, and why |

mod cpu;
mod flags;
mod prefetch;

pub use cpu::{SimdTask, prefetch, run_avx2, run_widest, try_run_avx2};
pub use flags::{FloatFlags, float_flags, set_float_flags};
pub use prefetch::{CACHE_LINE, PrefetchQueue};
