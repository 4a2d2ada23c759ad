//! A second implementation of the functions, with 106 bits: the reference for accuracy tests.
//!
//! It uses Taylor series, and Newton iterations from the standard library's result. It is slow and simple, and
//! shares no code with the functions that it tests.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of two numbers (double-double).
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    pub(super) high: f64,
    pub(super) low: f64,
}

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

pub(super) fn wide(x: f64) -> Wide {
    Wide { high: x, low: 0.0 }
}

fn settled((high, low): (f64, f64)) -> Wide {
    let (high, low) = two_sum(high, low);
    Wide { high, low }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, other: Wide) -> Wide {
        let (high, a) = two_sum(self.high, other.high);
        let (low, b) = two_sum(self.low, other.low);
        let sum = settled((high, a + low));
        settled((sum.high, sum.low + b))
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide { high: -self.high, low: -self.low }
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, other: Wide) -> Wide {
        let (high, low) = two_product(self.high, other.high);
        settled((high, low + (self.high * other.low + self.low * other.high)))
    }
}

impl Div for Wide {
    type Output = Wide;
    fn div(self, other: Wide) -> Wide {
        let first = self.high / other.high;
        let rest = self - other * wide(first);
        let second = rest.high / other.high;
        let rest = rest - other * wide(second);
        settled((first, second)) + wide(rest.high / other.high)
    }
}

impl Wide {
    pub(super) fn abs(self) -> Wide {
        if self.high < 0.0 { -self } else { self }
    }

    pub(super) fn sqrt(self) -> Wide {
        if self.high <= 0.0 {
            return wide(0.0);
        }
        let root = wide(self.high.sqrt());
        root + (self - root * root) / (root + root)
    }

    /// x · 2^power, exact unless the result overflows or underflows.
    fn scaled(self, power: i32) -> Wide {
        Wide { high: ldexp(self.high, power), low: ldexp(self.low, power) }
    }
}

/// x · 2^power.
pub(super) fn ldexp(mut x: f64, mut power: i32) -> f64 {
    while power > 1000 {
        x *= 2f64.powi(1000);
        power -= 1000;
    }
    while power < -1000 {
        x *= 2f64.powi(-1000);
        power += 1000;
    }
    x * 2f64.powi(power)
}

/// The binary exponent of a number other than 0: 0 for 1 and 1.5, -1 for 0.5.
pub(super) fn exponent(x: f64) -> i32 {
    let field = |x: f64| i32::try_from((x.to_bits() >> 52) & 0x7ff).expect("eleven bits") - 1023;
    if x.abs() < f64::MIN_POSITIVE { field(x * 2f64.powi(60)) - 60 } else { field(x) }
}

/// value · 2^power: keeps all bits of exponentials that overflow or underflow f64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub(super) value: Wide,
    pub(super) power: i32,
}

impl From<Wide> for Exact {
    fn from(value: Wide) -> Exact {
        Exact { value, power: 0 }
    }
}

impl Exact {
    pub(super) fn wide(self) -> Wide {
        self.value.scaled(self.power)
    }

    /// The error of `got` in units in the last place of the exact result, rounded to `digits` bits.
    ///
    /// A unit is at least 2^`smallest`. Results from 2^`largest` on are infinite.
    pub(super) fn error(self, got: f64, digits: i32, smallest: i32, largest: i32) -> f64 {
        let Exact { value, power } = self;
        if value.high == 0.0 {
            return if got == 0.0 { 0.0 } else { f64::INFINITY };
        }
        if value.high.is_nan() || got.is_nan() {
            return if value.high.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let mut size = exponent(value.high);
        if value.high.abs() == ldexp(1.0, size) && value.low * value.high < 0.0 {
            size -= 1;
        }
        let beyond = size + power >= largest;
        let last = ((size + power).min(largest - 1) - (digits - 1)).max(smallest);
        // Infinity counts as the next number after the largest finite one.
        let got = if got.is_infinite() { ldexp(1.0, digits).copysign(got) } else { ldexp(got, -last) };
        if beyond && got.abs() == ldexp(1.0, digits) {
            return if got * value.high > 0.0 { 0.0 } else { f64::INFINITY };
        }
        let exact = value.scaled(power - last);
        (wide(got) - exact).abs().high
    }
}

const LN_2: [f64; 3] = [std::f64::consts::LN_2, 2.3190468138462996e-17, 5.707708438416212e-34];
const PI_2: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// x - k·c for a constant c of three parts.
fn less_multiple(x: Wide, k: f64, constant: [f64; 3]) -> Wide {
    constant.iter().fold(x, |x, &part| {
        let (high, low) = two_product(k, part);
        x - Wide { high, low }
    })
}

pub(super) fn pi() -> Wide {
    settled((2.0 * PI_2[0], 2.0 * PI_2[1])) + wide(2.0 * PI_2[2])
}

fn ln_2() -> Wide {
    settled((LN_2[0], LN_2[1]))
}

/// e^x - 1 for |x| < 1/2: Taylor series of x / 64, then e^2x - 1 = (e^x - 1)·(e^x + 1) six times.
fn expm1_small(x: Wide) -> Wide {
    let x = x * wide(1.0 / 64.0);
    let mut sum = wide(1.0);
    for n in (2..=14).rev() {
        sum = wide(1.0) + sum * x / wide(f64::from(n));
    }
    let mut result = sum * x;
    for _ in 0..6 {
        result = result * (result + wide(2.0));
    }
    result
}

pub(super) fn exp(x: Wide) -> Exact {
    if x.high.abs() > 1e4 {
        let power = if x.high > 0.0 { 9000 } else { -9000 };
        return Exact { value: wide(1.0), power };
    }
    let k = (x.high / LN_2[0]).round();
    let value = wide(1.0) + expm1_small(less_multiple(x, k, LN_2));
    Exact { value, power: k as i32 }
}

pub(super) fn exp2(x: f64) -> Exact {
    let k = x.clamp(-5000.0, 5000.0).round();
    let rest = if x.abs() > 5000.0 { 0.0 } else { x - k };
    Exact { value: wide(1.0) + expm1_small(ln_2() * wide(rest)), power: k as i32 }
}

pub(super) fn expm1(x: Wide) -> Exact {
    if x.high.abs() < 0.34 {
        // The low part of tiny results would underflow.
        if x.high != 0.0 && x.high.abs() < 1e-200 {
            return x.into();
        }
        return expm1_small(x).into();
    }
    let e = exp(x);
    if e.power > 200 {
        return e;
    }
    (e.wide() - wide(1.0)).into()
}

/// ln(1 + t) for t > -1.
pub(super) fn log1p(t: Wide) -> Wide {
    if t.high.abs() > 0.3 {
        return log(t + wide(1.0));
    }
    if t.high.abs() < 1e-200 {
        return t;
    }
    // Newton iteration from the standard library's result.
    let start = t.high.ln_1p();
    let e = expm1_small(wide(start));
    let rest = (t - e) / (e + wide(1.0));
    wide(start) + (rest - rest * rest * wide(0.5))
}

pub(super) fn log(x: Wide) -> Wide {
    let mut k = exponent(x.high);
    if ldexp(x.high, -k) > 1.4 {
        k += 1;
    }
    let m = x.scaled(-k) - wide(1.0);
    let ln_m = if m.high == 0.0 {
        m
    } else {
        let start = m.high.ln_1p();
        let e = expm1_small(wide(start));
        let rest = (m - e) / (e + wide(1.0));
        wide(start) + (rest - rest * rest * wide(0.5))
    };
    less_multiple(ln_m, -f64::from(k), LN_2)
}

pub(super) fn log2(x: Wide) -> Wide {
    // The exponent is exact; only the logarithm of the mantissa is divided.
    let mut k = exponent(x.high);
    if ldexp(x.high, -k) > 1.4 {
        k += 1;
    }
    log(x.scaled(-k)) / ln_2() + wide(f64::from(k))
}

pub(super) fn log10(x: Wide) -> Wide {
    log(x) / log(wide(10.0))
}

/// Sine and cosine for |x| < 2^28.
pub(super) fn sin_cos(x: f64) -> (Wide, Wide) {
    let k = (x / PI_2[0]).round();
    let r = less_multiple(wide(x), k, PI_2);
    let square = -(r * r);
    let (mut sine, mut cosine) = (wide(1.0), wide(1.0));
    for n in (1..=14).rev() {
        let n = f64::from(n);
        sine = wide(1.0) + sine * square / wide((2.0 * n) * (2.0 * n + 1.0));
        cosine = wide(1.0) + cosine * square / wide((2.0 * n) * (2.0 * n - 1.0));
    }
    let sine = if r.high.abs() < 1e-100 { r } else { sine * r };
    match (k as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// atan2 of moderate numbers that are not both 0.
pub(super) fn atan2(y: Wide, x: Wide) -> Wide {
    let start = y.high.atan2(x.high);
    let (sine, cosine) = sin_cos(start);
    let tangent = (y * cosine - x * sine) / (x * cosine + y * sine);
    wide(start) + tangent
}

pub(super) fn asin(x: f64) -> Wide {
    if x.abs() < 1e-100 {
        return wide(x);
    }
    atan2(wide(x), ((wide(1.0) - wide(x)) * (wide(1.0) + wide(x))).sqrt())
}

pub(super) fn acos(x: f64) -> Wide {
    atan2(((wide(1.0) - wide(x)) * (wide(1.0) + wide(x))).sqrt(), wide(x))
}

pub(super) fn atan(x: f64) -> Wide {
    if x.abs() < 1e-100 {
        return wide(x);
    }
    if x.abs() > 1e100 {
        return (pi() * wide(0.5)) * wide(1f64.copysign(x));
    }
    atan2(wide(x), wide(1.0))
}

pub(super) fn sinh(x: f64) -> Exact {
    let t = expm1(wide(x.abs()));
    let sign = wide(0.5f64.copysign(x));
    if t.power != 0 || x.abs() < 1e-100 {
        return if t.power != 0 { Exact { value: t.value * sign, ..t } } else { wide(x).into() };
    }
    ((t.value + t.value / (t.value + wide(1.0))) * sign).into()
}

pub(super) fn cosh(x: f64) -> Exact {
    let e = exp(wide(x.abs()));
    if e.power > 200 {
        return Exact { value: e.value * wide(0.5), ..e };
    }
    ((e.wide() + wide(1.0) / e.wide()) * wide(0.5)).into()
}

pub(super) fn tanh(x: f64) -> Wide {
    if x.abs() < 1e-100 || x.abs() > 50.0 {
        return wide(if x.abs() > 1.0 { 1f64.copysign(x) } else { x });
    }
    let t = expm1(wide(2.0 * x)).wide();
    t / (t + wide(2.0))
}

pub(super) fn asinh(x: f64) -> Wide {
    let size = wide(x.abs());
    if x.abs() < 1e-60 {
        return wide(x);
    }
    let result = if x.abs() > 1e60 {
        log(size) + ln_2()
    } else {
        let square = size * size;
        log1p(size + square / (wide(1.0) + (wide(1.0) + square).sqrt()))
    };
    result * wide(1f64.copysign(x))
}

pub(super) fn acosh(x: f64) -> Wide {
    if x > 1e60 {
        return log(wide(x)) + ln_2();
    }
    let t = wide(x) - wide(1.0);
    log1p(t + (t * (wide(x) + wide(1.0))).sqrt())
}

pub(super) fn atanh(x: f64) -> Wide {
    if x.abs() < 1e-60 {
        return wide(x);
    }
    let size = wide(x.abs());
    log1p((size + size) / (wide(1.0) - size)) * wide(0.5f64.copysign(x))
}

pub(super) fn cbrt(x: f64) -> Wide {
    if x == 0.0 {
        return wide(x);
    }
    let third = exponent(x) / 3;
    let m = ldexp(x, -3 * third);
    let start = wide(m.cbrt());
    let rest = start * start * start - wide(m);
    let root = start - rest / (wide(3.0) * start * start);
    root.scaled(third)
}

pub(super) fn sigmoid(x: f64) -> Exact {
    let e = exp(wide(-x.abs()));
    let divisor = wide(1.0) + if e.power < -900 { wide(0.0) } else { e.wide() };
    if x < 0.0 { Exact { value: e.value / divisor, ..e } } else { (wide(1.0) / divisor).into() }
}

/// 2/√π · e^-x² · Σ 2ⁿ x^(2n+1) / (1·3·5·…·(2n+1)), where no terms cancel.
pub(super) fn erf(x: f64) -> Exact {
    if x.abs() > 7.0 {
        return wide(1f64.copysign(x)).into();
    }
    if x == 0.0 {
        return wide(x).into();
    }
    // Tiny numbers are scaled, because their low parts would underflow.
    let (x, power) = if x.abs() < 1e-100 { (ldexp(x, 600), -600) } else { (x, 0) };
    let square = wide(if power == 0 { x } else { 0.0 }) * wide(x);
    let (mut term, mut sum) = (wide(x), wide(x));
    let mut n = 1.0;
    while term.high.abs() > 1e-35 * sum.high.abs() {
        term = term * square * wide(2.0) / wide(2.0 * n + 1.0);
        sum = sum + term;
        n += 1.0;
    }
    Exact { value: sum * exp(-square).wide() * wide(2.0) / pi().sqrt(), power }
}

pub(super) fn hypot(x: f64, y: f64) -> Exact {
    let size = x.abs().max(y.abs());
    if size == 0.0 {
        return wide(0.0).into();
    }
    let power = exponent(size);
    let (x, y) = (wide(x).scaled(-power), wide(y).scaled(-power));
    Exact { value: (x * x + y * y).sqrt(), power }
}

/// atan2 of any finite numbers that are not 0.
pub(super) fn atan2_any(y: f64, x: f64) -> Exact {
    let (a, b) = (exponent(y), exponent(x));
    if a - b > 300 {
        return (pi() * wide(0.5f64.copysign(y))).into();
    }
    let (y, x) = (wide(y).scaled(-a), wide(x).scaled(-b));
    if a - b < -300 {
        return if x.high < 0.0 {
            (pi() * wide(1f64.copysign(y.high))).into()
        } else {
            Exact { value: y / x, power: a - b }
        };
    }
    atan2(y, x.scaled(b - a)).into()
}

pub(super) fn pow(x: f64, y: f64) -> Exact {
    let log = log(wide(x.abs()));
    // The low part of an infinite product would be NaN.
    let beyond = (log.high * y).abs() > 1e4;
    let mut result = exp(if beyond { wide(2e4f64.copysign(log.high * y)) } else { log * wide(y) });
    if x < 0.0 {
        let sign = if y.fract() != 0.0 {
            f64::NAN
        } else if (y * 0.5).fract() != 0.0 {
            -1.0
        } else {
            1.0
        };
        result.value = result.value * wide(sign);
    }
    result
}

pub(super) fn logaddexp(x: f64, y: f64) -> Exact {
    let (larger, smaller) = (wide(x.max(y)), wide(x.min(y)));
    let e = exp(smaller - larger);
    if e.power < -900 {
        // Added after scaling, so that both are normal numbers, unless one is negligible.
        let power = e.power;
        let moved = larger.scaled(-power);
        return if larger.high.abs() > 1e-100 || power < -1100 && larger.high != 0.0 {
            larger.into()
        } else {
            Exact { value: moved + e.value, power }
        };
    }
    (larger + log1p(e.wide())).into()
}
