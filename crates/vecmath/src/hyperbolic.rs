//! Hyperbolic functions and their inverses, from e^x - 1 and ln(1 + x).

use crate::UnaryFunction;
use crate::exp::{Parts, exp_short, expm1_short, quarter_expm1};
use crate::log::{log_of_sum_pair, log1p_pair, log1p_short};
use crate::pair::{Pair, at_most, power_of_two};

/// Below this sinh, tanh and their inverses give back what they get.
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
        // With t = e^|x| - 1 it is (t + t / (1 + t)) / 2, and all of that is computed of t / 4.
        let t = quarter_expm1(at_most(x.abs(), 710.5)).settled();
        let below = Pair::of_sum(0.25, t.high).plus_small(t.low);
        let q = t.over(below).scaled(0.25);
        let far = 2.0 * Pair::of_ordered_sum(t.high, q.high).plus_small(t.low + q.low).rounded();
        if x.abs() < TINY { x } else { far.copysign(x) }
    }
}

impl UnaryFunction<f32> for Sinh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let t = expm1_short(at_most(f64::from(x).abs(), 91.0));
        let far = (0.5 * (t + t / (1.0 + t))) as f32;
        if x.abs() < 1e-5 { x } else { far.copysign(x) }
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
        let parts = Parts::of(Pair::new(at_most(x.abs(), 710.5), 0.0));
        let quarter = parts.mantissa().settled().scaled(power_of_two(parts.k - 2.0));
        let inverse = Pair::new(0.0625, 0.0).over(quarter);
        let sum = Pair::of_sum(quarter.high, inverse.high);
        2.0 * sum.plus_small(quarter.low + inverse.low).rounded()
    }
}

impl UnaryFunction<f32> for Cosh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let e = exp_short(at_most(f64::from(x).abs(), 91.0));
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
        // With t = e^2|x| - 1 it is t / (2 + t). From 22 on it is 1.
        let t = quarter_expm1(2.0 * at_most(x.abs(), 22.0)).settled();
        let far = t.over(Pair::of_sum(0.5, t.high).plus_small(t.low)).rounded();
        if x.abs() < TINY { x } else { far.copysign(x) }
    }
}

/// From here on √(x² ± 1) is x: asinh and acosh are ln 2x.
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
        // ln(1 + v) with v = |x| + x² / (1 + √(1 + x²)), which has no cancellation.
        let size = x.abs();
        let huge = size > HUGE;
        let moderate = if huge { 1.0 } else { size };
        let square = Pair::of_product(moderate, moderate);
        let root = Pair::of_sum(1.0, square.high).plus_small(square.low).root();
        let below = Pair::of_ordered_sum(root.high, 1.0).plus_small(root.low);
        let q = square.over(below);
        let v = Pair::of_ordered_sum(moderate, q.high).plus_small(q.low);
        let far = log1p_or_log2x(huge, size, v);
        if size > TINY && size < f64::INFINITY { far.copysign(x) } else { x }
    }
}

/// ln(1 + v), or ln 2x where x is huge.
#[inline(always)]
fn log1p_or_log2x(huge: bool, x: f64, v: Pair) -> f64 {
    let sum = Pair::of_sum(1.0, v.high);
    let sum = Pair::new(if huge { x } else { sum.high }, if huge { 0.0 } else { sum.low });
    let small = if huge { 0.0 } else { v.low };
    log_of_sum_pair(sum, small, if huge { 1.0 } else { 0.0 }).rounded()
}

impl UnaryFunction<f32> for Asinh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let size = f64::from(x).abs();
        let square = size * size;
        let far = log1p_short(size + square / (1.0 + (1.0 + square).sqrt())) as f32;
        if size > 1e-5 && size < f64::INFINITY { far.copysign(x) } else { x }
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

/// What acosh answers to infinity, NaN and what is below 1.
#[inline(always)]
fn finish_acosh(x: f64, result: f64) -> f64 {
    let odd = if x < 1.0 { f64::NAN } else { x };
    if (1.0..f64::INFINITY).contains(&x) { result } else { odd }
}

impl UnaryFunction<f64> for Acosh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // ln(1 + v) with v = t + √(t·(x + 1)) and t = x - 1, which is exact.
        let huge = x > HUGE;
        let moderate = if huge { 1.0 } else { x };
        let t = moderate - 1.0;
        let root = Pair::new(t, 0.0).times(Pair::of_sum(moderate, 1.0)).root();
        let v = Pair::of_sum(root.high, t).plus_small(root.low);
        finish_acosh(x, log1p_or_log2x(huge, x, v))
    }
}

impl UnaryFunction<f32> for Acosh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        let t = x - 1.0;
        finish_acosh(x, log1p_short(t + (t * (x + 1.0)).sqrt())) as f32
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

/// What atanh answers to -1, 1, NaN and what is beyond.
#[inline(always)]
fn finish_atanh(x: f64, tiny: f64, result: f64) -> f64 {
    let size = x.abs();
    let odd = if size > 1.0 { f64::NAN } else { x };
    let odd = if size == 1.0 { f64::INFINITY.copysign(x) } else { odd };
    if size > tiny && size < 1.0 { result.copysign(x) } else { odd }
}

impl UnaryFunction<f64> for Atanh {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // ln(1 + v) / 2 with v = 2|x| / (1 - |x|).
        let v = Pair::new(2.0 * x.abs(), 0.0).over(Pair::of_ordered_sum(1.0, -x.abs()));
        finish_atanh(x, TINY, 0.5 * log1p_pair(v.settled()).rounded())
    }
}

impl UnaryFunction<f32> for Atanh {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let x = f64::from(x);
        finish_atanh(x, 1e-5, 0.5 * log1p_short(2.0 * x.abs() / (1.0 - x.abs()))) as f32
    }
}
