//! Measures the error of every function, and compares it with docs/accuracy.md.
//!
//! Errors are in units in the last place (ulp) of the exact result; correct rounding has up to 0.5. `reference`
//! is the reference for f64; the standard library's f64 functions, which this crate does not use, are for f32.
//!
//! `UNISHAPE_ACCURACY=100 cargo test --release -p unishape-vecmath --lib tests::accuracy -- --nocapture` tests a
//! hundred times as many arguments, and prints the rows of the table.

use std::f64::consts::{FRAC_PI_2, LN_2, PI, SQRT_2};

use super::reference::{self, Exact, wide};
use crate::*;

/// The documented maximum errors.
const ACCURACY_MD: &str = include_str!("../../accuracy.md");

/// The largest error, and its argument.
struct MaxError {
    error: f64,
    at: String,
}

impl MaxError {
    fn new() -> MaxError {
        MaxError { error: 0.0, at: String::from("-") }
    }

    fn record(&mut self, error: f64, at: impl FnOnce() -> String) {
        if error > self.error {
            *self = MaxError { error, at: at() };
        }
    }
}

/// Compares measured errors with a row of the page, and prints them.
fn compare(name: &str, f64_error: &MaxError, f32_error: &MaxError) {
    println!(
        "| {name} | {:.3} | {} | {:.3} | {} |",
        f64_error.error, f64_error.at, f32_error.error, f32_error.at
    );
    let row = ACCURACY_MD.lines().find(|line| line.starts_with(&format!("| {name} |")));
    let row = row.unwrap_or_else(|| panic!("docs/accuracy.md has no row for {name}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    for (dtype, cell, max_error) in [("f64", cells[2], f64_error), ("f32", cells[4], f32_error)] {
        let bound: f64 =
            cell.parse().unwrap_or_else(|_| panic!("docs/accuracy.md has no number in the row of {name}"));
        assert!(bound <= 2.0, "the documented error of {name} for {dtype} is {bound} ulp");
        let MaxError { error, at } = max_error;
        assert!(
            *error <= bound,
            "error of {name} for {dtype} is {error:.3} ulp at {at}; documented: {bound}"
        );
    }
}

/// Factor for the number of arguments, from the environment.
pub(super) fn sample_factor() -> f64 {
    std::env::var("UNISHAPE_ACCURACY")
        .map_or(1.0, |factor| factor.parse().expect("UNISHAPE_ACCURACY is a number"))
}

/// The number of random arguments of each kind.
fn sample_count() -> usize {
    (4000.0 * sample_factor()) as usize
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut x = self.0;
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        x ^ (x >> 32)
    }

    /// Uniformly distributed between two numbers.
    fn between(&mut self, (from, to): (f64, f64)) -> f64 {
        (to - from).mul_add((self.bits() >> 11) as f64 / 2f64.powi(53), from)
    }

    /// Of either sign, with a binary exponent in `from..to`.
    fn of_exponent(&mut self, from: i32, to: i32) -> f64 {
        let range = u64::try_from(to - from).expect("from < to");
        let exponent = from + i32::try_from(self.bits() % range).expect("a small number");
        let m = f64::from_bits((self.bits() >> 12) | 0x3ff0000000000000);
        let size = reference::ldexp(m, exponent);
        if self.bits() & 1 == 0 { size } else { -size }
    }

    fn any(&mut self) -> f64 {
        f64::from_bits(self.bits())
    }
}

/// Arguments at which algorithms change, or results overflow or underflow.
const EDGES: [f64; 25] = [
    0.0,
    f64::MIN_POSITIVE,
    1e-17,
    1e-10,
    1e-9,
    0.25,
    0.5,
    0.84,
    1.0,
    2.0,
    3.0,
    10.0,
    SQRT_2,
    SQRT_2 / 2.0,
    SQRT_2 - 1.0,
    SQRT_2 + 1.0,
    LN_2 / 2.0,
    PI / 4.0,
    FRAC_PI_2,
    PI,
    709.7827,
    708.3964,
    745.1332,
    1e10,
    f64::MAX,
];

/// Arguments with random bits, with moderate exponents, in the given ranges, and near the edges.
fn arguments(ranges: &[(f64, f64)]) -> Vec<f64> {
    let mut random = Random(1);
    let mut all = Vec::new();
    for _ in 0..sample_count() {
        all.push(random.any());
        all.push(random.of_exponent(-30, 10));
        all.extend(ranges.iter().map(|&range| random.between(range)));
    }
    for edge in EDGES {
        for step in 0..64 {
            let bits = edge.to_bits();
            let around = [bits.saturating_sub(step), bits + step].map(f64::from_bits);
            all.extend(around.iter().flat_map(|&x| [x, -x]));
        }
    }
    all
}

/// Every 8191st bit pattern of f32, about 500,000.
fn f32_arguments() -> Vec<f32> {
    let step = (8191.0 / sample_factor()) as usize;
    (0..=u32::MAX).step_by(step | 1).map(f32::from_bits).collect()
}

fn ulp_error_f64(exact: Exact, got: f64) -> f64 {
    exact.error(got, 53, -1074, 1024)
}

fn ulp_error_f32(exact: Exact, got: f32) -> f64 {
    exact.error(f64::from(got), 24, -149, 128)
}

/// Measures a function of one number for f64 and f32, in its domain.
fn measure_unary<F: UnaryFunction<f64> + UnaryFunction<f32>>(
    name: &str,
    domain: impl Fn(f64) -> bool,
    ranges: &[(f64, f64)],
    exact: impl Fn(f64) -> Exact,
    f32_reference: impl Fn(f64) -> f64,
) {
    let mut f64_error = MaxError::new();
    let x = arguments(ranges);
    let mut got = vec![0.0; x.len()];
    F::map(&x, &mut got);
    for (x, got) in x.into_iter().zip(got).filter(|&(x, _)| x.is_finite() && domain(x)) {
        f64_error.record(ulp_error_f64(exact(x), got), || format!("{x:e}"));
    }
    let mut f32_error = MaxError::new();
    let x = f32_arguments();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &mut got);
    for (x, got) in x.into_iter().zip(got).filter(|&(x, _)| x.is_finite() && domain(f64::from(x))) {
        f32_error.record(ulp_error_f32(wide(f32_reference(f64::from(x))).into(), got), || format!("{x:e}"));
    }
    compare(name, &f64_error, &f32_error);
}

fn everywhere(_: f64) -> bool {
    true
}

/// A reference rounded to f64, for f32.
fn rounded(exact: impl Fn(f64) -> Exact) -> impl Fn(f64) -> f64 {
    move |x| {
        let Exact { value, power } = exact(x);
        reference::ldexp(value.high, power)
    }
}

#[test]
fn exp() {
    let ranges = [(-746.0, 710.0), (-1.0, 1.0), (-20.0, 20.0)];
    measure_unary::<Exp>("exp", everywhere, &ranges, |x| reference::exp(wide(x)), f64::exp);
}

#[test]
fn exp2() {
    let ranges = [(-1076.0, 1024.0), (-1.0, 1.0), (-20.0, 20.0)];
    measure_unary::<Exp2>("exp2", everywhere, &ranges, reference::exp2, f64::exp2);
}

#[test]
fn expm1() {
    let ranges = [(-40.0, 710.0), (-1.0, 1.0), (-5.0, 5.0)];
    measure_unary::<Expm1>("expm1", everywhere, &ranges, |x| reference::expm1(wide(x)), f64::exp_m1);
}

#[test]
fn sigmoid() {
    let ranges = [(-746.0, 40.0), (-1.0, 1.0), (-20.0, 20.0)];
    measure_unary::<Sigmoid>("sigmoid", everywhere, &ranges, reference::sigmoid, |x| {
        1.0 / (1.0 + (-x).exp())
    });
}

fn positive(x: f64) -> bool {
    x > 0.0
}

const NEAR_ONE: [(f64, f64); 3] = [(0.0, 3.0), (0.7, 1.42), (0.99, 1.01)];

#[test]
fn log() {
    measure_unary::<Log>("log", positive, &NEAR_ONE, |x| reference::log(wide(x)).into(), f64::ln);
}

#[test]
fn log2() {
    measure_unary::<Log2>("log2", positive, &NEAR_ONE, |x| reference::log2(wide(x)).into(), f64::log2);
}

#[test]
fn log10() {
    measure_unary::<Log10>("log10", positive, &NEAR_ONE, |x| reference::log10(wide(x)).into(), f64::log10);
}

#[test]
fn log1p() {
    let ranges = [(-1.0, 3.0), (-0.3, 0.42), (-0.01, 0.01)];
    measure_unary::<Log1p>("log1p", |x| x > -1.0, &ranges, |x| reference::log1p(wide(x)).into(), f64::ln_1p);
}

/// The domain of `reference::sin_cos`; `huge_angles` tests larger arguments.
fn below_2_28(x: f64) -> bool {
    x.abs() < 268435456.0
}

const ANGLES: [(f64, f64); 4] = [(-1.0, 1.0), (-7.0, 7.0), (-1e3, 1e3), (-2.6e8, 2.6e8)];

#[test]
fn sin() {
    measure_unary::<Sin>("sin", below_2_28, &ANGLES, |x| reference::sin_cos(x).0.into(), f64::sin);
}

#[test]
fn cos() {
    measure_unary::<Cos>("cos", below_2_28, &ANGLES, |x| reference::sin_cos(x).1.into(), f64::cos);
}

#[test]
fn tan() {
    let exact = |x| {
        let (sine, cosine) = reference::sin_cos(x);
        (sine / cosine).into()
    };
    measure_unary::<Tan>("tan", below_2_28, &ANGLES, exact, f64::tan);
}

/// Rounded multiples of π/2, where argument reduction cancels most bits.
#[test]
fn multiples_of_half_pi() {
    let mut random = Random(2);
    let (mut max_sine, mut max_tangent) = (MaxError::new(), MaxError::new());
    for _ in 0..10_000 {
        let x = random.between((-1.7e8, 1.7e8)).round() * FRAC_PI_2;
        let (sine, cosine) = reference::sin_cos(x);
        let mut got = [0.0; 3];
        Sin::map(&[x], &mut got[..1]);
        Cos::map(&[x], &mut got[1..2]);
        Tan::map(&[x], &mut got[2..]);
        max_sine.record(ulp_error_f64(sine.into(), got[0]), || format!("sin {x:e}"));
        max_sine.record(ulp_error_f64(cosine.into(), got[1]), || format!("cos {x:e}"));
        max_tangent.record(ulp_error_f64((sine / cosine).into(), got[2]), || format!("tan {x:e}"));
    }
    for max in [max_sine, max_tangent] {
        assert!(max.error < 0.8, "{} at {}", max.error, max.at);
    }
}

/// Huge arguments need hundreds of bits of π: arbitrary-precision reference.
#[test]
fn huge_angles() {
    use astro_float_num::{BigFloat, Consts, RoundingMode::None};
    let bits = 1344;
    let mut constants = Consts::new().expect("enough memory");
    let mut random = Random(3);
    let mut check = |x: f64| {
        let exact = BigFloat::from_f64(x, bits);
        let (sine, cosine) = (exact.sin(bits, None, &mut constants), exact.cos(bits, None, &mut constants));
        let tangent = sine.div(&cosine, 256, None);
        let wide_of = |x: &BigFloat| -> Exact {
            let text = |x: &BigFloat, c: &mut Consts| {
                x.format(astro_float_num::Radix::Dec, None, c)
                    .expect("a number")
                    .parse::<f64>()
                    .expect("a number")
            };
            let high = text(x, &mut constants);
            let low = text(&x.sub(&BigFloat::from_f64(high, bits), bits, None), &mut constants);
            reference::Wide { high, low }.into()
        };
        let exact = [&sine, &cosine, &tangent].map(wide_of);
        let mut got = [0.0; 3];
        Sin::map(&[x], &mut got[..1]);
        Cos::map(&[x], &mut got[1..2]);
        Tan::map(&[x], &mut got[2..]);
        for (got, exact) in got.into_iter().zip(exact) {
            let error = ulp_error_f64(exact, got);
            assert!(error < 1.0, "{error} at {x:e}: {got:e}");
        }
    };
    // The f64 closest to a multiple of π/2.
    check(6381956970095103.0 * 2f64.powi(797));
    check(268435456.0);
    check(f64::MAX);
    for _ in 0..60 {
        check(random.of_exponent(28, 1024));
    }
}

/// As the results of f64, which the test above checks.
#[test]
fn huge_angles_of_f32() {
    fn check<F: UnaryFunction<f64> + UnaryFunction<f32>>(x: f32) {
        let (mut single, mut double) = ([0.0_f32], [0.0_f64]);
        F::map(&[x], &mut single);
        F::map(&[f64::from(x)], &mut double);
        assert_eq!(single[0], double[0] as f32, "{} {x:e}", std::any::type_name::<F>());
    }
    let mut random = Random(5);
    for _ in 0..200 {
        let x = random.of_exponent(28, 127) as f32;
        check::<Sin>(x);
        check::<Cos>(x);
        check::<Tan>(x);
    }
}

fn in_unit_interval(x: f64) -> bool {
    x.abs() <= 1.0
}

#[test]
fn asin() {
    let ranges = [(-1.0, 1.0), (-0.6, 0.6), (0.9, 1.0)];
    measure_unary::<Asin>("asin", in_unit_interval, &ranges, |x| reference::asin(x).into(), f64::asin);
}

#[test]
fn acos() {
    let ranges = [(-1.0, 1.0), (-0.6, 0.6), (0.9, 1.0)];
    measure_unary::<Acos>("acos", in_unit_interval, &ranges, |x| reference::acos(x).into(), f64::acos);
}

#[test]
fn atan() {
    let ranges = [(-1.0, 1.0), (-3.0, 3.0), (-100.0, 100.0)];
    measure_unary::<Atan>("atan", everywhere, &ranges, |x| reference::atan(x).into(), f64::atan);
}

#[test]
fn sinh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-711.0, 711.0)];
    measure_unary::<Sinh>("sinh", everywhere, &ranges, reference::sinh, f64::sinh);
}

#[test]
fn cosh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-711.0, 711.0)];
    measure_unary::<Cosh>("cosh", everywhere, &ranges, reference::cosh, f64::cosh);
}

#[test]
fn tanh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-20.0, 20.0)];
    measure_unary::<Tanh>("tanh", everywhere, &ranges, |x| reference::tanh(x).into(), f64::tanh);
}

#[test]
fn asinh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-100.0, 100.0)];
    measure_unary::<Asinh>("asinh", everywhere, &ranges, |x| reference::asinh(x).into(), f64::asinh);
}

#[test]
fn acosh() {
    let ranges = [(1.0, 1.1), (1.0, 5.0), (1.0, 100.0)];
    measure_unary::<Acosh>("acosh", |x| x >= 1.0, &ranges, |x| reference::acosh(x).into(), f64::acosh);
}

#[test]
fn atanh() {
    let ranges = [(-1.0, 1.0), (-0.5, 0.5), (0.9, 1.0)];
    measure_unary::<Atanh>("atanh", |x| x.abs() < 1.0, &ranges, |x| reference::atanh(x).into(), f64::atanh);
}

#[test]
fn cbrt() {
    measure_unary::<Cbrt>("cbrt", everywhere, &[(0.5, 8.0)], |x| reference::cbrt(x).into(), f64::cbrt);
}

#[test]
fn erf() {
    let ranges = [(-1.0, 1.0), (0.8, 0.9), (-6.0, 6.0)];
    measure_unary::<Erf>("erf", everywhere, &ranges, reference::erf, rounded(reference::erf));
}

/// Measures a function of two numbers for f64 and f32, in its domain.
fn measure_binary<F: BinaryFunction<f64> + BinaryFunction<f32>>(
    name: &str,
    domain: impl Fn(f64, f64) -> bool,
    pairs: &mut dyn FnMut(&mut Random) -> Vec<(f64, f64)>,
    exact: impl Fn(f64, f64) -> Exact,
) {
    let mut random = Random(4);
    let mut cases: Vec<(f64, f64)> = (0..sample_count())
        .flat_map(|_| {
            let mut cases = pairs(&mut random);
            cases.push((random.any(), random.any()));
            cases.push((random.of_exponent(-6, 6), random.of_exponent(-6, 6)));
            cases.push((random.of_exponent(-140, 120), random.of_exponent(-140, 120)));
            cases
        })
        .collect();
    for x in EDGES {
        cases.extend(EDGES.iter().flat_map(|&y| [(x, y), (-x, y), (x, -y), (-x, -y)]));
    }
    let in_domain = |&(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && domain(x, y);

    let mut f64_error = MaxError::new();
    let (x, y): (Vec<f64>, Vec<f64>) = cases.iter().copied().filter(in_domain).unzip();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &y, &mut got);
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        f64_error.record(ulp_error_f64(exact(x, y), got), || format!("{x:e}, {y:e}"));
    }

    let mut f32_error = MaxError::new();
    let as_single = |&(x, y): &(f64, f64)| (x as f32, y as f32);
    let in_domain = |&(x, y): &(f32, f32)| in_domain(&(f64::from(x), f64::from(y)));
    let (x, y): (Vec<f32>, Vec<f32>) = cases.iter().map(as_single).filter(in_domain).unzip();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &y, &mut got);
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        f32_error.record(ulp_error_f32(exact(f64::from(x), f64::from(y)), got), || format!("{x:e}, {y:e}"));
    }
    compare(name, &f64_error, &f32_error);
}

#[test]
fn atan2() {
    let mut pairs = |random: &mut Random| {
        vec![
            (random.of_exponent(-1074, -1000), random.of_exponent(-1074, -1000)),
            (random.of_exponent(1000, 1024), random.of_exponent(1000, 1024)),
            (random.of_exponent(-1074, -500), random.of_exponent(-50, 50)),
            (random.between((-5.0, 5.0)), random.between((-5.0, 5.0))),
        ]
    };
    measure_binary::<Atan2>("atan2", |y, x| y != 0.0 && x != 0.0, &mut pairs, reference::atan2_any);
}

#[test]
fn hypot() {
    let mut pairs = |random: &mut Random| {
        vec![
            (random.of_exponent(-1074, -1000), random.of_exponent(-1074, -1000)),
            (random.of_exponent(1000, 1024), random.of_exponent(1000, 1024)),
            (random.between((-5.0, 5.0)), random.between((-5.0, 5.0))),
        ]
    };
    measure_binary::<Hypot>("hypot", |_, _| true, &mut pairs, reference::hypot);
}

#[test]
fn pow() {
    let mut pairs = |random: &mut Random| {
        let log = random.between((-745.0, 709.0));
        let (x, close) = (random.any().abs(), random.between((0.9, 1.1)));
        let closer = 1.0 + random.of_exponent(-40, -3);
        vec![
            // Results with all exponents, from bases with all exponents and near 1.
            (x, log / x.ln()),
            (close, log / close.ln()),
            (closer, log / closer.ln()),
            (random.any(), random.between((-3.0, 3.0))),
            (random.between((-20.0, 20.0)), random.between((-60.0, 60.0)).round()),
        ]
    };
    measure_binary::<Pow>("pow", |x, _| x != 0.0, &mut pairs, reference::pow);
}

#[test]
fn logaddexp() {
    let mut pairs = |random: &mut Random| {
        let x = random.between((-0.69, 0.0));
        vec![
            (random.between((-750.0, 0.0)), random.between((-750.0, 0.0))),
            (random.between((-1.0, 0.0)), random.between((-3.0, 0.0))),
            (random.of_exponent(-1074, 0), random.between((-740.0, 0.0))),
            // Results near 0.
            (x, (-x.exp_m1()).ln() + random.of_exponent(-35, -3)),
        ]
    };
    // Where twelve digits of the result cancel, the reference is no more accurate than the function.
    let domain = |x: f64, y: f64| {
        let exact = reference::logaddexp(x, y);
        exact.power != 0 || exact.value.high.abs() > 1e-12 * x.max(y).abs()
    };
    measure_binary::<Logaddexp>("logaddexp", domain, &mut pairs, reference::logaddexp);
}
