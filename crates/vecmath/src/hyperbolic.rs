//! Hyperbolic functions and their inverses, from e^x - 1 and ln(1 + x).

use crate::UnaryFunction;
use crate::double_double::{DoubleDouble, at_most, power_of_two};
use crate::exp::{ExpParts, exp_for_f32, expm1_for_f32, quarter_expm1};
use crate::log::{log_of_sum_dd, log1p_dd, log1p_for_f32};

/// Below this, sinh x, tanh x and their inverses are x.
const TINY: f64 = 1e-10;

/// Hyperbolic sine.
///
/// ```
/// use unishape_vecmath::{Sinh, UnaryFunction};
///
/// assert_eq!(Sinh::eval(0.0_f64), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sinh;

impl UnaryFunction<f64> for Sinh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // (t + t / (1 + t)) / 2 with t = e^|x| - 1, computed from t / 4.
        let t = quarter_expm1(at_most(x.abs(), 710.5)).normalized();
        let denominator = DoubleDouble::two_sum(0.25, t.high).plus_low(t.low);
        let q = t.divided_by(denominator).scaled(0.25);
        let result = 2.0 * DoubleDouble::fast_two_sum(t.high, q.high).plus_low(t.low + q.low).to_f64();
        if x.abs() < TINY { x } else { result.copysign(x) }
    }
}

impl UnaryFunction<f32> for Sinh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let t = expm1_for_f32(at_most(f64::from(x).abs(), 91.0));
        let result = (0.5 * (t + t / (1.0 + t))) as f32;
        if x.abs() < 1e-5 { x } else { result.copysign(x) }
    }
}

/// Hyperbolic cosine.
///
/// ```
/// use unishape_vecmath::{Cosh, UnaryFunction};
///
/// assert_eq!(Cosh::eval(0.0_f64), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cosh;

impl UnaryFunction<f64> for Cosh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let parts = ExpParts::of(DoubleDouble::new(at_most(x.abs(), 710.5), 0.0));
        let quarter = parts.mantissa().normalized().scaled(power_of_two(parts.k - 2.0));
        let inverse = DoubleDouble::new(0.0625, 0.0).divided_by(quarter);
        let sum = DoubleDouble::two_sum(quarter.high, inverse.high);
        2.0 * sum.plus_low(quarter.low + inverse.low).to_f64()
    }
}

impl UnaryFunction<f32> for Cosh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let e = exp_for_f32(at_most(f64::from(x).abs(), 91.0));
        (0.5 * (e + 1.0 / e)) as f32
    }
}

/// Hyperbolic tangent.
///
/// ```
/// use unishape_vecmath::{Tanh, UnaryFunction};
///
/// assert_eq!(Tanh::eval(f64::INFINITY), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tanh;

impl UnaryFunction<f64> for Tanh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // t / (2 + t) with t = e^2|x| - 1; 1 from 22 on.
        let t = quarter_expm1(2.0 * at_most(x.abs(), 22.0)).normalized();
        let result = t.divided_by(DoubleDouble::two_sum(0.5, t.high).plus_low(t.low)).to_f64();
        if x.abs() < TINY { x } else { result.copysign(x) }
    }
}

/// Above this, √(x² ± 1) is x, so asinh x and acosh x are ln 2x.
const HUGE: f64 = 1e10;

/// Inverse hyperbolic sine.
///
/// ```
/// use unishape_vecmath::{Asinh, UnaryFunction};
///
/// assert_eq!(Asinh::eval(0.0_f64), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Asinh;

impl UnaryFunction<f64> for Asinh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // ln(1 + v) with v = |x| + x² / (1 + √(1 + x²)), which does not cancel.
        let size = x.abs();
        let huge = size > HUGE;
        let moderate = if huge { 1.0 } else { size };
        let square = DoubleDouble::two_product(moderate, moderate);
        let root = DoubleDouble::two_sum(1.0, square.high).plus_low(square.low).sqrt();
        let denominator = DoubleDouble::fast_two_sum(root.high, 1.0).plus_low(root.low);
        let q = square.divided_by(denominator);
        let v = DoubleDouble::fast_two_sum(moderate, q.high).plus_low(q.low);
        let result = log1p_or_log2x(huge, size, v);
        if size > TINY && size < f64::INFINITY { result.copysign(x) } else { x }
    }
}

/// ln(1 + v), or ln 2x if x is huge.
#[inline(always)]
fn log1p_or_log2x(huge: bool, x: f64, v: DoubleDouble) -> f64 {
    let sum = DoubleDouble::two_sum(1.0, v.high);
    let sum = DoubleDouble::new(if huge { x } else { sum.high }, if huge { 0.0 } else { sum.low });
    let small = if huge { 0.0 } else { v.low };
    log_of_sum_dd(sum, small, if huge { 1.0 } else { 0.0 }).to_f64()
}

impl UnaryFunction<f32> for Asinh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let size = f64::from(x).abs();
        let square = size * size;
        let result = log1p_for_f32(size + square / (1.0 + (1.0 + square).sqrt())) as f32;
        if size > 1e-5 && size < f64::INFINITY { result.copysign(x) } else { x }
    }
}

/// Inverse hyperbolic cosine.
///
/// ```
/// use unishape_vecmath::{Acosh, UnaryFunction};
///
/// assert_eq!(Acosh::eval(1.0_f64), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Acosh;

/// The result of acosh, or its value for infinity, NaN and x < 1.
#[inline(always)]
fn acosh_special_cases(x: f64, result: f64) -> f64 {
    let special = if x < 1.0 { f64::NAN } else { x };
    if (1.0..f64::INFINITY).contains(&x) { result } else { special }
}

impl UnaryFunction<f64> for Acosh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // ln(1 + v) with v = t + √(t·(x + 1)) and t = x - 1, which is exact.
        let huge = x > HUGE;
        let moderate = if huge { 1.0 } else { x };
        let t = moderate - 1.0;
        let root = DoubleDouble::new(t, 0.0).times(DoubleDouble::two_sum(moderate, 1.0)).sqrt();
        let v = DoubleDouble::two_sum(root.high, t).plus_low(root.low);
        acosh_special_cases(x, log1p_or_log2x(huge, x, v))
    }
}

impl UnaryFunction<f32> for Acosh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let t = x - 1.0;
        acosh_special_cases(x, log1p_for_f32(t + (t * (x + 1.0)).sqrt())) as f32
    }
}

/// Inverse hyperbolic tangent.
///
/// ```
/// use unishape_vecmath::{Atanh, UnaryFunction};
///
/// assert_eq!(Atanh::eval(1.0_f64), f64::INFINITY);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Atanh;

/// The result of atanh, or its value for tiny x, |x| >= 1 and NaN.
#[inline(always)]
fn atanh_special_cases(x: f64, tiny: f64, result: f64) -> f64 {
    let size = x.abs();
    let special = if size > 1.0 { f64::NAN } else { x };
    let special = if size == 1.0 { f64::INFINITY.copysign(x) } else { special };
    if size > tiny && size < 1.0 { result.copysign(x) } else { special }
}

impl UnaryFunction<f64> for Atanh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // ln(1 + v) / 2 with v = 2|x| / (1 - |x|).
        let v = DoubleDouble::new(2.0 * x.abs(), 0.0).divided_by(DoubleDouble::fast_two_sum(1.0, -x.abs()));
        atanh_special_cases(x, TINY, 0.5 * log1p_dd(v.normalized()).to_f64())
    }
}

impl UnaryFunction<f32> for Atanh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        atanh_special_cases(x, 1e-5, 0.5 * log1p_for_f32(2.0 * x.abs() / (1.0 - x.abs()))) as f32
    }
}
