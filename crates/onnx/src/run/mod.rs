//! Models run: element-wise operators one after another are computed in one pass.
//!
//! | module | holds |
//! |---|---|
//! | `program` | a model made ready: which nodes are needed, and what can wait |
//! | `values` | the values of one run: those that are there, and those that can be computed when wanted |
//! | `element_wise` | ONNX's operators as expressions |
//! | `rearrange` | operators that are about shapes |
//! | `strings` | what is done with text |

mod element_wise;
mod program;
pub(crate) mod rearrange;
mod strings;
mod values;

pub(crate) use element_wise::cast_target;
pub use program::Program;
