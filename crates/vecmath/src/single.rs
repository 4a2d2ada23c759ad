//! Functions of `f32` that are asked for most, computed in `f32`: twice as many side by side as in `f64`, and
//! steps that take half as long. What that costs in accuracy is in docs/accuracy.md.

use crate::UnaryFunction;
use crate::erf::Erf;
use crate::exp::{Exp, Sigmoid};
use crate::hyperbolic::Tanh;
use crate::pair::{at_least, at_most, polynomial};
use std::f32::consts::{LN_2, LOG2_E};

/// Adding this rounds a number below 2^22 to an integer, which then stands in the lowest bits, and 127 with it: moved
/// to where the exponent is, they are a power of two.
const ROUNDER: f32 = 12582912.0 + 127.0;

/// What ln 2 is more than `LN_2`.
const LN_2_LOW: f32 = -1.9046542e-9;

// (e^r - 1 - r - r²/2) / r³ where |r| <= ln 2 / 2; e^r is then off by 2^-27.9.
const EXP: [f32; 4] = [0.16666533, 0.04166724, 0.008367542, 0.0013863727];

// erf x / x - 1 as a polynomial of x², for |x| < 1: erf is off by 2^-28.6.
const ERF_NEAR: [f32; 7] =
    [0.12837917, -0.37612626, 0.112835854, -0.026853813, 0.0051883277, -0.00080101937, 7.8538615e-5];

// ln(erfc x), for x from 1 to 4: erf is off by 2^-27.2.
const ERFC_LOG: [f32; 7] =
    [-0.00034152326, -1.1270891, -0.63814485, -0.10310675, 0.021838063, -0.002947658, 0.00018637917];

// (tanh x / x - 1) / x² as a polynomial of x², for x² < 0.55: tanh is off by 2^-27.8.
const TANH_NEAR: [f32; 6] = [-0.33333316, 0.13332753, -0.05389822, 0.021473993, -0.007696717, 0.0017631159];

/// 2^k for an integer from -126 to 127, which was rounded by adding `ROUNDER`; 0 for -127, and infinity for 128.
#[inline(always)]
fn power_of_two(rounded: f32) -> f32 {
    f32::from_bits(rounded.to_bits() << 23)
}

/// x · 2^k for an integer from -252 to 254, in two steps, since 2^k may not be a number when the result is.
#[inline(always)]
fn scale(x: f32, rounded: f32) -> f32 {
    let k = rounded - ROUNDER;
    let half = k.mul_add(0.5, ROUNDER);
    x * power_of_two(half) * power_of_two(k - (half - ROUNDER) + ROUNDER)
}

/// From here on powers of e are above or below what has all its bits, or may be.
const FAR: f32 = 87.6;

/// From here on they are 0 or infinite.
const TOO_FAR: f32 = 104.0;

/// k, rounded by adding `ROUNDER`, and e^r - 1 where x = k·ln 2 + r.
#[inline(always)]
fn parts(x: f32) -> (f32, f32) {
    let rounded = x.mul_add(LOG2_E, ROUNDER);
    let k = rounded - ROUNDER;
    // The first difference is exact.
    let r = (-k).mul_add(LN_2_LOW, (-k).mul_add(LN_2, x));
    (rounded, (r * r).mul_add(polynomial(r, &EXP).mul_add(r, 0.5), r))
}

/// e^x, for |x| up to [`FAR`].
#[inline(always)]
fn exp(x: f32) -> f32 {
    let (rounded, less_one) = parts(x);
    let power = power_of_two(rounded);
    less_one.mul_add(power, power)
}

/// Whether a power of e has all its bits; NaN passes through as well.
#[inline(always)]
#[allow(clippy::neg_cmp_op_on_partial_ord)] // which NaN is there for
fn is_near(x: f32) -> bool {
    !(x.abs() > FAR)
}

impl UnaryFunction<f32> for Exp {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        exp(x)
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_near(x)
    }

    #[inline(always)]
    fn fallback(x: f32) -> f32 {
        let (rounded, less_one) = parts(at_most(at_least(x, -TOO_FAR), TOO_FAR));
        scale(1.0 + less_one, rounded)
    }

    const FALLBACK_IS_BRANCH_FREE: bool = true;
}

impl UnaryFunction<f32> for Sigmoid {
    /// e / (1 + e) on the left, 1 / (1 + e) on the right, with e = e^-|x|. What was rounded off in 1 + e and by dividing
    /// comes in again.
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let e = exp(-x.abs());
        let divisor = 1.0 + e;
        let rest = e - (divisor - 1.0);
        let above = if x < 0.0 { e } else { 1.0 };
        let inverse = 1.0 / divisor;
        let quotient = above * inverse;
        let missing = (-quotient).mul_add(rest, (-quotient).mul_add(divisor, above));
        missing.mul_add(inverse, quotient)
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_near(x)
    }

    #[inline(always)]
    fn fallback(x: f32) -> f32 {
        // Far from 0 it is e^x on the left and 1 on the right.
        if x < 0.0 { Exp::fallback(x) } else { 1.0 }
    }

    const FALLBACK_IS_BRANCH_FREE: bool = true;
}

impl UnaryFunction<f32> for Tanh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let square = x * x;
        let near = (x * square).mul_add(polynomial(square, &TANH_NEAR), x);
        // 1 - 2 / (1 + e^2|x|), of which the second part is the smaller one here. From 10 on it is 1.
        let far = 1.0 - 2.0 / (1.0 + exp(2.0 * at_most(x.abs(), 10.0)));
        // Also keeps -0.
        (if square < 0.55 { near } else { far }).copysign(x)
    }
}

impl UnaryFunction<f32> for Erf {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let near = x.mul_add(polynomial(x * x, &ERF_NEAR), x);
        // From 4 on it is 1.
        let far = 1.0 - exp(polynomial(at_most(x.abs(), 4.0), &ERFC_LOG));
        if x.abs() < 1.0 { near } else { far.copysign(x) }
    }
}
