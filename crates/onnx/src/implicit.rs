//! Broadcasting left to the operators: Expands taken away that they do without.

use crate::edit::Edit;
use crate::error::Error;
use crate::explicit::{Rewritten, broadcasts};
use crate::graph::{Graph, Node, field, node_field};
use crate::infer::dims::{Shape, join_all};
use crate::infer::{Inference, infer};
use crate::model::Model;
use crate::wire::Message;
use std::collections::{HashMap, HashSet};

/// The same model without the Expands that broadcasting makes needless: those that feed only operators that
/// would broadcast what is expanded by themselves, to the same result.
///
/// ```
/// use unishape_onnx::{Model, explicit, implicit};
/// # let bytes = unishape_onnx::build::add_model();
///
/// let model = explicit(&Model::read(&bytes)?)?.model;
/// let rewritten = implicit(&model)?;
/// assert_eq!((rewritten.expands, rewritten.model.to_bytes()), (1, bytes));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// Where shapes are incompatible, with the node (E1).
pub fn implicit(model: &Model) -> Result<Rewritten, Error> {
    let inference = infer(model);
    if let Some((_, conflict)) = inference.conflicts().first() {
        return Err(conflict.clone());
    }
    let graph = model.graph();
    let mut remover = Remover::new(graph, &inference)?;
    let is_expand = |node: &&Node| node.is_onnx() && node.op_type == "Expand";
    let expands: Vec<&Node> = graph.nodes.iter().filter(is_expand).collect();
    let mut removed = 0;
    loop {
        let before = removed;
        // From the last to the first: one may be needed only for the shape that a later one takes.
        for node in expands.iter().rev() {
            if remover.is_needless(node) {
                remover.remove(node);
                removed += 1;
            }
        }
        if removed == before {
            break;
        }
    }
    Ok(Rewritten { model: model.with_graph(&remover.edit.finish()?)?, expands: removed })
}

struct Remover<'m> {
    graph: &'m Graph,
    inference: &'m Inference,
    edit: Edit<'m>,
    /// Where each value goes in now: the nodes, and the places.
    uses: HashMap<&'m str, Vec<(usize, usize)>>,
    producers: HashMap<&'m str, usize>,
    /// Values that must stay: outputs, and what graphs within nodes take.
    fixed: HashSet<String>,
}

impl<'m> Remover<'m> {
    fn new(graph: &'m Graph, inference: &'m Inference) -> Result<Remover<'m>, Error> {
        let mut uses: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        let mut producers = HashMap::new();
        for node in &graph.nodes {
            for (at, name) in node.inputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                uses.entry(name).or_default().push((node.index, at));
            }
            producers.extend(node.outputs.iter().map(|name| (name.as_str(), node.index)));
        }
        let mut fixed: HashSet<String> = graph.outputs.iter().map(|output| output.name.clone()).collect();
        captured(graph, &mut fixed)?;
        // A default of an input: another value may be given for it.
        fixed.extend(graph.inputs.iter().map(|input| input.name.clone()));
        Ok(Remover { graph, inference, edit: Edit::new(graph), uses, producers, fixed })
    }

    fn uses(&self, name: &str) -> &[(usize, usize)] {
        self.uses.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether all that an Expand feeds gives the same without it.
    fn is_needless(&self, expand: &Node) -> bool {
        let ([from, _], [to]) = (&expand.inputs[..], &expand.outputs[..]) else { return false };
        let uses = self.uses(to);
        !self.edit.is_removed(expand.index)
            && !self.fixed.contains(to)
            && !uses.is_empty()
            && uses.iter().all(|&(node, at)| self.gives_the_same(&self.graph.nodes[node], at, to, from))
    }

    /// Whether a node gives the same shape with one value in the place of another.
    fn gives_the_same(&self, node: &Node, at: usize, value: &str, instead: &str) -> bool {
        if !broadcasts(node, at) {
            return false;
        }
        let shape = |replace: bool| -> Option<Shape> {
            let names = (0..node.inputs.len()).map(|at| match self.edit.input(node.index, at) {
                name if replace && name == value => instead,
                name => name,
            });
            let shapes = names.filter(|name| !name.is_empty()).map(|name| self.inference.shape(name));
            let shapes = shapes.collect::<Option<Vec<&Shape>>>()?;
            join_all(shapes.iter().copied(), &[]).ok()
        };
        let (before, after) = (shape(false), shape(true));
        before.is_some() && before == after
    }

    fn remove(&mut self, expand: &'m Node) {
        let ([from, _], [to]) = (&expand.inputs[..], &expand.outputs[..]) else { return };
        let moved = self.uses.remove(to.as_str()).unwrap_or_default();
        for &(node, at) in &moved {
            self.edit.set_input(node, at, from);
        }
        self.uses.entry(from).or_default().extend(moved);
        self.drop_node(expand.index);
    }

    /// Takes a node away, and what only it needed: constants and shapes.
    fn drop_node(&mut self, node: usize) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            self.edit.remove(node);
            for at in 0..self.graph.nodes[node].inputs.len() {
                let name = self.edit.input(node, at).to_owned();
                let Some(uses) = self.uses.get_mut(name.as_str()) else { continue };
                uses.retain(|&its| its != (node, at));
                if !uses.is_empty() || self.fixed.contains(&name) {
                    continue;
                }
                match self.producers.get(name.as_str()) {
                    Some(&producer) => {
                        let its = &self.graph.nodes[producer];
                        if its.is_onnx() && matches!(its.op_type.as_str(), "Shape" | "Constant") {
                            open.push(producer);
                        }
                    }
                    None => self.edit.remove_initializer(&name),
                }
            }
        }
    }
}

/// The values that graphs within nodes may take from around them. By a list of graphs, not by calls, so that
/// graphs within graphs, however deep, do no harm.
fn captured(graph: &Graph, names: &mut HashSet<String>) -> Result<(), Error> {
    let within = |node: &Message, open: &mut Vec<Message>| -> Result<(), Error> {
        for attribute in node.messages(node_field::ATTRIBUTE)? {
            open.extend(attribute.messages(6)?);
            open.extend(attribute.messages(11)?);
        }
        Ok(())
    };
    let mut open = Vec::new();
    for (node, field) in graph.nodes.iter().zip(graph.message.with(field::NODE)) {
        if node.has_graph() {
            within(&field.message()?, &mut open)?;
        }
    }
    while let Some(graph) = open.pop() {
        for output in graph.messages(field::OUTPUT)? {
            names.insert(output.text(1)?);
        }
        for node in graph.messages(field::NODE)? {
            names.extend(node.texts(node_field::INPUT)?);
            within(&node, &mut open)?;
        }
    }
    Ok(())
}
