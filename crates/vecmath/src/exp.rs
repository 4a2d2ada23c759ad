//! Exponential functions: x = k·ln 2 + r with an integer k, and a polynomial for e^r.

use std::f64::consts::{LN_2, LOG2_E};

use crate::UnaryFunction;
use crate::double_double::{DoubleDouble, ROUND_SHIFT, at_least, at_most, polynomial, power_of_two, scale};

/// ln 2 - `LN_2`.
pub(crate) const LN_2_LOW: f64 = 2.3190468138462996e-17;

// (e^r - 1 - r - r²/2) / r³ for |r| <= ln 2 / 2; relative error of e^r - 1: 2^-61.6.
const EXP: [f64; 10] = [
    0.16666666666666677,
    0.0416666666666667,
    0.008333333333321952,
    0.001388888888886789,
    0.00019841269885388706,
    2.4801587358648662e-05,
    2.7557244894027743e-06,
    2.755724429397151e-07,
    2.510881453846505e-08,
    2.0923991710263592e-09,
];

// (e^r - 1 - r) / r² for f32; error of e^r: 2^-34.2.
const EXP_F32: [f64; 6] = [
    0.5000000075920047,
    0.16666666858652393,
    0.04166627468648067,
    0.008333264754476962,
    0.0013945809046269832,
    0.00019918194487010687,
];

/// e^x as (1 + r + s) · 2^k, where `s` is far smaller than `r`, and |r| < 1/2.
#[derive(Clone, Copy)]
pub(crate) struct ExpParts {
    pub(crate) k: f64,
    pub(crate) r: f64,
    pub(crate) s: f64,
}

/// k and r where x = k·ln 2 + r.
#[inline(always)]
fn reduce(x: DoubleDouble) -> (f64, DoubleDouble) {
    let k = x.high.mul_add(LOG2_E, ROUND_SHIFT) - ROUND_SHIFT;
    // Exact: the product has no bits below 2^-54, and the difference is below 1/2.
    let high = (-k).mul_add(LN_2, x.high);
    (k, DoubleDouble::fast_two_sum(high, (-k).mul_add(LN_2_LOW, x.low)))
}

/// The contribution of the low part of r: r.low · e^r, to a few bits.
#[inline(always)]
fn low_part(r: DoubleDouble) -> f64 {
    r.low.mul_add(r.high, r.low)
}

/// e^r - 1 - r.high.
#[inline(always)]
fn series_remainder(r: DoubleDouble) -> f64 {
    let series = polynomial(r.high, &EXP).mul_add(r.high, 0.5);
    (r.high * r.high).mul_add(series, low_part(r))
}

impl ExpParts {
    /// e^x for |x| up to a few thousand.
    #[inline(always)]
    pub(crate) fn of(x: DoubleDouble) -> ExpParts {
        let (k, r) = reduce(x);
        ExpParts { k, r: r.high, s: series_remainder(r) }
    }

    /// e^x / 2^k, between 0.7 and 1.42.
    #[inline(always)]
    pub(crate) fn mantissa(self) -> DoubleDouble {
        DoubleDouble::fast_two_sum(1.0, self.r).plus_low(self.s)
    }
}

/// (e^x - 1) / 4 for x from -50 to 710.5: sinh needs it where e^x overflows.
#[inline(always)]
pub(crate) fn quarter_expm1(x: f64) -> DoubleDouble {
    let (k, r) = reduce(DoubleDouble::new(x, 0.0));
    // The square is exact, because 2^k - 1 may cancel much of it below.
    let square = DoubleDouble::two_product(r.high, r.high);
    let cube =
        (r.high * square.high).mul_add(polynomial(r.high, &EXP), 0.5f64.mul_add(square.low, low_part(r)));
    let rest = DoubleDouble::fast_two_sum(r.high, 0.5 * square.high).plus_low(cube);
    let power = power_of_two(k - 2.0);
    let constant = DoubleDouble::two_sum(power, -0.25);
    let rest = rest.scaled(power);
    let sum = DoubleDouble::two_sum(constant.high, rest.high);
    sum.plus_low(constant.low + rest.low)
}

/// k and e^r - 1 where x = k·ln 2 + r, accurate enough for f32.
#[inline(always)]
fn parts_for_f32(x: f64) -> (f64, f64) {
    let k = x.mul_add(LOG2_E, ROUND_SHIFT) - ROUND_SHIFT;
    let r = (-k).mul_add(LN_2, x);
    (k, (r * r).mul_add(polynomial(r, &EXP_F32), r))
}

/// e^x for |x| < 700, accurate enough for f32.
#[inline(always)]
pub(crate) fn exp_for_f32(x: f64) -> f64 {
    let (k, expm1) = parts_for_f32(x);
    let power = power_of_two(k);
    power.mul_add(expm1, power)
}

/// e^x - 1 for |x| < 700, accurate enough for f32.
#[inline(always)]
pub(crate) fn expm1_for_f32(x: f64) -> f64 {
    let (k, expm1) = parts_for_f32(x);
    let power = power_of_two(k);
    power.mul_add(expm1, power - 1.0)
}

/// e<sup>x</sup>.
///
/// ```
/// use unishape_vecmath::{Exp, UnaryFunction};
///
/// assert_eq!(Exp::eval(0.0_f64), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Exp;

impl UnaryFunction<f64> for Exp {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let x = at_most(at_least(x, -746.0), 710.0);
        let parts = ExpParts::of(DoubleDouble::new(x, 0.0));
        scale(parts.mantissa().to_f64(), parts.k)
    }
}

/// 2<sup>x</sup>.
///
/// ```
/// use unishape_vecmath::{Exp2, UnaryFunction};
///
/// assert_eq!(Exp2::eval(10.0_f64), 1024.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Exp2;

impl UnaryFunction<f64> for Exp2 {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let x = at_most(at_least(x, -1080.0), 1025.0);
        let k = (x + ROUND_SHIFT) - ROUND_SHIFT;
        let r = DoubleDouble::new(x - k, 0.0).times(DoubleDouble::new(LN_2, LN_2_LOW)).normalized();
        let s = series_remainder(r);
        scale(DoubleDouble::fast_two_sum(1.0, r.high).plus_low(s).to_f64(), k)
    }
}

impl UnaryFunction<f32> for Exp2 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = at_most(at_least(f64::from(x), -160.0), 130.0);
        let k = (x + ROUND_SHIFT) - ROUND_SHIFT;
        let r = (x - k) * LN_2;
        let expm1 = (r * r).mul_add(polynomial(r, &EXP_F32), r);
        let power = power_of_two(k);
        power.mul_add(expm1, power) as f32
    }
}

/// e<sup>x</sup> - 1, accurate near 0.
///
/// ```
/// use unishape_vecmath::{Expm1, UnaryFunction};
///
/// assert_eq!(Expm1::eval(1e-20_f64), 1e-20);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Expm1;

impl UnaryFunction<f64> for Expm1 {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let result = 4.0 * quarter_expm1(at_most(at_least(x, -50.0), 710.0)).to_f64();
        // Keeps -0, and numbers whose quarter is subnormal.
        if x.abs() < 1e-17 { x } else { result }
    }
}

impl UnaryFunction<f32> for Expm1 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let result = expm1_for_f32(at_most(at_least(f64::from(x), -50.0), 90.0)) as f32;
        if x.abs() < 1e-9 { x } else { result }
    }
}

/// Logistic function, 1 / (1 + e<sup>-x</sup>).
///
/// ```
/// use unishape_vecmath::{Sigmoid, UnaryFunction};
///
/// assert_eq!(Sigmoid::eval(0.0_f64), 0.5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sigmoid;

impl UnaryFunction<f64> for Sigmoid {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // With e = e^-|x|: 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0. There, e may be subnormal, so the
        // quotient is scaled by 2^k at the end.
        let parts = ExpParts::of(DoubleDouble::new(at_least(-x.abs(), -750.0), 0.0));
        let mantissa = parts.mantissa().normalized();
        let e = mantissa.scaled(power_of_two(at_least(parts.k, -1000.0)));
        let divisor = DoubleDouble::fast_two_sum(1.0, e.high).plus_low(e.low);
        let negative = x < 0.0;
        let high = if negative { mantissa.high } else { 1.0 };
        let low = if negative { mantissa.low } else { 0.0 };
        let k = if negative { parts.k } else { 0.0 };
        scale(DoubleDouble::new(high, low).divided_by(divisor).to_f64(), k)
    }
}
