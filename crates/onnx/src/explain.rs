//! Where a model broadcasts: which inputs are stretched, along which dimensions, and how much larger they get.

use crate::error::Error;
use crate::graph::Node;
use crate::infer::dims::{Dim, Shape, join_all, shape_text};
use crate::infer::{Inference, infer};
use crate::model::Model;
use crate::operators::{Operator, Role};
use std::fmt;

/// All broadcasting in a model.
///
/// ```
/// use unishape_onnx::{Model, explain};
/// # let bytes = unishape_onnx::build::add_model();
///
/// let report = explain(&Model::read(&bytes)?);
/// assert_eq!(report.broadcasts.len(), 1);
/// assert_eq!(report.broadcasts[0].to_string(), "\
/// node 0 (Add Add_of_z) to Nx3
///   input 1, y: 3 → Nx3, N times as large
///     dimension 0: none → N");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The nodes that broadcast, or may do so.
    pub broadcasts: Vec<Broadcast>,
    /// The nodes, by index, whose inputs are incompatible, and why: E1.
    pub conflicts: Vec<(usize, Error)>,
    /// What was not looked into: graphs within nodes, functions of the model's own.
    pub unseen: Vec<String>,
}

/// A node that broadcasts.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// assert_eq!((report.broadcasts[0].node, &*report.broadcasts[0].op_type), (0, "Add"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Broadcast {
    /// How many nodes come before it.
    pub node: usize,
    /// What it is called.
    pub name: String,
    /// Its operator.
    pub op_type: String,
    /// All inputs that take part: what they are called, and their shapes where their ranks are known.
    pub inputs: Vec<(String, Option<Vec<Dim>>)>,
    /// The shape that all are brought to, if its rank is known.
    pub shape: Option<Vec<Dim>>,
    /// The inputs that are stretched, or may be.
    pub stretches: Vec<Stretch>,
    place: String,
}

/// An input that is stretched, or may be.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// let stretch = &report.broadcasts[0].stretches[0];
/// assert_eq!((stretch.input, stretch.is_certain, stretch.times().as_deref()), (1, true, Some("N")));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Which of the node's inputs it is.
    pub input: usize,
    /// What it is called.
    pub name: String,
    /// Its shape, if its rank is known.
    pub from: Option<Vec<Dim>>,
    /// The shape that it is brought to, if its rank is known.
    pub to: Option<Vec<Dim>>,
    /// Along which dimensions of that shape; empty where a rank is not known.
    pub dims: Vec<StretchedDim>,
    /// Whether it is stretched for certain: not if that depends on sizes that are not known.
    pub is_certain: bool,
}

/// A dimension that is stretched.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// # let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// let dim = &report.broadcasts[0].stretches[0].dims[0];
/// assert_eq!((dim.dim, &dim.from, dim.to.to_string()), (0, &None, "N".into()));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StretchedDim {
    /// Which one, counted from 0 on the left of the common shape.
    pub dim: usize,
    /// The size that the input has there; none where it has no such dimension.
    pub from: Option<Dim>,
    /// The size that it gets.
    pub to: Dim,
}

/// Finds all broadcasting in a model.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// assert!(report.conflicts.is_empty() && report.unseen.is_empty());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn explain(model: &Model) -> Report {
    let inference = infer(model);
    let broadcasts = model.graph().nodes.iter().filter_map(|node| broadcast(node, &inference)).collect();
    let within = model.graph().nodes.iter().filter(|node| node.has_graph());
    let within = within.map(|node| format!("{node}: the graphs within it"));
    let functions = model.functions().iter().map(|(domain, name)| {
        let domain = if domain.is_empty() { "" } else { &format!("{}.", crate::error::named(domain)) };
        format!("the model's function {domain}{}", crate::error::named(name))
    });
    let unseen = within.chain(functions).collect();
    Report { broadcasts, conflicts: inference.conflicts().to_vec(), unseen }
}

/// What takes part when a node broadcasts.
pub(crate) struct Parties<'n> {
    /// Its inputs that are not left out, by their places.
    pub(crate) inputs: Vec<(usize, &'n str)>,
    /// Those of them that do not have the common shape, or not for certain.
    pub(crate) stretched: Vec<(usize, &'n str)>,
    /// The shape that they are brought to.
    pub(crate) common: Shape,
}

impl<'n> Parties<'n> {
    /// `None` where a node does not broadcast, or its inputs are incompatible.
    pub(crate) fn of(node: &'n Node, inference: &Inference) -> Option<Parties<'n>> {
        let role = Operator::of(node)?.role;
        let inputs: Vec<(usize, &str)> =
            (0..node.inputs.len()).filter_map(|at| Some((at, node.input(at)?))).collect();
        let shapes = inputs.iter().map(|(_, name)| inference.shape(name)).collect::<Option<Vec<&Shape>>>()?;
        let common = join_all(shapes.iter().copied(), &[]).ok()?;
        let fixed = match role {
            Role::Together => 0,
            // The first is as large as all together, or the operator is not for them.
            Role::OneWay => 1,
            Role::Alone | Role::Other => return None,
        };
        let stretched = inputs.iter().zip(shapes).skip(fixed).filter(|(_, shape)| **shape != common);
        let stretched = stretched.map(|(input, _)| *input).collect();
        Some(Parties { inputs, stretched, common })
    }
}

fn broadcast(node: &Node, inference: &Inference) -> Option<Broadcast> {
    let Parties { inputs, stretched, common } = Parties::of(node, inference)?;
    if stretched.is_empty() {
        return None;
    }
    let stretches = stretched
        .iter()
        .filter_map(|&(input, name)| Some(stretch(input, name, inference.shape(name)?, &common)));
    let dims = |shape: &Shape| shape.dims().map(<[Dim]>::to_vec);
    Some(Broadcast {
        node: node.index,
        name: node.name.clone(),
        op_type: node.op_type.clone(),
        inputs: inputs
            .iter()
            .map(|&(_, name)| (name.to_owned(), inference.shape(name).and_then(dims)))
            .collect(),
        shape: dims(&common),
        stretches: stretches.collect(),
        place: node.to_string(),
    })
}

fn stretch(input: usize, name: &str, from: &Shape, to: &Shape) -> Stretch {
    let (from, to) = (from.dims(), to.dims());
    let mut dims = Vec::new();
    let mut is_certain = false;
    if let (Some(from), Some(to)) = (from, to) {
        let added = to.len().saturating_sub(from.len());
        for (dim, to) in to.iter().enumerate() {
            let from = dim.checked_sub(added).and_then(|dim| from.get(dim));
            if from != Some(to) {
                // An unknown size becomes another only if it turns out to be 1.
                is_certain |= matches!(from, None | Some(Dim::Known(1)));
                dims.push(StretchedDim { dim, from: from.cloned(), to: to.clone() });
            }
        }
    }
    let (from, to) = (from.map(<[Dim]>::to_vec), to.map(<[Dim]>::to_vec));
    Stretch { input, name: name.to_owned(), from, to, dims, is_certain }
}

impl Stretch {
    /// How many times as large it gets, as far as that is known: `12`, `N`, `N x 4`. `None` where nothing is.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// # let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
    /// assert_eq!(report.broadcasts[0].stretches[0].times().as_deref(), Some("N"));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn times(&self) -> Option<String> {
        let mut known = 1u128;
        let mut names = Vec::new();
        let grown = self.dims.iter().filter(|dim| matches!(dim.from, None | Some(Dim::Known(1))));
        for StretchedDim { to, .. } in grown {
            match to {
                Dim::Known(size) => known = known.saturating_mul(*size as u128),
                Dim::Unknown(symbols) => names.push(symbols.to_string()),
            }
        }
        if !self.is_certain {
            return None;
        }
        if known != 1 || names.is_empty() {
            names.push(known.to_string());
        }
        Some(names.join(" x "))
    }
}

fn shape_or_unknown(dims: Option<&[Dim]>) -> String {
    dims.map_or_else(|| "?".into(), shape_text)
}

/// A line for the node, one for each input that is stretched, and one for each dimension of it.
impl fmt::Display for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.place, shape_or_unknown(self.shape.as_deref()))?;
        for stretch in &self.stretches {
            write!(f, "\n{stretch}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (shape_or_unknown(self.from.as_deref()), shape_or_unknown(self.to.as_deref()));
        write!(f, "  input {}, {}: {from} → {to}", self.input, crate::error::named(&self.name))?;
        match self.times() {
            Some(times) if times == "1" => write!(f, ", as large as before")?,
            Some(times) => write!(f, ", {times} times as large")?,
            None => write!(f, ", perhaps: not all sizes are known")?,
        }
        for StretchedDim { dim, from, to } in &self.dims {
            let from = from.as_ref().map_or_else(|| "none".into(), Dim::to_string);
            write!(f, "\n    dimension {dim}: {from} → {to}")?;
        }
        Ok(())
    }
}
