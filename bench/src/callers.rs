//! Concurrent callers: threads that call at once, each with arrays of its own.

use crate::report::{Table, percent};
use crate::scaling::table as new_table;
use crate::timing::{Times, largest_spread};
use crate::workloads::{Scale, numbers};
use ndarray::Array2;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unishape::expr::{Expr, Value};
use unishape::map;

const SIDE: usize = 1000;
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// The arrays of one thread.
struct Arrays {
    /// Matrices.
    a: Array2<f64>,
    b: Array2<f64>,
    /// Columns.
    c: Array2<f64>,
    d: Array2<f64>,
    /// Rows.
    r: Array2<f64>,
    s: Array2<f64>,
}

impl Arrays {
    fn new() -> Arrays {
        let made = |shape: (usize, usize)| numbers(shape, |n| 0.5 + f64::from(n) / 1024.0);
        let (matrix, column, row) = ((SIDE, SIDE), (SIDE, 1), (1, SIDE));
        Arrays {
            a: made(matrix),
            b: made(matrix),
            c: made(column),
            d: made(column),
            r: made(row),
            s: made(row),
        }
    }
}

/// A contestant: makes a call and drops its result; gives the last element.
type Call = Box<dyn Fn(&Arrays) -> f64 + Sync>;

fn last(array: &Array2<f64>) -> f64 {
    array[[SIDE - 1, SIDE - 1]]
}

/// The contestants for arrays, the function of their elements, the expression, and hand-written loops on one thread.
macro_rules! calls {
    (($($x:ident),+), $function:expr, $text:literal, $loops:expr) => {{
        let expr = |threads: Option<usize>| -> Call {
            let expr = Expr::parse($text).expect("a valid expression");
            Box::new(move |Arrays { $($x,)+ .. }: &Arrays| {
                let bound = expr.bind([$((stringify!($x), Value::from($x))),+]).expect("compatible shapes");
                let bound = match threads { Some(threads) => bound.threads(threads), None => bound };
                let made = bound.compute().expect("memory");
                let view = unishape::TensorView::from(&made);
                view.typed::<f64>().expect("the dtype of the result")[[SIDE - 1, SIDE - 1]]
            })
        };
        let all: Vec<(&'static str, Call)> = vec![
            ("map", Box::new(|Arrays { $($x,)+ .. }: &Arrays| {
                last(&map(($($x,)+), $function).expect("compatible shapes"))
            })),
            ("expr", expr(None)),
            ("expr, 1 thread", expr(Some(1))),
            ("Zip", Box::new(|Arrays { $($x,)+ .. }: &Arrays| {
                $(let $x = $x.broadcast((SIDE, SIDE)).expect("compatible shapes");)+
                last(&$crate::zip!($($x),+).par_map_collect($function))
            })),
            ("Zip, 1 thread", Box::new(|Arrays { $($x,)+ .. }: &Arrays| {
                $(let $x = $x.broadcast((SIDE, SIDE)).expect("compatible shapes");)+
                last(&$crate::zip!($($x),+).map_collect($function))
            })),
            ("hand-written, 1 thread", Box::new(|arrays: &Arrays| {
                let mut out = Vec::with_capacity(SIDE * SIDE);
                for row in 0..SIDE {
                    $loops(arrays, row, &mut out);
                }
                black_box(&out)[SIDE * SIDE - 1]
            })),
        ];
        all
    }};
}

/// A row of a matrix.
fn row(array: &Array2<f64>, at: usize) -> &[f64] {
    &array.as_slice().expect("row-major order")[at * SIDE..][..SIDE]
}

fn add_rows(Arrays { a, b, .. }: &Arrays, at: usize, out: &mut Vec<f64>) {
    out.extend(row(a, at).iter().zip(row(b, at)).map(|(a, b)| a + b));
}

fn normalise_rows(Arrays { a, c, d, r, s, .. }: &Arrays, at: usize, out: &mut Vec<f64>) {
    let (c, d) = (c[[at, 0]], d[[at, 0]]);
    out.extend(row(a, at).iter().zip(row(r, 0)).zip(row(s, 0)).map(|((a, r), s)| (a - c) / d * r + s));
}

/// Calls per second of all threads together.
fn throughput(call: &Call, arrays: &[Arrays], time: Duration) -> f64 {
    let (stop, barrier) = (&AtomicBool::new(false), &Barrier::new(arrays.len() + 1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = arrays
            .iter()
            .map(|arrays| {
                scope.spawn(move || {
                    black_box(call(arrays));
                    barrier.wait();
                    let mut calls = 0;
                    while !stop.load(Ordering::Relaxed) {
                        black_box(call(arrays));
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let calls: usize = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
        calls as f64 / start.elapsed().as_secs_f64()
    })
}

pub(crate) fn table(scale: Scale) -> Table {
    let arrays: Vec<Arrays> =
        THREADS.iter().max().into_iter().flat_map(|&most| 0..most).map(|_| Arrays::new()).collect();
    let (rounds, time) = (scale.size(5, 1), Duration::from_millis(scale.size(300, 30) as u64));
    let workloads = [
        ("a + b", calls!((a, b), |a: &f64, b: &f64| a + b, "a + b", add_rows)),
        (
            "normalise",
            calls!(
                (a, c, d, r, s),
                |a: &f64, c: &f64, d: &f64, r: &f64, s: &f64| (a - c) / d * r + s,
                "(a - c) / d * r + s",
                normalise_rows
            ),
        ),
    ];
    let mut lines = Vec::new();
    for (name, calls) in &workloads {
        let results: Vec<f64> = calls.iter().map(|(_, call)| call(&arrays[0])).collect();
        assert!(
            results.iter().all(|result| *result == results[0]),
            "{name}: the results differ: {results:?}"
        );
        for threads in THREADS {
            let mut rates = vec![Vec::new(); calls.len()];
            for round in 0..rounds {
                for number in 0..calls.len() {
                    let number = (round + number) % calls.len();
                    std::thread::sleep(Duration::from_millis(20)); // idle threads park
                    rates[number].push(throughput(&calls[number].1, &arrays[..threads], time));
                }
            }
            let rates: Vec<Times> = rates.into_iter().map(Times::of).collect();
            let cells = rates.iter().map(|rates| format!("{:.0}", rates.median));
            let spread = percent(largest_spread(&rates));
            lines.push(
                [name.to_string(), threads.to_string()].into_iter().chain(cells).chain([spread]).collect(),
            );
        }
    }
    let names = workloads[0].1.iter().map(|(name, _)| *name);
    let head: Vec<&str> = ["", "threads"].into_iter().chain(names).chain(["largest spread"]).collect();
    let note = "Calls per second of all threads together: f64, 1000x1000, freshly allocated output, each thread with \
                arrays of its own. `normalise` is `(a - c) / d * r + s` with columns c and d, and rows r and s. Zip: \
                on all cores, and on the calling thread alone.";
    new_table("Concurrent callers", note, &head, lines)
}
