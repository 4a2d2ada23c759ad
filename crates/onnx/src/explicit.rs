//! Makes broadcasting explicit: inserts an Expand before every stretched input.
//!
//! Expand broadcasts multidirectionally: `Expand(a, Shape(b))` has the common shape of `a` and `b` for all
//! compatible ranks and sizes, including size 0. So an input with unknown sizes is expanded by the shapes of the
//! other inputs, without any arithmetic on sizes.

use crate::broadcasting::{Broadcast, BroadcastKind, Finding, Stretch, is_single};
use crate::error::Error;
use crate::graph::{Graph, Node};
use crate::graph_editor::{GraphEditor, NewNames};
use crate::model::Model;
use crate::operators::{Operator, ShapeRule};
use crate::shape_inference::symbolic::SymbolicShape;
use crate::shape_inference::{FixedSizes, Scope, infer_shapes_with};
use crate::wire::Message;
use std::collections::HashMap;

/// Result of [`explicit`] or [`implicit`](crate::implicit()).
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let rewritten = unishape_onnx::explicit(&unishape_onnx::Model::read(&bytes)?)?;
/// assert_eq!(rewritten.expands, 1);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The rewritten model.
    pub model: Model,
    /// Number of Expand nodes inserted or removed.
    pub expands: usize,
}

/// What [`explicit_with`] makes explicit.
///
/// ```
/// use unishape_onnx::{BroadcastKind, ExplicitOptions};
///
/// let options = ExplicitOptions::default();
/// assert_eq!(options.kinds, [BroadcastKind::ElementWise, BroadcastKind::Gemm]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitOptions {
    /// Sizes of symbolic dimensions of the inputs; the new model declares them.
    pub sizes: FixedSizes,
    /// Whether only inputs that are certainly stretched are expanded.
    ///
    /// They are stretched whatever the unknown sizes are.
    pub certain_only: bool,
    /// Kinds of broadcasting that are made explicit.
    ///
    /// Possible are also [`MatMul`](BroadcastKind::MatMul), which multiplies the memory of the matrices, and
    /// [`ScalarExponent`](BroadcastKind::ScalarExponent), which changes results of ONNX Runtime. All other kinds
    /// have no explicit form: their operators define the broadcasting.
    pub kinds: Vec<BroadcastKind>,
}

impl Default for ExplicitOptions {
    fn default() -> ExplicitOptions {
        ExplicitOptions {
            sizes: FixedSizes::new(),
            certain_only: false,
            kinds: vec![BroadcastKind::ElementWise, BroadcastKind::Gemm],
        }
    }
}

/// Rewrites a model without implicit broadcasting.
///
/// Inserts an Expand before every input of an element-wise operator or a Gemm that is stretched or may be, so that
/// all inputs of an operator that broadcasts have the same shape, also in subgraphs and functions. A single exponent
/// of Pow is left as it is: ONNX Runtime computes an expanded one differently.
///
/// ```
/// use unishape_onnx::{Model, explain, explicit};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let model = explicit(&Model::read(&bytes)?)?.model;
/// let operators: Vec<&str> = model.graph().nodes.iter().map(|node| &*node.op_type).collect();
/// assert_eq!(operators, ["Shape", "Expand", "Add"]);
/// assert!(explain(&model).broadcasts.is_empty());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// If inputs of a node are incompatible (E1), or the model's opset is older than 8, which introduced Expand.
pub fn explicit(model: &Model) -> Result<Rewritten, Error> {
    explicit_with(model, &ExplicitOptions::default())
}

/// As [`explicit`], with options.
///
/// ```
/// use unishape_onnx::{ExplicitOptions, Model, explicit_with};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let options = ExplicitOptions { sizes: [("N".into(), 2)].into(), ..ExplicitOptions::default() };
/// let model = explicit_with(&Model::read(&bytes)?, &options)?.model;
/// assert_eq!(model.graph().nodes[0].op_type, "Constant");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// As [`explicit`].
pub fn explicit_with(model: &Model, options: &ExplicitOptions) -> Result<Rewritten, Error> {
    let inference = infer_shapes_with(model, &options.sizes);
    inference.check()?;
    let mut rewriter = Rewriter { options, names: NewNames::new(model), expands: 0 };
    let opset = model.opset().unwrap_or(0);
    let graph = rewriter.graph(model.graph(), &inference.main, opset, &options.sizes)?;
    let mut functions = HashMap::new();
    for (index, (function, scope)) in model.functions().iter().zip(&inference.functions).enumerate() {
        let opset = function.opset.unwrap_or(opset);
        let Some(scope) = scope else { continue };
        if let Some(body) = rewriter.graph(&function.body, scope, opset, &FixedSizes::new())? {
            functions.insert(index, body);
        }
    }
    Ok(Rewritten { model: model.with_parts(graph, functions)?, expands: rewriter.expands })
}

/// Rewrites graphs, and the subgraphs of their nodes.
struct Rewriter<'o> {
    options: &'o ExplicitOptions,
    names: NewNames,
    expands: usize,
}

impl Rewriter<'_> {
    /// The rewritten graph; `None` if nothing changes.
    fn graph(
        &mut self,
        graph: &Graph,
        scope: &Scope,
        opset: u32,
        sizes: &FixedSizes,
    ) -> Result<Option<Message>, Error> {
        let mut subgraphs = Vec::new();
        for node in &graph.nodes {
            for (index, subgraph) in node.subgraphs.iter().enumerate() {
                let Some(inner) = scope.body(node.index, index) else { continue };
                if let Some(graph) = self.graph(&subgraph.graph, inner, opset, &FixedSizes::new())? {
                    subgraphs.push((node.index, subgraph.attribute, graph));
                }
            }
        }
        let mut inserter = ExpandInserter {
            rewriter: self,
            scope,
            editor: GraphEditor::new(graph),
            opset,
            constants: HashMap::new(),
            derived: HashMap::new(),
            expanded: HashMap::new(),
        };
        for (node, attribute, graph) in subgraphs {
            inserter.editor.set_subgraph(node, attribute, graph);
        }
        inserter.editor.fix_sizes(sizes);
        for node in &graph.nodes {
            inserter.rewrite_node(node).map_err(|error| error.with_context(node.to_string()))?;
        }
        let editor = inserter.editor;
        if editor.is_empty() { Ok(None) } else { editor.finish().map(Some) }
    }
}

/// Inserts Expand nodes into a graph; reuses the nodes that it inserted before.
struct ExpandInserter<'m, 'r, 'o> {
    rewriter: &'r mut Rewriter<'o>,
    scope: &'m Scope,
    editor: GraphEditor<'m>,
    opset: u32,
    /// Names of inserted Constant nodes, by the integers they hold.
    constants: HashMap<Vec<i64>, String>,
    /// Names of other inserted nodes, by operator and inputs.
    derived: HashMap<(&'static str, Vec<String>), String>,
    /// Names of inserted Expand nodes, by the names of their two inputs.
    expanded: HashMap<(String, String), String>,
}

impl<'m> ExpandInserter<'m, '_, '_> {
    fn rewrite_node(&mut self, node: &'m Node) -> Result<(), Error> {
        let options = self.rewriter.options;
        if let Some(name) = legacy_broadcast(node) {
            let problem = format!(
                "the attribute {name} (broadcasting before opset 7) is not supported; \
                 convert the model to opset 8 or later (onnx.version_converter)"
            );
            return Err(Error::unsupported(problem));
        }
        let Finding::Broadcast(mut broadcast) = Finding::of(node, self.scope) else { return Ok(()) };
        if !options.kinds.contains(&broadcast.kind) {
            return Ok(());
        }
        if node.op_type == "Pow" && !options.kinds.contains(&BroadcastKind::ScalarExponent) {
            broadcast.stretched.retain(|stretch| stretch.input != 1 || !is_single(&stretch.from));
        }
        if options.certain_only {
            broadcast.stretched.retain(Stretch::is_certain);
        }
        if broadcast.stretched.is_empty() {
            return Ok(());
        }
        if self.opset < 8 {
            let problem = format!(
                "opset {} has no Expand; convert the model to opset 8 or later (onnx.version_converter)",
                self.opset
            );
            return Err(Error::unsupported(problem));
        }
        match broadcast.kind {
            BroadcastKind::ElementWise | BroadcastKind::ScalarExponent => self.element_wise(node, broadcast),
            BroadcastKind::Gemm => self.gemm(node, &broadcast),
            BroadcastKind::MatMul => self.matmul(node, &broadcast),
            // Their operators define the broadcasting.
            _ => {}
        }
        Ok(())
    }

    fn element_wise(&mut self, node: &Node, broadcast: Broadcast<'_>) {
        let Broadcast { inputs, mut stretched, common, .. } = broadcast;
        let scope = self.scope;
        let shape_of = |name: &str| scope.shape(name);
        let has_common_shape = inputs.iter().find(|(_, name)| shape_of(name) == Some(&common));
        let target = match (self.constant_sizes(&common), has_common_shape) {
            (Some(sizes), _) => self.constant(node.index, sizes),
            // Only siblings tell a size that is not known: names of symbols may be wrong.
            (None, Some((_, input))) => self.derive(node.index, "Shape", &[input]),
            // No input has the common shape: expand the first by each of the others, then the others by it.
            (None, None) => {
                let first = stretched.remove(0);
                let mut name = first.name.to_owned();
                let mut shape = first.from.clone();
                for (_, other) in &inputs {
                    let Some(other_shape) = shape_of(other) else { continue };
                    if let Some(common) = shape.broadcast_with(other_shape).filter(|common| *common != shape)
                    {
                        let target = self.derive(node.index, "Shape", &[other]);
                        name = self.expand(node.index, &name, &target);
                        shape = common;
                    }
                }
                self.editor.set_input(node.index, first.input, &name);
                if stretched.is_empty() {
                    return;
                }
                self.derive(node.index, "Shape", &[&name])
            }
        };
        for stretch in stretched {
            let expanded = self.expand(node.index, stretch.name, &target);
            self.editor.set_input(node.index, stretch.input, &expanded);
        }
    }

    /// Expands C to the rows of A and the columns of B.
    fn gemm(&mut self, node: &Node, broadcast: &Broadcast<'_>) {
        let ([stretch], Some(a), Some(b)) = (&broadcast.stretched[..], node.input(0), node.input(1)) else {
            return;
        };
        let target = match self.constant_sizes(&broadcast.common) {
            Some(sizes) => self.constant(node.index, sizes),
            None => {
                let axis = |name: &str| i64::from(node.int(name, 0).unwrap_or(0) != 0);
                let mut size = |of: &str, axis: i64| {
                    let shape = self.derive(node.index, "Shape", &[of]);
                    let index = self.constant(node.index, vec![axis]);
                    self.derive(node.index, "Gather", &[&shape, &index])
                };
                let (rows, columns) = (size(a, axis("transA")), size(b, 1 - axis("transB")));
                self.derive(node.index, "Concat", &[&rows, &columns])
            }
        };
        let expanded = self.expand(node.index, stretch.name, &target);
        self.editor.set_input(node.index, stretch.input, &expanded);
    }

    /// Expands each stack of matrices by the batch dimensions of the other.
    fn matmul(&mut self, node: &Node, broadcast: &Broadcast<'_>) {
        let [(first, first_name), (second, second_name)] = broadcast.inputs[..] else { return };
        for stretch in &broadcast.stretched {
            let other = match stretch.input {
                input if input == first => second_name,
                input if input == second => first_name,
                _ => continue,
            };
            // Slice has inputs since opset 10. A vector has no batch dimensions to expand.
            if self.opset < 10 || stretch.from.dims().is_none_or(|dims| dims.len() < 2) {
                continue;
            }
            let target = match self.constant_sizes(&stretch.to) {
                Some(sizes) => self.constant(node.index, sizes),
                None => {
                    let shape = self.derive(node.index, "Shape", &[other]);
                    let (start, end) =
                        (self.constant(node.index, vec![0]), self.constant(node.index, vec![-2]));
                    let batch = self.derive(node.index, "Slice", &[&shape, &start, &end]);
                    let matrix = self.constant(node.index, vec![1, 1]);
                    self.derive(node.index, "Concat", &[&batch, &matrix])
                }
            };
            let expanded = self.expand(node.index, stretch.name, &target);
            self.editor.set_input(node.index, stretch.input, &expanded);
        }
    }

    /// Sizes of a shape that a Constant can hold; integers are supported from opset 9.
    fn constant_sizes(&self, shape: &SymbolicShape) -> Option<Vec<i64>> {
        let sizes = shape.sizes().filter(|_| self.opset >= 9)?;
        sizes.into_iter().map(|size| i64::try_from(size).ok()).collect()
    }

    /// Name of a Constant that holds these integers.
    fn constant(&mut self, before: usize, ints: Vec<i64>) -> String {
        let (editor, names) = (&mut self.editor, &mut self.rewriter.names);
        let name = self.constants.entry(ints).or_insert_with_key(|ints| {
            editor.insert_constant(names, before, "shape", &ndarray::arr1(ints).into())
        });
        name.clone()
    }

    /// Name of a node with this operator and these inputs, or of an earlier one.
    fn derive(&mut self, before: usize, op_type: &'static str, inputs: &[&str]) -> String {
        let (editor, names) = (&mut self.editor, &mut self.rewriter.names);
        let key = (op_type, inputs.iter().map(|&input| input.to_owned()).collect());
        let insert = || editor.insert(names, before, op_type, "shape", inputs);
        self.derived.entry(key).or_insert_with(insert).clone()
    }

    /// Name of an Expand node of a value, or of an earlier one with the same inputs.
    fn expand(&mut self, before: usize, value: &str, target: &str) -> String {
        let Rewriter { names, expands, .. } = &mut *self.rewriter;
        let editor = &mut self.editor;
        let name = self.expanded.entry((value.to_owned(), target.to_owned()));
        let insert = || {
            *expands += 1;
            editor.insert(names, before, "Expand", "expand", &[value, target])
        };
        name.or_insert_with(insert).clone()
    }
}

/// Name of an attribute that requests the broadcasting of opset 6, if the node's operator broadcasts.
fn legacy_broadcast(node: &Node) -> Option<&'static str> {
    let operator = Operator::of_node(node)?;
    (operator.shape_rule == ShapeRule::Multidirectional).then(|| node.legacy_broadcast_attribute())?
}

/// Whether a node's operator broadcasts this input.
pub(crate) fn broadcasts(node: &Node, input: usize) -> bool {
    if node.domain == "com.microsoft" {
        return matches!((&*node.op_type, input), ("QLinearAdd" | "QLinearMul", 0 | 3));
    }
    match Operator::of_node(node).map(|operator| operator.shape_rule) {
        Some(ShapeRule::Multidirectional) => true,
        Some(ShapeRule::Unidirectional) => input > 0,
        _ => false,
    }
}
