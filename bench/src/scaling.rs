//! How the time scales with ranks, operands, operators and threads.

use crate::contestants::memcpy;
use crate::report::{Table, percent, rate, ratio, time_text};
use crate::timing::{Timed, largest_spread, measure, timed};
use crate::workloads::{Scale, chain, chain_text, extend_rows, fill, floats, near_1, push_elements};
use ndarray::{Array, Array2, ArrayD, IxDyn, Zip};
use rayon::prelude::*;
use std::cell::RefCell;
use unishape::expr::{Bound, Expr, Value};
use unishape::{map, map_into};

/// One of the tables.
pub(crate) struct Scaling {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Scale) -> Table,
}

pub(crate) const ALL: &[Scaling] = &[
    Scaling { name: "scaling: overhead of a call", run: calls },
    Scaling { name: "scaling: rank", run: ranks },
    Scaling { name: "scaling: operands", run: operands },
    Scaling { name: "scaling: operators", run: operators },
    Scaling { name: "scaling: threads", run: threads },
];

/// Ratios for the targets: 12 operators relative to one.
pub(crate) const MAP_12: &str = "12 operators, map";
pub(crate) const EXPR_12: &str = "12 operators, expr";
/// Ratios for the targets: a call relative to loops that push one element at a time.
pub(crate) const MAP_TO_PUSHED: &str = "a call of map";
pub(crate) const EXPR_TO_PUSHED: &str = "a call of expr";

/// The medians in nanoseconds, and the largest spread.
fn medians(scale: Scale, mut blocks: Vec<Timed<'_>>) -> (Vec<f64>, String) {
    let times = measure(scale.limits, &mut blocks);
    let spread = percent(largest_spread(&times));
    (times.iter().map(|times| times.median).collect(), spread)
}

pub(crate) fn table(title: &str, note: &str, head: &[&str], rows: Vec<Vec<String>>) -> Table {
    let head = head.iter().map(|&word| word.into()).collect();
    Table { title: title.into(), note: note.into(), head, rows, ratios: Vec::new() }
}

fn calls(scale: Scale) -> Table {
    let (a, b) = (&floats((8, 1, 6, 1)), &near_1((7, 1, 5)));
    let expr = Expr::parse("a + b").expect("a valid expression");
    let bind = || expr.bind([("a", Value::from(a)), ("b", Value::from(b))]).expect("compatible shapes");
    let bound = bind();
    assert_eq!(push_elements(a, b), extend_rows(a, b));
    let sum = |a: &f32, b: &f32| a + b;
    let [mut out, mut other, mut third] = [(); 3].map(|()| extend_rows(a, b));
    let calls: Vec<(&str, Timed<'_>)> = vec![
        ("hand-written, appends rows", timed(|| extend_rows(a, b))),
        ("hand-written, pushes elements", timed(|| push_elements(a, b))),
        ("`map`", timed(|| map((a, b), sum).expect("compatible shapes"))),
        ("ndarray's `+`", timed(|| a + b)),
        ("`Expr::bind`, `Bound::compute`", timed(|| bind().compute().expect("memory"))),
        ("`Bound::compute`", timed(|| bound.compute().expect("memory"))),
        (
            "`Expr::parse`, `Expr::evaluate`",
            timed(|| {
                let expr = Expr::parse("a + b").expect("a valid expression");
                expr.evaluate([("a", Value::from(a)), ("b", Value::from(b))]).expect("compatible shapes")
            }),
        ),
        ("hand-written, preallocated output", timed(|| fill(a, b, &mut out))),
        (
            "`map_into`, preallocated output",
            timed(|| map_into(&mut other, (a, b), sum).expect("compatible shapes")),
        ),
        (
            "`Bound::compute_into`, preallocated output",
            timed(|| bound.compute_into(&mut third).expect("an output of the right shape")),
        ),
    ];
    let (names, blocks): (Vec<&str>, Vec<Timed<'_>>) = calls.into_iter().unzip();
    let times = measure(scale.limits, &mut { blocks });
    let rows = names.iter().zip(&times).map(|(name, time)| {
        let base = if name.contains("preallocated") { times[7] } else { times[0] };
        vec![
            name.to_string(),
            time_text(time.median),
            percent(time.spread()),
            ratio(time.median / base.median),
        ]
    });
    let ratios = vec![
        (MAP_TO_PUSHED, times[2].median / times[1].median),
        (EXPR_TO_PUSHED, times[4].median / times[1].median),
    ];
    let note = "`8x1x6x1` with `7x1x5`, 1680 elements. The ratio is to the first row, and with a preallocated output \
                to the hand-written loops with one.";
    let table = table("Overhead of a call", note, &["", "time", "spread", "ratio"], rows.collect());
    Table { ratios, ..table }
}

fn superscript(number: u32) -> String {
    number
        .to_string()
        .chars()
        .map(|digit| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize - 48])
        .collect()
}

/// A shape of this rank with 2 to the power of `bits` elements.
fn shape_of_rank(rank: usize, bits: usize) -> Vec<usize> {
    (0..rank).map(|dim| 1 << ((dim + 1) * bits / rank - dim * bits / rank)).collect()
}

fn ranks(scale: Scale) -> Table {
    let bits = scale.size(24, 14);
    let expr = Expr::parse("a + b").expect("a valid expression");
    let mut rows = Vec::new();
    for rank in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32] {
        let shape = shape_of_rank(rank, bits);
        let keep = |odd: usize| -> Vec<usize> {
            shape.iter().enumerate().map(|(dim, &size)| if dim % 2 == odd { size } else { 1 }).collect()
        };
        let mut cells = vec![rank.to_string()];
        for (left, right) in [(shape.clone(), shape.clone()), (keep(0), keep(1))] {
            let (a, b): (&ArrayD<f32>, &ArrayD<f32>) = (&floats(IxDyn(&left)), &near_1(IxDyn(&right)));
            let out = RefCell::new(ArrayD::<f32>::zeros(IxDyn(&shape)));
            let (wide_a, wide_b) = (
                a.broadcast(IxDyn(&shape)).expect("compatible shapes"),
                b.broadcast(IxDyn(&shape)).expect("compatible shapes"),
            );
            let (times, spread) = medians(
                scale,
                vec![
                    timed(|| {
                        map_into(&mut *out.borrow_mut(), (a, b), |a, b| a + b).expect("compatible shapes")
                    }),
                    timed(|| {
                        let bound = expr.bind([("a", Value::from(a)), ("b", Value::from(b))]);
                        bound
                            .and_then(|bound| bound.compute_into(&mut *out.borrow_mut()))
                            .expect("compatible shapes");
                    }),
                    timed(|| {
                        let (a, b) = (wide_a.view(), wide_b.view());
                        Zip::from(&mut *out.borrow_mut()).and(a).and(b).par_for_each(|out, a, b| *out = a + b)
                    }),
                ],
            );
            cells.extend([
                time_text(times[0]),
                time_text(times[1]),
                ratio(times[2] / times[0].min(times[1])),
                spread,
            ]);
        }
        rows.push(cells);
    }
    let note = format!(
        "`a + b`, f32, 2{} elements in dimensions of about equal size, preallocated output. First both inputs have \
         one shape; then each is stretched in every other dimension, so that no two dimensions can be merged. Zip: \
         its time relative to the faster of `map` and `expr`.",
        superscript(bits as u32)
    );
    table(
        "Rank",
        &note,
        &["rank", "map", "expr", "Zip", "spread", "alternating: map", "expr", "Zip", "spread"],
        rows,
    )
}

fn operands(scale: Scale) -> Table {
    let (rows, columns) = (scale.size(1000, 100), 1000);
    let most = scale.size(256, 16);
    let arrays: Vec<Array2<f32>> = (0..most).map(|_| floats((rows, columns))).collect();
    let names: Vec<String> = (0..most).map(|i| format!("x{i}")).collect();
    let (mut lines, mut n) = (Vec::new(), 2);
    while n <= most {
        let (arrays, names) = (&arrays[..n], &names[..n]);
        let expr = Expr::parse(&names.join(" + ")).expect("a valid expression");
        let bound =
            || expr.bind(names.iter().zip(arrays.iter().map(Value::from))).expect("compatible shapes");
        let [out, other, third] = [(); 3].map(|()| RefCell::new(Array2::<f32>::zeros((rows, columns))));
        let bytes = (n + 1) * rows * columns * 4;
        let (times, spread) = medians(
            scale,
            vec![
                timed(|| bound().compute_into(&mut *out.borrow_mut()).expect("an output of the right shape")),
                timed(|| {
                    let mut out = other.borrow_mut();
                    out.assign(&arrays[0]);
                    arrays[1..].iter().for_each(|array| *out += array);
                }),
                timed(|| {
                    let mut out = third.borrow_mut();
                    let out = out.as_slice_mut().expect("row-major order");
                    out.par_chunks_mut(columns).enumerate().for_each(|(row, out)| {
                        let mut parts = arrays.iter().map(|array| {
                            &array.as_slice().expect("row-major order")[row * columns..][..columns]
                        });
                        out.copy_from_slice(parts.next().expect("at least two arrays"));
                        for part in parts {
                            for (out, x) in out.iter_mut().zip(part) {
                                *out += x;
                            }
                        }
                    });
                }),
                memcpy(bytes),
            ],
        );
        assert_eq!(out, other);
        assert_eq!(out, third);
        lines.push(vec![
            n.to_string(),
            time_text(times[0]),
            rate(bytes, times[0]),
            percent(times[3] / times[0]),
            ratio(times[1] / times[0]),
            ratio(times[2] / times[0]),
            spread,
        ]);
        n *= 2;
    }
    let note = format!(
        "The sum of N arrays of {rows}x{columns}, f32, preallocated output, as an expression. ndarray (`+=`, one \
         array after another) and hand-written loops: their time relative to the expression."
    );
    table(
        "Operands",
        &note,
        &["operands", "expr", "bandwidth", "of memcpy", "ndarray", "hand-written", "largest spread"],
        lines,
    )
}

fn operators(scale: Scale) -> Table {
    let (rows, columns) = (scale.size(4000, 400), 3000);
    let (a, r, c) = (&floats((rows, columns)), &near_1(columns), &floats((rows, 1)));
    let out = &RefCell::new(Array2::<f32>::zeros((rows, columns)));
    macro_rules! mapped {
        ($($n:literal)+) => {
            vec![$(timed(|| {
                let out = &mut *out.borrow_mut();
                map_into(out, (a, r, c), |a, r, c| chain::<$n>(*a, *r, *c)).expect("compatible shapes")
            })),+]
        };
    }
    let numbers = OPERATORS;
    let mut blocks: Vec<Timed<'_>> = mapped!(1 2 4 8 12 16 24);
    for n in numbers {
        let expr = Expr::parse(&chain_text(n)).expect("a valid expression");
        blocks.push(timed(move || {
            let all = [("a", Value::from(a)), ("r", Value::from(r)), ("c", Value::from(c))];
            let named = all.into_iter().filter(|(name, _)| expr.names().iter().any(|wanted| wanted == name));
            let bound = expr.bind(named).expect("compatible shapes");
            bound.compute_into(&mut *out.borrow_mut()).expect("an output of the right shape")
        }));
    }
    blocks.push(memcpy(2 * rows * columns * 4));
    let times = measure(scale.limits, &mut blocks);
    let spread = |at: usize| percent(largest_spread([&times[at], &times[OPERATORS.len() + at]]));
    let medians: Vec<f64> = times.iter().map(|times| times.median).collect();
    let (maps, exprs, copy) =
        (&medians[..numbers.len()], &medians[numbers.len()..2 * numbers.len()], medians[2 * numbers.len()]);
    let lines = numbers.iter().enumerate().map(|(at, n)| {
        vec![
            n.to_string(),
            time_text(maps[at]),
            ratio(maps[at] / maps[0]),
            percent(copy / maps[at]),
            time_text(exprs[at]),
            ratio(exprs[at] / exprs[0]),
            percent(copy / exprs[at]),
            spread(at),
        ]
    });
    let note = format!(
        "`a * r`, `a * r + c`, `(a * r + c) * r` and so on, f32, `{rows}x{columns}` with a row and a column, into \
         a preallocated output: the bytes do not depend on the number of operators. Relative to one operator, and \
         to a copy of as many bytes."
    );
    let head =
        ["operators", "map", "relative to 1", "of memcpy", "expr", "relative to 1", "of memcpy", "spread"];
    let table = table("Operators", &note, &head, lines.collect());
    let twelve = numbers.iter().position(|&n| n == 12).expect("12 is one of them");
    let ratios = vec![(MAP_12, maps[twelve] / maps[0]), (EXPR_12, exprs[twelve] / exprs[0])];
    Table { ratios, ..table }
}

/// The numbers of operators to measure.
const OPERATORS: [usize; 7] = [1, 2, 4, 8, 12, 16, 24];

fn threads(scale: Scale) -> Table {
    let shape = (scale.size(4000, 400), 3000);
    let (a, b) = (&numbers_for_exp(shape), &near_1(shape));
    let (r, c) = (&near_1(shape.1), &near_1((shape.0, 1)));
    let out = &RefCell::new(Array2::<f32>::zeros(shape));
    let all = rayon::current_num_threads();
    let pools = [1, all].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads"));
    let bind = |text: &str| -> Bound<'_> {
        let given = [("a", a), ("b", b)].map(|(name, array)| (name, Value::from(array)));
        let given = given.into_iter().chain([("r", Value::from(r)), ("c", Value::from(c))]);
        let expr = Expr::parse(text).expect("a valid expression");
        let names = expr.names().to_vec();
        expr.bind(given.filter(|(name, _)| names.iter().any(|wanted| wanted == name)))
            .expect("compatible shapes")
    };
    let twelve = chain_text(12);
    let mut blocks: Vec<Timed<'_>> = Vec::new();
    for (pool, n) in pools.iter().zip([1, all]) {
        // A `RefCell` cannot be shared between threads: it is borrowed outside the pool.
        blocks.push(timed(move || {
            let out = &mut *out.borrow_mut();
            pool.install(|| map_into(out, (a, b), |a, b| a + b)).expect("compatible shapes")
        }));
        blocks.push(timed(move || {
            let out = &mut *out.borrow_mut();
            pool.install(|| map_into(out, (a, r, c), |a, r, c| chain::<12>(*a, *r, *c)))
                .expect("compatible shapes")
        }));
        blocks.push(timed(move || {
            let out = &mut *out.borrow_mut();
            pool.install(|| map_into(out, (a, b), |a, b| a.exp() * b)).expect("compatible shapes")
        }));
        for text in ["a + b", &twelve, "exp(a) * b"] {
            let bound = bind(text).threads(n);
            blocks.push(timed(move || {
                bound.compute_into(&mut *out.borrow_mut()).expect("an output of the right shape")
            }));
        }
        let mut to = Array::zeros(a.raw_dim());
        blocks.push(timed(move || {
            let (from, to) =
                (a.as_slice().expect("row-major order"), to.as_slice_mut().expect("row-major order"));
            let part = from.len().div_ceil(n);
            pool.install(|| {
                to.par_chunks_mut(part)
                    .zip(from.par_chunks(part))
                    .for_each(|(to, from)| to.copy_from_slice(from))
            });
        }));
    }
    let times = measure(scale.limits, &mut blocks);
    let (one, two) = times.split_at(times.len() / 2);
    let names = [
        "`map`: `a + b`",
        "`map`: 12 operators",
        "`map`: `exp(a) * b`",
        "expr: `a + b`",
        "expr: 12 operators",
        "expr: `exp(a) * b`",
        "memcpy",
    ];
    let rows = names.iter().enumerate().map(|(at, name)| {
        let spread = percent(largest_spread([&one[at], &two[at]]));
        let (one, two) = (one[at].median, two[at].median);
        vec![name.to_string(), time_text(one), time_text(two), ratio(one / two), spread]
    });
    let note = format!("f32, `{}x{}`, preallocated output.", shape.0, shape.1);
    table(
        "Threads",
        &note,
        &["", "1 thread", &format!("{all} threads"), "speed-up", "spread"],
        rows.collect(),
    )
}

fn numbers_for_exp(shape: (usize, usize)) -> Array2<f32> {
    crate::workloads::numbers(shape, |n| n as f32 / 64.0 - 8.0)
}
