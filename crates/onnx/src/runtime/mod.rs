//! Compiles and runs models; fuses consecutive element-wise nodes into one pass over memory.
//!
//! | module | contents |
//! |---|---|
//! | `program` | a compiled model: required nodes, and which values are materialized |
//! | `run` | runs a program: checks inputs, executes steps, returns outputs |
//! | `executor` | the values of one run, materialized or deferred |
//! | `element_wise` | element-wise operators as expressions |
//! | `shape_ops` | operators on shapes, such as Reshape |
//! | `strings` | operators on strings |

mod element_wise;
mod executor;
mod program;
mod run;
pub(crate) mod shape_ops;
mod strings;

pub(crate) use element_wise::cast_target;
pub use program::Program;
