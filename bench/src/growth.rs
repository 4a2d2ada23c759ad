//! How the cost grows: with elements, ranks, operands, operators and threads.

use crate::machine::memory_left;
use crate::report::{Table, percent, rate, ratio, time_text};
use crate::rivals::copied;
use crate::timing::{Turn, in_turns, turn};
use crate::workloads::{Scale, chain, chain_text, extended, filled, floats, near_1, pushed};
use ndarray::{Array, Array2, ArrayD, IxDyn, Zip};
use rayon::prelude::*;
use std::cell::RefCell;
use unishape::expr::{Bound, Expr, Value};
use unishape::{map, map_into};

/// One of these tables.
pub(crate) struct Growth {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Scale) -> Table,
}

pub(crate) const ALL: &[Growth] = &[
    Growth { name: "growth: the cost of a call", run: calls },
    Growth { name: "growth: elements", run: elements },
    Growth { name: "growth: rank", run: ranks },
    Growth { name: "growth: operands", run: operands },
    Growth { name: "growth: operators", run: operators },
    Growth { name: "growth: threads", run: threads },
];

/// Facts for the verdict: what 12 operators cost beside one.
pub(crate) const MAP_12: &str = "12 operators, map";
pub(crate) const EXPR_12: &str = "12 operators, expr";
/// And a call beside loops that push an element at a time.
pub(crate) const MAP_BESIDE_PUSHED: &str = "a call of map";
pub(crate) const EXPR_BESIDE_PUSHED: &str = "a call of expr";

/// The medians, in nanoseconds.
fn medians(scale: Scale, mut turns: Vec<Turn<'_>>) -> Vec<f64> {
    in_turns(scale.patience, &mut turns).iter().map(|times| times.median).collect()
}

fn table(title: &str, note: &str, head: &[&str], rows: Vec<Vec<String>>) -> Table {
    let head = head.iter().map(|&word| word.into()).collect();
    Table { title: title.into(), note: note.into(), head, rows, facts: Vec::new() }
}

fn calls(scale: Scale) -> Table {
    let (a, b) = (&floats((8, 1, 6, 1)), &near_1((7, 1, 5)));
    let expr = Expr::parse("a + b").expect("an expression");
    let bind = || expr.bind([("a", Value::from(a)), ("b", Value::from(b))]).expect("arrays that fit");
    let bound = bind();
    assert_eq!(pushed(a, b), extended(a, b));
    let sum = |a: &f32, b: &f32| a + b;
    let [mut out, mut other, mut third] = [(); 3].map(|()| extended(a, b));
    let ways: Vec<(&str, Turn<'_>)> = vec![
        ("by hand: a row at a time", turn(|| extended(a, b))),
        ("by hand: an element at a time, pushed", turn(|| pushed(a, b))),
        ("`map`", turn(|| map((a, b), sum).expect("arrays that fit"))),
        ("ndarray's `+`", turn(|| a + b)),
        ("`Expr`, bound and computed", turn(|| bind().compute().expect("memory"))),
        ("`Bound`, computed", turn(|| bound.compute().expect("memory"))),
        (
            "`Expr`, parsed, bound and computed",
            turn(|| {
                let expr = Expr::parse("a + b").expect("an expression");
                expr.evaluate([("a", Value::from(a)), ("b", Value::from(b))]).expect("arrays that fit")
            }),
        ),
        ("by hand, into", turn(|| filled(a, b, &mut out))),
        ("`map_into`", turn(|| map_into(&mut other, (a, b), sum).expect("arrays that fit"))),
        ("`Bound`, computed into", turn(|| bound.compute_into(&mut third).expect("an output that fits"))),
    ];
    let (names, turns): (Vec<&str>, Vec<Turn<'_>>) = ways.into_iter().unzip();
    let times = medians(scale, turns);
    let rows = names.iter().zip(&times).map(|(name, time)| {
        let base = if name.contains("into") { times[7] } else { times[0] };
        vec![name.to_string(), time_text(*time), ratio(time / base)]
    });
    let facts = vec![(MAP_BESIDE_PUSHED, times[2] / times[1]), (EXPR_BESIDE_PUSHED, times[4] / times[1])];
    let note = "`8x1x6x1` with `7x1x5`, 1680 sums. The last column compares with the first line, and of those \
                into an output that is there, with the loops that do the same.";
    let table = table("The cost of a call", note, &["", "time", "beside by hand"], rows.collect());
    Table { facts, ..table }
}

fn elements(scale: Scale) -> Table {
    let columns = 1000;
    let r = &near_1(columns);
    let (expr, mut rows) = (Expr::parse("a + r").expect("an expression"), Vec::new());
    for power in 3..=scale.size(9, 6) as u32 {
        let count = 10usize.pow(power);
        let title = format!("10{}", superscript(power));
        if memory_left().is_some_and(|left| left < 12 * count as u64) {
            rows.push(vec![title, "no memory for it".into()]);
            continue;
        }
        let a = &Array2::from_elem((count / columns, columns), 1.5f32);
        let out = RefCell::new(Array2::from_elem(a.raw_dim(), 0f32));
        let wide = &r.broadcast(a.raw_dim()).expect("a row that fits");
        let from = a.as_slice().expect("row-major order");
        let part = count.div_ceil(if count < 1 << 18 { 1 } else { rayon::current_num_threads() });
        let times = medians(
            scale,
            vec![
                turn(|| map_into(&mut *out.borrow_mut(), (a, r), |a, r| a + r).expect("arrays that fit")),
                turn(|| {
                    let bound = expr.bind([("a", Value::from(a)), ("r", Value::from(r))]);
                    bound
                        .and_then(|bound| bound.compute_into(&mut *out.borrow_mut()))
                        .expect("arrays that fit");
                }),
                turn(|| {
                    let mut out = out.borrow_mut();
                    let zip = Zip::from(&mut *out).and(a).and(wide);
                    match count < 1 << 18 {
                        true => zip.for_each(|out, a, r| *out = a + r),
                        false => zip.par_for_each(|out, a, r| *out = a + r),
                    }
                }),
                turn(|| {
                    let mut out = out.borrow_mut();
                    let out = out.as_slice_mut().expect("row-major order");
                    match part == count {
                        true => out.copy_from_slice(from),
                        false => out
                            .par_chunks_mut(part)
                            .zip(from.par_chunks(part))
                            .for_each(|(out, from)| out.copy_from_slice(from)),
                    }
                }),
            ],
        );
        let each = |time: f64| format!("{:.3} ns", time / count as f64);
        let (ours, copy) = (times[0].min(times[1]), times[3]);
        rows.push(vec![
            title,
            time_text(times[0]),
            each(times[0]),
            time_text(times[1]),
            each(times[1]),
            ratio(times[2] / ours),
            percent(copy / ours),
        ]);
    }
    let note = "`a + r`, f32, a row of 1000 with as many rows as it takes, into an output that is there. Zip: how \
                much longer it takes than the faster of ours.";
    let head = ["elements", "map", "an element", "expr", "an element", "Zip", "of memcpy"];
    table("Elements", note, &head, rows)
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
    let expr = Expr::parse("a + b").expect("an expression");
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
            let (wide_a, wide_b) =
                (a.broadcast(IxDyn(&shape)).expect("it fits"), b.broadcast(IxDyn(&shape)).expect("it fits"));
            let times = medians(
                scale,
                vec![
                    turn(|| map_into(&mut *out.borrow_mut(), (a, b), |a, b| a + b).expect("arrays that fit")),
                    turn(|| {
                        let bound = expr.bind([("a", Value::from(a)), ("b", Value::from(b))]);
                        bound
                            .and_then(|bound| bound.compute_into(&mut *out.borrow_mut()))
                            .expect("arrays that fit");
                    }),
                    turn(|| {
                        let (a, b) = (wide_a.view(), wide_b.view());
                        Zip::from(&mut *out.borrow_mut()).and(a).and(b).par_for_each(|out, a, b| *out = a + b)
                    }),
                ],
            );
            cells.extend([
                time_text(times[0]),
                time_text(times[1]),
                ratio(times[2] / times[0].min(times[1])),
            ]);
        }
        rows.push(cells);
    }
    let note = format!(
        "`a + b`, f32, 2{} elements in dimensions as equal as they can be, into an output that is there. First both \
         of one shape; then each stretched in every other dimension, so that no two dimensions can be walked as \
         one. Zip: how much longer it takes than the faster of ours.",
        superscript(bits as u32)
    );
    table("Rank", &note, &["rank", "map", "expr", "Zip", "alternating, map", "expr", "Zip"], rows)
}

fn operands(scale: Scale) -> Table {
    let (rows, columns) = (scale.size(1000, 100), 1000);
    let most = scale.size(256, 16);
    let arrays: Vec<Array2<f32>> = (0..most).map(|_| floats((rows, columns))).collect();
    let names: Vec<String> = (0..most).map(|i| format!("x{i}")).collect();
    let (mut lines, mut n) = (Vec::new(), 2);
    while n <= most {
        let (arrays, names) = (&arrays[..n], &names[..n]);
        let expr = Expr::parse(&names.join(" + ")).expect("an expression");
        let bound = || expr.bind(names.iter().zip(arrays.iter().map(Value::from))).expect("arrays that fit");
        let [out, other, third] = [(); 3].map(|()| RefCell::new(Array2::<f32>::zeros((rows, columns))));
        let bytes = (n + 1) * rows * columns * 4;
        let times = medians(
            scale,
            vec![
                turn(|| bound().compute_into(&mut *out.borrow_mut()).expect("an output that fits")),
                turn(|| {
                    let mut out = other.borrow_mut();
                    out.assign(&arrays[0]);
                    arrays[1..].iter().for_each(|array| *out += array);
                }),
                turn(|| {
                    let mut out = third.borrow_mut();
                    let out = out.as_slice_mut().expect("row-major order");
                    out.par_chunks_mut(columns).enumerate().for_each(|(row, out)| {
                        let mut parts = arrays.iter().map(|array| {
                            &array.as_slice().expect("row-major order")[row * columns..][..columns]
                        });
                        out.copy_from_slice(parts.next().expect("two or more"));
                        for part in parts {
                            for (out, x) in out.iter_mut().zip(part) {
                                *out += x;
                            }
                        }
                    });
                }),
                copied(bytes),
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
        ]);
        n *= 2;
    }
    let note = format!(
        "The sum of so many arrays of {rows}x{columns}, f32, into an output that is there, by an expression. \
         ndarray (`+=`, one after another) and the loops by hand: how much longer they take."
    );
    table("Operands", &note, &["operands", "expr", "", "of memcpy", "ndarray", "by hand"], lines)
}

fn operators(scale: Scale) -> Table {
    let (rows, columns) = (scale.size(4000, 400), 3000);
    let (a, r, c) = (&floats((rows, columns)), &near_1(columns), &floats((rows, 1)));
    let out = &RefCell::new(Array2::<f32>::zeros((rows, columns)));
    macro_rules! mapped {
        ($($n:literal)+) => {
            vec![$(turn(|| {
                let out = &mut *out.borrow_mut();
                map_into(out, (a, r, c), |a, r, c| chain::<$n>(*a, *r, *c)).expect("arrays that fit")
            })),+]
        };
    }
    let numbers = OPERATORS;
    let mut turns: Vec<Turn<'_>> = mapped!(1 2 4 8 12 16 24);
    for n in numbers {
        let expr = Expr::parse(&chain_text(n)).expect("an expression");
        turns.push(turn(move || {
            let all = [("a", Value::from(a)), ("r", Value::from(r)), ("c", Value::from(c))];
            let named = all.into_iter().filter(|(name, _)| expr.names().iter().any(|wanted| wanted == name));
            let bound = expr.bind(named).expect("arrays that fit");
            bound.compute_into(&mut *out.borrow_mut()).expect("an output that fits")
        }));
    }
    turns.push(copied(2 * rows * columns * 4));
    let times = medians(scale, turns);
    let (maps, exprs, copy) =
        (&times[..numbers.len()], &times[numbers.len()..2 * numbers.len()], times[2 * numbers.len()]);
    let lines = numbers.iter().enumerate().map(|(at, n)| {
        vec![
            n.to_string(),
            time_text(maps[at]),
            ratio(maps[at] / maps[0]),
            percent(copy / maps[at]),
            time_text(exprs[at]),
            ratio(exprs[at] / exprs[0]),
            percent(copy / exprs[at]),
        ]
    });
    let note = format!(
        "`a * r`, `a * r + c`, `(a * r + c) * r` and so on, f32, `{rows}x{columns}` with a row and a column, into \
         an output that is there: the bytes are the same, however many operators. Beside one operator, and beside \
         a copy of as many bytes."
    );
    let head = ["operators", "map", "beside 1", "of memcpy", "expr", "beside 1", "of memcpy"];
    let table = table("Operators", &note, &head, lines.collect());
    let twelve = numbers.iter().position(|&n| n == 12).expect("12 are measured");
    let facts = vec![(MAP_12, maps[twelve] / maps[0]), (EXPR_12, exprs[twelve] / exprs[0])];
    Table { facts, ..table }
}

/// The numbers of operators that are measured.
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
        let expr = Expr::parse(text).expect("an expression");
        let names = expr.names().to_vec();
        expr.bind(given.filter(|(name, _)| names.iter().any(|wanted| wanted == name)))
            .expect("arrays that fit")
    };
    let twelve = chain_text(12);
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (pool, n) in pools.iter().zip([1, all]) {
        // Arrays other than these are locked away from threads, so that only what they need goes in.
        turns.push(turn(move || {
            let out = &mut *out.borrow_mut();
            pool.install(|| map_into(out, (a, b), |a, b| a + b)).expect("arrays that fit")
        }));
        turns.push(turn(move || {
            let out = &mut *out.borrow_mut();
            pool.install(|| map_into(out, (a, r, c), |a, r, c| chain::<12>(*a, *r, *c)))
                .expect("arrays that fit")
        }));
        turns.push(turn(move || {
            let out = &mut *out.borrow_mut();
            pool.install(|| map_into(out, (a, b), |a, b| a.exp() * b)).expect("arrays that fit")
        }));
        for text in ["a + b", &twelve, "exp(a) * b"] {
            let bound = bind(text).threads(n);
            turns
                .push(turn(move || bound.compute_into(&mut *out.borrow_mut()).expect("an output that fits")));
        }
        let mut to = Array::zeros(a.raw_dim());
        turns.push(turn(move || {
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
    let times = medians(scale, turns);
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
        vec![name.to_string(), time_text(one[at]), time_text(two[at]), ratio(one[at] / two[at])]
    });
    let note = format!("f32, `{}x{}`, into an output that is there.", shape.0, shape.1);
    table("Threads", &note, &["", "1 thread", &format!("{all} threads"), "gain"], rows.collect())
}

fn numbers_for_exp(shape: (usize, usize)) -> Array2<f32> {
    crate::workloads::numbers(shape, |n| n as f32 / 64.0 - 8.0)
}
