//! Edits a graph: inserts nodes, replaces inputs, removes nodes. All other bytes stay the same.

use crate::error::Error;
use crate::field_numbers::{attribute, attribute_type, graph as field, node, tensor, value_info};
use crate::graph::Graph;
use crate::tensor_proto::tensor_message;
use crate::wire::{Field, Message, WireError};
use std::collections::{HashMap, HashSet};
use unishape::Tensor;

/// Prefix of the names of new values; an unused number follows it.
const PREFIX: &str = "unishape_";

/// Collects edits of a graph and applies them all at once.
pub(crate) struct GraphEditor<'g> {
    graph: &'g Graph,
    /// Prefix that occurs in no name of the graph.
    prefix: String,
    name_count: usize,
    /// New nodes, by the index of the node they precede.
    inserted: HashMap<usize, Vec<Message>>,
    /// Replaced inputs, by node index and input index.
    inputs: HashMap<(usize, usize), String>,
    removed: HashSet<usize>,
    /// Values whose initializer or value info is removed.
    removed_values: HashSet<String>,
}

impl<'g> GraphEditor<'g> {
    pub(crate) fn new(graph: &'g Graph) -> GraphEditor<'g> {
        GraphEditor {
            graph,
            prefix: format!("{PREFIX}{}", unused_number(graph)),
            name_count: 0,
            inserted: HashMap::new(),
            inputs: HashMap::new(),
            removed: HashSet::new(),
            removed_values: HashSet::new(),
        }
    }

    /// A name that occurs neither in the graph nor in its subgraphs.
    fn unique_name(&mut self, suffix: &str) -> String {
        self.name_count += 1;
        format!("{}/{suffix}_{}", self.prefix, self.name_count)
    }

    /// Inserts a node before another; returns the name of its output.
    pub(crate) fn insert(&mut self, before: usize, op_type: &str, suffix: &str, inputs: &[&str]) -> String {
        let name = self.unique_name(suffix);
        let mut message = Message::default();
        for input in inputs {
            message.push_bytes(node::INPUT, input.as_bytes());
        }
        self.insert_message(before, op_type, &name, message);
        name
    }

    /// Inserts a Constant node before another; returns the name of its output.
    ///
    /// A node rather than an initializer, because before IR version 4 initializers must also be graph inputs.
    pub(crate) fn insert_constant(&mut self, before: usize, suffix: &str, tensor: &Tensor) -> String {
        let name = self.unique_name(suffix);
        let mut value = Message::default();
        value.push_bytes(attribute::NAME, b"value");
        value.push_message(attribute::T, &tensor_message("", &tensor.view()));
        value.push_int(attribute::TYPE, attribute_type::TENSOR);
        let mut message = Message::default();
        message.push_message(node::ATTRIBUTE, &value);
        self.insert_message(before, "Constant", &name, message);
        name
    }

    fn insert_message(&mut self, before: usize, op_type: &str, name: &str, mut message: Message) {
        message.push_bytes(node::OUTPUT, name.as_bytes());
        message.push_bytes(node::NAME, name.as_bytes());
        message.push_bytes(node::OP_TYPE, op_type.as_bytes());
        self.inserted.entry(before).or_default().push(message);
    }

    pub(crate) fn set_input(&mut self, node: usize, input: usize, name: &str) {
        self.inputs.insert((node, input), name.to_owned());
    }

    /// Current name of a node's input.
    pub(crate) fn input(&self, node: usize, input: usize) -> &str {
        match self.inputs.get(&(node, input)) {
            Some(name) => name,
            None => self.graph.nodes[node].inputs.get(input).map_or("", String::as_str),
        }
    }

    pub(crate) fn remove(&mut self, node: usize) {
        self.removed.insert(node);
        let outputs = self.graph.nodes[node].outputs.iter().filter(|name| !name.is_empty());
        self.removed_values.extend(outputs.cloned());
    }

    pub(crate) fn remove_initializer(&mut self, name: &str) {
        self.removed_values.insert(name.to_owned());
    }

    /// Applies all edits.
    pub(crate) fn finish(self) -> Result<Message, Error> {
        let changed: HashSet<usize> = self.inputs.keys().map(|(node, _)| *node).collect();
        let mut node_indices = 0..;
        let mut decode_error: Option<WireError> = None;
        let message = self.graph.message.map_fields(|field, out| {
            let number = field.number;
            match number {
                field::NODE => {
                    let index = node_indices.next().unwrap_or(0);
                    let inserted = self.inserted.get(&index).into_iter().flatten();
                    out.extend(inserted.map(|node| Field::length_delimited(field::NODE, &node.encode())));
                    if self.removed.contains(&index) {
                        return;
                    }
                    if !changed.contains(&index) {
                        return out.push(field.clone());
                    }
                    match field.message() {
                        Ok(message) => {
                            let message = self.with_replaced_inputs(index, &message);
                            out.push(Field::length_delimited(number, &message.encode()));
                        }
                        Err(error) => decode_error = Some(error),
                    }
                }
                field::INITIALIZER | field::VALUE_INFO if !self.removed_values.is_empty() => {
                    let name = if number == field::INITIALIZER { tensor::NAME } else { value_info::NAME };
                    match field.message().and_then(|message| message.string(name)) {
                        Ok(name) if self.removed_values.contains(&name) => {}
                        Ok(_) => out.push(field.clone()),
                        Err(error) => decode_error = Some(error),
                    }
                }
                _ => out.push(field.clone()),
            }
        });
        match decode_error {
            Some(error) => Err(error.into()),
            None => Ok(message),
        }
    }

    fn with_replaced_inputs(&self, node: usize, message: &Message) -> Message {
        let mut input_indices = 0..;
        message.map_fields(|field, out| {
            if field.number != node::INPUT {
                return out.push(field.clone());
            }
            let input = input_indices.next().unwrap_or(0);
            match self.inputs.get(&(node, input)) {
                Some(name) => out.push(Field::length_delimited(node::INPUT, name.as_bytes())),
                None => out.push(field.clone()),
            }
        })
    }
}

/// Smallest number greater than all that follow [`PREFIX`] in the graph's nodes and value names.
fn unused_number(graph: &Graph) -> u64 {
    let mut unused = 0;
    let mut scan = |bytes: &[u8]| {
        let mut rest = bytes;
        while let Some(pos) = rest.windows(PREFIX.len()).position(|window| window == PREFIX.as_bytes()) {
            rest = &rest[pos + PREFIX.len()..];
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(18);
            let number = digits.fold(0u64, |number, digit| 10 * number + u64::from(digit - b'0'));
            unused = unused.max(number + 1);
        }
    };
    for field in graph.message.repeated(field::NODE) {
        // The encoded bytes of a node include its subgraphs.
        if let Ok(bytes) = field.bytes() {
            scan(&bytes);
        }
    }
    let infos = graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_info);
    infos.map(|info| &info.name).for_each(|name| scan(name.as_bytes()));
    graph.initializers().for_each(|name| scan(name.as_bytes()));
    unused
}
