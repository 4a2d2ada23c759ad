//! Shape inference: element types and shapes of all values before a model runs.
//!
//! | module | contents |
//! |---|---|
//! | `symbolic` | shapes with symbolic dimensions |
//! | `inferred_value` | what is inferred about a value |
//! | `rules` | inference rules of the operators |

mod inferred_value;
mod rules;
pub(crate) mod symbolic;

use crate::error::Error;
use crate::graph::{DeclaredDim, Graph, ValueInfo};
use crate::model::Model;
use std::collections::HashMap;
use symbolic::{Dim, MAX_INFERRED_RANK, SymbolicShape};

pub use inferred_value::InferredValue;

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
    /// Ids of the values: indices into `values`.
    ids: HashMap<String, usize>,
    values: Vec<InferredValue>,
    conflicts: Vec<(usize, Error)>,
}

impl Inference {
    /// Inferred type and shape of a value.
    ///
    /// `None` if the model has no value of that name.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(inference.value("nothing").is_none());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn value(&self, name: &str) -> Option<&InferredValue> {
        self.ids.get(name).map(|&id| &self.values[id])
    }

    /// Indices of the nodes whose inputs are incompatible (E1), with the error.
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

    /// Fails with the first conflict.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.conflicts.first().map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    pub(crate) fn shape(&self, name: &str) -> Option<&SymbolicShape> {
        self.value(name).map(|value| &value.shape)
    }

    /// Id of a value; adds an unknown value if the name is new.
    fn id(&mut self, name: &str) -> usize {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.values.len();
        self.ids.insert(name.to_owned(), id);
        self.values.push(InferredValue::unknown(id));
        id
    }
}

/// Infers the element types and shapes of all values of a model.
///
/// Starts from declared inputs and initializers, and applies the rules of the operators. Where a rule yields
/// less than the model declares, the declaration is used.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// assert_eq!(inference.value("z").map(|z| z.to_string()).as_deref(), Some("Nx3"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn infer_shapes(model: &Model) -> Inference {
    let graph = model.graph();
    let mut inference = Inference { ids: HashMap::new(), values: Vec::new(), conflicts: Vec::new() };
    let declarations = declarations(graph);
    for info in &graph.inputs {
        let id = inference.id(&info.name);
        inference.values[id] = declared_value(info, id);
    }
    for tensor in &graph.initializers {
        let is_input = inference.ids.contains_key(&tensor.name);
        let id = inference.id(&tensor.name);
        if is_input && model.ir_version() >= 4 {
            // The initializer is only a default: the caller may pass any value of the declared shape.
            continue;
        }
        let value = rules::infer_tensor(tensor, model.base_dir());
        inference.values[id] = InferredValue { shape: value.shape.limited(id), ..value };
    }
    for node in &graph.nodes {
        let inputs: Vec<Option<usize>> =
            node.inputs.iter().map(|name| (!name.is_empty()).then(|| inference.id(name))).collect();
        let outputs = node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let outputs: Vec<(usize, usize)> = outputs.map(|(index, name)| (index, inference.id(name))).collect();
        let inputs: Vec<Option<&InferredValue>> =
            inputs.iter().map(|input| input.map(|id| &inference.values[id])).collect();
        let mut values: Vec<InferredValue> = Vec::with_capacity(outputs.len());
        for &(index, id) in &outputs {
            // Anonymous dimensions are identified by the id of the output.
            let inferred = rules::infer_output(node, index, &inputs, id);
            let unknown = || InferredValue::unknown(id);
            values.push(match inferred {
                Ok(value) => value.unwrap_or_else(unknown),
                Err(error) => {
                    inference.conflicts.push((node.index, error.with_context(node.to_string())));
                    unknown()
                }
            });
        }
        for ((index, id), value) in outputs.into_iter().zip(values) {
            let value = InferredValue { shape: value.shape.limited(id), ..value };
            let declared =
                declarations.get(node.outputs[index].as_str()).map(|info| declared_value(info, id));
            inference.values[id] = match declared {
                Some(declared) => merge(value, declared),
                None => value,
            };
        }
    }
    inference
}

/// Declarations of the values that nodes compute.
fn declarations(graph: &Graph) -> HashMap<&str, &ValueInfo> {
    graph.value_info.iter().chain(&graph.outputs).map(|info| (info.name.as_str(), info)).collect()
}

fn declared_value(info: &ValueInfo, id: usize) -> InferredValue {
    let shape = match &info.shape {
        Some(dims) if dims.len() <= MAX_INFERRED_RANK => {
            let dims = dims.iter().enumerate().map(|(index, dim)| match dim {
                DeclaredDim::Size(size) => Dim::Known(*size),
                DeclaredDim::Symbol(name) => Dim::named(name),
                DeclaredDim::Unknown => Dim::anonymous(id, index),
            });
            SymbolicShape::new(dims.collect())
        }
        _ => SymbolicShape::unranked(id),
    };
    InferredValue { elem: info.elem, shape, data: None }
}

/// Merges an inferred value with its declaration; the inferred one has precedence where both are known.
fn merge(inferred: InferredValue, declared: InferredValue) -> InferredValue {
    let shape = match (inferred.shape.dims(), declared.shape.dims()) {
        (None, Some(_)) => declared.shape,
        (Some(inferred), Some(declared)) if inferred.len() == declared.len() => {
            let merge_dims = |(inferred, declared): (&Dim, &Dim)| match (inferred, declared) {
                (Dim::Unknown(_), Dim::Known(_)) => declared.clone(),
                _ if !inferred.is_known_or_named() && declared.is_known_or_named() => declared.clone(),
                _ => inferred.clone(),
            };
            SymbolicShape::new(inferred.iter().zip(declared).map(merge_dims).collect())
        }
        _ => inferred.shape,
    };
    InferredValue { elem: inferred.elem.or(declared.elem), shape, data: inferred.data }
}
