//! Graphs: nodes, what goes in and out, and what is known of the values between.

use crate::error::{Error, named};
use crate::proto::TensorProto;
use crate::types::ElemType;
use crate::wire::Message;
use std::fmt;

/// The numbers of a graph's fields.
pub(crate) mod field {
    pub(crate) const NODE: u32 = 1;
    pub(crate) const INITIALIZER: u32 = 5;
    pub(crate) const INPUT: u32 = 11;
    pub(crate) const OUTPUT: u32 = 12;
    pub(crate) const VALUE_INFO: u32 = 13;
    pub(crate) const SPARSE_INITIALIZER: u32 = 15;
}

/// The numbers of a node's fields.
pub(crate) mod node_field {
    pub(crate) const INPUT: u32 = 1;
    pub(crate) const OUTPUT: u32 = 2;
    pub(crate) const NAME: u32 = 3;
    pub(crate) const OP_TYPE: u32 = 4;
    pub(crate) const ATTRIBUTE: u32 = 5;
    pub(crate) const DOMAIN: u32 = 7;
}

/// What a model computes: nodes in an order in which they can be, and their inputs.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let model = unishape_onnx::Model::read(&bytes)?;
/// assert_eq!(model.graph().nodes[0].inputs, ["x", "y"]);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) message: Message,
    /// What is computed, each after what it needs.
    pub nodes: Vec<Node>,
    /// What goes in; of those that have an initializer too, it is the value unless another is given.
    pub inputs: Vec<ValueInfo>,
    /// What comes out.
    pub outputs: Vec<ValueInfo>,
    /// What is known of values between.
    pub values: Vec<ValueInfo>,
    pub(crate) initializers: Vec<TensorProto>,
    /// What the sparse tensors among the initializers are called: they are not computed with.
    pub(crate) sparse: Vec<String>,
}

impl Graph {
    pub(crate) fn read(message: Message) -> Result<Graph, Error> {
        let infos = |number: u32| -> Result<Vec<ValueInfo>, Error> {
            message.messages(number)?.iter().map(ValueInfo::read).collect()
        };
        let (inputs, outputs, values) =
            (infos(field::INPUT)?, infos(field::OUTPUT)?, infos(field::VALUE_INFO)?);
        let nodes = message
            .messages(field::NODE)?
            .iter()
            .enumerate()
            .map(|(index, node)| Node::read(index, node))
            .collect::<Result<_, Error>>()?;
        let initializers = message.messages(field::INITIALIZER)?;
        let initializers = initializers.into_iter().map(TensorProto::read).collect::<Result<_, Error>>()?;
        let mut sparse = Vec::new();
        for tensor in message.messages(field::SPARSE_INITIALIZER)? {
            // A sparse tensor is called as its values are.
            sparse.extend(tensor.message(1)?.map(|values| values.text(8)).transpose()?);
        }
        Ok(Graph { nodes, inputs, outputs, values, initializers, sparse, message })
    }

    /// What has a value from the beginning, unless another is given.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(model.graph().initializers().next(), None);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn initializers(&self) -> impl Iterator<Item = &str> {
        self.initializers.iter().map(|tensor| tensor.name.as_str())
    }
}

/// One step of a graph.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let model = unishape_onnx::Model::read(&bytes)?;
/// assert_eq!(model.graph().nodes[0].to_string(), "node 0 (Add Add_of_z)");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    /// How many nodes come before it.
    pub index: usize,
    /// What it is called; not all are called anything.
    pub name: String,
    /// Its operator.
    pub op_type: String,
    /// Whose operator it is; empty for ONNX's own.
    pub domain: String,
    /// The values that go in; an empty name stands for one that is left out.
    pub inputs: Vec<String>,
    /// The values that come out; an empty name stands for one that nobody wants.
    pub outputs: Vec<String>,
    pub(crate) attributes: Vec<Attribute>,
}

impl Node {
    pub(crate) fn read(index: usize, message: &Message) -> Result<Node, Error> {
        let at = |error: Error| error.at(format!("node {index}"));
        let read = || -> Result<Node, Error> {
            let domain = message.text(node_field::DOMAIN)?;
            Ok(Node {
                index,
                name: message.text(node_field::NAME)?,
                op_type: message.text(node_field::OP_TYPE)?,
                domain: if domain == "ai.onnx" { String::new() } else { domain },
                inputs: message.texts(node_field::INPUT)?,
                outputs: message.texts(node_field::OUTPUT)?,
                attributes: Vec::new(),
            })
        };
        let mut node = read().map_err(at)?;
        for attribute in message.messages(node_field::ATTRIBUTE).map_err(|error| at(error.into()))? {
            let attribute = Attribute::read(attribute).map_err(|error| error.at(node.to_string()))?;
            node.attributes.push(attribute);
        }
        Ok(node)
    }

    /// The value that goes in at a place, if it is not left out.
    pub(crate) fn input(&self, at: usize) -> Option<&str> {
        self.inputs.get(at).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether it is one of ONNX's own operators.
    pub(crate) fn is_onnx(&self) -> bool {
        self.domain.is_empty()
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

    /// Whether there are graphs within it, as in If and Loop.
    pub(crate) fn has_graph(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.message.has(6) || attribute.message.has(11))
    }
}

/// `node 3 (Add Add_of_z)`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.domain.is_empty() { String::new() } else { format!("{}.", named(&self.domain)) };
        let name = if self.name.is_empty() { String::new() } else { format!(" {}", named(&self.name)) };
        write!(f, "node {} ({whose}{}{name})", self.index, named(&self.op_type))
    }
}

/// An attribute of a node: looked into when it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    message: Message,
}

impl Attribute {
    fn read(message: Message) -> Result<Attribute, Error> {
        Ok(Attribute { name: message.text(1)?, message })
    }

    fn wrong(&self, wanted: &str) -> Error {
        let problem = match self.message.has(21) {
            true => "it refers to an attribute of a function around it, and there is none".into(),
            false => format!("it should be {wanted}"),
        };
        Error::invalid(problem).at(format!("attribute {}", named(&self.name)))
    }

    /// A field of it, or what it should be.
    fn field(&self, number: u32, wanted: &str) -> Result<&crate::wire::Field, Error> {
        self.message.last(number).ok_or_else(|| self.wrong(wanted))
    }

    pub(crate) fn int(&self) -> Result<i64, Error> {
        // A zero may be left out, as long as the type says what it is.
        if !self.message.has(3) && self.message.int(20)? == 2 {
            return Ok(0);
        }
        Ok(self.field(3, "an integer")?.int()?)
    }

    pub(crate) fn float(&self) -> Result<f32, Error> {
        if !self.message.has(2) && self.message.int(20)? == 1 {
            return Ok(0.0);
        }
        Ok(self.field(2, "a number")?.float()?)
    }

    pub(crate) fn string(&self) -> Result<String, Error> {
        if !self.message.has(4) && self.message.int(20)? == 3 {
            return Ok(String::new());
        }
        Ok(self.field(4, "text")?.text()?)
    }

    pub(crate) fn ints(&self) -> Result<Vec<i64>, Error> {
        Ok(self.message.ints(8)?)
    }

    pub(crate) fn floats(&self) -> Result<Vec<f32>, Error> {
        Ok(self.message.fixed::<4>(7)?.into_iter().map(f32::from_le_bytes).collect())
    }

    pub(crate) fn strings(&self) -> Result<Vec<String>, Error> {
        Ok(self.message.texts(9)?)
    }

    pub(crate) fn tensor(&self) -> Result<TensorProto, Error> {
        TensorProto::read(self.field(5, "a tensor")?.message()?)
    }
}

/// What is declared of a value: its name, its type, its shape.
///
/// ```
/// use unishape_onnx::{Declared, ElemType};
/// # let bytes = unishape_onnx::build::add_model();
///
/// let model = unishape_onnx::Model::read(&bytes)?;
/// let x = &model.graph().inputs[0];
/// assert_eq!((x.name.as_str(), x.elem), ("x", Some(ElemType::new(1))));
/// assert_eq!(x.shape, Some(vec![Declared::Name("N".into()), Declared::Size(3)]));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// What it is called.
    pub name: String,
    /// The type of its elements; `None` if it is not declared, or it is no tensor.
    pub elem: Option<ElemType>,
    /// Its shape, if it is declared.
    pub shape: Option<Vec<Declared>>,
}

/// A dimension as it is declared.
///
/// ```
/// assert_ne!(unishape_onnx::Declared::Size(3), unishape_onnx::Declared::Nothing);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Its size.
    Size(usize),
    /// A name for a size that is not known, the same wherever it is used.
    Name(String),
    /// Nothing is known.
    Nothing,
}

impl ValueInfo {
    fn read(message: &Message) -> Result<ValueInfo, Error> {
        let name = message.text(1)?;
        let read = || -> Result<(Option<ElemType>, Option<Vec<Declared>>), Error> {
            let kind = message.message(2)?;
            let Some(tensor) = kind.map(|kind| kind.message(1)).transpose()?.flatten() else {
                return Ok((None, None));
            };
            let elem = match i32::try_from(tensor.int(1)?) {
                Ok(0) | Err(_) => None,
                Ok(number) => Some(ElemType::new(number)),
            };
            let shape = match tensor.message(2)? {
                Some(shape) => {
                    Some(shape.messages(1)?.iter().map(dimension).collect::<Result<Vec<_>, Error>>()?)
                }
                None => None,
            };
            Ok((elem, shape))
        };
        let (elem, shape) = read().map_err(|error| error.at(format!("value {}", named(&name))))?;
        Ok(ValueInfo { name, elem, shape })
    }
}

fn dimension(message: &Message) -> Result<Declared, Error> {
    let symbol = message.text(2)?;
    // Of a choice, the one that comes last counts.
    let is_size = message.all().iter().rev().find_map(|field| match field.number {
        1 => Some(true),
        2 => Some(false),
        _ => None,
    });
    Ok(match is_size {
        // Some writers say -1 for what they do not know.
        Some(true) => usize::try_from(message.int(1)?).map_or(Declared::Nothing, Declared::Size),
        Some(false) if !symbol.is_empty() => Declared::Name(symbol),
        _ => Declared::Nothing,
    })
}
