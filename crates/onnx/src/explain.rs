//! Reports where a model broadcasts: which inputs are stretched, in which dimensions, and by what factor.

use crate::broadcasting::{Broadcast, BroadcastKind, Finding, Stretch};
use crate::error::{Error, display_name};
use crate::graph::{Graph, Node};
use crate::model::Model;
use crate::shape_inference::symbolic::{Dim, SymbolicShape, shape_text};
use crate::shape_inference::{FixedSizes, Scope, infer_shapes_with};
use std::collections::{BTreeMap, HashSet};
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
    /// Nodes that broadcast, also in subgraphs and functions.
    ///
    /// Nodes that may broadcast, depending on unknown sizes, are among them.
    pub broadcasts: Vec<BroadcastNode>,
    /// Indices of the nodes whose inputs are incompatible (E1), with the error.
    pub conflicts: Vec<(usize, Error)>,
    /// Operators that were not analyzed: they may broadcast.
    pub not_analyzed: Vec<String>,
    /// Wrong declared shapes of intermediate values and outputs.
    ///
    /// They are not used.
    pub declarations: Vec<String>,
    /// Number of nodes that were analyzed.
    ///
    /// Nodes of subgraphs count, and those of functions once for every call.
    pub nodes: usize,
}

/// Whether a model broadcasts.
///
/// ```
/// use unishape_onnx::{Model, Verdict, explain};
/// # let bytes = unishape_onnx::model_builder::add_model();
/// assert_eq!(explain(&Model::read(&bytes)?).verdict(), Verdict::Broadcasts);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Inputs of a node are incompatible (E1).
    Incompatible,
    /// No node broadcasts, whatever the unknown sizes are.
    Explicit,
    /// A node certainly broadcasts.
    Broadcasts,
    /// A node may broadcast.
    ///
    /// This depends on unknown sizes or on an operator that is not analyzed.
    Unknown,
}

impl Report {
    /// Whether the model broadcasts.
    ///
    /// ```
    /// use unishape_onnx::{Model, Verdict, explain};
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert_eq!(explain(&Model::read(&bytes)?).verdict(), Verdict::Broadcasts);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn verdict(&self) -> Verdict {
        match () {
            _ if !self.conflicts.is_empty() => Verdict::Incompatible,
            _ if self.broadcasts.iter().any(BroadcastNode::is_certain) => Verdict::Broadcasts,
            _ if self.broadcasts.is_empty() && self.not_analyzed.is_empty() => Verdict::Explicit,
            _ => Verdict::Unknown,
        }
    }

    /// Drops broadcasts of other kinds.
    ///
    /// ```
    /// use unishape_onnx::{BroadcastKind, Model, explain};
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let report = explain(&Model::read(&bytes)?).of_kinds(&[BroadcastKind::MatMul]);
    /// assert!(report.broadcasts.is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    #[must_use]
    pub fn of_kinds(mut self, kinds: &[BroadcastKind]) -> Report {
        self.broadcasts.retain(|broadcast| kinds.contains(&broadcast.kind));
        self
    }
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
    /// Subgraph or function that the node is in; empty for the main graph.
    ///
    /// For example `node 3 (If), then_branch: `.
    pub path: String,
    /// Index in its graph's list of nodes.
    pub node: usize,
    /// Kind of broadcasting.
    pub kind: BroadcastKind,
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

impl BroadcastNode {
    /// Whether an input is stretched whatever the unknown sizes are.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
    /// assert!(report.broadcasts[0].is_certain());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn is_certain(&self) -> bool {
        self.stretched.iter().any(|stretched| stretched.is_certain)
    }
}

/// Finds all broadcasting in a model.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let report = unishape_onnx::explain(&unishape_onnx::Model::read(&bytes)?);
/// assert!(report.conflicts.is_empty() && report.not_analyzed.is_empty());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn explain(model: &Model) -> Report {
    explain_with(model, &FixedSizes::new())
}

/// As [`explain`], with sizes for some symbolic dimensions of the inputs.
///
/// ```
/// use unishape_onnx::{FixedSizes, Model, explain_with};
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let report = explain_with(&Model::read(&bytes)?, &FixedSizes::from([("N".into(), 4)]));
/// assert_eq!(report.broadcasts[0].stretched[0].times().as_deref(), Some("4"));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn explain_with(model: &Model, sizes: &FixedSizes) -> Report {
    let inference = infer_shapes_with(model, sizes);
    let mut visitor = Visitor {
        model,
        broadcasts: Vec::new(),
        unknown: BTreeMap::new(),
        in_functions: HashSet::new(),
        incompatible: 0,
        nodes: 0,
    };
    visitor.graph(model.graph(), &inference.main, "", None);
    let describe = |((operator, reason), (count, first)): ((String, &str), (usize, String))| {
        let nodes = if count == 1 { first } else { format!("{count} nodes, the first is {first}") };
        format!("{operator}, {reason}: {nodes}")
    };
    let mut not_analyzed: Vec<String> = visitor.unknown.into_iter().map(describe).collect();
    if visitor.incompatible > 0 && inference.conflicts().is_empty() {
        not_analyzed.push("inputs of a node that precedes those that compute them are incompatible".into());
    }
    if model.has_training_graphs() {
        not_analyzed.push("the model has graphs for training".into());
    }
    if inference.is_truncated {
        not_analyzed.push("the model has too many nodes, with all calls of its functions".into());
    }
    Report {
        broadcasts: visitor.broadcasts,
        conflicts: inference.conflicts().to_vec(),
        not_analyzed,
        declarations: inference.declaration_conflicts().to_vec(),
        nodes: visitor.nodes,
    }
}

/// Analyzes all nodes of a model, in subgraphs and functions, too.
struct Visitor<'m> {
    model: &'m Model,
    broadcasts: Vec<BroadcastNode>,
    /// Operators that are not analyzed, with the reason: number of nodes, and the first one.
    unknown: BTreeMap<(String, &'static str), (usize, String)>,
    /// Nodes in functions that are reported: function, place in it, index, and whether it is certain.
    in_functions: HashSet<(usize, String, usize, bool)>,
    /// Nodes whose inputs are incompatible.
    incompatible: usize,
    nodes: usize,
}

impl Visitor<'_> {
    /// `function` is the index of the enclosing function, and the path within it starts at an index of `path`.
    fn graph(&mut self, graph: &Graph, scope: &Scope, path: &str, function: Option<(usize, usize)>) {
        for node in &graph.nodes {
            self.nodes += 1;
            match Finding::of(node, scope) {
                Finding::None => {}
                Finding::Incompatible => self.incompatible += 1,
                Finding::NotAnalyzed(reason) => {
                    let domain = if node.domain.is_empty() { "" } else { &format!("{}.", node.domain) };
                    let operator = display_name(&format!("{domain}{}", node.op_type));
                    let entry = self.unknown.entry((operator, reason));
                    entry.or_insert_with(|| (0, format!("{path}{node}"))).0 += 1;
                }
                Finding::Broadcast(broadcast) => {
                    let node = broadcast_node(node, scope, broadcast, path);
                    // A function that is called again with shapes of the same effect is reported once.
                    let is_new = function.is_none_or(|(function, start)| {
                        let place = path.get(start..).unwrap_or_default().to_owned();
                        self.in_functions.insert((function, place, node.node, node.is_certain()))
                    });
                    if is_new {
                        self.broadcasts.push(node);
                    }
                }
            }
            for (index, subgraph) in node.subgraphs.iter().enumerate() {
                match scope.body(node.index, index) {
                    Some(inner) => {
                        let path = format!("{path}{node}, {}: ", display_name(&subgraph.name));
                        self.graph(&subgraph.graph, inner, &path, function);
                    }
                    None => {
                        let entry =
                            self.unknown.entry((node.op_type.clone(), "its subgraph is not analyzed"));
                        entry.or_insert_with(|| (0, format!("{path}{node}"))).0 += 1;
                    }
                }
            }
            if let Some(called) = scope.call(node.index) {
                let function = &self.model.functions()[called.function];
                let path = format!("{path}{node}, function {}: ", display_name(&function.name));
                let body = called.body.as_ref().unwrap_or(&function.body);
                self.graph(body, &called.scope, &path, Some((called.function, path.len())));
            }
        }
    }
}

fn broadcast_node(node: &Node, scope: &Scope, broadcast: Broadcast<'_>, path: &str) -> BroadcastNode {
    let dims = |shape: &SymbolicShape| shape.dims().map(<[Dim]>::to_vec);
    let inputs = broadcast.inputs.iter();
    BroadcastNode {
        path: path.to_owned(),
        node: node.index,
        kind: broadcast.kind,
        name: node.name.clone(),
        op_type: node.op_type.clone(),
        inputs: inputs.map(|&(_, name)| (name.to_owned(), scope.shape(name).and_then(dims))).collect(),
        shape: dims(&broadcast.common),
        stretched: broadcast.stretched.iter().map(stretched_input).collect(),
        label: format!("{path}{node}"),
    }
}

fn stretched_input(stretch: &Stretch<'_>) -> StretchedInput {
    let to = stretch.to.dims();
    let aligned = stretch.aligned().unwrap_or_default();
    let dims = aligned.iter().zip(to.unwrap_or_default()).enumerate();
    let dims = dims.filter(|(_, (from, to))| *from != &Some(*to)).map(|(dim, (from, to))| StretchedDim {
        dim,
        from: from.cloned(),
        to: to.clone(),
    });
    StretchedInput {
        input: stretch.input,
        name: stretch.name.to_owned(),
        from: stretch.from.dims().map(<[Dim]>::to_vec),
        to: to.map(<[Dim]>::to_vec),
        dims: dims.collect(),
        is_certain: stretch.is_certain(),
    }
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
                Dim::Unknown(size) => factors.push(size.to_string()),
            }
        }
        if known != 1 || factors.is_empty() {
            factors.push(known.to_string());
        }
        Some(factors.join(" x "))
    }
}

impl StretchedInput {
    /// Why it is not certain that the input is stretched.
    fn doubt(&self) -> String {
        let ones = |dim: &StretchedDim| match &dim.to {
            Dim::Unknown(size) if dim.from == Some(Dim::Known(1)) && !size.has_anonymous() => {
                Some(size.to_string())
            }
            _ => None,
        };
        match self.dims.iter().map(ones).collect::<Option<Vec<String>>>() {
            Some(sizes) if !sizes.is_empty() => {
                let are = if sizes.len() == 1 { "is" } else { "are" };
                format!("not if {} {are} 1", sizes.join(" and "))
            }
            _ => "some sizes are unknown".into(),
        }
    }
}

fn shape_or_unknown(dims: Option<&[Dim]>) -> String {
    dims.map_or_else(|| "?".into(), shape_text)
}

/// One line for the node, one per stretched input, and one per stretched dimension.
impl fmt::Display for BroadcastNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.label, shape_or_unknown(self.shape.as_deref()))?;
        if self.kind != BroadcastKind::ElementWise {
            write!(f, " ({})", self.kind)?;
        }
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
            None => write!(f, ", perhaps: {}", self.doubt())?,
        }
        for StretchedDim { dim, from, to } in &self.dims {
            let from = from.as_ref().map_or_else(|| "none".into(), Dim::to_string);
            write!(f, "\n    dimension {dim}: {from} → {to}")?;
        }
        Ok(())
    }
}
