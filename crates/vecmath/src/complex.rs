//! The functions for complex numbers, made of the real ones, one number at a time.
//!
//! Finite numbers are easy: formulas that lose nothing near the branch cuts, mostly Kahan's ("Branch cuts for
//! complex elementary functions", 1987), with other ones where squares would be too large. Infinities and NaN
//! are hard: they follow the tables of the array API standard, which are those of C's Annex G.
//!
//! complex64 is computed as complex128 and rounded once.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10};

use num_complex::Complex;

use crate::exp::Parts;
use crate::log::{log_of_sum_pair, log1p_pair};
use crate::pair::{Pair, at_most, scale};
use crate::{
    Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, BinaryFunction, Cos, Cosh, Exp, Expm1, Hypot, Log, Log1p,
    Log2, Log10, Pow, Sin, Sinh, Tan, Tanh, UnaryFunction,
};

type C = Complex<f64>;

/// The square root.
pub struct Sqrt;

/// z / |z|, and 0 for 0.
pub struct Sign;

const NAN: C = C::new(f64::NAN, f64::NAN);

/// Above this squares are too large; functions are then so close to simpler ones that these serve.
const HUGE: f64 = 1e150;

const TWO_TO_600: f64 = 4.149515568880993e180;
const TWO_TO_MINUS_600: f64 = 2.409919865102884e-181;

#[inline(always)]
fn real<F: UnaryFunction<f64>>(x: f64) -> f64 {
    if F::is_fast(x) { F::fast(x) } else { F::fallback(x) }
}

#[inline(always)]
fn real2<F: BinaryFunction<f64>>(x: f64, y: f64) -> f64 {
    if F::is_fast(x, y) { F::fast(x, y) } else { F::fallback(x, y) }
}

#[inline(always)]
fn atan2(y: f64, x: f64) -> f64 {
    real2::<Atan2>(y, x)
}

/// i·z
#[inline(always)]
fn turned(z: C) -> C {
    C::new(-z.im, z.re)
}

/// -i·z
#[inline(always)]
fn turned_back(z: C) -> C {
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

/// e^x · factor, also where e^x alone is too large or too small.
#[inline(always)]
fn exp_times(x: Pair, factor: C) -> C {
    let high = at_most(x.high.abs(), 1400.0).copysign(x.high);
    let parts = Parts::of(Pair::new(high, if high == x.high { x.low } else { 0.0 }));
    let mantissa = parts.mantissa().rounded();
    C::new(scale(mantissa * factor.re, parts.k), scale(mantissa * factor.im, parts.k))
}

/// cos y + i·sin y
#[inline(always)]
fn cis(y: f64) -> C {
    C::new(real::<Cos>(y), real::<Sin>(y))
}

/// |z|
#[inline(always)]
pub fn abs(z: C) -> f64 {
    real2::<Hypot>(z.re, z.im)
}

/// |z|
#[inline(always)]
pub fn abs_f32(z: Complex<f32>) -> f32 {
    <Hypot as BinaryFunction<f32>>::fast(z.re, z.im)
}

#[inline(always)]
fn exp(z: C) -> C {
    exp_times(Pair::new(z.re, 0.0), cis(z.im))
}

fn exp_odd(z: C) -> C {
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

#[inline(always)]
fn expm1(z: C) -> C {
    // e^x·cos y - 1 = (e^x - 1)·cos y - 2·sin²(y/2)
    let factor = cis(z.im);
    let half = real::<Sin>(0.5 * z.im);
    let re = real::<Expm1>(z.re).mul_add(factor.re, -2.0 * half * half);
    let whole = exp_times(Pair::new(z.re, 0.0), factor);
    C::new(if z.re > 40.0 { whole.re } else { re }, whole.im)
}

fn expm1_odd(z: C) -> C {
    let exp = exp_odd(z);
    C::new(exp.re - 1.0, exp.im)
}

/// ln |z| and the arc.
#[inline(always)]
fn log(z: C) -> C {
    C::new(log_abs(z).rounded(), atan2(z.im, z.re))
}

/// ln |z|, good also where that is close to 0.
#[inline(always)]
fn log_abs(z: C) -> Pair {
    let (x, y) = (z.re.abs(), z.im.abs());
    let larger = if x > y { x } else { y };
    // 2^±600, as in `Hypot`, and the logarithm of what it does to the square.
    let (huge, tiny) = (larger > HUGE, larger < 1e-140);
    let factor = if tiny { TWO_TO_600 } else { 1.0 };
    let factor = if huge { TWO_TO_MINUS_600 } else { factor };
    let back = if tiny { -1200.0 } else { 0.0 };
    let back = if huge { 1200.0 } else { back };
    let (x, y) = (Pair::of_product(x * factor, x * factor), Pair::of_product(y * factor, y * factor));
    let sum = Pair::of_sum(x.high, y.high);
    let low = Pair::of_sum(x.low, y.low);
    let sum = Pair::of_sum(sum.high, sum.low + low.high);
    let log = log_of_sum_pair(sum, low.low, back).settled().scaled(0.5);
    if larger == 0.0 { Pair::new(f64::NEG_INFINITY, 0.0) } else { log }
}

fn log_odd(z: C) -> C {
    let infinite = z.re.is_infinite() || z.im.is_infinite();
    C::new(if infinite { f64::INFINITY } else { f64::NAN }, atan2(z.im, z.re))
}

#[inline(always)]
fn log1p(z: C) -> C {
    // |1 + z|² = 1 + (2x + x² + y²), of which the bracket may be tiny.
    let C { re: x, im: y } = z;
    let (square, other) = (Pair::of_product(x, x), Pair::of_product(y, y));
    let sum = Pair::of_sum(2.0 * x, square.high);
    let more = Pair::of_sum(sum.high, other.high);
    let low = Pair::of_sum(more.high, sum.low + more.low + square.low + other.low);
    // Where |z| is tiny the squares are too, and x is all there is; where it is -1, the logarithm of 0.
    let near = 0.5 * log1p_pair(low).rounded();
    let far = log_abs(C::new(1.0 + x, y)).rounded();
    let tiny = x.abs() < 1e-150 && y.abs() < 1e-150;
    let re = if low.high > -0.5 && low.high < 1e10 { near } else { far };
    C::new(if tiny { x } else { re }, atan2(y, 1.0 + x))
}

#[inline(always)]
fn divided(z: C, divisor: f64) -> C {
    C::new(z.re / divisor, z.im / divisor)
}

#[inline(always)]
fn sqrt(z: C) -> C {
    // Scaled by a power of four where |z| is too large or has too few bits.
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

fn sqrt_odd(z: C) -> C {
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
        // Both are e^|x| / 2 in size.
        let half = C::new(0.5f64.copysign(x) * factor.re, 0.5 * factor.im);
        return exp_times(Pair::new(x.abs(), 0.0), half);
    }
    C::new(real::<Sinh>(x) * factor.re, real::<Cosh>(x) * factor.im)
}

fn sinh_odd(z: C) -> C {
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
        return exp_times(Pair::new(x.abs(), 0.0), half);
    }
    C::new(real::<Cosh>(x) * factor.re, real::<Sinh>(x) * factor.im)
}

fn cosh_odd(z: C) -> C {
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
    let below = (beta * s).mul_add(s, 1.0);
    C::new(beta * rho * s / below, t / below)
}

fn tanh_odd(z: C) -> C {
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
    turned_back(asin(turned(z)))
}

fn asinh_odd(z: C) -> C {
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
        return C::new(atan2(x, y.abs()), (log_abs(z).rounded() + LN_2).copysign(y));
    }
    let (less, more) = (sqrt(C::new(1.0 - x, -y)), sqrt(C::new(1.0 + x, y)));
    let re = less.re.mul_add(more.re, -less.im * more.im);
    let im = less.re.mul_add(more.im, -less.im * more.re);
    C::new(atan2(x, re), real::<Asinh>(im))
}

#[inline(always)]
fn acos(z: C) -> C {
    let C { re: x, im: y } = z;
    if is_huge(z) {
        return C::new(atan2(y.abs(), x), (log_abs(z).rounded() + LN_2).copysign(-y));
    }
    let (less, more) = (sqrt(C::new(1.0 - x, -y)), sqrt(C::new(1.0 + x, y)));
    let im = more.re.mul_add(less.im, -more.im * less.re);
    C::new(2.0 * atan2(less.re, more.re), real::<Asinh>(im))
}

fn acos_odd(z: C) -> C {
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
        return C::new(log_abs(z).rounded() + LN_2, atan2(y, x));
    }
    let (less, more) = (sqrt(C::new(x - 1.0, y)), sqrt(C::new(x + 1.0, y)));
    let re = less.re.mul_add(more.re, less.im * more.im);
    C::new(real::<Asinh>(re), 2.0 * atan2(less.im, more.re))
}

fn acosh_odd(z: C) -> C {
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
        // 1 / z, and a quarter turn.
        let down = z * TWO_TO_MINUS_600;
        let square = down.re.mul_add(down.re, down.im * down.im);
        return C::new(down.re / square * TWO_TO_MINUS_600, FRAC_PI_2.copysign(y));
    }
    let square = (1.0 - size).mul_add(1.0 - size, y * y);
    let re = if square > 1e-290 {
        0.25 * real::<Log1p>(4.0 * size / square)
    } else {
        // So close to 1 that its square is too small.
        0.5 * (LN_2 - log_abs(C::new(1.0 - size, y)).rounded())
    };
    let im = 0.5 * atan2(2.0 * y, (1.0 - size).mul_add(1.0 + size, -y * y));
    C::new(re.copysign(x), im)
}

fn atanh_odd(z: C) -> C {
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

/// Along the part that is infinite, if only one is and the other is a number.
fn sign_odd(z: C) -> C {
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
    // Brought to where |z| is an ordinary number.
    let larger = if z.re.abs() > z.im.abs() { z.re.abs() } else { z.im.abs() };
    let factor = if larger > HUGE { 1e-150 } else { 1.0 };
    let factor = if larger < 1e-150 { TWO_TO_600 } else { factor };
    let z = z * factor;
    divided(z, abs(z))
}

/// z^w
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
    // e^(w·ln z), with pairs up to the last step, since w may be large.
    let log = log_abs(z).settled();
    let arc = crate::arc::atan2_pair(z.im, z.re);
    let (u, v) = (Pair::new(w.re, 0.0), Pair::new(w.im, 0.0));
    let (re, minus) = (u.times(log), v.times(arc));
    let (im, plus) = (v.times(log), u.times(arc));
    let re = Pair::of_sum(re.high, -minus.high).plus_small(re.low - minus.low).settled();
    let im = Pair::of_sum(im.high, plus.high).plus_small(im.low + plus.low).settled();
    let (sine, cosine) = crate::trig::sin_cos_pair(im);
    exp_times(re, C::new(cosine, sine))
}

/// z^n by multiplication, for small integers.
#[inline(always)]
fn small_power(z: C, n: f64) -> C {
    let (mut result, mut square) = (C::new(1.0, 0.0), z);
    let mut left = n.abs();
    while left > 0.0 {
        let half = (0.5 * left).floor();
        if left != 2.0 * half {
            result = if result == C::new(1.0, 0.0) { square } else { times(result, square) };
        }
        if half > 0.0 {
            square = times(square, square);
        }
        left = half;
    }
    if n < 0.0 { inverse(result) } else { result }
}

/// The product, with both parts rounded from pairs, so that little is lost where their terms cancel.
#[inline(always)]
fn times(a: C, b: C) -> C {
    let part = |p: Pair, q: Pair| Pair::of_sum(p.high, q.high).plus_small(p.low + q.low).rounded();
    let re = part(Pair::of_product(a.re, b.re), Pair::of_product(-a.im, b.im));
    let im = part(Pair::of_product(a.re, b.im), Pair::of_product(a.im, b.re));
    C::new(re, im)
}

/// 1 / z
#[inline(always)]
fn inverse(z: C) -> C {
    let larger = if z.re.abs() > z.im.abs() { z.re.abs() } else { z.im.abs() };
    let factor = if larger > HUGE { 1e-200 } else { 1.0 };
    let factor = if larger < 1e-150 { TWO_TO_600 } else { factor };
    let z = z * factor;
    let square = z.re.mul_add(z.re, z.im * z.im);
    C::new(z.re / square * factor, -z.im / square * factor)
}

/// What C says: e^(w·ln z), whatever that is.
fn pow_odd(z: C, w: C) -> C {
    if w.re == 0.0 && w.im == 0.0 {
        return C::new(1.0, 0.0);
    }
    let log = if is_finite(z) { log(z) } else { log_odd(z) };
    let product = if w.im == 0.0 { C::new(log.re * w.re, log.im * w.re) } else { log * w };
    if is_finite(product) { exp(product) } else { exp_odd(product) }
}

#[inline(always)]
fn log2(z: C) -> C {
    divided(log(z), LN_2)
}

#[inline(always)]
fn log10(z: C) -> C {
    divided(log(z), LN_10)
}

#[inline(always)]
fn sin(z: C) -> C {
    turned_back(sinh(turned(z)))
}

#[inline(always)]
fn cos(z: C) -> C {
    cosh(turned(z))
}

#[inline(always)]
fn tan(z: C) -> C {
    turned_back(tanh(turned(z)))
}

#[inline(always)]
fn atan(z: C) -> C {
    turned_back(atanh(turned(z)))
}

/// A function of complex numbers from its formula for finite ones and its table for the others.
macro_rules! function {
    ($($name:ident: $finite:ident, $odd:expr;)*) => { $(
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
                $odd(z)
            }
        }

        impl UnaryFunction<Complex<f32>> for $name {
            #[inline(always)]
            fn fast(z: Complex<f32>) -> Complex<f32> {
                single(<$name as UnaryFunction<C>>::fast(double(z)))
            }

            #[inline(always)]
            fn is_fast(z: Complex<f32>) -> bool {
                is_finite(double(z))
            }

            #[inline]
            fn fallback(z: Complex<f32>) -> Complex<f32> {
                single(<$name as UnaryFunction<C>>::fallback(double(z)))
            }
        }
    )* };
}

#[inline(always)]
fn double(z: Complex<f32>) -> C {
    C::new(f64::from(z.re), f64::from(z.im))
}

#[inline(always)]
fn single(z: C) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

function! {
    Exp: exp, exp_odd;
    Expm1: expm1, expm1_odd;
    Log: log, log_odd;
    Log2: log2, |z| divided(log_odd(z), LN_2);
    Log10: log10, |z| divided(log_odd(z), LN_10);
    Log1p: log1p, log_odd;
    Sqrt: sqrt, sqrt_odd;
    Sinh: sinh, sinh_odd;
    Cosh: cosh, cosh_odd;
    Tanh: tanh, tanh_odd;
    Sin: sin, |z| turned_back(sinh_odd(turned(z)));
    Cos: cos, |z| cosh_odd(turned(z));
    Tan: tan, |z| turned_back(tanh_odd(turned(z)));
    Asinh: asinh, asinh_odd;
    Acosh: acosh, acosh_odd;
    Atanh: atanh, atanh_odd;
    Asin: asin, |z| turned_back(asinh_odd(turned(z)));
    Acos: acos, acos_odd;
    Atan: atan, |z| turned_back(atanh_odd(turned(z)));
    Sign: sign, sign_odd;
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
        pow_odd(z, w)
    }
}

impl BinaryFunction<Complex<f32>> for Pow {
    #[inline(always)]
    fn fast(z: Complex<f32>, w: Complex<f32>) -> Complex<f32> {
        single(pow(double(z), double(w)))
    }

    #[inline(always)]
    fn is_fast(z: Complex<f32>, w: Complex<f32>) -> bool {
        is_finite(double(z)) && is_finite(double(w))
    }

    #[inline]
    fn fallback(z: Complex<f32>, w: Complex<f32>) -> Complex<f32> {
        single(pow_odd(double(z), double(w)))
    }
}
