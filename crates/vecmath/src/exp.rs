//! e^x and its neighbours: x = k·ln 2 + r with an integer k, and a polynomial for e^r.

use std::f64::consts::{LN_2, LOG2_E};

use crate::UnaryFunction;
use crate::pair::{Pair, ROUNDER, at_least, at_most, polynomial, power_of_two, scale};

/// What ln 2 is more than `LN_2`.
const LN_2_LOW: f64 = 2.3190468138462996e-17;

// (e^r - 1 - r - r²/2) / r³ where |r| <= ln 2 / 2; e^r - 1 is then off by 2^-61.6 of itself.
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
// (e^r - 1 - r) / r² for f32: e^r is off by 2^-34.2.
const EXP_SHORT: [f64; 6] = [
    0.5000000075920047,
    0.16666666858652393,
    0.04166627468648067,
    0.008333264754476962,
    0.0013945809046269832,
    0.00019918194487010687,
];
/// e^x as (1 + r + s) · 2^k: `s` is far smaller than `r`, and `r` smaller than 1/2.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) k: f64,
    pub(crate) r: f64,
    pub(crate) s: f64,
}

/// k and r where x = k·ln 2 + r.
#[inline(always)]
fn reduce(x: Pair) -> (f64, Pair) {
    let k = x.high.mul_add(LOG2_E, ROUNDER) - ROUNDER;
    // Exact: the product has no bits below those of 2^-54, and the difference is below 1/2.
    let most = (-k).mul_add(LN_2, x.high);
    (k, Pair::of_ordered_sum(most, (-k).mul_add(LN_2_LOW, x.low)))
}

/// What the low part of r adds: that much times e^r, of which few bits are wanted.
#[inline(always)]
fn low_part(r: Pair) -> f64 {
    r.low.mul_add(r.high, r.low)
}

/// e^r - 1 - r, with the high part of r.
#[inline(always)]
fn rest_of_series(r: Pair) -> f64 {
    let series = polynomial(r.high, &EXP).mul_add(r.high, 0.5);
    (r.high * r.high).mul_add(series, low_part(r))
}

impl Parts {
    /// e^(high + low); |high| may be up to some thousands.
    #[inline(always)]
    pub(crate) fn of(x: Pair) -> Parts {
        let (k, r) = reduce(x);
        Parts { k, r: r.high, s: rest_of_series(r) }
    }

    /// e^x / 2^k, between 0.7 and 1.42.
    #[inline(always)]
    pub(crate) fn mantissa(self) -> Pair {
        Pair::of_ordered_sum(1.0, self.r).plus_small(self.s)
    }
}

/// A quarter of e^x - 1, for x from -50 to 710.5. A quarter, since sinh needs it where the whole is too large.
#[inline(always)]
pub(crate) fn quarter_expm1(x: f64) -> Pair {
    let (k, r) = reduce(Pair::new(x, 0.0));
    // The square apart, and exactly: below, 2^k - 1 may take much of it away.
    let square = Pair::of_product(r.high, r.high);
    let cube =
        (r.high * square.high).mul_add(polynomial(r.high, &EXP), 0.5f64.mul_add(square.low, low_part(r)));
    let rest = Pair::of_ordered_sum(r.high, 0.5 * square.high).plus_small(cube);
    let power = power_of_two(k - 2.0);
    let constant = Pair::of_sum(power, -0.25);
    let rest = rest.scaled(power);
    let sum = Pair::of_sum(constant.high, rest.high);
    sum.plus_small(constant.low + rest.low)
}

/// k and e^r - 1 where x = k·ln 2 + r, for f32.
#[inline(always)]
fn parts_short(x: f64) -> (f64, f64) {
    let k = x.mul_add(LOG2_E, ROUNDER) - ROUNDER;
    let r = (-k).mul_add(LN_2, x);
    (k, (r * r).mul_add(polynomial(r, &EXP_SHORT), r))
}

/// e^x for |x| below 700, good enough for f32.
#[inline(always)]
pub(crate) fn exp_short(x: f64) -> f64 {
    let (k, less_one) = parts_short(x);
    let power = power_of_two(k);
    power.mul_add(less_one, power)
}

/// e^x - 1 for |x| below 700, good enough for f32.
#[inline(always)]
pub(crate) fn expm1_short(x: f64) -> f64 {
    let (k, less_one) = parts_short(x);
    let power = power_of_two(k);
    power.mul_add(less_one, power - 1.0)
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
        let parts = Parts::of(Pair::new(x, 0.0));
        scale(parts.mantissa().rounded(), parts.k)
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
        let k = (x + ROUNDER) - ROUNDER;
        let r = Pair::new(x - k, 0.0).times(Pair::new(LN_2, LN_2_LOW)).settled();
        // Here r is already what is left, and only the polynomial is wanted.
        let s = rest_of_series(r);
        scale(Pair::of_ordered_sum(1.0, r.high).plus_small(s).rounded(), k)
    }
}

impl UnaryFunction<f32> for Exp2 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = at_most(at_least(f64::from(x), -160.0), 130.0);
        let k = (x + ROUNDER) - ROUNDER;
        let r = (x - k) * LN_2;
        let less_one = (r * r).mul_add(polynomial(r, &EXP_SHORT), r);
        let power = power_of_two(k);
        power.mul_add(less_one, power) as f32
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
        let far = 4.0 * quarter_expm1(at_most(at_least(x, -50.0), 710.0)).rounded();
        // Also keeps -0, and numbers of which a quarter would be rounded.
        if x.abs() < 1e-17 { x } else { far }
    }
}

impl UnaryFunction<f32> for Expm1 {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let far = expm1_short(at_most(at_least(f64::from(x), -50.0), 90.0)) as f32;
        if x.abs() < 1e-9 { x } else { far }
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
        // With e = e^-|x|: 1 / (1 + e) on the right, e / (1 + e) on the left, where 2^k is put in at the end,
        // since e alone may be too small to have all its bits.
        let parts = Parts::of(Pair::new(at_least(-x.abs(), -750.0), 0.0));
        let mantissa = parts.mantissa().settled();
        let e = mantissa.scaled(power_of_two(at_least(parts.k, -1000.0)));
        let divisor = Pair::of_ordered_sum(1.0, e.high).plus_small(e.low);
        let left = x < 0.0;
        let high = if left { mantissa.high } else { 1.0 };
        let low = if left { mantissa.low } else { 0.0 };
        let k = if left { parts.k } else { 0.0 };
        scale(Pair::new(high, low).over(divisor).rounded(), k)
    }
}
