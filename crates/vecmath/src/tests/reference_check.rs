//! Checks `reference` against 256-bit numbers of the crate astro-float.

use astro_float_num::{BigFloat, Consts, RoundingMode};

use super::reference::{self, Exact, Wide, ldexp};

const BITS: usize = 256;

/// Maximum relative error; far below 10^-6 of the 2^-53 that accuracy tests resolve.
const TOLERANCE: f64 = 1e-27;

fn big(x: f64) -> BigFloat {
    BigFloat::from_f64(x, BITS)
}

/// The relative error, rounded to a power of two.
fn relative_error(value: Exact, truth: &BigFloat) -> f64 {
    // Scaled so that both parts of the value are normal numbers.
    let mut truth = truth.clone();
    let shift = value.power;
    let exponent = truth.exponent().expect("a number") - shift;
    truth.set_exponent(exponent);
    let Wide { high, low } = value.value;
    let value = big(high).add(&big(low), BITS, RoundingMode::None);
    let error = value.sub(&truth, BITS, RoundingMode::None).div(&truth, BITS, RoundingMode::None);
    if error.is_zero() {
        return 0.0;
    }
    ldexp(1.0, error.exponent().expect("a number").max(-1000))
}

fn check(
    name: &str,
    xs: &[f64],
    reference: impl Fn(f64) -> Exact,
    truth: impl Fn(&BigFloat, &mut Consts) -> BigFloat,
) {
    let mut constants = Consts::new().expect("enough memory");
    for &x in xs {
        let off = relative_error(reference(x), &truth(&big(x), &mut constants));
        assert!(off < TOLERANCE, "{name}({x:e}) has a relative error of {off:e}");
    }
}

const NONE: RoundingMode = RoundingMode::None;
const ANY: [f64; 12] = [0.3, -0.7, 1e-5, -3.3e-12, 2.5, -1.1, 0.3466, -0.3465, 11.25, 33.0, -20.5, 0.999999];
const POSITIVE: [f64; 10] = [0.3, 0.70705, 1e-5, 3.3e-300, 2.5, 1.1, 1.0000001, 0.9999, 11.25, 4.4e200];
const INSIDE: [f64; 9] = [0.3, -0.7, 1e-5, -3.3e-12, 0.5, -0.4999, 0.99999, -0.9999999999, 0.8];

#[test]
fn exponentials() {
    check("exp", &ANY, |x| reference::exp(reference::wide(x)), |x, c| x.exp(BITS, NONE, c));
    check("exp", &[-745.0, 700.0], |x| reference::exp(reference::wide(x)), |x, c| x.exp(BITS, NONE, c));
    check("exp2", &ANY, reference::exp2, |x, c| big(2.0).pow(x, BITS, NONE, c));
    let minus_one = |x: BigFloat| x.sub(&big(1.0), BITS, NONE);
    check(
        "expm1",
        &ANY[..3],
        |x| reference::expm1(reference::wide(x)),
        |x, c| minus_one(x.exp(BITS, NONE, c)),
    );
    check("sinh", &ANY, reference::sinh, |x, c| x.sinh(BITS, NONE, c));
    check("cosh", &ANY, reference::cosh, |x, c| x.cosh(BITS, NONE, c));
    check("tanh", &ANY, |x| reference::tanh(x).into(), |x, c| x.tanh(BITS, NONE, c));
    let sigmoid = |x: &BigFloat, c: &mut Consts| {
        let e = x.neg().exp(BITS, NONE, c);
        e.add(&big(1.0), BITS, NONE).reciprocal(BITS, NONE)
    };
    check("sigmoid", &ANY, reference::sigmoid, sigmoid);
}

#[test]
fn logarithms() {
    let of = |f: fn(Wide) -> Wide| move |x: f64| f(reference::wide(x)).into();
    check("log", &POSITIVE, of(reference::log), |x, c| x.ln(BITS, NONE, c));
    check("log2", &POSITIVE, of(reference::log2), |x, c| x.log2(BITS, NONE, c));
    check("log10", &POSITIVE, of(reference::log10), |x, c| x.log10(BITS, NONE, c));
    let log1p = |x: &BigFloat, c: &mut Consts| x.add(&big(1.0), BITS, NONE).ln(BITS, NONE, c);
    check("log1p", &INSIDE, of(reference::log1p), log1p);
    check("asinh", &ANY, |x| reference::asinh(x).into(), |x, c| x.asinh(BITS, NONE, c));
    check(
        "acosh",
        &[1.25, 1.0000001, 3.0, 1e15],
        |x| reference::acosh(x).into(),
        |x, c| x.acosh(BITS, NONE, c),
    );
    check("atanh", &INSIDE, |x| reference::atanh(x).into(), |x, c| x.atanh(BITS, NONE, c));
}

#[test]
fn trigonometric() {
    let large = [1e5 + 0.1, -2.6e8, 3.0 * std::f64::consts::FRAC_PI_2, 710.0 * std::f64::consts::PI];
    for xs in [&ANY[..], &large] {
        check("sin", xs, |x| reference::sin_cos(x).0.into(), |x, c| x.sin(BITS, NONE, c));
        check("cos", xs, |x| reference::sin_cos(x).1.into(), |x, c| x.cos(BITS, NONE, c));
    }
    check("asin", &INSIDE, |x| reference::asin(x).into(), |x, c| x.asin(BITS, NONE, c));
    check("acos", &INSIDE, |x| reference::acos(x).into(), |x, c| x.acos(BITS, NONE, c));
    check("atan", &ANY, |x| reference::atan(x).into(), |x, c| x.atan(BITS, NONE, c));
    check("atan", &[1e9, -1e50], |x| reference::atan(x).into(), |x, c| x.atan(BITS, NONE, c));
}

#[test]
fn roots_and_powers() {
    check("cbrt", &POSITIVE, |x| reference::cbrt(x).into(), |x, _| x.cbrt(BITS, NONE));
    for y in [0.5, -2.7, 1e-3, 1.3] {
        check("pow", &POSITIVE[..8], |x| reference::pow(x, y), |x, c| x.pow(&big(y), BITS, NONE, c));
    }
    for y in [0.5, -3.7, 1e-3, 17.0] {
        let hypot = |x: &BigFloat, _: &mut Consts| {
            let square = |x: &BigFloat| x.mul(x, BITS, NONE);
            square(x).add(&square(&big(y)), BITS, NONE).sqrt(BITS, NONE)
        };
        check("hypot", &ANY, |x| reference::hypot(x, y), hypot);
        let sum = |x: &BigFloat, c: &mut Consts| {
            let other = big(y).exp(BITS, NONE, c);
            x.exp(BITS, NONE, c).add(&other, BITS, NONE).ln(BITS, NONE, c)
        };
        check("logaddexp", &ANY, |x| reference::logaddexp(x, y), sum);
    }
}

/// astro-float has no error function: published digits.
#[test]
fn error_function() {
    let mut constants = Consts::new().expect("enough memory");
    for (x, digits) in [
        (0.125, "0.140316204801333817393029446521623398187"),
        (0.5, "0.5204998778130465376827466538919645287365"),
        (1.0, "0.8427007929497148693412206350826092592961"),
        (1.75, "0.9866716712191824437722111001286879766073"),
        (3.0, "0.9999779095030014145586272238704176796202"),
        (5.5, "0.9999999999999926421520820256019369316376"),
        (0.0009765625, "0.001101932430071814704171253496118573693837"),
    ] {
        let truth = BigFloat::parse(digits, astro_float_num::Radix::Dec, BITS, NONE, &mut constants);
        let off = relative_error(reference::erf(x), &truth);
        assert!(off < TOLERANCE, "erf({x:e}) has a relative error of {off:e}");
    }
}
