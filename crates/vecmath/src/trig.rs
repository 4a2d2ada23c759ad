//! Sine, cosine and tangent: x = k·π/2 + r with an integer k, and polynomials for sin r and cos r.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use crate::UnaryFunction;
use crate::pair::{Pair, ROUNDER, polynomial};

/// What π/2 is more than `FRAC_PI_2`, and what it is more than both.
const FRAC_PI_2_SECOND: f64 = 6.123233995736766e-17;
const FRAC_PI_2_THIRD: f64 = -1.4973849048591698e-33;

/// Beyond this more bits of π are needed than those three have.
const EASY: f64 = 268435456.0;

/// Below this sin x and tan x are x, -0 included.
const TINY: f64 = 1e-9;

// (sin r - r) / r³ as a polynomial of r², for |r| <= π/4; the sine is off by 2^-58.0.
const SIN: [f64; 6] = [
    -0.16666666666666632,
    0.0083333333333224,
    -0.0001984126982979031,
    2.755731368420844e-06,
    -2.505075668855754e-08,
    1.58967020005466e-10,
];
// (cos r - 1 + r²/2) / r⁴ likewise; the cosine is off by 2^-64.2.
const COS: [f64; 6] = [
    0.0416666666666666,
    -0.001388888888887419,
    2.480158728951062e-05,
    -2.755731435769091e-07,
    2.0875723694113275e-09,
    -1.1359656569665399e-11,
];
// The same two for f32: off by 2^-37.6 and by 2^-43.2.
const SIN_SHORT: [f64; 4] =
    [-0.16666666641566932, 0.008333329377082187, -0.00019839331630794026, 2.718278655865813e-06];
const COS_SHORT: [f64; 4] =
    [0.041666666622791275, -0.0013888883747701659, 2.4799518038529372e-05, -2.7210046561576087e-07];
/// k in the lowest bits of the first, and r.
#[inline(always)]
fn reduce(x: f64) -> (u64, Pair) {
    let moved = x.mul_add(FRAC_2_PI, ROUNDER);
    let k = moved - ROUNDER;
    // Exact, as in `exp`. What remains may be tiny, and then the later parts are what counts.
    let most = (-k).mul_add(FRAC_PI_2, x);
    let second = Pair::of_product(-k, FRAC_PI_2_SECOND);
    let r = Pair::of_sum(most, second.high);
    let third = (-k).mul_add(FRAC_PI_2_THIRD, second.low);
    (moved.to_bits(), r.plus_small(third).settled())
}

/// sin r and cos r. Their low parts are not settled.
#[inline(always)]
fn both(r: Pair) -> (Pair, Pair) {
    let square = Pair::of_product(r.high, r.high);
    let z = square.high;
    let half = 0.5 * z;
    let sine = Pair::new(r.high, (r.high * z).mul_add(polynomial(z, &SIN), r.low * (1.0 - half)));
    let low = (z * z).mul_add(polynomial(z, &COS), (-r.high).mul_add(r.low, -0.5 * square.low));
    (sine, Pair::of_ordered_sum(1.0, -half).plus_small(low))
}

/// Sine and cosine of a pair, for complex powers.
#[inline(always)]
pub(crate) fn sin_cos_pair(x: Pair) -> (f64, f64) {
    if !is_fast(x.high) {
        return (libm::sin(x.high), libm::cos(x.high));
    }
    let (k, r) = reduce(x.high);
    let (sine, cosine) = both(Pair::of_sum(r.high, r.low + x.low));
    let (sine, cosine) = (sine.rounded(), cosine.rounded());
    (turned(sine, cosine, k), turned(sine, cosine, k.wrapping_add(1)))
}

/// k, sin r and cos r for f32.
#[inline(always)]
fn both_short(x: f64) -> (u64, f64, f64) {
    let moved = x.mul_add(FRAC_2_PI, ROUNDER);
    let k = moved - ROUNDER;
    let r = (-k).mul_add(FRAC_PI_2_SECOND, (-k).mul_add(FRAC_PI_2, x));
    let z = r * r;
    let sine = (r * z).mul_add(polynomial(z, &SIN_SHORT), r);
    let cosine = (z * z).mul_add(polynomial(z, &COS_SHORT), (-0.5_f64).mul_add(z, 1.0));
    (moved.to_bits(), sine, cosine)
}

/// `x`, negated where the second bit of `k` is set.
#[inline(always)]
fn signed(x: f64, k: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ ((k & 2) << 62))
}

/// The sine for an even k, the cosine for an odd one.
#[inline(always)]
fn turned(sine: f64, cosine: f64, k: u64) -> f64 {
    signed(if k & 1 == 0 { sine } else { cosine }, k)
}

/// Infinity and NaN are easy: they come out as NaN.
#[inline(always)]
fn is_fast(x: f64) -> bool {
    let x = x.abs();
    x < EASY || x.is_nan() || x == f64::INFINITY
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
        let (sine, cosine) = both(r);
        let far = turned(sine.rounded(), cosine.rounded(), k);
        if x.abs() < TINY { x } else { far }
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
        let (k, sine, cosine) = both_short(f64::from(x));
        let far = turned(sine, cosine, k) as f32;
        if x.abs() < 1e-5 { x } else { far }
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
        let (sine, cosine) = both(r);
        turned(sine.rounded(), cosine.rounded(), k.wrapping_add(1))
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
        let (k, sine, cosine) = both_short(f64::from(x));
        turned(sine, cosine, k.wrapping_add(1)) as f32
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
        let (sine, cosine) = both(r);
        let (sine, cosine) = (sine.settled(), cosine.settled());
        // sin / cos, or -cos / sin a quarter turn further.
        let even = k & 1 == 0;
        let above =
            Pair::new(if even { sine.high } else { -cosine.high }, if even { sine.low } else { -cosine.low });
        let below =
            Pair::new(if even { cosine.high } else { sine.high }, if even { cosine.low } else { sine.low });
        let far = above.over(below).rounded();
        if x.abs() < TINY { x } else { far }
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
        let (k, sine, cosine) = both_short(f64::from(x));
        let even = k & 1 == 0;
        let above = if even { sine } else { -cosine };
        let below = if even { cosine } else { sine };
        let far = (above / below) as f32;
        if x.abs() < 1e-5 { x } else { far }
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
