//! What `broadcast` costs beside ndarray's own `broadcast`, which needs to be told the target shape
//! and takes one array a call.
//!
//! Both run in one process, in rounds that take turns; the figure is the median round's, and the
//! ratio is of the two medians. Results are compared with each other before anything is timed.

use ndarray::{Array2, ArrayD, ArrayViewD, IxDyn};
use std::hint::black_box;
use std::time::Instant;
use unishape::{CommonShape, Rules, broadcast, broadcast_all, broadcast_to};

const ROUNDS: usize = 101;

/// The medians, in nanoseconds a call, of two pieces of work that take turns.
fn compare<A, B>(calls: usize, mut ours: impl FnMut() -> A, mut theirs: impl FnMut() -> B) -> (f64, f64) {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        times.0.push(time(calls, &mut ours));
        times.1.push(time(calls, &mut theirs));
    }
    (median(times.0), median(times.1))
}

fn time<T>(calls: usize, work: &mut impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(work());
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn report(what: &str, (ours, theirs): (f64, f64)) {
    println!("{what:<58} {ours:>9.1} ns {theirs:>9.1} ns {:>7.2}", ours / theirs);
}

/// N arrays of rank 4 that go together: every one is stretched somewhere.
fn inputs(n: usize) -> Vec<ArrayD<f32>> {
    (0..n).map(|i| ArrayD::zeros(IxDyn(if i % 2 == 0 { &[8, 1, 6, 1] } else { &[7, 1, 5] }))).collect()
}

fn main() {
    println!("{:<58} {:>12} {:>12} {:>7}", "", "unishape", "ndarray", "ratio");
    two_static();
    two_scattered();
    for n in [2, 8, 64] {
        many(n);
    }
    sizes();
    million();
}

fn two_static() {
    let (a, b) = (Array2::<f32>::zeros((300, 1)), Array2::<f64>::zeros((1, 400)));
    let (x, y) = broadcast((&a, &b)).unwrap();
    assert_eq!((x.view(), y.view()), (a.broadcast((300, 400)).unwrap(), b.broadcast((300, 400)).unwrap()));
    let times = compare(
        10_000,
        || broadcast((black_box(&a), black_box(&b))).unwrap(),
        || {
            let shape = black_box((300, 400));
            (black_box(&a).broadcast(shape).unwrap(), black_box(&b).broadcast(shape).unwrap())
        },
    );
    report("N = 2, static rank 2, two element types", times);
}

fn two_scattered() {
    let (a, b) = (ndarray::Array4::<f32>::zeros((8, 1, 6, 1)), ndarray::Array3::<f64>::zeros((7, 1, 5)));
    let times = compare(
        10_000,
        || broadcast((black_box(&a), black_box(&b))).unwrap(),
        || {
            let shape = black_box((8, 7, 6, 5));
            (black_box(&a).broadcast(shape).unwrap(), black_box(&b).broadcast(shape).unwrap())
        },
    );
    report("N = 2, static ranks 4 and 3: 8x1x6x1 with 7x1x5", times);
}

fn many(n: usize) {
    let arrays = inputs(n);
    let common = IxDyn(&[8, 7, 6, 5]);
    let theirs = || -> Vec<ArrayViewD<'_, f32>> {
        let shape = black_box(&common);
        black_box(&arrays).iter().map(|array| array.broadcast(shape.clone()).unwrap()).collect()
    };
    assert_eq!(broadcast_all(&arrays).unwrap(), theirs());
    let times = compare(40_000 / n, || broadcast_all(black_box(&arrays)).unwrap(), theirs);
    report(&format!("N = {n}, dynamic rank 4, in a Vec"), times);
}

/// The cost does not depend on the number of elements: ten beside a quadrillion.
fn sizes() {
    let row = ndarray::arr1(&[1u8, 2]);
    let stretched = |rows: usize| broadcast_to(black_box(&row), black_box((rows, 2))).unwrap();
    assert_eq!(stretched(500_000_000_000_000).len(), 1_000_000_000_000_000);
    let (many, few) = compare(10_000, || stretched(500_000_000_000_000).raw_dim(), || stretched(5).raw_dim());
    println!(
        "\nstretched to 10^15 elements {many:.1} ns, to 10 elements {few:.1} ns, ratio {:.2}",
        many / few
    );
}

fn million() {
    let shapes: [[usize; 8]; 2] = [[2, 1, 4, 1, 6, 1, 8, 1], [1, 3, 1, 5, 1, 7, 1, 9]];
    let (ours, _) = compare(
        1,
        || {
            let mut common = CommonShape::new(Rules::STANDARD);
            for i in 0..1_000_000 {
                common.push(black_box(&shapes[i % 2])).unwrap();
            }
            assert_eq!(common.finish().unwrap(), [2, 3, 4, 5, 6, 7, 8, 9]);
        },
        || (),
    );
    println!("a million shapes of rank 8 {:.1} ms", ours / 1e6);
}
