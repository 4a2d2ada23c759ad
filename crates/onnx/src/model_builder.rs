//! Builds small models, for examples and tests.
//!
//! The `onnx` Python package has better tools for models of any size.

use crate::elem_type::ElemType;
use crate::field_numbers::{
    attribute, attribute_type, dimension, graph as field, model as model_field, node as node_field, opset,
    shape as shape_field, tensor_type, type_proto, value_info,
};
use crate::model::Model;
use crate::tensor_proto::tensor_message;
use crate::wire::Message;
use unishape::{DType, Tensor};

/// Builder of a model.
///
/// ```
/// use unishape::DType;
/// use unishape_onnx::model_builder::ModelBuilder;
///
/// let builder = ModelBuilder::new(21)
///     .input("x", DType::F32, "N 3")
///     .node("Neg", "x", "y")
///     .output("y", DType::F32, "N 3");
/// assert_eq!(builder.build()?.graph().nodes[0].op_type, "Neg");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ModelBuilder {
    opset: u32,
    graph: Message,
}

/// Value of an attribute.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Attr<'a> {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f32),
    /// A string.
    String(&'a str),
    /// A list of integers.
    Ints(&'a [i64]),
    /// A tensor.
    Tensor(&'a Tensor),
    /// A subgraph: the graph of another builder.
    Graph(&'a ModelBuilder),
}

impl ModelBuilder {
    /// A model without nodes.
    pub fn new(opset: u32) -> ModelBuilder {
        ModelBuilder { opset, graph: Message::default() }
    }

    /// Adds an input.
    ///
    /// `shape` lists sizes, symbolic dimensions and `?`, separated by spaces.
    #[must_use]
    pub fn input(self, name: &str, dtype: DType, shape: &str) -> ModelBuilder {
        self.message(field::INPUT, &value_info(name, dtype, Some(shape)))
    }

    /// Adds an input of unknown rank.
    #[must_use]
    pub fn unranked_input(self, name: &str, dtype: DType) -> ModelBuilder {
        self.message(field::INPUT, &value_info(name, dtype, None))
    }

    /// Adds an output; `shape` as in [`input`](ModelBuilder::input).
    #[must_use]
    pub fn output(self, name: &str, dtype: DType, shape: &str) -> ModelBuilder {
        self.message(field::OUTPUT, &value_info(name, dtype, Some(shape)))
    }

    /// Adds an output of unknown rank.
    #[must_use]
    pub fn unranked_output(self, name: &str, dtype: DType) -> ModelBuilder {
        self.message(field::OUTPUT, &value_info(name, dtype, None))
    }

    /// Adds value info of an intermediate value.
    #[must_use]
    pub fn value_info(self, name: &str, dtype: DType, shape: &str) -> ModelBuilder {
        self.message(field::VALUE_INFO, &value_info(name, dtype, Some(shape)))
    }

    /// Adds an initializer.
    #[must_use]
    pub fn initializer(self, name: &str, tensor: impl Into<Tensor>) -> ModelBuilder {
        self.message(field::INITIALIZER, &tensor_message(name, &tensor.into().view()))
    }

    /// Adds a node; inputs and outputs are separated by spaces, `-` is an omitted one.
    #[must_use]
    pub fn node(self, op_type: &str, inputs: &str, outputs: &str) -> ModelBuilder {
        self.node_with(op_type, inputs, outputs, &[])
    }

    /// Adds a node with attributes.
    #[must_use]
    pub fn node_with(
        self,
        op_type: &str,
        inputs: &str,
        outputs: &str,
        attributes: &[(&str, Attr<'_>)],
    ) -> ModelBuilder {
        let message = node(op_type, inputs, outputs, attributes);
        self.message(field::NODE, &message)
    }

    /// Adds a length-delimited field to the graph.
    #[must_use]
    pub fn raw_field(mut self, number: u32, bytes: &[u8]) -> ModelBuilder {
        self.graph.push_bytes(number, bytes);
        self
    }

    fn message(mut self, number: u32, message: &Message) -> ModelBuilder {
        self.graph.push_message(number, message);
        self
    }

    /// Serializes the model.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut opset = Message::default();
        opset.push_bytes(opset::DOMAIN, b"");
        opset.push_int(opset::VERSION, self.opset.into());
        let mut model = Message::default();
        model.push_int(model_field::IR_VERSION, 10);
        model.push_bytes(model_field::PRODUCER_NAME, b"unishape");
        model.push_message(model_field::GRAPH, &self.graph);
        model.push_message(model_field::OPSET_IMPORT, &opset);
        model.encode()
    }

    /// Decodes the serialized model.
    ///
    /// # Errors
    ///
    /// As [`Model::read`].
    pub fn build(&self) -> Result<Model, crate::Error> {
        Model::read(&self.to_bytes())
    }
}

/// Serialized `NodeProto`.
pub fn node_bytes(op_type: &str, inputs: &str, outputs: &str, attributes: &[(&str, Attr<'_>)]) -> Vec<u8> {
    node(op_type, inputs, outputs, attributes).encode()
}

/// A node, which is named after its operator and its first output.
fn node(op_type: &str, inputs: &str, outputs: &str, attributes: &[(&str, Attr<'_>)]) -> Message {
    let mut node = Message::default();
    for (field, names) in [(node_field::INPUT, inputs), (node_field::OUTPUT, outputs)] {
        for name in names.split_whitespace() {
            node.push_bytes(field, if name == "-" { b"" } else { name.as_bytes() });
        }
    }
    let first = outputs.split_whitespace().next().unwrap_or_default();
    node.push_bytes(node_field::NAME, format!("{op_type}_of_{first}").as_bytes());
    node.push_bytes(node_field::OP_TYPE, op_type.as_bytes());
    for (name, value) in attributes {
        let mut message = Message::default();
        message.push_bytes(attribute::NAME, name.as_bytes());
        let attribute_type = match value {
            Attr::Float(float) => {
                message.push_fixed32(attribute::F, float.to_le_bytes());
                attribute_type::FLOAT
            }
            Attr::Int(int) => {
                message.push_int(attribute::I, *int);
                attribute_type::INT
            }
            Attr::String(string) => {
                message.push_bytes(attribute::S, string.as_bytes());
                attribute_type::STRING
            }
            Attr::Tensor(tensor) => {
                message.push_message(attribute::T, &tensor_message("", &tensor.view()));
                attribute_type::TENSOR
            }
            Attr::Graph(builder) => {
                message.push_message(attribute::G, &builder.graph);
                attribute_type::GRAPH
            }
            Attr::Ints(ints) => {
                ints.iter().for_each(|&int| message.push_int(attribute::INTS, int));
                attribute_type::INTS
            }
        };
        message.push_int(attribute::TYPE, attribute_type);
        node.push_message(node_field::ATTRIBUTE, &message);
    }
    node
}

fn value_info(name: &str, dtype: DType, shape: Option<&str>) -> Message {
    let mut tensor = Message::default();
    tensor.push_int(tensor_type::ELEM_TYPE, ElemType::of(dtype).number().into());
    if let Some(shape) = shape {
        let mut dims = Message::default();
        for size in shape.split_whitespace() {
            let mut dim = Message::default();
            match size.parse() {
                Ok(size) => dim.push_int(dimension::DIM_VALUE, size),
                Err(_) if size == "?" => {}
                Err(_) => dim.push_bytes(dimension::DIM_PARAM, size.as_bytes()),
            }
            dims.push_message(shape_field::DIM, &dim);
        }
        tensor.push_message(tensor_type::SHAPE, &dims);
    }
    let mut type_message = Message::default();
    type_message.push_message(type_proto::TENSOR_TYPE, &tensor);
    let mut info = Message::default();
    info.push_bytes(value_info::NAME, name.as_bytes());
    info.push_message(value_info::TYPE, &type_message);
    info
}

/// The serialized model of the examples.
///
/// It computes `z = Add(x, y)` in float, with `x` of shape `Nx3` and `y` of shape 3.
pub fn add_model() -> Vec<u8> {
    ModelBuilder::new(21)
        .node("Add", "x y", "z")
        .input("x", DType::F32, "N 3")
        .input("y", DType::F32, "3")
        .output("z", DType::F32, "N 3")
        .to_bytes()
}
