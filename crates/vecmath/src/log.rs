//! Logarithms: x = m · 2^k with m between √½ and √2, and a polynomial for ln m.

use std::f64::consts::{LOG2_E, LOG10_2, LOG10_E};

use crate::UnaryFunction;
use crate::pair::{LN_2_REST, LN_2_SHORT, Pair, polynomial, power_of_two};

// (ln((1 + s) / (1 - s)) - 2s) / s³ as a polynomial of s², for |s| <= 0.172; the logarithm is off by 2^-59.5.
const LOG: [f64; 7] = [
    0.6666666666666734,
    0.39999999999419694,
    0.28571428741434546,
    0.22222198658905912,
    0.18183560366499008,
    0.15314141408569298,
    0.14795129067777538,
];
// The same for Pow: off by 2^-73.9.
const LOG_LONG_FIRST: f64 = 0.6666666666666666;
const LOG_LONG_FIRST_LOW: f64 = 3.746830256366284e-17;
const LOG_LONG: [f64; 8] = [
    0.39999999999999936,
    0.28571428571458246,
    0.22222222215399887,
    0.18181819067552682,
    0.1538454607479845,
    0.1333666451302448,
    0.11668762981715045,
    0.12033257649643539,
];
// The same for f32: off by 2^-44.9.
const LOG_SHORT: [f64; 5] =
    [0.6666666667573965, 0.39999995638433494, 0.2857210768432283, 0.22176241928347798, 0.19583474677354012];
/// What 1 / ln 2 is more than `LOG2_E`.
const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
/// What 1 / ln 10 is more than `LOG10_E`.
const LOG10_E_LOW: f64 = 1.098319650216765e-17;
/// log10 2, so short that multiples of it by an exponent are exact, and what it lacks.
const LOG10_2_SHORT: f64 = 0.30102999566395283;
const LOG10_2_REST: f64 = 2.8363394551044964e-14;

/// The bits of √½ and of 1.
const ROOT_HALF: u64 = 0x3fe6a09e667f3bcd;
const ONE: u64 = 0x3ff0000000000000;

/// m and k for a positive normal number.
#[inline(always)]
pub(crate) fn split(x: f64) -> (f64, f64) {
    // Moved so that the exponent's field changes at √½ rather than at 1.
    let moved = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    // An integer below 2^52 behind the exponent of 2^52 is that number plus 2^52.
    let k = f64::from_bits((moved >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
    let m = f64::from_bits((moved & 0x000fffffffffffff).wrapping_add(ROOT_HALF));
    (m, k)
}

/// The same for any positive number.
#[inline(always)]
pub(crate) fn split_any(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let (m, k) = split(if small { x * 18014398509481984.0 } else { x });
    (m, if small { k - 54.0 } else { k })
}

/// ln(1 + f) for f between √½ - 1 and √2 - 1.
#[inline(always)]
fn near_one(f: f64) -> Pair {
    // With s = f / (2 + f) this is 2s + s³·p(s²) = f - f²/2 + s·(f²/2 + s²·p(s²)): the first two terms can be
    // had exactly, and the third is so small that its rounding hardly counts.
    let s = f / (2.0 + f);
    let square = s * s;
    let half_square = Pair::of_product(0.5 * f, f);
    let third = s * square.mul_add(polynomial(square, &LOG), half_square.high);
    Pair::of_ordered_sum(f, -half_square.high).plus_small(third - half_square.low).settled()
}

/// ln(1 + f) to some 66 bits.
#[inline(always)]
fn near_one_long(f: f64) -> Pair {
    let s = Pair::new(f, 0.0).over(Pair::of_ordered_sum(2.0, f)).settled();
    let square = s.times(s);
    let (first, others) = (LOG_LONG_FIRST, polynomial(square.high, &LOG_LONG));
    let p = Pair::of_ordered_sum(first, square.high * others).plus_small(LOG_LONG_FIRST_LOW);
    let r = square.times(p);
    s.times(Pair::of_ordered_sum(2.0, r.high).plus_small(r.low))
}

/// ln(1 + f) good enough for f32.
#[inline(always)]
fn near_one_short(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let square = s * s;
    (s * square).mul_add(polynomial(square, &LOG_SHORT), s + s)
}

/// ln m + k·ln 2
#[inline(always)]
fn with_exponent(ln_m: Pair, k: f64) -> Pair {
    Pair::of_ordered_sum(k * LN_2_SHORT, ln_m.high).plus_small(k.mul_add(LN_2_REST, ln_m.low))
}

/// ln x to some 65 bits, for positive normal numbers.
#[inline(always)]
pub(crate) fn log_long(x: f64) -> Pair {
    let (m, k) = split(x);
    with_exponent(near_one_long(m - 1.0), k).settled()
}

/// ln(1 + v) for v > -1, as k and ln m.
#[inline(always)]
pub(crate) fn log1p_parts(v: Pair) -> (Pair, f64) {
    log_of_sum(Pair::of_sum(1.0, v.high), v.low)
}

/// ln(sum + small) as k and ln m: good also where the sum is close to 1, if its two parts are exact.
#[inline(always)]
pub(crate) fn log_of_sum(sum: Pair, small: f64) -> (Pair, f64) {
    let (m, k) = split(sum.high);
    // 2^-k, also where k is 1024.
    let power = 0.5 * power_of_two(1.0 - k);
    let f = Pair::of_sum(m - 1.0, sum.low * power);
    let low = small.mul_add(power, f.low);
    // low / (1 + f), of which few bits are wanted.
    let low = low * (-f.high).mul_add((-f.high).mul_add(1.0 - f.high, 1.0), 1.0);
    (near_one(f.high).plus_small(low), k)
}

/// ln(1 + v) to the end.
#[inline(always)]
pub(crate) fn log1p_pair(v: Pair) -> Pair {
    let (ln_m, k) = log1p_parts(v);
    with_exponent(ln_m, k)
}

/// ln(sum + 0) + `more`·ln 2 to the end.
#[inline(always)]
pub(crate) fn log_of_sum_pair(sum: Pair, small: f64, more: f64) -> Pair {
    let (ln_m, k) = log_of_sum(sum, small);
    with_exponent(ln_m, k + more)
}

/// ln(1 + v) for v > -1, good enough for f32.
#[inline(always)]
pub(crate) fn log1p_short(v: f64) -> f64 {
    let (m, k) = split(1.0 + v);
    let f = if k == 0.0 { v } else { m - 1.0 };
    k.mul_add(std::f64::consts::LN_2, near_one_short(f))
}

/// log2 x for positive normal numbers, good enough for f32.
#[inline(always)]
pub(crate) fn log2_short(x: f64) -> f64 {
    let (m, k) = split(x);
    near_one_short(m - 1.0).mul_add(LOG2_E, k)
}

/// Puts in what all logarithms answer to 0, infinity, NaN and what is negative.
#[inline(always)]
fn finish(x: f64, log: f64) -> f64 {
    let odd = if x < 0.0 { f64::NAN } else { x };
    let odd = if x == 0.0 { f64::NEG_INFINITY } else { odd };
    if x > 0.0 && x < f64::INFINITY { log } else { odd }
}

/// Natural logarithm.
///
/// ```
/// use unishape_vecmath::{Log, UnaryFunction};
///
/// assert_eq!(Log::eval(1.0_f64), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl UnaryFunction<f64> for Log {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (m, k) = split_any(x);
        finish(x, with_exponent(near_one(m - 1.0), k).rounded())
    }
}

impl UnaryFunction<f32> for Log {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let (m, k) = split(x);
        finish(x, k.mul_add(std::f64::consts::LN_2, near_one_short(m - 1.0))) as f32
    }
}

/// Logarithm to base 2.
///
/// ```
/// use unishape_vecmath::{Log2, UnaryFunction};
///
/// assert_eq!(Log2::eval(8.0_f64), 3.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Log2;

impl UnaryFunction<f64> for Log2 {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (m, k) = split_any(x);
        let log = near_one(m - 1.0).times(Pair::new(LOG2_E, LOG2_E_LOW));
        finish(x, Pair::of_ordered_sum(k, log.high).plus_small(log.low).rounded())
    }
}

impl UnaryFunction<f32> for Log2 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        finish(x, log2_short(x)) as f32
    }
}

/// Logarithm to base 10.
///
/// ```
/// use unishape_vecmath::{Log10, UnaryFunction};
///
/// assert_eq!(Log10::eval(1000.0_f64), 3.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Log10;

impl UnaryFunction<f64> for Log10 {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (m, k) = split_any(x);
        let log = near_one(m - 1.0).times(Pair::new(LOG10_E, LOG10_E_LOW));
        let sum = Pair::of_ordered_sum(k * LOG10_2_SHORT, log.high);
        finish(x, sum.plus_small(k.mul_add(LOG10_2_REST, log.low)).rounded())
    }
}

impl UnaryFunction<f32> for Log10 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let (m, k) = split(x);
        finish(x, k.mul_add(LOG10_2, near_one_short(m - 1.0) * LOG10_E)) as f32
    }
}

/// Puts in what log1p answers to -1, infinity, NaN and what is below -1, and keeps the smallest numbers.
#[inline(always)]
fn finish_log1p(x: f64, log: f64) -> f64 {
    let odd = if x < -1.0 { f64::NAN } else { x };
    let odd = if x == -1.0 { f64::NEG_INFINITY } else { odd };
    if x > -1.0 && x < f64::INFINITY && x.abs() > 1e-20 { log } else { odd }
}

/// ln(1 + x), accurate near 0.
///
/// ```
/// use unishape_vecmath::{Log1p, UnaryFunction};
///
/// assert_eq!(Log1p::eval(1e-20_f64), 1e-20);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Log1p;

impl UnaryFunction<f64> for Log1p {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        finish_log1p(x, log1p_pair(Pair::new(x, 0.0)).rounded())
    }
}

impl UnaryFunction<f32> for Log1p {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        finish_log1p(x, log1p_short(x)) as f32
    }
}
