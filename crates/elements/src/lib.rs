//! What arrays are made of: element types, and functions of elements, a block of them at a time.
//!
//! This is the part of `unishape` that knows nothing of shapes. It is a crate of its own because it is long in
//! compiling: each function is compiled for each type that it computes in, and for each width of vectors that a
//! CPU may have. Use `unishape`, which has what is meant for everybody under its own name.
//!
//! | module | holds |
//! |---|---|
//! | `dtype` | the element types, and which holds what another holds |
//! | `op` | the table of operators and functions |
//! | `number` | numbers as they are written, which have no type yet |
//! | `constant` | one element of any type |
//! | `cpu` | code compiled for several widths of vectors, and fetching; the one place here with `unsafe` |
//! | `ahead` | memory that is fetched while a kernel computes |
//! | `math` | exponentials, logarithms, angles and their kind, of one element |
//! | `kernels` | functions of blocks: what an expression is computed by |

mod ahead;
mod constant;
mod cpu;
mod dtype;
mod kernels;
mod math;
mod number;
mod op;

pub use ahead::{Ahead, LINE};
pub use constant::Constant;
pub use cpu::{Job, at_full_width, at_usual_width, fetch};
pub use dtype::DType;
pub use dtype::Kind;
pub use kernels::{Kernel, cast, compare_mixed, constant, find, next_type};
pub use number::Scalar;
pub use op::Op;
