//! Inverse sine, cosine and tangent.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use crate::double_double::{DoubleDouble, at_most, polynomial};
use crate::{BinaryFunction, UnaryFunction};

/// π - `PI`; half and a quarter of it are the low parts of π/2 and π/4.
const PI_LOW: f64 = 1.2246467991473532e-16;

// (asin s - s) / s³ as a polynomial of s², for |s| <= 1/2; error of asin: 2^-59.8.
const ASIN: [f64; 13] = [
    0.1666666666666676,
    0.0749999999997078,
    0.04464285717471626,
    0.03038194270026402,
    0.02237221524620431,
    0.01735160679171672,
    0.01398088804241888,
    0.01139833115767245,
    0.010783627117489166,
    0.00369333908648477,
    0.021739820546623243,
    -0.021045460474295875,
    0.03265789693455935,
];

// The same for f32; error: 2^-35.8.
const ASIN_F32: [f64; 7] = [
    0.16666667185216608,
    0.07499948455042012,
    0.04466009498957167,
    0.03011099704913717,
    0.024614212584889498,
    0.007480620382281115,
    0.034680435876895406,
];

// (atan q - q) / q³ as a polynomial of q², for |q| <= √2 - 1; error of atan: 2^-59.5.
const ATAN: [f64; 11] = [
    -0.33333333333333204,
    0.19999999999954815,
    -0.14285714280307452,
    0.11111110788588417,
    -0.09090897896665423,
    0.07692062569738777,
    -0.06663129740480278,
    0.058480696206424716,
    -0.05040091323638814,
    0.0380839681970465,
    -0.017927898615605797,
];

// The same for f32; error: 2^-35.4.
const ATAN_F32: [f64; 6] = [
    -0.3333333252176536,
    0.19999905665176185,
    -0.14282052895274136,
    0.11045202080106316,
    -0.08478904239876298,
    0.0474912841075021,
];

/// asin |x| if |x| <= 1/2, else asin √((1 - |x|) / 2) = (π/2 - asin |x|) / 2; and whether |x| > 1/2.
///
/// The result is not normalized.
#[inline(always)]
fn asin_reduced(x: f64) -> (bool, DoubleDouble) {
    let x = x.abs();
    let upper = x > 0.5;
    let square = if upper { 0.5 * (1.0 - x) } else { x * x };
    let root = DoubleDouble::new(square, 0.0).sqrt();
    let s = if upper { root.high } else { x };
    let low = if upper { root.low } else { 0.0 };
    (upper, DoubleDouble::new(s, (s * square).mul_add(polynomial(square, &ASIN), low)))
}

/// [`asin_reduced`], accurate enough for f32.
#[inline(always)]
fn asin_reduced_for_f32(x: f64) -> (bool, f64) {
    let x = x.abs();
    let upper = x > 0.5;
    let square = if upper { 0.5 * (1.0 - x) } else { x * x };
    let s = if upper { square.sqrt() } else { x };
    (upper, (s * square).mul_add(polynomial(square, &ASIN_F32), s))
}

/// Inverse sine.
///
/// ```
/// use unishape_vecmath::{Asin, UnaryFunction};
///
/// assert_eq!(Asin::eval(1.0_f64), std::f64::consts::FRAC_PI_2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Asin;

impl UnaryFunction<f64> for Asin {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (upper, angle) = asin_reduced(x);
        let base = DoubleDouble::fast_two_sum(FRAC_PI_2, -2.0 * angle.high);
        let other = base.plus_low((-2.0_f64).mul_add(angle.low, 0.5 * PI_LOW));
        (if upper { other.to_f64() } else { angle.to_f64() }).copysign(x)
    }
}

impl UnaryFunction<f32> for Asin {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let (upper, angle) = asin_reduced_for_f32(f64::from(x));
        let result = if upper { (-2.0_f64).mul_add(angle, FRAC_PI_2) } else { angle };
        (result as f32).copysign(x)
    }
}

/// Inverse cosine.
///
/// ```
/// use unishape_vecmath::{Acos, UnaryFunction};
///
/// assert_eq!(Acos::eval(-1.0_f64), std::f64::consts::PI);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Acos;

/// Factors of π and of the result of `asin_reduced` whose sum is acos x.
///
/// acos x is π/2 ∓ asin |x| if |x| <= 1/2. With a = asin √((1 - |x|) / 2), it is 2a for x > 1/2 and π - 2a for
/// x < -1/2.
#[inline(always)]
fn acos_factors(x: f64, upper: bool) -> (f64, f64) {
    let negative = x < 0.0;
    let pi_factor = if upper { if negative { 1.0 } else { 0.0 } } else { 0.5 };
    let factor = if upper { 2.0 } else { -1.0 };
    (pi_factor, if negative { -factor } else { factor })
}

impl UnaryFunction<f64> for Acos {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (upper, angle) = asin_reduced(x);
        let (pi_factor, factor) = acos_factors(x, upper);
        let sum = DoubleDouble::fast_two_sum(pi_factor * PI, factor * angle.high);
        sum.plus_low(factor.mul_add(angle.low, pi_factor * PI_LOW)).to_f64()
    }
}

impl UnaryFunction<f32> for Acos {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let (upper, angle) = asin_reduced_for_f32(x);
        let (pi_factor, factor) = acos_factors(x, upper);
        factor.mul_add(angle, pi_factor * PI) as f32
    }
}

/// Tangents of π/8 and 3π/8: angles between them are computed as offsets from π/4, larger ones from π/2.
const TAN_PI_8: f64 = 0.41421356237309503;
const TAN_3_PI_8: f64 = 2.414213562373095;

/// atan(a / b) for a, b >= 0; 0 for 0 / 0. The result is not normalized.
#[inline(always)]
fn atan_ratio(a: f64, b: f64) -> DoubleDouble {
    let middle = a > TAN_PI_8 * b;
    let steep = a > TAN_3_PI_8 * b;
    let (difference, sum) = (DoubleDouble::two_sum(a, -b), DoubleDouble::two_sum(a, b));
    let numerator = if middle { difference.high } else { a };
    let numerator_low = if middle { difference.low } else { 0.0 };
    let denominator = if middle { sum.high } else { b };
    let denominator_low = if middle { sum.low } else { 0.0 };
    let base = if middle { FRAC_PI_4 } else { 0.0 };
    let numerator =
        DoubleDouble::new(if steep { -b } else { numerator }, if steep { 0.0 } else { numerator_low });
    let denominator =
        DoubleDouble::new(if steep { a } else { denominator }, if steep { 0.0 } else { denominator_low });
    let base = if steep { FRAC_PI_2 } else { base };
    // 0 / 0 must be 0, for atan2.
    let denominator =
        DoubleDouble::new(if denominator.high == 0.0 { 1.0 } else { denominator.high }, denominator.low);
    let q = numerator.divided_by(denominator);
    let square = q.high * q.high;
    let rest = (q.high * square).mul_add(polynomial(square, &ATAN), q.low);
    let low = base.mul_add(PI_LOW / PI, rest);
    DoubleDouble::fast_two_sum(base, q.high).plus_low(low)
}

/// [`atan_ratio`], accurate enough for f32.
#[inline(always)]
fn atan_ratio_for_f32(a: f64, b: f64) -> f64 {
    let middle = a > TAN_PI_8 * b;
    let steep = a > TAN_3_PI_8 * b;
    let numerator = if steep {
        -b
    } else if middle {
        a - b
    } else {
        a
    };
    let denominator = if steep {
        a
    } else if middle {
        a + b
    } else {
        b
    };
    let base = if steep {
        FRAC_PI_2
    } else if middle {
        FRAC_PI_4
    } else {
        0.0
    };
    let q = numerator / if denominator == 0.0 { 1.0 } else { denominator };
    let square = q * q;
    base + (q * square).mul_add(polynomial(square, &ATAN_F32), q)
}

/// Inverse tangent.
///
/// ```
/// use unishape_vecmath::{Atan, UnaryFunction};
///
/// assert_eq!(Atan::eval(1.0_f64), std::f64::consts::FRAC_PI_4);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Atan;

impl UnaryFunction<f64> for Atan {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // The result is π/2 from 1e300 on, and infinity would become NaN.
        atan_ratio(at_most(x.abs(), 1e300), 1.0).to_f64().copysign(x)
    }
}

impl UnaryFunction<f32> for Atan {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        (atan_ratio_for_f32(f64::from(x).abs(), 1.0) as f32).copysign(x)
    }
}

/// Angle of the point (x, y) from the x axis; the first argument is y.
///
/// ```
/// use unishape_vecmath::{Atan2, BinaryFunction};
///
/// assert_eq!(Atan2::eval(1.0_f64, 1.0), std::f64::consts::FRAC_PI_4);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Atan2;

/// Whether quotients of such numbers neither overflow nor underflow.
#[inline(always)]
fn is_moderate(x: f64) -> bool {
    let x = x.abs();
    (x < 1e140 && x > 1e-140) || x == 0.0
}

/// atan2 as a double-double, for complex powers.
#[inline(always)]
pub(crate) fn atan2_dd(y: f64, x: f64) -> DoubleDouble {
    if !(is_moderate(y) && is_moderate(x)) {
        return DoubleDouble::new(<Atan2 as BinaryFunction<f64>>::fallback(y, x), 0.0);
    }
    let right = atan_ratio(y.abs(), x.abs()).normalized();
    let left = DoubleDouble::fast_two_sum(PI, -right.high).plus_low(PI_LOW - right.low).normalized();
    let angle = if x.is_sign_negative() { left } else { right };
    if y.is_sign_negative() { angle.scaled(-1.0) } else { angle }
}

impl BinaryFunction<f64> for Atan2 {
    #[inline(always)]
    fn fast(y: f64, x: f64) -> f64 {
        let right = atan_ratio(y.abs(), x.abs());
        let left = DoubleDouble::fast_two_sum(PI, -right.high).plus_low(PI_LOW - right.low);
        (if x.is_sign_negative() { left.to_f64() } else { right.to_f64() }).copysign(y)
    }

    #[inline(always)]
    fn is_fast(y: f64, x: f64) -> bool {
        is_moderate(y) && is_moderate(x)
    }

    #[inline]
    fn fallback(y: f64, x: f64) -> f64 {
        if x.is_nan() || y.is_nan() {
            return f64::NAN;
        }
        let unit = |v: f64| (if v.is_infinite() { 1.0_f64 } else { 0.0 }).copysign(v);
        if x.is_infinite() || y.is_infinite() {
            return Self::fast(unit(y), unit(x));
        }
        // If |x| and |y| differ in size by more than 1e30, the result is a multiple of π/2, or y / x.
        let tangent = y.abs() / x.abs();
        if tangent > 1e30 {
            return FRAC_PI_2.copysign(y);
        }
        if tangent < 1e-30 {
            return if x > 0.0 { y / x } else { PI.copysign(y) };
        }
        let factor = if x.abs() > 1.0 { 2f64.powi(-600) } else { 2f64.powi(600) };
        Self::fast(y * factor, x * factor)
    }
}

impl BinaryFunction<f32> for Atan2 {
    #[inline(always)]
    fn fast(y: f32, x: f32) -> f32 {
        let right = atan_ratio_for_f32(f64::from(y).abs(), f64::from(x).abs());
        let angle = if x.is_sign_negative() { PI - right } else { right };
        (angle as f32).copysign(y)
    }

    #[inline(always)]
    fn is_fast(y: f32, x: f32) -> bool {
        y.abs() < f32::INFINITY && x.abs() < f32::INFINITY
    }

    #[inline]
    fn fallback(y: f32, x: f32) -> f32 {
        <Atan2 as BinaryFunction<f64>>::fallback(f64::from(y), f64::from(x)) as f32
    }
}
