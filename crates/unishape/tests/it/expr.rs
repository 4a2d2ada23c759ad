//! Expressions compared with an index-by-index evaluation, for arrays of any memory layout.

use crate::support::{Spec, spec, strided};
use ndarray::{Array, ArrayD, Axis, IxDyn, arr0, arr1, arr2};
use proptest::prelude::*;
use unishape::expr::{
    Dag, Expr, ExprError, ExprErrorKind, Lazy, Op, ReduceOp, Reduction, Scalar, Term, Typing, Value, View,
    lazy,
};
use unishape::{DType, Tensor, broadcast_to};
use unishape_oracle::{Reading, common_shape, strategies};

/// Layouts of arrays with compatible shapes, and of their common shape. Some sizes are small, some exceed a
/// block.
fn compatible(arrays: usize) -> impl Strategy<Value = (Vec<Spec>, Spec)> {
    const SIZES: [usize; 6] = [0, 1, 2, 3, 37, 2500];
    strategies::shapes(arrays..=arrays, 0..=4, 0..=5)
        .prop_map(|shapes| -> Vec<Vec<usize>> {
            shapes.iter().map(|shape| shape.iter().map(|&size| SIZES[size]).collect()).collect()
        })
        .prop_filter_map("no common shape, or a large one", |shapes| {
            let common = common_shape(Reading::Standard, &shapes).ok()?;
            // Each of them: a common shape with a 0 is small, whatever the inputs are.
            let is_small =
                |shape: &Vec<usize>| shape.iter().map(|&size| size as u64).product::<u64>() < 100_000;
            (is_small(&common) && shapes.iter().all(is_small)).then_some((shapes, common))
        })
        .prop_flat_map(|(shapes, common)| (shapes.into_iter().map(spec).collect::<Vec<_>>(), spec(common)))
}

#[test]
fn leaves_of_a_graph_are_mapped_in_order() {
    let [x, y] = ["4", "5"].map(|name| Dag::leaf(name, 7));
    let two = Dag::scalar(Scalar::Int(2), 7);
    let sum = Dag::call(Op::Add, [x.clone(), y], 7);
    let product = Dag::call(Op::Multiply, [sum.clone(), two], 7);
    let view = Dag::view(View::SwapAxes(0, 1), Dag::cast(DType::F32, product, 7), 7);
    let mask = Dag::call(Op::Less, [x, sum], 7);
    let graph = Dag::reduce(Reduction::new(ReduceOp::Max), view, Some(mask), 7);

    let mut visited = Vec::new();
    let mapped = graph.try_map_leaves(|name| {
        visited.push(*name);
        name.parse::<i32>()
    });
    let mapped = mapped.expect("numbers");
    assert_eq!(visited, ["4", "5"]);
    // The same nodes, and those that are shared still are.
    let (old, new) = (graph.topological(), mapped.topological());
    assert_eq!(new.len(), old.len());
    for (old_node, new_node) in old.iter().zip(new.iter()) {
        match (old_node.term(), new_node.term()) {
            (Term::Leaf(name), Term::Leaf(number)) => assert_eq!(*name, number.to_string()),
            (Term::Scalar(old), Term::Scalar(new)) => assert_eq!(old, new),
            (Term::Call(old, _), Term::Call(new, _)) => assert_eq!(old, new),
            (Term::Cast(old, _), Term::Cast(new, _)) => assert_eq!(old, new),
            (Term::View(old, _), Term::View(new, _)) => assert_eq!(old, new),
            (Term::Reduce(old, _), Term::Reduce(new, _)) => assert_eq!(old, new),
            _ => panic!("another node"),
        }
        let inputs: Vec<usize> = new_node.inputs().iter().map(|input| new.position(input)).collect();
        let expected: Vec<usize> = old_node.inputs().iter().map(|input| old.position(input)).collect();
        assert_eq!(inputs, expected);
    }
    // The first error ends it.
    let mut calls = 0;
    let failed = graph.try_map_leaves(|name| -> Result<(), String> {
        calls += 1;
        Err((*name).into())
    });
    assert_eq!((failed.err().as_deref(), calls), (Some("4"), 1));
}

/// An expression of wrapping 64-bit integers, with its value for one index.
#[derive(Clone, Debug)]
enum Tree {
    Array(usize),
    Scalar(i8),
    Call(Op, Vec<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![4 => (0usize..3).prop_map(Tree::Array), 1 => any::<i8>().prop_map(Tree::Scalar)];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let two = prop::sample::select(vec![Op::Add, Op::Subtract, Op::Multiply, Op::Min, Op::Max, Op::Xor]);
        prop_oneof![
            4 => (two, inner.clone(), inner.clone()).prop_map(|(op, a, b)| Tree::Call(op, vec![a, b])),
            1 => inner.clone().prop_map(|a| Tree::Call(Op::Negative, vec![a])),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| Tree::Call(Op::Clip, vec![a, b, c])),
        ]
    })
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::Array(number) => ["a", "b", "c"][*number].into(),
            Tree::Scalar(number) => format!("({number})"),
            Tree::Call(op, from) => {
                let from: Vec<String> = from.iter().map(Tree::text).collect();
                format!("{}({})", op.name(), from.join(", "))
            }
        }
    }

    fn lazy<'a>(&self, arrays: &[Lazy<'a>]) -> Lazy<'a> {
        match self {
            Tree::Array(number) => arrays[*number].clone(),
            Tree::Scalar(number) => lazy(*number),
            Tree::Call(op, from) => Lazy::call(*op, from.iter().map(|from| from.lazy(arrays))),
        }
    }

    fn value(&self, arrays: [i64; 3]) -> i64 {
        match self {
            Tree::Array(number) => arrays[*number],
            Tree::Scalar(number) => (*number).into(),
            Tree::Call(op, from) => {
                let from: Vec<i64> = from.iter().map(|from| from.value(arrays)).collect();
                match (op, &from[..]) {
                    (Op::Add, [a, b]) => a.wrapping_add(*b),
                    (Op::Subtract, [a, b]) => a.wrapping_sub(*b),
                    (Op::Multiply, [a, b]) => a.wrapping_mul(*b),
                    (Op::Min, [a, b]) => *a.min(b),
                    (Op::Max, [a, b]) => *a.max(b),
                    (Op::Xor, [a, b]) => a ^ b,
                    (Op::Negative, [a]) => a.wrapping_neg(),
                    (Op::Clip, [a, least, most]) => *a.max(least).min(most),
                    _ => unreachable!(),
                }
            }
        }
    }

    /// Whether it contains an array.
    fn uses(&self, number: usize) -> bool {
        match self {
            Tree::Array(own) => *own == number,
            Tree::Scalar(_) => false,
            Tree::Call(_, from) => from.iter().any(|from| from.uses(number)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn bc7_any_expression_of_any_arrays((inputs, out) in compatible(3), tree in tree(), threads in 1usize..3) {
        let arrays: Vec<_> = inputs
            .iter()
            .enumerate()
            .map(|(array, spec)| strided(spec, |n| (n as i64 + 1).wrapping_mul(0x9e37_79b9 << array) % 1000 - 500))
            .collect();
        let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        // Every array takes part, so that the result has the common shape.
        let tree = (0..3).filter(|&number| !tree.uses(number)).fold(tree.clone(), |tree, number| {
            Tree::Call(Op::Add, vec![tree, Tree::Array(number)])
        });
        let stretched: Vec<_> = views.iter().map(|view| broadcast_to(view, IxDyn(&out.shape)).unwrap()).collect();
        let mut expected = ArrayD::zeros(IxDyn(&out.shape));
        ndarray::Zip::from(&mut expected).and(&stretched[0]).and(&stretched[1]).and(&stretched[2]).for_each(
            |to, &a, &b, &c| *to = tree.value([a, b, c]),
        );

        let given = ["a", "b", "c"].into_iter().zip(views.iter().map(|view| Value::from(view.view())));
        let bound = Expr::parse(&tree.text()).unwrap().bind(given).unwrap().threads(threads);
        prop_assert_eq!(bound.shape(), &out.shape[..]);
        prop_assert_eq!(bound.compute().unwrap(), Tensor::from(expected.clone()));

        // Into an output of any layout; elements between those of the output stay unchanged.
        let mut memory = strided(&out, |_| i64::MIN);
        bound.compute_into(&mut memory.view_mut()).unwrap();
        prop_assert_eq!(memory.view(), expected.view());
        let gaps = memory.memory().iter().filter(|element| **element == i64::MIN).count();
        prop_assert_eq!(gaps, memory.memory().len() - expected.len());

        // A slice of the result, and the same expression built with operators.
        if let Some(dim) = out.shape.iter().position(|&size| size > 2) {
            let part = bound.slice_axis(dim, 1..out.shape[dim] - 1).compute().unwrap();
            let slice = expected.slice_axis(Axis(dim), (1..out.shape[dim] - 1).into()).to_owned();
            prop_assert_eq!(part, slice.into());
        }
        let lazies: Vec<Lazy<'_>> = views.iter().map(|view| lazy(view.view())).collect();
        prop_assert_eq!(tree.lazy(&lazies).compute().unwrap(), expected.into());
    }

    /// Blocks of booleans, bytes and doubles in one program: copied, filled, gathered and scattered.
    #[test]
    fn dtypes_of_all_sizes_in_one_program((inputs, out) in compatible(3)) {
        let (a, b) = (strided(&inputs[0], |n| n as u8), strided(&inputs[1], |n| n as f64 / 4.0));
        let c = strided(&inputs[2], |n| n % 3 == 0);
        let stretch = IxDyn(&out.shape);
        let (va, vb, vc) = (a.view(), b.view(), c.view());
        let mut expected = ArrayD::from_elem(stretch.clone(), false);
        ndarray::Zip::from(&mut expected)
            .and(&broadcast_to(&va, stretch.clone()).unwrap())
            .and(&broadcast_to(&vb, stretch.clone()).unwrap())
            .and(&broadcast_to(&vc, stretch).unwrap())
            .for_each(|to, &a, &b, &c| *to = if c { f64::from(a) > b } else { a == 7 });
        let bound = Expr::parse("where(c, a > b, a == 7)").unwrap().bind([
            ("a", Value::from(va)),
            ("b", Value::from(vb)),
            ("c", Value::from(vc)),
        ]).unwrap();
        prop_assert_eq!(bound.compute().unwrap(), Tensor::from(expected.clone()));
        let mut memory = strided(&out, |_| false);
        bound.compute_into(&mut memory.view_mut()).unwrap();
        prop_assert_eq!(memory.view(), expected.view());
    }

    /// Every text gives an expression, or an error with a valid place.
    #[test]
    fn any_text(text in "[ab0-9.+*/%<>=!&|^~(), exj_\\-\u{e9}\u{4e00}\n$]{0,40}") {
        match Expr::parse(&text) {
            Ok(expr) => {
                let a = arr1(&[1, 2]);
                let given: Vec<_> = expr.names().iter().map(|name| (name.clone(), Value::from(&a))).collect();
                if let Err(error) = expr.evaluate(given) {
                    prop_assert!(!error.to_string().is_empty());
                }
            }
            Err(error) => prop_assert!(error.span().is_some_and(|span| text.get(span).is_some()), "{error}"),
        }
    }
}

/// Value of an expression without variables.
fn number(text: &str) -> Tensor {
    Expr::parse(text).unwrap().evaluate::<&str, Value<'_>>([]).unwrap()
}

#[test]
fn operators_bind_as_in_python() {
    for (text, expected) in [
        ("1 + 2 * 3", 7),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("2 ** -1 * 4", 2),
        ("7 // 2 % 2", 1),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("1 | 6 & 3 ^ 8", 11),
        ("1 << 2 + 1", 8),
        ("~5 + 1", -5),
        ("- - 5", 5),
        ("10 - 3 - 2", 5),
        ("0x10 + 0b11 + 0o7 + 1_000", 1026),
        ("min(5, 3, 4) + maximum(1, 2)", 5),
    ] {
        let result = number(text);
        let expected =
            if text.contains("-1") { arr0(expected as f64).into() } else { arr0(expected as i64).into() };
        assert_eq!(result, expected, "{text}");
    }
    for (text, expected) in [
        ("1 < 2 and 3 < 2 or true", true),
        ("not 1 == 2", true),
        ("not 1 and 0", false),
        ("1 | 2 == 3", true),
        ("not not true", true),
    ] {
        assert_eq!(number(text), arr0(expected).into(), "{text}");
    }
    assert_eq!(number("7 / 2"), arr0(3.5).into());
    assert_eq!(number("leaky_relu(-5, 3) + leaky_relu(5, 3)"), arr0(-10i64).into());
    assert_eq!(number("leaky_relu(-2 ** 62, 4) / 2 ** 62"), arr0(-4.0).into());
    assert_eq!(number("sqrt(2) ** 2 < 2.0001"), arr0(true).into());
    assert_eq!(number(".5e1 + 1e-1 * 10"), arr0(6.0).into());
}

/// Scalars take the dtype of the arrays, also where they are computed from other scalars.
#[test]
fn numbers_do_not_widen_arrays() {
    let (half, byte) = (arr1(&[half::f16::ONE]), arr1(&[200u8]));
    for (text, dtype) in [
        ("h * 2.5", DType::F16),
        ("h * sqrt(2)", DType::F16),
        ("h + 2 ** 20", DType::F16),
        ("b + 50", DType::U8),
        ("b * 0.5", DType::F64),
        ("b + true", DType::U8),
        ("b < 300", DType::Bool),
        ("h + b", DType::F16),
        ("where(b > 1, h, 0)", DType::F16),
        ("1 + 2.0", DType::F64),
    ] {
        let expr = Expr::parse(text).unwrap();
        let given: Vec<_> = [("h", Value::from(&half)), ("b", Value::from(&byte))]
            .into_iter()
            .filter(|(name, _)| expr.names().iter().any(|own| own == name))
            .collect();
        assert_eq!(expr.bind(given).unwrap().dtype(), dtype, "{text}");
    }
}

#[test]
fn errors_mark_their_place_in_the_text() {
    let (x, g, s) = (
        ArrayD::<f32>::zeros(IxDyn(&[20, 1024])),
        ArrayD::<f32>::zeros(IxDyn(&[1000])),
        arr1(&[String::new()]),
    );
    let error = |text: &str| {
        let error = |expr: Expr| {
            let given = [("x", Value::from(&x)), ("g", Value::from(&g)), ("s", Value::from(&s))];
            let given = given.into_iter().filter(|(name, _)| expr.names().iter().any(|own| own == name));
            expr.evaluate(given).map(|_| ())
        };
        Expr::parse(text).and_then(error).unwrap_err().to_string()
    };
    assert_eq!(
        error("(x - 1) / 2 * g + 1"),
        "E1: incompatible shapes in dimension 1: x has 1024, g has 1000\n\n  \
           x  20 x 1024\n  g       1000\n             ^\n\
         Shapes are aligned on the right; in each column every size must be 1 or the same.\n\n\
         x (20x1024) with g (1000):\n  \
           (x - 1) / 2 * g + 1\n              ^"
    );
    for (text, expected) in [
        ("x + y", "no value for y; given: x\n  x + y\n      ^"),
        ("x + sqr(x)", "unknown function sqr; did you mean sqrt?\n  x + sqr(x)\n      ^^^"),
        ("(x", "this parenthesis is never closed\n  (x\n  ^"),
        ("x +", "unexpected end of expression: expected a name, a number or a parenthesis\n  x +\n     ^"),
        ("x x", "unexpected x: expected an operator or the end\n  x x\n    ^"),
        ("1 < x < 2", "comparisons do not chain; write a < b and b < c\n  1 < x < 2\n        ^"),
        ("x && x", "expressions have no &&; write and\n  x && x\n    ^^"),
        ("x = 2", "expressions have no =; compare with ==\n  x = 2\n    ^"),
        ("x ^ 2.0", "^ does not support float32 and float64; the power is written **\n  x ^ 2.0\n    ^"),
        ("sqrt(x, x)", "sqrt takes 1 argument, but 2 given\n  sqrt(x, x)\n  ^^^^"),
        ("x + s", "strings are not supported in expressions\n  x + s\n    ^"),
        (
            "cast(x, float33)",
            "unknown dtype float33; did you mean float32?\n  cast(x, float33)\n          ^^^^^^^",
        ),
        (
            "uint8(x) + 300",
            "300 does not fit uint8; use a wider type, as in int64(x) or float64(x)\n  uint8(x) + 300\n           ^",
        ),
        ("1.2.3", "1.2.3 is not a number; write 12, 2.5, 1e-3, 0xff or 2j\n  1.2.3\n  ^^^^^"),
        ("x +\n  y * 2", "no value for y; given: x\n    y * 2\n    ^"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn values_and_variables_match_one_to_one() {
    let a = arr1(&[1]);
    let problem = |given: &[&str]| {
        let given: Vec<_> = given.iter().map(|name| (*name, &a)).collect();
        Expr::parse("a + pi").unwrap().evaluate(given).map_err(|error| error.kind().clone())
    };
    assert!(problem(&["a"]).is_ok());
    // A value replaces a named constant.
    assert_eq!(problem(&["a", "pi"]), Ok(arr1(&[2]).into()));
    assert_eq!(problem(&["a", "a"]), Err(ExprErrorKind::GivenTwice("a".into())));
    let unused = ExprErrorKind::UnusedName { name: "b".into(), wanted: vec!["a".into(), "pi".into()] };
    assert_eq!(problem(&["a", "b"]), Err(unused));
}

#[test]
fn outputs_must_have_the_dtype_and_shape_of_the_result() {
    let a = arr1(&[1, 2, 3]);
    let bound = Expr::parse("a / 2").unwrap().bind([("a", &a)]).unwrap();
    let error = |result: Result<(), ExprError>| result.unwrap_err().to_string();
    assert_eq!(
        error(bound.compute_into(&mut arr1(&[0i32; 3]))),
        "the result has dtype float64, but the output has dtype int32; cast the result, as in int32(…)"
    );
    assert_eq!(
        error(bound.compute_into(&mut arr1(&[0.0; 4]))),
        "the result has shape 3, but the output has shape 4"
    );
    let mut out = arr1(&[0.0; 3]);
    bound.compute_into(&mut out).unwrap();
    assert_eq!(out, arr1(&[0.5, 1.0, 1.5]));
}

#[test]
fn strict_typing_converts_nothing() {
    let (a, b, t) = (arr1(&[7i32, -7]), arr1(&[2i64]), arr1(&[true]));
    let compute = |text: &str| {
        let given = [("a", Value::from(&a)), ("b", Value::from(&b)), ("t", Value::from(&t))];
        let expr = Expr::parse(text).unwrap().typed(Typing::Strict);
        let given = given.into_iter().filter(|(name, _)| expr.names().iter().any(|own| own == name));
        expr.evaluate(given).map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
    };
    assert_eq!(compute("a / 2"), Ok(arr1(&[3i32, -3]).into()));
    assert_eq!(
        compute("a + b"),
        Err("int32 and int64 differ, and strict typing converts nothing; cast one, as in float64(x)".into())
    );
    assert_eq!(compute("int64(a) + b"), Ok(arr1(&[9i64, -5]).into()));
    assert!(compute("a + 2.5").is_err() && compute("sqrt(a)").is_err() && compute("a and t").is_err());
    assert_eq!(compute("where(t, a, 0)"), Ok(a.clone().into()));
}

/// Integers wrap around, and division by 0 is defined, as documented.
#[test]
fn integer_operations_are_defined_for_all_operands() {
    let a = arr1(&[i8::MIN, -7, -1, 0, 1, 7, i8::MAX]);
    let compute = |text: &str| match Expr::parse(text).unwrap().evaluate([("a", &a)]).unwrap() {
        Tensor::I8(array) => array.into_raw_vec_and_offset().0,
        other => panic!("{text} gave {other:?}"),
    };
    assert_eq!(compute("a // 0"), [0; 7]);
    assert_eq!(compute("a % 0"), [0; 7]);
    assert_eq!(compute("a // -1"), [-128, 7, 1, 0, -1, -7, -127]);
    assert_eq!(compute("abs(a)"), [-128, 7, 1, 0, 1, 7, 127]);
    assert_eq!(compute("a ** -1"), [0, 0, -1, 0, 1, 0, 0]);
    assert_eq!(compute("a ** -2"), [0, 0, 1, 0, 1, 0, 0]);
    assert_eq!(compute("a << 8"), [0; 7]);
    assert_eq!(compute("a << -1"), [0; 7]);
    assert_eq!(compute("a >> 100"), [-1, -1, -1, 0, 0, 0, 0]);
    assert_eq!(compute("reciprocal(a)"), [0, 0, -1, 0, 1, 0, 0]);
}

/// Half precision is rounded after every operator.
#[test]
fn half_precision_rounds_after_each_operator() {
    use half::{bf16, f16};
    let x = arr1(&[f16::from_f32(2049.0), f16::from_f32(0.1)]);
    let result = Expr::parse("(x + 1) - x").unwrap().evaluate([("x", &x)]).unwrap();
    // 2048 + 1 is not an f16.
    let rounded = |x: f16| f16::from_f32(f16::from_f32(x.to_f32() + 1.0).to_f32() - x.to_f32());
    assert_eq!(result, x.mapv(rounded).into());
    let y = arr1(&[bf16::from_f32(257.0), bf16::from_f32(0.3)]);
    let result = Expr::parse("y * y / 3").unwrap().evaluate([("y", &y)]).unwrap();
    let rounded = |y: bf16| bf16::from_f32(bf16::from_f32(y.to_f32() * y.to_f32()).to_f32() / 3.0);
    assert_eq!(result, y.mapv(rounded).into());
}

/// Chains of any length need no recursion, parsed or built; nesting beyond the limit is an error.
#[test]
fn long_chains_and_deep_nesting() {
    let a = arr1(&[1i64, 2]);
    let text = "a + ".repeat(20_000) + "a";
    let result = Expr::parse(&text).unwrap().evaluate([("a", &a)]).unwrap();
    assert_eq!(result, (&a * 20_001).into());
    let mut chain = lazy(&a);
    for _ in 0..100_000 {
        chain = chain + 1;
    }
    assert_eq!(chain.compute().unwrap(), (&a + 100_000).into());
    drop(chain);
    for deep in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "not ".repeat(100_000),
        "2 ** ".repeat(100_000),
        "abs(".repeat(100_000),
        "sum(".repeat(100_000),
        "a.clip(".repeat(100_000),
    ] {
        assert_eq!(Expr::parse(&deep).unwrap_err().kind(), &ExprErrorKind::TooDeep);
    }
}

#[test]
fn many_operands() {
    let arrays: Vec<_> = (0..256).map(|n| Array::from_elem((3, 1 + 4 * (n % 2)), n as i64)).collect();
    let names: Vec<String> = (0..256).map(|n| format!("x{n}")).collect();
    let result = Expr::parse(&names.join(" + ")).unwrap().evaluate(names.iter().zip(&arrays)).unwrap();
    assert_eq!(result, Array::from_elem((3, 5), 255 * 128i64).into());
}

/// Lazy values built with Rust's operators and methods.
#[test]
fn lazy_values() {
    let (a, b) = (arr2(&[[1.0], [4.0]]), arr1(&[2.0, 8.0]));
    let (x, y) = (lazy(&a), lazy(&b));
    let result = (1.0 - x.clone().sqrt() * &y + y.clone().min(3)).choose(x.less(&y), -1);
    assert_eq!(result.bind().unwrap().shape(), [2, 2]);
    let sum = (lazy(&a) << 1).compute().unwrap_err();
    assert!(sum.to_string().starts_with("<< does not support float64"));
    assert_eq!((!lazy(true) | true).compute().unwrap(), arr0(true).into());
    assert_eq!((-lazy(Scalar::Int(3)) % 2).compute().unwrap(), arr0(1i64).into());
}

/// Results that are an input, a scalar, or constant.
#[test]
fn results_that_are_not_computed() {
    let (a, b) = (arr2(&[[1], [2]]), arr1(&[0.0, 0.0, 0.0]));
    assert_eq!(Expr::parse("a").unwrap().evaluate([("a", &a)]).unwrap(), a.clone().into());
    let t = a.t();
    assert_eq!(Expr::parse("t").unwrap().evaluate([("t", t)]).unwrap(), a.t().to_owned().into());
    assert_eq!(number("42"), arr0(42i64).into());
    // Its shape counts, though its elements are not read.
    let result = Expr::parse("isnan(a) | isnan(b)")
        .unwrap()
        .evaluate([("a", Value::from(&a)), ("b", Value::from(&b))]);
    assert_eq!(result.unwrap(), ndarray::Array2::from_elem((2, 3), false).into());
    let result = Expr::parse("isnan(a)").unwrap().evaluate([("a", &a)]).unwrap();
    assert_eq!(result, arr2(&[[false], [false]]).into());
}

/// Programs are cached by the values of scalars: −0 is another value than 0.
#[test]
fn zeros_of_both_signs_are_different_scalars() {
    let (expr, a) = (Expr::parse("a / k").unwrap(), arr1(&[1.0]));
    for (k, expected) in [(0.0, f64::INFINITY), (-0.0, f64::NEG_INFINITY), (0.0, f64::INFINITY)] {
        let result = expr.evaluate([("a", Value::from(&a)), ("k", Value::from(k))]).unwrap();
        assert_eq!(result, arr1(&[expected]).into());
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn results_that_do_not_fit_are_errors() {
    let a = arr1(&[1u8]);
    let huge = broadcast_to(&a, IxDyn(&[1 << 40, 1 << 10])).unwrap();
    let error = Expr::parse("a + 1").unwrap().evaluate([("a", huge)]).unwrap_err();
    assert!(error.to_string().contains("cannot allocate"), "{error}");
}

/// `Bound::plan` for arrays of different layouts.
#[test]
fn plans_describe_every_access_pattern() {
    let x = ArrayD::<f32>::zeros(IxDyn(&[200, 1024]));
    let (mean, g) = (ArrayD::<f32>::zeros(IxDyn(&[200, 1])), ArrayD::<f32>::zeros(IxDyn(&[1024])));
    let t = ArrayD::<f32>::zeros(IxDyn(&[1024, 200])).reversed_axes();
    let plan = |text: &str| {
        let expr = Expr::parse(text).unwrap();
        let given = [
            ("x", Value::from(&x)),
            ("mean", Value::from(&mean)),
            ("g", Value::from(&g)),
            ("t", Value::from(&t)),
        ];
        let given = given.into_iter().filter(|(name, _)| expr.names().iter().any(|own| own == name));
        expr.bind(given).unwrap().plan()
    };
    assert_eq!(
        plan("(x - mean) * exp(g) + 2"),
        "loops: 200 x 1024 elements\n\
         block: 2 x 1024 elements\n  \
           x: read in place\n  \
           mean: a column: one element for each row\n  \
           g: the same in every block, gathered once\n  \
           result: written in place\n\
         once:\n  \
           t2 = exp(g)\n\
         for each block:\n  \
           t1 = subtract(x, mean)\n  \
           t3 = multiply(t1, t2)\n  \
           result = add(t3, 2)\n"
    );
    assert_eq!(
        plan("x + t"),
        "loops: 3 x 4 x 64 x 256 elements\n\
         block: 8 x 256 elements\n  \
           x: read in place, row by row\n  \
           t: transposed into each block\n  \
           result: written in place, row by row\n\
         for each block:\n  \
           result = add(x, t)\n\
         remainder of the tiles: 1 x 4 x 8 x 256 elements\n"
    );
    // Small work is not tiled.
    let few = ArrayD::<f32>::zeros(IxDyn(&[100, 100]));
    let transposed = few.t();
    let small = Expr::parse("x + t").unwrap();
    let small = small.bind([("x", Value::from(&few)), ("t", Value::from(transposed.view()))]).unwrap().plan();
    assert!(small.starts_with("loops: 100 x 100 elements\n"), "{small}");
    assert_eq!(
        plan("isnan(cast(x, int8))").lines().nth(2),
        Some("  x: not read: the result does not depend on it")
    );
    let every_third = ArrayD::<f32>::zeros(IxDyn(&[300_000])).slice_move(ndarray::s![..;3]).into_dyn();
    let plan = Expr::parse("s + 1").unwrap().bind([("s", Value::from(&every_third))]).unwrap().plan();
    assert_eq!(plan.lines().nth(2), Some("  s: stride 3, gathered into each block"));
}

#[test]
fn one_thread_is_the_calling_thread() {
    let (a, here) = (ndarray::Array2::<f32>::ones((1000, 3000)), std::thread::current().id());
    let chunks = std::sync::atomic::AtomicUsize::new(0);
    let mut out = ndarray::Array2::<f32>::zeros((3000, 1000));
    let bound = Expr::parse("a + 1").unwrap().bind([("a", a.t().into_dyn())]).unwrap().threads(1);
    let should_continue = |_| {
        assert_eq!(std::thread::current().id(), here);
        chunks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    };
    bound.compute_while(&mut out, should_continue).unwrap();
    assert!(out.iter().all(|&element| element == 2.0));
    // In chunks, so that it can be cancelled.
    assert!(chunks.into_inner() > 2);
}

/// Outputs large enough for non-temporal stores: rows with gaps, short contiguous rows, booleans, elements of
/// one byte, a copy, a broadcast scalar.
#[test]
fn outputs_larger_than_the_cache() {
    let (rows, columns) = (9000usize, 4103usize);
    let column = Array::from_shape_fn((rows, 1), |(i, _)| i as i32);
    let row = Array::from_shape_fn(columns, |j| j as i32 * 7);
    let given = || [("c", Value::from(&column)), ("r", Value::from(&row))];
    // Elements around the output stay unchanged.
    let mut out = Array::from_elem((rows + 2, columns + 3), -1i32);
    let inside = ndarray::s![1..=rows, 2..2 + columns];
    let bound = Expr::parse("c ^ (r + 1)").unwrap().bind(given()).unwrap();
    bound.compute_into(&mut out.slice_mut(inside)).unwrap();
    let sum = |view: ndarray::ArrayView2<'_, i32>| view.iter().map(|&x| i64::from(x)).sum::<i64>();
    for (i, out) in out.slice(inside).rows().into_iter().enumerate() {
        assert!(out.iter().zip(&row).all(|(&out, &r)| out == i as i32 ^ (r + 1)), "row {i}");
    }
    let around = sum(out.view()) - sum(out.slice(inside));
    assert_eq!(around, -((out.len() - rows * columns) as i64));

    let mut booleans = Array::from_elem((rows, columns), false);
    Expr::parse("c < r").unwrap().bind(given()).unwrap().compute_into(&mut booleans).unwrap();
    assert!(booleans.indexed_iter().all(|((i, j), &boolean)| boolean == ((i as i32) < j as i32 * 7)));
    let mut same = Array::from_elem((rows, columns), false);
    Expr::parse("t").unwrap().bind([("t", &booleans)]).unwrap().compute_into(&mut same).unwrap();
    assert_eq!(same, booleans);
    let mut one = Array::from_elem((rows, columns), 0u8);
    Expr::parse("o")
        .unwrap()
        .bind([("o", &broadcast_to(&arr0(7u8), (rows, columns)).unwrap().to_owned())])
        .unwrap()
        .compute_into(&mut one)
        .unwrap();
    assert!(one.iter().all(|&one| one == 7));

    let short = Array::from_shape_fn((3_000_000, 3), |(i, j)| (i * 3 + j) as i32);
    let three = arr1(&[1, 2, 3]);
    let mut out = Array::from_elem((3_000_000, 3), 0);
    let given = [("a", Value::from(&short)), ("b", Value::from(&three))];
    Expr::parse("a - b").unwrap().bind(given).unwrap().compute_into(&mut out).unwrap();
    assert!(out.indexed_iter().all(|((i, j), &out)| out == (i * 3 + j) as i32 - (j as i32 + 1)));
}

#[test]
fn expressions_of_a_single_function() {
    for &op in Op::ALL {
        assert_eq!(Expr::call(op).names(), &["x1", "x2", "x3"][..op.arity()], "{op:?}");
    }
    let (a, b) = (arr1(&[1, 2]), arr1(&[10, 20]));
    let sum = Expr::call(Op::Add).bind_positional([&a, &b]).unwrap().compute().unwrap();
    assert_eq!(sum, arr1(&[11, 22]).into());
    let error = Expr::call(Op::Add).bind_positional([&a, &b, &a]).unwrap_err();
    assert_eq!(error.to_string(), "3 values are given for 2 names: x1 and x2");
    let wide = arr1(&[1, 2, 3]);
    let error = Expr::call(Op::Add).bind_positional([&a, &wide]).unwrap_err();
    assert!(matches!(error.kind(), ExprErrorKind::Shapes(_)), "{error}");
}

/// The most recent expressions of graphs are cached, each with its own result.
#[test]
fn expressions_of_different_graphs() {
    let a = arr1(&[1i64, 2]);
    let graph = |number: i128| {
        Dag::call(Op::Multiply, [Dag::leaf("a", ()), Dag::scalar(Scalar::Int(number), ())], ())
    };
    for number in (0..40).chain(0..40).chain([39, 0, 39]) {
        let result = Expr::from_dag(&graph(number)).bind_positional([&a]).unwrap().compute().unwrap();
        assert_eq!(result, (&a * number as i64).into());
    }
}

/// Graphs are dropped without recursion: a chain of any length on a thread with a small stack. Their descriptions have the
/// number of nodes, of which those that are shared count once.
#[test]
fn graphs_of_any_length_are_dropped() {
    let x = Dag::leaf("x", ());
    let square = Dag::call(Op::Multiply, [x.clone(), x], ());
    let nodes = square.topological();
    assert_eq!((nodes.len(), nodes.iter().count()), (2, 2));
    assert_eq!(format!("{nodes:?} {square:?}"), "Topological { len: 2 } Dag { nodes: 2 }");
    let drop_chain = || {
        let mut chain = Dag::leaf("x", ());
        for number in 0..100_000 {
            chain = match number % 4 {
                0 => Dag::call(Op::Negative, [chain], ()),
                1 => Dag::cast(DType::F32, chain, ()),
                2 => Dag::view(View::Transpose(None), chain, ()),
                _ => Dag::reduce(Reduction::new(ReduceOp::Sum), chain, None, ()),
            };
        }
        drop(chain);
    };
    std::thread::Builder::new().stack_size(1 << 18).spawn(drop_chain).unwrap().join().unwrap();
}

/// The error of an operator names the variables that it depends on, and no others.
#[test]
fn incompatible_operands_are_those_of_the_operator() {
    let (x, y, other) = (arr2(&[[1.0, 2.0]]), arr1(&[1.0, 2.0, 3.0]), arr1(&[5.0]));
    let values = [("other", Value::from(&other)), ("x", Value::from(&x)), ("y", Value::from(&y))];
    let error = Expr::parse("other * 2 - (x - 1) * y").unwrap().bind(values).unwrap_err();
    assert_eq!(
        error.to_string().lines().take(4).collect::<Vec<_>>(),
        ["E1: incompatible shapes in dimension 1: x has 2, y has 3", "", "  x  1 x 2", "  y      3"]
    );
}

/// Length of the last dimensions in which each array is stretched along all of them, or along none.
#[test]
fn rows_of_stretched_arrays() {
    use unishape::expr::ContiguousCall;
    for (arrays, shape, expected) in [
        ([&[8, 3, 5, 7][..], &[3, 1, 1]], &[8, 3, 5, 7][..], 35),
        ([&[2, 3, 4], &[2, 3, 4]], &[2, 3, 4], 24),
        ([&[2, 3, 4], &[]], &[2, 3, 4], 24),
        ([&[2, 3, 4], &[4]], &[2, 3, 4], 4),
        ([&[2, 3, 4], &[3, 1]], &[2, 3, 4], 4),
        ([&[2, 1], &[3]], &[2, 3], 3),
        ([&[2, 1], &[2, 1]], &[2, 3], 3),
        // Dimensions of size 1 are a part of rows in any case.
        ([&[2, 3, 1], &[3, 1]], &[2, 3, 1], 3),
        ([&[2, 1, 3], &[1, 1, 3]], &[2, 1, 3], 3),
        ([&[1, 3], &[1, 1]], &[1, 3], 3),
        ([&[3, 1, 4], &[3, 1, 4]], &[3, 1, 4], 12),
        ([&[1, 1], &[1]], &[1, 1], 1),
        ([&[2, 0], &[2, 1]], &[2, 0], 0),
        ([&[], &[]], &[], 1),
    ] {
        assert_eq!(ContiguousCall::row_len(arrays.into_iter(), shape), expected, "{arrays:?} of {shape:?}");
    }
    for (op, is_arithmetic) in [(Op::Add, true), (Op::Multiply, true), (Op::Sin, false), (Op::Exp, false)] {
        let call = ContiguousCall::new(op, &[DType::F32; 2][..op.arity()]).unwrap();
        assert_eq!(call.is_arithmetic(), is_arithmetic, "{op:?}");
    }
}

/// Texts that differ in few characters from others, and nesting that ends.
#[test]
fn texts_without_spaces_and_with_many_parentheses() {
    for (text, expected) in [("0x1e+1", 31), ("0X1E-1", 29), ("1+2*3-4", 3), ("0xe-0b1", 13), ("2-1", 1)] {
        assert_eq!(number(text), arr0(expected as i64).into(), "{text}");
    }
    assert_eq!(number("1e+1-1E-1*10"), arr0(9.0).into());
    let many = vec!["(-abs((1)))"; 1000].join(" + ");
    assert_eq!(number(&many), arr0(-1000i64).into());
    for (text, span) in [("1 + $2", 4..5), ("$", 0..1), ("1 € 2", 2..5)] {
        assert_eq!(Expr::parse(text).unwrap_err().span(), Some(span), "{text}");
    }
    for (text, expected) in [
        ("float32(1, 2)", "float32 takes 1 argument, but 2 given"),
        ("float32()", "float32 takes 1 argument, but 0 given"),
        ("1 + [", "unexpected [: expected a name, a number or a parenthesis"),
        ("pi[", "this bracket is never closed"),
        ("pi[0:1, ", "this bracket is never closed"),
    ] {
        let error = Expr::parse(text).unwrap_err().to_string();
        assert_eq!(error.lines().next(), Some(expected), "{text}");
    }
    let x = Array::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 12 + j * 4 + k) as f64);
    let evaluate = |text: &str| Expr::parse(text).unwrap().evaluate([("x", &x)]).unwrap();
    for text in ["swapaxes(x, 1, 2)", "x.swapaxes(-1, 1)", "swapaxes(x, axis2=1, axis1=2)"] {
        assert_eq!(evaluate(text), x.view().permuted_axes((0, 2, 1)).to_owned().into(), "{text}");
    }
    let complex = num_complex::Complex::new(x.sum(), -2.0);
    assert_eq!(evaluate("sum(complex128(x), initial=-2j)"), arr0(complex).into());
}
