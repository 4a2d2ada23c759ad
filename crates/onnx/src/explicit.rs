//! Makes broadcasting explicit: inserts an Expand before every stretched input.
//!
//! Expand broadcasts multidirectionally: `Expand(a, Shape(b))` has the common shape of `a` and `b` for all
//! compatible ranks and sizes, including size 0. So an input with unknown sizes is expanded by the shapes of the
//! other inputs, without any arithmetic on sizes.

use crate::error::Error;
use crate::explain::BroadcastInputs;
use crate::graph::Node;
use crate::graph_editor::GraphEditor;
use crate::model::Model;
use crate::operators::{Operator, ShapeRule};
use crate::shape_inference::symbolic::SymbolicShape;
use crate::shape_inference::{Inference, infer_shapes};
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

/// Rewrites a model without implicit broadcasting.
///
/// Inserts an Expand before every input that is stretched or may be, so that all inputs of an operator that
/// broadcasts have the same shape.
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
    let inference = infer_shapes(model);
    inference.check()?;
    let mut inserter = ExpandInserter {
        inference: &inference,
        editor: GraphEditor::new(model.graph()),
        opset: model.opset().unwrap_or(0),
        constants: HashMap::new(),
        shapes: HashMap::new(),
        expanded: HashMap::new(),
        expands: 0,
    };
    for node in &model.graph().nodes {
        inserter.rewrite_node(node).map_err(|error| error.with_context(node.to_string()))?;
    }
    let (editor, expands) = (inserter.editor, inserter.expands);
    Ok(Rewritten { model: model.with_graph(&editor.finish()?)?, expands })
}

/// Inserts Expand nodes; reuses the nodes that it inserted before.
struct ExpandInserter<'m> {
    inference: &'m Inference,
    editor: GraphEditor<'m>,
    opset: u32,
    /// Names of inserted Constant nodes, by the known shape they hold.
    constants: HashMap<Vec<usize>, String>,
    /// Names of inserted Shape nodes, by the symbolic shape they compute.
    shapes: HashMap<SymbolicShape, String>,
    /// Names of inserted Expand nodes, by the names of their two inputs.
    expanded: HashMap<(String, String), String>,
    expands: usize,
}

impl ExpandInserter<'_> {
    fn rewrite_node(&mut self, node: &Node) -> Result<(), Error> {
        let inference = self.inference;
        let Some(BroadcastInputs { inputs, mut stretched, common }) = BroadcastInputs::of(node, inference)
        else {
            return Ok(());
        };
        let shape_of = |name: &str| inference.shape(name);
        let Some(&(first, first_name)) = stretched.first() else { return Ok(()) };
        if let Some(name) = node.legacy_broadcast_attribute() {
            let problem = format!(
                "the attribute {name} (broadcasting before opset 7) is not supported; \
                 convert the model to opset 8 or later (onnx.version_converter)"
            );
            return Err(Error::unsupported(problem));
        }
        if self.opset < 8 {
            let problem = format!(
                "opset {} has no Expand; convert the model to opset 8 or later (onnx.version_converter)",
                self.opset
            );
            return Err(Error::unsupported(problem));
        }
        let has_common_shape = inputs.iter().find(|(_, name)| shape_of(name) == Some(&common));
        // Constant supports integers from opset 9; before that, a Shape node computes even a known shape.
        let sizes = common.sizes().filter(|_| self.opset >= 9);
        let target = match (sizes, self.shapes.get(&common), has_common_shape) {
            (Some(sizes), ..) => self.constant(node.index, sizes),
            (None, Some(known), _) => known.clone(),
            (None, None, Some((_, input))) => self.shape(node.index, input, &common),
            // No input has the common shape: expand the first by each of the others, then the others by it.
            (None, None, None) => {
                let mut name = first_name.to_owned();
                let mut shape =
                    shape_of(first_name).cloned().unwrap_or_else(|| SymbolicShape::new(Vec::new()));
                for (_, other) in &inputs {
                    let Some(other_shape) = shape_of(other) else { continue };
                    if let Some(common) = shape.broadcast_with(other_shape).filter(|common| *common != shape)
                    {
                        let target = self.shape(node.index, other, other_shape);
                        name = self.expand(node.index, &name, &target);
                        shape = common;
                    }
                }
                self.editor.set_input(node.index, first, &name);
                stretched.remove(0);
                if stretched.is_empty() {
                    return Ok(());
                }
                self.shape(node.index, &name, &common)
            }
        };
        for (input, name) in stretched {
            let expanded = self.expand(node.index, name, &target);
            self.editor.set_input(node.index, input, &expanded);
        }
        Ok(())
    }

    /// Name of a Constant that holds these sizes.
    fn constant(&mut self, before: usize, sizes: Vec<usize>) -> String {
        let editor = &mut self.editor;
        let name = self.constants.entry(sizes).or_insert_with_key(|sizes| {
            let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
            editor.insert_constant(before, "shape", &ndarray::arr1(&sizes).into())
        });
        name.clone()
    }

    /// Name of a Shape node for a value, or of an earlier one for a value with the same symbolic shape.
    fn shape(&mut self, before: usize, of: &str, shape: &SymbolicShape) -> String {
        let editor = &mut self.editor;
        let name = self.shapes.entry(shape.clone());
        name.or_insert_with(|| editor.insert(before, "Shape", "shape", &[of])).clone()
    }

    /// Name of an Expand node of a value, or of an earlier one with the same inputs.
    fn expand(&mut self, before: usize, value: &str, target: &str) -> String {
        let (editor, expands) = (&mut self.editor, &mut self.expands);
        let name = self.expanded.entry((value.to_owned(), target.to_owned()));
        let insert = || {
            *expands += 1;
            editor.insert(before, "Expand", "expand", &[value, target])
        };
        name.or_insert_with(insert).clone()
    }
}

/// Whether a node's operator broadcasts this input.
pub(crate) fn broadcasts(node: &Node, input: usize) -> bool {
    match Operator::of_node(node).map(|operator| operator.shape_rule) {
        Some(ShapeRule::Multidirectional) => true,
        Some(ShapeRule::Unidirectional) => input > 0,
        _ => false,
    }
}
