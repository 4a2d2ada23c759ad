//! Sine, cosine and tangent: x = k·π/2 + r with an integer k, and polynomials for sin r and cos r.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use crate::UnaryFunction;
use crate::double_double::{DoubleDouble, ROUND_SHIFT, polynomial};

/// Second and third part of π/2 = `FRAC_PI_2` + `FRAC_PI_2_SECOND` + `FRAC_PI_2_THIRD`.
const FRAC_PI_2_SECOND: f64 = 6.123233995736766e-17;
const FRAC_PI_2_THIRD: f64 = -1.4973849048591698e-33;

/// 2^28: larger arguments need more bits of π than these three parts have.
const MAX_FAST: f64 = 268435456.0;

/// Below this, sin x and tan x are x, also for -0.
const TINY: f64 = 1e-9;

// (sin r - r) / r³ as a polynomial of r², for |r| <= π/4; error of sin: 2^-58.0.
const SIN: [f64; 6] = [
    -0.16666666666666632,
    0.0083333333333224,
    -0.0001984126982979031,
    2.755731368420844e-06,
    -2.505075668855754e-08,
    1.58967020005466e-10,
];

// (cos r - 1 + r²/2) / r⁴ likewise; error of cos: 2^-64.2.
const COS: [f64; 6] = [
    0.0416666666666666,
    -0.001388888888887419,
    2.480158728951062e-05,
    -2.755731435769091e-07,
    2.0875723694113275e-09,
    -1.1359656569665399e-11,
];

// The same two for f32; errors: 2^-37.6 and 2^-43.2.
const SIN_F32: [f64; 4] =
    [-0.16666666641566932, 0.008333329377082187, -0.00019839331630794026, 2.718278655865813e-06];
const COS_F32: [f64; 4] =
    [0.041666666622791275, -0.0013888883747701659, 2.4799518038529372e-05, -2.7210046561576087e-07];

/// k, in the lowest bits, and r.
#[inline(always)]
fn reduce(x: f64) -> (u64, DoubleDouble) {
    let shifted = x.mul_add(FRAC_2_PI, ROUND_SHIFT);
    let k = shifted - ROUND_SHIFT;
    // Exact, as in `exp`. The difference may be tiny; then the other parts of π/2 dominate.
    let first = (-k).mul_add(FRAC_PI_2, x);
    let second = DoubleDouble::two_product(-k, FRAC_PI_2_SECOND);
    let r = DoubleDouble::two_sum(first, second.high);
    let third = (-k).mul_add(FRAC_PI_2_THIRD, second.low);
    (shifted.to_bits(), r.plus_low(third).normalized())
}

/// sin r and cos r, not normalized.
#[inline(always)]
fn sin_cos_reduced(r: DoubleDouble) -> (DoubleDouble, DoubleDouble) {
    let square = DoubleDouble::two_product(r.high, r.high);
    let z = square.high;
    let half = 0.5 * z;
    let sine = DoubleDouble::new(r.high, (r.high * z).mul_add(polynomial(z, &SIN), r.low * (1.0 - half)));
    let low = (z * z).mul_add(polynomial(z, &COS), (-r.high).mul_add(r.low, -0.5 * square.low));
    (sine, DoubleDouble::fast_two_sum(1.0, -half).plus_low(low))
}

/// Sine and cosine of a double-double, for complex powers.
#[inline(always)]
pub(crate) fn sin_cos_dd(x: DoubleDouble) -> (f64, f64) {
    if !is_fast(x.high) {
        // The low part of a huge angle may be a large angle, too.
        let (sine, cosine) = (libm::sin(x.high), libm::cos(x.high));
        let (low_sine, low_cosine) = (libm::sin(x.low), libm::cos(x.low));
        return (sine * low_cosine + cosine * low_sine, cosine * low_cosine - sine * low_sine);
    }
    let (k, r) = reduce(x.high);
    let (sine, cosine) = sin_cos_reduced(DoubleDouble::two_sum(r.high, r.low + x.low));
    let (sine, cosine) = (sine.to_f64(), cosine.to_f64());
    (select_by_quadrant(sine, cosine, k), select_by_quadrant(sine, cosine, k.wrapping_add(1)))
}

/// k, sin r and cos r, accurate enough for f32.
#[inline(always)]
fn sin_cos_for_f32(x: f64) -> (u64, f64, f64) {
    let shifted = x.mul_add(FRAC_2_PI, ROUND_SHIFT);
    let k = shifted - ROUND_SHIFT;
    let r = (-k).mul_add(FRAC_PI_2_SECOND, (-k).mul_add(FRAC_PI_2, x));
    let z = r * r;
    let sine = (r * z).mul_add(polynomial(z, &SIN_F32), r);
    let cosine = (z * z).mul_add(polynomial(z, &COS_F32), (-0.5_f64).mul_add(z, 1.0));
    (shifted.to_bits(), sine, cosine)
}

/// `x`, negated if bit 1 of `k` is set.
#[inline(always)]
fn negated_if_bit_1(x: f64, k: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ ((k & 2) << 62))
}

/// ±sin r for even k, ±cos r for odd k: the sine of k·π/2 + r.
#[inline(always)]
fn select_by_quadrant(sine: f64, cosine: f64, k: u64) -> f64 {
    negated_if_bit_1(if k & 1 == 0 { sine } else { cosine }, k)
}

/// Infinity and NaN are fast: the result is NaN.
#[inline(always)]
fn is_fast(x: f64) -> bool {
    let x = x.abs();
    x < MAX_FAST || x.is_nan() || x == f64::INFINITY
}

/// Sine.
///
/// ```
/// use unishape_vecmath::{Sin, UnaryFunction};
///
/// assert_eq!(Sin::eval(0.0_f64), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sin;

impl UnaryFunction<f64> for Sin {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (k, r) = reduce(x);
        let (sine, cosine) = sin_cos_reduced(r);
        let result = select_by_quadrant(sine.to_f64(), cosine.to_f64(), k);
        if x.abs() < TINY { x } else { result }
    }

    #[inline(always)]
    fn is_fast(x: f64) -> bool {
        is_fast(x)
    }

    #[inline]
    fn fallback(x: f64) -> f64 {
        libm::sin(x)
    }
}

impl UnaryFunction<f32> for Sin {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let (k, sine, cosine) = sin_cos_for_f32(f64::from(x));
        let result = select_by_quadrant(sine, cosine, k) as f32;
        if x.abs() < 1e-5 { x } else { result }
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_fast(f64::from(x))
    }

    #[inline]
    fn fallback(x: f32) -> f32 {
        libm::sin(f64::from(x)) as f32
    }
}

/// Cosine.
///
/// ```
/// use unishape_vecmath::{Cos, UnaryFunction};
///
/// assert_eq!(Cos::eval(0.0_f64), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cos;

impl UnaryFunction<f64> for Cos {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (k, r) = reduce(x);
        let (sine, cosine) = sin_cos_reduced(r);
        select_by_quadrant(sine.to_f64(), cosine.to_f64(), k.wrapping_add(1))
    }

    #[inline(always)]
    fn is_fast(x: f64) -> bool {
        is_fast(x)
    }

    #[inline]
    fn fallback(x: f64) -> f64 {
        libm::cos(x)
    }
}

impl UnaryFunction<f32> for Cos {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let (k, sine, cosine) = sin_cos_for_f32(f64::from(x));
        select_by_quadrant(sine, cosine, k.wrapping_add(1)) as f32
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_fast(f64::from(x))
    }

    #[inline]
    fn fallback(x: f32) -> f32 {
        libm::cos(f64::from(x)) as f32
    }
}

/// Tangent.
///
/// ```
/// use unishape_vecmath::{Tan, UnaryFunction};
///
/// assert_eq!(Tan::eval(0.0_f64), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tan;

impl UnaryFunction<f64> for Tan {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (k, r) = reduce(x);
        let (sine, cosine) = sin_cos_reduced(r);
        let (sine, cosine) = (sine.normalized(), cosine.normalized());
        // sin / cos for even k, -cos / sin for odd k.
        let even = k & 1 == 0;
        let numerator = DoubleDouble::new(
            if even { sine.high } else { -cosine.high },
            if even { sine.low } else { -cosine.low },
        );
        let denominator = DoubleDouble::new(
            if even { cosine.high } else { sine.high },
            if even { cosine.low } else { sine.low },
        );
        let result = numerator.divided_by(denominator).to_f64();
        if x.abs() < TINY { x } else { result }
    }

    #[inline(always)]
    fn is_fast(x: f64) -> bool {
        is_fast(x)
    }

    #[inline]
    fn fallback(x: f64) -> f64 {
        libm::tan(x)
    }
}

impl UnaryFunction<f32> for Tan {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let (k, sine, cosine) = sin_cos_for_f32(f64::from(x));
        let even = k & 1 == 0;
        let numerator = if even { sine } else { -cosine };
        let denominator = if even { cosine } else { sine };
        let result = (numerator / denominator) as f32;
        if x.abs() < 1e-5 { x } else { result }
    }

    #[inline(always)]
    fn is_fast(x: f32) -> bool {
        is_fast(f64::from(x))
    }

    #[inline]
    fn fallback(x: f32) -> f32 {
        libm::tan(f64::from(x)) as f32
    }
}
