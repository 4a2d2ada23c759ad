//! Views and reductions in expressions, compared with loops over indices.

use ndarray::{Array0, Array1, Array2, Array3, ArrayD, ArrayView1, Axis, IxDyn, arr0, arr1, arr2, s};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::expr::{Bound, Expr, Value, lazy};
use unishape::{DType, Tensor};

fn evaluate<'a, const N: usize>(text: &str, values: [(&str, Value<'a>); N]) -> Tensor {
    Expr::parse(text).unwrap().evaluate(values).unwrap()
}

fn error<'a, const N: usize>(text: &str, values: [(&str, Value<'a>); N]) -> String {
    Expr::parse(text).unwrap().bind(values).unwrap_err().to_string()
}

fn table() -> Array3<f64> {
    Array3::from_shape_fn((3, 4, 5), |(i, j, k)| ((i * 31 + j * 17 + k * 7) % 23) as f64 - 9.5)
}

#[test]
fn views_are_those_of_ndarray() {
    let x = table();
    let v = |text: &str| evaluate(text, [("x", Value::from(&x))]);
    assert_eq!(v("x[1]"), x.slice(s![1, .., ..]).to_owned().into());
    assert_eq!(v("x[1:, ::-1]"), x.slice(s![1.., ..;-1, ..]).to_owned().into());
    assert_eq!(v("x[..., 0]"), x.slice(s![.., .., 0]).to_owned().into());
    assert_eq!(v("x[:, None, 2]"), x.slice(s![.., 2, ..]).to_owned().insert_axis(Axis(1)).into());
    assert_eq!(v("x.T"), x.t().as_standard_layout().to_owned().into());
    assert_eq!(v("x.T[4, ::2, -1]"), x.slice(s![2, ..;2, 4]).to_owned().into());
    assert_eq!(
        v("transpose(x, (2, 0, 1))"),
        x.view().permuted_axes([2, 0, 1]).as_standard_layout().to_owned().into()
    );
    assert_eq!(v("swapaxes(x, 0, -1)[0]"), v("x.T[0]"));
    assert_eq!(v("squeeze(expand_dims(x, (0, -1)))"), x.clone().into());
    assert_eq!(v("(x + 1)[0, 1:3]"), (x.slice(s![0, 1..3, ..]).to_owned() + 1.0).into());
    assert_eq!(v("broadcast_to(x[0, 0], (2, 5)) * 2"), {
        let row = x.slice(s![0, 0, ..]).to_owned() * 2.0;
        row.broadcast((2, 5)).unwrap().to_owned().into()
    });
}

#[test]
fn views_of_views_read_the_right_elements() {
    let x = table();
    let values = || [("x", Value::from(&x))];
    // A slice of a sum of stretched views.
    let expected = {
        let (a, b) = (x.slice(s![.., 0, ..]), x.slice(s![0, 0, ..]));
        (&a - &b).slice(s![..;-2, 1..]).to_owned()
    };
    assert_eq!(evaluate("(x[:, 0] - x[0, 0])[::-2, 1:]", values()), expected.into());
    // Nothing is left.
    assert_eq!(evaluate("x[3:] + x[:0]", values()), Array3::<f64>::zeros((0, 4, 5)).into());
    assert_eq!(evaluate("x[:, 2:5:-9].T", values()).shape(), [5, 0, 3]);
}

#[test]
fn reductions_of_small_arrays() {
    let x = arr2(&[[1, 5, 3], [4, 2, 6]]);
    let v = |text: &str| evaluate(text, [("x", Value::from(&x))]);
    assert_eq!(v("sum(x)"), ndarray::arr0(21i64).into());
    assert_eq!(v("sum(x, 0)"), arr1(&[5i64, 7, 9]).into());
    assert_eq!(v("x.sum(axis=-1, keepdims=True)"), arr2(&[[9i64], [12]]).into());
    assert_eq!(v("prod(x, 1)"), arr1(&[15i64, 48]).into());
    assert_eq!(v("min(x, 1)"), arr1(&[1, 2]).into());
    assert_eq!(v("max(x)"), ndarray::arr0(6).into());
    assert_eq!(v("mean(x, (0, 1))"), ndarray::arr0(3.5).into());
    assert_eq!(v("var(x, 0)"), arr1(&[2.25, 2.25, 2.25]).into());
    assert_eq!(v("std(x, 0, ddof=1)"), arr1(&[4.5f64.sqrt(); 3]).into());
    assert_eq!(v("argmax(x, 1)"), arr1(&[1i64, 2]).into());
    assert_eq!(v("argmin(x)"), ndarray::arr0(0i64).into());
    assert_eq!(v("any(x > 5, 1)"), arr1(&[false, true]).into());
    assert_eq!(v("all(x > 1, 0)"), arr1(&[false, true, true]).into());
    assert_eq!(v("count_nonzero(x % 2, 1)"), arr1(&[3i64, 0]).into());
    assert_eq!(v("norm(x, 1, axis=0)"), arr1(&[5.0, 7.0, 9.0]).into());
    assert_eq!(v("norm(x, inf)"), ndarray::arr0(6.0).into());
    assert_eq!(v("sum(x, where=x > 2)"), ndarray::arr0(18i64).into());
    assert_eq!(v("mean(x, 1, where=x > 2)"), arr1(&[4.0, 5.0]).into());
    assert_eq!(v("max(x, 0, where=x < 4, initial=-1)"), arr1(&[1, 2, 3]).into());
    assert_eq!(v("sum(x, initial=100)"), ndarray::arr0(121i64).into());
    // No axis: nothing is reduced.
    assert_eq!(v("sum(x, ())"), x.mapv(i64::from).into());
    // A single number.
    assert_eq!(evaluate("sum(2.5) + max(1)", []), ndarray::arr0(3.5).into());
}

#[test]
fn results_of_reductions_have_the_dtypes_of_numpy() {
    let dtype = |text: &str, value: Tensor| Expr::parse(text).unwrap().bind([("x", &value)]).unwrap().dtype();
    let (bytes, halves) = (Tensor::from(arr1(&[200u8, 100])), Tensor::from(arr1(&[half::f16::ONE; 3])));
    assert_eq!(dtype("sum(x)", bytes.clone()), DType::U64);
    assert_eq!(dtype("mean(x)", bytes.clone()), DType::F64);
    assert_eq!(dtype("max(x)", bytes.clone()), DType::U8);
    assert_eq!(dtype("argmax(x)", bytes.clone()), DType::I64);
    assert_eq!(dtype("sum(x, dtype=float32)", bytes), DType::F32);
    assert_eq!(dtype("sum(x)", halves.clone()), DType::F16);
    assert_eq!(dtype("var(x)", halves), DType::F16);
    assert_eq!(dtype("sum(x)", arr1(&[true]).into()), DType::I64);
}

#[test]
fn nan_is_the_first_extreme_and_propagates() {
    let x = arr1(&[1.0, f64::NAN, -3.0, f64::NAN]);
    assert_eq!(evaluate("argmin(x)", [("x", Value::from(&x))]), ndarray::arr0(1i64).into());
    assert_eq!(evaluate("argmax(x)", [("x", Value::from(&x))]), ndarray::arr0(1i64).into());
    assert_eq!(evaluate("isnan(max(x))", [("x", Value::from(&x))]), ndarray::arr0(true).into());
}

/// Along every axis and over all, in arrays whose memory has another order than their indices, with many equal elements,
/// some NaN, and on any number of threads.
#[test]
fn positions_of_extreme_elements_in_any_layout() {
    let shapes =
        [[1, 1, 1], [3, 5, 7], [2, 70, 300], [20, 3, 1500], [260, 1, 33], [9000, 2, 5], [1, 2, 20_000]];
    for (case, shape) in shapes.into_iter().enumerate() {
        let element = |index: usize| match (index * 7919 + case) % 5003 {
            17 if case % 2 == 1 => f32::NAN,
            number => (number % 251) as f32,
        };
        let mut number = 0;
        let base = Array3::from_shape_simple_fn(shape, || {
            number += 1;
            element(number)
        });
        let views = [
            base.view(),
            base.view().reversed_axes(),
            base.view().permuted_axes([1, 0, 2]),
            base.slice(s![..;-1, .., ..;-1]),
            base.slice(s![.., ..;2, ..;3]),
        ];
        for view in views {
            for name in ["argmin", "argmax"] {
                let is_before = |a: f32, b: f32| {
                    !b.is_nan() && (a.is_nan() || if name == "argmin" { a < b } else { a > b })
                };
                let first = |elements: &mut dyn Iterator<Item = f32>| {
                    let mut best = (0, f32::NAN);
                    for (at, element) in elements.enumerate() {
                        if at == 0 || is_before(element, best.1) {
                            best = (at as i64, element);
                        }
                    }
                    best.0
                };
                let mut expected: Vec<(String, Tensor)> = Vec::new();
                expected.push((format!("{name}(x)"), ndarray::arr0(first(&mut view.iter().copied())).into()));
                for axis in 0..3 {
                    let found = view.map_axis(Axis(axis), |lane| first(&mut lane.iter().copied()));
                    // Of a computed array, along rows that another stage reduces. Where one is NaN, all become NaN.
                    let text = format!("{name}(x - 0 * max(x, {axis}, keepdims=True), {axis})");
                    let has_nan = view.map_axis(Axis(axis), |lane| lane.iter().any(|x| x.is_nan()));
                    let computed = ndarray::Zip::from(&found).and(&has_nan);
                    let computed = computed.map_collect(|&at, &has_nan| if has_nan { 0 } else { at });
                    expected.extend([(format!("{name}(x, {axis})"), found.into()), (text, computed.into())]);
                }
                for threads in [1, 2, 5] {
                    for (text, expected) in &expected {
                        let bound = Expr::parse(text).unwrap().bind([("x", Value::from(&view))]).unwrap();
                        assert_eq!(
                            bound.threads(threads).compute().unwrap(),
                            *expected,
                            "{text} of {shape:?}"
                        );
                    }
                }
            }
        }
    }
}

/// One stage, which reads its input once.
#[test]
fn positions_are_found_in_one_stage() {
    let x = Array2::<f32>::zeros((40, 50));
    let plan = Expr::parse("argmax(x * 2, 1)").unwrap().bind([("x", Value::from(&x))]).unwrap().plan();
    assert!(plan.contains("argmax of t1 along axis 1") && !plan.contains("stage 2"), "{plan}");
    // Two of them that share nothing but the indices stay apart.
    let y = x.clone();
    let values = [("x", Value::from(&x)), ("y", Value::from(&y))];
    let plan = Expr::parse("argmin(x, 1) + argmin(y, 1)").unwrap().bind(values).unwrap().plan();
    assert!(plan.contains("stage 3"), "{plan}");
}

#[test]
fn empty_axes() {
    let x = Array2::<f32>::zeros((0, 3));
    let values = || [("x", Value::from(&x))];
    assert_eq!(evaluate("sum(x, 0)", values()), Array1::<f32>::zeros(3).into());
    assert_eq!(evaluate("prod(x, 0)", values()), Array1::<f32>::ones(3).into());
    assert_eq!(evaluate("all(x, 0)", values()), arr1(&[true; 3]).into());
    // No result, so nothing is undefined.
    assert_eq!(evaluate("max(x, 1)", values()), Array1::<f32>::zeros(0).into());
    assert_eq!(evaluate("max(x, 0, initial=7)", values()), arr1(&[7f32; 3]).into());
    assert_eq!(
        error("max(x, 0)", values()),
        "max of no elements is not defined: an axis that is reduced has size 0; give a value to start with, as \
         initial=\n  max(x, 0)\n  ^^^"
    );
    assert_eq!(
        error("argmin(x)", values()),
        "argmin of no elements is not defined: an axis that is reduced has size 0\n  argmin(x)\n  ^^^^^^"
    );
}

#[test]
fn errors_name_the_axis() {
    let x = arr2(&[[1, 2, 3]]);
    let e = |text: &str| error(text, [("x", Value::from(&x))]).lines().next().unwrap().to_owned();
    assert_eq!(e("sum(x, 2)"), "axis 2 is out of bounds for an array with 2 dimensions; axes are -2 to 1");
    assert_eq!(e("sum(x, (0, -2))"), "axis -2 is given twice");
    assert_eq!(e("squeeze(x, 1)"), "axis 1 has size 3; only axes of size 1 can be squeezed");
    assert_eq!(e("x[0, 0, 0]"), "3 indices for an array with 2 dimensions");
    assert_eq!(e("min(x, 2)"), format!("{}; the smaller of two values is minimum(x, 2)", e("sum(x, 2)")));
    assert_eq!(e("min(x, axis=2)"), e("sum(x, 2)"));
    assert_eq!(e("x.max(2)"), e("max(x, axis=2)"));
    assert_eq!(e("x[:, 3]"), "index 3 is out of bounds for axis 1 with size 3");
    assert_eq!(e("transpose(x, (0,))"), "1 axis given for an array with 2 dimensions; give each axis once");
    assert_eq!(e("max(x, where=x > 1)"), "max with where= needs a value to start with; give initial=");
    assert_eq!(e("sum(x, where=x)"), "where= takes booleans, not int32; write where=mask != 0");
    assert!(
        e("x + x[:, :2]").starts_with("E1: incompatible shapes in dimension 1: x has 3, operand 2 has 2")
    );
    let size = usize::MAX >> 8;
    assert_eq!(
        e(&format!("sum(broadcast_to(x, ({size}, {size}, 1, 3)))")),
        format!("{size}x{size}x1x3 has more elements than this machine can address")
    );
    assert!(e("broadcast_to(x, (2, 4))").starts_with("cannot broadcast 1x3 to 2x4"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Sums and maxima along any axes of transposed, reversed and stretched views, against loops over indices.
    #[test]
    fn any_axes_of_any_view(
        shape in prop::collection::vec(0usize..6, 0..4),
        axes in prop::collection::vec(any::<bool>(), 4),
        reverse in prop::collection::vec(any::<bool>(), 4),
        keep_dims in any::<bool>(),
        transposed in any::<bool>(),
    ) {
        let mut number = 0i64;
        let x = ArrayD::from_shape_simple_fn(IxDyn(&shape), || { number += 1; number * number % 37 - 11 });
        let index: Vec<&str> = reverse[..shape.len()].iter().map(|&r| if r { "::-1" } else { ":" }).collect();
        let index = if index.is_empty() { String::new() } else { format!("[{}]", index.join(", ")) };
        let t = if transposed { ".T" } else { "" };
        let reduced: Vec<usize> = (0..shape.len()).filter(|&axis| axes[axis]).collect();
        let list: String = reduced.iter().map(|axis| format!("{axis},")).collect();
        let text = format!("sum(x{index}{t} * 3 + 1, ({list}), keepdims={})", if keep_dims { "True" } else { "False" });
        let result = evaluate(&text, [("x", Value::from(&x))]);
        let mut view = x.view();
        for (axis, _) in reverse[..shape.len()].iter().enumerate().filter(|&(_, &r)| r) {
            view.invert_axis(Axis(axis));
        }
        if transposed {
            view = view.reversed_axes();
        }
        let mut expected = view.mapv(|x| x * 3 + 1);
        for &axis in reduced.iter().rev() {
            expected = expected.sum_axis(Axis(axis));
            if keep_dims {
                expected.insert_axis_inplace(Axis(axis));
            }
        }
        prop_assert_eq!(result, Tensor::from(expected), "{}", text);
    }
}

/// Softmax, as loops over rows.
fn softmax(x: &Array2<f32>) -> Array2<f32> {
    let mut result = x.clone();
    for mut row in result.rows_mut() {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|&x| f64::from(x - largest).exp()).sum();
        row.mapv_inplace(|x| (f64::from(x - largest).exp() / sum) as f32);
    }
    result
}

/// Large enough to run row by row, on several threads.
#[test]
fn stages_run_row_by_row() {
    let x = Array2::from_shape_fn((700, 500), |(i, j)| ((i * 13 + j * 7) % 101) as f32 / 10.0);
    let expr = Expr::parse("softmax(x)").unwrap();
    let bound = expr.bind([("x", &x)]).unwrap();
    assert!(bound.plan().contains("stages together, 131 of 700 rows (axis 0 of stage"), "{}", bound.plan());
    let result = bound.compute().unwrap();
    let close = |result: &Tensor, expected: &Array2<f32>| match result {
        Tensor::F32(result) => result.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs()),
        _ => false,
    };
    assert!(close(&result, &softmax(&x)));
    // Any number of threads, and any part of the result, give the same bits.
    for threads in [1, 2, 5] {
        assert_eq!(bound.clone().threads(threads).compute().unwrap(), result);
    }
    let Tensor::F32(whole) = &result else { unreachable!("float32") };
    for (rows, columns) in [(0..700, 3..9), (131..262, 0..500), (5..5, 0..500)] {
        let part = bound.slice_axis(0, rows.clone()).slice_axis(1, columns.clone());
        let expected = whole.slice(s![rows, columns]).to_owned();
        match part.compute().unwrap() {
            Tensor::F32(part) => {
                assert!(part.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs()));
                assert_eq!(part.shape(), expected.shape());
            }
            other => panic!("{:?}", other.dtype()),
        }
    }
}

/// The sum of a kernel over all pairs, without an array of all pairs.
#[test]
fn nested_reductions() {
    let x = Array2::from_shape_fn((400, 3), |(i, j)| ((i * 7 + j * 3) % 19) as f64 / 19.0);
    let y = Array2::from_shape_fn((600, 3), |(i, j)| ((i * 5 + j * 11) % 23) as f64 / 23.0);
    let squared = |i: usize, j: usize| (0..3).map(|d| (x[(i, d)] - y[(j, d)]).powi(2)).sum::<f64>();
    let values = || [("x", Value::from(&x)), ("y", Value::from(&y))];
    let close = |result: Tensor, expected: ArrayD<f64>| match result {
        Tensor::F64(result) => {
            result.shape() == expected.shape()
                && result.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0))
        }
        _ => false,
    };
    let kernel = |i, j| (-squared(i, j)).exp();
    let rows = Array1::from_shape_fn(400, |i| (0..600).map(|j| kernel(i, j)).sum::<f64>());
    let columns = Array1::from_shape_fn(600, |j| (0..400).map(|i| kernel(i, j)).sum::<f64>());
    let text = "exp(-sum((x[:, None] - y)**2, -1))";
    assert!(close(evaluate(&format!("sum({text}, 1)"), values()), rows.clone().into_dyn()));
    assert!(close(evaluate(&format!("sum({text}, 0)"), values()), columns.into_dyn()));
    assert!(close(evaluate(&format!("sum({text})"), values()), ndarray::arr0(rows.sum()).into_dyn()));
    // A dimension that is too long to be unrolled: the distances of some rows are kept, not of all.
    let wide = Array2::from_shape_fn((300, 20), |(i, j)| ((i * 7 + j * 3) % 19) as f64 / 19.0);
    let expr = Expr::parse("sum(sqrt(sum((w[:, None] - w)**2, -1)), 1)").unwrap();
    let bound = expr.bind([("w", &wide)]).unwrap();
    assert!(bound.plan().contains("for each thread"), "{}", bound.plan());
    let expected = Array1::from_shape_fn(300, |i| {
        (0..300)
            .map(|j| (0..20).map(|d| (wide[(i, d)] - wide[(j, d)]).powi(2)).sum::<f64>().sqrt())
            .sum::<f64>()
    });
    assert!(close(bound.compute().unwrap(), expected.into_dyn()));
    let nearest = Array1::from_shape_fn(400, |i| {
        let distances: Vec<f64> = (0..600).map(|j| squared(i, j)).collect();
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        distances.iter().position(|&d| d == least).unwrap() as i64
    });
    let found = evaluate("argmin(sum((x[:, None] - y)**2, -1), 1)", values());
    let Tensor::I64(found) = found else { panic!("{:?}", found.dtype()) };
    // Rounding may make another one of two equally near points the nearest.
    let distance = |indices: &[i64]| -> Vec<f64> {
        indices.iter().enumerate().map(|(i, &j)| squared(i, j as usize)).collect()
    };
    let (found, nearest) = (distance(found.as_slice().unwrap()), distance(nearest.as_slice().unwrap()));
    assert!(found.iter().zip(&nearest).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn a_plan_lists_the_stages() {
    let x = Array2::<f32>::zeros((4, 10));
    let plan = Expr::parse("x / sum(x * 2, 1, keepdims=True)").unwrap().bind([("x", &x)]).unwrap().plan();
    assert_eq!(
        plan,
        "stage 1: 4 x 10 elements of float32
  t1 = multiply(x, 2)
  sum of t1 along axis 1
stage 2: 4 x 10 elements of float32
  t1 = divide(x, stage 1)
  write t1
reads 320 bytes, writes 160 bytes; intermediate results take 16 bytes
"
    );
}

/// Slices have the bits of the whole, whether stages run row by row or not.
#[test]
fn slices_equal_the_whole() {
    let x = Array2::from_shape_fn((700, 501), |(i, j)| ((i * 13 + j * 7) % 101) as f64 / 10.1);
    for text in
        ["softmax(x, 0)", "softmax(x, 1)", "x - mean(x)", "softmax(x.T, 0)", "var(x, 0, keepdims=True) * x"]
    {
        let bound = Expr::parse(text).unwrap().bind([("x", &x)]).unwrap();
        let (Tensor::F64(whole), rows) = (bound.compute().unwrap(), bound.shape()[0]) else {
            unreachable!("float64")
        };
        for step in [1, 100, 699] {
            for start in (0..rows).step_by(step).take(9) {
                let range = start..rows.min(start + step);
                let part = bound.slice_axis(0, range.clone()).compute().unwrap();
                let expected = whole.slice_axis(Axis(0), range.into()).to_owned();
                assert!(part == expected.into(), "{text} {start} {step}");
            }
        }
        let part = bound.slice_axis(0, 7..9).slice_axis(1, 2..300).slice_axis(1, 5..90).compute().unwrap();
        assert!(part == whole.slice(s![7..9, 7..92]).to_owned().into_dyn().into(), "{text}");
    }
}

#[test]
fn normalizations_of_lazy_values_are_those_of_texts() {
    let x = ArrayD::from_shape_fn(IxDyn(&[4, 5, 6]), |at| ((at[0] * 31 + at[1] * 7 + at[2] * 3) % 17) as f32);
    for (axes, text) in [(vec![-1], "-1"), (vec![0], "0"), (vec![1, 2], "(1, 2)")] {
        for (value, text) in [
            (lazy(&x).softmax(&axes[..]), format!("softmax(x, {text})")),
            (lazy(&x).log_softmax(&axes[..]), format!("log_softmax(x, {text})")),
            (lazy(&x).layer_norm(&axes[..], 0.5), format!("layer_norm(x, {text}, eps=0.5)")),
            (lazy(&x).rms_norm(&axes[..], 0.5), format!("rms_norm(x, {text}, eps=0.5)")),
        ] {
            let expected = Expr::parse(&text).unwrap().evaluate([("x", &x)]).unwrap();
            assert_eq!(expected.dtype(), DType::F32, "{text}");
            assert_eq!(value.compute().unwrap(), expected, "{text}");
        }
    }
}

/// Integers neither wrap nor overflow half precision, which squares and sums do not overflow either.
#[test]
fn normalizations_of_narrow_dtypes_are_computed_in_wider_ones() {
    let x =
        arr2(&[[1.0, 2.0, 3.0], [-128.0, 100.0, 127.0], [300.0, -300.0, 100.0], [1000.0, -1000.0, 500.0]]);
    let values = || [("x", Value::from(&x))];
    for (dtype, softmax, norm, tolerance) in [
        ("bool", "float16", "float64", 1e-3),
        ("int8", "float16", "float64", 1e-3),
        ("uint8", "float16", "float64", 1e-3),
        ("int16", "float32", "float64", 1e-6),
        ("uint16", "float32", "float64", 1e-6),
        ("int32", "float64", "float64", 0.0),
        ("uint64", "float64", "float64", 0.0),
        ("float16", "float16", "float16", 1e-3),
        ("bfloat16", "bfloat16", "bfloat16", 1e-2),
        ("float32", "float32", "float32", 1e-6),
        ("float64", "float64", "float64", 0.0),
        ("complex64", "complex64", "complex64", 1e-6),
    ] {
        for function in ["softmax", "log_softmax", "rms_norm", "layer_norm"] {
            let expected_dtype = if function.ends_with("softmax") { softmax } else { norm };
            let text = format!("{function}({dtype}(x))");
            assert_eq!(evaluate(&text, values()).dtype().name(), expected_dtype, "{text}");
            let wide = format!("{function}(float64({dtype}(x)))");
            let wide = if dtype.starts_with('c') { wide.replace("float64", "complex128") } else { wide };
            let difference = format!("max(abs(complex128({text}) - {wide}) / (1 + abs({wide})))");
            let Tensor::F64(difference) = evaluate(&difference, values()) else { panic!("{text}") };
            assert!(difference[[]] <= tolerance, "{text} differs by {difference}");
        }
    }
    // The sum of the squares or of the exponentials overflows half precision.
    let ones = Array1::from_elem(70_000, half::f16::ONE);
    for (text, expected) in [("softmax(x)", 1.0 / 70_000.0), ("rms_norm(x * 200)", 1.0)] {
        let Tensor::F16(result) = evaluate(text, [("x", Value::from(&ones))]) else { panic!("{text}") };
        assert!(result.iter().all(|&each| each == half::f16::from_f64(expected)), "{text}: {result}");
    }
}

/// Also where a slice leaves one iteration of a loop that is not reduced.
#[test]
fn slices_of_sums_have_the_bits_of_the_whole() {
    let mut failures = Vec::new();
    let mut number = 3u32;
    let mut check = |shape: [usize; 3], texts: &[&str]| {
        let x = ArrayD::<f32>::from_shape_simple_fn(IxDyn(&shape), || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 8) as f32 / 3e6 - 2.5
        });
        let part = x.slice(s![.., ..;-1, ..;2]).into_dyn();
        let layouts = [("C", x.view()), ("F", x.view().reversed_axes()), ("slice", part)];
        for (layout, x, text) in
            layouts.iter().flat_map(|(layout, x)| texts.iter().map(move |text| (layout, x, text)))
        {
            let bound = Expr::parse(text).unwrap().bind([("x", x.clone())]).unwrap();
            let Tensor::F32(whole) = bound.compute().unwrap() else { unreachable!("float32") };
            for (dim, &size) in whole.shape().iter().enumerate() {
                for range in [0..1, size - 1..size, size / 2..size / 2 + 2, 0..size / 3, 1..size] {
                    if range.end > size {
                        continue;
                    }
                    let part = bound.slice_axis(dim, range.clone()).compute().unwrap();
                    if part != whole.slice_axis(Axis(dim), range.clone().into()).to_owned().into() {
                        failures.push(format!("{shape:?} {layout} {text}: {range:?} of dimension {dim}"));
                    }
                }
            }
        }
    };
    let sums = ["sum(x, 0)", "sum(x, 1)", "sum(x, 2)", "sum(x, (0, 1))", "sum(x, (0, 2))", "sum(x, (1, 2))"];
    let others = [
        "sum(x * x, (0, 2), keepdims=True)",
        "sum(exp(x), 1)",
        "var(x, 1)",
        "mean(sum(x * x, 1), 1)",
        "x - mean(x, 1, keepdims=True)",
        "sum(abs(x[:, None] - x[:, :, None])**2, -1)",
    ];
    check([30, 60, 70], &[&sums[..], &others].concat());
    // More than a block, a task, and a vector; parts of tasks.
    check([3, 1500, 130], &[&sums[..], &others[..5]].concat());
    check([2, 3, 90_000], &[&sums[..], &others[..5]].concat());
    check([9, 1, 20_000], &sums);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn slices_share_the_results_of_earlier_stages() {
    let x = Array2::from_shape_fn((600, 500), |(i, j)| (i * 500 + j) as f64);
    for text in ["x - mean(x)", "softmax(x, axis=0)"] {
        let bound = Expr::parse(text).unwrap().bind([("x", &x)]).unwrap();
        let calls = || {
            let calls = AtomicUsize::new(0);
            let mut out = Array2::<f64>::zeros((1, 500));
            let count = |_| calls.fetch_add(1, Ordering::Relaxed) < usize::MAX;
            bound.slice_axis(0, 3..4).compute_while(&mut out, count).unwrap();
            calls.into_inner()
        };
        assert!(calls() > 1, "{text}");
        assert_eq!(calls(), 1, "{text}");
    }
}

/// Folds of the same loops that share an array are one stage.
#[test]
fn folds_along_the_same_axes_are_computed_in_one_pass() {
    let (a, b) = (Array2::from_shape_fn((40, 30), |(i, j)| (i * 7 + j * 3) as f64 % 11.0), table());
    let b = b.into_shape_with_order(60).unwrap().slice(s![..30]).to_owned();
    let values = || [("a", Value::from(&a)), ("b", Value::from(&b))];
    let plan = |text: &str| Expr::parse(text).unwrap().bind(values()).unwrap().plan();
    let cosine = "sum(a * b, 1) / sqrt(sum(a * a, 1) * sum(b**2 + 0 * a, 1))";
    assert_eq!(
        plan(cosine),
        "\
stage 1: 40 x 30 elements of float64, float64, float64
  t1 = multiply(a, b)
  t2 = multiply(a, a)
  t3 = multiply(0, a)
  t4 = multiply(b, b)
  t5 = add(t4, t3)
  result 1: sum of t1 along axis 1
  result 2: sum of t2 along axis 1
  result 3: sum of t5 along axis 1
stage 2: 40 elements of float64
  t1 = multiply(stage 1 result 2, stage 1 result 3)
  t2 = sqrt(t1)
  t3 = divide(stage 1 result 1, t2)
  write t3
reads 9.8 kB, writes 320 bytes; intermediate results take 960 bytes
"
    );
    let expected = {
        let sum = |array: Array2<f64>| array.sum_axis(Axis(1));
        let squares = (&b * &b).sum();
        sum(&a * &b) / (sum(&a * &a) * squares).mapv(f64::sqrt)
    };
    assert_eq!(evaluate(cosine, values()), expected.into());
    // Not where axes differ, where nothing is shared, or where one needs the other.
    for text in ["sum(a, 0)[:, None] + sum(a, 1)[:30]", "sum(a * 2) + sum(b * 2)", "sum(a - max(a))"] {
        let values = values().into_iter().filter(|(name, _)| text.contains(&format!("({name}")));
        let plan = Expr::parse(text).unwrap().bind(values).unwrap().plan();
        assert!(!plan.contains("result 2"), "{plan}");
    }
}

/// Reductions of several expressions are computed when the first one is.
#[test]
fn several_expressions_read_memory_once() {
    let x = Array2::from_shape_fn((300, 200), |(i, j)| ((i * 31 + j * 17) % 97) as f64 - 40.0);
    let w = Array1::from_shape_fn(200, |j| j as f64 % 5.0);
    let texts =
        ["sum(x * w, 1)", "max(x, 1)", "x[0] + 1", "min(x, 1, keepdims=True) / 2", "w * 2", "argmax(x, 0)"];
    let exprs = texts.map(|text| Expr::parse(text).unwrap());
    let values = || [("w", Value::from(&w)), ("x", Value::from(&x))];
    let bound = Expr::bind_all(&exprs, values()).unwrap();
    for (number, is_joint) in [true, true, false, true, false, false].into_iter().enumerate() {
        let plan = bound[number].plan();
        assert_eq!(plan.contains("in one pass with 2 results of other expressions"), is_joint, "{plan}");
    }
    for (text, bound) in texts.iter().zip(&bound) {
        let names = Expr::parse(text).unwrap().names().to_vec();
        let alone = values().into_iter().filter(|(name, _)| names.iter().any(|own| own == name));
        let expected = Expr::parse(text).unwrap().evaluate(alone).unwrap();
        assert_eq!(bound.compute().unwrap(), expected, "{text}");
        // A part of it, and once more.
        if bound.shape().first() == Some(&300) {
            let part = bound.slice_axis(0, 7..90).slice_axis(0, 1..80).compute().unwrap();
            let Tensor::F64(expected) = &expected else { panic!("{text}") };
            assert_eq!(part, expected.slice_axis(Axis(0), (8..87).into()).to_owned().into(), "{text}");
        }
    }
    // Computed once: when another one is computed, nothing is left to do for it.
    let bound = Expr::bind_all(&exprs, values()).unwrap();
    let elements = AtomicUsize::new(0);
    let count = |number: usize| {
        elements.store(0, Ordering::Relaxed);
        let mut out = Array1::<f64>::zeros(300);
        let should_continue = |count: usize| {
            elements.fetch_add(count, Ordering::Relaxed);
            true
        };
        bound[number].compute_while(&mut out, should_continue).unwrap();
        elements.load(Ordering::Relaxed)
    };
    assert_eq!((count(1), count(0), count(1)), (300 * 200, 0, 0));
    // A computation that is stopped is not kept.
    let bound = Expr::bind_all(&exprs, values()).unwrap();
    assert!(bound[0].compute_while(&mut Array1::<f64>::zeros(300), |_| false).is_err());
    assert_eq!(bound[1].compute().unwrap(), evaluate("max(x, 1)", [("x", Value::from(&x))]));
}

/// What is spelled out twice is computed once.
#[test]
fn repeated_reductions_are_one() {
    let x = Array2::from_shape_fn((500, 700), |(i, j)| ((i * 31 + j * 17) % 97) as f32);
    let plan = |text: &str| Expr::parse(text).unwrap().bind([("x", &x)]).unwrap().plan();
    let shifted = "exp(x - max(x, axis=-1, keepdims=True))";
    assert_eq!(plan(&format!("{shifted} / sum({shifted}, axis=-1, keepdims=True)")), plan("softmax(x)"));
    for text in
        ["layer_norm(x)", "mean(x, 1) * var(x, 1)", "sum(x, 1) / x.sum(axis=-1)", "std(x, 0) / mean(x, 0)"]
    {
        assert_eq!(plan(text).matches("sum of x along").count(), 1, "{}", plan(text));
    }
    // Other axes, shapes, dtypes and numbers are something else.
    let value = |text: &str| evaluate(text, [("x", Value::from(&x))]);
    assert_eq!(value("sum(x > 50, 0)[0] + sum(x > 50, 1)[0]"), large_in_first(&x).into());
    assert_eq!(
        value("sum(broadcast_to(x[0, 1], (2,))) + sum(broadcast_to(x[0, 1], (3,)))"),
        arr0(85f32).into()
    );
    assert_eq!(value("copysign(x[0, 1], 0.0) + 2 * copysign(x[0, 1], -0.0)"), arr0(-17f32).into());
    assert_eq!(value("sum(x[0, :2], dtype=int8) + sum(x[0, :2], dtype=int16)"), arr0(34i16).into());
}

/// Elements above 50 in the first column and in the first row.
fn large_in_first(x: &Array2<f32>) -> Array0<i64> {
    let count = |elements: ArrayView1<'_, f32>| elements.iter().filter(|&&element| element > 50.0).count();
    arr0((count(x.column(0)) + count(x.row(0))) as i64)
}

#[test]
fn equal_reductions_of_several_expressions_are_computed_once() {
    let x = Array2::from_shape_fn((300, 200), |(i, j)| ((i * 31 + j * 17) % 97) as f64);
    let bind = |texts: &[&str]| {
        let exprs: Vec<Expr> = texts.iter().map(|text| Expr::parse(text).unwrap()).collect();
        Expr::bind_all(&exprs, [("x", &x)]).unwrap()
    };
    let texts = ["max(x, 0)", "max(x, 0) + 1", "max(x, 0)"];
    let expected = texts.map(|text| evaluate(text, [("x", Value::from(&x))]));
    let bound = bind(&texts);
    assert_eq!(Bound::passes(&bound), [[0, 1, 2]]);
    assert_eq!(Bound::compute_all(&bound).unwrap(), expected);
    // Together with others of the same loops.
    let bound = bind(&["max(x, 0)", "min(x, 0)", "max(x, 0) + 1"]);
    for bound in &bound {
        let plan = bound.plan();
        assert!(plan.contains("in one pass with 1 result of other expressions"), "{plan}");
    }
    assert_eq!(bound[2].compute().unwrap(), expected[1]);
    assert_eq!(bound[0].compute().unwrap(), expected[0]);
}

#[test]
fn several_expressions_name_the_values_that_they_need() {
    let x = arr1(&[1.0, 2.0]);
    let exprs = ["sum(x)", "x + y", "z"].map(|text| Expr::parse(text).unwrap());
    let error = |names: &[&'static str]| {
        Expr::bind_all(&exprs, names.iter().map(|name| (name, &x))).unwrap_err().to_string()
    };
    assert_eq!(error(&["x", "y", "z", "v"]), "the expression has no variable v; it has x, y and z");
    assert_eq!(error(&["x", "y"]).lines().next(), Some("no value for z; given: x and y"));
    assert_eq!(error(&["x", "x", "y", "z"]), "x is given twice");
    assert!(Expr::bind_all(&[], [("x", &x)]).is_err());
    assert!(Expr::bind_all(&[], std::iter::empty::<(&str, Value<'_>)>()).unwrap().is_empty());
}

/// Stages run row by row, but not along a few columns at a time: these would be parts of cache lines.
#[test]
fn stages_do_not_run_along_few_columns() {
    let x = Array2::<f32>::ones((5000, 480));
    let plan = |text: &str| Expr::parse(text).unwrap().bind([("x", &x)]).unwrap().plan();
    for text in ["var(x, 1)", "std(x, 1)", "x - max(x, 1, keepdims=True)"] {
        assert!(plan(text).contains("stages together"), "{text}: {}", plan(text));
    }
    for text in ["var(x, 0)", "std(x, 0)", "x - max(x, 0)"] {
        assert!(!plan(text).contains("stages together"), "{text}: {}", plan(text));
    }
}

/// A mean along another axis than the last one is divided once, not again for each element that it is subtracted from.
#[test]
fn results_of_stages_are_computed_once() {
    let x = Array1::<f32>::ones(10_000);
    let x = x.broadcast((16, 64, 10_000)).unwrap();
    let plan = |text: &str| Expr::parse(text).unwrap().bind([("x", Value::from(x))]).unwrap().plan();
    let mean = "  stage 2: 16 x 1 x 10000 elements of float32\n    t1 = divide(stage 1, 64)\n    write t1\n";
    assert!(plan("var(x, 1)").contains(mean), "{}", plan("var(x, 1)"));
    // One element for each row, which the stage that uses it computes once.
    assert!(plan("var(x, 2)").contains("t2 = subtract(x, t1)"), "{}", plan("var(x, 2)"));
}

/// An exponential that two stages use is computed once where its results stay in the cache: those of a few rows, or of a
/// small array. For a tiny array, a stage takes longer.
#[test]
fn functions_are_computed_once_in_the_cache() {
    let exponentials = |rows: usize, columns: usize| {
        let x = Array2::<f32>::zeros((rows, columns));
        let plan = Expr::parse("softmax(x)").unwrap().bind([("x", &x)]).unwrap().plan();
        plan.matches("= exp(").count()
    };
    assert_eq!(exponentials(16, 4), 2);
    assert_eq!(exponentials(16, 256), 1);
    assert_eq!(exponentials(16, 1025), 2);
    assert_eq!(exponentials(700, 500), 1);
}

/// Temporary arrays take the memory of earlier ones, whatever is in it: larger ones, of other dtypes. A new thread has
/// none.
#[test]
fn memory_is_used_again() {
    let shapes = [(3, 7), (16, 256), (40, 100), (5, 5)];
    for round in 0..12 {
        let (rows, columns) = shapes[round % shapes.len()];
        let x =
            Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 13 + j * 7 + round) % 101) as f32 / 10.0);
        for text in
            ["softmax(x)", "any(x < mean(x, 0), 1)", "std(x, 0) + argmax(x - max(x, 1, keepdims=True), 0)"]
        {
            let again = evaluate(text, [("x", Value::from(&x))]);
            let first = || evaluate(text, [("x", Value::from(&x))]);
            let first = std::thread::scope(|scope| scope.spawn(first).join()).unwrap();
            assert_eq!(again, first, "{text}, {rows} x {columns}");
        }
    }
}

/// Unrolled one in another, these folds would be a program of a hundred thousand operations.
#[test]
fn nested_folds_of_few_elements_are_not_all_unrolled() {
    let x = ArrayD::from_shape_fn(IxDyn(&[8; 5]), |index| (index[0] + 2 * index[4]) as f64);
    let mut text = String::from("x * 1");
    for axis in 0..5 {
        text = format!("(sqrt(sum(({text})**2, axis={axis}, keepdims=True)) + {text})");
    }
    let bound = Expr::parse(&text).unwrap().bind([("x", &x)]).unwrap();
    let plan = bound.plan();
    let longest = plan.split("stage ").map(|stage| stage.lines().count()).max();
    assert!(longest.is_some_and(|lines| lines < 2000), "{longest:?} operations");
    let mut expected = x.clone();
    for axis in 0..5 {
        let squares = expected.mapv(|x| x * x).sum_axis(Axis(axis)).insert_axis(Axis(axis));
        expected = squares.mapv(f64::sqrt) + &expected;
    }
    let Tensor::F64(result) = bound.compute().unwrap() else { panic!("another dtype") };
    assert!(result.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-12 * b));
}

/// Progress counts the iterations of all stages, in one call and in slices.
#[test]
fn iterations_of_all_stages_are_reported() {
    let a = ndarray::Array2::from_shape_fn((70, 300), |(i, j)| (i * j) as f32);
    for text in
        ["sum(a)", "a - mean(a, 0)", "softmax(a, 1)", "max(softmax(a, 0), 0)", "var(a, axis=1) + 1", "a.T"]
    {
        let expr = Expr::parse(text).unwrap();
        let whole = expr.bind([("a", Value::from(&a))]).unwrap();
        let compute = |bound: &Bound<'_>| {
            let done = std::sync::atomic::AtomicUsize::new(0);
            let mut out = ndarray::ArrayD::<f32>::zeros(bound.shape());
            let count = |iterations| {
                done.fetch_add(iterations, std::sync::atomic::Ordering::Relaxed);
                true
            };
            bound.compute_while(&mut out, count).unwrap();
            done.into_inner()
        };
        assert_eq!(compute(&whole), whole.iterations(), "{text}");
        let Some(&size) = whole.shape().first() else { continue };
        let whole = expr.bind([("a", Value::from(&a))]).unwrap();
        let slices = [0..size / 3, size / 3..size].map(|range| compute(&whole.slice_axis(0, range)));
        assert_eq!(slices.iter().sum::<usize>(), whole.iterations(), "slices of {text}");
    }
}

/// Whatever kernels are used for the parts that threads have.
/// Loops that are kept between loops that are reduced, of which a thread may have one iteration.
#[test]
fn sums_have_the_same_bits_where_kept_loops_are_within_reduced_ones() {
    let mut number = 0u32;
    let x = ArrayD::<f32>::from_shape_simple_fn(IxDyn(&[350, 4, 10, 90]), || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 8) as f32 / 3e6 - 2.5
    });
    let permuted = x.view().permuted_axes(IxDyn(&[1, 0, 3, 2]));
    for x in [x.view(), x.view().reversed_axes(), permuted, x.slice(s![.., ..;-1, .., ..;2]).into_dyn()] {
        for text in [
            "sum(x, (0, 3))",
            "sum(x, (0, 2))",
            "sum(x * x, (0, 3))",
            "var(x, (0, 2, 3))",
            "sum(exp(x), (0, 3))",
        ] {
            let bound = Expr::parse(text).unwrap().bind([("x", x.clone())]).unwrap();
            let [first, others @ ..] =
                [1, 2, 3, 8].map(|threads| bound.clone().threads(threads).compute().unwrap());
            assert!(others.iter().all(|other| *other == first), "{text} with strides {:?}", x.strides());
        }
    }
}

#[test]
fn sums_of_products_have_the_same_bits_on_any_number_of_threads() {
    let mut number = 1u32;
    let mut random = |shape: &[usize]| {
        ArrayD::from_shape_simple_fn(IxDyn(shape), || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 8) as f32 / 16_777_216.0
        })
    };
    let (a, b) = (random(&[64, 400, 100]), random(&[64, 400, 100]));
    for text in [
        "sum(a * b, axis=(0, 2))",
        "sum((a - b)**2, axis=(1, 2))",
        "sum(abs(a - b))",
        "sum(a[..., :70] * b[..., 3:73])",
    ] {
        let bound =
            Expr::parse(text).unwrap().bind([("a", Value::from(&a)), ("b", Value::from(&b))]).unwrap();
        let first = bound.clone().threads(1).compute().unwrap();
        for threads in [2, 7] {
            assert_eq!(
                bound.clone().threads(threads).compute().unwrap(),
                first,
                "{text} on {threads} threads"
            );
        }
    }
}

/// Which of two zeros is the maximum does not depend on the number of threads, wherever they are in long rows.
#[test]
fn signs_of_zeros_do_not_depend_on_threads() {
    let expr = Expr::parse("max(x, 1)").unwrap();
    for (first, second) in
        [(49_983, 50_016), (49_999, 50_000), (0, 99_999), (49_920, 50_070), (12_000, 70_016)]
    {
        for zeros in [[0.0, -0.0], [-0.0, 0.0]] {
            let mut x = Array2::from_elem((64, 100_000), -1f32);
            x.slice_mut(s![.., first]).fill(zeros[0]);
            x.slice_mut(s![.., second]).fill(zeros[1]);
            let bound = expr.bind([("x", &x)]).unwrap();
            let signs = |threads: usize| {
                let Tensor::F32(maxima) = bound.clone().threads(threads).compute().unwrap() else {
                    panic!("other dtype")
                };
                maxima.iter().map(|x| x.is_sign_negative()).collect::<Vec<bool>>()
            };
            assert_eq!(signs(1), signs(2), "{first} {second} {zeros:?}");
        }
    }
}

/// Groups along an axis between others, whose results have all axes or only some, and slices of these.
#[test]
fn stages_run_along_any_axis() {
    let x = Array3::from_shape_fn((16, 260, 32), |(i, j, k)| ((i * 31 + j * 17 + k * 7) % 101) as i64);
    let largest = |x: &Array3<i64>, axis: usize| {
        x.map_axis(Axis(axis), |lane| lane.iter().copied().fold(0, i64::max)).insert_axis(Axis(axis))
    };
    let sums = (&x - &largest(&x, 2)).sum_axis(Axis(0));
    let cases: [(&str, ArrayD<i64>); 4] = [
        ("x - max(x, (0, 2), keepdims=True)", (&x - &largest(&largest(&x, 2), 0)).into_dyn()),
        ("sum(x - max(x, 2, keepdims=True), 0)", sums.clone().into_dyn()),
        ("sum(x - max(x, 2, keepdims=True), 0, keepdims=True)", sums.insert_axis(Axis(0)).into_dyn()),
        ("sum(x - max(x, 0), 2)", (&x - &largest(&x, 0)).sum_axis(Axis(2)).into_dyn()),
    ];
    for (text, expected) in cases {
        let bound = Expr::parse(text).unwrap().bind([("x", &x)]).unwrap();
        let plan = bound.plan();
        assert!(plan.contains("2 stages together, 128 of 260 rows (axis 1 of stage 2)"), "{plan}");
        assert_eq!(bound.compute().unwrap(), expected.clone().into(), "{text}");
        for (dim, &size) in expected.shape().iter().enumerate().filter(|&(_, &size)| size > 1) {
            let range = size / 3..size - 1;
            let part = expected.slice_axis(Axis(dim), range.clone().into()).to_owned();
            assert_eq!(
                bound.slice_axis(dim, range).compute().unwrap(),
                part.into(),
                "{text}, dimension {dim}"
            );
        }
    }
}

/// A slice of rows computes the earlier stages for its rows. Slices of columns share those of all rows.
#[test]
fn slices_of_groups_compute_what_is_missing() {
    let x = Array2::from_shape_fn((600, 300), |(i, j)| ((i * 13 + j * 7) % 101) as f32 / 10.0);
    let bind = || Expr::parse("softmax(x)").unwrap().bind([("x", &x)]).unwrap();
    let whole = bind();
    assert!(whole.plan().contains("stages together, 218 of 600 rows (axis 0"), "{}", whole.plan());
    let count = |bound: &Bound<'_>| {
        let (iterations, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut out = ArrayD::<f32>::zeros(bound.shape());
        let count = |chunk: usize| {
            calls.fetch_add(1, Ordering::Relaxed);
            iterations.fetch_add(chunk, Ordering::Relaxed);
            true
        };
        bound.compute_while(&mut out, count).unwrap();
        (out, iterations.into_inner(), calls.into_inner())
    };
    let (result, iterations, calls) = count(&whole);
    assert_eq!(iterations, whole.iterations());
    assert!(calls < 50, "{calls} calls for 3 chunks of each stage");
    let (rows, iterations, _) = count(&bind().slice_axis(0, 7..9));
    assert_eq!(
        (rows, iterations),
        (result.slice_axis(Axis(0), (7..9).into()).to_owned(), whole.iterations() / 300)
    );
    let [(left, first, _), (right, second, _)] =
        [0..100, 100..300].map(|range| count(&whole.slice_axis(1, range)));
    assert_eq!(ndarray::concatenate![Axis(1), left, right], result);
    assert_eq!(first + second, whole.iterations());
    assert!(first > second, "the first slice computes what both need");
}

/// Squared distances and others. For many points, one array is copied with two loops swapped.
#[test]
fn sums_of_pairs_of_points() {
    let points = |count: usize, dims: usize, factor: usize| {
        Array2::from_shape_fn((count, dims), |(i, j)| ((i * factor + j * 7) % 23) as f64 - 9.0)
    };
    for (count, others, dims) in [(16, 64, 9), (20, 70, 33), (64, 64, 8), (3, 64, 9), (16, 7, 9)] {
        let (a, b) = (points(count, dims, 5), points(others, dims, 11));
        let values = || [("a", Value::from(&a)), ("b", Value::from(&b))];
        let of_pairs = |function: fn(f64, f64) -> f64| -> Tensor {
            let sum = |(i, j)| (0..dims).map(|dim| function(a[(i, dim)], b[(j, dim)])).sum::<f64>();
            Array2::from_shape_fn((count, others), sum).into()
        };
        let what = format!("{count} and {others} points of {dims} dimensions");
        let squared = of_pairs(|a, b| (a - b).powi(2));
        assert_eq!(evaluate("sum((a[:, None] - b)**2, -1)", values()), squared, "{what}");
        assert_eq!(evaluate("sum(a[:, None] * b, -1)", values()), of_pairs(|a, b| a * b), "{what}");
        let absolute = of_pairs(|a, b| (a - b).abs());
        assert_eq!(evaluate("sum(abs(a[:, None] - b), -1)", values()), absolute, "{what}");
        // Sums of the last loop of four.
        let batched = evaluate("sum((a[:, None, None] - b[None, ::-1])**2, -1)[:, 0, ::-1]", values());
        assert_eq!(batched, squared, "{what}");
    }
}

/// Arrays of the same shape and strides, and views that begin at the same element.
#[test]
fn arrays_that_are_alike_are_not_the_same() {
    let x = Array2::from_shape_fn((20, 20), |(i, j)| (i * 31 + j * 17) as f64);
    let other = &x + 1.0;
    for (what, y) in [
        ("another array", other.view()),
        ("transposed", x.t()),
        ("every second row", x.slice(s![..;2, ..])),
        ("every second column", x.slice(s![.., ..;2])),
        ("some rows", x.slice(s![..7, ..])),
    ] {
        let exprs = ["sum(x, 1)", "sum(y, 1)"].map(|text| Expr::parse(text).unwrap());
        let results = Expr::evaluate_all(&exprs, [("x", x.view()), ("y", y)]).unwrap();
        let sums = [x.view(), y].map(|array| Tensor::from(array.sum_axis(Axis(1))));
        assert_eq!(results, sums, "{what}");
    }
}

/// Where one expression has several stages that are computed together with those of others.
#[test]
fn joint_stages_have_the_results_of_all() {
    let array =
        |factor: usize| Array2::from_shape_fn((20, 10), |(i, j)| ((i * factor + j * 7) % 23) as f64 + 1.0);
    let (a, b, c) = (array(5), array(11), array(3));
    let bind = |texts: &[&str]| {
        let exprs: Vec<Expr> = texts.iter().map(|text| Expr::parse(text).unwrap()).collect();
        let all = [("a", Value::from(&a)), ("b", Value::from(&b)), ("c", Value::from(&c))];
        let is_used = |name: &str| exprs.iter().any(|expr| expr.names().iter().any(|own| own == name));
        let values = all.into_iter().filter(|(name, _)| is_used(name));
        Expr::bind_all(&exprs, values).unwrap()
    };
    // A stage with two results, after that of another expression.
    let bound = bind(&["max(a, 0)", "sum(a, 0) / min(a, 0)"]);
    assert!(
        bound[1].plan().contains("in one pass with 1 result of other expressions"),
        "{}",
        bound[1].plan()
    );
    let least = a.map_axis(Axis(0), |lane| lane.iter().copied().fold(f64::INFINITY, f64::min));
    assert_eq!(bound[1].compute().unwrap(), (a.sum_axis(Axis(0)) / least).into());
    // Three stages of an expression are one with that of another, whose iterations are counted once.
    let bound = bind(&["sum(a * b * c, 0)", "sum(a, 0) + sum(b, 0) + sum(c, 0)"]);
    let iterations = AtomicUsize::new(0);
    let count = |chunk: usize| {
        iterations.fetch_add(chunk, Ordering::Relaxed);
        true
    };
    let mut out = Array1::<f64>::zeros(10);
    bound[1].compute_while(&mut out, count).unwrap();
    assert_eq!(out, a.sum_axis(Axis(0)) + b.sum_axis(Axis(0)) + c.sum_axis(Axis(0)));
    assert_eq!((iterations.into_inner(), bound[1].iterations()), (20 * 10 + 10, 20 * 10 + 10));
}

#[test]
fn slices_of_several_expressions_share_no_pass() {
    let x = Array2::from_shape_fn((20, 30), |(i, j)| ((i * 13 + j * 7) % 101) as f64);
    let texts = ["x - max(x, 1, keepdims=True)", "max(x, 1, keepdims=True) + x"];
    let bound = texts.map(|text| Expr::parse(text).unwrap().bind([("x", &x)]).unwrap());
    assert_eq!(Bound::passes(&bound), [[0, 1]]);
    let slices = bound.each_ref().map(|bound| bound.slice_axis(0, 3..9));
    assert_eq!(Bound::passes(&slices), [[0], [1]]);
    let part = |bound: &Bound<'_>| match bound.compute().unwrap() {
        Tensor::F64(result) => Tensor::from(result.slice_axis(Axis(0), (3..9).into()).to_owned()),
        other => panic!("{:?}", other.dtype()),
    };
    assert_eq!(Bound::compute_all(&slices).unwrap(), bound.each_ref().map(part));
}

#[test]
fn large_stages_are_parallel() {
    for (text, columns, is_parallel) in [
        ("sum(x)", 1 << 17, false),
        ("sum(x)", (1 << 17) + 1, true),
        ("x[0, ::-1]", 10, false),
        ("x - max(x)", 1 << 18, true),
        // The result is small, the array is not.
        ("argmax(x, 1) + 1", 1 << 17, true),
        ("x[0, :5]", 1 << 20, false),
    ] {
        let x = Array2::<f32>::zeros((1, columns));
        let bound = Expr::parse(text).unwrap().bind([("x", &x)]).unwrap();
        assert_eq!(bound.is_parallel(), is_parallel, "{text} with {columns} columns");
    }
}

#[test]
fn results_without_elements_are_not_computed() {
    let x = Array2::<f64>::ones((20, 30));
    for text in ["x[:0] - max(x)", "softmax(x)[:, 5:5]", "sum(x[:, :0] - sum(x), 0)"] {
        let bound = Expr::parse(text).unwrap().bind([("x", &x)]).unwrap();
        let mut out = ArrayD::<f64>::zeros(bound.shape());
        bound.compute_while(&mut out, |chunk| panic!("{chunk} iterations of {text}")).unwrap();
    }
    let bound = Expr::parse("x - sum(x)").unwrap().bind([("x", &x)]).unwrap();
    let mut out = Array2::<f64>::zeros((20, 0));
    let no_columns = bound.slice_axis(1, 4..4);
    no_columns.compute_while(&mut out, |chunk| panic!("{chunk} iterations of no columns")).unwrap();
}

/// Outputs with one element along an axis, whose stride ndarray sets to 0.
#[test]
fn sums_in_a_part_of_an_array_have_the_bits_of_the_whole() {
    let mut number = 7u32;
    let x = Array3::<f32>::from_shape_simple_fn((300, 3, 100), || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 8) as f32 / 3e6 - 2.5
    });
    for text in ["sum(x, (0, 2))", "sum(x * x, (0, 2))"] {
        let bound = Expr::parse(text).unwrap().bind([("x", &x)]).unwrap();
        let mut whole = Array1::<f32>::zeros(3);
        bound.compute_into(&mut whole).unwrap();
        let mut parts = Array1::<f32>::zeros(3);
        for dim in 0..3 {
            let mut out = parts.slice_mut(s![dim..dim + 1]);
            assert_eq!(out.strides(), [0]);
            bound.slice_axis(0, dim..dim + 1).compute_into(&mut out).unwrap();
        }
        assert_eq!(parts, whole, "{text}");
    }
}

/// Offset of the first element that a kernel for GPUs reads, and strides along its loops.
#[cfg(feature = "cuda")]
#[test]
fn kernels_read_views_at_offsets_and_strides() {
    use unishape::cuda::{ArrayType, Expression, Variable};
    let array =
        |shape, strides| Variable::Array(ArrayType { dtype: DType::F32, shape, strides, alignment: 4 });
    let variables = [array(&[5, 8], &[16, 2]), array(&[3, 4], &[4, 1])];
    let reads = |text: &str, variables: &[Variable<'_>]| -> Vec<Vec<(isize, Vec<isize>)>> {
        let stages = Expr::parse(text).unwrap().stages(variables).unwrap().stages;
        let reads = stages.into_iter().map(|stage| {
            let mut reads: Vec<_> = stage.reads.into_iter().map(|read| (read.start, read.strides)).collect();
            reads.sort_unstable();
            reads
        });
        reads.collect()
    };
    let expected = vec![vec![(2 * 4, vec![0, 1]), (16 + 7 * 2, vec![16, -4])]];
    assert_eq!(reads("x[1:, ::-2] + y[2]", &variables), expected);
    assert_eq!(reads("sum(x.T[3:5], 0)", &variables[..1]), [[(3 * 2, vec![2, 16])]]);
    // Results of stages are row-major.
    let expected = vec![vec![(0, vec![16, 2])], vec![(0, vec![16, 2]), (4, vec![-1, 0])]];
    assert_eq!(reads("x - max(x, 1, keepdims=True)[::-1]", &variables[..1]), expected);
}
