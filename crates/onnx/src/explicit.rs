//! Broadcasting made visible: an Expand before every input that is stretched.
//!
//! Expand itself broadcasts both ways: `Expand(a, Shape(b))` has the common shape of `a` and `b`, whatever their
//! ranks and sizes are, 0 among them. So where sizes are not known, an input is expanded by the shapes of the
//! inputs beside it, and nothing has to be computed with sizes.

use crate::edit::Edit;
use crate::error::Error;
use crate::explain::Parties;
use crate::graph::Node;
use crate::infer::dims::Shape;
use crate::infer::{Inference, infer};
use crate::model::Model;
use crate::operators::{Operator, Role};
use std::collections::HashMap;

/// A model that was rewritten.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let rewritten = unishape_onnx::explicit(&unishape_onnx::Model::read(&bytes)?)?;
/// assert_eq!(rewritten.expands, 1);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The model as it is now.
    pub model: Model,
    /// How many Expands it has more, or less, than before.
    pub expands: usize,
}

/// The same model without implicit broadcasting: an Expand stands before every input that is stretched, or may
/// be, so that each operator that broadcasts sees inputs of equal shapes.
///
/// ```
/// use unishape_onnx::{Model, explain, explicit};
/// # let bytes = unishape_onnx::build::add_model();
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
/// Where shapes are incompatible, with the node (E1); where the model's opset has no Expand.
pub fn explicit(model: &Model) -> Result<Rewritten, Error> {
    let inference = infer(model);
    if let Some((_, conflict)) = inference.conflicts().first() {
        return Err(conflict.clone());
    }
    let mut rewriter = Rewriter {
        inference: &inference,
        edit: Edit::new(model.graph()),
        opset: model.opset().unwrap_or(0),
        constants: HashMap::new(),
        shapes: HashMap::new(),
        expanded: HashMap::new(),
        expands: 0,
    };
    for node in &model.graph().nodes {
        rewriter.node(node).map_err(|error| error.at(node.to_string()))?;
    }
    let (edit, expands) = (rewriter.edit, rewriter.expands);
    Ok(Rewritten { model: model.with_graph(&edit.finish()?)?, expands })
}

struct Rewriter<'m> {
    inference: &'m Inference,
    edit: Edit<'m>,
    opset: u32,
    /// The values that hold shapes, by what they hold, …
    constants: HashMap<Vec<usize>, String>,
    /// … or, where that is not all known, by what is known of it.
    shapes: HashMap<Shape, String>,
    /// What has been expanded, by what it was and the value that holds the shape.
    expanded: HashMap<(String, String), String>,
    expands: usize,
}

impl Rewriter<'_> {
    fn node(&mut self, node: &Node) -> Result<(), Error> {
        let inference = self.inference;
        let Some(Parties { inputs, mut stretched, common }) = Parties::of(node, inference) else {
            return Ok(());
        };
        let shape_of = |name: &str| inference.shape(name);
        let Some(&(first, its_name)) = stretched.first() else { return Ok(()) };
        if let Some(name) = ["broadcast", "axis"].into_iter().find(|name| node.attribute(name).is_some()) {
            let problem = format!(
                "the attribute {name} is how opset 6 broadcast; convert the model to opset 8 or later"
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
        let full = inputs.iter().find(|(_, name)| shape_of(name) == Some(&common));
        // Before opset 9 there are no constants of integers; shapes that are known are those of inputs all the same.
        let sizes = common.sizes().filter(|_| self.opset >= 9);
        let target = match (sizes, self.shapes.get(&common), full) {
            (Some(sizes), ..) => self.constant(node.index, sizes),
            (None, Some(known), _) => known.clone(),
            (None, None, Some((_, full))) => self.shape(node.index, full, &common),
            // None has the common shape: one is expanded until it has, and the others as it is.
            (None, None, None) => {
                let mut name = its_name.to_owned();
                let mut shape = shape_of(its_name).cloned().unwrap_or_else(|| Shape::new(Vec::new()));
                for (_, other) in &inputs {
                    let Some(its) = shape_of(other) else { continue };
                    if let Some(joined) = shape.joined(its).filter(|joined| *joined != shape) {
                        let target = self.shape(node.index, other, its);
                        name = self.expand(node.index, &name, &target);
                        shape = joined;
                    }
                }
                self.edit.set_input(node.index, first, &name);
                stretched.remove(0);
                if stretched.is_empty() {
                    return Ok(());
                }
                self.shape(node.index, &name, &common)
            }
        };
        for (at, name) in stretched {
            let expanded = self.expand(node.index, name, &target);
            self.edit.set_input(node.index, at, &expanded);
        }
        Ok(())
    }

    /// A value that holds these sizes.
    fn constant(&mut self, before: usize, sizes: Vec<usize>) -> String {
        let edit = &mut self.edit;
        let made = self.constants.entry(sizes).or_insert_with_key(|sizes| {
            let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
            edit.insert_constant(before, "shape", &ndarray::arr1(&sizes).into())
        });
        made.clone()
    }

    /// A value that holds the shape of another: of any other with the same shape, if there is one already.
    fn shape(&mut self, before: usize, of: &str, shape: &Shape) -> String {
        let edit = &mut self.edit;
        let made = self.shapes.entry(shape.clone());
        made.or_insert_with(|| edit.insert(before, "Shape", "shape", &[of])).clone()
    }

    fn expand(&mut self, before: usize, value: &str, target: &str) -> String {
        let (edit, expands) = (&mut self.edit, &mut self.expands);
        let made = self.expanded.entry((value.to_owned(), target.to_owned()));
        let make = || {
            *expands += 1;
            edit.insert(before, "Expand", "expand", &[value, target])
        };
        made.or_insert_with(make).clone()
    }
}

/// Whether a node broadcasts by itself, at least at this input.
pub(crate) fn broadcasts(node: &Node, input: usize) -> bool {
    match Operator::of(node).map(|operator| operator.role) {
        Some(Role::Together) => true,
        Some(Role::OneWay) => input > 0,
        _ => false,
    }
}
