//! ONNX models: read, run, explain their broadcasting, and make it explicit.
//!
//! ```
//! use unishape::Tensor;
//! use unishape_onnx::{Model, CompiledModel};
//! # let bytes = unishape_onnx::model_builder::add_model();
//!
//! let model = Model::read(&bytes)?; // z = Add(x, y), x of shape Nx3, y of shape 3
//! let (x, y) = (ndarray::arr2(&[[1f32, 2.0, 3.0]]), ndarray::arr1(&[1f32, 1.0, 1.0]));
//! let outputs = CompiledModel::new(&model)?.run([("x", x.view().into()), ("y", y.view().into())])?;
//! assert_eq!(outputs[0], ("z".into(), Tensor::from(ndarray::arr2(&[[2f32, 3.0, 4.0]]))));
//! # Ok::<(), unishape_onnx::Error>(())
//! ```
//!
//! [`CompiledModel`] runs every element-wise ONNX operator that broadcasts, for all its element types and all its
//! versions since opset 7, and the unary element-wise operators; reductions (Reduce…, ArgMax, ArgMin), softmax, and the
//! normalizations by mean and variance; operators on shapes. Consecutive nodes are fused into one pass over memory.
//! A node with any other operator is an error that names the node.
//!
//! ```
//! use unishape::{DType, Tensor};
//! use unishape_onnx::{CompiledModel, model_builder::ModelBuilder};
//!
//! let model = ModelBuilder::new(18)
//!     .input("a", DType::F32, "M 1")
//!     .input("b", DType::F32, "N")
//!     .initializer("axes", ndarray::arr1(&[1i64]))
//!     .node("Mul", "a b", "products")
//!     .node("ReduceSum", "products axes", "y")
//!     .output("y", DType::F32, "M 1");
//! let compiled = CompiledModel::new(&model.build()?)?;
//! let (a, b) = (Tensor::from(ndarray::arr2(&[[1f32], [2.0]])), Tensor::from(ndarray::arr1(&[1f32, 2.0, 3.0])));
//! // One stage: the products are never stored.
//! let plan = compiled.plan([("a", a.view()), ("b", b.view())])?;
//! assert_eq!(plan.matches("stage ").count(), 1, "{plan}");
//! let outputs = compiled.run([("a", a.view()), ("b", b.view())])?;
//! assert_eq!(outputs[0].1, ndarray::arr2(&[[6f32], [12.0]]).into());
//! # Ok::<(), unishape_onnx::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `wire` | lossless reader and writer of the protobuf wire format |
//! | `field_numbers` | field numbers of the messages in `onnx.proto` |
//! | `model`, `graph` | models, graphs, nodes, attributes, value info |
//! | `tensor_proto`, `external_data` | tensors, and their external data files |
//! | `file` | reads files with a size limit |
//! | `elem_type` | element types by their ONNX number |
//! | `operators` | table of the supported operators: versions and element types |
//! | `runtime` | compiles and runs models |
//! | `shape_inference` | infers element types and shapes, with symbolic dimensions |
//! | `broadcasting` | which inputs of a node are broadcast, for every operator that broadcasts |
//! | `explain` | reports the nodes that broadcast |
//! | `explicit`, `implicit` | insert Expand nodes before stretched inputs, remove redundant ones |
//! | `graph_editor` | edits a graph and keeps all other bytes |
//! | `model_builder` | builds models for examples and tests |
//! | `error` | the error type |

mod broadcasting;
mod elem_type;
mod error;
mod explain;
mod explicit;
mod external_data;
mod field_numbers;
mod file;
mod file_range;
mod graph;
mod graph_editor;
mod implicit;
mod lazy_file;
mod model;
pub mod model_builder;
mod operators;
mod runtime;
mod shape_inference;
mod tensor_proto;
mod wire;

pub use broadcasting::BroadcastKind;
pub use elem_type::ElemType;
pub use error::{Error, ErrorKind};
pub use explain::{BroadcastNode, Report, StretchedDim, StretchedInput, Verdict, explain, explain_with};
pub use explicit::{ExplicitOptions, Rewritten, explicit, explicit_with};
pub use graph::{DeclaredDim, Graph, Node, ValueInfo};
pub use implicit::{implicit, implicit_all};
pub use model::{Function, Model};
pub use operators::{SupportedOperator, supported_operators};
pub use runtime::CompiledModel;
pub use shape_inference::expression::SizeExpr;
pub use shape_inference::symbolic::{Dim, shape_text};
pub use shape_inference::{FixedSizes, Inference, InferredValue, infer_shapes, infer_shapes_with};
pub use tensor_proto::{open_tensor, read_tensor, tensor_bytes};

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
