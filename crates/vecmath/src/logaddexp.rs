//! ln(e^x + e^y)

use std::f64::consts::{LN_2, LOG2_E};

use crate::BinaryFunction;
use crate::exp::{Parts, exp_short};
use crate::log::{log1p_pair, log1p_parts};
use crate::pair::{LN_2_REST, LN_2_SHORT, Pair, ROUNDER, at_least, polynomial, power_of_two, scale};

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
fn fast(x: f64, y: f64) -> f64 {
    // larger + ln(1 + e^(smaller - larger))
    let (larger, smaller) = sorted(x, y);
    let difference = Pair::of_sum(smaller, -larger);
    // Beyond this nothing is left of e; -infinity would become NaN.
    let beyond = difference.high < -750.0;
    let exponent = Pair::new(at_least(difference.high, -750.0), if beyond { 0.0 } else { difference.low });
    let parts = Parts::of(exponent);
    let mantissa = parts.mantissa().settled();
    let e = Pair::new(scale(mantissa.high, parts.k), scale(mantissa.low, parts.k));
    let (log, k) = log1p_parts(e);
    let whole = Pair::of_sum(larger, k * LN_2_SHORT);
    let sum = Pair::of_sum(whole.high, log.high);
    let low = k.mul_add(LN_2_REST, log.low) + whole.low;
    let result = sum.plus_small(low).rounded();
    let result = if larger.abs() == f64::INFINITY { larger } else { result };
    if x.is_nan() || y.is_nan() { f64::NAN } else { result }
}

/// Whether the result is so close to 0 that less than `limit` is left of numbers near 1/2.
#[inline(always)]
fn cancels(x: f64, y: f64, limit: f64) -> bool {
    let (larger, smaller) = sorted(x, y);
    let sum = exp_short(at_least(larger, -700.0)) + exp_short(at_least(smaller, -700.0));
    larger < 0.0 && larger > -0.6932 && (sum - 1.0).abs() < limit
}

/// ln(1 + (e^x - 1 + e^y)), with some 100 bits of what is in the brackets. Inlined, though it is long, since it
/// takes hundreds of `mul_add`s, which are calls outside the loops for CPUs that have them.
#[inline(always)]
fn near_zero(x: f64, y: f64) -> f64 {
    let (larger, smaller) = sorted(x, y);
    // 2^k is 1 or 1/2 for the larger one, and 2^k - 1 is exact.
    let (k, less_one) = expm1_long(larger);
    let one = less_one.scaled(power_of_two(k));
    let one = Pair::of_sum(power_of_two(k) - 1.0, one.high).plus_small(one.low);
    let (k, less_one) = expm1_long(at_least(smaller, -750.0));
    let other = Pair::of_ordered_sum(1.0, less_one.high).plus_small(less_one.low).settled();
    let sum = Pair::of_sum(one.high, scale(other.high, k));
    let low = Pair::of_sum(one.low, scale(other.low, k));
    let high = Pair::of_sum(sum.high, low.high);
    log1p_pair(high.plus_small(sum.low + low.low).settled()).rounded()
}

/// 1/1! to 1/12!, as pairs.
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
/// And on to 1/23!.
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

/// k and e^r - 1 to some 100 bits, where x = k·ln 2 + r: Taylor's series.
#[inline(always)]
fn expm1_long(x: f64) -> (f64, Pair) {
    const LN_2_SECOND: f64 = 2.3190468138462996e-17;
    const LN_2_THIRD: f64 = 5.707708438416212e-34;
    let k = x.mul_add(LOG2_E, ROUNDER) - ROUNDER;
    let most = (-k).mul_add(LN_2, x);
    let second = Pair::of_product(-k, LN_2_SECOND);
    let r = Pair::of_sum(most, second.high);
    let r = r.plus_small((-k).mul_add(LN_2_THIRD, second.low)).settled();
    // From r¹³ on the terms are so small that one number each is enough.
    let mut sum = Pair::new(r.high * polynomial(r.high, &INVERSE_FACTORIALS_FROM_13), 0.0);
    for &(high, low) in INVERSE_FACTORIALS.iter().rev() {
        let term = Pair::of_ordered_sum(high, sum.high).plus_small(sum.low + low);
        sum = term.times(r).settled();
    }
    (k, sum)
}

impl BinaryFunction<f64> for Logaddexp {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        fast(x, y)
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
        fast(f64::from(x), f64::from(y)) as f32
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
