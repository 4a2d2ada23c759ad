//! Which stages an expression is computed in, and that results do not depend on them.

use ndarray::{Array1, Array2, Array3, ArrayD, Axis, IxDyn, s};
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::Tensor;
use unishape::expr::{Bound, Expr, Value};

fn bind<'a, const N: usize>(text: &str, values: [(&str, Value<'a>); N]) -> Bound<'a> {
    Expr::parse(text).unwrap().bind(values).unwrap()
}

/// Number of stages in a plan.
fn stages(plan: &str) -> usize {
    plan.lines().filter(|line| line.trim_start().starts_with("stage ")).count()
}

/// Small integers, of which few are equal.
fn table(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 1009) as f64 - 400.0)
}

/// A fold of few computed elements needs no stage: not of elements that are only read, nor of functions, nor where it
/// would be a long program.
#[test]
fn folds_of_few_computed_elements_are_part_of_a_stage() {
    let (x, y) = (Array2::<f32>::ones((70, 3)), Array2::<f32>::ones((60, 3)));
    let wide = Array2::<f32>::ones((70, 8));
    let chain = |length: usize| {
        let operations = (0..length).fold(String::from("x"), |text, _| format!("({text} * 2 + x)"));
        format!("sum({operations}, 1) + 1")
    };
    for (text, x, expected) in [
        ("sum(abs(x[:, None] - y), -1) + 1", &x, 1),
        ("sqrt(sum((x[:, None] - y)**2, -1))", &x, 1),
        ("sum(float64(x), 1) + 1", &x, 1),
        ("sum((x * 2).T, 0) + 1", &x, 1),
        ("sum(x, 1) + 1", &x, 2),
        ("sum(x[:, ::2], 1) + 1", &x, 2),
        ("sum(exp(x), 1) + 1", &x, 2),
        // 30 and 40 operations for each of eight elements.
        (&chain(15), &wide, 1),
        (&chain(20), &wide, 2),
    ] {
        let expr = Expr::parse(text).unwrap();
        let values = [("x", Value::from(x)), ("y", Value::from(&y))];
        let plan = expr.bind(values.into_iter().take(expr.names().len())).unwrap().plan();
        assert_eq!(stages(&plan), expected, "{text}: {plan}");
    }
}

/// A sum of all elements that need other stages is one of each row first, which can run with these row by row.
#[test]
fn reductions_of_computed_rows_are_folded_twice() {
    let x = table(400, 400) / 500.0;
    let shifted = |axis: usize| format!("x - max(x, {axis}, keepdims=True)");
    let plan = |text: &str| bind(text, [("x", Value::from(&x))]).plan();
    for text in ["sum(x)", "sum(exp(x))"] {
        assert_eq!(stages(&plan(text)), 1, "{}", plan(text));
    }
    let text = format!("sum(exp({}))", shifted(1));
    assert_eq!(stages(&plan(&text)), 3, "{}", plan(&text));
    assert!(plan(&text).contains("2 stages together"), "{}", plan(&text));
    assert!(plan(&text).contains("sum of t2 along axis 1\n"), "{}", plan(&text));
    assert!(plan(&text).contains("sum of stage 2 along axes 0, 1\n"), "{}", plan(&text));
    let largest =
        x.map_axis(Axis(1), |row| row.iter().copied().fold(f64::MIN, f64::max)).insert_axis(Axis(1));
    let expected = (&x - &largest).mapv(f64::exp).sum();
    let deep = x.clone().insert_axis(Axis(0));
    for (text, x) in
        [(&text, x.view().into_dyn()), (&format!("sum(exp({}))", shifted(2)), deep.view().into_dyn())]
    {
        let bound = bind(text, [("x", Value::from(x))]);
        // Not along the axis of size 1.
        assert!(bound.plan().contains("2 stages together"), "{}", bound.plan());
        let Tensor::F64(sum) = bound.compute().unwrap() else { panic!("another dtype") };
        assert!((sum[IxDyn(&[])] - expected).abs() <= 1e-12 * expected, "{sum} and {expected}");
    }
    // Positions are those in all rows.
    let text = format!("argmin({})", shifted(1));
    let least = (&x - &largest).iter().copied().fold(0.0, f64::min);
    let position = (&x - &largest).iter().position(|&element| element == least).unwrap();
    assert_eq!(
        bind(&text, [("x", Value::from(&x))]).compute().unwrap(),
        ndarray::arr0(position as i64).into()
    );
}

/// What several stages compute, and takes longer than reading it, is computed once. What one stage uses twice needs no
/// other stage, nor does what only such nodes use.
#[test]
fn nodes_that_several_stages_use_are_computed_once() {
    let x = Array2::<f32>::ones((700, 500));
    let (few, y) = (Array2::<f32>::ones((1000, 3)), Array2::<f32>::ones((600, 3)));
    let (rows, row) = (Array2::<f32>::ones((100, 4096)), Array1::<f32>::ones(4096));
    let exp = "exp(x - max(x, 1, keepdims=True))";
    let polynomial = "(((x * 2 + 1) * 3 - 4) * x)";
    let distance = "sum((x[:, None] - y)**2, -1)";
    for (text, x, y, expected) in [
        // The largest, the exponentials, sums of two kinds in one stage, and the quotients.
        (format!("{exp} / (sum({exp}, 1, keepdims=True) + sum({exp} * x, 1, keepdims=True))"), &x, None, 4),
        (format!("({exp} + 1) * {exp}"), &x, None, 2),
        ("exp(exp(x)) / sum(exp(exp(x)), 1, keepdims=True)".into(), &x, None, 3),
        (format!("{distance} / sum({distance}, 1, keepdims=True)"), &few, Some(y.view().into_dyn()), 3),
        // A conversion and three operations, or only three.
        ("(float64(x) * 2 + 1) * 3 / max((float64(x) * 2 + 1) * 3, 1, keepdims=True)".into(), &x, None, 3),
        ("(x * 2 + 1) * 3 / max((x * 2 + 1) * 3, 1, keepdims=True)".into(), &x, None, 2),
        // Of few columns, whose sums are unrolled: their stage has other loops.
        (format!("sum({polynomial} / max({polynomial}, 0), 1, keepdims=True)"), &few, None, 2),
        // The same in each row, so that a block of it is computed once.
        ("sum(x * exp(y), 1)".into(), &rows, Some(row.view().into_dyn()), 1),
    ] {
        let values = [("x", Value::from(x))].into_iter().chain(y.map(|y| ("y", Value::from(y))));
        let plan = Expr::parse(&text).unwrap().bind(values).unwrap().plan();
        assert_eq!(stages(&plan), expected, "{text}: {plan}");
    }
}

/// Stages run row by row only where they are used for the same rows.
#[test]
fn results_that_are_used_for_other_rows_are_kept() {
    let x = table(500, 500);
    let largest = x.map_axis(Axis(1), |row| row.iter().copied().fold(f64::MIN, f64::max));
    let compute = |text: &str| bind(text, [("x", Value::from(&x))]).compute().unwrap();
    assert_eq!(compute("x - max(x, 1)"), (&x - &largest).into());
    assert_eq!(compute("x - max(x, 1)[:, None]"), (&x - &largest.clone().insert_axis(Axis(1))).into());
    let reversed = largest.slice(s![..;-1]).insert_axis(Axis(1));
    assert_eq!(compute("x - max(x, 1)[::-1, None]"), (&x - &reversed).into());
    // By both of its axes.
    let cube = Array3::from_shape_fn((80, 80, 40), |(i, j, k)| ((i * 31 + j * 17 + k * 7) % 101) as f64);
    let largest = cube.map_axis(Axis(2), |row| row.iter().copied().fold(f64::MIN, f64::max));
    let result = bind("max(-x, 2) - max(x, 2) * 3 + max(x, 2).T", [("x", Value::from(&cube))]).compute();
    let least = cube.map_axis(Axis(2), |row| row.iter().copied().fold(f64::MAX, f64::min));
    assert_eq!(result.unwrap(), (largest.t().to_owned() - &least - &largest * 3.0).into());
    let result = bind("max(x, 2) * 3 - max(x, 2).T", [("x", Value::from(&cube))]).compute();
    assert_eq!(result.unwrap(), (&largest * 3.0 - largest.t()).into());
    // All rows of a stage are computed, also those that are not used.
    let bound = bind("x[:-1] - max(x, 1)[:-1, None]", [("x", Value::from(&x))]);
    let (iterations, mut out) = (AtomicUsize::new(0), Array2::<f64>::zeros((499, 500)));
    let count = |chunk| {
        iterations.fetch_add(chunk, Ordering::Relaxed);
        true
    };
    bound.compute_while(&mut out, count).unwrap();
    assert_eq!((iterations.into_inner(), bound.iterations()), (500 * 500 + 499 * 500, 500 * 500 + 499 * 500));
}

/// Which loop is the rows, and which are too few, too small or too long. Nothing is computed.
#[test]
fn rows_are_along_the_first_loop_that_is_long_enough() {
    let one = ndarray::arr0(1f32).into_dyn();
    let plan =
        |text: &str, shape: &[usize]| bind(text, [("x", Value::from(one.broadcast(shape).unwrap()))]).plan();
    let subtracted = "x - max(x, -1, keepdims=True)";
    for (text, shape, rows) in [
        ("softmax(x)", &[700, 500][..], Some("131 of 700 rows (axis 0 of stage 4)")),
        // Few elements.
        ("softmax(x)", &[200, 500], None),
        // One row.
        ("softmax(x)", &[1, 300_000], None),
        ("softmax(x)", &[1, 700, 500], Some("131 of 700 rows (axis 1 of stage 4)")),
        // Long rows, unless there are many.
        ("softmax(x)", &[8, 5_000_000], None),
        ("softmax(x)", &[64, 5_000_000], Some("1 of 64 rows (axis 0 of stage 4)")),
        // Of two loops, the outer one.
        (subtracted, &[300, 400, 50], Some("3 of 300 rows (axis 0 of stage 2)")),
        // Columns, of which few at a time fit the cache; but one row of results is contiguous.
        ("sqrt(max(x, 0))", &[5000, 480], None),
        ("sqrt(max(x, 1))[None]", &[5000, 480], Some("136 of 5000 rows (axis 1 of stage 2)")),
    ] {
        if shape.iter().product::<usize>() > isize::MAX as usize / 16 {
            // Their bytes cannot be addressed.
            assert_eq!(usize::BITS, 32);
            continue;
        }
        let plan = plan(text, shape);
        match rows {
            Some(rows) => assert!(plan.contains(rows), "{text} of {shape:?}: {plan}"),
            None => assert!(!plan.contains("stages together"), "{text} of {shape:?}: {plan}"),
        }
    }
}

/// Folds are joined with the first one that they share an array with, eight at most.
#[test]
fn folds_are_joined_with_the_first_partner() {
    let (a, b) = (table(40, 30), table(40, 60).slice(s![.., ..;2]).to_owned());
    let values = || [("a", Value::from(&a)), ("b", Value::from(&b))];
    // The third has no array in common with the first one.
    let bound = bind("sum(a) + sum(a * b) * 2 - sum(b)", values());
    assert_eq!(bound.compute().unwrap(), ndarray::arr0(a.sum() + (&a * &b).sum() * 2.0 - b.sum()).into());
    // Only stages with several results have their numbers.
    assert_eq!(
        bind("max(a, 1) * min(a, 1) + max(a) + b[:, 0]", values()).plan(),
        "\
stage 1: 40 x 30 elements of float64, float64
  result 1: max of a along axis 1
  result 2: min of a along axis 1
stage 2: 40 x 30 elements of float64
  max of a along axes 0, 1
stage 3: 40 elements of float64
  t1 = multiply(stage 1 result 1, stage 1 result 2)
  t2 = add(t1, stage 2)
  t3 = add(t2, b)
  write t3
reads 28.8 kB, writes 320 bytes; intermediate results take 648 bytes
"
    );
    let sums: Vec<String> = (1..=10).map(|factor| format!("sum(a * {factor})")).collect();
    let bound = bind(&sums.join(" + "), [("a", Value::from(&a))]);
    let plan = bound.plan();
    assert_eq!((plan.matches("result 8: sum").count(), plan.matches("result 9:").count()), (1, 0), "{plan}");
    assert_eq!(bound.compute().unwrap(), ndarray::arr0(a.sum() * 55.0).into());
    // The same for those of several expressions.
    let exprs: Vec<Expr> = sums.iter().map(|text| Expr::parse(text).unwrap()).collect();
    let bound = Expr::bind_all(&exprs, [("a", &a)]).unwrap();
    for (number, bound) in bound.iter().enumerate() {
        let others = if number < 8 { "with 7 results of" } else { "with 1 result of" };
        assert!(bound.plan().contains(others), "{number}: {}", bound.plan());
        assert_eq!(bound.compute().unwrap(), ndarray::arr0(a.sum() * (number + 1) as f64).into());
    }
}

/// Stages of several expressions are joined where they read variables only, and have few results.
#[test]
fn reductions_of_several_expressions_that_are_not_joined() {
    let compute = |x: &Array2<f64>, texts: [&str; 2]| {
        let exprs = texts.map(|text| Expr::parse(text).unwrap());
        let bound = Expr::bind_all(&exprs, [("x", x)]).unwrap();
        for (bound, expr) in bound.iter().zip(&exprs) {
            let alone = expr.evaluate([("x", x)]).unwrap();
            assert_eq!(bound.compute().unwrap(), alone, "{expr} of {:?}", x.dim());
        }
        bound.iter().all(|bound| bound.plan().contains("of other expressions"))
    };
    for (columns, is_joined) in [(10, false), (15, false), (16, true), (100, true)] {
        assert_eq!(compute(&table(50, columns), ["max(x, 1)", "min(x, 1)"]), is_joined, "{columns} columns");
    }
    // The second stages read results of the first ones, which are those of other expressions.
    for rows in [30, 3000] {
        let x = table(rows, 100);
        compute(&x, ["min(x * max(x, 1, keepdims=True), 1)", "max(x * min(-x, 1, keepdims=True), 1)"]);
    }
}

/// Sums of products and of squared differences have loops of their own; those of other products do not.
#[test]
fn sums_of_products_with_differences() {
    let (a, b) = (table(60, 50), table(60, 50).slice(s![..;-1, ..]).to_owned());
    let c = a.mapv(|x| x % 7.0);
    let (difference, values) = (&a - &b, [("a", &a), ("b", &b), ("c", &c)]);
    for (text, expected) in [
        ("sum((a - b) * c, 1)", &difference * &c),
        ("sum(c * (a - b), 1)", &difference * &c),
        ("sum((a - b) * (c - b), 1)", &difference * (&c - &b)),
        ("sum((a - b) * (a - b), 1)", &difference * &difference),
        ("sum((a - b)**2, 1)", &difference * &difference),
        ("sum(abs(a - b), 1)", difference.mapv(f64::abs)),
        ("sum(a * b, 1)", &a * &b),
    ] {
        let given = values.into_iter().filter(|(name, _)| text.contains(name));
        let result = Expr::parse(text).unwrap().evaluate(given).unwrap();
        assert_eq!(result, expected.sum_axis(Axis(1)).into(), "{text}");
    }
}

/// Loops may be longer than any array, but their elements are countable.
#[test]
fn loops_that_are_too_long_are_errors() {
    let one = ndarray::arr0(1u8);
    let bind =
        |count: usize| Expr::parse(&format!("sum(broadcast_to(x, ({count},)))")).unwrap().bind([("x", &one)]);
    // 16 bytes for each element must be addressable.
    let too_many = 1usize << (usize::BITS - 5);
    assert_eq!(bind(too_many / 2).unwrap().iterations(), too_many / 2);
    assert_eq!(
        bind(too_many).unwrap_err().to_string(),
        format!("{too_many} has more elements than this machine can address")
    );
}

/// Stages are cached by the dtypes and shapes of the values, and by the rules of types.
#[test]
fn stages_are_those_of_the_values_dtypes() {
    use unishape::expr::Typing;
    let (integers, floats) = (ndarray::arr1(&[7i32, -2]), ndarray::arr1(&[0.5f32, 4.0]));
    let promoted = Expr::parse("x[::-1] / 2").unwrap();
    let strict = promoted.clone().typed(Typing::Strict);
    for _ in 0..2 {
        assert_eq!(promoted.evaluate([("x", &integers)]).unwrap(), ndarray::arr1(&[-1.0, 3.5]).into());
        assert_eq!(strict.evaluate([("x", &integers)]).unwrap(), ndarray::arr1(&[-1i32, 3]).into());
        assert_eq!(promoted.evaluate([("x", &floats)]).unwrap(), ndarray::arr1(&[2f32, 0.25]).into());
        let other: ArrayD<i32> = ArrayD::zeros(IxDyn(&[3]));
        assert_eq!(promoted.evaluate([("x", &other)]).unwrap(), Array1::<f64>::zeros(3).into());
    }
}
