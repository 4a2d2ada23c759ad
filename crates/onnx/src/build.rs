//! Models made by hand: for examples in the documentation, and for tests.
//!
//! Public for those, and hidden: whoever makes models has better tools for it.

use crate::graph::{field, node_field};
use crate::model::{Model, field as model_field};
use crate::proto::tensor_message;
use crate::types::ElemType;
use crate::wire::Message;
use unishape::{DType, Tensor};

/// A model in the making.
///
/// ```
/// use unishape::DType;
/// use unishape_onnx::build::Build;
///
/// let model = Build::new(21).input("x", DType::F32, "N 3").node("Neg", "x", "y").output("y", DType::F32, "N 3");
/// assert_eq!(model.model()?.graph().nodes[0].op_type, "Neg");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Build {
    opset: u32,
    graph: Message,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub enum Attr<'a> {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f32),
    /// Text.
    Text(&'a str),
    /// Whole numbers.
    Ints(&'a [i64]),
    /// A tensor.
    Tensor(&'a Tensor),
    /// A graph.
    Graph(&'a Build),
}

impl Build {
    /// A model without nodes, for an opset.
    pub fn new(opset: u32) -> Build {
        Build { opset, graph: Message::default() }
    }

    /// With an input of this shape: sizes and names of sizes, `?` for what is not known, with spaces between.
    #[must_use]
    pub fn input(self, name: &str, dtype: DType, shape: &str) -> Build {
        self.field(field::INPUT, &value(name, dtype, Some(shape)))
    }

    /// With an input of any shape and rank.
    #[must_use]
    pub fn open_input(self, name: &str, dtype: DType) -> Build {
        self.field(field::INPUT, &value(name, dtype, None))
    }

    /// With an output.
    #[must_use]
    pub fn output(self, name: &str, dtype: DType, shape: &str) -> Build {
        self.field(field::OUTPUT, &value(name, dtype, Some(shape)))
    }

    /// With an output of any shape and rank.
    #[must_use]
    pub fn open_output(self, name: &str, dtype: DType) -> Build {
        self.field(field::OUTPUT, &value(name, dtype, None))
    }

    /// With something said of a value between.
    #[must_use]
    pub fn value(self, name: &str, dtype: DType, shape: &str) -> Build {
        self.field(field::VALUE_INFO, &value(name, dtype, Some(shape)))
    }

    /// With a value that is there from the beginning.
    #[must_use]
    pub fn initializer(self, name: &str, tensor: impl Into<Tensor>) -> Build {
        self.field(field::INITIALIZER, &tensor_message(name, &tensor.into().view()))
    }

    /// With a node: its inputs with spaces between, `-` for one that is left out, and its output.
    #[must_use]
    pub fn node(self, op_type: &str, inputs: &str, output: &str) -> Build {
        self.node_with(op_type, inputs, output, &[])
    }

    /// With a node that has attributes.
    #[must_use]
    pub fn node_with(self, op_type: &str, inputs: &str, output: &str, with: &[(&str, Attr<'_>)]) -> Build {
        let message = node(op_type, inputs, output, with);
        self.field(field::NODE, &message)
    }

    /// With a field of the graph's that is made somewhere else.
    #[must_use]
    pub fn bytes(mut self, number: u32, bytes: &[u8]) -> Build {
        self.graph.push_bytes(number, bytes);
        self
    }

    fn field(mut self, number: u32, message: &Message) -> Build {
        self.graph.push_message(number, message);
        self
    }

    /// The model's file.
    pub fn file(&self) -> Vec<u8> {
        let mut opset = Message::default();
        opset.push_bytes(1, b"");
        opset.push_int(2, self.opset.into());
        let mut model = Message::default();
        model.push_int(model_field::IR_VERSION, 10);
        model.push_bytes(2, b"by hand");
        model.push_message(model_field::GRAPH, &self.graph);
        model.push_message(model_field::OPSET, &opset);
        model.write()
    }

    /// The model, read from its file.
    ///
    /// # Errors
    ///
    /// As [`Model::read`].
    pub fn model(&self) -> Result<Model, crate::Error> {
        Model::read(&self.file())
    }
}

/// The bytes of a node alone.
pub fn node_bytes(op_type: &str, inputs: &str, output: &str, with: &[(&str, Attr<'_>)]) -> Vec<u8> {
    node(op_type, inputs, output, with).write()
}

fn node(op_type: &str, inputs: &str, output: &str, with: &[(&str, Attr<'_>)]) -> Message {
    let mut node = Message::default();
    for input in inputs.split_whitespace() {
        node.push_bytes(node_field::INPUT, if input == "-" { b"" } else { input.as_bytes() });
    }
    node.push_bytes(node_field::OUTPUT, output.as_bytes());
    node.push_bytes(node_field::NAME, format!("{op_type}_of_{output}").as_bytes());
    node.push_bytes(node_field::OP_TYPE, op_type.as_bytes());
    for (name, value) in with {
        let mut attribute = Message::default();
        attribute.push_bytes(1, name.as_bytes());
        let kind = match value {
            Attr::Float(float) => {
                attribute.push_fixed32(2, float.to_le_bytes());
                1
            }
            Attr::Int(int) => {
                attribute.push_int(3, *int);
                2
            }
            Attr::Text(text) => {
                attribute.push_bytes(4, text.as_bytes());
                3
            }
            Attr::Tensor(tensor) => {
                attribute.push_message(5, &tensor_message("", &tensor.view()));
                4
            }
            Attr::Graph(graph) => {
                attribute.push_message(6, &graph.graph);
                5
            }
            Attr::Ints(ints) => {
                ints.iter().for_each(|&int| attribute.push_int(8, int));
                7
            }
        };
        attribute.push_int(20, kind);
        node.push_message(node_field::ATTRIBUTE, &attribute);
    }
    node
}

fn value(name: &str, dtype: DType, shape: Option<&str>) -> Message {
    let mut tensor = Message::default();
    tensor.push_int(1, ElemType::of(dtype).number().into());
    if let Some(shape) = shape {
        let mut dims = Message::default();
        for size in shape.split_whitespace() {
            let mut dim = Message::default();
            match size.parse() {
                Ok(size) => dim.push_int(1, size),
                Err(_) if size == "?" => {}
                Err(_) => dim.push_bytes(2, size.as_bytes()),
            }
            dims.push_message(1, &dim);
        }
        tensor.push_message(2, &dims);
    }
    let mut kind = Message::default();
    kind.push_message(1, &tensor);
    let mut value = Message::default();
    value.push_bytes(1, name.as_bytes());
    value.push_message(2, &kind);
    value
}

/// `z = x + y`, of a float `N`×3 and a float 3: the model of the examples.
pub fn add_model() -> Vec<u8> {
    Build::new(21)
        .node("Add", "x y", "z")
        .input("x", DType::F32, "N 3")
        .input("y", DType::F32, "3")
        .output("z", DType::F32, "N 3")
        .file()
}
