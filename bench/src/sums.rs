//! What `sum_to` costs beside ndarray's `sum_axis` and `sum`, which run on one thread.

use crate::report::Table;
use crate::views::{pair, row};
use crate::workloads::Scale;
use ndarray::{Array2, ArrayView2, Axis};
use unishape::sum_to;

fn numbers(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 1013) as f32 * 0.25 + 1.0)
}

/// How far sums are from those in f64, relative to them, at worst.
fn error(sums: &[f32], exact: &[f64]) -> f64 {
    assert_eq!(sums.len(), exact.len());
    sums.iter().zip(exact).map(|(&sum, exact)| (f64::from(sum) - exact).abs() / exact).fold(0.0, f64::max)
}

fn line(
    scale: Scale,
    what: String,
    exact: &[f64],
    ours: impl Fn() -> Vec<f32>,
    theirs: impl Fn() -> Vec<f32>,
) -> Vec<String> {
    let errors = [error(&ours(), exact), error(&theirs(), exact)];
    assert!(errors[0] < 1e-5, "{what} is off by {}", errors[0]);
    let mut line = row(&what, pair(scale, ours, theirs));
    line.extend(errors.map(|error| format!("{error:.0e}")));
    line
}

/// Down to a row, a column, and one number.
fn lines(scale: Scale, what: &str, array: ArrayView2<'_, f32>) -> [Vec<String>; 3] {
    let wide = array.mapv(f64::from);
    let row = || sum_to(array, array.ncols()).expect("it fits").into_raw_vec_and_offset().0;
    let column = || sum_to(array, (array.nrows(), 1)).expect("it fits").into_raw_vec_and_offset().0;
    let all = || vec![sum_to(array, ()).expect("it fits").into_scalar()];
    let exact = |axis| wide.sum_axis(Axis(axis)).into_raw_vec_and_offset().0;
    let theirs = |axis| move || array.sum_axis(Axis(axis)).into_raw_vec_and_offset().0;
    [
        line(scale, format!("{what} to a row"), &exact(0), row, theirs(0)),
        line(scale, format!("{what} to a column"), &exact(1), column, theirs(1)),
        line(scale, format!("{what} to one number"), &[wide.sum()], all, || vec![array.sum()]),
    ]
}

/// The sums, a table.
pub(crate) fn tables(scale: Scale) -> Vec<Table> {
    let (rows, columns) = (scale.size(4000, 40), 3000);
    let (large, turned) = (numbers(rows, columns), numbers(columns, rows));
    let rows = [
        lines(scale, "`4000x3000`", large.view()),
        lines(scale, "`4000x3000`, transposed,", turned.t()),
        lines(scale, "`4000000x3`", numbers(scale.size(4_000_000, 40_000), 3).view()),
        lines(scale, "`300x400`", numbers(300, 400).view()),
        lines(scale, "`8x5`", numbers(8, 5).view()),
    ];
    vec![Table {
        title: "Sums: `sum_to` beside ndarray's".into(),
        note: "f32. Ours use all cores beyond 1 MiB, ndarray's do not. The last columns are how far the sums are \
               from those in f64, relative to them, at worst."
            .into(),
        head: ["", "unishape", "ndarray", "ratio", "off by", "ndarray's"].map(String::from).into(),
        rows: rows.concat(),
        facts: Vec::new(),
    }]
}
