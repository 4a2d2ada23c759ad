//! The time of `sum_to`, compared with ndarray's single-threaded `sum_axis` and `sum`.

use crate::report::Table;
use crate::views::{pair, row};
use crate::workloads::Scale;
use ndarray::{Array2, ArrayView2, Axis};
use unishape::sum_to;

fn numbers(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 1013) as f32 * 0.25 + 1.0)
}

/// The largest relative error of f32 sums, compared with f64 sums.
fn largest_error(sums: &[f32], exact: &[f64]) -> f64 {
    assert_eq!(sums.len(), exact.len());
    sums.iter().zip(exact).map(|(&sum, exact)| (f64::from(sum) - exact).abs() / exact).fold(0.0, f64::max)
}

fn table_row(
    scale: Scale,
    what: String,
    exact: &[f64],
    unishape: impl Fn() -> Vec<f32>,
    ndarray: impl Fn() -> Vec<f32>,
) -> Vec<String> {
    let errors = [largest_error(&unishape(), exact), largest_error(&ndarray(), exact)];
    assert!(errors[0] < 1e-5, "{what}: the relative error is {}", errors[0]);
    let mut cells = row(&what, pair(scale, unishape, ndarray));
    cells.extend(errors.map(|error| format!("{error:.0e}")));
    cells
}

/// Sums to a row, a column and a scalar.
fn table_rows(scale: Scale, what: &str, array: ArrayView2<'_, f32>) -> [Vec<String>; 3] {
    let wide = array.mapv(f64::from);
    let row = || sum_to(array, array.ncols()).expect("compatible shapes").into_raw_vec_and_offset().0;
    let column = || sum_to(array, (array.nrows(), 1)).expect("compatible shapes").into_raw_vec_and_offset().0;
    let all = || vec![sum_to(array, ()).expect("compatible shapes").into_scalar()];
    let exact = |axis| wide.sum_axis(Axis(axis)).into_raw_vec_and_offset().0;
    let ndarray = |axis| move || array.sum_axis(Axis(axis)).into_raw_vec_and_offset().0;
    [
        table_row(scale, format!("{what} to a row"), &exact(0), row, ndarray(0)),
        table_row(scale, format!("{what} to a column"), &exact(1), column, ndarray(1)),
        table_row(scale, format!("{what} to a scalar"), &[wide.sum()], all, || vec![array.sum()]),
    ]
}

/// The table of sums.
pub(crate) fn tables(scale: Scale) -> Vec<Table> {
    let (rows, columns) = (scale.size(4000, 40), 3000);
    let (large, transposed) = (numbers(rows, columns), numbers(columns, rows));
    let rows = [
        table_rows(scale, "`4000x3000`", large.view()),
        table_rows(scale, "`4000x3000`, transposed,", transposed.t()),
        table_rows(scale, "`4000000x3`", numbers(scale.size(4_000_000, 40_000), 3).view()),
        table_rows(scale, "`300x400`", numbers(300, 400).view()),
        table_rows(scale, "`8x5`", numbers(8, 5).view()),
    ];
    vec![Table {
        title: "Sums: `sum_to` and ndarray's `sum_axis`".into(),
        note: "f32. unishape uses all cores beyond 1 MiB, ndarray one. Ratio: ndarray's median relative to \
               unishape's. Error: the largest relative error, compared with sums in f64."
            .into(),
        head: ["", "unishape", "ndarray", "ratio", "largest spread", "error", "ndarray's error"]
            .map(String::from)
            .into(),
        rows: rows.concat(),
        ratios: Vec::new(),
    }]
}
