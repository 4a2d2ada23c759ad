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
//! | `rules` | inference rules of the operators |
//! | `analyzer` | applies the rules to graphs, subgraphs and functions |

mod analyzer;
pub(crate) mod expression;
mod inferred_value;
pub(crate) mod rules;
pub(crate) mod symbolic;

use crate::error::Error;
use crate::graph::Graph;
use crate::model::Model;
use std::collections::{BTreeMap, HashMap};
use symbolic::SymbolicShape;

pub use inferred_value::InferredValue;

/// Sizes of symbolic dimensions that the caller fixes, by name.
///
/// ```
/// use unishape_onnx::{FixedSizes, Model, infer_shapes_with};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let inference = infer_shapes_with(&Model::read(&bytes)?, &FixedSizes::from([("N".into(), 2)]));
/// assert_eq!(inference.value("z").map(|z| z.to_string()).as_deref(), Some("2x3"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub type FixedSizes = BTreeMap<String, usize>;

/// Result of shape inference: all values of a model, and its incompatible shapes.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// assert!(inference.value("x").is_some() && inference.conflicts().is_empty());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inference {
    /// The main graph.
    pub(crate) main: Scope,
    /// Bodies of the functions, with what holds for all calls; `None` if there is no call.
    pub(crate) functions: Vec<Option<Scope>>,
    conflicts: Vec<(usize, Error)>,
    /// Number of the conflicts that are in the main graph; they are the first.
    main_conflicts: usize,
    declaration_conflicts: Vec<String>,
    /// Whether the model has more nodes, with all calls of functions, than are analyzed.
    pub(crate) is_truncated: bool,
}

/// What is inferred about the values of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Values of the graph, and those of enclosing graphs that it uses.
    values: HashMap<String, InferredValue>,
    /// Scopes of subgraphs, by node and index among the node's subgraphs.
    bodies: HashMap<(usize, usize), Scope>,
    /// Bodies of called functions, by node.
    calls: HashMap<usize, Called>,
}

/// A function's body, as a node calls it.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    /// Index among the model's functions.
    pub(crate) function: usize,
    /// The body with the call's attributes, if it refers to attributes.
    pub(crate) body: Option<Graph>,
    pub(crate) scope: Scope,
}

impl Scope {
    pub(crate) fn value(&self, name: &str) -> Option<&InferredValue> {
        self.values.get(name)
    }

    pub(crate) fn shape(&self, name: &str) -> Option<&SymbolicShape> {
        self.value(name).map(|value| &value.shape)
    }

    /// Scope of a subgraph; `None` if it was not analyzed.
    pub(crate) fn body(&self, node: usize, subgraph: usize) -> Option<&Scope> {
        self.bodies.get(&(node, subgraph))
    }

    /// Body of the function that a node calls.
    pub(crate) fn call(&self, node: usize) -> Option<&Called> {
        self.calls.get(&node)
    }
}

impl Inference {
    /// Inferred type and shape of a value of the main graph.
    ///
    /// `None` if the main graph has no value of that name.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(inference.value("nothing").is_none());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn value(&self, name: &str) -> Option<&InferredValue> {
        self.main.value(name)
    }

    /// Indices of the nodes whose inputs are incompatible (E1), with the error.
    ///
    /// The index is that in the node's own graph; the error names the subgraph or function.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(inference.conflicts().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn conflicts(&self) -> &[(usize, Error)] {
        &self.conflicts
    }

    /// Declared shapes of intermediate values and outputs that contradict the inferred ones, in words.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(inference.declaration_conflicts().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn declaration_conflicts(&self) -> &[String] {
        &self.declaration_conflicts
    }

    /// Fails with the first conflict of the main graph.
    ///
    /// A subgraph may never run, so that its conflicts are only reported.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.conflicts[..self.main_conflicts].first().map_or(Ok(()), |(_, error)| Err(error.clone()))
    }
}

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
