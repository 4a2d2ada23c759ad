//! Compiles and runs models; fuses consecutive element-wise nodes, reductions and normalizations.
//!
//! | module | contents |
//! |---|---|
//! | `compiled_model` | a compiled model: required nodes, and which values are materialized |
//! | `run` | runs a compiled model: checks inputs, executes nodes, returns outputs |
//! | `executor` | the values of one run, materialized or deferred |
//! | `element_wise` | element-wise operators as expressions |
//! | `reduce`, `normalize` | reductions and normalizations as expressions |
//! | `shape_ops` | operators on shapes, such as Reshape |
//! | `strings` | operators on strings |

mod compiled_model;
mod element_wise;
mod executor;
pub(crate) mod normalize;
pub(crate) mod reduce;
mod run;
pub(crate) mod shape_ops;
mod strings;

pub use compiled_model::CompiledModel;
pub(crate) use element_wise::cast_target;
