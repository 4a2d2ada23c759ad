//! Edits a graph: inserts nodes, replaces inputs, removes nodes. All other bytes stay the same.

use crate::error::Error;
use crate::field_numbers::{
    attribute, attribute_type, dimension, function, graph as field, node, shape, tensor, tensor_type,
    type_proto, value_info,
};
use crate::graph::Graph;
use crate::model::Model;
use crate::shape_inference::FixedSizes;
use crate::tensor_proto::tensor_message;
use crate::wire::{Field, Message, WireError};
use std::collections::{HashMap, HashSet};
use unishape::Tensor;

/// Prefix of the names of new values; an unused number follows it.
const PREFIX: &str = "unishape_";

/// Names that occur nowhere in a model.
#[derive(Clone, Debug)]
pub(crate) struct NewNames {
    /// Prefix that occurs in no name of the model.
    prefix: String,
    count: usize,
}

impl NewNames {
    pub(crate) fn new(model: &Model) -> NewNames {
        let functions = model.functions().iter().map(|function| &function.body);
        let numbers = [model.graph()].into_iter().chain(functions).map(unused_number);
        NewNames { prefix: format!("{PREFIX}{}", numbers.max().unwrap_or(0)), count: 0 }
    }

    fn next(&mut self, suffix: &str) -> String {
        self.count += 1;
        format!("{}/{suffix}_{}", self.prefix, self.count)
    }
}

/// Whether a name is one that this crate gives to a node that it inserts, such as `unishape_0/expand_3`.
pub(crate) fn is_inserted(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('/')).is_some_and(|(number, suffix)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !suffix.is_empty()
    })
}

/// Collects edits of a graph and applies them all at once.
pub(crate) struct GraphEditor<'g> {
    graph: &'g Graph,
    /// New nodes, by the index of the node they precede.
    inserted: HashMap<usize, Vec<Message>>,
    /// Replaced inputs, by node index and input index.
    inputs: HashMap<(usize, usize), String>,
    removed: HashSet<usize>,
    /// Values whose initializer or value info is removed.
    removed_values: HashSet<String>,
    /// Replaced subgraphs, by node index and attribute index.
    subgraphs: HashMap<(usize, usize), Message>,
    /// Sizes that replace symbolic dimensions of the graph's inputs.
    fixed_sizes: FixedSizes,
}

impl<'g> GraphEditor<'g> {
    pub(crate) fn new(graph: &'g Graph) -> GraphEditor<'g> {
        GraphEditor {
            graph,
            inserted: HashMap::new(),
            inputs: HashMap::new(),
            removed: HashSet::new(),
            removed_values: HashSet::new(),
            subgraphs: HashMap::new(),
            fixed_sizes: FixedSizes::new(),
        }
    }

    /// Whether there is nothing to edit.
    pub(crate) fn is_empty(&self) -> bool {
        self.inserted.is_empty()
            && self.inputs.is_empty()
            && self.removed.is_empty()
            && self.subgraphs.is_empty()
            && self.fixed_sizes.is_empty()
    }

    /// Replaces a subgraph of a node.
    pub(crate) fn set_subgraph(&mut self, node: usize, attribute: usize, graph: Message) {
        self.subgraphs.insert((node, attribute), graph);
    }

    /// Declares sizes for symbolic dimensions of the inputs.
    pub(crate) fn fix_sizes(&mut self, sizes: &FixedSizes) {
        self.fixed_sizes.clone_from(sizes);
    }

    /// Inserts a node before another; returns the name of its output.
    pub(crate) fn insert(
        &mut self,
        names: &mut NewNames,
        before: usize,
        op_type: &str,
        suffix: &str,
        inputs: &[&str],
    ) -> String {
        let name = names.next(suffix);
        let mut message = Message::default();
        for input in inputs {
            message.push_bytes(node::INPUT, input.as_bytes());
        }
        if op_type == "Concat" {
            let mut axis = Message::default();
            axis.push_bytes(attribute::NAME, b"axis");
            axis.push_int(attribute::I, 0);
            axis.push_int(attribute::TYPE, attribute_type::INT);
            message.push_message(node::ATTRIBUTE, &axis);
        }
        self.insert_message(before, op_type, &name, message);
        name
    }

    /// Inserts a Constant node before another; returns the name of its output.
    ///
    /// A node rather than an initializer, because before IR version 4 initializers must also be graph inputs.
    pub(crate) fn insert_constant(
        &mut self,
        names: &mut NewNames,
        before: usize,
        suffix: &str,
        tensor: &Tensor,
    ) -> String {
        let name = names.next(suffix);
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
        let changed: HashSet<usize> =
            self.inputs.keys().chain(self.subgraphs.keys()).map(|(node, _)| *node).collect();
        let (node_field, is_graph) = (self.graph.node_field, self.graph.node_field == field::NODE);
        let value_info = if is_graph { field::VALUE_INFO } else { function::VALUE_INFO };
        let mut node_indices = 0..;
        let mut decode_error: Option<WireError> = None;
        let message = self.graph.message.map_fields(|field, out| {
            let number = field.number;
            let mut edit = || -> Result<Option<Field>, WireError> {
                if number == node_field {
                    let index = node_indices.next().unwrap_or(0);
                    let inserted = self.inserted.get(&index).into_iter().flatten();
                    out.extend(inserted.map(|node| Field::length_delimited(number, &node.encode())));
                    return Ok(match () {
                        _ if self.removed.contains(&index) => None,
                        _ if changed.contains(&index) => {
                            Some(Field::nested(number, self.changed_node(index, &field.message()?)?))
                        }
                        _ => Some(field.clone()),
                    });
                }
                let has_name = number == value_info || (is_graph && number == field::INITIALIZER);
                if has_name && !self.removed_values.is_empty() {
                    let name = if number == value_info { value_info::NAME } else { tensor::NAME };
                    let name = field.message()?.string(name)?;
                    return Ok((!self.removed_values.contains(&name)).then(|| field.clone()));
                }
                if is_graph && number == field::INPUT && !self.fixed_sizes.is_empty() {
                    let info = with_fixed_sizes(&field.message()?, &self.fixed_sizes)?;
                    return Ok(Some(Field::nested(number, info)));
                }
                Ok(Some(field.clone()))
            };
            match edit() {
                Ok(field) => out.extend(field),
                Err(error) => decode_error = Some(error),
            }
        });
        match decode_error {
            Some(error) => Err(error.into()),
            None => Ok(message),
        }
    }

    /// A node with replaced inputs and subgraphs.
    fn changed_node(&self, node: usize, message: &Message) -> Result<Message, WireError> {
        let (mut input_indices, mut attribute_indices) = (0.., 0..);
        let mut decode_error = None;
        let changed = message.map_fields(|field, out| match field.number {
            node::INPUT => match self.inputs.get(&(node, input_indices.next().unwrap_or(0))) {
                Some(name) => out.push(Field::length_delimited(node::INPUT, name.as_bytes())),
                None => out.push(field.clone()),
            },
            node::ATTRIBUTE => {
                let index = attribute_indices.next().unwrap_or(0);
                match (self.subgraphs.get(&(node, index)), field.message()) {
                    (None, _) => out.push(field.clone()),
                    (Some(graph), Ok(message)) => {
                        let attribute = message.map_fields(|field, out| match field.number {
                            attribute::G => out.push(Field::nested(attribute::G, graph.clone())),
                            _ => out.push(field.clone()),
                        });
                        out.push(Field::nested(node::ATTRIBUTE, attribute));
                    }
                    (_, Err(error)) => decode_error = Some(error),
                }
            }
            _ => out.push(field.clone()),
        });
        decode_error.map_or(Ok(changed), Err)
    }
}

/// Declaration of an input, with sizes for symbolic dimensions.
fn with_fixed_sizes(info: &Message, sizes: &FixedSizes) -> Result<Message, WireError> {
    /// Applies `edit` to all messages at a path of fields.
    fn at_path(
        message: &Message,
        path: &[u32],
        edit: &dyn Fn(&Message) -> Result<Message, WireError>,
    ) -> Result<Message, WireError> {
        let Some((&number, path)) = path.split_first() else { return edit(message) };
        let mut decode_error = None;
        let edited = message.map_fields(|field, out| {
            let inner = || at_path(&field.message()?, path, edit);
            match field.number == number {
                false => out.push(field.clone()),
                true => match inner() {
                    Ok(message) => out.push(Field::nested(number, message)),
                    Err(error) => decode_error = Some(error),
                },
            }
        });
        decode_error.map_or(Ok(edited), Err)
    }
    let path = [value_info::TYPE, type_proto::TENSOR_TYPE, tensor_type::SHAPE, shape::DIM];
    at_path(info, &path, &|dim| {
        let size = sizes.get(&dim.string(dimension::DIM_PARAM)?).copied();
        let Some(size) = size.and_then(|size| i64::try_from(size).ok()) else { return Ok(dim.clone()) };
        let mut fixed = Message::default();
        fixed.push_int(dimension::DIM_VALUE, size);
        Ok(fixed)
    })
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
    for field in graph.message.repeated(graph.node_field) {
        // The encoded bytes of a node include its subgraphs.
        field.for_each_part(&mut scan);
    }
    let infos = graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_info);
    infos.map(|info| &info.name).for_each(|name| scan(name.as_bytes()));
    graph.initializers().for_each(|name| scan(name.as_bytes()));
    unused
}
