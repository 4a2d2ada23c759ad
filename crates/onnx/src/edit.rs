//! Changes to a graph: nodes put between others, inputs replaced, nodes taken away. All else stays as it is.

use crate::error::Error;
use crate::graph::{Graph, field, node_field};
use crate::proto::tensor_message;
use crate::wire::{Field, Message};
use std::collections::{HashMap, HashSet};
use unishape::Tensor;

/// What names of ours begin with, and a number that nobody has used yet.
const PREFIX: &str = "unishape_";

/// Changes that are made all at once.
pub(crate) struct Edit<'g> {
    graph: &'g Graph,
    prefix: String,
    made: usize,
    /// New nodes, by the node that they come before.
    inserted: HashMap<usize, Vec<Message>>,
    /// Inputs that are replaced, by node and place.
    inputs: HashMap<(usize, usize), String>,
    removed: HashSet<usize>,
    /// Values that are gone: initializers, and what was declared of others.
    gone: HashSet<String>,
}

impl<'g> Edit<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Edit<'g> {
        Edit {
            graph,
            prefix: format!("{PREFIX}{}", unused_number(graph)),
            made: 0,
            inserted: HashMap::new(),
            inputs: HashMap::new(),
            removed: HashSet::new(),
            gone: HashSet::new(),
        }
    }

    /// A name that nothing in the graph has, nor in graphs within it.
    fn name(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{}/{what}_{}", self.prefix, self.made)
    }

    /// Puts a node before another; gives the name of its output.
    pub(crate) fn insert(&mut self, before: usize, op_type: &str, what: &str, inputs: &[&str]) -> String {
        let name = self.name(what);
        let mut node = Message::default();
        for input in inputs {
            node.push_bytes(node_field::INPUT, input.as_bytes());
        }
        self.put(before, op_type, &name, node);
        name
    }

    /// Puts a constant before a node; gives its name. A node rather than an initializer: those are inputs too in
    /// models of before ONNX 1.4, and nodes are constants in all.
    pub(crate) fn insert_constant(&mut self, before: usize, what: &str, tensor: &Tensor) -> String {
        let name = self.name(what);
        let mut value = Message::default();
        value.push_bytes(1, b"value");
        value.push_message(5, &tensor_message("", &tensor.view()));
        // Its type: a tensor.
        value.push_int(20, 4);
        let mut node = Message::default();
        node.push_message(node_field::ATTRIBUTE, &value);
        self.put(before, "Constant", &name, node);
        name
    }

    fn put(&mut self, before: usize, op_type: &str, name: &str, mut node: Message) {
        node.push_bytes(node_field::OUTPUT, name.as_bytes());
        node.push_bytes(node_field::NAME, name.as_bytes());
        node.push_bytes(node_field::OP_TYPE, op_type.as_bytes());
        self.inserted.entry(before).or_default().push(node);
    }

    pub(crate) fn set_input(&mut self, node: usize, at: usize, name: &str) {
        self.inputs.insert((node, at), name.to_owned());
    }

    /// What a node's input is now.
    pub(crate) fn input(&self, node: usize, at: usize) -> &str {
        match self.inputs.get(&(node, at)) {
            Some(name) => name,
            None => self.graph.nodes[node].inputs.get(at).map_or("", String::as_str),
        }
    }

    pub(crate) fn remove(&mut self, node: usize) {
        self.removed.insert(node);
        self.gone.extend(self.graph.nodes[node].outputs.iter().filter(|name| !name.is_empty()).cloned());
    }

    pub(crate) fn is_removed(&self, node: usize) -> bool {
        self.removed.contains(&node)
    }

    /// Takes away an initializer.
    pub(crate) fn remove_initializer(&mut self, name: &str) {
        self.gone.insert(name.to_owned());
    }

    /// The graph with all changes.
    pub(crate) fn finish(self) -> Result<Message, Error> {
        let changed: HashSet<usize> = self.inputs.keys().map(|(node, _)| *node).collect();
        let mut nodes = 0..;
        let mut problem = None;
        let message = self.graph.message.replaced(|_, field, out| {
            let number = field.number;
            match number {
                field::NODE => {
                    let node = nodes.next().unwrap_or(0);
                    let inserted = self.inserted.get(&node).into_iter().flatten();
                    out.extend(inserted.map(|node| Field::of_bytes(field::NODE, &node.write())));
                    if self.removed.contains(&node) {
                        return;
                    }
                    if !changed.contains(&node) {
                        return out.push(field.clone());
                    }
                    match field.message() {
                        Ok(message) => {
                            out.push(Field::of_bytes(number, &self.changed(node, &message).write()))
                        }
                        Err(error) => problem = Some(error),
                    }
                }
                field::INITIALIZER | field::VALUE_INFO if !self.gone.is_empty() => {
                    let name_field = if number == field::INITIALIZER { 8 } else { 1 };
                    match field.message().and_then(|message| message.text(name_field)) {
                        Ok(name) if self.gone.contains(&name) => {}
                        Ok(_) => out.push(field.clone()),
                        Err(error) => problem = Some(error),
                    }
                }
                _ => out.push(field.clone()),
            }
        });
        match problem {
            Some(error) => Err(error.into()),
            None => Ok(message),
        }
    }

    fn changed(&self, node: usize, message: &Message) -> Message {
        let mut inputs = 0..;
        message.replaced(|_, field, out| {
            if field.number != node_field::INPUT {
                return out.push(field.clone());
            }
            let at = inputs.next().unwrap_or(0);
            match self.inputs.get(&(node, at)) {
                Some(name) => out.push(Field::of_bytes(node_field::INPUT, name.as_bytes())),
                None => out.push(field.clone()),
            }
        })
    }
}

/// A number that comes behind our prefix nowhere in the graph's nodes and values.
fn unused_number(graph: &Graph) -> u64 {
    let mut next = 0;
    let mut look = |bytes: &[u8]| {
        let mut rest = bytes;
        while let Some(at) = rest.windows(PREFIX.len()).position(|window| window == PREFIX.as_bytes()) {
            rest = &rest[at + PREFIX.len()..];
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(18);
            let number = digits.fold(0u64, |number, digit| 10 * number + u64::from(digit - b'0'));
            next = next.max(number + 1);
        }
    };
    for field in graph.message.with(field::NODE) {
        // Graphs within it, too.
        if let Ok(bytes) = field.bytes() {
            look(&bytes);
        }
    }
    let infos = graph.inputs.iter().chain(&graph.outputs).chain(&graph.values);
    infos.map(|info| &info.name).for_each(|name| look(name.as_bytes()));
    graph.initializers().for_each(|name| look(name.as_bytes()));
    next
}
