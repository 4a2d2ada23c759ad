//! Logarithms: x = m · 2^k with m between √½ and √2, and a polynomial for ln m.

use std::f64::consts::{LOG2_E, LOG10_2, LOG10_E};

use crate::UnaryFunction;
use crate::double_double::{DoubleDouble, LN_2_REMAINDER, LN_2_TRUNCATED, polynomial, power_of_two};

// (ln((1 + s) / (1 - s)) - 2s) / s³ as a polynomial of s², for |s| <= 0.172; error of ln: 2^-59.5.
const LOG: [f64; 7] = [
    0.6666666666666734,
    0.39999999999419694,
    0.28571428741434546,
    0.22222198658905912,
    0.18183560366499008,
    0.15314141408569298,
    0.14795129067777538,
];

// The same for Pow; error: 2^-73.9.
const LOG_EXTENDED_FIRST: f64 = 0.6666666666666666;
const LOG_EXTENDED_FIRST_LOW: f64 = 3.746830256366284e-17;
const LOG_EXTENDED: [f64; 8] = [
    0.39999999999999936,
    0.28571428571458246,
    0.22222222215399887,
    0.18181819067552682,
    0.1538454607479845,
    0.1333666451302448,
    0.11668762981715045,
    0.12033257649643539,
];

// The same for f32; error: 2^-44.9.
const LOG_F32: [f64; 5] =
    [0.6666666667573965, 0.39999995638433494, 0.2857210768432283, 0.22176241928347798, 0.19583474677354012];

/// 1 / ln 2 - `LOG2_E`.
const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
/// 1 / ln 10 - `LOG10_E`.
const LOG10_E_LOW: f64 = 1.098319650216765e-17;
/// log10 2, truncated so that its products with exponents are exact.
const LOG10_2_TRUNCATED: f64 = 0.30102999566395283;
/// log10 2 - `LOG10_2_TRUNCATED`.
const LOG10_2_REMAINDER: f64 = 2.8363394551044964e-14;

/// The bits of √½ and of 1.
const ROOT_HALF: u64 = 0x3fe6a09e667f3bcd;
const ONE: u64 = 0x3ff0000000000000;

/// m and k of a positive normal number.
#[inline(always)]
pub(crate) fn frexp_normal(x: f64) -> (f64, f64) {
    // Shifted so that the exponent field changes at √½ instead of 1.
    let shifted = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    // An integer n < 2^52 in the mantissa field of 2^52 gives the number 2^52 + n.
    let k = f64::from_bits((shifted >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
    let m = f64::from_bits((shifted & 0x000fffffffffffff).wrapping_add(ROOT_HALF));
    (m, k)
}

/// m and k of any positive number, subnormal ones included.
#[inline(always)]
pub(crate) fn frexp(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let (m, k) = frexp_normal(if small { x * 18014398509481984.0 } else { x });
    (m, if small { k - 54.0 } else { k })
}

/// ln(1 + f) for f between √½ - 1 and √2 - 1.
#[inline(always)]
fn log1p_reduced(f: f64) -> DoubleDouble {
    // With s = f / (2 + f) this is 2s + s³·p(s²) = f - f²/2 + s·(f²/2 + s²·p(s²)): the first two terms are
    // exact, and the third is so small that its rounding error hardly matters.
    let s = f / (2.0 + f);
    let square = s * s;
    let half_square = DoubleDouble::two_product(0.5 * f, f);
    let third = s * square.mul_add(polynomial(square, &LOG), half_square.high);
    DoubleDouble::fast_two_sum(f, -half_square.high).plus_low(third - half_square.low).normalized()
}

/// [`log1p_reduced`] to about 66 bits.
#[inline(always)]
fn log1p_reduced_extended(f: f64) -> DoubleDouble {
    let s = DoubleDouble::new(f, 0.0).divided_by(DoubleDouble::fast_two_sum(2.0, f)).normalized();
    let square = s.times(s);
    let (first, others) = (LOG_EXTENDED_FIRST, polynomial(square.high, &LOG_EXTENDED));
    let p = DoubleDouble::fast_two_sum(first, square.high * others).plus_low(LOG_EXTENDED_FIRST_LOW);
    let r = square.times(p);
    s.times(DoubleDouble::fast_two_sum(2.0, r.high).plus_low(r.low))
}

/// [`log1p_reduced`], accurate enough for f32.
#[inline(always)]
fn log1p_reduced_for_f32(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let square = s * s;
    (s * square).mul_add(polynomial(square, &LOG_F32), s + s)
}

/// ln m + k·ln 2.
#[inline(always)]
fn with_exponent(ln_m: DoubleDouble, k: f64) -> DoubleDouble {
    DoubleDouble::fast_two_sum(k * LN_2_TRUNCATED, ln_m.high).plus_low(k.mul_add(LN_2_REMAINDER, ln_m.low))
}

/// ln x to about 65 bits, for positive normal numbers.
#[inline(always)]
pub(crate) fn log_extended(x: f64) -> DoubleDouble {
    let (m, k) = frexp_normal(x);
    with_exponent(log1p_reduced_extended(m - 1.0), k).normalized()
}

/// ln(1 + v) for v > -1, as ln m and k.
#[inline(always)]
pub(crate) fn log1p_parts(v: DoubleDouble) -> (DoubleDouble, f64) {
    log_of_sum(DoubleDouble::two_sum(1.0, v.high), v.low)
}

/// ln(sum + small) as ln m and k; accurate also near 1, if the two parts of `sum` are exact.
#[inline(always)]
pub(crate) fn log_of_sum(sum: DoubleDouble, small: f64) -> (DoubleDouble, f64) {
    let (m, k) = frexp_normal(sum.high);
    // 2^-k, for k = 1024 too.
    let power = 0.5 * power_of_two(1.0 - k);
    let f = DoubleDouble::two_sum(m - 1.0, sum.low * power);
    let low = small.mul_add(power, f.low);
    // low / (1 + f), to a few bits.
    let low = low * (-f.high).mul_add((-f.high).mul_add(1.0 - f.high, 1.0), 1.0);
    (log1p_reduced(f.high).plus_low(low), k)
}

/// ln(1 + v) for v > -1.
#[inline(always)]
pub(crate) fn log1p_dd(v: DoubleDouble) -> DoubleDouble {
    let (ln_m, k) = log1p_parts(v);
    with_exponent(ln_m, k)
}

/// ln(sum + small) + `exponent`·ln 2.
#[inline(always)]
pub(crate) fn log_of_sum_dd(sum: DoubleDouble, small: f64, exponent: f64) -> DoubleDouble {
    let (ln_m, k) = log_of_sum(sum, small);
    with_exponent(ln_m, k + exponent)
}

/// ln(1 + v) for v > -1, accurate enough for f32.
#[inline(always)]
pub(crate) fn log1p_for_f32(v: f64) -> f64 {
    let (m, k) = frexp_normal(1.0 + v);
    let f = if k == 0.0 { v } else { m - 1.0 };
    k.mul_add(std::f64::consts::LN_2, log1p_reduced_for_f32(f))
}

/// log2 x for positive normal numbers, accurate enough for f32.
#[inline(always)]
pub(crate) fn log2_for_f32(x: f64) -> f64 {
    let (m, k) = frexp_normal(x);
    log1p_reduced_for_f32(m - 1.0).mul_add(LOG2_E, k)
}

/// A logarithm, or its value for 0, negative numbers, infinity and NaN.
#[inline(always)]
fn log_special_cases(x: f64, log: f64) -> f64 {
    let special = if x < 0.0 { f64::NAN } else { x };
    let special = if x == 0.0 { f64::NEG_INFINITY } else { special };
    if x > 0.0 && x < f64::INFINITY { log } else { special }
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
        let (m, k) = frexp(x);
        log_special_cases(x, with_exponent(log1p_reduced(m - 1.0), k).to_f64())
    }
}

impl UnaryFunction<f32> for Log {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let (m, k) = frexp_normal(x);
        log_special_cases(x, k.mul_add(std::f64::consts::LN_2, log1p_reduced_for_f32(m - 1.0))) as f32
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
        let (m, k) = frexp(x);
        let log = log1p_reduced(m - 1.0).times(DoubleDouble::new(LOG2_E, LOG2_E_LOW));
        log_special_cases(x, DoubleDouble::fast_two_sum(k, log.high).plus_low(log.low).to_f64())
    }
}

impl UnaryFunction<f32> for Log2 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        log_special_cases(x, log2_for_f32(x)) as f32
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
        let (m, k) = frexp(x);
        let log = log1p_reduced(m - 1.0).times(DoubleDouble::new(LOG10_E, LOG10_E_LOW));
        let sum = DoubleDouble::fast_two_sum(k * LOG10_2_TRUNCATED, log.high);
        log_special_cases(x, sum.plus_low(k.mul_add(LOG10_2_REMAINDER, log.low)).to_f64())
    }
}

impl UnaryFunction<f32> for Log10 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let (m, k) = frexp_normal(x);
        log_special_cases(x, k.mul_add(LOG10_2, log1p_reduced_for_f32(m - 1.0) * LOG10_E)) as f32
    }
}

/// The result of log1p, or its value for tiny x, x <= -1, infinity and NaN.
#[inline(always)]
fn log1p_special_cases(x: f64, log: f64) -> f64 {
    let special = if x < -1.0 { f64::NAN } else { x };
    let special = if x == -1.0 { f64::NEG_INFINITY } else { special };
    if x > -1.0 && x < f64::INFINITY && x.abs() > 1e-20 { log } else { special }
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
        log1p_special_cases(x, log1p_dd(DoubleDouble::new(x, 0.0)).to_f64())
    }
}

impl UnaryFunction<f32> for Log1p {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        log1p_special_cases(x, log1p_for_f32(x)) as f32
    }
}
