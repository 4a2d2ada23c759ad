//! What is inferred about all values of a model.

use super::inferred_value::InferredValue;
use super::symbolic::SymbolicShape;
use crate::error::Error;
use crate::graph::Graph;
use std::collections::{BTreeMap, HashMap};

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
    pub(super) conflicts: Vec<(usize, Error)>,
    /// Number of the conflicts that are in the main graph; they are the first.
    pub(super) main_conflicts: usize,
    pub(super) declaration_conflicts: Vec<String>,
    /// Whether the model has more nodes, with all calls of functions, than are analyzed.
    pub(crate) is_truncated: bool,
}

/// What is inferred about the values of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Values of the graph, and those of enclosing graphs that it uses.
    pub(super) values: HashMap<String, InferredValue>,
    /// Scopes of subgraphs, by node and index among the node's subgraphs.
    pub(super) bodies: HashMap<(usize, usize), Scope>,
    /// Bodies of called functions, by node.
    pub(super) calls: HashMap<usize, Called>,
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

    /// Declared shapes that contradict the inferred ones, in words.
    ///
    /// They are shapes of intermediate values and of outputs.
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
