//! What `broadcast` costs beside ndarray's own `broadcast`, which needs to be told the target shape
//! and takes one array a call.
//!
//! Both run in one process, in rounds that take turns; the figure is the median round's, and the
//! ratio is of the two medians. Results are compared with each other before anything is timed.

mod support;

use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, IntoDimension, Ix1, Ix2, Ix3, Ix4, IxDyn};
use std::hint::black_box;
use support::compare;
use unishape::{CommonShape, Error, Rules, broadcast, broadcast_all, broadcast_to};

const ROUNDS: usize = 101;

fn report(what: &str, (ours, theirs): (f64, f64)) {
    println!("{what:<58} {ours:>9.1} ns {theirs:>9.1} ns {:>7.2}", ours / theirs);
}

/// N arrays of rank 4 that go together: every one is stretched somewhere.
fn inputs(n: usize) -> Vec<ArrayD<f32>> {
    (0..n).map(|i| ArrayD::zeros(IxDyn(if i % 2 == 0 { &[8, 1, 6, 1] } else { &[7, 1, 5] }))).collect()
}

/// Two arrays with ranks known to the compiler. Both ways are functions of their own, as in a
/// program, so that neither is optimised together with the loop that times it.
macro_rules! two_static {
    ($what:literal, $A:ty, $B:ty, $Dim:ty, $a:expr, $b:expr, $common:expr) => {{
        type Views<'a> = (ArrayView<'a, f32, $Dim>, ArrayView<'a, f64, $Dim>);
        #[inline(never)]
        fn ours<'a>(a: &'a Array<f32, $A>, b: &'a Array<f64, $B>) -> Result<Views<'a>, Error> {
            broadcast((a, b))
        }
        #[inline(never)]
        fn theirs<'a>(a: &'a Array<f32, $A>, b: &'a Array<f64, $B>, common: $Dim) -> Option<Views<'a>> {
            Some((a.broadcast(common)?, b.broadcast(common)?))
        }
        let (a, b) = (Array::<f32, $A>::zeros($a), Array::<f64, $B>::zeros($b));
        let common = $common.into_dimension();
        assert_eq!(ours(&a, &b).ok(), theirs(&a, &b, common));
        let times = compare(
            ROUNDS,
            10_000,
            || ours(black_box(&a), black_box(&b)),
            || theirs(black_box(&a), black_box(&b), black_box(common)),
        );
        report($what, times);
    }};
}

fn main() {
    println!("{:<58} {:>12} {:>12} {:>7}", "", "unishape", "ndarray", "ratio");
    two_static!("N = 2, static ranks 2 and 1: 300x1 with 400", Ix2, Ix1, Ix2, (300, 1), 400, (300, 400));
    two_static!(
        "N = 2, static ranks 2 and 2: 300x1 with 1x400",
        Ix2,
        Ix2,
        Ix2,
        (300, 1),
        (1, 400),
        (300, 400)
    );
    two_static!(
        "N = 2, static ranks 4 and 3: 8x1x6x1 with 7x1x5",
        Ix4,
        Ix3,
        Ix4,
        (8, 1, 6, 1),
        (7, 1, 5),
        (8, 7, 6, 5)
    );
    for n in [2, 8, 64] {
        many(n);
    }
    sizes();
    million();
}

fn many(n: usize) {
    let arrays = inputs(n);
    let common = IxDyn(&[8, 7, 6, 5]);
    #[inline(never)]
    fn ours(arrays: &[ArrayD<f32>]) -> Vec<ArrayViewD<'_, f32>> {
        broadcast_all(arrays).unwrap()
    }
    #[inline(never)]
    fn theirs<'a>(arrays: &'a [ArrayD<f32>], common: &IxDyn) -> Vec<ArrayViewD<'a, f32>> {
        arrays.iter().map(|array| array.broadcast(common.clone()).unwrap()).collect()
    }
    assert_eq!(ours(&arrays), theirs(&arrays, &common));
    let times = compare(
        ROUNDS,
        40_000 / n,
        || ours(black_box(&arrays)),
        || theirs(black_box(&arrays), black_box(&common)),
    );
    report(&format!("N = {n}, dynamic rank 4, in a Vec"), times);
}

/// The cost does not depend on the number of elements: ten beside a quadrillion.
fn sizes() {
    let row = ndarray::arr1(&[1u8, 2]);
    let stretched = |rows: usize| broadcast_to(black_box(&row), black_box((rows, 2))).unwrap();
    assert_eq!(stretched(500_000_000_000_000).len(), 1_000_000_000_000_000);
    let (many, few) =
        compare(ROUNDS, 10_000, || stretched(500_000_000_000_000).raw_dim(), || stretched(5).raw_dim());
    println!(
        "\nstretched to 10^15 elements {many:.1} ns, to 10 elements {few:.1} ns, ratio {:.2}",
        many / few
    );
}

fn million() {
    let shapes: [[usize; 8]; 2] = [[2, 1, 4, 1, 6, 1, 8, 1], [1, 3, 1, 5, 1, 7, 1, 9]];
    let (ours, _) = compare(
        ROUNDS,
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
