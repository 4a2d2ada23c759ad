//! Compiles a model.

use super::shape_ops::constant_value;
use crate::error::{Error, display_name};
use crate::graph::{Graph, Node, ValueInfo};
use crate::model::Model;
use crate::operators::OperatorVersion;
use crate::tensor_proto::TensorProto;
use crate::wire::{Message, SharedBytes};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use unishape::Tensor;

/// A compiled model, which can run any number of times.
///
/// Consecutive element-wise nodes run in one pass over memory, without intermediate arrays. Reductions and
/// normalizations run in the same pass as the nodes before and after them, row by row where they share rows.
/// Stretched inputs are never copied: broadcasting, including Expand, reads with stride 0.
///
/// ```
/// use unishape::Tensor;
/// use unishape_onnx::{Model, CompiledModel};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let compiled = CompiledModel::new(&Model::read(&bytes)?)?;
/// let x = Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]));
/// let y = Tensor::from(ndarray::arr1(&[10f32, 20.0, 30.0]));
/// let outputs = compiled.run([("x", x.view()), ("y", y.view())])?;
/// assert_eq!(outputs[0].0, "z");
/// assert_eq!(outputs[0].1, ndarray::arr2(&[[11f32, 22.0, 33.0], [14.0, 25.0, 36.0]]).into());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Debug)]
pub struct CompiledModel {
    /// Names of the values; all other fields refer to values by index.
    pub(super) names: Vec<String>,
    pub(super) nodes: Vec<CompiledNode>,
    pub(super) inputs: Vec<ModelInput>,
    pub(super) outputs: Vec<usize>,
    /// Initializers and Constant nodes.
    pub(super) constants: Vec<(usize, Tensor)>,
    /// Number of uses of each value, as an input of a node or as an output. A node with several outputs uses its
    /// inputs once for each.
    pub(super) uses: Vec<usize>,
    pub(super) threads: Option<usize>,
}

/// A node that the outputs depend on.
#[derive(Debug)]
pub(super) struct CompiledNode {
    pub(super) node: Node,
    pub(super) version: OperatorVersion,
    pub(super) inputs: Vec<Option<usize>>,
    /// Outputs that are used; others are `None`.
    pub(super) outputs: Vec<Option<NodeOutput>>,
}

/// Output of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeOutput {
    pub(super) value: usize,
    /// Whether the result is stored in memory rather than fused into its consumers.
    pub(super) is_materialized: bool,
}

/// Input of the model.
#[derive(Debug)]
pub(super) struct ModelInput {
    pub(super) value: usize,
    pub(super) info: ValueInfo,
    /// Whether an initializer provides a default value.
    pub(super) has_default: bool,
}

impl CompiledModel {
    /// Compiles a model to compute all its outputs.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(unishape_onnx::CompiledModel::new(&model)?.outputs().collect::<Vec<_>>(), ["z"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a required node is not supported (the error names the node), or the model is invalid.
    pub fn new(model: &Model) -> Result<CompiledModel, Error> {
        let outputs: Vec<&str> = model.graph().outputs.iter().map(|output| output.name.as_str()).collect();
        CompiledModel::with_outputs(model, &outputs)
    }

    /// Compiles a model to compute the given values.
    ///
    /// They need not be outputs of the model.
    ///
    /// Nodes that these values do not depend on are ignored.
    ///
    /// ```
    /// use unishape_onnx::{Model, CompiledModel};
    /// # let bytes = unishape_onnx::model_builder::add_model();
    ///
    /// let compiled = CompiledModel::with_outputs(&Model::read(&bytes)?, &["y", "z"])?;
    /// assert_eq!(compiled.outputs().collect::<Vec<_>>(), ["y", "z"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](CompiledModel::new), and if the model has no such value.
    pub fn with_outputs(model: &Model, values: &[&str]) -> Result<CompiledModel, Error> {
        let opset = model.opset().ok_or_else(|| {
            Error::invalid("the model imports no opset of the domain ai.onnx (opset_import)")
        })?;
        CompiledModel::compile(model.graph(), opset, model.base_dir(), values)
    }

    /// Compiles a single node from its serialized `NodeProto`.
    ///
    /// ```
    /// use unishape::Tensor;
    /// use unishape_onnx::CompiledModel;
    /// # let bytes = unishape_onnx::model_builder::node_bytes("Neg", "x", "y", &[]);
    ///
    /// let compiled = CompiledModel::from_node(&bytes, 21)?;
    /// let x = Tensor::from(ndarray::arr1(&[1i32, -2]));
    /// let outputs = compiled.run([("x", x.view())])?;
    /// assert_eq!(outputs, [("y".into(), ndarray::arr1(&[-1i32, 2]).into())]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](CompiledModel::new).
    pub fn from_node(bytes: &[u8], opset: u32) -> Result<CompiledModel, Error> {
        let message = Message::decode(&SharedBytes::from(bytes.to_vec()))
            .map_err(|error| Error::malformed(format!("not an ONNX node: {error}")))?;
        let node = Node::from_message(0, &message, 0)?;
        let info = |name: &String| ValueInfo { name: name.clone(), elem: None, shape: None };
        let mut inputs: Vec<ValueInfo> = Vec::new();
        for name in node.inputs.iter().filter(|name| !name.is_empty()) {
            if !inputs.iter().any(|input| input.name == *name) {
                inputs.push(info(name));
            }
        }
        let outputs: Vec<String> = node.outputs.iter().filter(|name| !name.is_empty()).cloned().collect();
        let graph = Graph {
            message: Message::default(),
            nodes: vec![node],
            inputs,
            outputs: outputs.iter().map(info).collect(),
            value_info: Vec::new(),
            initializers: Vec::new(),
            sparse_initializers: Vec::new(),
            node_field: crate::field_numbers::graph::NODE,
        };
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        CompiledModel::compile(&graph, opset, None, &outputs)
    }

    fn compile(
        graph: &Graph,
        opset: u32,
        base_dir: Option<&Path>,
        outputs: &[&str],
    ) -> Result<CompiledModel, Error> {
        let mut table = ValueTable::default();
        let initializers: HashMap<&str, &TensorProto> =
            graph.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
        let mut inputs = Vec::new();
        for info in &graph.inputs {
            let value = table.define(&info.name)?;
            inputs.push(ModelInput {
                value,
                info: info.clone(),
                has_default: initializers.contains_key(&*info.name),
            });
        }
        for name in initializers.keys() {
            table.indices.entry((*name).to_owned()).or_insert_with(|| {
                table.names.push((*name).to_owned());
                table.names.len() - 1
            });
        }
        let is_required = required_nodes(graph, outputs);
        let mut nodes = Vec::new();
        for node in &graph.nodes {
            if !is_required[node.index] {
                continue;
            }
            let compiled = CompiledNode::new(node, opset, graph, &mut table)
                .map_err(|error| error.with_context(node.to_string()))?;
            nodes.push(compiled);
        }
        let outputs = outputs.iter().map(|name| match table.indices.get(*name) {
            Some(&value) => Ok(value),
            None => Err(Error::invalid(format!("the model has no value {}", display_name(name)))),
        });
        let outputs = outputs.collect::<Result<Vec<usize>, Error>>()?;
        let uses = count_uses(&mut nodes, &outputs, table.names.len());
        // Only initializers that are used are decoded.
        let mut constants = Vec::new();
        for (name, tensor) in &initializers {
            let value = table.indices[*name];
            if uses[value] > 0 {
                constants.push((value, tensor.decode(base_dir)?));
            }
        }
        for compiled in nodes.iter().filter(|compiled| compiled.node.op_type == "Constant") {
            let tensor = constant_value(&compiled.node, base_dir);
            let tensor = tensor.map_err(|error| error.with_context(compiled.node.to_string()))?;
            constants.extend(compiled.outputs().map(|(_, output)| (output.value, tensor.clone())));
        }
        nodes.retain(|compiled| compiled.node.op_type != "Constant");
        mark_materialized(&mut nodes, &outputs, table.names.len());
        Ok(CompiledModel { names: table.names, nodes, inputs, outputs, constants, uses, threads: None })
    }

    /// Sets the number of worker threads, at least 1.
    ///
    /// Default: `unishape::num_threads()`.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let compiled = unishape_onnx::CompiledModel::new(&unishape_onnx::Model::read(&bytes)?)?.threads(1);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    #[must_use]
    pub fn threads(self, threads: usize) -> CompiledModel {
        CompiledModel { threads: Some(threads.max(1)), ..self }
    }

    /// Names of the required inputs: those without a default value.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let compiled = unishape_onnx::CompiledModel::new(&unishape_onnx::Model::read(&bytes)?)?;
    /// assert_eq!(compiled.inputs().collect::<Vec<_>>(), ["x", "y"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().filter(|input| !input.has_default).map(|input| input.info.name.as_str())
    }

    /// Names of the outputs.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let compiled = unishape_onnx::CompiledModel::new(&unishape_onnx::Model::read(&bytes)?)?;
    /// assert_eq!(compiled.outputs().collect::<Vec<_>>(), ["z"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|&output| self.names[output].as_str())
    }
}

/// Indices of the values defined so far.
#[derive(Default)]
struct ValueTable {
    names: Vec<String>,
    indices: HashMap<String, usize>,
}

impl ValueTable {
    fn define(&mut self, name: &str) -> Result<usize, Error> {
        let index = self.names.len();
        if self.indices.insert(name.to_owned(), index).is_some() {
            return Err(Error::invalid(format!("the value {} is defined twice", display_name(name))));
        }
        self.names.push(name.to_owned());
        Ok(index)
    }
}

impl CompiledNode {
    fn new(node: &Node, opset: u32, graph: &Graph, table: &mut ValueTable) -> Result<CompiledNode, Error> {
        let version = OperatorVersion::resolve(node, opset)?;
        let inputs = node.inputs.iter().map(|name| match table.indices.get(name) {
            _ if name.is_empty() => Ok(None),
            Some(&value) => Ok(Some(value)),
            None if graph.sparse_initializers.contains(name) => Err(Error::unsupported(format!(
                "the input {} is a sparse tensor, which is not supported",
                display_name(name)
            ))),
            None => Err(Error::invalid(format!("its input {} is not defined before it", display_name(name)))),
        });
        let inputs = inputs.collect::<Result<Vec<_>, Error>>()?;
        let outputs = node.outputs.iter().map(|name| match name.as_str() {
            "" => Ok(None),
            name => Ok(Some(NodeOutput { value: table.define(name)?, is_materialized: false })),
        });
        let outputs = outputs.collect::<Result<Vec<_>, Error>>()?;
        Ok(CompiledNode { node: node.clone(), version, inputs, outputs })
    }

    /// Indices of the outputs that are used, and the outputs.
    pub(super) fn outputs(&self) -> impl Iterator<Item = (usize, NodeOutput)> + '_ {
        self.outputs.iter().enumerate().filter_map(|(index, output)| Some((index, (*output)?)))
    }
}

/// Number of uses of each value; removes outputs of nodes without any.
fn count_uses(nodes: &mut [CompiledNode], outputs: &[usize], value_count: usize) -> Vec<usize> {
    let mut uses = vec![0; value_count];
    for &value in outputs {
        uses[value] += 1;
    }
    // Consumers are after the nodes that compute their inputs.
    for compiled in nodes.iter_mut().rev() {
        for output in &mut compiled.outputs {
            *output = output.filter(|output| uses[output.value] > 0);
        }
        let used = compiled.outputs().count();
        for &value in compiled.inputs.iter().flatten() {
            uses[value] += used;
        }
    }
    uses
}

/// For each node, whether an output depends on it.
fn required_nodes(graph: &Graph, outputs: &[&str]) -> Vec<bool> {
    let mut required_values: HashSet<&str> = outputs.iter().copied().collect();
    let mut is_required = vec![false; graph.nodes.len()];
    for node in graph.nodes.iter().rev() {
        if node.outputs.iter().any(|output| !output.is_empty() && required_values.contains(output.as_str())) {
            is_required[node.index] = true;
            required_values.extend(node.inputs.iter().map(String::as_str));
        }
    }
    is_required
}

/// Sets [`NodeOutput::is_materialized`] for all nodes.
///
/// Materialized are outputs, inputs of shape operators, and values that more than one pass would compute.
fn mark_materialized(nodes: &mut [CompiledNode], outputs: &[usize], value_count: usize) {
    #[derive(Clone, Copy, PartialEq)]
    enum Consumers {
        None,
        /// All consumers are fused into the pass that computes this value.
        OnePass(usize),
        Several,
    }
    let mut consumers = vec![Consumers::None; value_count];
    for &output in outputs {
        consumers[output] = Consumers::Several;
    }
    for compiled in nodes.iter_mut().rev() {
        let is_fused = compiled.version.operator.is_fused();
        for output in compiled.outputs.iter_mut().flatten() {
            let (is_materialized, pass) = match consumers[output.value] {
                Consumers::OnePass(pass) if is_fused => (false, pass),
                _ => (true, output.value),
            };
            output.is_materialized = is_materialized;
            for &input in compiled.inputs.iter().flatten() {
                consumers[input] = match consumers[input] {
                    _ if !is_fused => Consumers::Several,
                    Consumers::None => Consumers::OnePass(pass),
                    Consumers::OnePass(other) if other == pass => Consumers::OnePass(pass),
                    _ => Consumers::Several,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_threads() {
        let model = Model::read(&crate::model_builder::add_model()).unwrap();
        let compiled = CompiledModel::new(&model).unwrap();
        assert_eq!(compiled.threads, None);
        let compiled = compiled.threads(3);
        assert_eq!(compiled.threads, Some(3));
        assert_eq!(compiled.threads(0).threads, Some(1));
    }
}
