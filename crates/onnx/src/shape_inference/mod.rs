//! Shape inference: element types and shapes of all values before a model runs.
//!
//! Sizes come from the declared shapes of inputs, from initializers, and from the rules of the operators. Shapes that
//! the model declares for other values are never used: exporters write wrong ones. Those that contradict the
//! inference are reported.
//!
//! | module | contents |
//! |---|---|
//! | `expression` | integer expressions over unknown sizes |
//! | `symbolic` | shapes with symbolic dimensions |
//! | `inferred_value` | what is inferred about a value |
//! | `inference` | what is inferred about all values of a model |
//! | `rules` | inference rules of the operators |
//! | `analyzer` | applies the rules to graphs, subgraphs and functions |

mod analyzer;
pub(crate) mod expression;
mod inference;
mod inferred_value;
pub(crate) mod rules;
pub(crate) mod symbolic;

use crate::model::Model;

pub(crate) use inference::Scope;
pub use inference::{FixedSizes, Inference};
pub use inferred_value::InferredValue;

/// Infers the element types and shapes of all values of a model.
///
/// Starts from declared inputs and initializers, and applies the rules of the operators.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// assert_eq!(inference.value("z").map(|z| z.to_string()).as_deref(), Some("Nx3"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn infer_shapes(model: &Model) -> Inference {
    analyzer::infer(model, &FixedSizes::new())
}

/// As [`infer_shapes`], with sizes for some symbolic dimensions of the inputs.
///
/// ```
/// use unishape_onnx::{FixedSizes, Model, infer_shapes_with};
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let sizes = FixedSizes::from([("N".into(), 5)]);
/// let inference = infer_shapes_with(&Model::read(&bytes)?, &sizes);
/// assert_eq!(inference.value("x").map(|x| x.to_string()).as_deref(), Some("5x3"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn infer_shapes_with(model: &Model, sizes: &FixedSizes) -> Inference {
    analyzer::infer(model, sizes)
}
