//! Functions that consist of several operations, such as `softmax`.

use super::Parser;
use super::call::Arguments;
use crate::expr::function::{Function, Parameter};
use crate::expr::graph::{Node, NodeId};
use crate::expr::reduce_op::ReduceOp;
use crate::expr::reduction::Reduction;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use unishape_kernels::{Op, Scalar};

/// `eps` of normalizations, as in PyTorch and ONNX.
const EPSILON: f64 = 1e-5;

impl Parser {
    /// Adds the nodes of a function that consists of several operations.
    pub(super) fn composite(
        &mut self,
        function: Function,
        x: NodeId,
        arguments: &Arguments,
        span: &Range<usize>,
    ) -> NodeId {
        let axes = if arguments.has(Parameter::Axis) { arguments.axes.clone() } else { Some(vec![-1]) };
        let mut nodes = Composite { parser: self, axes, dims: arguments.dims.clone(), span };
        let result = match function {
            Function::Softmax => {
                let shifted = nodes.minus_max(x);
                let exp = nodes.call(Op::Exp, [shifted]);
                let sum = nodes.reduce(ReduceOp::Sum, exp);
                nodes.call(Op::Divide, [exp, sum])
            }
            Function::LogSoftmax => {
                let shifted = nodes.minus_max(x);
                let exp = nodes.call(Op::Exp, [shifted]);
                let sum = nodes.reduce(ReduceOp::Sum, exp);
                let log = nodes.call(Op::Log, [sum]);
                nodes.call(Op::Subtract, [shifted, log])
            }
            Function::RmsNorm => {
                let square = nodes.call(Op::Square, [x]);
                let mean = nodes.reduce(ReduceOp::Mean, square);
                nodes.over_root(x, mean, arguments.eps)
            }
            _ => {
                let mean = nodes.reduce(ReduceOp::Mean, x);
                let variance = nodes.reduce(ReduceOp::Var, x);
                let centered = nodes.call(Op::Subtract, [x, mean]);
                nodes.over_root(centered, variance, arguments.eps)
            }
        };
        let result = arguments.weight.map_or(result, |weight| nodes.call(Op::Multiply, [result, weight]));
        arguments.bias.map_or(result, |bias| nodes.call(Op::Add, [result, bias]))
    }
}

/// Adds nodes of one function.
struct Composite<'p> {
    parser: &'p mut Parser,
    /// Axes of the reductions.
    axes: Option<Vec<i64>>,
    /// Names of dimensions, in place of axes.
    dims: Option<Vec<String>>,
    span: &'p Range<usize>,
}

impl Composite<'_> {
    fn call<const N: usize>(&mut self, op: Op, inputs: [NodeId; N]) -> NodeId {
        self.parser.push_node(Node::Call(op, SmallVec::from_slice(&inputs)), self.span.clone())
    }

    /// A reduction that keeps its axes.
    fn reduce(&mut self, op: ReduceOp, input: NodeId) -> NodeId {
        let dims = self.dims.clone();
        let reduction = Reduction { dims, ..Reduction::new(op).axes(self.axes.clone()).keep_dims(true) };
        self.parser.push_node(Node::Reduce(Box::new(reduction), smallvec![input]), self.span.clone())
    }

    /// `x - max(x)`: its exponentials are at most 1.
    fn minus_max(&mut self, x: NodeId) -> NodeId {
        let max = self.reduce(ReduceOp::Max, x);
        self.call(Op::Subtract, [x, max])
    }

    /// `x / sqrt(y + eps)`.
    fn over_root(&mut self, x: NodeId, y: NodeId, eps: Option<NodeId>) -> NodeId {
        let eps = eps.unwrap_or_else(|| {
            self.parser.push_node(Node::Scalar(Scalar::Float(EPSILON)), self.span.clone())
        });
        let sum = self.call(Op::Add, [y, eps]);
        let root = self.call(Op::Sqrt, [sum]);
        self.call(Op::Divide, [x, root])
    }
}
