//! The time of `reduce` for sums of products, compared with ndarray and with loops on rayon.

use crate::report::{Table, time_text};
use crate::timing::{Times, largest_spread, measure, timed};
use crate::workloads::Scale;
use ndarray::{Array1, Array2, Axis, Zip};
use rayon::prelude::*;
use unishape::fold::Sum;
use unishape::reduce;

/// From this many elements on, the hand-written loops use rayon.
const PARALLEL: usize = 200_000;

/// Independent sums of the hand-written loops.
const LANES: usize = 16;

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        (0..LANES).for_each(|i| sums[i] += a[i] * b[i]);
    }
    sums.iter().sum::<f32>() + rest
}

fn add_products(sums: &mut [f32], a: &[f32], b: &[f32]) {
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}

fn rayon_rows(a: &[f32], b: &[f32], columns: usize) -> Vec<f32> {
    if a.len() < PARALLEL {
        return a.chunks(columns).zip(b.chunks(columns)).map(|(a, b)| dot(a, b)).collect();
    }
    a.par_chunks(columns).zip(b.par_chunks(columns)).with_min_len(16).map(|(a, b)| dot(a, b)).collect()
}

fn rayon_columns(a: &[f32], b: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    if a.len() < PARALLEL {
        for (a, b) in a.chunks(columns).zip(b.chunks(columns)) {
            add_products(&mut sums, a, b);
        }
        return sums;
    }
    let part = a.len() / columns / rayon::current_num_threads() * columns;
    let partial: Vec<Vec<f32>> = a
        .par_chunks(part)
        .zip(b.par_chunks(part))
        .map(|(a, b)| {
            let mut sums = vec![0.0; columns];
            for (a, b) in a.chunks(columns).zip(b.chunks(columns)) {
                add_products(&mut sums, a, b);
            }
            sums
        })
        .collect();
    for partial in partial {
        sums.iter_mut().zip(partial).for_each(|(sum, partial)| *sum += partial);
    }
    sums
}

fn rayon_all(a: &[f32], b: &[f32]) -> Vec<f32> {
    if a.len() < PARALLEL {
        return vec![dot(a, b)];
    }
    let part = 1 << 16;
    vec![a.par_chunks(part).zip(b.par_chunks(part)).map(|(a, b)| dot(a, b)).sum()]
}

/// `sum(a * b)` by each contestant, and the same in f64.
fn contestants<'a>(
    what: &str,
    a: &'a Array2<f32>,
    b: &'a Array2<f32>,
) -> (Vec<Box<dyn Fn() -> Vec<f32> + 'a>>, Vec<f64>) {
    let columns = a.ncols();
    let (flat_a, flat_b) = (a.as_slice().expect("contiguous"), b.as_slice().expect("contiguous"));
    let wide = a.mapv(f64::from) * b.mapv(f64::from);
    let vec = |sums: Array1<f32>| sums.into_raw_vec_and_offset().0;
    let product = |a: &f32, b: &f32| a * b;
    match what {
        "rows" => (
            vec![
                Box::new(move || vec(reduce((a, b), Axis(1), product, Sum).expect("compatible shapes"))),
                Box::new(move || {
                    let dot = |a, b| Zip::from(a).and(b).fold(0.0, |sum, a: &f32, b: &f32| sum + a * b);
                    vec(Zip::from(a.rows()).and(b.rows()).map_collect(|a, b| dot(a, b)))
                }),
                Box::new(move || vec((a * b).sum_axis(Axis(1)))),
                Box::new(move || rayon_rows(flat_a, flat_b, columns)),
            ],
            wide.sum_axis(Axis(1)).to_vec(),
        ),
        "columns" => (
            vec![
                Box::new(move || vec(reduce((a, b), Axis(0), product, Sum).expect("compatible shapes"))),
                Box::new(move || {
                    let mut sums = Array1::<f32>::zeros(columns);
                    for (a, b) in a.rows().into_iter().zip(b.rows()) {
                        Zip::from(&mut sums).and(a).and(b).for_each(|sum, a, b| *sum += a * b);
                    }
                    vec(sums)
                }),
                Box::new(move || vec((a * b).sum_axis(Axis(0)))),
                Box::new(move || rayon_columns(flat_a, flat_b, columns)),
            ],
            wide.sum_axis(Axis(0)).to_vec(),
        ),
        _ => (
            vec![
                Box::new(move || {
                    vec![reduce((a, b), .., product, Sum).expect("compatible shapes").into_scalar()]
                }),
                Box::new(move || vec![Zip::from(a).and(b).fold(0.0, |sum, a, b| sum + a * b)]),
                Box::new(move || vec![(a * b).sum()]),
                Box::new(move || rayon_all(flat_a, flat_b)),
            ],
            vec![wide.sum()],
        ),
    }
}

fn row(scale: Scale, n: usize, what: &str) -> Vec<String> {
    let rows = (1..=n.isqrt()).rev().find(|rows| n.is_multiple_of(*rows)).unwrap_or(1);
    let numbers = |seed: usize| {
        Array2::from_shape_fn((rows, n / rows), |(i, j)| {
            ((i * 31 + j * 17 + seed) % 1013) as f32 * 1e-3 + 0.5
        })
    };
    let (a, b) = (numbers(1), numbers(2));
    let (contestants, exact) = contestants(what, &a, &b);
    for (number, contestant) in contestants.iter().enumerate() {
        let error = |(&sum, exact): (&f32, &f64)| (f64::from(sum) - exact).abs() / exact;
        let largest = contestant().iter().zip(&exact).map(error).fold(0.0, f64::max);
        // Sums of the others are in sequence.
        assert!(
            largest < if number == 0 { 1e-6 } else { 0.1 },
            "{n}, {what}, contestant {number}: {largest}"
        );
    }
    let mut blocks: Vec<_> = contestants.iter().map(|work| timed(work)).collect();
    let times: Vec<Times> = measure(scale.limits, &mut blocks);
    let mut cells = vec![format!("{rows} x {}, {what}", n / rows)];
    cells.extend(times.iter().map(|times| time_text(times.median)));
    cells.extend(times[1..].iter().map(|other| format!("{:.2}", other.median / times[0].median)));
    cells.push(format!("{:.0} %", 100.0 * largest_spread(&times)));
    cells
}

/// The table of reductions.
pub(crate) fn tables(scale: Scale) -> Vec<Table> {
    let most = if scale.quick { 4 } else { 7 };
    let rows = (2..=most)
        .flat_map(|power| ["rows", "columns", "all"].map(|what| row(scale, 10usize.pow(power), what)))
        .collect();
    vec![Table {
        title: "Reductions: `sum(a * b)` by `reduce`, ndarray and rayon".into(),
        note: "f32. ndarray: `Zip` with a fold, and `(a * b).sum_axis`, both on one core. rayon: hand-written loops \
               with 16 sums, on all cores beyond 200 000 elements. Ratios: the others' medians relative to unishape's."
            .into(),
        head: ["", "unishape", "Zip", "sum_axis", "rayon", "Zip's ratio", "sum_axis's", "rayon's", "largest spread"]
            .map(String::from)
            .into(),
        rows,
        ratios: Vec::new(),
    }]
}
