//! What `broadcast` costs beside ndarray's own `broadcast`, which needs to be told the target shape and takes
//! one array a call.

use crate::report::{Table, ratio, time_text};
use crate::timing::{Patience, Times, in_turns, turn};
use crate::workloads::Scale;
use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, IntoDimension, Ix1, Ix2, Ix3, Ix4, IxDyn};
use std::hint::black_box;
use std::time::Duration;
use unishape::{CommonShape, Error, Rules, broadcast, broadcast_all, broadcast_to};

/// Two ways of doing the same take turns.
pub(crate) fn pair<A, B>(scale: Scale, ours: impl FnMut() -> A, theirs: impl FnMut() -> B) -> (Times, Times) {
    let rounds = scale.size(101, 11);
    let patience = Patience { least: rounds, most: rounds, time: Duration::ZERO };
    let times = in_turns(patience, &mut [turn(ours), turn(theirs)]);
    (times[0], times[1])
}

/// What two ways cost, as a line of a table.
pub(crate) fn row(what: &str, (ours, theirs): (Times, Times)) -> Vec<String> {
    vec![what.into(), time_text(ours.median), time_text(theirs.median), ratio(theirs.median / ours.median)]
}

/// N arrays of rank 4 that go together: every one is stretched somewhere.
fn inputs(n: usize) -> Vec<ArrayD<f32>> {
    (0..n).map(|i| ArrayD::zeros(IxDyn(if i % 2 == 0 { &[8, 1, 6, 1] } else { &[7, 1, 5] }))).collect()
}

/// Two arrays with ranks known to the compiler. Both ways are functions of their own, as in a program, so that
/// neither is optimised together with the loop that times it.
macro_rules! two_static {
    ($scale:ident, $what:literal, $A:ty, $B:ty, $Dim:ty, $a:expr, $b:expr, $common:expr) => {{
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
        let times = pair(
            $scale,
            || ours(black_box(&a), black_box(&b)),
            || theirs(black_box(&a), black_box(&b), black_box(common)),
        );
        row($what, times)
    }};
}

/// The views, a table.
pub(crate) fn tables(scale: Scale) -> Vec<Table> {
    let mut rows = vec![
        two_static!(scale, "`300x1`, `400`; static ranks", Ix2, Ix1, Ix2, (300, 1), 400, (300, 400)),
        two_static!(scale, "`300x1`, `1x400`; static ranks", Ix2, Ix2, Ix2, (300, 1), (1, 400), (300, 400)),
        two_static!(
            scale,
            "`8x1x6x1`, `7x1x5`; static ranks",
            Ix4,
            Ix3,
            Ix4,
            (8, 1, 6, 1),
            (7, 1, 5),
            (8, 7, 6, 5)
        ),
    ];
    rows.extend([2, 8, 64].map(|n| many(scale, n)));
    rows.extend([sizes(scale), million(scale)]);
    vec![Table {
        title: "Views: `broadcast` beside ndarray's".into(),
        note:
            "ndarray's `broadcast` takes one array a call and must be told the common shape; ours finds it. \
               The last column is how much longer ndarray takes."
                .into(),
        head: ["", "unishape", "ndarray", "ratio"].map(String::from).into(),
        rows,
        facts: Vec::new(),
    }]
}

fn many(scale: Scale, n: usize) -> Vec<String> {
    let arrays = inputs(n);
    let common = IxDyn(&[8, 7, 6, 5]);
    #[inline(never)]
    fn ours(arrays: &[ArrayD<f32>]) -> Vec<ArrayViewD<'_, f32>> {
        broadcast_all(arrays).expect("arrays that fit")
    }
    #[inline(never)]
    fn theirs<'a>(arrays: &'a [ArrayD<f32>], common: &IxDyn) -> Vec<ArrayViewD<'a, f32>> {
        arrays.iter().map(|array| array.broadcast(common.clone()).expect("arrays that fit")).collect()
    }
    assert_eq!(ours(&arrays), theirs(&arrays, &common));
    let times = pair(scale, || ours(black_box(&arrays)), || theirs(black_box(&arrays), black_box(&common)));
    row(&format!("{n} arrays of dynamic rank 4"), times)
}

/// The cost does not depend on the number of elements: ten beside a quadrillion.
fn sizes(scale: Scale) -> Vec<String> {
    let array = ndarray::arr1(&[1u8, 2]);
    let stretched = |rows: usize| broadcast_to(black_box(&array), black_box((rows, 2))).expect("it fits");
    assert_eq!(stretched(500_000_000_000_000).len(), 1_000_000_000_000_000);
    let (many, few) = pair(scale, || stretched(500_000_000_000_000).raw_dim(), || stretched(5).raw_dim());
    let few = format!("to 10 elements {}", time_text(few.median));
    vec!["a row to 10¹⁵ elements".into(), time_text(many.median), few, String::new()]
}

fn million(scale: Scale) -> Vec<String> {
    let shapes: [[usize; 8]; 2] = [[2, 1, 4, 1, 6, 1, 8, 1], [1, 3, 1, 5, 1, 7, 1, 9]];
    let common = || {
        let mut common = CommonShape::new(Rules::STANDARD);
        for i in 0..1_000_000 {
            common.push(black_box(&shapes[i % 2])).expect("shapes that fit");
        }
        assert_eq!(common.finish().expect("a shape"), [2, 3, 4, 5, 6, 7, 8, 9]);
    };
    let (time, _) = pair(scale, common, || ());
    vec!["a million shapes of rank 8".into(), time_text(time.median), String::new(), String::new()]
}
