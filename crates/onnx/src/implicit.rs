//! Makes broadcasting implicit: removes Expand nodes that the operators' own broadcasting makes redundant.

use crate::error::Error;
use crate::explicit::{Rewritten, broadcasts};
use crate::graph::{Graph, Node};
use crate::graph_editor::{GraphEditor, is_inserted};
use crate::model::Model;
use crate::shape_inference::symbolic::{SymbolicShape, broadcast_all};
use crate::shape_inference::{Scope, infer_shapes};
use crate::wire::Message;
use std::collections::{HashMap, HashSet};

/// Removes the Expand nodes that [`explicit`](crate::explicit()) inserted.
///
/// One stays if a consumer of its output would not broadcast the unexpanded value to the same shape by itself, as
/// when the model was changed since.
///
/// ```
/// use unishape_onnx::{Model, explicit, implicit};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let model = explicit(&Model::read(&bytes)?)?.model;
/// let rewritten = implicit(&model)?;
/// assert_eq!((rewritten.expands, rewritten.model.to_bytes()), (1, bytes));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// If inputs of a node are incompatible (E1).
pub fn implicit(model: &Model) -> Result<Rewritten, Error> {
    remove_expands(model, false)
}

/// Removes all redundant Expand nodes of a model.
///
/// Those that its author wrote are removed, too.
///
/// An Expand is redundant if every consumer of its output broadcasts the unexpanded value to the same shape.
///
/// ```
/// use unishape_onnx::{Model, explicit, implicit_all};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let model = explicit(&Model::read(&bytes)?)?.model;
/// assert_eq!(implicit_all(&model)?.model.to_bytes(), bytes);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// As [`implicit`].
pub fn implicit_all(model: &Model) -> Result<Rewritten, Error> {
    remove_expands(model, true)
}

fn remove_expands(model: &Model, all: bool) -> Result<Rewritten, Error> {
    let inference = infer_shapes(model);
    inference.check()?;
    let mut expands = 0;
    let graph = rewrite_graph(model.graph(), &inference.main, all, &mut expands)?;
    let mut functions = HashMap::new();
    for (index, (function, scope)) in model.functions().iter().zip(&inference.functions).enumerate() {
        let Some(scope) = scope else { continue };
        if let Some(body) = rewrite_graph(&function.body, scope, all, &mut expands)? {
            functions.insert(index, body);
        }
    }
    Ok(Rewritten { model: model.with_parts(graph, functions)?, expands })
}

/// A graph and its subgraphs without redundant Expand nodes; `None` if nothing changes.
fn rewrite_graph(
    graph: &Graph,
    scope: &Scope,
    all: bool,
    expands: &mut usize,
) -> Result<Option<Message>, Error> {
    let mut remover = ExpandRemover::new(graph, scope);
    for node in &graph.nodes {
        for (index, subgraph) in node.subgraphs.iter().enumerate() {
            let Some(inner) = scope.body(node.index, index) else { continue };
            if let Some(graph) = rewrite_graph(&subgraph.graph, inner, all, expands)? {
                remover.editor.set_subgraph(node.index, subgraph.attribute, graph);
            }
        }
    }
    let is_expand = |node: &&Node| {
        node.is_default_domain() && node.op_type == "Expand" && (all || is_inserted(&node.name))
    };
    let candidates: Vec<&Node> = graph.nodes.iter().filter(is_expand).collect();
    loop {
        let before = *expands;
        // Last to first: an Expand may exist only to provide the shape of a later one.
        for node in candidates.iter().rev() {
            if remover.is_redundant(node) {
                remover.remove(node);
                *expands += 1;
            }
        }
        if *expands == before {
            break;
        }
    }
    let editor = remover.editor;
    if editor.is_empty() { Ok(None) } else { editor.finish().map(Some) }
}

/// Removes Expand nodes, and nodes and initializers that become unused.
struct ExpandRemover<'m> {
    graph: &'m Graph,
    scope: &'m Scope,
    editor: GraphEditor<'m>,
    /// Current consumers of each value: node index and input index.
    consumers: HashMap<&'m str, Vec<(usize, usize)>>,
    producers: HashMap<&'m str, usize>,
    /// Values that must stay: graph inputs and outputs, and values that subgraphs use.
    pinned: HashSet<String>,
}

impl<'m> ExpandRemover<'m> {
    fn new(graph: &'m Graph, scope: &'m Scope) -> ExpandRemover<'m> {
        let mut consumers: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        let mut producers = HashMap::new();
        for node in &graph.nodes {
            for (input, name) in node.inputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                consumers.entry(name).or_default().push((node.index, input));
            }
            producers.extend(node.outputs.iter().map(|name| (name.as_str(), node.index)));
        }
        let mut pinned: HashSet<String> = graph.outputs.iter().map(|output| output.name.clone()).collect();
        add_captured_names(graph, &mut pinned);
        // An initializer may be the default of a graph input.
        pinned.extend(graph.inputs.iter().map(|input| input.name.clone()));
        ExpandRemover { graph, scope, editor: GraphEditor::new(graph), consumers, producers, pinned }
    }

    fn consumers(&self, name: &str) -> &[(usize, usize)] {
        self.consumers.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether all consumers of an Expand have the same output shape without it.
    fn is_redundant(&self, expand: &Node) -> bool {
        let ([from, _], [to]) = (&expand.inputs[..], &expand.outputs[..]) else { return false };
        let consumers = self.consumers(to);
        // One that is removed has no consumers.
        !self.pinned.contains(to)
            && !consumers.is_empty()
            && consumers
                .iter()
                .all(|&(node, input)| self.keeps_shape(expand, &self.graph.nodes[node], input, to, from))
    }

    /// Whether a node's output shape stays the same if `replacement` replaces `value`.
    fn keeps_shape(&self, expand: &Node, node: &Node, input: usize, value: &str, replacement: &str) -> bool {
        // Those that `explicit` inserts have the shape that the operator broadcasts to.
        let takes_inserted = match &*node.op_type {
            "Gemm" | "FusedGemm" => input == 2,
            "MatMul" | "MatMulInteger" | "QLinearMatMul" | "FusedMatMul" => true,
            // Only ONNX Runtime stretches it.
            "PRelu" => input == 0,
            _ => false,
        };
        if takes_inserted {
            return is_inserted(&expand.name);
        }
        if !broadcasts(node, input) {
            return false;
        }
        let shape = |replace: bool| -> Option<SymbolicShape> {
            let inputs = (0..node.inputs.len()).filter(|&input| input == 0 || broadcasts(node, input));
            let names = inputs.map(|input| match self.editor.input(node.index, input) {
                name if replace && name == value => replacement,
                name => name,
            });
            let shapes = names.filter(|name| !name.is_empty()).map(|name| self.scope.shape(name));
            let shapes = shapes.collect::<Option<Vec<&SymbolicShape>>>()?;
            broadcast_all(shapes.iter().copied(), &[]).ok()
        };
        let (before, after) = (shape(false), shape(true));
        before.is_some() && before == after
    }

    fn remove(&mut self, expand: &'m Node) {
        let ([from, _], [to]) = (&expand.inputs[..], &expand.outputs[..]) else { return };
        let moved = self.consumers.remove(to.as_str()).unwrap_or_default();
        for &(node, input) in &moved {
            self.editor.set_input(node, input, from);
        }
        self.consumers.entry(from).or_default().extend(moved);
        self.remove_with_unused_inputs(expand.index);
    }

    /// Removes a node, and the Constant and Shape nodes and initializers that only it used.
    fn remove_with_unused_inputs(&mut self, node: usize) {
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            self.editor.remove(node);
            for input in 0..self.graph.nodes[node].inputs.len() {
                let name = self.editor.input(node, input).to_owned();
                let Some(consumers) = self.consumers.get_mut(name.as_str()) else { continue };
                consumers.retain(|&consumer| consumer != (node, input));
                if !consumers.is_empty() || self.pinned.contains(&name) {
                    continue;
                }
                match self.producers.get(name.as_str()) {
                    Some(&index) => {
                        let producer = &self.graph.nodes[index];
                        let is_removable = matches!(producer.op_type.as_str(), "Shape" | "Constant");
                        if producer.is_default_domain() && (is_removable || is_inserted(&producer.name)) {
                            pending.push(index);
                        }
                    }
                    None => self.editor.remove_initializer(&name),
                }
            }
        }
    }
}

/// Adds the names that subgraphs may capture from the enclosing graph.
fn add_captured_names(graph: &Graph, names: &mut HashSet<String>) {
    for subgraph in graph.nodes.iter().flat_map(|node| &node.subgraphs) {
        names.extend(subgraph.graph.outputs.iter().map(|output| output.name.clone()));
        names.extend(subgraph.graph.nodes.iter().flat_map(|node| node.inputs.iter().cloned()));
        add_captured_names(&subgraph.graph, names);
    }
}
