//! Tests of the parser: graphs compared with those of equivalent texts, or written by hand.

use super::parse;
use crate::expr::float_cast::FloatCast;
use crate::expr::graph::{Graph, Node};
use crate::expr::reduce_op::ReduceOp;
use crate::expr::reduction::Reduction;
use crate::expr::view::{IndexItem, View};
use proptest::prelude::*;
use smallvec::smallvec;
use unishape_kernels::{DType, Op, Scalar};

fn graph(text: &str) -> Graph {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The view that is the result of a text whose first node is the variable `x`.
fn view(text: &str) -> View {
    match &graph(text).nodes[..] {
        [Node::Variable(0), Node::View(view, 0)] => (**view).clone(),
        nodes => panic!("{text}: {nodes:?}"),
    }
}

/// The reduction of the variable `x`.
fn reduction(text: &str) -> Reduction {
    match &graph(text).nodes[..] {
        [Node::Variable(0), Node::Reduce(reduction, inputs)] if inputs[..] == [0] => (**reduction).clone(),
        nodes => panic!("{text}: {nodes:?}"),
    }
}

/// A reduction without options.
fn plain(op: ReduceOp) -> Reduction {
    Reduction::new(op)
}

fn assert_same(texts: &[[&str; 2]]) {
    for [text, other] in texts {
        let (parsed, expected) = (graph(text), graph(other));
        assert_eq!((parsed.nodes, parsed.names), (expected.nodes, expected.names), "{text} and {other}");
    }
}

fn assert_errors(errors: &[(&str, &str)]) {
    for (text, expected) in errors {
        assert_eq!(parse(text).unwrap_err().to_string(), *expected, "{text}");
    }
}

fn slice(start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> IndexItem {
    IndexItem::Slice { start, stop, step }
}

#[test]
fn indices() {
    use IndexItem::{At, Ellipsis, NewAxis};
    let all = slice(None, None, None);
    for (text, expected) in [
        ("x[:, None]", vec![all, NewAxis]),
        ("x[..., None, :]", vec![Ellipsis, NewAxis, all]),
        ("x[...]", vec![Ellipsis]),
        ("x[0,...,1]", vec![At(0), Ellipsis, At(1)]),
        ("x[1:, ::-1]", vec![slice(Some(1), None, None), slice(None, None, Some(-1))]),
        ("x[0]", vec![At(0)]),
        ("x [ 0 , ]", vec![At(0)]),
        ("x[-1, 2:5]", vec![At(-1), slice(Some(2), Some(5), None)]),
        ("x[+3:0x10:2]", vec![slice(Some(3), Some(16), Some(2))]),
        ("x[None:-1:None]", vec![slice(None, Some(-1), None)]),
        ("x[newaxis]", vec![NewAxis]),
        ("x[::]", vec![all]),
        // Beyond all sizes.
        ("x[:99999999999999999999]", vec![slice(None, Some(i64::MAX), None)]),
        ("x[-99999999999999999999:]", vec![slice(Some(-i64::MAX), None, None)]),
    ] {
        assert_eq!(view(text), View::Index(expected), "{text}");
    }
    let graph = graph("(a + b)[0] * sum(c, 0)[None].T[1:2].T");
    let index = |items| View::Index(items);
    let expected = [
        (3, index(vec![At(0)])),
        (6, index(vec![NewAxis])),
        (7, View::Transpose(None)),
        (8, index(vec![slice(Some(1), Some(2), None)])),
        (9, View::Transpose(None)),
    ];
    for (at, expected) in expected {
        assert_eq!(graph.nodes[at], Node::View(Box::new(expected), at as u32 - 1), "{at}");
    }
    assert_eq!(graph.nodes[10], Node::Call(Op::Multiply, smallvec![3, 9]));
    // The span of an index is that of its brackets.
    assert_eq!(super::parse("x + y[1:, 0]").unwrap().span(2).unwrap().1, 5..12);
}

/// Points belong to numbers where they can.
#[test]
fn points() {
    assert_same(&[
        ["1. + .5 + 1.e3", "1.0 + 0.5 + 1000.0"],
        ["x[1:2].T + 1.", "(x[1:2]).T + 1.0"],
        ["x . T", "x.T"],
        ["x.T.T[0]", "((x.T).T)[0]"],
        ["-x.T ** 2", "-((x.T) ** 2)"],
        ["2 ** x[0]", "2 ** (x[0])"],
        ["x.real + x.imag", "real(x) + imag(x)"],
    ]);
    assert_errors(&[
        ("1.T", "1.T is not a number; write 12, 2.5, 1e-3, 0xff or 2j\n  1.T\n  ^^^"),
        ("x.5", "unexpected .5: expected an operator or the end\n  x.5\n   ^^"),
        ("x..T", "unexpected .: expected the name of an attribute, as in x.T or x.sum()\n  x..T\n    ^"),
        ("...", "unexpected ...: expected a name, a number or a parenthesis\n  ...\n  ^^^"),
    ]);
}

#[test]
fn wrong_indices() {
    assert_errors(&[
        (
            "x[i]",
            "unsupported index i; use integer literals, slices, None and ..., as in x[0, 1:, None]\n  x[i]\n    ^",
        ),
        (
            "x[0, 1 + 1]",
            "unsupported index 1 +; use integer literals, slices, None and ..., as in x[0, 1:, None]\n  x[0, 1 + 1]\n       ^^^",
        ),
        (
            "x[1.5]",
            "unsupported index 1.5; use integer literals, slices, None and ..., as in x[0, 1:, None]\n  x[1.5]\n    ^^^",
        ),
        (
            "x[[0, 1]]",
            "unsupported index [; use integer literals, slices, None and ..., as in x[0, 1:, None]\n  x[[0, 1]]\n    ^",
        ),
        ("x[::0]", "the step of a slice must not be 0\n  x[::0]\n      ^"),
        ("x[..., 0, ...]", "an index has at most one ...\n  x[..., 0, ...]\n            ^^^"),
        ("x[]", "unexpected ]: expected an index, as in x[0, 1:, None]\n  x[]\n    ^"),
        ("x[)]", "unexpected ): expected an index, as in x[0, 1:, None]\n  x[)]\n    ^"),
        ("x[1)", "unexpected ): expected a comma or ]\n  x[1)\n     ^"),
        ("x[1:2:3:4]", "unexpected :: expected a comma or ]\n  x[1:2:3:4]\n         ^"),
        ("a + x[1, ", "this bracket is never closed\n  a + x[1, \n       ^"),
        ("x[1:", "this bracket is never closed\n  x[1:\n   ^"),
        ("x]", "unexpected ]: expected an operator or the end\n  x]\n   ^"),
        (
            "x[np.newaxis]",
            "names have no prefix; write newaxis instead of np.newaxis\n  x[np.newaxis]\n    ^^^^^^^^^^",
        ),
        (
            "x + None",
            "None is not a value; write it in an index, as in x[:, None], or as axis=None\n  x + None\n      ^^^^",
        ),
    ]);
}

#[test]
fn views() {
    for (text, expected) in [
        ("transpose(x)", View::Transpose(None)),
        ("transpose(x, None)", View::Transpose(None)),
        ("x.transpose()", View::Transpose(None)),
        ("transpose(x, (2, 0, 1))", View::Transpose(Some(vec![2, 0, 1]))),
        ("x.transpose(2, 0, -1,)", View::Transpose(Some(vec![2, 0, -1]))),
        ("x.transpose((2, 0, 1))", View::Transpose(Some(vec![2, 0, 1]))),
        ("permute_dims(x, axes=(1, 0))", View::Transpose(Some(vec![1, 0]))),
        ("swapaxes(x, 0, -1)", View::SwapAxes(0, -1)),
        ("x.swapaxes(axis2=1, axis1=0)", View::SwapAxes(0, 1)),
        ("expand_dims(x, -1)", View::ExpandDims(vec![-1])),
        ("expand_dims(x, axis=(0, 2))", View::ExpandDims(vec![0, 2])),
        ("squeeze(x)", View::Squeeze(None)),
        ("x.squeeze(0)", View::Squeeze(Some(vec![0]))),
        ("squeeze(x, axis=(0, 1,))", View::Squeeze(Some(vec![0, 1]))),
        ("broadcast_to(x, (3, 4))", View::BroadcastTo(vec![3, 4])),
        ("broadcast_to(x, 3)", View::BroadcastTo(vec![3])),
        ("broadcast_to(x, ())", View::BroadcastTo(vec![])),
    ] {
        assert_eq!(view(text), expected, "{text}");
    }
}

#[test]
fn reductions() {
    let sum = plain(ReduceOp::Sum);
    let axes = |axes: &[i64]| Some(axes.to_vec());
    for (text, expected) in [
        ("sum(x)", sum.clone()),
        ("sum(x, None)", sum.clone()),
        ("sum(x, axis=None,)", sum.clone()),
        ("sum(x, 1)", Reduction { axes: axes(&[1]), ..sum.clone() }),
        ("sum(x, (1))", Reduction { axes: axes(&[1]), ..sum.clone() }),
        ("sum(x, ())", Reduction { axes: axes(&[]), ..sum.clone() }),
        (
            "sum(x, axis=(0, -1), keepdims=True)",
            Reduction { axes: axes(&[0, -1]), keep_dims: true, ..sum.clone() },
        ),
        (
            "sum(x, 0, float32, keepdims=false)",
            Reduction { axes: axes(&[0]), dtype: Some(DType::F32), ..sum.clone() },
        ),
        ("sum(x, dtype=None, initial=None)", sum.clone()),
        (
            "prod(x, initial=-2.5, keepdims=1)",
            Reduction { initial: Some(Scalar::Float(-2.5)), keep_dims: true, ..plain(ReduceOp::Prod) },
        ),
        (
            "max(x, initial=-inf)",
            Reduction { initial: Some(Scalar::Float(f64::NEG_INFINITY)), ..plain(ReduceOp::Max) },
        ),
        ("var(x, ddof=1)", Reduction { ddof: Scalar::Int(1), ..plain(ReduceOp::Var) }),
        ("std(x, correction=1.5)", Reduction { ddof: Scalar::Float(1.5), ..plain(ReduceOp::Std) }),
        ("argmax(x, -1)", Reduction { axes: axes(&[-1]), ..plain(ReduceOp::ArgMax) }),
        ("count_nonzero(x)", plain(ReduceOp::CountNonzero)),
        ("logsumexp(x, 0)", Reduction { axes: axes(&[0]), ..plain(ReduceOp::LogSumExp) }),
        ("norm(x)", plain(ReduceOp::Norm2)),
        ("norm(x, None)", plain(ReduceOp::Norm2)),
        ("norm(x, 2)", plain(ReduceOp::Norm2)),
        ("norm(x, 1, axis=0)", Reduction { axes: axes(&[0]), ..plain(ReduceOp::Norm1) }),
        (
            "norm(x, inf, 0, True)",
            Reduction { axes: axes(&[0]), keep_dims: true, ..plain(ReduceOp::NormInf) },
        ),
        ("norm(x, axis=-1, ord=inf)", Reduction { axes: axes(&[-1]), ..plain(ReduceOp::NormInf) }),
    ] {
        assert_eq!(reduction(text), expected, "{text}");
    }
    let masked = graph("mean(x * y, where=x > 0)").nodes;
    assert_eq!(masked.last(), Some(&Node::Reduce(Box::new(plain(ReduceOp::Mean)), smallvec![2, 5])));
    for op in ["norm1", "norminf"] {
        assert!(parse(&format!("{op}(x)")).is_err(), "{op}");
    }
}

#[test]
fn methods_are_functions() {
    assert_same(&[
        ["x.sum(axis=1)", "sum(x, 1)"],
        ["x.mean()", "mean(x)"],
        ["x.max(-1, keepdims=True)", "max(x, axis=-1, keepdims=True)"],
        ["x.max()", "amax(x)"],
        ["x.max(y)", "maximum(x, y)"],
        ["x.astype(float32)", "cast(x, float32)"],
        ["x.astype(dtype=float32)", "float32(x)"],
        ["astype(x, int8)", "int8(x)"],
        ["x.clip(0, 1)", "clip(x, 0, 1)"],
        ["x.conj()", "conj(x)"],
        ["(x + 1).sqrt()", "sqrt(x + 1)"],
        ["x.T.sum(0)[None].mean()", "mean(sum(transpose(x), 0)[None])"],
        ["x.norm(1, 0)", "norm(x, ord=1, axis=0)"],
        ["x.softmax(0)", "softmax(x, axis=0)"],
        ["(1).sum()", "sum(1)"],
    ]);
}

/// With one array, an axis or a keyword they are reductions, as in NumPy; otherwise element-wise.
#[test]
fn min_and_max() {
    assert_same(&[
        ["max(x)", "amax(x)"],
        ["max(x,)", "amax(x)"],
        ["max(x, 0)", "amax(x, axis=0)"],
        ["min(x, -1)", "amin(x, axis=-1)"],
        ["max(x, (0, 1))", "amax(x, axis=(0, 1))"],
        ["max(x, None)", "amax(x)"],
        ["max(x, 0, keepdims=True)", "amax(x, axis=0, keepdims=True)"],
        ["max(x, 0, )", "amax(x, axis=0)"],
        ["max(x, where=y)", "amax(x, where=y)"],
        ["max(x, y)", "maximum(x, y)"],
        ["max(x, 0.0)", "maximum(x, 0.0)"],
        ["max(x, 1 + 1)", "maximum(x, 1 + 1)"],
        ["max(x, (1) + y)", "maximum(x, 1 + y)"],
        ["max(x, -y)", "maximum(x, -y)"],
        ["max(x, 0, 1)", "maximum(x, 0, 1)"],
        ["max(x, 0, y)", "maximum(x, 0, y)"],
        ["maximum(x, 0)", "maximum(x, (0))"],
    ]);
    assert_eq!(graph("maximum(x, 0)").nodes.last(), Some(&Node::Call(Op::Max, smallvec![0, 1])));
    assert_errors(&[
        ("max()", "max needs the argument x\n  max()\n  ^^^"),
        (
            "max(x, y, keepdims=True)",
            "axis of max must be an integer literal, a tuple of them or None\n  max(x, y, keepdims=True)\n         ^",
        ),
        ("maximum(x)", "maximum takes 2 arguments, but 1 given\n  maximum(x)\n  ^^^^^^^"),
    ]);
}

#[test]
fn wrong_arguments() {
    assert_errors(&[
        (
            "x.reshape(3)",
            "unknown attribute reshape; write x.T, or call x.sum()\n  x.reshape(3)\n    ^^^^^^^",
        ),
        ("x.t", "unknown attribute t; did you mean T?\n  x.t\n    ^"),
        ("x.maen()", "unknown attribute maen; did you mean mean?\n  x.maen()\n    ^^^^"),
        ("smu(x)", "unknown function smu; did you mean sum?\n  smu(x)\n  ^^^"),
        ("x.sum", "sum is a method; call it as x.sum()\n  x.sum\n    ^^^"),
        ("c.where(x, y)", "where is not a method; write where(condition, x, y)\n  c.where(x, y)\n    ^^^^^"),
        ("np.sqrt(x)", "names have no prefix; write sqrt instead of np.sqrt\n  np.sqrt(x)\n  ^^^^^^^"),
        ("sum()", "sum needs the argument x\n  sum()\n  ^^^"),
        ("sum(axis=0)", "sum needs the argument x\n  sum(axis=0)\n  ^^^"),
        ("expand_dims(x)", "expand_dims needs the argument axis\n  expand_dims(x)\n  ^^^^^^^^^^^"),
        ("swapaxes(x, 1)", "swapaxes needs the argument axis2\n  swapaxes(x, 1)\n  ^^^^^^^^"),
        (
            "sum(x, axes=0)",
            "sum has no keyword argument axes; it takes axis, dtype, keepdims, initial and where\n  sum(x, axes=0)\n         ^^^^",
        ),
        (
            "argmax(x, where=y)",
            "argmax has no keyword argument where; it takes axis and keepdims\n  argmax(x, where=y)\n            ^^^^^",
        ),
        ("sqrt(x, out=y)", "sqrt takes no keyword arguments\n  sqrt(x, out=y)\n          ^^^"),
        ("sum(x, 0, axis=1)", "axis is given twice\n  sum(x, 0, axis=1)\n            ^^^^"),
        (
            "var(x, ddof=1, correction=1)",
            "correction is given twice\n  var(x, ddof=1, correction=1)\n                 ^^^^^^^^^^",
        ),
        (
            "sum(x, keepdims=True, 0)",
            "positional argument after a keyword argument; write it before, or give its keyword\n  sum(x, keepdims=True, 0)\n                        ^",
        ),
        (
            "x.transpose(axes=1, 0)",
            "positional argument after a keyword argument; write it before, or give its keyword\n  x.transpose(axes=1, 0)\n                      ^",
        ),
        (
            "any(x, 0, True)",
            "any takes at most 2 positional arguments; by keyword it takes keepdims and where\n  any(x, 0, True)\n            ^^^^",
        ),
        (
            "x.squeeze(0, 1)",
            "squeeze takes at most 1 positional argument\n  x.squeeze(0, 1)\n               ^",
        ),
        (
            "sum(x, axis=n)",
            "axis of sum must be an integer literal, a tuple of them or None\n  sum(x, axis=n)\n              ^",
        ),
        (
            "sum(x, axis=(0, n))",
            "axis of sum must be an integer literal, a tuple of them or None\n  sum(x, axis=(0, n))\n              ^^^^^",
        ),
        (
            "sum(x, axis=1 + 1)",
            "axis of sum must be an integer literal, a tuple of them or None\n  sum(x, axis=1 + 1)\n              ^^^",
        ),
        (
            "argmin(x, (0, 1))",
            "axis of argmin must be an integer literal or None\n  argmin(x, (0, 1))\n            ^^^^^^",
        ),
        (
            "sum(x, keepdims=2)",
            "keepdims of sum must be True or False\n  sum(x, keepdims=2)\n                  ^",
        ),
        ("norm(x, 3)", "ord of norm must be 1, 2 or inf\n  norm(x, 3)\n          ^"),
        ("norm(x, -inf)", "ord of norm must be 1, 2 or inf\n  norm(x, -inf)\n          ^^^^"),
        ("var(x, ddof=2j)", "ddof of var must be a number literal\n  var(x, ddof=2j)\n              ^^"),
        (
            "broadcast_to(x, (2, -1))",
            "shape of broadcast_to must be an integer literal or a tuple of them, none negative\n  broadcast_to(x, (2, -1))\n                  ^^^^^^^",
        ),
        ("cast(x, 3)", "dtype of cast must be a dtype, such as float32\n  cast(x, 3)\n          ^"),
        (
            "sum(x, dtype=float33)",
            "unknown dtype float33; did you mean float32?\n  sum(x, dtype=float33)\n               ^^^^^^^",
        ),
        (
            "sum(x, axis=",
            "axis of sum must be an integer literal, a tuple of them or None\n  sum(x, axis=\n              ^",
        ),
        ("sum(x, 0", "this parenthesis is never closed\n  sum(x, 0\n     ^"),
        ("x.sum(0", "this parenthesis is never closed\n  x.sum(0\n       ^"),
        ("sqrt(x) = 2", "expressions have no =; compare with ==\n  sqrt(x) = 2\n          ^"),
    ]);
}

#[test]
fn messages_about_what_other_languages_have() {
    assert_errors(&[
        (
            "x[99999999999999999999]",
            "index 99999999999999999999 is out of bounds for any axis\n  x[99999999999999999999]\n    ^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "x[-99999999999999999999]",
            "index -99999999999999999999 is out of bounds for any axis\n  x[-99999999999999999999]\n    ^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "x.shape",
            "expressions have no x.shape; pass it as a value, as in n = x.shape\n  x.shape\n    ^^^^^",
        ),
        ("a\0", "expressions have no U+0000\n  a\u{fffd}\n   ^"),
        (
            "1 if a else b",
            "expressions have no if; for a if c else b write where(c, a, b)\n  1 if a else b\n    ^^",
        ),
    ]);
    assert_same(&[["x[:99999999999999999999]", "x[:9223372036854775807]"]]);
}

#[test]
fn composite_functions() {
    let softmax = graph("softmax(x)").nodes;
    let over_rows = |op| Box::new(Reduction { axes: Some(vec![-1]), keep_dims: true, ..plain(op) });
    assert_eq!(
        softmax,
        [
            Node::Variable(0),
            Node::CastLike(FloatCast::WidenToExp, [0, 0]),
            Node::Reduce(over_rows(ReduceOp::Max), smallvec![1]),
            Node::Call(Op::Subtract, smallvec![1, 2]),
            Node::Call(Op::Exp, smallvec![3]),
            Node::Reduce(over_rows(ReduceOp::Sum), smallvec![4]),
            Node::Call(Op::Divide, smallvec![4, 5]),
            Node::CastLike(FloatCast::ToExp, [6, 0]),
        ]
    );
    let log_softmax = graph("x.log_softmax(axis=-1)").nodes;
    assert_eq!(log_softmax[..6], softmax[..6]);
    assert_eq!(
        log_softmax[6..],
        [
            Node::Call(Op::Log, smallvec![5]),
            Node::Call(Op::Subtract, smallvec![3, 6]),
            Node::CastLike(FloatCast::ToExp, [7, 0]),
        ]
    );
    assert_eq!(
        graph("layer_norm(x, -1, 1e-6, weight=w, bias=b)").nodes[1..],
        [
            Node::Scalar(Scalar::Float(1e-6)),
            Node::Variable(1),
            Node::Variable(2),
            Node::CastLike(FloatCast::WidenToMean, [0, 0]),
            Node::Reduce(over_rows(ReduceOp::Mean), smallvec![4]),
            Node::Reduce(over_rows(ReduceOp::Var), smallvec![4]),
            Node::Call(Op::Subtract, smallvec![4, 5]),
            Node::Call(Op::Add, smallvec![6, 1]),
            Node::Call(Op::Sqrt, smallvec![8]),
            Node::Call(Op::Divide, smallvec![7, 9]),
            Node::CastLike(FloatCast::ToMean, [10, 0]),
            Node::Call(Op::Multiply, smallvec![11, 2]),
            Node::Call(Op::Add, smallvec![12, 3]),
        ]
    );
    assert_eq!(
        graph("rms_norm(x, weight=None)").nodes[1..],
        [
            Node::CastLike(FloatCast::WidenToMean, [0, 0]),
            Node::Call(Op::Square, smallvec![1]),
            Node::Reduce(over_rows(ReduceOp::Mean), smallvec![2]),
            Node::Scalar(Scalar::Float(1e-5)),
            Node::Call(Op::Add, smallvec![3, 4]),
            Node::Call(Op::Sqrt, smallvec![5]),
            Node::Call(Op::Divide, smallvec![1, 6]),
            Node::CastLike(FloatCast::ToMean, [7, 0]),
        ]
    );
    assert_same(&[
        ["layer_norm(x, eps=1e-5)", "layer_norm(x, axis=-1, eps=1e-5, weight=None, bias=None)"],
        ["rms_norm(x * 2, (1, 2))", "rms_norm(x * 2, axis=(1, 2))"],
    ]);
    assert_errors(&[(
        "layer_norm(x, -1, 1e-5, w)",
        "layer_norm takes at most 3 positional arguments; by keyword it takes weight and bias\n  layer_norm(x, -1, 1e-5, w)\n                          ^",
    )]);
}

/// Names of dimensions, in place of axes.
#[test]
fn named_dimensions() {
    let named = |op, dims: &[&str]| Reduction {
        dims: Some(dims.iter().map(|&dim| dim.into()).collect()),
        ..plain(op)
    };
    for (text, expected) in [
        ("sum(x, dim='time')", named(ReduceOp::Sum, &["time"])),
        ("sum(x, \"time\")", named(ReduceOp::Sum, &["time"])),
        ("x.mean(dim=('a b', \"é\",))", named(ReduceOp::Mean, &["a b", "é"])),
        ("sum(x, dim=())", named(ReduceOp::Sum, &[])),
        ("max(x, 'time')", named(ReduceOp::Max, &["time"])),
        ("max(x, ('time', 'x'))", named(ReduceOp::Max, &["time", "x"])),
        ("max(x, dim='time')", named(ReduceOp::Max, &["time"])),
        ("argmin(x, 'time')", named(ReduceOp::ArgMin, &["time"])),
        ("norm(x, 1, 'time')", named(ReduceOp::Norm1, &["time"])),
        ("norm(x, dim='time')", named(ReduceOp::Norm2, &["time"])),
        ("sum(x, dim=...)", plain(ReduceOp::Sum)),
        ("sum(x, dim=None)", plain(ReduceOp::Sum)),
    ] {
        assert_eq!(reduction(text), expected, "{text}");
    }
    let softmax = graph("softmax(x, dim='time')").nodes;
    let Node::Reduce(max, _) = &softmax[2] else { panic!("{softmax:?}") };
    assert_eq!(**max, Reduction { keep_dims: true, ..named(ReduceOp::Max, &["time"]) });
    assert_errors(&[
        (
            "sum(x, dim=time)",
            "dim of sum must be a name in quotes, a tuple of them, None or ...\n  sum(x, dim=time)\n             ^^^^",
        ),
        (
            "argmax(x, dim=('a', 'b'))",
            "dim of argmax must be a name in quotes, None or ...\n  argmax(x, dim=('a', 'b'))\n                ^^^^^^^^^^",
        ),
        ("sum(x, dim=('a', 'b')", "this parenthesis is never closed\n  sum(x, dim=('a', 'b')\n     ^"),
        (
            "sum(x, axis='a')",
            "axis of sum must be an integer literal, a tuple of them or None\n  sum(x, axis='a')\n              ^^^",
        ),
        ("sum(x, 0, dim='a')", "dim is given twice\n  sum(x, 0, dim='a')\n            ^^^"),
        ("sqrt(x, dim='a')", "sqrt takes no keyword arguments\n  sqrt(x, dim='a')\n          ^^^"),
        (
            "squeeze(x, dim='a')",
            "squeeze has no keyword argument dim; it takes axis\n  squeeze(x, dim='a')\n             ^^^",
        ),
        (
            "x + 'a'",
            "expressions have no '; only dimensions have names in quotes, as in dim=\"time\"\n  x + 'a'\n      ^^^",
        ),
        (
            "sum(x, dim='a)",
            "expressions have no '; only dimensions have names in quotes, as in dim=\"time\"\n  sum(x, dim='a)\n             ^",
        ),
    ]);
}

/// Nesting is limited, chains are not.
#[test]
fn depth() {
    for deep in ["sum(", "x.sum(where=", "softmax(", "max(x, ", "layer_norm(x, weight=", "x[0].max("] {
        let error = parse(&deep.repeat(100_000)).unwrap_err();
        assert!(error.to_string().starts_with("nested too deeply"), "{error}");
    }
    let chain = format!("x{}", "[None].T.sum(0)".repeat(10_000));
    assert_eq!(graph(&chain).nodes.len(), 30_001);
}

/// Tokens of random texts.
const TOKENS: [&str; 63] = [
    "x",
    "y",
    "x",
    "y",
    "0",
    "1",
    "-1",
    "2.5",
    "1.",
    ".5",
    "1.e3",
    "2j",
    "99999999999999999999",
    "+",
    "-",
    "*",
    "**",
    "~",
    "not",
    "==",
    "=",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "[",
    "]",
    ",",
    ",",
    ":",
    ":",
    ".",
    "...",
    "None",
    "newaxis",
    "True",
    "inf",
    "T",
    "sum",
    "max",
    "norm",
    "argmin",
    "transpose",
    "swapaxes",
    "expand_dims",
    "squeeze",
    "astype",
    "broadcast_to",
    "softmax",
    "layer_norm",
    "float32",
    "where",
    "np",
    "axis=",
    "keepdims=",
    "dtype=",
    "initial=",
    "where=",
    "dim=",
    "'t'",
    "\"u",
];

/// A text that is likely to be valid.
fn plausible() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["x", "y", "2", "1.5", "None"]).prop_map(String::from);
    leaf.prop_recursive(5, 40, 3, |inner| {
        let item = prop::sample::select(vec!["0", ":", "None", "...", "1:", "::-1", "-1:5:2", "i", "::0"]);
        let function = prop::sample::select(vec![
            "sum",
            "max",
            "min",
            "std",
            "softmax",
            "rms_norm",
            "transpose",
            "sqrt",
        ]);
        let option = prop::sample::select(vec![
            "",
            "0",
            "(0, 1)",
            "None",
            "axis=-1",
            "keepdims=True",
            "axis=0, where=y",
            "ddof=1",
            "y",
            "0, keepdims=0",
            "dim='t'",
            "('t', 'u')",
        ]);
        prop_oneof![
            (inner.clone(), item.clone(), item).prop_map(|(x, i, j)| format!("{x}[{i}, {j}]")),
            (inner.clone(), function.clone(), option.clone()).prop_map(|(x, f, o)| format!("({x}).{f}({o})")),
            (inner.clone(), function, option).prop_map(|(x, f, o)| format!("{f}({x}, {o})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} + {y}).T")),
            (inner.clone(), inner).prop_map(|(x, y)| format!("max({x}, {y})")),
        ]
    })
}

/// Checks the invariants of a graph, or of an error.
fn check(text: &str) -> Result<bool, TestCaseError> {
    let graph = match parse(text) {
        Ok(graph) => graph,
        Err(error) => {
            prop_assert!(error.span().is_some_and(|span| text.get(span).is_some()), "{}: {}", text, error);
            return Ok(false);
        }
    };
    let count = graph.nodes.len();
    let mut is_used = vec![false; count];
    is_used[count - 1] = true;
    for (at, node) in graph.nodes.iter().enumerate().rev() {
        prop_assert!(is_used[at], "{}: node {} is not used", text, at);
        prop_assert!(graph.span(at as u32).is_some_and(|(_, span)| text.get(span).is_some()), "{}", text);
        for &input in node.inputs() {
            prop_assert!((input as usize) < at, "{}", text);
            is_used[input as usize] = true;
        }
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_tokens(tokens in prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..20), space in any::<bool>()) {
        check(&tokens.join(if space { " " } else { "" }))?;
    }

    #[test]
    fn plausible_texts(text in plausible()) {
        check(&text)?;
    }
}
