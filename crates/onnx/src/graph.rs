//! Graphs: nodes with attributes, inputs, outputs, initializers and value info.

use crate::elem_type::ElemType;
use crate::error::{Error, display_name};
use crate::field_numbers::{
    attribute, attribute_type, dimension, function, graph as field, node, shape, sparse_tensor, tensor,
    tensor_type, type_proto, value_info,
};
use crate::tensor_proto::TensorProto;
use crate::wire::{Field, Message};
use std::fmt;

/// Maximum nesting depth of subgraphs that are read; deeper ones are reported as not analyzed.
pub(crate) const MAX_DEPTH: usize = 24;

/// A graph: nodes in topological order, with inputs, outputs and initializers.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let model = unishape_onnx::Model::read(&bytes)?;
/// assert_eq!(model.graph().nodes[0].inputs, ["x", "y"]);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) message: Message,
    /// Nodes, each after the nodes that compute its inputs.
    pub nodes: Vec<Node>,
    /// Inputs; an initializer with the same name is the default value of an input.
    pub inputs: Vec<ValueInfo>,
    /// Outputs.
    pub outputs: Vec<ValueInfo>,
    /// Declared types and shapes of intermediate values.
    pub value_info: Vec<ValueInfo>,
    pub(crate) initializers: Vec<TensorProto>,
    /// Names of the sparse initializers, which are not supported.
    pub(crate) sparse_initializers: Vec<String>,
    /// Number of the message's field that holds nodes: graphs and functions differ.
    pub(crate) node_field: u32,
}

impl Graph {
    pub(crate) fn from_message(message: Message, depth: usize) -> Result<Graph, Error> {
        let infos = |number: u32| -> Result<Vec<ValueInfo>, Error> {
            message.messages(number)?.iter().map(ValueInfo::from_message).collect()
        };
        let (inputs, outputs, value_info) =
            (infos(field::INPUT)?, infos(field::OUTPUT)?, infos(field::VALUE_INFO)?);
        let nodes = message
            .messages(field::NODE)?
            .iter()
            .enumerate()
            .map(|(index, node)| Node::from_message(index, node, depth))
            .collect::<Result<_, Error>>()?;
        let initializers = message.messages(field::INITIALIZER)?;
        let initializers =
            initializers.into_iter().map(TensorProto::from_message).collect::<Result<_, Error>>()?;
        let mut sparse_initializers = Vec::new();
        for sparse in message.messages(field::SPARSE_INITIALIZER)? {
            // The name of a sparse tensor is the name of its values.
            let values = sparse.message(sparse_tensor::VALUES)?;
            sparse_initializers.extend(values.map(|values| values.string(tensor::NAME)).transpose()?);
        }
        let node_field = field::NODE;
        Ok(Graph {
            nodes,
            inputs,
            outputs,
            value_info,
            initializers,
            sparse_initializers,
            node_field,
            message,
        })
    }

    /// The body of a model-local function; its inputs and outputs have no declared types.
    pub(crate) fn from_function(message: Message) -> Result<Graph, Error> {
        let infos = |number: u32| -> Result<Vec<ValueInfo>, Error> {
            let names = message.strings(number)?.into_iter();
            Ok(names.map(|name| ValueInfo { name, elem: None, shape: None }).collect())
        };
        let (inputs, outputs) = (infos(function::INPUT)?, infos(function::OUTPUT)?);
        let nodes = message.messages(function::NODE)?;
        let nodes = nodes.iter().enumerate().map(|(index, node)| Node::from_message(index, node, 1));
        let nodes = nodes.collect::<Result<_, Error>>()?;
        let value_info = message.messages(function::VALUE_INFO)?;
        let value_info = value_info.iter().map(ValueInfo::from_message).collect::<Result<_, Error>>()?;
        Ok(Graph {
            nodes,
            inputs,
            outputs,
            value_info,
            initializers: Vec::new(),
            sparse_initializers: Vec::new(),
            node_field: function::NODE,
            message,
        })
    }

    /// Copy with the attributes that refer to those of the enclosing function replaced by their values.
    pub(crate) fn with_attributes(&self, values: &[&Attribute]) -> Graph {
        let mut copy = self.clone();
        for node in &mut copy.nodes {
            node.set_attributes(values);
        }
        copy
    }

    /// Whether an attribute of a node, or of a node in a subgraph, refers to one of the enclosing function.
    pub(crate) fn refers_to_attributes(&self) -> bool {
        self.nodes.iter().any(|node| {
            node.attributes.iter().any(|attribute| attribute.reference().is_some())
                || node.subgraphs.iter().any(|subgraph| subgraph.graph.refers_to_attributes())
        })
    }

    /// Names of the initializers.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(model.graph().initializers().next(), None);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn initializers(&self) -> impl Iterator<Item = &str> {
        self.initializers.iter().map(|tensor| tensor.name.as_str())
    }
}

/// A node: one application of an operator.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let model = unishape_onnx::Model::read(&bytes)?;
/// assert_eq!(model.graph().nodes[0].to_string(), "node 0 (Add Add_of_z)");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    /// Index in the graph's list of nodes.
    pub index: usize,
    /// Name; may be empty.
    pub name: String,
    /// Name of the operator.
    pub op_type: String,
    /// Domain of the operator; empty for the default domain `ai.onnx`.
    pub domain: String,
    /// Names of the input values; empty for an omitted optional input.
    pub inputs: Vec<String>,
    /// Names of the output values; empty for an omitted optional output.
    pub outputs: Vec<String>,
    pub(crate) attributes: Vec<Attribute>,
    /// Which of several functions with the same name, in files since IR version 10.
    pub(crate) overload: String,
    /// Subgraphs in the attributes, as in If and Loop.
    pub(crate) subgraphs: Vec<Subgraph>,
    /// Whether a subgraph was not read because it is nested too deeply.
    pub(crate) has_unread_subgraph: bool,
}

/// Name of a domain; empty for the default domain, which has two names.
pub(crate) fn without_default(domain: String) -> String {
    if domain == "ai.onnx" { String::new() } else { domain }
}

/// A graph in an attribute of a node.
#[derive(Clone, Debug)]
pub(crate) struct Subgraph {
    /// Index of the attribute.
    pub(crate) attribute: usize,
    /// Name of the attribute, such as `then_branch`.
    pub(crate) name: String,
    pub(crate) graph: Graph,
}

impl Node {
    /// `depth` is the nesting depth of the node's graph.
    pub(crate) fn from_message(index: usize, message: &Message, depth: usize) -> Result<Node, Error> {
        let in_node = |error: Error| error.with_context(format!("node {index}"));
        let parse = || -> Result<Node, Error> {
            Ok(Node {
                index,
                name: message.string(node::NAME)?,
                op_type: message.string(node::OP_TYPE)?,
                domain: without_default(message.string(node::DOMAIN)?),
                inputs: message.strings(node::INPUT)?,
                outputs: message.strings(node::OUTPUT)?,
                attributes: Vec::new(),
                overload: message.string(node::OVERLOAD)?,
                subgraphs: Vec::new(),
                has_unread_subgraph: false,
            })
        };
        let mut node = parse().map_err(in_node)?;
        for attribute in message.messages(node::ATTRIBUTE).map_err(|error| in_node(error.into()))? {
            let attribute =
                Attribute::from_message(attribute).map_err(|error| error.with_context(node.to_string()))?;
            node.attributes.push(attribute);
        }
        node.read_subgraphs(depth).map_err(|error| error.with_context(node.to_string()))?;
        Ok(node)
    }

    fn read_subgraphs(&mut self, depth: usize) -> Result<(), Error> {
        for (index, each) in self.attributes.iter().enumerate() {
            // A list of graphs is not used by any operator.
            self.has_unread_subgraph |= each.message.has(attribute::GRAPHS);
            let Some(graph) = each.message.last(attribute::G) else { continue };
            if depth >= MAX_DEPTH {
                self.has_unread_subgraph = true;
                continue;
            }
            let graph = Graph::from_message(graph.message()?, depth + 1)
                .map_err(|error| error.with_context(format!("attribute {}", display_name(&each.name))))?;
            self.subgraphs.push(Subgraph { attribute: index, name: each.name.clone(), graph });
        }
        Ok(())
    }

    /// Subgraphs, as in If and Loop, with the names of their attributes.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(model.graph().nodes[0].subgraphs().count(), 0);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn subgraphs(&self) -> impl Iterator<Item = (&str, &Graph)> {
        self.subgraphs.iter().map(|subgraph| (subgraph.name.as_str(), &subgraph.graph))
    }

    /// Replaces attributes that refer to those of the enclosing function by their values.
    fn set_attributes(&mut self, values: &[&Attribute]) {
        self.attributes.retain_mut(|attribute| match attribute.reference() {
            None => true,
            // One without a value is omitted, and the operator's default applies.
            Some(reference) => match values.iter().find(|value| value.name == reference) {
                Some(value) => {
                    attribute.message = value.message.clone();
                    true
                }
                None => false,
            },
        });
        for subgraph in &mut self.subgraphs {
            subgraph.graph = subgraph.graph.with_attributes(values);
        }
    }

    /// Name of an input, unless the input is omitted.
    pub(crate) fn input(&self, index: usize) -> Option<&str> {
        self.inputs.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether the operator is in the default domain.
    pub(crate) fn is_default_domain(&self) -> bool {
        self.domain.is_empty()
    }

    /// Whether runtimes may have an operator for the node even if the model has a function of the same name.
    ///
    /// ONNX leaves open which of both runs; ONNX Runtime prefers its own operator.
    pub(crate) fn may_be_built_in(&self) -> bool {
        let domain = self.domain.as_str();
        domain.is_empty()
            || ["ai.onnx", "com.microsoft", "com.ms"].iter().any(|start| domain.starts_with(start))
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> Result<i64, Error> {
        self.attribute(name).map_or(Ok(default), Attribute::int)
    }

    pub(crate) fn float(&self, name: &str, default: f32) -> Result<f32, Error> {
        self.attribute(name).map_or(Ok(default), Attribute::float)
    }

    pub(crate) fn string(&self, name: &str, default: &str) -> Result<String, Error> {
        self.attribute(name).map_or_else(|| Ok(default.into()), Attribute::string)
    }

    /// Name of an attribute that requests the broadcasting of opset 6, if the node has one.
    pub(crate) fn legacy_broadcast_attribute(&self) -> Option<&'static str> {
        ["broadcast", "axis"].into_iter().find(|name| self.attribute(name).is_some())
    }

    /// Whether an attribute holds a subgraph, as in If and Loop.
    pub(crate) fn has_subgraph(&self) -> bool {
        let has_graph = |message: &Message| message.has(attribute::G) || message.has(attribute::GRAPHS);
        self.attributes.iter().any(|attribute| has_graph(&attribute.message))
    }
}

/// `node 3 (Add Add_of_z)`: index, operator and name.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domain =
            if self.domain.is_empty() { String::new() } else { format!("{}.", display_name(&self.domain)) };
        let name =
            if self.name.is_empty() { String::new() } else { format!(" {}", display_name(&self.name)) };
        write!(f, "node {} ({domain}{}{name})", self.index, display_name(&self.op_type))
    }
}

/// Attribute of a node; its value is decoded on access.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    message: Message,
}

impl Attribute {
    /// Name of the attribute of the enclosing function that this one refers to.
    pub(crate) fn reference(&self) -> Option<String> {
        self.message.string(attribute::REF_ATTR_NAME).ok().filter(|name| !name.is_empty())
    }

    pub(crate) fn from_message(message: Message) -> Result<Attribute, Error> {
        Ok(Attribute { name: message.string(attribute::NAME)?, message })
    }

    fn type_error(&self, expected: &str) -> Error {
        let problem = match self.message.has(attribute::REF_ATTR_NAME) {
            true => {
                "it refers to an attribute of an enclosing function, but the node is in no function".into()
            }
            false => format!("expected {expected}"),
        };
        Error::invalid(problem).with_context(format!("attribute {}", display_name(&self.name)))
    }

    /// The field that holds the value; an error that names the expected type if it is absent.
    fn field(&self, number: u32, expected: &str) -> Result<&Field, Error> {
        self.message.last(number).ok_or_else(|| self.type_error(expected))
    }

    /// Whether the value field is absent although the declared type needs it: the value is the type's default.
    fn is_default(&self, number: u32, attribute_type: i64) -> Result<bool, Error> {
        Ok(!self.message.has(number) && self.message.int(attribute::TYPE)? == attribute_type)
    }

    pub(crate) fn int(&self) -> Result<i64, Error> {
        if self.is_default(attribute::I, attribute_type::INT)? {
            return Ok(0);
        }
        Ok(self.field(attribute::I, "an integer")?.int()?)
    }

    pub(crate) fn float(&self) -> Result<f32, Error> {
        if self.is_default(attribute::F, attribute_type::FLOAT)? {
            return Ok(0.0);
        }
        Ok(self.field(attribute::F, "a float")?.float()?)
    }

    pub(crate) fn string(&self) -> Result<String, Error> {
        if self.is_default(attribute::S, attribute_type::STRING)? {
            return Ok(String::new());
        }
        Ok(self.field(attribute::S, "a string")?.string()?)
    }

    pub(crate) fn ints(&self) -> Result<Vec<i64>, Error> {
        Ok(self.message.ints(attribute::INTS)?)
    }

    pub(crate) fn floats(&self) -> Result<Vec<f32>, Error> {
        Ok(self.message.fixed::<4>(attribute::FLOATS)?.into_iter().map(f32::from_le_bytes).collect())
    }

    pub(crate) fn strings(&self) -> Result<Vec<String>, Error> {
        Ok(self.message.strings(attribute::STRINGS)?)
    }

    pub(crate) fn tensor(&self) -> Result<TensorProto, Error> {
        TensorProto::from_message(self.field(attribute::T, "a tensor")?.message()?)
    }
}

/// Declaration of a value: name, element type and shape.
///
/// ```
/// use unishape_onnx::{DeclaredDim, ElemType};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let model = unishape_onnx::Model::read(&bytes)?;
/// let x = &model.graph().inputs[0];
/// assert_eq!((x.name.as_str(), x.elem), ("x", Some(ElemType::new(1))));
/// assert_eq!(x.shape, Some(vec![DeclaredDim::Symbol("N".into()), DeclaredDim::Size(3)]));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// Name of the value.
    pub name: String,
    /// Element type; `None` if it is not declared or the value is not a tensor.
    pub elem: Option<ElemType>,
    /// Shape; `None` if it is not declared.
    pub shape: Option<Vec<DeclaredDim>>,
}

/// Dimension of a declared shape.
///
/// ```
/// assert_ne!(unishape_onnx::DeclaredDim::Size(3), unishape_onnx::DeclaredDim::Unknown);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredDim {
    /// Known size (`dim_value`).
    Size(usize),
    /// Symbolic dimension (`dim_param`).
    ///
    /// An unknown size, equal in all shapes that use the name.
    Symbol(String),
    /// Unknown size without a name.
    Unknown,
}

impl ValueInfo {
    fn from_message(message: &Message) -> Result<ValueInfo, Error> {
        let name = message.string(value_info::NAME)?;
        let parse = || -> Result<(Option<ElemType>, Option<Vec<DeclaredDim>>), Error> {
            let type_message = message.message(value_info::TYPE)?;
            let tensor = type_message.map(|message| message.message(type_proto::TENSOR_TYPE)).transpose()?;
            let Some(tensor) = tensor.flatten() else {
                return Ok((None, None));
            };
            let elem = match i32::try_from(tensor.int(tensor_type::ELEM_TYPE)?) {
                Ok(0) | Err(_) => None,
                Ok(number) => Some(ElemType::new(number)),
            };
            let shape = match tensor.message(tensor_type::SHAPE)? {
                Some(shape) => {
                    let dims = shape.messages(shape::DIM)?;
                    Some(dims.iter().map(DeclaredDim::from_message).collect::<Result<Vec<_>, Error>>()?)
                }
                None => None,
            };
            Ok((elem, shape))
        };
        let (elem, shape) =
            parse().map_err(|error| error.with_context(format!("value {}", display_name(&name))))?;
        Ok(ValueInfo { name, elem, shape })
    }
}

impl DeclaredDim {
    fn from_message(message: &Message) -> Result<DeclaredDim, Error> {
        let symbol = message.string(dimension::DIM_PARAM)?;
        // Both fields are members of a oneof, of which the last one counts.
        let is_size = message.fields().iter().rev().find_map(|field| match field.number {
            dimension::DIM_VALUE => Some(true),
            dimension::DIM_PARAM => Some(false),
            _ => None,
        });
        Ok(match is_size {
            // Some exporters write -1 for an unknown size.
            Some(true) => usize::try_from(message.int(dimension::DIM_VALUE)?)
                .map_or(DeclaredDim::Unknown, DeclaredDim::Size),
            Some(false) if !symbol.is_empty() => DeclaredDim::Symbol(symbol),
            _ => DeclaredDim::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with these length-delimited fields.
    fn message(fields: &[(u32, &[u8])]) -> Message {
        let mut message = Message::default();
        fields.iter().for_each(|(number, bytes)| message.push_bytes(*number, bytes));
        message
    }

    #[test]
    fn domains() {
        let node = |domain: &str| {
            let fields: &[(u32, &[u8])] = &[(node::OP_TYPE, b"Add"), (node::DOMAIN, domain.as_bytes())];
            Node::from_message(3, &message(fields), 0).expect("a node")
        };
        for domain in ["", "ai.onnx"] {
            let node = node(domain);
            assert!(node.is_default_domain());
            assert_eq!((node.domain.as_str(), node.to_string().as_str()), ("", "node 3 (Add)"));
        }
        let node = node("com.example");
        assert!(!node.is_default_domain());
        assert_eq!(node.to_string(), "node 3 (com.example.Add)");
    }

    fn attribute(build: impl FnOnce(&mut Message)) -> Attribute {
        let mut message = message(&[(attribute::NAME, b"a")]);
        build(&mut message);
        Attribute::from_message(message).expect("an attribute")
    }

    /// Protocol buffers omit values that are 0 or empty.
    #[test]
    fn omitted_values_are_the_default_of_the_declared_type() {
        let of_type =
            |attribute_type: i64| attribute(|message| message.push_int(attribute::TYPE, attribute_type));
        assert_eq!(of_type(attribute_type::INT).int(), Ok(0));
        assert_eq!(of_type(attribute_type::FLOAT).float(), Ok(0.0));
        assert_eq!(of_type(attribute_type::STRING).string(), Ok(String::new()));
        let error = of_type(attribute_type::FLOAT).int().expect_err("another type").to_string();
        assert_eq!(error, "attribute a: expected an integer");
        let error = attribute(|_| {}).string().expect_err("no type").to_string();
        assert_eq!(error, "attribute a: expected a string");
        let given = attribute(|message| {
            message.push_int(attribute::I, 7);
            message.push_int(attribute::TYPE, attribute_type::INT);
        });
        assert_eq!(given.int(), Ok(7));
    }

    #[test]
    fn lists() {
        let ints =
            attribute(|message| [3, -4].iter().for_each(|&int| message.push_int(attribute::INTS, int)));
        assert_eq!(ints.ints(), Ok(vec![3, -4]));
        let floats = attribute(|message| {
            [2.5f32, -0.5]
                .iter()
                .for_each(|float| message.push_fixed32(attribute::FLOATS, float.to_le_bytes()));
        });
        assert_eq!(floats.floats(), Ok(vec![2.5, -0.5]));
        let strings = attribute(|message| {
            ["a", ""].iter().for_each(|string| message.push_bytes(attribute::STRINGS, string.as_bytes()));
        });
        assert_eq!(strings.strings(), Ok(vec!["a".into(), String::new()]));
    }

    #[test]
    fn declared_dimensions() {
        let dim = |fields: &[(u32, &str)]| {
            let mut message = Message::default();
            for (number, value) in fields {
                match value.parse() {
                    Ok(size) => message.push_int(*number, size),
                    Err(_) => message.push_bytes(*number, value.as_bytes()),
                }
            }
            DeclaredDim::from_message(&message).expect("a dimension")
        };
        let (size, symbol) = (dimension::DIM_VALUE, dimension::DIM_PARAM);
        assert_eq!(dim(&[(size, "3")]), DeclaredDim::Size(3));
        assert_eq!(dim(&[(size, "-1")]), DeclaredDim::Unknown);
        assert_eq!(dim(&[(symbol, "N")]), DeclaredDim::Symbol("N".into()));
        assert_eq!(dim(&[(symbol, "")]), DeclaredDim::Unknown);
        assert_eq!(dim(&[]), DeclaredDim::Unknown);
        // The last one counts.
        assert_eq!(dim(&[(size, "3"), (symbol, "N")]), DeclaredDim::Symbol("N".into()));
        assert_eq!(dim(&[(symbol, "N"), (size, "3")]), DeclaredDim::Size(3));
    }
}
