//! x^y = e^(y · ln x), with ln x as a double-double: its error is multiplied by up to 745.

use crate::BinaryFunction;
use crate::double_double::{DoubleDouble, at_least, at_most, scale};
use crate::exp::{ExpParts, exp_for_f32};
use crate::log::{log_extended, log2_for_f32};

/// x<sup>y</sup>.
///
/// ```
/// use unishape_vecmath::{BinaryFunction, Pow};
///
/// assert_eq!(Pow::eval(2.0_f64, 10.0), 1024.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pow;

/// x^y from |x|^y: NaN if x is negative and y is not an integer.
#[inline(always)]
fn with_sign(x: f64, y: f64, power: f64) -> f64 {
    let half = 0.5 * y;
    let odd = half.floor() != half;
    let negative = if odd { -power } else { power };
    let negative = if y.floor() == y { negative } else { f64::NAN };
    if x < 0.0 { negative } else { power }
}

impl BinaryFunction<f64> for Pow {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        let log = log_extended(x.abs());
        let high = y * log.high;
        let low = y.mul_add(log.high, -high) + y * log.low;
        // Beyond this the result is 0 or infinity, and the low part may be NaN.
        let beyond = high.abs() > 760.0;
        let exponent =
            DoubleDouble::new(at_most(at_least(high, -760.0), 760.0), if beyond { 0.0 } else { low });
        let parts = ExpParts::of(exponent);
        with_sign(x, y, scale(parts.mantissa().to_f64(), parts.k))
    }

    #[inline(always)]
    fn is_fast(x: f64, y: f64) -> bool {
        let size = x.abs();
        (f64::MIN_POSITIVE..f64::INFINITY).contains(&size) && y.abs() < f64::INFINITY
    }

    #[inline]
    fn fallback(x: f64, y: f64) -> f64 {
        libm::pow(x, y)
    }
}

impl BinaryFunction<f32> for Pow {
    #[inline(always)]
    fn fast(x: f32, y: f32) -> f32 {
        let (x, y) = (f64::from(x), f64::from(y));
        let exponent = y * log2_for_f32(x.abs()) * std::f64::consts::LN_2;
        with_sign(x, y, exp_for_f32(at_most(at_least(exponent, -105.0), 90.0))) as f32
    }

    #[inline(always)]
    fn is_fast(x: f32, y: f32) -> bool {
        let size = x.abs();
        size > 0.0 && size < f32::INFINITY && y.abs() < f32::INFINITY
    }

    #[inline]
    fn fallback(x: f32, y: f32) -> f32 {
        libm::pow(f64::from(x), f64::from(y)) as f32
    }
}
