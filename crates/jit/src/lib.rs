//! Machine code for chains of element-wise operations.
//!
//! An internal crate of `unishape`; its API may change with every release.
//!
//! A block program runs one kernel after another, and passes values through the L1 cache: two loads and a store for
//! each operation. For cheap operations that takes longer than the computation. A [`FusedKernel`] keeps the values of
//! a [`Chain`] of such operations in registers. It is compiled in some microseconds, without a compiler: instructions
//! are selected one by one, and registers are assigned in one pass.
//!
//! Results have the same bits as those of the separate kernels, except which NaN a NaN is. Where no kernel can be made
//! (another CPU than x86-64 with AVX2, an operating system that allows no executable memory) [`FusedKernel::compile`]
//! returns `None`.
//!
//! | module | contents |
//! |---|---|
//! | `chain` | [`Chain`], and which functions can be part of one |
//! | `isa` | AVX2 and AVX-512 |
//! | `lower` | instructions on virtual registers |
//! | `allocate` | vector registers, stack slots |
//! | `arguments` | what a compiled function is called with |
//! | `assembler` | encodes instructions |
//! | `kernel` | [`FusedKernel`]: executable memory; all `unsafe` code |

#[cfg(target_arch = "x86_64")]
mod allocate;
#[cfg(target_arch = "x86_64")]
mod arguments;
#[cfg(target_arch = "x86_64")]
mod assembler;
mod chain;
#[cfg(target_arch = "x86_64")]
mod isa;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod lower;

pub use chain::{Call, Chain, ChainInput, ElementWidth, Fusable, MAX_BLOCK_INPUTS, MAX_INPUTS, fusable};
pub use kernel::{FusedBlock, FusedKernel};

// Two attributes, so that cargo-mutants recognises the tests.
#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests;
