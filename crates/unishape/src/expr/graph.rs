//! The graph of an expression, independent of the types of its inputs.

use super::dag::{Dag, Term};
use super::float_cast::FloatCast;
use super::reduction::Reduction;
use super::view::View;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Op;
use unishape_kernels::Scalar;

/// Index of a node in [`Graph::nodes`].
pub(crate) type NodeId = u32;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// A variable, by its index in [`Graph::names`].
    Variable(u32),
    Scalar(Scalar),
    Call(Op, SmallVec<[NodeId; 3]>),
    Cast(DType, NodeId),
    /// A cast of the first node to a dtype that depends on that of the second.
    CastLike(FloatCast, [NodeId; 2]),
    /// A node's elements at other indices.
    View(Box<View>, NodeId),
    /// A reduction of the first node; the second, if any, is the mask `where`.
    Reduce(Box<Reduction>, SmallVec<[NodeId; 2]>),
}

impl Node {
    /// The nodes that this one depends on directly.
    pub(crate) fn inputs(&self) -> &[NodeId] {
        match self {
            Node::Call(_, inputs) => inputs,
            Node::Reduce(_, inputs) => inputs,
            Node::CastLike(_, inputs) => inputs,
            Node::Cast(_, input) | Node::View(_, input) => std::slice::from_ref(input),
            Node::Variable(_) | Node::Scalar(_) => &[],
        }
    }
}

/// An expression: nodes in topological order. The last one is the result.
///
/// A flat vector: a chain of a hundred thousand operators is visited and dropped without recursion.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Names of the variables.
    pub(crate) names: Vec<String>,
    pub(crate) source: Option<SourceText>,
}

/// The text of a parsed expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SourceText {
    pub(crate) text: Arc<str>,
    /// Bytes of each node's token: a name, a number, an operator symbol, a function name.
    pub(crate) spans: Vec<Range<usize>>,
}

impl Graph {
    /// Whether all nodes are element-wise: neither views nor reductions.
    pub(crate) fn is_element_wise(&self) -> bool {
        !self.nodes.iter().any(|node| matches!(node, Node::View(..) | Node::Reduce(..)))
    }

    /// The flat graph of a graph of operations, and the values of its leaves. A leaf is a variable, unless it is a scalar.
    pub(crate) fn from_dag<L, M>(
        dag: &Dag<L, M>,
        as_scalar: impl Fn(&L) -> Option<Scalar>,
    ) -> (Graph, Vec<&L>) {
        let (mut graph, mut leaves) = (Graph::default(), Vec::new());
        let order = dag.topological();
        for node in order.iter() {
            let at = |input: &Dag<L, M>| order.position(input) as NodeId;
            graph.nodes.push(match node.term() {
                Term::Scalar(scalar) => Node::Scalar(scalar),
                Term::Leaf(leaf) => match as_scalar(leaf) {
                    Some(scalar) => Node::Scalar(scalar),
                    None => {
                        leaves.push(leaf);
                        graph.names.push(format!("array {}", leaves.len()));
                        Node::Variable(leaves.len() as u32 - 1)
                    }
                },
                Term::Call(op, inputs) => Node::Call(op, inputs.iter().map(at).collect()),
                Term::Cast(dtype, input) => Node::Cast(dtype, at(input)),
                Term::CastLike(cast, [input, like]) => Node::CastLike(cast, [at(input), at(like)]),
                Term::View(view, input) => Node::View(Box::new(view.clone()), at(input)),
                Term::Reduce(reduction, inputs) => {
                    Node::Reduce(Box::new(reduction.clone()), inputs.iter().map(at).collect())
                }
            });
        }
        (graph, leaves)
    }

    /// The same graph, with the names of variables as leaves. Each variable is one leaf.
    pub(crate) fn to_dag(&self) -> Dag<String> {
        let variables: Vec<Dag<String>> = self.names.iter().map(|name| Dag::leaf(name.clone(), ())).collect();
        let mut dags: Vec<Dag<String>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let at = |id: &NodeId| dags[*id as usize].clone();
            let dag = match node {
                Node::Variable(variable) => variables[*variable as usize].clone(),
                Node::Scalar(scalar) => Dag::scalar(*scalar, ()),
                Node::Call(op, inputs) => Dag::call(*op, inputs.iter().map(at), ()),
                Node::Cast(dtype, input) => Dag::cast(*dtype, at(input), ()),
                Node::CastLike(cast, [input, like]) => Dag::cast_like(*cast, at(input), at(like), ()),
                Node::View(view, input) => Dag::view((**view).clone(), at(input), ()),
                Node::Reduce(reduction, inputs) => {
                    Dag::reduce((**reduction).clone(), at(&inputs[0]), inputs.get(1).map(at), ())
                }
            };
            dags.push(dag);
        }
        match dags.pop() {
            Some(root) => root,
            None => unreachable!("a parsed expression has a node"),
        }
    }

    /// The text of the expression, and the bytes of a node's token in it.
    pub(crate) fn span(&self, node: NodeId) -> Option<(&Arc<str>, Range<usize>)> {
        let source = self.source.as_ref()?;
        Some((&source.text, source.spans.get(node as usize)?.clone()))
    }
}
