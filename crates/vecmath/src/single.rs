//! The most frequent functions of `f32`, computed in `f32`.
//!
//! That takes half the time: a SIMD register holds twice as many `f32` as `f64`. `docs/accuracy.md` lists the
//! errors, which are larger than by way of `f64`.

use crate::UnaryFunction;
use crate::double_double::{at_least, at_most, polynomial};
use crate::erf::Erf;
use crate::exp::{Exp, Sigmoid};
use crate::hyperbolic::Tanh;
use std::f32::consts::{LN_2, LOG2_E};

/// 1.5·2^23 + 127: adding it rounds a number k below 2^22 to an integer.
///
/// k + 127 is then in the lowest bits; shifted to the exponent field, it gives 2^k.
const ROUND_SHIFT: f32 = 12582912.0 + 127.0;

/// ln 2 - `LN_2`.
const LN_2_LOW: f32 = -1.9046542e-9;

// (e^r - 1 - r - r²/2) / r³ for |r| <= ln 2 / 2; error of e^r: 2^-27.9.
const EXP: [f32; 4] = [0.16666533, 0.04166724, 0.008367542, 0.0013863727];

// erf x / x - 1 as a polynomial of x², for |x| < 1; error of erf: 2^-28.6.
const ERF_NEAR: [f32; 7] =
    [0.12837917, -0.37612626, 0.112835854, -0.026853813, 0.0051883277, -0.00080101937, 7.8538615e-5];

// ln(erfc x), for x from 1 to 4; error of erf: 2^-27.2.
const ERFC_LOG: [f32; 7] =
    [-0.00034152326, -1.1270891, -0.63814485, -0.10310675, 0.021838063, -0.002947658, 0.00018637917];

// (tanh x / x - 1) / x² as a polynomial of x², for x² < 0.55; error of tanh: 2^-27.8.
const TANH_NEAR: [f32; 6] = [-0.33333316, 0.13332753, -0.05389822, 0.021473993, -0.007696717, 0.0017631159];

/// 2^k from k + `ROUND_SHIFT`, for integers from -126 to 127; 0 for -127, infinity for 128.
#[inline(always)]
fn power_of_two(shifted: f32) -> f32 {
    f32::from_bits(shifted.to_bits() << 23)
}

/// x · 2^k from k + `ROUND_SHIFT`, for integers from -252 to 254.
///
/// In two steps, since 2^k may overflow or underflow where the result does not.
#[inline(always)]
fn scale(x: f32, shifted: f32) -> f32 {
    let k = shifted - ROUND_SHIFT;
    let half = k.mul_add(0.5, ROUND_SHIFT);
    x * power_of_two(half) * power_of_two(k - (half - ROUND_SHIFT) + ROUND_SHIFT)
}

/// Up to this |x|, k in x = k·ln 2 + r is at most ±126, and 2^k is a normal number.
const FAST_LIMIT: f32 = 87.6;

/// From this |x| on, e^x is 0 or infinity.
const SATURATION_LIMIT: f32 = 104.0;

/// k + `ROUND_SHIFT` and e^r - 1, where x = k·ln 2 + r.
#[inline(always)]
fn parts(x: f32) -> (f32, f32) {
    let shifted = x.mul_add(LOG2_E, ROUND_SHIFT);
    let k = shifted - ROUND_SHIFT;
    // The inner difference is exact.
    let r = (-k).mul_add(LN_2_LOW, (-k).mul_add(LN_2, x));
    (shifted, (r * r).mul_add(polynomial(r, &EXP).mul_add(r, 0.5), r))
}

/// e^x, for |x| up to [`FAST_LIMIT`].
#[inline(always)]
fn exp(x: f32) -> f32 {
    let (shifted, expm1) = parts(x);
    let power = power_of_two(shifted);
    expm1.mul_add(power, power)
}

/// Whether `exp` is correct: |x| is within [`FAST_LIMIT`], or x is NaN.
#[inline(always)]
#[allow(clippy::neg_cmp_op_on_partial_ord)] // true for NaN
fn is_in_fast_range(x: f32) -> bool {
    !(x.abs() > FAST_LIMIT)
}

impl UnaryFunction<f32> for Exp {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        exp(x)
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_in_fast_range(x)
    }

    #[inline(always)]
    fn fallback(x: f32) -> f32 {
        let (shifted, expm1) = parts(at_most(at_least(x, -SATURATION_LIMIT), SATURATION_LIMIT));
        scale(1.0 + expm1, shifted)
    }

    const FALLBACK_IS_BRANCH_FREE: bool = true;
}

impl UnaryFunction<f32> for Sigmoid {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        // With e = e^-|x|: e / (1 + e) for x < 0, 1 / (1 + e) for x >= 0, corrected by the rounding errors of
        // 1 + e and of the quotient.
        let e = exp(-x.abs());
        let divisor = 1.0 + e;
        let divisor_low = e - (divisor - 1.0);
        let numerator = if x < 0.0 { e } else { 1.0 };
        let inverse = 1.0 / divisor;
        let quotient = numerator * inverse;
        let remainder = (-quotient).mul_add(divisor_low, (-quotient).mul_add(divisor, numerator));
        remainder.mul_add(inverse, quotient)
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_in_fast_range(x)
    }

    #[inline(always)]
    fn fallback(x: f32) -> f32 {
        // Far from 0 the result is e^x or 1.
        if x < 0.0 { Exp::fallback(x) } else { 1.0 }
    }

    const FALLBACK_IS_BRANCH_FREE: bool = true;
}

impl UnaryFunction<f32> for Tanh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let square = x * x;
        let near = (x * square).mul_add(polynomial(square, &TANH_NEAR), x);
        // 1 - 2 / (1 + e^2|x|), where the second term is the smaller one; 1 from 10 on.
        let far = 1.0 - 2.0 / (1.0 + exp(2.0 * at_most(x.abs(), 10.0)));
        // Keeps -0.
        (if square < 0.55 { near } else { far }).copysign(x)
    }
}

impl UnaryFunction<f32> for Erf {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let near = x.mul_add(polynomial(x * x, &ERF_NEAR), x);
        // The result is 1 from 4 on.
        let far = 1.0 - exp(polynomial(at_most(x.abs(), 4.0), &ERFC_LOG));
        if x.abs() < 1.0 { near } else { far.copysign(x) }
    }
}
