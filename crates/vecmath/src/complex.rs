//! Functions of complex numbers, composed of the real ones.
//!
//! Finite numbers use formulas that are accurate near branch cuts, mostly Kahan's ("Branch cuts for complex
//! elementary functions", 1987), and others where squares overflow. For infinities and NaN, fallbacks follow
//! the tables of the array API standard, which are those of C's Annex G.
//!
//! `Complex<f32>` is computed as `Complex<f64>` and rounded once.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10};

use num_complex::Complex;

use crate::double_double::{DoubleDouble, at_most, scale};
use crate::exp::{ExpParts, LN_2_LOW};
use crate::log::{log_of_sum_dd, log1p_dd};
use crate::{
    Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, BinaryFunction, Cos, Cosh, Exp, Exp2, Expm1, Hypot, Log,
    Log1p, Log2, Log10, Pow, Sin, Sinh, Tan, Tanh, UnaryFunction,
};

type C = Complex<f64>;

/// Square root of a complex number.
///
/// ```
/// use num_complex::Complex;
/// use unishape_vecmath::{UnaryFunction, complex::Sqrt};
///
/// assert_eq!(Sqrt::eval(Complex::new(-4.0_f64, 0.0)), Complex::new(0.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sqrt;

/// z / |z|; 0 for 0.
///
/// ```
/// use num_complex::Complex;
/// use unishape_vecmath::{UnaryFunction, complex::Sign};
///
/// assert_eq!(Sign::eval(Complex::new(0.0_f64, -2.0)), Complex::new(0.0, -1.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sign;

const NAN: C = C::new(f64::NAN, f64::NAN);

/// Above this, squares overflow; simpler formulas are accurate there.
const HUGE: f64 = 1e150;

const TWO_TO_600: f64 = 4.149515568880993e180;
const TWO_TO_MINUS_600: f64 = 2.409919865102884e-181;

/// A function of a real number. Unlike `eval`, always inlined.
#[inline(always)]
fn real<F: UnaryFunction<f64>>(x: f64) -> f64 {
    if F::is_fast(x) { F::fast(x) } else { F::fallback(x) }
}

/// A function of two real numbers. Unlike `eval`, always inlined.
#[inline(always)]
fn real2<F: BinaryFunction<f64>>(x: f64, y: f64) -> f64 {
    if F::is_fast(x, y) { F::fast(x, y) } else { F::fallback(x, y) }
}

#[inline(always)]
fn atan2(y: f64, x: f64) -> f64 {
    real2::<Atan2>(y, x)
}

/// i·z.
#[inline(always)]
fn times_i(z: C) -> C {
    C::new(-z.im, z.re)
}

/// -i·z.
#[inline(always)]
fn times_minus_i(z: C) -> C {
    C::new(z.im, -z.re)
}

#[inline(always)]
fn is_finite(z: C) -> bool {
    z.re.abs() < f64::INFINITY && z.im.abs() < f64::INFINITY
}

#[inline(always)]
fn is_huge(z: C) -> bool {
    z.re.abs() > HUGE || z.im.abs() > HUGE
}

/// e^x · factor, also where e^x alone overflows or underflows.
#[inline(always)]
fn exp_times(x: DoubleDouble, factor: C) -> C {
    let high = at_most(x.high.abs(), 1400.0).copysign(x.high);
    let parts = ExpParts::of(DoubleDouble::new(high, if high == x.high { x.low } else { 0.0 }));
    let mantissa = parts.mantissa().to_f64();
    C::new(scale(mantissa * factor.re, parts.k), scale(mantissa * factor.im, parts.k))
}

/// cos y + i·sin y.
#[inline(always)]
fn cis(y: f64) -> C {
    C::new(real::<Cos>(y), real::<Sin>(y))
}

/// |z|, without overflow in between.
///
/// ```
/// use num_complex::Complex;
///
/// assert_eq!(unishape_vecmath::complex::abs(Complex::new(3.0, 4.0)), 5.0);
/// ```
#[inline(always)]
pub fn abs(z: C) -> f64 {
    real2::<Hypot>(z.re, z.im)
}

/// |z|, without overflow in between.
///
/// ```
/// use num_complex::Complex;
///
/// assert_eq!(unishape_vecmath::complex::abs_f32(Complex::new(3.0, 4.0)), 5.0);
/// ```
#[inline(always)]
pub fn abs_f32(z: Complex<f32>) -> f32 {
    <Hypot as BinaryFunction<f32>>::fast(z.re, z.im)
}

#[inline(always)]
fn exp(z: C) -> C {
    exp_times(DoubleDouble::new(z.re, 0.0), cis(z.im))
}

fn exp_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    let factor = cis(y);
    if x.is_nan() && y == 0.0 {
        z
    } else if x == f64::INFINITY {
        if y == 0.0 { z } else { C::new(if y.is_finite() { x * factor.re } else { x }, x * factor.im) }
    } else if x == f64::NEG_INFINITY {
        if y.is_finite() { C::new(0.0 * factor.re, 0.0 * factor.im) } else { C::new(0.0, 0.0) }
    } else {
        NAN
    }
}

/// e^(z·ln 2), where the product has 106 bits: its imaginary part may be large.
#[inline(always)]
fn exp2(z: C) -> C {
    let times_ln_2 = |x: f64| DoubleDouble::new(x, 0.0).times(DoubleDouble::new(LN_2, LN_2_LOW)).normalized();
    let (sine, cosine) = crate::trig::sin_cos_dd(times_ln_2(z.im));
    // Keeps -0.
    let sine = if z.im == 0.0 { z.im } else { sine };
    exp_times(times_ln_2(z.re), C::new(cosine, sine))
}

#[inline(always)]
fn expm1(z: C) -> C {
    // e^x·cos y - 1 = (e^x - 1)·cos y - 2·sin²(y/2)
    let factor = cis(z.im);
    let half = real::<Sin>(0.5 * z.im);
    let re = real::<Expm1>(z.re).mul_add(factor.re, -2.0 * half * half);
    let whole = exp_times(DoubleDouble::new(z.re, 0.0), factor);
    C::new(if z.re > 40.0 { whole.re } else { re }, whole.im)
}

fn expm1_nonfinite(z: C) -> C {
    let exp = exp_nonfinite(z);
    C::new(exp.re - 1.0, exp.im)
}

/// ln |z| and the angle of z.
#[inline(always)]
fn log(z: C) -> C {
    C::new(log_abs(z).to_f64(), atan2(z.im, z.re))
}

/// ln |z|, accurate also where |z| is near 1.
#[inline(always)]
fn log_abs(z: C) -> DoubleDouble {
    let (x, y) = (z.re.abs(), z.im.abs());
    let larger = if x > y { x } else { y };
    // Scaled by 2^±600, as in `Hypot`; `back` is the exponent of the inverse scale of the square.
    let (huge, tiny) = (larger > HUGE, larger < 1e-140);
    let factor = if tiny { TWO_TO_600 } else { 1.0 };
    let factor = if huge { TWO_TO_MINUS_600 } else { factor };
    let back = if tiny { -1200.0 } else { 0.0 };
    let back = if huge { 1200.0 } else { back };
    let (x, y) = (
        DoubleDouble::two_product(x * factor, x * factor),
        DoubleDouble::two_product(y * factor, y * factor),
    );
    let sum = DoubleDouble::two_sum(x.high, y.high);
    let low = DoubleDouble::two_sum(x.low, y.low);
    let sum = DoubleDouble::two_sum(sum.high, sum.low + low.high);
    let log = log_of_sum_dd(sum, low.low, back).normalized().scaled(0.5);
    if larger == 0.0 { DoubleDouble::new(f64::NEG_INFINITY, 0.0) } else { log }
}

fn log_nonfinite(z: C) -> C {
    let infinite = z.re.is_infinite() || z.im.is_infinite();
    C::new(if infinite { f64::INFINITY } else { f64::NAN }, atan2(z.im, z.re))
}

#[inline(always)]
fn log1p(z: C) -> C {
    // |1 + z|² = 1 + (2x + x² + y²), where the parenthesis may be tiny.
    let C { re: x, im: y } = z;
    let (square, other) = (DoubleDouble::two_product(x, x), DoubleDouble::two_product(y, y));
    let sum = DoubleDouble::two_sum(2.0 * x, square.high);
    let more = DoubleDouble::two_sum(sum.high, other.high);
    let low = DoubleDouble::two_sum(more.high, sum.low + more.low + square.low + other.low);
    // If |z| is tiny, the squares underflow, and the real part is x. If z is -1, it is ln 0.
    let near = 0.5 * log1p_dd(low).to_f64();
    let far = log_abs(C::new(1.0 + x, y)).to_f64();
    let tiny = x.abs() < 1e-150 && y.abs() < 1e-150;
    let re = if low.high > -0.5 && low.high < 1e10 { near } else { far };
    C::new(if tiny { x } else { re }, atan2(y, 1.0 + x))
}

#[inline(always)]
fn divided_by_real(z: C, divisor: f64) -> C {
    C::new(z.re / divisor, z.im / divisor)
}

#[inline(always)]
fn sqrt(z: C) -> C {
    // Scaled by a power of four where |z| overflows or is subnormal.
    let larger = if z.re.abs() > z.im.abs() { z.re.abs() } else { z.im.abs() };
    let (huge, tiny) = (larger > 1e300, larger < 1e-290);
    let factor = if huge { 0.0625 } else { 1.0 };
    let factor = if tiny { 3.2451855365842673e32 } else { factor };
    let back = if huge { 4.0 } else { 1.0 };
    let back = if tiny { 5.551115123125783e-17 } else { back };
    let C { re: x, im: y } = z * factor;
    let root = (0.5 * (x.abs() + real2::<Hypot>(x, y))).sqrt();
    let other = if root == 0.0 { 0.0 } else { 0.5 * y.abs() / root };
    let (re, im) = if x < 0.0 { (other, root) } else { (root, other) };
    C::new(re * back, (im * back).copysign(y))
}

fn sqrt_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if y.is_infinite() {
        C::new(f64::INFINITY, y)
    } else if x == f64::INFINITY {
        C::new(x, if y.is_nan() { y } else { 0f64.copysign(y) })
    } else if x == f64::NEG_INFINITY {
        C::new(if y.is_nan() { y } else { 0.0 }, f64::INFINITY.copysign(y))
    } else {
        NAN
    }
}

#[inline(always)]
fn sinh(z: C) -> C {
    let factor = cis(z.im);
    let C { re: x, .. } = z;
    if x.abs() > 700.0 {
        // sinh |x| and cosh x are e^|x| / 2.
        let half = C::new(0.5f64.copysign(x) * factor.re, 0.5 * factor.im);
        return exp_times(DoubleDouble::new(x.abs(), 0.0), half);
    }
    C::new(real::<Sinh>(x) * factor.re, real::<Cosh>(x) * factor.im)
}

fn sinh_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if x == 0.0 {
        C::new(x, f64::NAN)
    } else if x.is_infinite() {
        let factor = cis(y);
        if y == 0.0 {
            z
        } else if y.is_finite() {
            C::new(x * factor.re, f64::INFINITY * factor.im)
        } else {
            C::new(x, f64::NAN)
        }
    } else if y == 0.0 {
        z
    } else {
        NAN
    }
}

#[inline(always)]
fn cosh(z: C) -> C {
    let factor = cis(z.im);
    let C { re: x, .. } = z;
    if x.abs() > 700.0 {
        let half = C::new(0.5 * factor.re, 0.5f64.copysign(x) * factor.im);
        return exp_times(DoubleDouble::new(x.abs(), 0.0), half);
    }
    C::new(real::<Cosh>(x) * factor.re, real::<Sinh>(x) * factor.im)
}

fn cosh_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if x == 0.0 {
        C::new(f64::NAN, 0f64.copysign(y))
    } else if x.is_infinite() {
        let factor = cis(y);
        if y == 0.0 {
            C::new(f64::INFINITY, 1f64.copysign(x) * y)
        } else if y.is_finite() {
            C::new(f64::INFINITY * factor.re, x * factor.im)
        } else {
            C::new(f64::INFINITY, f64::NAN)
        }
    } else if y == 0.0 {
        z
    } else {
        NAN
    }
}

#[inline(always)]
fn tanh(z: C) -> C {
    let C { re: x, im: y } = z;
    let size = x.abs();
    if size > 22.0 {
        let factor = cis(y);
        let e = real::<Exp>(-2.0 * at_most(size, 1000.0));
        return C::new(1f64.copysign(x), 4.0 * factor.re * factor.im * e);
    }
    let t = real::<Tan>(y);
    let s = real::<Sinh>(x);
    let beta = t.mul_add(t, 1.0);
    let rho = s.mul_add(s, 1.0).sqrt();
    let denominator = (beta * s).mul_add(s, 1.0);
    C::new(beta * rho * s / denominator, t / denominator)
}

fn tanh_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_infinite() {
        C::new(1f64.copysign(x), 0f64.copysign(y))
    } else if x == 0.0 {
        C::new(x, f64::NAN)
    } else if y == 0.0 {
        z
    } else {
        NAN
    }
}

#[inline(always)]
fn asinh(z: C) -> C {
    times_minus_i(asin(times_i(z)))
}

fn asinh_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() || y.is_nan() {
        if x.is_infinite() {
            C::new(x, f64::NAN)
        } else if y.is_infinite() {
            C::new(f64::INFINITY, f64::NAN)
        } else if y == 0.0 {
            z
        } else {
            NAN
        }
    } else {
        C::new(f64::INFINITY.copysign(x), atan2(y, x.abs()))
    }
}

#[inline(always)]
fn asin(z: C) -> C {
    let C { re: x, im: y } = z;
    if is_huge(z) {
        return C::new(atan2(x, y.abs()), (log_abs(z).to_f64() + LN_2).copysign(y));
    }
    let (minus, plus) = (sqrt(C::new(1.0 - x, -y)), sqrt(C::new(1.0 + x, y)));
    let re = minus.re.mul_add(plus.re, -minus.im * plus.im);
    let im = minus.re.mul_add(plus.im, -minus.im * plus.re);
    C::new(atan2(x, re), real::<Asinh>(im))
}

#[inline(always)]
fn acos(z: C) -> C {
    let C { re: x, im: y } = z;
    if is_huge(z) {
        return C::new(atan2(y.abs(), x), (log_abs(z).to_f64() + LN_2).copysign(-y));
    }
    let (minus, plus) = (sqrt(C::new(1.0 - x, -y)), sqrt(C::new(1.0 + x, y)));
    let im = plus.re.mul_add(minus.im, -plus.im * minus.re);
    C::new(2.0 * atan2(minus.re, plus.re), real::<Asinh>(im))
}

fn acos_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if x == 0.0 && y.is_nan() {
        C::new(FRAC_PI_2, f64::NAN)
    } else if x.is_infinite() || y.is_infinite() {
        let im = f64::INFINITY.copysign(if y.is_nan() { -1.0 } else { -y });
        C::new(atan2(y.abs(), x), im)
    } else {
        NAN
    }
}

#[inline(always)]
fn acosh(z: C) -> C {
    let C { re: x, im: y } = z;
    if is_huge(z) {
        return C::new(log_abs(z).to_f64() + LN_2, atan2(y, x));
    }
    let (minus, plus) = (sqrt(C::new(x - 1.0, y)), sqrt(C::new(x + 1.0, y)));
    let re = minus.re.mul_add(plus.re, minus.im * plus.im);
    C::new(real::<Asinh>(re), 2.0 * atan2(minus.im, plus.re))
}

fn acosh_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    if x == 0.0 && y.is_nan() {
        C::new(f64::NAN, FRAC_PI_2)
    } else if x.is_infinite() || y.is_infinite() {
        C::new(f64::INFINITY, atan2(y, x))
    } else {
        NAN
    }
}

#[inline(always)]
fn atanh(z: C) -> C {
    let C { re: x, im: y } = z;
    let size = x.abs();
    if is_huge(z) {
        // 1 / z ± i·π/2.
        let scaled = z * TWO_TO_MINUS_600;
        let square = scaled.re.mul_add(scaled.re, scaled.im * scaled.im);
        return C::new(scaled.re / square * TWO_TO_MINUS_600, FRAC_PI_2.copysign(y));
    }
    let square = (1.0 - size).mul_add(1.0 - size, y * y);
    let re = if square > 1e-290 {
        0.25 * real::<Log1p>(4.0 * size / square)
    } else {
        // |1 - z|² underflows.
        0.5 * (LN_2 - log_abs(C::new(1.0 - size, y)).to_f64())
    };
    let im = 0.5 * atan2(2.0 * y, (1.0 - size).mul_add(1.0 + size, -y * y));
    C::new(re.copysign(x), im)
}

fn atanh_nonfinite(z: C) -> C {
    let C { re: x, im: y } = z;
    let zero = if x.is_nan() { 0.0 } else { 0f64.copysign(x) };
    if y.is_infinite() || x.is_infinite() && !y.is_nan() {
        C::new(zero, FRAC_PI_2.copysign(y))
    } else if x.is_infinite() || x == 0.0 {
        C::new(zero, f64::NAN)
    } else {
        NAN
    }
}

/// The direction of the only infinite part, if the other one is finite; else NaN.
fn sign_nonfinite(z: C) -> C {
    if z.re.is_nan() || z.im.is_nan() {
        return NAN;
    }
    match (z.re.is_infinite(), z.im.is_infinite()) {
        (true, false) => C::new(z.re.signum(), 0.0),
        (false, true) => C::new(0.0, z.im.signum()),
        _ => NAN,
    }
}

#[inline(always)]
fn sign(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return C::new(0.0, 0.0);
    }
    // Scaled so that |z| is a normal number.
    let larger = if z.re.abs() > z.im.abs() { z.re.abs() } else { z.im.abs() };
    let factor = if larger > HUGE { 1e-150 } else { 1.0 };
    let factor = if larger < 1e-150 { TWO_TO_600 } else { factor };
    let z = z * factor;
    divided_by_real(z, abs(z))
}

/// z^w.
#[inline(always)]
fn pow(z: C, w: C) -> C {
    if w.re == 0.0 && w.im == 0.0 {
        return C::new(1.0, 0.0);
    }
    if z.re == 0.0 && z.im == 0.0 {
        return if w.re > 0.0 { C::new(0.0, 0.0) } else { NAN };
    }
    if w.im == 0.0 && w.re.abs() <= 8.0 && w.re.floor() == w.re {
        return small_power(z, w.re);
    }
    // e^(w·ln z), in double-double arithmetic up to the last step, since w may be large.
    let log = log_abs(z).normalized();
    let angle = crate::inverse_trig::atan2_dd(z.im, z.re);
    let (u, v) = (DoubleDouble::new(w.re, 0.0), DoubleDouble::new(w.im, 0.0));
    let (re, minus) = (u.times(log), v.times(angle));
    let (im, plus) = (v.times(log), u.times(angle));
    let re = DoubleDouble::two_sum(re.high, -minus.high).plus_low(re.low - minus.low).normalized();
    let im = DoubleDouble::two_sum(im.high, plus.high).plus_low(im.low + plus.low).normalized();
    let (sine, cosine) = crate::trig::sin_cos_dd(im);
    exp_times(re, C::new(cosine, sine))
}

/// z^n for small integers, by squaring.
#[inline(always)]
fn small_power(z: C, n: f64) -> C {
    let (mut result, mut square) = (C::new(1.0, 0.0), z);
    let mut remaining = n.abs();
    while remaining > 0.0 {
        let half = (0.5 * remaining).floor();
        if remaining != 2.0 * half {
            result = if result == C::new(1.0, 0.0) { square } else { times(result, square) };
        }
        if half > 0.0 {
            square = times(square, square);
        }
        remaining = half;
    }
    if n < 0.0 { inverse(result) } else { result }
}

/// The product, in double-double arithmetic, so that it stays accurate where terms cancel.
#[inline(always)]
fn times(a: C, b: C) -> C {
    let part = |p: DoubleDouble, q: DoubleDouble| {
        DoubleDouble::two_sum(p.high, q.high).plus_low(p.low + q.low).to_f64()
    };
    let re = part(DoubleDouble::two_product(a.re, b.re), DoubleDouble::two_product(-a.im, b.im));
    let im = part(DoubleDouble::two_product(a.re, b.im), DoubleDouble::two_product(a.im, b.re));
    C::new(re, im)
}

/// 1 / z.
#[inline(always)]
fn inverse(z: C) -> C {
    let larger = if z.re.abs() > z.im.abs() { z.re.abs() } else { z.im.abs() };
    let factor = if larger > HUGE { 1e-200 } else { 1.0 };
    let factor = if larger < 1e-150 { TWO_TO_600 } else { factor };
    let z = z * factor;
    let square = z.re.mul_add(z.re, z.im * z.im);
    C::new(z.re / square * factor, -z.im / square * factor)
}

/// e^(w·ln z), as in C.
fn pow_nonfinite(z: C, w: C) -> C {
    if w.re == 0.0 && w.im == 0.0 {
        return C::new(1.0, 0.0);
    }
    let log = if is_finite(z) { log(z) } else { log_nonfinite(z) };
    let product = if w.im == 0.0 { C::new(log.re * w.re, log.im * w.re) } else { log * w };
    if is_finite(product) { exp(product) } else { exp_nonfinite(product) }
}

#[inline(always)]
fn log2(z: C) -> C {
    divided_by_real(log(z), LN_2)
}

#[inline(always)]
fn log10(z: C) -> C {
    divided_by_real(log(z), LN_10)
}

#[inline(always)]
fn sin(z: C) -> C {
    times_minus_i(sinh(times_i(z)))
}

#[inline(always)]
fn cos(z: C) -> C {
    cosh(times_i(z))
}

#[inline(always)]
fn tan(z: C) -> C {
    times_minus_i(tanh(times_i(z)))
}

#[inline(always)]
fn atan(z: C) -> C {
    times_minus_i(atanh(times_i(z)))
}

/// Implements a function from its formulas for finite and for other numbers.
macro_rules! complex_function {
    ($($name:ident: $finite:ident, $nonfinite:expr;)*) => { $(
        impl UnaryFunction<C> for $name {
            #[inline(always)]
            fn fast(z: C) -> C {
                $finite(z)
            }

            #[inline(always)]
            fn is_fast(z: C) -> bool {
                is_finite(z)
            }

            #[inline]
            fn fallback(z: C) -> C {
                $nonfinite(z)
            }
        }

        impl UnaryFunction<Complex<f32>> for $name {
            #[inline(always)]
            fn fast(z: Complex<f32>) -> Complex<f32> {
                to_complex64(<$name as UnaryFunction<C>>::fast(to_complex128(z)))
            }

            #[inline(always)]
            fn is_fast(z: Complex<f32>) -> bool {
                is_finite(to_complex128(z))
            }

            #[inline]
            fn fallback(z: Complex<f32>) -> Complex<f32> {
                to_complex64(<$name as UnaryFunction<C>>::fallback(to_complex128(z)))
            }
        }
    )* };
}

#[inline(always)]
fn to_complex128(z: Complex<f32>) -> C {
    C::new(f64::from(z.re), f64::from(z.im))
}

#[inline(always)]
fn to_complex64(z: C) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

complex_function! {
    Exp: exp, exp_nonfinite;
    Exp2: exp2, |z| exp_nonfinite(z * LN_2);
    Expm1: expm1, expm1_nonfinite;
    Log: log, log_nonfinite;
    Log2: log2, |z| divided_by_real(log_nonfinite(z), LN_2);
    Log10: log10, |z| divided_by_real(log_nonfinite(z), LN_10);
    Log1p: log1p, log_nonfinite;
    Sqrt: sqrt, sqrt_nonfinite;
    Sinh: sinh, sinh_nonfinite;
    Cosh: cosh, cosh_nonfinite;
    Tanh: tanh, tanh_nonfinite;
    Sin: sin, |z| times_minus_i(sinh_nonfinite(times_i(z)));
    Cos: cos, |z| cosh_nonfinite(times_i(z));
    Tan: tan, |z| times_minus_i(tanh_nonfinite(times_i(z)));
    Asinh: asinh, asinh_nonfinite;
    Acosh: acosh, acosh_nonfinite;
    Atanh: atanh, atanh_nonfinite;
    Asin: asin, |z| times_minus_i(asinh_nonfinite(times_i(z)));
    Acos: acos, acos_nonfinite;
    Atan: atan, |z| times_minus_i(atanh_nonfinite(times_i(z)));
    Sign: sign, sign_nonfinite;
}

impl BinaryFunction<C> for Pow {
    #[inline(always)]
    fn fast(z: C, w: C) -> C {
        pow(z, w)
    }

    #[inline(always)]
    fn is_fast(z: C, w: C) -> bool {
        is_finite(z) && is_finite(w)
    }

    #[inline]
    fn fallback(z: C, w: C) -> C {
        pow_nonfinite(z, w)
    }
}

impl BinaryFunction<Complex<f32>> for Pow {
    #[inline(always)]
    fn fast(z: Complex<f32>, w: Complex<f32>) -> Complex<f32> {
        to_complex64(pow(to_complex128(z), to_complex128(w)))
    }

    #[inline(always)]
    fn is_fast(z: Complex<f32>, w: Complex<f32>) -> bool {
        is_finite(to_complex128(z)) && is_finite(to_complex128(w))
    }

    #[inline]
    fn fallback(z: Complex<f32>, w: Complex<f32>) -> Complex<f32> {
        to_complex64(pow_nonfinite(to_complex128(z), to_complex128(w)))
    }
}
