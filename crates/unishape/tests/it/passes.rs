//! Several element-wise expressions in one pass over memory.

use ndarray::{Array1, Array2, Array3, ShapeBuilder, s};
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
