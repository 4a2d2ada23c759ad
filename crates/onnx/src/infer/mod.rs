//! What is known of a model's values before it runs: types, shapes, names of sizes that are not known.
//!
//! | module | holds |
//! |---|---|
//! | `dims` | shapes of which not all is known |
//! | `rules` | what each operator makes of shapes |

pub(crate) mod dims;
mod rules;

use crate::error::Error;
use crate::graph::{Declared, Graph, ValueInfo};
use crate::model::Model;
use crate::types::ElemType;
use dims::{Dim, MOST_DIMENSIONS, Shape};
use std::collections::HashMap;

/// What is known of a value.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
/// let z = inference.value("z").expect("a value");
/// assert_eq!((z.elem().map(|elem| elem.to_string()), z.to_string()), (Some("float".into()), "Nx3".into()));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fact {
    pub(crate) elem: Option<ElemType>,
    pub(crate) shape: Shape,
    /// The elements, where they are few integers that tell of shapes.
    pub(crate) content: Option<Content>,
}

/// Elements of a value that tells of shapes.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A list, or a single one.
    Items(Vec<Item>),
    /// All sizes of a shape whose rank is not known.
    Sizes(Shape),
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Scalar(i64),
    /// A size that is not known.
    Size(Dim),
}

impl Item {
    /// The size that it is.
    pub(crate) fn size(&self) -> Option<Dim> {
        match self {
            Item::Scalar(number) => usize::try_from(*number).ok().map(Dim::Known),
            Item::Size(dim) => Some(dim.clone()),
        }
    }
}

impl From<&Dim> for Item {
    fn from(dim: &Dim) -> Item {
        match dim {
            Dim::Known(size) => i64::try_from(*size).map_or_else(|_| Item::Size(dim.clone()), Item::Scalar),
            Dim::Unknown(_) => Item::Size(dim.clone()),
        }
    }
}

impl Fact {
    /// The type of the elements, if it is known.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// # let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
    /// let elem = inference.value("x").and_then(|x| x.elem());
    /// assert_eq!(elem, Some(unishape_onnx::ElemType::new(1)));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn elem(&self) -> Option<ElemType> {
        self.elem
    }

    /// The shape, if its rank is known.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// # let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
    /// let shape = inference.value("y").and_then(|y| y.shape());
    /// assert_eq!(shape, Some(&[unishape_onnx::Dim::Known(3)][..]));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn shape(&self) -> Option<&[Dim]> {
        self.shape.dims()
    }
}

/// Its shape as it is written, `?` where not even the rank is known.
impl std::fmt::Display for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shape.fmt(f)
    }
}

/// What is known of all values of a model, and where its shapes are incompatible.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
/// assert!(inference.value("x").is_some() && inference.conflicts().is_empty());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inference {
    numbers: HashMap<String, usize>,
    facts: Vec<Fact>,
    conflicts: Vec<(usize, Error)>,
}

impl Inference {
    /// What is known of a value; `None` where there is none of that name.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// # let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(inference.value("nothing").is_none());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn value(&self, name: &str) -> Option<&Fact> {
        self.numbers.get(name).map(|&number| &self.facts[number])
    }

    /// The nodes, by index, whose inputs are incompatible, and why: E1.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// # let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(inference.conflicts().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn conflicts(&self) -> &[(usize, Error)] {
        &self.conflicts
    }

    pub(crate) fn shape(&self, name: &str) -> Option<&Shape> {
        self.value(name).map(|fact| &fact.shape)
    }

    /// The number of a value, made if it has none yet.
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.facts.len();
        self.numbers.insert(name.to_owned(), number);
        self.facts.push(Fact { elem: None, shape: Shape::of(number), content: None });
        number
    }
}

/// Infers types and shapes of all values, from what is declared and from what operators make of it. Where
/// nothing can be said of an operator, what the model declares of its outputs is taken.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
/// assert_eq!(inference.value("z").map(|z| z.to_string()).as_deref(), Some("Nx3"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn infer(model: &Model) -> Inference {
    let graph = model.graph();
    let mut inference = Inference { numbers: HashMap::new(), facts: Vec::new(), conflicts: Vec::new() };
    let declared = declared(graph);
    for info in &graph.inputs {
        let number = inference.number(&info.name);
        inference.facts[number] = declared_fact(info, number);
    }
    for tensor in &graph.initializers {
        let is_input = inference.numbers.contains_key(&tensor.name);
        let number = inference.number(&tensor.name);
        if is_input && model.ir_version() >= 4 {
            // Only a default: another value may be given, of what shape the input says.
            continue;
        }
        inference.facts[number] = rules::tensor(tensor, model.folder());
        inference.facts[number].shape = inference.facts[number].shape.clone().bounded(number);
    }
    for node in &graph.nodes {
        let inputs: Vec<Option<usize>> =
            node.inputs.iter().map(|name| (!name.is_empty()).then(|| inference.number(name))).collect();
        let outputs = node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let outputs: Vec<(usize, usize)> = outputs.map(|(at, name)| (at, inference.number(name))).collect();
        let facts: Vec<Option<&Fact>> =
            inputs.iter().map(|input| input.map(|number| &inference.facts[number])).collect();
        // What has no name of its own is called after the first output.
        let inferred = match outputs[..] {
            [(0, number), ..] => rules::apply(node, &facts, number),
            _ => Ok(None),
        };
        let (inferred, conflict) = match inferred {
            Ok(fact) => (fact, None),
            Err(error) => (None, Some(error.at(node.to_string()))),
        };
        inference.conflicts.extend(conflict.map(|error| (node.index, error)));
        for (at, number) in outputs {
            let fact = inferred.clone().filter(|_| at == 0).unwrap_or(Fact {
                elem: None,
                shape: Shape::of(number),
                content: None,
            });
            let fact = Fact { shape: fact.shape.bounded(number), ..fact };
            let known = declared.get(node.outputs[at].as_str()).map(|info| declared_fact(info, number));
            inference.facts[number] = match known {
                Some(known) => more_of(fact, known),
                None => fact,
            };
        }
    }
    inference
}

/// What is declared of values that nodes give.
fn declared(graph: &Graph) -> HashMap<&str, &ValueInfo> {
    graph.values.iter().chain(&graph.outputs).map(|info| (info.name.as_str(), info)).collect()
}

fn declared_fact(info: &ValueInfo, number: usize) -> Fact {
    let shape = match &info.shape {
        Some(dims) if dims.len() <= MOST_DIMENSIONS => {
            let dims = dims.iter().enumerate().map(|(at, dim)| match dim {
                Declared::Size(size) => Dim::Known(*size),
                Declared::Name(name) => Dim::name(name),
                Declared::Nothing => Dim::nameless(number, at),
            });
            Shape::new(dims.collect())
        }
        _ => Shape::of(number),
    };
    Fact { elem: info.elem, shape, content: None }
}

/// What was inferred, and where that says less, what was declared.
fn more_of(inferred: Fact, declared: Fact) -> Fact {
    let shape = match (inferred.shape.dims(), declared.shape.dims()) {
        (None, Some(_)) => declared.shape,
        (Some(ours), Some(theirs)) if ours.len() == theirs.len() => {
            let says_more = |(ours, theirs): (&Dim, &Dim)| match (ours, theirs) {
                (Dim::Unknown(_), Dim::Known(_)) => theirs.clone(),
                (ours, theirs) if !ours.says_something() && theirs.says_something() => theirs.clone(),
                (ours, _) => ours.clone(),
            };
            Shape::new(ours.iter().zip(theirs).map(says_more).collect())
        }
        _ => inferred.shape,
    };
    Fact { elem: inferred.elem.or(declared.elem), shape, content: inferred.content }
}
