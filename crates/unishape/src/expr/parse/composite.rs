//! Calls of functions that consist of several operations, such as `softmax`.

use super::Parser;
use super::call::Arguments;
use crate::expr::composite::{Composite, EPSILON, GraphBuilder, compose, kept};
use crate::expr::float_cast::FloatCast;
use crate::expr::function::Parameter;
use crate::expr::graph::{Node, NodeId};
use crate::expr::reduce_op::ReduceOp;
use crate::expr::reduction::Reduction;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use unishape_kernels::{Op, Scalar};

impl Parser {
    /// Adds the nodes of a function that consists of several operations.
    pub(super) fn composite(
        &mut self,
        function: Composite,
        x: NodeId,
        arguments: &Arguments,
        span: &Range<usize>,
    ) -> NodeId {
        let axes = if arguments.has(Parameter::Axis) { arguments.axes.clone() } else { Some(vec![-1]) };
        let mut nodes = Nodes { parser: self, axes, dims: arguments.dims.clone(), span };
        let eps = |nodes: &mut Nodes<'_>| arguments.eps.unwrap_or_else(|| nodes.number(EPSILON));
        let result = compose(&mut nodes, function, x, eps);
        let result = arguments.weight.map_or(result, |weight| nodes.call(Op::Multiply, [result, weight]));
        arguments.bias.map_or(result, |bias| nodes.call(Op::Add, [result, bias]))
    }
}

/// Adds nodes of one function.
struct Nodes<'p> {
    parser: &'p mut Parser,
    /// Axes of the reductions.
    axes: Option<Vec<i64>>,
    /// Names of dimensions, in place of axes.
    dims: Option<Vec<String>>,
    span: &'p Range<usize>,
}

impl Nodes<'_> {
    fn number(&mut self, number: f64) -> NodeId {
        self.parser.push_node(Node::Scalar(Scalar::Float(number)), self.span.clone())
    }
}

impl GraphBuilder<NodeId> for Nodes<'_> {
    fn call<const COUNT: usize>(&mut self, op: Op, inputs: [NodeId; COUNT]) -> NodeId {
        self.parser.push_node(Node::Call(op, SmallVec::from_slice(&inputs)), self.span.clone())
    }

    fn reduce(&mut self, op: ReduceOp, input: NodeId) -> NodeId {
        let reduction = Reduction { dims: self.dims.clone(), ..kept(op).axes(self.axes.clone()) };
        self.parser.push_node(Node::Reduce(Box::new(reduction), smallvec![input]), self.span.clone())
    }

    fn cast_like(&mut self, cast: FloatCast, input: NodeId, like: NodeId) -> NodeId {
        self.parser.push_node(Node::CastLike(cast, [input, like]), self.span.clone())
    }
}
