//! What an expression is made of, before anything is known about its inputs.

use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Op;
use unishape_kernels::Scalar;

/// A number of a node: only nodes before it have smaller ones.
pub(crate) type At = u32;

/// One value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// What is given under a name, by the name's number.
    Name(u32),
    Scalar(Scalar),
    Call(Op, SmallVec<[At; 3]>),
    Cast(DType, At),
}

impl Node {
    /// The nodes that it takes.
    pub(crate) fn from(&self) -> &[At] {
        match self {
            Node::Call(_, from) => from,
            Node::Cast(_, from) => std::slice::from_ref(from),
            Node::Name(_) | Node::Scalar(_) => &[],
        }
    }
}

/// An expression: nodes in an order in which they can be computed, the last one being the result. Flat, so
/// that one of a hundred thousand operators needs no deep stack to be walked or dropped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) names: Vec<String>,
    pub(crate) source: Option<Source>,
}

/// The text that an expression was read from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Source {
    pub(crate) text: Arc<str>,
    /// Where in the text each node is: a name, a number, the sign of an operator, a function's name.
    pub(crate) places: Vec<Range<usize>>,
}

impl Graph {
    /// Where in a text a node is.
    pub(crate) fn place(&self, at: At) -> Option<(&Arc<str>, Range<usize>)> {
        let source = self.source.as_ref()?;
        Some((&source.text, source.places.get(at as usize)?.clone()))
    }
}
