//! The time of `broadcast`, compared with ndarray's `broadcast`, which takes one array per call and its target shape.

use crate::report::{Table, percent, ratio, time_text};
use crate::timing::{Limits, Times, largest_spread, measure, timed};
use crate::workloads::Scale;
use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, IntoDimension, Ix1, Ix2, Ix3, Ix4, IxDyn};
use std::hint::black_box;
use std::time::Duration;
use unishape::{CommonShape, Error, Rules, broadcast, broadcast_all, broadcast_to};

/// Times two functions in rounds.
pub(crate) fn pair<A, B>(
    scale: Scale,
    unishape: impl FnMut() -> A,
    ndarray: impl FnMut() -> B,
) -> (Times, Times) {
    let rounds = scale.size(101, 11);
    let limits =
        Limits { min_rounds: rounds, max_rounds: rounds, time: Duration::ZERO, pause: Duration::ZERO };
    let times = measure(limits, &mut [timed(unishape), timed(ndarray)]);
    (times[0], times[1])
}

/// A row of a table: both medians, their ratio, and the larger spread.
pub(crate) fn row(what: &str, (unishape, ndarray): (Times, Times)) -> Vec<String> {
    let spread = percent(largest_spread([&unishape, &ndarray]));
    vec![
        what.into(),
        time_text(unishape.median),
        time_text(ndarray.median),
        ratio(ndarray.median / unishape.median),
        spread,
    ]
}

/// N compatible arrays of rank 4; each has stretched dimensions.
fn inputs(n: usize) -> Vec<ArrayD<f32>> {
    (0..n).map(|i| ArrayD::zeros(IxDyn(if i % 2 == 0 { &[8, 1, 6, 1] } else { &[7, 1, 5] }))).collect()
}

/// Two arrays of static ranks. Both functions are never inlined, so that neither is optimised together with the
/// timing loop.
macro_rules! two_static {
    ($scale:ident, $what:literal, $A:ty, $B:ty, $Dim:ty, $a:expr, $b:expr, $common:expr) => {{
        type Views<'a> = (ArrayView<'a, f32, $Dim>, ArrayView<'a, f64, $Dim>);
        #[inline(never)]
        fn unishape<'a>(a: &'a Array<f32, $A>, b: &'a Array<f64, $B>) -> Result<Views<'a>, Error> {
            broadcast((a, b))
        }
        #[inline(never)]
        fn ndarray<'a>(a: &'a Array<f32, $A>, b: &'a Array<f64, $B>, common: $Dim) -> Option<Views<'a>> {
            Some((a.broadcast(common)?, b.broadcast(common)?))
        }
        let (a, b) = (Array::<f32, $A>::zeros($a), Array::<f64, $B>::zeros($b));
        let common = $common.into_dimension();
        assert_eq!(unishape(&a, &b).ok(), ndarray(&a, &b, common));
        let times = pair(
            $scale,
            || unishape(black_box(&a), black_box(&b)),
            || ndarray(black_box(&a), black_box(&b), black_box(common)),
        );
        row($what, times)
    }};
}

/// The table of views.
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
        title: "Views: `broadcast` and ndarray's `broadcast`".into(),
        note:
            "ndarray's `broadcast` takes one array per call, and the common shape; unishape computes it. Ratio: \
               ndarray's median relative to unishape's."
                .into(),
        head: ["", "unishape", "ndarray", "ratio", "largest spread"].map(String::from).into(),
        rows,
        ratios: Vec::new(),
    }]
}

fn many(scale: Scale, n: usize) -> Vec<String> {
    let arrays = inputs(n);
    let common = IxDyn(&[8, 7, 6, 5]);
    #[inline(never)]
    fn unishape(arrays: &[ArrayD<f32>]) -> Vec<ArrayViewD<'_, f32>> {
        broadcast_all(arrays).expect("compatible shapes")
    }
    #[inline(never)]
    fn ndarray<'a>(arrays: &'a [ArrayD<f32>], common: &IxDyn) -> Vec<ArrayViewD<'a, f32>> {
        arrays.iter().map(|array| array.broadcast(common.clone()).expect("compatible shapes")).collect()
    }
    assert_eq!(unishape(&arrays), ndarray(&arrays, &common));
    let times =
        pair(scale, || unishape(black_box(&arrays)), || ndarray(black_box(&arrays), black_box(&common)));
    row(&format!("{n} arrays of dynamic rank 4"), times)
}

/// The time does not depend on the number of elements: 10 or 10¹⁵.
fn sizes(scale: Scale) -> Vec<String> {
    let array = ndarray::arr1(&[1u8, 2]);
    let stretched =
        |rows: usize| broadcast_to(black_box(&array), black_box((rows, 2))).expect("compatible shapes");
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
            common.push(black_box(&shapes[i % 2])).expect("compatible shapes");
        }
        assert_eq!(common.finish().expect("a shape"), [2, 3, 4, 5, 6, 7, 8, 9]);
    };
    let (time, _) = pair(scale, common, || ());
    vec!["a million shapes of rank 8".into(), time_text(time.median), String::new(), String::new()]
}
