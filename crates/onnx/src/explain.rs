//! Reports where a model broadcasts: which inputs are stretched, in which dimensions, and by what factor.

use crate::error::{Error, display_name};
use crate::graph::Node;
use crate::model::Model;
use crate::operators::{Operator, ShapeRule};
use crate::shape_inference::symbolic::{Dim, SymbolicShape, broadcast_all, shape_text};
use crate::shape_inference::{Inference, infer_shapes};
use std::fmt;

/// Report of all broadcasting in a model.
///
/// ```
/// use unishape_onnx::{Model, explain};
/// # let bytes = unishape_onnx::model_builder::add_model();
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
    /// Nodes that broadcast, or may broadcast depending on unknown sizes.
    pub broadcasts: Vec<BroadcastNode>,
    /// Indices of the nodes whose inputs are incompatible (E1), with the error.
    pub conflicts: Vec<(usize, Error)>,
    /// Descriptions of what was not analyzed: subgraphs and model-local functions.
    pub skipped: Vec<String>,
}

/// A node that broadcasts its inputs.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// assert_eq!((report.broadcasts[0].node, &*report.broadcasts[0].op_type), (0, "Add"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BroadcastNode {
    /// Index in the graph's list of nodes.
    pub node: usize,
    /// Name of the node; may be empty.
    pub name: String,
    /// Name of the operator.
    pub op_type: String,
    /// Names and shapes of the inputs; the shape is `None` if the rank is unknown.
    pub inputs: Vec<(String, Option<Vec<Dim>>)>,
    /// Common shape of the inputs; `None` if its rank is unknown.
    pub shape: Option<Vec<Dim>>,
    /// Inputs that are stretched, or may be.
    pub stretched: Vec<StretchedInput>,
    /// Index, operator and name of the node, for messages.
    label: String,
}

/// An input that is stretched, or may be.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// let stretched = &report.broadcasts[0].stretched[0];
/// assert_eq!((stretched.input, stretched.is_certain, stretched.times().as_deref()), (1, true, Some("N")));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StretchedInput {
    /// Index among the node's inputs.
    pub input: usize,
    /// Name of the input value.
    pub name: String,
    /// Shape of the input; `None` if its rank is unknown.
    pub from: Option<Vec<Dim>>,
    /// Common shape; `None` if its rank is unknown.
    pub to: Option<Vec<Dim>>,
    /// Stretched dimensions; empty if a rank is unknown.
    pub dims: Vec<StretchedDim>,
    /// Whether the input is stretched whatever the unknown sizes are.
    pub is_certain: bool,
}

/// A stretched dimension.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// # let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// let dim = &report.broadcasts[0].stretched[0].dims[0];
/// assert_eq!((dim.dim, &dim.from, dim.to.to_string()), (0, &None, "N".into()));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StretchedDim {
    /// Index in the common shape.
    pub dim: usize,
    /// Size in the input; `None` if the input lacks the dimension.
    pub from: Option<Dim>,
    /// Size in the common shape.
    pub to: Dim,
}

/// Finds all broadcasting in a model.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// assert!(report.conflicts.is_empty() && report.skipped.is_empty());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn explain(model: &Model) -> Report {
    let inference = infer_shapes(model);
    let nodes = &model.graph().nodes;
    let broadcasts = nodes.iter().filter_map(|node| broadcast_node(node, &inference)).collect();
    let subgraphs =
        nodes.iter().filter(|node| node.has_subgraph()).map(|node| format!("subgraphs of {node}"));
    let functions = model.functions().iter().map(|(domain, name)| {
        let domain = if domain.is_empty() { "" } else { &format!("{}.", display_name(domain)) };
        format!("function {domain}{}", display_name(name))
    });
    let skipped = subgraphs.chain(functions).collect();
    Report { broadcasts, conflicts: inference.conflicts().to_vec(), skipped }
}

/// Inputs of a node that broadcasts, and their common shape.
pub(crate) struct BroadcastInputs<'n> {
    /// Indices and names of the inputs that are not omitted.
    pub(crate) inputs: Vec<(usize, &'n str)>,
    /// The inputs whose shape is not certainly the common shape.
    pub(crate) stretched: Vec<(usize, &'n str)>,
    pub(crate) common: SymbolicShape,
}

impl<'n> BroadcastInputs<'n> {
    /// `None` if the node does not broadcast or its inputs are incompatible.
    pub(crate) fn of(node: &'n Node, inference: &Inference) -> Option<BroadcastInputs<'n>> {
        let rule = Operator::of_node(node)?.shape_rule;
        let inputs: Vec<(usize, &str)> =
            (0..node.inputs.len()).filter_map(|index| Some((index, node.input(index)?))).collect();
        let shapes =
            inputs.iter().map(|(_, name)| inference.shape(name)).collect::<Option<Vec<&SymbolicShape>>>()?;
        let common = broadcast_all(shapes.iter().copied(), &[]).ok()?;
        let fixed_inputs = match rule {
            ShapeRule::Multidirectional => 0,
            // The first input already has the common shape; anything else is invalid.
            ShapeRule::Unidirectional => 1,
            _ => return None,
        };
        let stretched = inputs.iter().zip(shapes).skip(fixed_inputs).filter(|(_, shape)| **shape != common);
        let stretched = stretched.map(|(input, _)| *input).collect();
        Some(BroadcastInputs { inputs, stretched, common })
    }
}

fn broadcast_node(node: &Node, inference: &Inference) -> Option<BroadcastNode> {
    let BroadcastInputs { inputs, stretched, common } = BroadcastInputs::of(node, inference)?;
    if stretched.is_empty() {
        return None;
    }
    let stretched = stretched
        .iter()
        .filter_map(|&(input, name)| Some(stretched_input(input, name, inference.shape(name)?, &common)));
    let dims = |shape: &SymbolicShape| shape.dims().map(<[Dim]>::to_vec);
    Some(BroadcastNode {
        node: node.index,
        name: node.name.clone(),
        op_type: node.op_type.clone(),
        inputs: inputs
            .iter()
            .map(|&(_, name)| (name.to_owned(), inference.shape(name).and_then(dims)))
            .collect(),
        shape: dims(&common),
        stretched: stretched.collect(),
        label: node.to_string(),
    })
}

fn stretched_input(input: usize, name: &str, from: &SymbolicShape, to: &SymbolicShape) -> StretchedInput {
    let (from, to) = (from.dims(), to.dims());
    let mut dims = Vec::new();
    let mut is_certain = false;
    if let (Some(from), Some(to)) = (from, to) {
        let added = to.len().saturating_sub(from.len());
        for (dim, to) in to.iter().enumerate() {
            let from = dim.checked_sub(added).and_then(|dim| from.get(dim));
            if from != Some(to) {
                // An unknown size is stretched only if it is 1 when the model runs.
                is_certain |= matches!(from, None | Some(Dim::Known(1)));
                dims.push(StretchedDim { dim, from: from.cloned(), to: to.clone() });
            }
        }
    }
    let (from, to) = (from.map(<[Dim]>::to_vec), to.map(<[Dim]>::to_vec));
    StretchedInput { input, name: name.to_owned(), from, to, dims, is_certain }
}

impl StretchedInput {
    /// Factor by which the number of elements grows: `12`, `N`, `N x 4`.
    ///
    /// `None` if it is not certain that the input is stretched.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
    /// assert_eq!(report.broadcasts[0].stretched[0].times().as_deref(), Some("N"));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn times(&self) -> Option<String> {
        if !self.is_certain {
            return None;
        }
        let mut known = 1u128;
        let mut factors = Vec::new();
        let grown = self.dims.iter().filter(|dim| matches!(dim.from, None | Some(Dim::Known(1))));
        for StretchedDim { to, .. } in grown {
            match to {
                Dim::Known(size) => known = known.saturating_mul(*size as u128),
                Dim::Unknown(symbols) => factors.push(symbols.to_string()),
            }
        }
        if known != 1 || factors.is_empty() {
            factors.push(known.to_string());
        }
        Some(factors.join(" x "))
    }
}

fn shape_or_unknown(dims: Option<&[Dim]>) -> String {
    dims.map_or_else(|| "?".into(), shape_text)
}

/// One line for the node, one per stretched input, and one per stretched dimension.
impl fmt::Display for BroadcastNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.label, shape_or_unknown(self.shape.as_deref()))?;
        for input in &self.stretched {
            write!(f, "\n{input}")?;
        }
        Ok(())
    }
}

/// One line for the input, and one per stretched dimension.
impl fmt::Display for StretchedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (shape_or_unknown(self.from.as_deref()), shape_or_unknown(self.to.as_deref()));
        write!(f, "  input {}, {}: {from} → {to}", self.input, display_name(&self.name))?;
        match self.times() {
            Some(times) if times == "1" => write!(f, ", as large as before")?,
            Some(times) => write!(f, ", {times} times as large")?,
            None => write!(f, ", perhaps: some sizes are unknown")?,
        }
        for StretchedDim { dim, from, to } in &self.dims {
            let from = from.as_ref().map_or_else(|| "none".into(), Dim::to_string);
            write!(f, "\n    dimension {dim}: {from} → {to}")?;
        }
        Ok(())
    }
}
