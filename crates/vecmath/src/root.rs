//! Cube root and hypotenuse.

use crate::double_double::{DoubleDouble, ROUND_SHIFT, polynomial, power_of_two};
use crate::{BinaryFunction, UnaryFunction};

// 1 / ∛m for m between 1/2 and 1; error: 2^-14.7. The start of a Newton iteration.
const CBRT: [f64; 5] =
    [2.104094645420864, -2.955518357248288, 3.504990582602743, -2.22981586140128, 0.5762863147509117];

/// 1 / ∛2 and 1 / ∛4.
const INVERSE_CBRT_2: f64 = 0.7937005259840998;
const INVERSE_CBRT_4: f64 = 0.6299605249474366;

/// Cube root.
///
/// ```
/// use unishape_vecmath::{Cbrt, UnaryFunction};
///
/// assert_eq!(Cbrt::eval(-27.0_f64), -3.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cbrt;

/// m, 1 / ∛m to about 27 bits, and t, for a positive normal number m·8^t with m between 1/2 and 4.
#[inline(always)]
fn cbrt_parts(x: f64) -> (f64, f64, f64) {
    let bits = x.to_bits();
    // The exponent as a number, as in `frexp_normal` of `log`.
    let exponent = f64::from_bits((bits >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1022.0);
    let m = f64::from_bits((bits & 0x000fffffffffffff) | 0x3fe0000000000000);
    let t = (exponent - 1.0).mul_add(1.0 / 3.0, ROUND_SHIFT) - ROUND_SHIFT;
    let rest = (-3.0_f64).mul_add(t, exponent);
    let (one, two) = (rest == 1.0, rest == 2.0);
    let factor = if two { 4.0 } else { 1.0 };
    let factor = if one { 2.0 } else { factor };
    let inverse = if two { INVERSE_CBRT_4 } else { 1.0 };
    let inverse = if one { INVERSE_CBRT_2 } else { inverse };
    let m_scaled = m * factor;
    (m_scaled, newton(m_scaled, polynomial(m, &CBRT) * inverse), t)
}

/// One Newton step for 1 / ∛m: doubles the number of correct bits.
#[inline(always)]
fn newton(m: f64, y: f64) -> f64 {
    let off = (-m * y).mul_add(y * y, 1.0);
    (y * off).mul_add(1.0 / 3.0, y)
}

impl UnaryFunction<f64> for Cbrt {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let size = x.abs();
        let small = size < f64::MIN_POSITIVE;
        let (m, y, t) = cbrt_parts(if small { size * 18014398509481984.0 } else { size });
        let y = newton(m, y);
        let square = y * y;
        let root = m * square;
        // One more Newton step, with the error of root³ in double-double precision.
        let root_square = DoubleDouble::two_product(root, root);
        let off = root_square.low.mul_add(root, root_square.high.mul_add(root, -m));
        let root = (off * square).mul_add(-1.0 / 3.0, root);
        let result = root * power_of_two(if small { t - 18.0 } else { t });
        if size > 0.0 && size < f64::INFINITY { result.copysign(x) } else { x }
    }
}

impl UnaryFunction<f32> for Cbrt {
    #[inline(always)]
    fn fast(x: f32) -> f32 {
        let size = f64::from(x).abs();
        let (m, y, t) = cbrt_parts(size);
        let y = newton(m, y);
        let result = (m * y * y * power_of_two(t)) as f32;
        if size > 0.0 && size < f64::INFINITY { result.copysign(x) } else { x }
    }
}

/// √(x² + y²), without overflow in between.
///
/// ```
/// use unishape_vecmath::{BinaryFunction, Hypot};
///
/// assert_eq!(Hypot::eval(f64::MAX, 0.0), f64::MAX);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hypot;

impl BinaryFunction<f64> for Hypot {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> f64 {
        let (x, y) = (x.abs(), y.abs());
        let larger = if x > y { x } else { y };
        // Scaled by 2^±600 where squares overflow or underflow, and back.
        let (huge, tiny) = (larger > 1e150, larger < 1e-140);
        let factor = if tiny { 4.149515568880993e180 } else { 1.0 };
        let factor = if huge { 2.409919865102884e-181 } else { factor };
        let back = if tiny { 2.409919865102884e-181 } else { 1.0 };
        let back = if huge { 4.149515568880993e180 } else { back };
        let (square, other) = {
            let (x, y) = (x * factor, y * factor);
            (DoubleDouble::two_product(x, x), DoubleDouble::two_product(y, y))
        };
        let sum = DoubleDouble::two_sum(square.high, other.high).plus_low(square.low + other.low);
        let result = sum.sqrt().to_f64() * back;
        // Infinity, even if the other argument is NaN.
        if x == f64::INFINITY || y == f64::INFINITY { f64::INFINITY } else { result }
    }
}

impl BinaryFunction<f32> for Hypot {
    #[inline(always)]
    fn fast(x: f32, y: f32) -> f32 {
        let (a, b) = (f64::from(x), f64::from(y));
        let result = a.mul_add(a, b * b).sqrt() as f32;
        if x.abs() == f32::INFINITY || y.abs() == f32::INFINITY { f32::INFINITY } else { result }
    }
}
