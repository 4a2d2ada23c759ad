//! Several expressions in one pass over memory.

use ndarray::{Array1, Array2, Array3, ArrayD, ArrayViewD, IxDyn, ShapeBuilder, s};
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::Tensor;
use unishape::expr::{Bound, Expr, ExprErrorKind, OutputMut, Value};

/// Large element-wise expressions share a pass over memory; small, transposed and unrelated ones do not.
#[test]
fn element_wise_expressions_share_a_pass() {
    let shape = (3, 1100, 1024);
    let a = Array3::from_shape_fn(shape, |(i, j, k)| ((i * 7 + j * 31 + k * 17) % 101) as f32 - 50.0);
    let b = a.mapv(|x| (x * 3.0) as i16);
    let c = a.mapv(|x| x > 3.0);
    let row = Array1::from_shape_fn(shape.2, |k| k as f64);
    let flipped = a.slice(s![.., ..;-1, ..]);
    let transposed = a.view().reversed_axes();
    let values = || {
        [
            ("a", Value::from(&a)),
            ("b", Value::from(&b)),
            ("c", Value::from(&c)),
            ("row", Value::from(&row)),
            ("flipped", Value::from(flipped)),
        ]
    };
    let texts =
        ["a + b", "a * 2", "row < a", "row * 3 + c", "flipped - a", "a[0] + 1", "row + 1", "flipped * 2"];
    let exprs = texts.map(|text| Expr::parse(text).unwrap());
    let bound = Expr::bind_all(&exprs, values()).unwrap();
    // `row * 3 + c` has no array in common with the first one, and `flipped` alone none with the others.
    let passes: [&[usize]; 5] = [&[0, 1, 2, 4], &[3], &[5], &[6], &[7]];
    assert_eq!(Bound::passes(&bound), passes);
    let expected: Vec<Tensor> = bound.iter().map(|bound| bound.compute().unwrap()).collect();
    assert_eq!(Bound::compute_all(&bound).unwrap(), expected);
    assert_eq!(Expr::evaluate_all(&exprs, values()).unwrap(), expected);
    let one_thread: Vec<Bound<'_>> = bound.iter().map(|bound| bound.clone().threads(1)).collect();
    assert_eq!(Bound::compute_all(&one_thread).unwrap(), expected);
    let mut sums = Array3::<f32>::zeros(shape);
    let (mut products, mut differences) = (sums.clone(), sums.clone());
    let mut is_less = Array3::from_elem(shape, false);
    let outs = vec![
        OutputMut::new(&mut sums),
        OutputMut::new(&mut products),
        OutputMut::new(&mut is_less),
        OutputMut::new(&mut differences),
    ];
    let members = [0, 1, 2, 4].map(|number| bound[number].clone().assume_fresh_output());
    Bound::compute_all_into(&members, outs, |_| true).unwrap();
    let computed: [Tensor; 4] = [sums.into(), products.into(), is_less.into(), differences.into()];
    for (number, computed) in [0, 1, 2, 4].into_iter().zip(computed) {
        assert_eq!(computed, expected[number], "{}", texts[number]);
    }
    // The rows of all expressions are too few, or are columns.
    let few: Vec<Bound<'_>> = bound[..3].iter().map(|bound| bound.slice_axis(1, 0..50)).collect();
    assert_eq!(Bound::passes(&few), [[0], [1], [2]]);
    let exprs = ["a + 1", "a * 2"].map(|text| Expr::parse(text).unwrap());
    let columns = Expr::bind_all(&exprs, [("a", transposed)]).unwrap();
    assert_eq!(Bound::passes(&columns), [[0], [1]]);
}

/// Results that are large enough to be allocated as fresh pages.
#[test]
fn fresh_results_of_a_shared_pass() {
    let x = Array1::from_shape_fn((1 << 23) + 5, |i| (i % 1000) as f32);
    let exprs = ["x + 1", "x * x"].map(|text| Expr::parse(text).unwrap());
    let results = Expr::evaluate_all(&exprs, [("x", &x)]).unwrap();
    assert_eq!(results, [x.mapv(|x| x + 1.0).into(), x.mapv(|x| x * x).into()]);
}

/// Outputs are checked, written in any layout, and left where the computation is stopped.
#[test]
fn a_shared_pass_writes_preallocated_arrays() {
    let (rows, columns) = (2500, 2000);
    let a = Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 97) as f32);
    let exprs = ["a + 1", "a > 40"].map(|text| Expr::parse(text).unwrap());
    let bound = Expr::bind_all(&exprs, [("a", &a)]).unwrap();
    assert_eq!(Bound::passes(&bound), [[0, 1]]);
    let (sum, is_large) = (a.mapv(|x| x + 1.0), a.mapv(|x| x > 40.0));
    for is_column_major in [false, true] {
        let mut first = Array2::<f32>::zeros((rows, columns).set_f(is_column_major));
        let mut second = Array2::from_elem((rows, 2 * columns), true);
        let iterations = AtomicUsize::new(0);
        {
            let mut reversed = second.slice_mut(s![..;-1, ..;2]);
            let outs = vec![OutputMut::new(&mut first), OutputMut::new(&mut reversed)];
            let count = |chunk| {
                iterations.fetch_add(chunk, Ordering::Relaxed);
                true
            };
            Bound::compute_all_into(&bound, outs, count).unwrap();
        }
        assert_eq!((&first, second.slice(s![..;-1, ..;2])), (&sum, is_large.view()));
        assert!(second.slice(s![.., 1..;2]).iter().all(|&element| element));
        assert_eq!(iterations.into_inner(), 2 * rows * columns);
    }
    // The first chunk runs both expressions or only one, on each thread.
    let (mut first, mut second) = (Array2::<f32>::zeros(a.dim()), Array2::from_elem(a.dim(), false));
    let outs = vec![OutputMut::new(&mut first), OutputMut::new(&mut second)];
    let error = Bound::compute_all_into(&bound, outs, |_| false).unwrap_err();
    assert_eq!(error.kind(), &ExprErrorKind::Stopped);
    assert!(second.iter().all(|&element| !element));
    let mut wrong = Array2::<f64>::zeros(a.dim());
    let outs = vec![OutputMut::new(&mut wrong), OutputMut::new(&mut second)];
    assert!(Bound::compute_all_into(&bound, outs, |_| true).is_err());
}

/// Elements whose sums are rounded.
fn inexact(shape: &[usize]) -> ArrayD<f32> {
    let mut number = 0u32;
    ArrayD::from_shape_simple_fn(shape, || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 8) as f32 / 3e6 - 2.5
    })
}

/// Shapes and bits of results, which tell 0 from -0 and equal NaN.
fn bits(results: &[Tensor]) -> Vec<(Vec<usize>, Vec<u32>)> {
    let bits = |result: &Tensor| match result {
        Tensor::F32(array) => {
            (array.shape().to_vec(), array.iter().map(|element| element.to_bits()).collect())
        }
        other => panic!("{}", other.dtype()),
    };
    results.iter().map(bits).collect()
}

/// Compares the results of a list of expressions of `x` with those of each alone, and returns its passes.
fn passes_of<const N: usize>(x: ArrayViewD<'_, f32>, texts: [&str; N]) -> Vec<Vec<usize>> {
    let exprs = texts.map(|text| Expr::parse(text).unwrap());
    let alone: Vec<Tensor> = exprs.iter().map(|expr| expr.evaluate([("x", x.clone())]).unwrap()).collect();
    let bound = Expr::bind_all(&exprs, [("x", x.clone())]).unwrap();
    for threads in [1, 2, 5] {
        let bound: Vec<Bound<'_>> = bound.iter().map(|bound| bound.clone().threads(threads)).collect();
        let results = Bound::compute_all(&bound).unwrap();
        for ((result, alone), text) in results.iter().zip(&alone).zip(texts) {
            assert!(
                bits(std::slice::from_ref(result)) == bits(std::slice::from_ref(alone)),
                "{text} of {:?}",
                x.shape()
            );
        }
    }
    Bound::passes(&bound)
}

/// What reductions of the same rows share is computed once, with the bits of each expression alone.
#[test]
fn reductions_of_the_same_rows_share_a_pass() {
    let x = inexact(&[500, 700]);
    let texts = [
        "layer_norm(x)",
        "mean(x, 1)",
        "exp(x[0])",
        "1 / sqrt(var(x, 1, keepdims=True) + 1e-5)",
        "softmax(x, 0)",
        "softmax(x) * 2",
        "logsumexp(x, 0)",
        "mean(x, 1)",
    ];
    let passes: [&[usize]; 3] = [&[0, 1, 3, 5, 7], &[2], &[4, 6]];
    assert_eq!(passes_of(x.view(), texts), passes);
    // Columns of the memory, and rows that are apart.
    let wide = inexact(&[300, 1400]);
    for x in [x.t(), wide.slice(s![.., ..;-2]).into_dyn()] {
        assert_eq!(passes_of(x, ["layer_norm(x)", "mean(x, 1)", "var(x, 1)"]), [[0, 1, 2]]);
    }
    // Rows of several axes, of one chunk each, and in the middle.
    let texts = ["layer_norm(x, axis=(1, 2))", "mean(x, (1, 2), keepdims=True)", "std(x, (1, 2))"];
    assert_eq!(passes_of(inexact(&[60, 50, 70]).view(), texts), [[0, 1, 2]]);
    assert_eq!(passes_of(inexact(&[5, 200, 210]).view(), texts), [[0, 1, 2]]);
    let texts = ["var(x, (0, 2))", "mean(x, (0, 2))", "layer_norm(x, axis=(0, 2))"];
    assert_eq!(passes_of(inexact(&[30, 64, 200]).view(), texts), [[0, 1, 2]]);
    // Elements that are computed: stages of their own pass them on.
    let texts = ["layer_norm(exp(x))", "mean(exp(x), 1)", "var(exp(x), 1)", "sum(softmax(x), 1)"];
    passes_of(x.view(), texts);
    let texts = ["layer_norm(exp(x), axis=(1, 2))", "mean(exp(x), (1, 2))", "var(exp(x), (1, 2))"];
    passes_of(inexact(&[60, 50, 70]).view(), texts);
    // All axes, and few elements: stages that are the same run once, without rows.
    for shape in [[300, 900], [3, 4], [1, 1]] {
        let texts = ["layer_norm(x, axis=(0, 1))", "mean(x)", "var(x)", "x - mean(x)"];
        assert_eq!(passes_of(inexact(&shape).view(), texts), [[0, 1, 2, 3]]);
    }
    // A stage needs a group that comes first.
    let texts = ["softmax(x - mean(softmax(x), 0))", "softmax(x)", "mean(softmax(x), 0)", "mean(x, 1)"];
    assert_eq!(passes_of(x.view(), texts), [[0, 1, 2, 3]]);
    let none: [&[usize]; 3] = [&[0], &[1], &[2]];
    assert_eq!(passes_of(x.view(), ["softmax(x)", "softmax(x[1:])", "x[0]"]), none);
    assert_eq!(passes_of(inexact(&[0, 3]).view(), ["mean(x, 1)", "mean(x, 1) + 1", "x[:, 0]"]), none);
}

/// The passes of two expressions of these arrays. Results that share one are compared with those of each alone.
fn passes_of_pair<const N: usize>(values: [(&str, &ArrayD<f32>); N], texts: [&str; 2]) -> Vec<Vec<usize>> {
    let exprs = texts.map(|text| Expr::parse(text).unwrap());
    let is_used = |name: &str| exprs.iter().flat_map(Expr::names).any(|own| own == name);
    let values =
        values.into_iter().filter(|(name, _)| is_used(name)).map(|(name, array)| (name, array.view()));
    let bound = Expr::bind_all(&exprs, values).unwrap();
    let passes = Bound::passes(&bound);
    if passes.len() == 1 {
        let alone = bound.iter().map(|bound| bound.compute().unwrap()).collect::<Vec<_>>();
        assert!(bits(&Bound::compute_all(&bound).unwrap()) == bits(&alone), "{texts:?}");
    }
    passes
}

/// Stages run together where they read the same rows of an array: as many, in the same order, in the same dimension.
#[test]
fn reductions_of_other_rows_do_not_share_a_pass() {
    let (x, y, v) = (inexact(&[400, 400]), inexact(&[400, 400]), inexact(&[400]));
    let values = [("x", &x), ("y", &y), ("v", &v)];
    for texts in [
        ["layer_norm(x)", "softmax(x[:350])"],
        ["layer_norm(x)", "softmax(x[::-1])"],
        ["layer_norm(x)", "softmax(x.T)"],
        ["layer_norm(x)", "softmax(x[:, :350])"],
        ["layer_norm(x)", "softmax(x - mean(x, 0))"],
        ["softmax(x)", "softmax(y)"],
        // The same rows of another array.
        ["softmax(x)", "softmax(y + x.T)"],
        // The same row each time.
        ["softmax(x + v)", "softmax(y + v)"],
    ] {
        assert_eq!(passes_of_pair(values, texts), [[0], [1]], "{texts:?}");
    }
    for texts in [
        ["x - max(x, 1, keepdims=True)", "y - min(x + y, 1, keepdims=True)"],
        ["x - max(x + v[:, None], 1, keepdims=True)", "y - min(y + v[:, None], 1, keepdims=True)"],
    ] {
        assert_eq!(passes_of_pair(values, texts), [[0, 1]], "{texts:?}");
    }
}

/// A stage that needs all rows of another one, or rows of it in another order, runs after that.
#[test]
fn stages_of_a_shared_pass_run_after_what_they_need() {
    let x = inexact(&[400, 400]);
    let sums = "sum(x * max(x, 1, keepdims=True), 1)";
    let reversed = &format!("x - max(x * {sums}[::-1, None], 1, keepdims=True)");
    for texts in [[sums, reversed], [reversed, sums]] {
        assert_eq!(passes_of_pair([("x", &x)], texts), [[0, 1]], "{texts:?}");
    }
}

/// What equal expressions compute is computed once, to the last stage.
#[test]
fn equal_expressions_take_as_many_iterations_as_one() {
    let x = inexact(&[200, 30]);
    for text in ["sum(x) / 3 + 1", "exp(mean(x, 0)) - 1", "max(sum(x * 2, 0) - 1)", "layer_norm(x)"] {
        let expr = Expr::parse(text).unwrap();
        let bound = Expr::bind_all(&[expr.clone(), expr], [("x", x.view())]).unwrap();
        let mut results = [bound[0].zeros().unwrap(), bound[1].zeros().unwrap()];
        let iterations = AtomicUsize::new(0);
        let count = |chunk| {
            iterations.fetch_add(chunk, Ordering::Relaxed);
            true
        };
        let outs = results.iter_mut().filter_map(OutputMut::of_tensor).collect();
        Bound::compute_all_into(&bound, outs, count).unwrap();
        assert_eq!(iterations.into_inner(), bound[0].iterations(), "{text}");
        let alone = bits(&[bound[0].compute().unwrap()]);
        assert!(results.iter().all(|result| bits(std::slice::from_ref(result)) == alone), "{text}");
    }
}

/// Eight expressions at most run row by row together.
#[test]
fn many_reductions_of_the_same_rows_are_several_passes() {
    let x = inexact(&[300, 500]);
    let exprs: Vec<Expr> =
        (0..10).map(|number| Expr::parse(&format!("softmax(x * {}.0)", number + 1)).unwrap()).collect();
    let bound = Expr::bind_all(&exprs, [("x", x.view())]).unwrap();
    assert_eq!(Bound::passes(&bound), [(0..8).collect(), vec![8, 9]]);
}

/// Whether an expression is element-wise, and its work is large enough for several threads.
#[test]
fn kinds_and_sizes_of_expressions() {
    let (few, many) = (Array2::<f64>::zeros((10, 10)), Array2::<f64>::zeros((1000, 1000)));
    for (text, is_element_wise) in
        [("x * 2 + 1", true), ("x.T * 2", false), ("sum(x, 1)", false), ("max(x)", false)]
    {
        for (x, is_parallel) in [(&few, false), (&many, true)] {
            let bound = Expr::parse(text).unwrap().bind([("x", x)]).unwrap();
            assert_eq!(
                (bound.is_element_wise(), bound.is_parallel()),
                (is_element_wise, is_parallel),
                "{text}"
            );
        }
    }
}

/// Reductions of one stage have blocks of other sizes than those of each alone: sums of long rows are rounded differently.
#[test]
fn joint_sums_are_those_of_each_alone_within_the_bound() {
    for (shape, axis) in [([20, 30_000], "1"), ([20, 30_000], "None"), ([300, 500], "1"), ([3000, 40], "0")] {
        let x = inexact(&shape);
        let texts = ["sum(x * x, axis)", "sum(exp(x), axis)", "max(x, axis)"];
        let exprs = texts.map(|text| Expr::parse(&text.replace("axis", axis)).unwrap());
        let joint = Expr::evaluate_all(&exprs, [("x", x.view())]).unwrap();
        for (joint, expr) in joint.iter().zip(&exprs) {
            let alone = expr.evaluate([("x", x.view())]).unwrap();
            let (Tensor::F32(joint), Tensor::F32(alone)) = (joint, &alone) else { panic!("other dtypes") };
            for (joint, alone) in joint.iter().zip(alone) {
                // Of positive numbers, as docs/accuracy.md states it.
                assert!(
                    (joint - alone).abs() <= 20.0 * f32::EPSILON / 2.0 * alone.abs(),
                    "{joint} and {alone}"
                );
            }
        }
        assert_eq!(joint[2], exprs[2].evaluate([("x", x.view())]).unwrap());
    }
}

/// The iterations of what is shared are counted once, and outputs have any layout.
#[test]
fn shared_stages_write_preallocated_arrays() {
    let x = inexact(&[400, 600]);
    let exprs = ["layer_norm(x)", "mean(x, 1)", "mean(x, 1)"].map(|text| Expr::parse(text).unwrap());
    let bound = Expr::bind_all(&exprs, [("x", x.view())]).unwrap();
    let expected = bits(&bound.iter().map(|bound| bound.compute().unwrap()).collect::<Vec<_>>());
    let mut normalized = ArrayD::<f32>::zeros(IxDyn(&[400, 600]).f());
    let (mut means, mut all) = (ArrayD::<f32>::zeros(IxDyn(&[400])), Array2::<f32>::zeros((400, 3)));
    let iterations = AtomicUsize::new(0);
    let count = |chunk| {
        iterations.fetch_add(chunk, Ordering::Relaxed);
        true
    };
    {
        let mut every_third = all.slice_mut(s![..;-1, 1]);
        let outs = vec![
            OutputMut::new(&mut normalized),
            OutputMut::new(&mut means),
            OutputMut::new(&mut every_third),
        ];
        Bound::compute_all_into(&bound, outs, count).unwrap();
    }
    let results = [
        normalized.as_standard_layout().to_owned().into(),
        means.into(),
        all.slice(s![..;-1, 1]).to_owned().into(),
    ];
    assert!(bits(&results) == expected);
    // Sums, squares and the result of the first, and the quotients of the sums.
    assert!(iterations.into_inner() <= bound[0].iterations() + 3 * 400);
    let mut other = ArrayD::<f32>::zeros(IxDyn(&[400]));
    let outs = vec![OutputMut::new(&mut normalized), OutputMut::new(&mut other)];
    let error = Bound::compute_all_into(&bound[..2], outs, |_| false).unwrap_err();
    assert_eq!(error.kind(), &ExprErrorKind::Stopped);
}

/// A stage that reads a copy with two loops swapped does not give that copy to other stages of its pass.
#[test]
fn copies_of_one_expression_are_not_those_of_another() {
    let (a, b) = (inexact(&[300, 64]), inexact(&[200, 64]).mapv(|x| x * 0.01));
    let texts = ["sqrt(sum((a[:, None] - b)**2, -1))", "log(sum(exp(a[:, None] * 0.01 * b), -1))"];
    let exprs = texts.map(|text| Expr::parse(text).unwrap());
    let bound = Expr::bind_all(&exprs, [("a", a.view()), ("b", b.view())]).unwrap();
    let alone: Vec<Tensor> = bound.iter().map(|bound| bound.compute().unwrap()).collect();
    assert!(bits(&Bound::compute_all(&bound).unwrap()) == bits(&alone));
}

/// A chain of expressions, of which each shares a stage with the next one, is computed in passes of limited length.
#[test]
fn long_chains_are_several_passes() {
    let arrays: Vec<ArrayD<f32>> = (0..151).map(|number| inexact(&[40, 30 + number % 3])).collect();
    let names: Vec<String> = (0..151).map(|number| format!("x{number}")).collect();
    let text = |number: usize| format!("sum(x{number}) * sum(x{})", number + 1);
    let exprs: Vec<Expr> = (0..150).map(|number| Expr::parse(&text(number)).unwrap()).collect();
    let values = names.iter().map(String::as_str).zip(arrays.iter().map(|array| array.view()));
    let bound = Expr::bind_all(&exprs, values).unwrap();
    let passes = Bound::passes(&bound);
    let longest = passes.iter().map(Vec::len).max();
    assert!((2..=64).contains(&longest.unwrap()), "{longest:?}");
    let mut numbers = passes.concat();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..150));
    let alone: Vec<Tensor> = bound.iter().map(|bound| bound.compute().unwrap()).collect();
    assert!(bits(&Bound::compute_all(&bound).unwrap()) == bits(&alone));
}

/// A pass has at most eight element-wise expressions; plans name the others of it.
#[test]
fn plans_name_the_other_results_of_a_pass() {
    let a = Array1::<f64>::zeros(1 << 20);
    let exprs: Vec<Expr> = (0..10).map(|number| Expr::parse(&format!("a + {number}")).unwrap()).collect();
    let bound = Expr::bind_all(&exprs, [("a", &a)]).unwrap();
    assert_eq!(Bound::passes(&bound), [(0..8).collect::<Vec<_>>(), vec![8], vec![9]]);
    // Three results and the array take 32 MiB, which is large enough.
    assert_eq!(Bound::passes(&bound[8..]), [[0], [1]]);
    assert_eq!(Bound::passes(&bound[7..]), [[0, 1, 2]]);
    let plans = Bound::plans(&bound[6..]);
    for (plan, others) in plans.iter().zip(["2, 3, 4", "1, 3, 4", "1, 2, 4", "1, 2, 3"]) {
        assert!(plan.ends_with(&format!("in one pass with results {others}\n")), "{plan}");
    }
    assert!(Bound::plans(&bound[8..]).iter().all(|plan| !plan.contains("in one pass")));
    let x = Array2::<f32>::zeros((3, 4));
    let exprs = ["mean(x, 1)", "x + 1", "var(x, 1)"].map(|text| Expr::parse(text).unwrap());
    let plans = Bound::plans(&Expr::bind_all(&exprs, [("x", &x)]).unwrap());
    assert!(plans[0].ends_with("in one pass with result 3\n"), "{}", plans[0]);
    assert!(!plans[1].contains("in one pass"), "{}", plans[1]);
    assert!(plans[2].ends_with("in one pass with result 1\n"), "{}", plans[2]);
}

/// Outputs of the right dtypes and shapes, without elements yet.
#[test]
fn zeros_of_the_result() {
    let a = ndarray::arr2(&[[1u8, 2, 3]]);
    for text in ["a", "a > 1", "float16(a)", "bfloat16(a)", "complex64(a) * 1j", "sum(a, 0)", "a[0, 0] + 1j"]
    {
        let bound = Expr::parse(text).unwrap().bind([("a", &a)]).unwrap();
        let zeros = bound.zeros().unwrap();
        let expected = bound.compute().unwrap();
        assert_eq!((zeros.dtype(), zeros.shape()), (expected.dtype(), expected.shape()), "{text}");
        assert_ne!(zeros, expected, "{text}");
        let mut out = zeros;
        let outs = vec![OutputMut::of_tensor(&mut out).unwrap()];
        Bound::compute_all_into(std::slice::from_ref(&bound), outs, |_| true).unwrap();
        assert_eq!(out, expected, "{text}");
    }
}

/// An output that does not fit is reported before anything is computed.
#[test]
fn outputs_of_several_expressions_are_checked() {
    let a = ndarray::arr1(&[1, 2]);
    let exprs = ["a + 1", "sum(a)"].map(|text| Expr::parse(text).unwrap());
    let bound = Expr::bind_all(&exprs, [("a", &a)]).unwrap();
    let (mut first, mut second) = (ndarray::arr1(&[0, 0]), ndarray::arr1(&[0i64]));
    let outs = vec![OutputMut::new(&mut first), OutputMut::new(&mut second)];
    let error = Bound::compute_all_into(&bound, outs, |_| true).unwrap_err();
    assert!(matches!(error.kind(), ExprErrorKind::OutputShape { .. }), "{error}");
    assert_eq!(first, ndarray::arr1(&[0, 0]));
    assert!(OutputMut::of_tensor(&mut ndarray::arr1(&[String::new()]).into()).is_none());
    let without = || Bound::compute_all_into(&bound, Vec::new(), |_| true).is_ok();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(without)).is_err());
}

/// A stretched array is not large. Strides of axes of size 1 make no difference.
#[test]
fn expressions_with_a_large_array_in_common_share_a_pass() {
    let [a, b] = [0; 2].map(|_| Array2::<f32>::zeros((4096, 2048)));
    let row = Array1::<f32>::zeros(2048);
    let long = Array1::<f32>::zeros(1 << 23);
    let column = Array2::<f32>::zeros((1, 1 << 23)).reversed_axes();
    let passes = |texts: [&str; 2], values: &[(&str, ArrayViewD<'_, f32>)]| {
        let exprs = texts.map(|text| Expr::parse(text).unwrap());
        Bound::passes(&Expr::bind_all(&exprs, values.iter().map(|(name, view)| (name, view))).unwrap())
    };
    let (all, each): ([&[usize]; 1], [&[usize]; 2]) = ([&[0, 1]], [&[0], &[1]]);
    let values = [("a", a.view().into_dyn()), ("b", b.view().into_dyn()), ("row", row.view().into_dyn())];
    assert_eq!(passes(["row + a", "row * b"], &values), each);
    assert_eq!(passes(["row + a", "a * b"], &values), all);
    // An axis of size 1, with a stride of 0 or of the whole array.
    let stretched = long.broadcast((1, 1 << 23)).unwrap().into_dyn();
    assert_eq!(stretched.strides(), [0, 1]);
    assert_eq!(passes(["a + 1", "a * 2"], &[("a", stretched)]), all);
    assert_eq!(column.strides(), [1, 1 << 23]);
    assert_eq!(passes(["a + 1", "a * 2"], &[("a", column.view().into_dyn())]), all);
    // The arrays take less than 32 MiB, unless the row counts as a matrix.
    let values = [("a", a.slice(s![..1200, ..]).into_dyn()), ("row", row.view().into_dyn())];
    assert_eq!(passes(["row + a", "a * row"], &values), each);
}

/// Each chunk is computed by all expressions before the next one, where outputs have the order of the loops.
#[test]
fn expressions_of_a_pass_advance_together() {
    let a = Array2::<f32>::zeros((2500, 2000));
    let exprs = ["a + 1", "a + 2"].map(|text| Expr::parse(text).unwrap());
    let bound = Expr::bind_all(&exprs, [("a", &a)]).unwrap().into_iter().map(|bound| bound.threads(1));
    let bound: Vec<Bound<'_>> = bound.collect();
    assert_eq!(Bound::passes(&bound), [[0, 1]]);
    for is_column_major in [false, true] {
        let mut outs = [0; 2].map(|_| Array2::<f32>::zeros(a.raw_dim().set_f(is_column_major)));
        let calls = AtomicUsize::new(0);
        let should_continue = |_| calls.fetch_add(1, Ordering::Relaxed) == 0;
        let outputs = outs.iter_mut().map(|out| OutputMut::new(out)).collect();
        let error = Bound::compute_all_into(&bound, outputs, should_continue).unwrap_err();
        assert_eq!(error.kind(), &ExprErrorKind::Stopped);
        let started = outs.map(|out| out[[0, 0]]);
        assert_eq!(started, if is_column_major { [1.0, 0.0] } else { [1.0, 2.0] }, "{is_column_major}");
    }
}
