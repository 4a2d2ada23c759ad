//! Logarithm of a sum of exponentials.

use std::f64::consts::{LN_2, LOG2_E};

use crate::BinaryFunction;
use crate::double_double::{
    DoubleDouble, LN_2_REMAINDER, LN_2_TRUNCATED, ROUND_SHIFT, at_least, polynomial, power_of_two, scale,
};
use crate::exp::{ExpParts, exp_for_f32};
use crate::log::{log1p_dd, log1p_parts};

/// ln(e<sup>x</sup> + e<sup>y</sup>), without overflow in between.
///
/// ```
/// use unishape_vecmath::{BinaryFunction, Logaddexp};
///
/// assert_eq!(Logaddexp::eval(f64::NEG_INFINITY, 1000.0), 1000.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Logaddexp;

/// The larger and the smaller of two numbers.
#[inline(always)]
fn sorted(x: f64, y: f64) -> (f64, f64) {
    let swap = x < y;
    (if swap { y } else { x }, if swap { x } else { y })
}

#[inline(always)]
fn without_cancellation(x: f64, y: f64) -> f64 {
    // larger + ln(1 + e^(smaller - larger))
    let (larger, smaller) = sorted(x, y);
    let difference = DoubleDouble::two_sum(smaller, -larger);
    // e^-750 is 0, and -infinity would become NaN.
    let beyond = difference.high < -750.0;
    let exponent =
        DoubleDouble::new(at_least(difference.high, -750.0), if beyond { 0.0 } else { difference.low });
    let parts = ExpParts::of(exponent);
    let mantissa = parts.mantissa().normalized();
    let e = DoubleDouble::new(scale(mantissa.high, parts.k), scale(mantissa.low, parts.k));
    let (log, k) = log1p_parts(e);
    let whole = DoubleDouble::two_sum(larger, k * LN_2_TRUNCATED);
    let sum = DoubleDouble::two_sum(whole.high, log.high);
    let low = k.mul_add(LN_2_REMAINDER, log.low) + whole.low;
    let result = sum.plus_low(low).to_f64();
    let result = if larger.abs() == f64::INFINITY { larger } else { result };
    if x.is_nan() || y.is_nan() { f64::NAN } else { result }
}

/// Whether e^x + e^y is closer to 1 than `limit`, so that the logarithm cancels.
#[inline(always)]
fn cancels(x: f64, y: f64, limit: f64) -> bool {
    let (larger, smaller) = sorted(x, y);
    let sum = exp_for_f32(at_least(larger, -700.0)) + exp_for_f32(at_least(smaller, -700.0));
    larger < 0.0 && larger > -0.6932 && (sum - 1.0).abs() < limit
}

/// ln(1 + (e^x - 1 + e^y)), with about 100 bits in the parentheses.
///
/// Inlined, although it is long: outside the SIMD loops, each of its hundreds of `mul_add`s is a call.
#[inline(always)]
fn near_zero(x: f64, y: f64) -> f64 {
    let (larger, smaller) = sorted(x, y);
    // For the larger one 2^k is 1 or 1/2, and 2^k - 1 is exact.
    let (k, expm1) = expm1_extended(larger);
    let one = expm1.scaled(power_of_two(k));
    let one = DoubleDouble::two_sum(power_of_two(k) - 1.0, one.high).plus_low(one.low);
    let (k, expm1) = expm1_extended(at_least(smaller, -750.0));
    let other = DoubleDouble::fast_two_sum(1.0, expm1.high).plus_low(expm1.low).normalized();
    let sum = DoubleDouble::two_sum(one.high, scale(other.high, k));
    let low = DoubleDouble::two_sum(one.low, scale(other.low, k));
    let high = DoubleDouble::two_sum(sum.high, low.high);
    log1p_dd(high.plus_low(sum.low + low.low).normalized()).to_f64()
}

/// 1/1! to 1/12!, as double-doubles.
const INVERSE_FACTORIALS: [(f64, f64); 12] = [
    (1.0, 0.0),
    (0.5, 0.0),
    (0.16666666666666666, 9.25185853854297e-18),
    (0.041666666666666664, 2.3129646346357427e-18),
    (0.008333333333333333, 1.1564823173178714e-19),
    (0.001388888888888889, -5.300543954373577e-20),
    (0.0001984126984126984, 1.7209558293420705e-22),
    (2.48015873015873e-05, 2.1511947866775882e-23),
    (2.7557319223985893e-06, -1.858393274046472e-22),
    (2.755731922398589e-07, 2.3767714622250297e-23),
    (2.505210838544172e-08, -1.448814070935912e-24),
    (2.08767569878681e-09, -1.20734505911326e-25),
];

/// 1/13! to 1/23!.
const INVERSE_FACTORIALS_FROM_13: [f64; 11] = [
    1.6059043836821613e-10,
    1.1470745597729725e-11,
    7.647163731819816e-13,
    4.779477332387385e-14,
    2.8114572543455206e-15,
    1.5619206968586225e-16,
    8.22063524662433e-18,
    4.110317623312165e-19,
    1.9572941063391263e-20,
    8.896791392450574e-22,
    3.868170170630684e-23,
];

/// k and e^r - 1 to about 100 bits, where x = k·ln 2 + r, by Taylor series.
#[inline(always)]
fn expm1_extended(x: f64) -> (f64, DoubleDouble) {
    const LN_2_SECOND: f64 = 2.3190468138462996e-17;
    const LN_2_THIRD: f64 = 5.707708438416212e-34;
    let k = x.mul_add(LOG2_E, ROUND_SHIFT) - ROUND_SHIFT;
    let first = (-k).mul_add(LN_2, x);
    let second = DoubleDouble::two_product(-k, LN_2_SECOND);
    let r = DoubleDouble::two_sum(first, second.high);
    let r = r.plus_low((-k).mul_add(LN_2_THIRD, second.low)).normalized();
    // From r¹³ on the terms are so small that one f64 each is enough.
    let mut sum = DoubleDouble::new(r.high * polynomial(r.high, &INVERSE_FACTORIALS_FROM_13), 0.0);
    for &(high, low) in INVERSE_FACTORIALS.iter().rev() {
        let term = DoubleDouble::fast_two_sum(high, sum.high).plus_low(sum.low + low);
        sum = term.times(r).normalized();
    }
    (k, sum)
}

impl BinaryFunction<f64> for Logaddexp {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        without_cancellation(x, y)
    }

    #[inline(always)]
    fn is_fast(x: f64, y: f64) -> bool {
        !cancels(x, y, 0.125)
    }

    #[inline(always)]
    fn fallback(x: f64, y: f64) -> f64 {
        near_zero(x, y)
    }
}

impl BinaryFunction<f32> for Logaddexp {
    #[inline(always)]
    fn fast(x: f32, y: f32) -> f32 {
        without_cancellation(f64::from(x), f64::from(y)) as f32
    }

    #[inline(always)]
    fn is_fast(x: f32, y: f32) -> bool {
        !cancels(f64::from(x), f64::from(y), 1e-6)
    }

    #[inline(always)]
    fn fallback(x: f32, y: f32) -> f32 {
        near_zero(f64::from(x), f64::from(y)) as f32
    }
}
