//! What `map` costs beside ndarray, and beside a copy of as many bytes on as many threads, which is as fast
//! as memory goes.
//!
//! In one process, in rounds that take turns; figures are medians. Results are compared before anything
//! is timed.

mod support;

use ndarray::{Array1, Array2, Array4, Axis, Zip};
use std::hint::black_box;
use support::compare;
use unishape::{map, map_into};

const ROUNDS: usize = 21;

fn random(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 1013) as f32 * 0.25 - 100.0)
}

/// A copy of the bytes that the work moves, half of them read and half written, by two threads.
fn copy(from: &[f32], to: &mut [f32]) {
    let middle = from.len() / 2;
    let (a, b) = from.split_at(middle);
    let (c, d) = to.split_at_mut(middle);
    rayon::join(|| c.copy_from_slice(a), || d.copy_from_slice(b));
}

fn report(what: &str, ours: f64, theirs: f64, limit: Option<f64>) {
    let (ms, ratio) = (ours / 1e6, ours / theirs);
    let limit = limit.map_or(String::new(), |limit| format!("{:>9.0} %", 100.0 * limit / ours));
    println!("{what:<44} {ms:>9.3} ms {:>9.3} ms {ratio:>7.2} {limit}", theirs / 1e6);
}

/// Whether this is to be measured: everything, or what a word on the command line is a part of.
fn chosen(what: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|word| what.contains(&word))
}

/// Fresh, beside ndarray's operators; and into an output that is there, beside `Zip` and the copy.
macro_rules! work {
    ($what:literal, ($($x:ident),+), $function:expr, $operator:expr, $moved:expr) => {if chosen($what) {
        let fresh = || map(($(&$x,)+), $function).unwrap();
        let theirs = || $operator;
        assert_eq!(fresh(), theirs());
        let (ours, ndarrays) = compare(ROUNDS, 1, fresh, theirs);
        report(concat!($what, ", fresh"), ours, ndarrays, None);

        let (mut out, mut other) = (theirs(), theirs());
        let shape = out.raw_dim();
        $(let $x = $x.broadcast(shape).unwrap();)+
        let (from, mut to) = (vec![1f32; $moved / 2], vec![0f32; $moved / 2]);
        let (ours, zip) = compare(
            ROUNDS,
            1,
            || map_into(&mut out, ($(&$x,)+), $function).unwrap(),
            || Zip::from(&mut other)$(.and(&$x))+.par_for_each(|out, $($x),+| *out = $function($($x),+)),
        );
        let (limit, _) = compare(ROUNDS, 1, || copy(&from, &mut to), || ());
        report(concat!($what, ", into"), ours, zip, Some(limit));
    }};
}

fn main() {
    println!("{:<44} {:>12} {:>12} {:>7} {:>11}", "", "unishape", "ndarray", "ratio", "of a copy");
    let (rows, columns) = (4000, 3000);
    let n = rows * columns;
    let (a, b) = (random(rows, columns), random(rows, columns));
    let (row, column) = (random(1, columns), random(rows, 1));
    let square = random(columns, columns);
    let other = random(columns, columns).reversed_axes();
    let points = random(8_000_000, 3);
    let (three, each) =
        (Array1::from_vec(vec![1.0f32, 2.0, 3.0]), points.column(0).insert_axis(Axis(1)).to_owned());
    work!("same shape, a + b", (a, b), |a: &f32, b: &f32| a + b, &a + &b, 3 * n);
    work!("row, a + r", (a, row), |a: &f32, b: &f32| a + b, &a + &row, 2 * n);
    work!("column, a + c", (a, column), |a: &f32, b: &f32| a + b, &a + &column, 2 * n);
    work!("outer, c * r", (column, row), |a: &f32, b: &f32| a * b, &column * &row, n);
    work!("a * r + c", (a, row, column), |a: &f32, b: &f32, c: &f32| a * b + c, &a * &row + &column, 2 * n);
    work!(
        "transposed, a + b.T",
        (square, other),
        |a: &f32, b: &f32| a + b,
        &square + &other,
        3 * columns * columns
    );
    work!("rows of 3, p + t", (points, three), |a: &f32, b: &f32| a + b, &points + &three, 48_000_000);
    work!("rows of 3, p * e", (points, each), |a: &f32, b: &f32| a * b, &points * &each, 56_000_000);

    if chosen("8x1x6x1 with 7x1x5") {
        tiny();
    }
}

/// The cost of a call.
fn tiny() {
    let a = Array4::from_shape_fn((8, 1, 6, 1), |(i, _, k, _)| (i * 6 + k) as f32);
    let b = Array4::from_shape_fn((1, 7, 1, 5), |(_, j, _, l)| (j * 5 + l) as f32).remove_axis(Axis(0));
    let ours = || map((black_box(&a), black_box(&b)), |a, b| a + b).unwrap();
    let by_hand = || {
        let (a, b) = (black_box(&a).as_slice().unwrap(), black_box(&b).as_slice().unwrap());
        let mut out = Vec::with_capacity(8 * 7 * 6 * 5);
        for i in 0..8 {
            for j in 0..7 {
                for k in 0..6 {
                    for l in 0..5 {
                        out.push(a[i * 6 + k] + b[j * 5 + l]);
                    }
                }
            }
        }
        Array4::from_shape_vec((8, 7, 6, 5), out).unwrap()
    };
    assert_eq!(ours(), by_hand());
    let (ours, by_hand) = compare(101, 1000, ours, by_hand);
    println!(
        "\n8x1x6x1 with 7x1x5: {ours:.0} ns, loops by hand {by_hand:.0} ns, ratio {:.2}",
        ours / by_hand
    );
}
