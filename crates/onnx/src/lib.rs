//! ONNX for unishape: models read, run, and their broadcasting shown and made explicit.
//!
//! ```
//! use unishape::Tensor;
//! use unishape_onnx::{Model, Program};
//! # let bytes = unishape_onnx::build::add_model();
//!
//! let model = Model::read(&bytes)?; // z = x + y, of an N×3 and a 3
//! let (x, y) = (ndarray::arr2(&[[1f32, 2.0, 3.0]]), ndarray::arr1(&[1f32, 1.0, 1.0]));
//! let outputs = Program::new(&model)?.run([("x", x.view().into()), ("y", y.view().into())])?;
//! assert_eq!(outputs[0], ("z".into(), Tensor::from(ndarray::arr2(&[[2f32, 3.0, 4.0]]))));
//! # Ok::<(), unishape_onnx::Error>(())
//! ```
//!
//! Every element-wise operator of ONNX that broadcasts is run, for all of its types, in all of its versions since
//! opset 7, and the element-wise operators of one input between them; what follows each other is computed in one
//! pass. Of all other operators the error says which node has it.
//!
//! | module | holds |
//! |---|---|
//! | `wire` | Protocol Buffers as bytes, of which none gets lost |
//! | `model`, `graph` | what is in a model's file |
//! | `proto`, `external` | tensors in files, and the files beside them |
//! | `file` | files read whole |
//! | `types` | element types by their numbers |
//! | `operators` | which operators there are, since when, for which types |
//! | `run` | models run |
//! | `infer` | types and shapes before a model runs, with names for sizes that are not known |
//! | `explain` | where a model broadcasts |
//! | `explicit`, `implicit` | Expands put before what is stretched, and taken away again |
//! | `edit` | changes to a graph |
//! | `build` | models made by hand, for examples and tests |
//! | `error` | what can go wrong |

#[doc(hidden)]
pub mod build;
mod edit;
mod error;
mod explain;
mod explicit;
mod external;
mod file;
mod graph;
mod implicit;
mod infer;
mod model;
mod operators;
mod proto;
mod run;
mod types;
mod wire;

pub use error::{Error, Problem};
pub use explain::{Broadcast, Report, Stretch, StretchedDim, explain};
pub use explicit::{Rewritten, explicit};
pub use graph::{Declared, Graph, Node, ValueInfo};
pub use implicit::implicit;
pub use infer::dims::{Dim, Symbols, shape_text};
pub use infer::{Fact, Inference, infer};
pub use model::Model;
pub use operators::{Supported, supported};
pub use proto::{open_tensor, read_tensor, tensor_bytes};
pub use run::Program;
pub use types::ElemType;
