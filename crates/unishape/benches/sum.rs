//! What `sum_to` costs beside ndarray's `sum_axis` and `sum`, which run on one thread.
//!
//! In one process, in rounds that take turns; figures are medians. Results are compared before anything is
//! timed; the last columns are how far each is from the sum in f64, relative to it, at worst.

mod support;

use ndarray::{Array2, ArrayView2, Axis, arr1};
use std::hint::black_box;
use support::compare;
use unishape::sum_to;

fn numbers(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 1013) as f32 * 0.25 + 1.0)
}

/// How far sums are from those in f64, relative to them.
fn error(sums: &[f32], exact: &[f64]) -> f64 {
    assert_eq!(sums.len(), exact.len());
    sums.iter().zip(exact).map(|(&sum, exact)| (f64::from(sum) - exact).abs() / exact).fold(0.0, f64::max)
}

fn report(
    what: &str,
    calls: usize,
    exact: &[f64],
    ours: impl Fn() -> Vec<f32>,
    theirs: impl Fn() -> Vec<f32>,
) {
    let errors = (error(&ours(), exact), error(&theirs(), exact));
    assert!(errors.0 < 1e-5, "{what} is off by {}", errors.0);
    let (ours, theirs) = compare(21, calls, || black_box(ours()), || black_box(theirs()));
    println!(
        "{what:<34} {:>10.2} µs {:>10.2} µs {:>7.2} {:>11.0e} {:>9.0e}",
        ours / 1e3,
        theirs / 1e3,
        ours / theirs,
        errors.0,
        errors.1
    );
}

/// Down to a row, a column, and one number.
fn sums(what: &str, calls: usize, array: ArrayView2<'_, f32>) {
    let wide = array.mapv(f64::from);
    let row = || sum_to(array, array.ncols()).unwrap().into_raw_vec_and_offset().0;
    let theirs = || array.sum_axis(Axis(0)).into_raw_vec_and_offset().0;
    report(&format!("{what} to a row"), calls, wide.sum_axis(Axis(0)).as_slice().unwrap(), row, theirs);
    let column = || sum_to(array, (array.nrows(), 1)).unwrap().into_raw_vec_and_offset().0;
    let theirs = || array.sum_axis(Axis(1)).into_raw_vec_and_offset().0;
    report(&format!("{what} to a column"), calls, wide.sum_axis(Axis(1)).as_slice().unwrap(), column, theirs);
    let all = || vec![sum_to(array, ()).unwrap().into_scalar()];
    let theirs = || vec![array.sum()];
    report(&format!("{what} to one number"), calls, arr1(&[wide.sum()]).as_slice().unwrap(), all, theirs);
}

fn main() {
    println!("{:<34} {:>13} {:>13} {:>7} {:>21}", "", "unishape", "ndarray", "ratio", "off by");
    sums("4000x3000", 1, numbers(4000, 3000).view());
    sums("4000x3000, transposed", 1, numbers(3000, 4000).t());
    sums("4000000x3", 1, numbers(4_000_000, 3).view());
    sums("300x400", 100, numbers(300, 400).view());
    sums("8x5", 10_000, numbers(8, 5).view());
}
