//! The workloads: shapes, dtypes, and the code of each contestant.

use crate::contestants::{Contestant, Measured, Rstsr, SERIAL, Work, candle, rstsr};
use crate::map_zip_expr;
use crate::timing::Limits;
use half::f16;
use ndarray::{Array, Array1, Array2, Array3, Array4, ArrayD, Dimension, IxDyn, ShapeBuilder};
use num_complex::Complex;
use rayon::prelude::*;
use rstsr_core::prelude::rt;
use unishape::expr::{Expr, Value};

/// The size of the measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Small arrays and few rounds, to test the benchmark itself.
    pub(crate) quick: bool,
    pub(crate) limits: Limits,
    /// The number of elements of the result, in the sweep over sizes.
    pub(crate) elements: Option<usize>,
}

impl Scale {
    /// The full size, or the one of a quick run.
    pub(crate) fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Rows and columns of a matrix; in the sweep over sizes as square as possible.
    fn matrix(&self, full: usize, quick: usize, columns: usize) -> (usize, usize) {
        let Some(elements) = self.elements else { return (self.size(full, quick), columns) };
        let rows = (1..=elements.isqrt()).rev().find(|rows| elements.is_multiple_of(*rows)).unwrap_or(1);
        (rows, elements / rows)
    }
}

/// The performance targets of a workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Targets {
    /// Memory-bound: with a preallocated output, 80 % of the speed of memcpy.
    pub(crate) memory: bool,
    /// With a freshly allocated output, twice as fast as ndarray's operators.
    pub(crate) twice: bool,
    /// Small arrays: the time is the overhead of a call.
    pub(crate) call: bool,
}

/// A workload: one row of the tables.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) expression: &'static str,
    pub(crate) targets: Targets,
    pub(crate) run: fn(Scale) -> Result<Measured, String>,
}

const PLAIN: Targets = Targets { memory: false, twice: false, call: false };
const MEMORY: Targets = Targets { memory: true, ..PLAIN };
const TWICE: Targets = Targets { twice: true, ..MEMORY };

pub(crate) const ALL: &[Workload] = &[
    Workload { name: "same shape", expression: "a + b", targets: MEMORY, run: same_shape },
    Workload { name: "row", expression: "a + r", targets: MEMORY, run: row },
    Workload { name: "column", expression: "a + c", targets: MEMORY, run: column },
    Workload { name: "outer product", expression: "c * r", targets: MEMORY, run: outer },
    Workload { name: "NCHW bias", expression: "x + b", targets: MEMORY, run: bias },
    Workload { name: "rows of 3, row", expression: "p + t", targets: TWICE, run: threes_row },
    Workload { name: "rows of 3, column", expression: "p * e", targets: TWICE, run: threes_column },
    Workload { name: "middle dimension", expression: "a + b", targets: MEMORY, run: middle },
    Workload { name: "rank 4", expression: "a + b", targets: MEMORY, run: rank_4 },
    Workload { name: "transposed", expression: "a + b.T", targets: TWICE, run: transposed },
    Workload { name: "multiply and add", expression: "a * r + c", targets: TWICE, run: multiply_add },
    Workload { name: "normalise", expression: "(x - m) / s * g + b", targets: TWICE, run: normalise },
    Workload {
        name: "distances, f64",
        expression: "sqrt(square(x - y) + square(z - w))",
        targets: Targets { memory: false, ..TWICE },
        run: distances,
    },
    Workload { name: "where", expression: "where(a > b, a, b)", targets: MEMORY, run: choose },
    Workload { name: "exp", expression: "exp(a) * b", targets: PLAIN, run: exponential },
    Workload { name: "i8", expression: "a + r", targets: MEMORY, run: int8 },
    Workload { name: "i32", expression: "a + r", targets: MEMORY, run: int32 },
    Workload { name: "u8", expression: "a + r", targets: MEMORY, run: uint8 },
    Workload { name: "f16", expression: "a + r", targets: PLAIN, run: float16 },
    Workload { name: "bool", expression: "a & r", targets: MEMORY, run: boolean },
    Workload { name: "complex64", expression: "a * r", targets: MEMORY, run: complex },
    Workload {
        name: "12 operators",
        expression: CHAIN_OF_12,
        targets: Targets { memory: false, ..TWICE },
        run: twelve_operators,
    },
    Workload { name: "rank 8", expression: "a + b", targets: MEMORY, run: rank_8 },
    Workload { name: "64 operands", expression: "x0 + … + x63", targets: MEMORY, run: operands_64 },
    Workload { name: "tiny", expression: "a + b", targets: Targets { call: true, ..PLAIN }, run: tiny },
];

/// An array of pseudo-random numbers from 0 to 1023.
pub(crate) fn numbers<T, D: Dimension, S: ShapeBuilder<Dim = D>>(
    shape: S,
    number: impl Fn(u32) -> T,
) -> Array<T, D> {
    let mut count = 0u32;
    Array::from_shape_simple_fn(shape, || {
        count = count.wrapping_add(1);
        number(count.wrapping_mul(2_654_435_761) >> 22)
    })
}

/// Fractional numbers of both signs.
pub(crate) fn floats<D: Dimension, S: ShapeBuilder<Dim = D>>(shape: S) -> Array<f32, D> {
    numbers(shape, |n| n as f32 * 0.25 - 100.0)
}

/// Numbers near 1.
pub(crate) fn near_1<D: Dimension, S: ShapeBuilder<Dim = D>>(shape: S) -> Array<f32, D> {
    numbers(shape, |n| 0.5 + n as f32 / 1024.0)
}

/// The elements of a row-major array.
fn flat<T, D: Dimension>(array: &Array<T, D>) -> &[T] {
    array.as_slice().expect("row-major order")
}

/// A loop over three slices of equal length.
fn each<A: Copy, B: Copy, R>(out: &mut [R], a: &[A], b: &[B], function: impl Fn(A, B) -> R) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = function(*a, *b);
    }
}

/// Elements per chunk of the hand-written loops.
const CHUNK: usize = 1 << 15;

/// A hand-written loop over the chunks of an output and their numbers, on all cores unless the output is small.
fn chunks<T: Send>(out: &mut [T], size: usize, fill: impl Fn(usize, &mut [T]) + Sync) {
    match out.len() < SERIAL {
        true => out.chunks_mut(size).enumerate().for_each(|(at, out)| fill(at, out)),
        false => out.par_chunks_mut(size).enumerate().for_each(|(at, out)| fill(at, out)),
    }
}

/// The elements of a chunk of a row-major array.
fn chunk<T, D: Dimension>(array: &Array<T, D>, at: usize, size: usize) -> &[T] {
    let all = flat(array);
    &all[at * size..all.len().min((at + 1) * size)]
}

fn same_shape(scale: Scale) -> Result<Measured, String> {
    let shape = scale.matrix(4000, 400, 3000);
    let (a, b) = (&floats(shape), &near_1(shape));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(&[shape.0, shape.1]).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a + b, "a + b");
    work.ndarray(|| a + b);
    work.candle(|| ca + cb);
    work.rstsr(|| ra + rb, |out| rt::add_with_output(ra, rb, out));
    work.hand_written(|out| {
        chunks(out, CHUNK, |at, out| each(out, chunk(a, at, CHUNK), chunk(b, at, CHUNK), |a, b| a + b));
    });
    work.measure(scale)
}

/// An array and a row of any element type.
macro_rules! with_a_row {
    ($scale:ident, $rows:expr, $columns:expr, $type:ty, $number:expr, $op:tt, $text:literal,
     candle: $($candle:ident)?, rstsr: $into:ident) => {{
        let (rows, columns) = $scale.matrix($rows, $rows / 16, $columns);
        let (a, r): (&Array2<$type>, &Array1<$type>) =
            (&numbers((rows, columns), $number), &numbers(columns, $number));
        let (ra, rr) = (&rstsr(a), &rstsr(r));
        $(let (ca, cr, op) = (&candle(a), &candle(r), candle_core::Tensor::$candle);)?
        let mut work = Work::<$type>::new(&[rows, columns]).reads(a).reads(r);
        map_zip_expr!(work, (a, r), |a: &$type, r: &$type| *a $op *r, $text);
        work.ndarray(|| a $op r);
        $(work.candle(move || { let _ = stringify!($candle); op(ca, cr) });)?
        work.rstsr(|| ra $op rr, |out| rt::$into(ra, rr, out));
        work.hand_written(|out| {
            chunks(out, columns, |at, out| each(out, chunk(a, at, columns), flat(r), |a, r| a $op r));
        });
        work.measure($scale)
    }};
}

fn row(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 4000, 3000, f32, |n| n as f32 * 0.25 - 100.0, +, "a + r",
        candle: broadcast_add, rstsr: add_with_output)
}

fn int8(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 16_000, 3000, i8, |n| (n % 100) as i8 - 50, +, "a + r", candle: , rstsr: add_with_output)
}

fn int32(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 4000, 3000, i32, |n| n as i32 - 500, +, "a + r",
        candle: broadcast_add, rstsr: add_with_output)
}

fn uint8(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 16_000, 3000, u8, |n| (n % 128) as u8, +, "a + r",
        candle: broadcast_add, rstsr: add_with_output)
}

fn float16(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 8000, 3000, f16, |n| f16::from_f32(n as f32 * 0.25 - 100.0), +, "a + r",
        candle: broadcast_add, rstsr: add_with_output)
}

fn boolean(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 16_000, 3000, bool, |n| n % 3 == 0, &, "a & r", candle: , rstsr: bitand_with_output)
}

fn complex(scale: Scale) -> Result<Measured, String> {
    with_a_row!(scale, 2000, 3000, Complex<f32>, |n| Complex::new(n as f32 * 0.25, 1.5 - n as f32), *, "a * r",
        candle: , rstsr: mul_with_output)
}

fn column(scale: Scale) -> Result<Measured, String> {
    let (rows, columns) = scale.matrix(4000, 400, 3000);
    let (a, c) = (&floats((rows, columns)), &near_1((rows, 1)));
    let (ca, cc, ra, rc) = (&candle(a), &candle(c), &rstsr(a), &rstsr(c));
    let mut work = Work::new(&[rows, columns]).reads(a).reads(c);
    map_zip_expr!(work, (a, c), |a: &f32, c: &f32| a + c, "a + c");
    work.ndarray(|| a + c);
    work.candle(|| ca.broadcast_add(cc));
    work.rstsr(|| ra + rc, |out| rt::add_with_output(ra, rc, out));
    work.hand_written(|out| {
        chunks(out, columns, |at, out| {
            let c = flat(c)[at];
            for (out, a) in out.iter_mut().zip(chunk(a, at, columns)) {
                *out = a + c;
            }
        });
    });
    work.measure(scale)
}

fn outer(scale: Scale) -> Result<Measured, String> {
    let (rows, columns) = scale.matrix(8000, 800, 3000);
    let (c, r) = (&floats((rows, 1)), &near_1(columns));
    let (cc, cr, rc, rr) = (&candle(c), &candle(r), &rstsr(c), &rstsr(r));
    let mut work = Work::new(&[rows, columns]).reads(c).reads(r);
    map_zip_expr!(work, (c, r), |c: &f32, r: &f32| c * r, "c * r");
    work.ndarray(|| c * r);
    work.candle(|| cc.broadcast_mul(cr));
    work.rstsr(|| rc * rr, |out| rt::mul_with_output(rc, rr, out));
    work.hand_written(|out| {
        chunks(out, columns, |at, out| {
            let c = flat(c)[at];
            for (out, r) in out.iter_mut().zip(flat(r)) {
                *out = c * r;
            }
        });
    });
    work.measure(scale)
}

fn bias(scale: Scale) -> Result<Measured, String> {
    let (images, channels, side) = (scale.size(32, 3), 64, 80);
    let (x, b) = (&floats((images, channels, side, side)), &near_1((channels, 1, 1)));
    let (cx, cb, rx, rb) = (&candle(x), &candle(b), &rstsr(x), &rstsr(b));
    let mut work = Work::new(x.shape()).reads(x).reads(b);
    map_zip_expr!(work, (x, b), |x: &f32, b: &f32| x + b, "x + b");
    work.ndarray(|| x + b);
    work.candle(|| cx.broadcast_add(cb));
    work.rstsr(|| rx + rb, |out| rt::add_with_output(rx, rb, out));
    work.hand_written(|out| {
        let plane = side * side;
        out.par_chunks_mut(plane).zip(flat(x).par_chunks(plane)).enumerate().for_each(|(at, (out, x))| {
            let b = flat(b)[at % channels];
            for (out, x) in out.iter_mut().zip(x) {
                *out = x + b;
            }
        });
    });
    work.measure(scale)
}

fn threes_row(scale: Scale) -> Result<Measured, String> {
    let points = scale.size(8_000_000, 500_000);
    let (p, t) = (&floats((points, 3)), &near_1(3));
    let (cp, ct, rp, r3) = (&candle(p), &candle(t), &rstsr(p), &rstsr(t));
    let mut work = Work::new(&[points, 3]).reads(p).reads(t);
    map_zip_expr!(work, (p, t), |p: &f32, t: &f32| p + t, "p + t");
    work.ndarray(|| p + t);
    work.candle(|| cp.broadcast_add(ct));
    work.rstsr(|| rp + r3, |out| rt::add_with_output(rp, r3, out));
    work.hand_written(|out| {
        let t = [t[0], t[1], t[2]];
        out.par_chunks_mut(3 * CHUNK).zip(flat(p).par_chunks(3 * CHUNK)).for_each(|(out, p)| {
            for (out, p) in out.as_chunks_mut::<3>().0.iter_mut().zip(p.as_chunks::<3>().0) {
                *out = [p[0] + t[0], p[1] + t[1], p[2] + t[2]];
            }
        });
    });
    work.measure(scale)
}

fn threes_column(scale: Scale) -> Result<Measured, String> {
    let points = scale.size(8_000_000, 500_000);
    let (p, e) = (&floats((points, 3)), &near_1((points, 1)));
    let (cp, ce, rp, re) = (&candle(p), &candle(e), &rstsr(p), &rstsr(e));
    let mut work = Work::new(&[points, 3]).reads(p).reads(e);
    map_zip_expr!(work, (p, e), |p: &f32, e: &f32| p * e, "p * e");
    work.ndarray(|| p * e);
    work.candle(|| cp.broadcast_mul(ce));
    work.rstsr(|| rp * re, |out| rt::mul_with_output(rp, re, out));
    work.hand_written(|out| {
        let inputs = flat(p).par_chunks(3 * CHUNK).zip(flat(e).par_chunks(CHUNK));
        out.par_chunks_mut(3 * CHUNK).zip(inputs).for_each(|(out, (p, e))| {
            for ((out, p), e) in out.as_chunks_mut::<3>().0.iter_mut().zip(p.as_chunks::<3>().0).zip(e) {
                *out = [p[0] * e, p[1] * e, p[2] * e];
            }
        });
    });
    work.measure(scale)
}

fn middle(scale: Scale) -> Result<Measured, String> {
    let (planes, rows, columns) = (scale.size(200, 16), 300, 200);
    let (a, b) = (&floats((planes, rows, columns)), &near_1((planes, 1, columns)));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(a.shape()).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a + b, "a + b");
    work.ndarray(|| a + b);
    work.candle(|| ca.broadcast_add(cb));
    work.rstsr(|| ra + rb, |out| rt::add_with_output(ra, rb, out));
    work.hand_written(|out| {
        let inputs = flat(a).par_chunks(columns);
        out.par_chunks_mut(columns).zip(inputs).enumerate().for_each(|(at, (out, a))| {
            let b = &flat(b)[at / rows * columns..][..columns];
            each(out, a, b, |a, b| a + b);
        });
    });
    work.measure(scale)
}

/// The shapes of `tiny`, each size ten times as large.
fn rank_4(scale: Scale) -> Result<Measured, String> {
    let (i, j, k, l) = (scale.size(80, 8), 70, 60, 50);
    let (a, b) = (&floats((i, 1, k, 1)), &near_1((j, 1, l)));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(&[i, j, k, l]).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a + b, "a + b");
    work.ndarray(|| a + b);
    work.candle(|| ca.broadcast_add(cb));
    work.rstsr(|| ra + rb, |out| rt::add_with_output(ra, rb, out));
    work.hand_written(|out| {
        out.par_chunks_mut(k * l).enumerate().for_each(|(at, out)| {
            let (a, b) = (&flat(a)[at / j * k..][..k], &flat(b)[at % j * l..][..l]);
            for (out, a) in out.chunks_exact_mut(l).zip(a) {
                for (out, b) in out.iter_mut().zip(b) {
                    *out = a + b;
                }
            }
        });
    });
    work.measure(scale)
}

fn transposed(scale: Scale) -> Result<Measured, String> {
    const TILE: usize = 32;
    let (rows, columns) = scale.matrix(3500, 900, 3500);
    let (a, base) = (&floats((rows, columns)), &near_1((columns, rows)));
    let b = &base.clone().reversed_axes();
    let (ca, cb, ra, rb) =
        (&candle(a), &candle(base).t().unwrap(), &rstsr(a), &rstsr(base).into_reverse_axes());
    let mut work = Work::new(&[rows, columns]).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a + b, "a + b");
    work.ndarray(|| a + b);
    work.candle(|| ca + cb);
    work.rstsr(|| ra + rb, |out| rt::add_with_output(ra, rb, out));
    work.hand_written(|out| {
        let (a, b) = (flat(a), flat(base));
        chunks(out, TILE * columns, |at, out| {
            let top = at * TILE;
            for left in (0..columns).step_by(TILE) {
                let tile = left..(left + TILE).min(columns);
                for (i, out) in out.chunks_exact_mut(columns).enumerate() {
                    for j in tile.clone() {
                        out[j] = a[(top + i) * columns + j] + b[j * rows + top + i];
                    }
                }
            }
        });
    });
    work.measure(scale)
}

fn multiply_add(scale: Scale) -> Result<Measured, String> {
    let (rows, columns) = (scale.size(4000, 400), 3000);
    let (a, r, c) = (&floats((rows, columns)), &near_1(columns), &floats((rows, 1)));
    let (ca, cr, cc) = (&candle(a), &candle(r), &candle(c));
    let (ra, rr, rc) = (&rstsr(a), &rstsr(r), &rstsr(c));
    let mut work = Work::new(&[rows, columns]).reads(a).reads(r).reads(c);
    map_zip_expr!(work, (a, r, c), |a: &f32, r: &f32, c: &f32| a * r + c, "a * r + c");
    work.ndarray(|| a * r + c);
    work.candle(|| ca.broadcast_mul(cr)?.broadcast_add(cc));
    work.rstsr(
        || ra * rr + rc,
        |out| {
            rt::mul_with_output(ra, rr, &mut *out);
            *out += rc;
        },
    );
    work.hand_written(|out| {
        let inputs = flat(a).par_chunks(columns).zip(flat(c));
        out.par_chunks_mut(columns)
            .zip(inputs)
            .for_each(|(out, (a, &c))| each(out, a, flat(r), |a, r| a * r + c));
    });
    work.measure(scale)
}

fn normalise(scale: Scale) -> Result<Measured, String> {
    let (rows, columns) = (scale.size(4000, 400), 3000);
    let (x, m, s) = (&floats((rows, columns)), &floats((rows, 1)), &near_1((rows, 1)));
    let (g, b) = (&near_1(columns), &floats(columns));
    let (cx, cm, cs, cg, cb) = (&candle(x), &candle(m), &candle(s), &candle(g), &candle(b));
    let (rx, rm, rs, rg, rb) = (&rstsr(x), &rstsr(m), &rstsr(s), &rstsr(g), &rstsr(b));
    let mut work = Work::new(&[rows, columns]).reads(x).reads(m).reads(s).reads(g).reads(b);
    map_zip_expr!(
        work,
        (x, m, s, g, b),
        |x: &f32, m: &f32, s: &f32, g: &f32, b: &f32| (x - m) / s * g + b,
        "(x - m) / s * g + b"
    );
    work.ndarray(|| (x - m) / s * g + b);
    work.candle(|| cx.broadcast_sub(cm)?.broadcast_div(cs)?.broadcast_mul(cg)?.broadcast_add(cb));
    work.rstsr(
        || (rx - rm) / rs * rg + rb,
        |out| {
            rt::sub_with_output(rx, rm, &mut *out);
            *out /= rs;
            *out *= rg;
            *out += rb;
        },
    );
    work.hand_written(|out| {
        let inputs = flat(x).par_chunks(columns).zip(flat(m)).zip(flat(s));
        out.par_chunks_mut(columns).zip(inputs).for_each(|(out, ((x, m), s))| {
            for (((out, x), g), b) in out.iter_mut().zip(x).zip(flat(g)).zip(flat(b)) {
                *out = (x - m) / s * g + b;
            }
        });
    });
    work.measure(scale)
}

fn distances(scale: Scale) -> Result<Measured, String> {
    let (rows, columns) = (scale.size(3000, 300), 3000);
    let number = |n| f64::from(n) * 0.25 - 100.0;
    let (x, z) = (&numbers((rows, 1), number), &numbers((rows, 1), |n| f64::from(n) / 3.0));
    let (y, w) = (&numbers(columns, |n| f64::from(n) / 7.0), &numbers(columns, number));
    let (cx, cy, cz, cw) = (&candle(x), &candle(y), &candle(z), &candle(w));
    let (rx, ry, rz, rw) = (&rstsr(x), &rstsr(y), &rstsr(z), &rstsr(w));
    let mut work = Work::new(&[rows, columns]).reads(x).reads(y).reads(z).reads(w);
    map_zip_expr!(
        work,
        (x, y, z, w),
        |x: &f64, y: &f64, z: &f64, w: &f64| {
            let (a, b) = (x - y, z - w);
            (a * a + b * b).sqrt()
        },
        "sqrt(square(x - y) + square(z - w))"
    );
    work.ndarray(|| {
        let (a, b) = ((x - y).mapv_into(|a| a * a), (z - w).mapv_into(|b| b * b));
        (a + b).mapv_into(f64::sqrt)
    });
    work.candle(|| (cx.broadcast_sub(cy)?.sqr()? + cz.broadcast_sub(cw)?.sqr()?)?.sqrt());
    work.rstsr_fresh(|| rt::sqrt(rt::square(rx - ry) + rt::square(rz - rw)));
    work.hand_written(|out| {
        out.par_chunks_mut(columns).zip(flat(x)).zip(flat(z)).for_each(|((out, x), z)| {
            each(out, flat(y), flat(w), |y, w| {
                let (a, b) = (x - y, z - w);
                (a * a + b * b).sqrt()
            });
        });
    });
    work.measure(scale)
}

fn choose(scale: Scale) -> Result<Measured, String> {
    let shape = (scale.size(4000, 400), 3000);
    let (a, b) = (&floats(shape), &numbers(shape, |n| 60.0 - n as f32 * 0.125));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(&[shape.0, shape.1]).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| if a > b { *a } else { *b }, "where(a > b, a, b)");
    work.candle(|| ca.gt(cb)?.where_cond(ca, cb));
    work.rstsr_fresh(|| rt::r#where(&rt::gt(ra, rb), ra, rb));
    work.hand_written(|out| {
        let inputs = flat(a).par_chunks(CHUNK).zip(flat(b).par_chunks(CHUNK));
        out.par_chunks_mut(CHUNK)
            .zip(inputs)
            .for_each(|(out, (a, b))| each(out, a, b, |a, b| if a > b { a } else { b }));
    });
    work.measure(scale)
}

fn exponential(scale: Scale) -> Result<Measured, String> {
    let shape = (scale.size(4000, 400), 3000);
    let (a, b) = (&numbers(shape, |n| n as f32 / 64.0 - 8.0), &near_1(shape));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(&[shape.0, shape.1]).reads(a).reads(b).tolerance(1e-5);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a.exp() * b, "exp(a) * b");
    work.ndarray(|| a.mapv(f32::exp) * b);
    work.candle(|| ca.exp()? * cb);
    work.rstsr_fresh(|| rt::exp::<_, Rstsr<f32, rt::Ix2>>(ra) * rb);
    work.hand_written(|out| {
        let inputs = flat(a).par_chunks(CHUNK).zip(flat(b).par_chunks(CHUNK));
        out.par_chunks_mut(CHUNK).zip(inputs).for_each(|(out, (a, b))| each(out, a, b, |a, b| a.exp() * b));
    });
    work.measure(scale)
}

/// Twelve operators, none of which can be simplified away.
const CHAIN_OF_12: &str = "(((((a * r + c) * r + c) * r + c) * r + c) * r + c) * r + c";

/// The same chain with `N` operators; an odd one ends in a product.
#[inline(always)]
pub(crate) fn chain<const N: usize>(a: f32, r: f32, c: f32) -> f32 {
    let mut value = a;
    for operator in 0..N {
        value = if operator % 2 == 0 { value * r } else { value + c };
    }
    value
}

/// The chain as an expression.
pub(crate) fn chain_text(operators: usize) -> String {
    (0..operators).fold("a".to_string(), |text, operator| match operator % 2 {
        0 if operator == 0 => format!("{text} * r"),
        0 => format!("({text}) * r"),
        _ => format!("{text} + c"),
    })
}

fn twelve_operators(scale: Scale) -> Result<Measured, String> {
    assert_eq!(chain_text(12), CHAIN_OF_12);
    let (rows, columns) = scale.matrix(4000, 400, 3000);
    let (a, r, c) = (&floats((rows, columns)), &near_1(columns), &floats((rows, 1)));
    let (ca, cr, cc) = (&candle(a), &candle(r), &candle(c));
    let (ra, rr, rc) = (&rstsr(a), &rstsr(r), &rstsr(c));
    let mut work = Work::new(&[rows, columns]).reads(a).reads(r).reads(c);
    map_zip_expr!(work, (a, r, c), |a: &f32, r: &f32, c: &f32| chain::<12>(*a, *r, *c), CHAIN_OF_12);
    work.ndarray(|| (((((a * r + c) * r + c) * r + c) * r + c) * r + c) * r + c);
    work.candle(|| (0..6).try_fold(ca.clone(), |value, _| value.broadcast_mul(cr)?.broadcast_add(cc)));
    work.rstsr(
        || (((((ra * rr + rc) * rr + rc) * rr + rc) * rr + rc) * rr + rc) * rr + rc,
        |out| {
            rt::mul_with_output(ra, rr, &mut *out);
            *out += rc;
            for _ in 1..6 {
                *out *= rr;
                *out += rc;
            }
        },
    );
    work.hand_written(|out| {
        chunks(out, columns, |at, out| {
            let c = flat(c)[at];
            each(out, chunk(a, at, columns), flat(r), |a, r| chain::<12>(a, r, c));
        });
    });
    work.measure(scale)
}

/// No two neighbouring dimensions can be merged.
fn rank_8(scale: Scale) -> Result<Measured, String> {
    let n = scale.size(8, 5);
    let (a, b): (&ArrayD<f32>, &ArrayD<f32>) =
        (&floats(IxDyn(&[n, 1, n, 1, n, 1, n, 1])), &near_1(IxDyn(&[1, n, 1, n, 1, n, 1, n])));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(&[n; 8]).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a + b, "a + b");
    work.ndarray(|| a + b);
    work.candle(|| ca.broadcast_add(cb));
    work.rstsr(|| ra + rb, |out| rt::add_with_output(ra, rb, out));
    work.hand_written(|out| {
        out.par_chunks_mut(n.pow(5)).enumerate().for_each(|(at, out)| {
            let (i0, i1, i2) = (at / (n * n), at / n % n, at % n);
            let mut rows = out.chunks_exact_mut(n);
            for i3 in 0..n {
                for i4 in 0..n {
                    for i5 in 0..n {
                        for i6 in 0..n {
                            let a = flat(a)[((i0 * n + i2) * n + i4) * n + i6];
                            let b = &flat(b)[((i1 * n + i3) * n + i5) * n..][..n];
                            for (out, b) in rows.next().into_iter().flatten().zip(b) {
                                *out = a + b;
                            }
                        }
                    }
                }
            }
        });
    });
    work.measure(scale)
}

/// More arrays than a tuple holds; every other one is a row.
fn operands_64(scale: Scale) -> Result<Measured, String> {
    let (rows, columns) = (scale.size(1000, 100), 1000);
    let arrays: Vec<Array2<f32>> =
        (0..64).map(|i| floats((if i % 2 == 0 { rows } else { 1 }, columns))).collect();
    let arrays = &arrays[..];
    let candles: Vec<_> = arrays.iter().map(candle).collect();
    let rstsrs: Vec<_> = arrays.iter().map(rstsr).collect();
    let (candles, rstsrs) = (&candles[..], &rstsrs[..]);
    let mut work = arrays.iter().fold(Work::new(&[rows, columns]), Work::reads);
    let names: Vec<String> = (0..64).map(|i| format!("x{i}")).collect();
    let sum = Expr::parse(&names.join(" + ")).map_err(|error| error.to_string())?;
    work.expr(move || {
        let values = arrays.iter().map(Value::from);
        sum.bind(names.iter().zip(values)).expect("compatible shapes")
    });
    work.ndarray(|| arrays[2..].iter().fold(&arrays[0] + &arrays[1], |sum, array| sum + array));
    work.candle(|| {
        candles[2..].iter().try_fold(candles[0].broadcast_add(&candles[1])?, |a, b| a.broadcast_add(b))
    });
    work.rstsr(
        || rstsrs[2..].iter().fold(&rstsrs[0] + &rstsrs[1], |sum, array| sum + array),
        |out| {
            rt::add_with_output(&rstsrs[0], &rstsrs[1], &mut *out);
            for array in &rstsrs[2..] {
                *out += array;
            }
        },
    );
    work.hand_written(|out| {
        out.par_chunks_mut(columns).enumerate().for_each(|(row, out)| {
            let part = |i: usize| {
                &flat(&arrays[i])[if i.is_multiple_of(2) { row * columns } else { 0 }..][..columns]
            };
            out.copy_from_slice(part(0));
            for i in 1..64 {
                for (out, x) in out.iter_mut().zip(part(i)) {
                    *out += x;
                }
            }
        });
    });
    work.measure(scale)
}

/// The overhead of a call. The hand-written loops take their sizes from the arrays, as the other contestants do.
fn tiny(scale: Scale) -> Result<Measured, String> {
    let (a, b) = (&floats((8, 1, 6, 1)), &near_1((7, 1, 5)));
    let (ca, cb, ra, rb) = (&candle(a), &candle(b), &rstsr(a), &rstsr(b));
    let mut work = Work::new(&[8, 7, 6, 5]).reads(a).reads(b);
    map_zip_expr!(work, (a, b), |a: &f32, b: &f32| a + b, "a + b");
    work.ndarray(|| a + b);
    work.candle(|| ca.broadcast_add(cb));
    work.rstsr(|| ra + rb, |out| rt::add_with_output(ra, rb, out));
    work.arrays(Contestant::Loops, || extend_rows(a, b), |out| fill(a, b, out));
    work.measure(scale)
}

/// The hand-written loop nest of `tiny`, the fastest of several: appends one row at a time.
pub(crate) fn extend_rows(a: &Array4<f32>, b: &Array3<f32>) -> Array4<f32> {
    let ((i, _, k, _), (j, _, l)) = (a.dim(), b.dim());
    let (a, b) = (flat(a), flat(b));
    let mut out = Vec::with_capacity(i * j * k * l);
    for a in a.chunks_exact(k) {
        for b in b.chunks_exact(l) {
            for a in a {
                out.extend(b.iter().map(|b| a + b));
            }
        }
    }
    Array4::from_shape_vec((i, j, k, l), out).expect("the shape matches the number of elements")
}

/// The same in the usual way: four loops that push one element at a time.
pub(crate) fn push_elements(a: &Array4<f32>, b: &Array3<f32>) -> Array4<f32> {
    let ((is, _, ks, _), (js, _, ls)) = (a.dim(), b.dim());
    let (a, b) = (flat(a), flat(b));
    let mut out = Vec::with_capacity(is * js * ks * ls);
    for i in 0..is {
        for j in 0..js {
            for k in 0..ks {
                for l in 0..ls {
                    out.push(a[i * ks + k] + b[j * ls + l]);
                }
            }
        }
    }
    Array4::from_shape_vec((is, js, ks, ls), out).expect("the shape matches the number of elements")
}

/// The same into a preallocated output.
pub(crate) fn fill(a: &Array4<f32>, b: &Array3<f32>, out: &mut Array4<f32>) {
    let ((_, _, k, _), (_, _, l)) = (a.dim(), b.dim());
    let (a, b) = (flat(a), flat(b));
    let mut rows = out.as_slice_mut().expect("row-major order").chunks_exact_mut(l);
    for a in a.chunks_exact(k) {
        for b in b.chunks_exact(l) {
            for a in a {
                for (out, b) in rows.next().into_iter().flatten().zip(b) {
                    *out = a + b;
                }
            }
        }
    }
}
