//! CUDA executor of `unishape`'s expressions: generates one kernel for each stage of an expression.
//!
//! `unishape::cuda` is its interface for users: `unishape` makes the stages, this crate knows no expressions.
//!
//! | module | contents |
//! |---|---|
//! | `stage` | [`Stage`]: the loop nests that plans are made for |
//! | `value` | [`Variable`], [`ArrayType`]: arrays and numbers without their addresses |
//! | `plan` | [`Plan`]: from an expression to launches of kernels |
//! | `joint` | pairs of stages that are computed in one pass: positions of extreme elements, variances |
//! | `recent` | the most recent plans of an expression |
//! | `launch` | [`Kernel`] and its arguments |
//! | `device` | [`Device`]: memory, streams, and plans that run |
//! | `array` | [`Array`]: arrays that this crate allocates, and expressions of them |
//! | `disk` | compiled kernels on disk |
//! | `elementwise` | kernels of element-wise stages |
//! | `row_table` | those in which arrays are broadcast against each other |
//! | `transpose` | those in which arrays are contiguous along different loops |
//! | `fold` | kernels of reductions |
//! | `fused_rows` | kernels of several stages along the same rows |
//! | `shuffle` | values of the threads of a warp, folded |
//! | `access` | how the lanes of a thread access arrays |
//! | `operand` | arrays as the loops of a stage see them |
//! | `body` | the scalar program of a stage as C statements |
//! | `text` | the text of a kernel, and the words of its argument |
//! | `nvrtc` | [`Compiler`]: NVRTC, loaded at run time |
//! | `libraries` | where users have CUDA's libraries |
//! | `divide` | division by multiplication |
//! | `types` | C types of dtypes |
//!
//! # Kernels
//!
//! - A kernel depends on the program, the element sizes and how arrays are accessed. Sizes, strides, addresses and constants are
//!   arguments, so that other sizes and other numbers need no compilation. Division by sizes is multiplication.
//! - Inner loops are a *tile*, whose elements threads compute in vectors of 16 bytes. Outer loops are blocks of the grid, so that
//!   their indices are found once for a block. Offsets within a tile have 32 bits where they fit.
//! - Reductions along contiguous loops have several threads for each result, others a thread for several results. Where there are
//!   few results, two passes fold parts of the loops. Only shapes and strides decide how: results have the same bits in each run.
//! - Stages along the same rows are one kernel, where a row fits the registers of its threads: they read it once. Otherwise
//!   stages run one after another, and pass results on through memory. Nothing as large as the loops is stored.
//! - Values are bits. Loads depend on the element size only; the operation that takes a value decides about its type.
//! - Nothing of CUDA is needed to build or to load the crate: driver and compiler are loaded at their first use.
//!
//! # Results
//!
//! Arithmetic, square roots and comparisons have the bits of the CPU executor, and so have casts, but one: float64 is rounded
//! once to half precision, and twice on CPUs with an instruction for float32.
//!
//! - In the terms of sums of floating-point numbers, multiplications are fused with additions, and float32 division and
//!   square roots are within 2 ulp instead of exact.
//! - Elementary functions are those of CUDA, for which NVIDIA states errors of at most 4 ulp (float32) and 2 ulp
//!   (float64). Tests allow 4 units of the dtype's precision between them and the CPU executor's.
//! - Complex functions are composed of these. `pow` is `exp(w * log(z))`: its relative error grows with `|w * log(z)|`.
//! - Sums of floating-point numbers are added in another order than on the CPU. It depends only on shapes and strides, so
//!   that results have the same bits in each run on each device.
//! - Which sign a minimum or maximum of zeros has is not defined, for reductions of float32.

mod access;
mod array;
mod body;
mod device;
mod disk;
mod divide;
mod elementwise;
mod error;
mod fold;
mod fused_rows;
mod joint;
mod launch;
mod libraries;
mod nvrtc;
mod operand;
mod plan;
mod recent;
mod row_table;
mod shuffle;
mod stage;
mod text;
mod transpose;
mod types;
mod value;

pub use array::{Array, DeviceElement, DeviceValue};
pub use device::{Device, DeviceMemory, Stream};
pub use error::Error;
pub use launch::{Buffer, ENTRY, Kernel, Launch, Word};
pub use nvrtc::Compiler;
pub use plan::{Expression, Plan};
pub use recent::Recent;
pub use stage::{Read, ReadFrom, Stage, StageResult, Stages};
pub use value::{ArrayType, Numerics, Variable};
