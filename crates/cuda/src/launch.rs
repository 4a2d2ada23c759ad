//! Kernels and their arguments, before there is a device.

use crate::value::Numerics;
use std::sync::Arc;

/// Name of the function in every [source](Kernel::source).
pub const ENTRY: &str = "unishape_kernel";

/// A generated kernel.
///
/// Kernels with the same source are the same: sizes, strides, addresses and constants are arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// CUDA C++17. The function [`ENTRY`] takes one structure of 64-bit words.
    pub source: Arc<str>,
    /// Threads of a block.
    pub threads: u32,
    /// Whether the threads of a block wait for each other.
    pub has_barriers: bool,
    /// How it is compiled.
    pub numerics: Numerics,
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What is run.
    pub kernel: Kernel,
    /// Number of blocks, in one dimension; at least 1.
    pub blocks: u32,
    /// The words of its argument.
    pub words: Vec<Word>,
}

/// A word of a kernel's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A number.
    Value(u64),
    /// An address.
    Address {
        /// The array.
        buffer: Buffer,
        /// Bytes from the address of its element at index 0.
        offset: i64,
    },
}

/// An array that kernels read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// The value of a variable.
    Variable(usize),
    /// An intermediate result.
    Temporary(usize),
    /// The result.
    Output,
}
