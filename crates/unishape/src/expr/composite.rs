//! Functions that consist of several operations: softmax and normalizations.
//!
//! [`compose`] spells them out as nodes of any graph: of one that is parsed, or of lazy values.

use super::float_cast::FloatCast;
use super::reduce_op::ReduceOp;
use super::reduction::Reduction;
use unishape_kernels::Op;

/// A function that consists of several operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Composite {
    Softmax,
    LogSoftmax,
    LayerNorm,
    RmsNorm,
}

/// `eps` of normalizations, as in PyTorch and ONNX.
pub(super) const EPSILON: f64 = 1e-5;

/// Adds nodes to a graph.
pub(super) trait GraphBuilder<N: Clone> {
    fn call<const COUNT: usize>(&mut self, op: Op, inputs: [N; COUNT]) -> N;

    /// A reduction along the axes of the function, which stay.
    fn reduce(&mut self, op: ReduceOp, input: N) -> N;

    fn cast_like(&mut self, cast: FloatCast, input: N, like: N) -> N;
}

/// A reduction of a composite function, for which its axes are to be set.
pub(super) fn kept(op: ReduceOp) -> Reduction {
    Reduction::new(op).keep_dims(true)
}

/// Adds the nodes of a function of `x`. Only normalizations use `eps`.
///
/// Integers are computed as floating-point numbers, half precision in single precision. A softmax has the dtype of `exp`, a
/// normalization that of a mean.
pub(super) fn compose<N: Clone, B: GraphBuilder<N>>(
    builder: &mut B,
    function: Composite,
    x: N,
    eps: impl FnOnce(&mut B) -> N,
) -> N {
    let (widen, narrow) = match function {
        Composite::Softmax | Composite::LogSoftmax => (FloatCast::WidenToExp, FloatCast::ToExp),
        Composite::LayerNorm | Composite::RmsNorm => (FloatCast::WidenToMean, FloatCast::ToMean),
    };
    let argument = x.clone();
    let x = builder.cast_like(widen, x.clone(), x);
    let result = match function {
        Composite::Softmax => {
            let shifted = minus_max(builder, x);
            let exp = builder.call(Op::Exp, [shifted]);
            let sum = builder.reduce(ReduceOp::Sum, exp.clone());
            builder.call(Op::Divide, [exp, sum])
        }
        Composite::LogSoftmax => {
            let shifted = minus_max(builder, x);
            let exp = builder.call(Op::Exp, [shifted.clone()]);
            let sum = builder.reduce(ReduceOp::Sum, exp);
            let log = builder.call(Op::Log, [sum]);
            builder.call(Op::Subtract, [shifted, log])
        }
        Composite::RmsNorm => {
            let square = builder.call(Op::Square, [x.clone()]);
            let mean = builder.reduce(ReduceOp::Mean, square);
            over_root(builder, x, mean, eps)
        }
        Composite::LayerNorm => {
            let mean = builder.reduce(ReduceOp::Mean, x.clone());
            let variance = builder.reduce(ReduceOp::Var, x.clone());
            let centered = builder.call(Op::Subtract, [x, mean]);
            over_root(builder, centered, variance, eps)
        }
    };
    builder.cast_like(narrow, result, argument)
}

/// `x - max(x)`: its exponentials are at most 1.
fn minus_max<N: Clone>(builder: &mut impl GraphBuilder<N>, x: N) -> N {
    let max = builder.reduce(ReduceOp::Max, x.clone());
    builder.call(Op::Subtract, [x, max])
}

/// `x / sqrt(y + eps)`.
fn over_root<N: Clone, B: GraphBuilder<N>>(builder: &mut B, x: N, y: N, eps: impl FnOnce(&mut B) -> N) -> N {
    let eps = eps(builder);
    let sum = builder.call(Op::Add, [y, eps]);
    let root = builder.call(Op::Sqrt, [sum]);
    builder.call(Op::Divide, [x, root])
}
