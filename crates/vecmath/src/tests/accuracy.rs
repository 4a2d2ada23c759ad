//! The error of every function, measured, and docs/accuracy.md held to it.
//!
//! An error is counted in units of the last place of the exact result: 0.5 is what rounding alone may cost.
//! f64 is judged by `wide`; f32 by the standard library's f64 functions, which the product does not use.
//!
//! `UNISHAPE_ACCURACY=100 cargo test --release -p unishape-vecmath --lib tests::accuracy -- --nocapture` looks at
//! a hundred times as many arguments, and shows the rows of the table.

use std::f64::consts::{FRAC_PI_2, LN_2, PI, SQRT_2};

use super::wide::{self, Exact, wide};
use crate::*;

/// The page that says how large the errors are.
const PAGE: &str = include_str!("../../../../docs/accuracy.md");

/// The worst that was seen.
struct Worst {
    error: f64,
    at: String,
}

impl Worst {
    fn new() -> Worst {
        Worst { error: 0.0, at: String::from("-") }
    }

    fn see(&mut self, error: f64, at: impl FnOnce() -> String) {
        if error > self.error {
            *self = Worst { error, at: at() };
        }
    }
}

/// Holds a row of the page against what was measured.
fn compare(name: &str, double: &Worst, single: &Worst) {
    println!("| {name} | {:.3} | {} | {:.3} | {} |", double.error, double.at, single.error, single.at);
    let row = PAGE.lines().find(|line| line.starts_with(&format!("| {name} |")));
    let row = row.unwrap_or_else(|| panic!("docs/accuracy.md has no row for {name}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    for (what, cell, worst) in [("f64", cells[2], double), ("f32", cells[4], single)] {
        let bound: f64 = cell.parse().unwrap_or_else(|_| panic!("no number in the row of {name}"));
        assert!(bound <= 2.0, "{name} for {what} may be off by {bound}");
        let Worst { error, at } = worst;
        assert!(*error <= bound, "{name} for {what} is off by {error:.3} at {at}; the page says {bound}");
    }
}

/// How many times as many arguments as usual.
fn times() -> usize {
    std::env::var("UNISHAPE_ACCURACY").map_or(1, |times| times.parse().expect("a number"))
}

/// Numbers without a pattern, the same in every run.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut x = self.0;
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8feb86659fd93);
        x ^ (x >> 32)
    }

    /// Evenly from one number to another.
    fn between(&mut self, (from, to): (f64, f64)) -> f64 {
        (to - from).mul_add((self.bits() >> 11) as f64 / 2f64.powi(53), from)
    }

    /// Of either sign, with exponents evenly from one to another.
    fn of_size(&mut self, from: i32, to: i32) -> f64 {
        let range = u64::try_from(to - from).expect("from is not larger");
        let exponent = from + i32::try_from(self.bits() % range).expect("a small number");
        let m = f64::from_bits((self.bits() >> 12) | 0x3ff0000000000000);
        let size = wide::ldexp(m, exponent);
        if self.bits() & 1 == 0 { size } else { -size }
    }

    fn any(&mut self) -> f64 {
        f64::from_bits(self.bits())
    }
}

/// Where methods change, and results leave what numbers can hold.
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

/// Arguments of all sizes, more of the given ranges, and all around the edges.
fn arguments(ranges: &[(f64, f64)]) -> Vec<f64> {
    let mut random = Random(1);
    let count = 4000 * times();
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(random.any());
        all.push(random.of_size(-30, 10));
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

/// Every bit pattern of f32 in turn, with a step: some 500,000 of them.
fn single_arguments() -> Vec<f32> {
    (0..=u32::MAX).step_by((8191 / times()).max(1) | 1).map(f32::from_bits).collect()
}

fn error_double(exact: Exact, got: f64) -> f64 {
    exact.error(got, 53, -1074, 1024)
}

fn error_single(exact: Exact, got: f32) -> f64 {
    exact.error(f64::from(got), 24, -149, 128)
}

/// Measures a function of one number, for both types, where it is defined.
fn measure<F: UnaryFunction<f64> + UnaryFunction<f32>>(
    name: &str,
    domain: impl Fn(f64) -> bool,
    ranges: &[(f64, f64)],
    judge: impl Fn(f64) -> Exact,
    single_judge: impl Fn(f64) -> f64,
) {
    let mut double = Worst::new();
    let x = arguments(ranges);
    let mut got = vec![0.0; x.len()];
    F::map(&x, &mut got);
    for (x, got) in x.into_iter().zip(got).filter(|&(x, _)| x.is_finite() && domain(x)) {
        double.see(error_double(judge(x), got), || format!("{x:e}"));
    }
    let mut single = Worst::new();
    let x = single_arguments();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &mut got);
    for (x, got) in x.into_iter().zip(got).filter(|&(x, _)| x.is_finite() && domain(f64::from(x))) {
        single.see(error_single(wide(single_judge(f64::from(x))).into(), got), || format!("{x:e}"));
    }
    compare(name, &double, &single);
}

fn everywhere(_: f64) -> bool {
    true
}

/// Judges that are the same for f32 as for f64, rounded.
fn rounded(judge: impl Fn(f64) -> Exact) -> impl Fn(f64) -> f64 {
    move |x| {
        let Exact { value, power } = judge(x);
        wide::ldexp(value.high, power)
    }
}

#[test]
fn exp() {
    let ranges = [(-746.0, 710.0), (-1.0, 1.0), (-20.0, 20.0)];
    measure::<Exp>("exp", everywhere, &ranges, |x| wide::exp(wide(x)), f64::exp);
}

#[test]
fn exp2() {
    let ranges = [(-1076.0, 1024.0), (-1.0, 1.0), (-20.0, 20.0)];
    measure::<Exp2>("exp2", everywhere, &ranges, wide::exp2, f64::exp2);
}

#[test]
fn expm1() {
    let ranges = [(-40.0, 710.0), (-1.0, 1.0), (-5.0, 5.0)];
    measure::<Expm1>("expm1", everywhere, &ranges, |x| wide::expm1(wide(x)), f64::exp_m1);
}

#[test]
fn sigmoid() {
    let ranges = [(-746.0, 40.0), (-1.0, 1.0), (-20.0, 20.0)];
    measure::<Sigmoid>("sigmoid", everywhere, &ranges, wide::sigmoid, |x| 1.0 / (1.0 + (-x).exp()));
}

fn positive(x: f64) -> bool {
    x > 0.0
}

const NEAR_ONE: [(f64, f64); 3] = [(0.0, 3.0), (0.7, 1.42), (0.99, 1.01)];

#[test]
fn log() {
    measure::<Log>("log", positive, &NEAR_ONE, |x| wide::log(wide(x)).into(), f64::ln);
}

#[test]
fn log2() {
    measure::<Log2>("log2", positive, &NEAR_ONE, |x| wide::log2(wide(x)).into(), f64::log2);
}

#[test]
fn log10() {
    measure::<Log10>("log10", positive, &NEAR_ONE, |x| wide::log10(wide(x)).into(), f64::log10);
}

#[test]
fn log1p() {
    let ranges = [(-1.0, 3.0), (-0.3, 0.42), (-0.01, 0.01)];
    measure::<Log1p>("log1p", |x| x > -1.0, &ranges, |x| wide::log1p(wide(x)).into(), f64::ln_1p);
}

/// What the judge can do. The others have a test of their own below.
fn not_huge(x: f64) -> bool {
    x.abs() < 268435456.0
}

const TURNS: [(f64, f64); 4] = [(-1.0, 1.0), (-7.0, 7.0), (-1e3, 1e3), (-2.6e8, 2.6e8)];

#[test]
fn sin() {
    measure::<Sin>("sin", not_huge, &TURNS, |x| wide::sin_cos(x).0.into(), f64::sin);
}

#[test]
fn cos() {
    measure::<Cos>("cos", not_huge, &TURNS, |x| wide::sin_cos(x).1.into(), f64::cos);
}

#[test]
fn tan() {
    let judge = |x| {
        let (sine, cosine) = wide::sin_cos(x);
        (sine / cosine).into()
    };
    measure::<Tan>("tan", not_huge, &TURNS, judge, f64::tan);
}

/// Multiples of π/2, where little is left of the argument, rounded and so not quite.
#[test]
fn turns_close_to_zeros() {
    let mut random = Random(2);
    let (mut worst_sine, mut worst_tangent) = (Worst::new(), Worst::new());
    for _ in 0..10_000 {
        let x = random.between((-1.7e8, 1.7e8)).round() * FRAC_PI_2;
        let (sine, cosine) = wide::sin_cos(x);
        let mut got = [0.0; 3];
        Sin::map(&[x], &mut got[..1]);
        Cos::map(&[x], &mut got[1..2]);
        Tan::map(&[x], &mut got[2..]);
        worst_sine.see(error_double(sine.into(), got[0]), || format!("sin {x:e}"));
        worst_sine.see(error_double(cosine.into(), got[1]), || format!("cos {x:e}"));
        worst_tangent.see(error_double((sine / cosine).into(), got[2]), || format!("tan {x:e}"));
    }
    for worst in [worst_sine, worst_tangent] {
        assert!(worst.error < 0.8, "{} at {}", worst.error, worst.at);
    }
}

/// Huge arguments need hundreds of bits of π: numbers from a crate that others wrote.
#[test]
fn huge_turns() {
    use astro_float_num::{BigFloat, Consts, RoundingMode::None};
    let bits = 1344;
    let mut constants = Consts::new().expect("memory");
    let mut random = Random(3);
    let mut check = |x: f64| {
        let exact = BigFloat::from_f64(x, bits);
        let (sine, cosine) = (exact.sin(bits, None, &mut constants), exact.cos(bits, None, &mut constants));
        let tangent = sine.div(&cosine, 256, None);
        let wide_of = |x: &BigFloat| -> Exact {
            let text = |x: &BigFloat, c: &mut Consts| {
                x.format(astro_float_num::Radix::Dec, None, c).expect("a number").parse::<f64>().expect("one")
            };
            let high = text(x, &mut constants);
            let low = text(&x.sub(&BigFloat::from_f64(high, bits), bits, None), &mut constants);
            wide::Wide { high, low }.into()
        };
        let exact = [&sine, &cosine, &tangent].map(wide_of);
        let mut got = [0.0; 3];
        Sin::map(&[x], &mut got[..1]);
        Cos::map(&[x], &mut got[1..2]);
        Tan::map(&[x], &mut got[2..]);
        for (got, exact) in got.into_iter().zip(exact) {
            let error = error_double(exact, got);
            assert!(error < 1.0, "{error} at {x:e}: {got:e}");
        }
    };
    // The one that comes closest to a multiple of π/2.
    check(6381956970095103.0 * 2f64.powi(797));
    check(268435456.0);
    check(f64::MAX);
    for _ in 0..60 {
        check(random.of_size(28, 1024));
    }
}

fn inside(x: f64) -> bool {
    x.abs() <= 1.0
}

#[test]
fn asin() {
    let ranges = [(-1.0, 1.0), (-0.6, 0.6), (0.9, 1.0)];
    measure::<Asin>("asin", inside, &ranges, |x| wide::asin(x).into(), f64::asin);
}

#[test]
fn acos() {
    let ranges = [(-1.0, 1.0), (-0.6, 0.6), (0.9, 1.0)];
    measure::<Acos>("acos", inside, &ranges, |x| wide::acos(x).into(), f64::acos);
}

#[test]
fn atan() {
    let ranges = [(-1.0, 1.0), (-3.0, 3.0), (-100.0, 100.0)];
    measure::<Atan>("atan", everywhere, &ranges, |x| wide::atan(x).into(), f64::atan);
}

#[test]
fn sinh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-711.0, 711.0)];
    measure::<Sinh>("sinh", everywhere, &ranges, wide::sinh, f64::sinh);
}

#[test]
fn cosh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-711.0, 711.0)];
    measure::<Cosh>("cosh", everywhere, &ranges, wide::cosh, f64::cosh);
}

#[test]
fn tanh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-20.0, 20.0)];
    measure::<Tanh>("tanh", everywhere, &ranges, |x| wide::tanh(x).into(), f64::tanh);
}

#[test]
fn asinh() {
    let ranges = [(-1.0, 1.0), (-5.0, 5.0), (-100.0, 100.0)];
    measure::<Asinh>("asinh", everywhere, &ranges, |x| wide::asinh(x).into(), f64::asinh);
}

#[test]
fn acosh() {
    let ranges = [(1.0, 1.1), (1.0, 5.0), (1.0, 100.0)];
    measure::<Acosh>("acosh", |x| x >= 1.0, &ranges, |x| wide::acosh(x).into(), f64::acosh);
}

#[test]
fn atanh() {
    let ranges = [(-1.0, 1.0), (-0.5, 0.5), (0.9, 1.0)];
    measure::<Atanh>("atanh", |x| x.abs() < 1.0, &ranges, |x| wide::atanh(x).into(), f64::atanh);
}

#[test]
fn cbrt() {
    measure::<Cbrt>("cbrt", everywhere, &[(0.5, 8.0)], |x| wide::cbrt(x).into(), f64::cbrt);
}

#[test]
fn erf() {
    let ranges = [(-1.0, 1.0), (0.8, 0.9), (-6.0, 6.0)];
    measure::<Erf>("erf", everywhere, &ranges, wide::erf, rounded(wide::erf));
}

/// Measures a function of two numbers, for both types, where it is defined.
fn measure2<F: BinaryFunction<f64> + BinaryFunction<f32>>(
    name: &str,
    domain: impl Fn(f64, f64) -> bool,
    pairs: &mut dyn FnMut(&mut Random) -> Vec<(f64, f64)>,
    judge: impl Fn(f64, f64) -> Exact,
) {
    let mut random = Random(4);
    let mut cases: Vec<(f64, f64)> = (0..4000 * times())
        .flat_map(|_| {
            let mut cases = pairs(&mut random);
            cases.push((random.any(), random.any()));
            cases.push((random.of_size(-6, 6), random.of_size(-6, 6)));
            cases.push((random.of_size(-140, 120), random.of_size(-140, 120)));
            cases
        })
        .collect();
    for x in EDGES {
        cases.extend(EDGES.iter().flat_map(|&y| [(x, y), (-x, y), (x, -y), (-x, -y)]));
    }
    let in_domain = |&(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && domain(x, y);

    let mut double = Worst::new();
    let (x, y): (Vec<f64>, Vec<f64>) = cases.iter().copied().filter(in_domain).unzip();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &y, &mut got);
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        double.see(error_double(judge(x, y), got), || format!("{x:e}, {y:e}"));
    }

    let mut single = Worst::new();
    let as_single = |&(x, y): &(f64, f64)| (x as f32, y as f32);
    let in_domain = |&(x, y): &(f32, f32)| in_domain(&(f64::from(x), f64::from(y)));
    let (x, y): (Vec<f32>, Vec<f32>) = cases.iter().map(as_single).filter(in_domain).unzip();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &y, &mut got);
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        single.see(error_single(judge(f64::from(x), f64::from(y)), got), || format!("{x:e}, {y:e}"));
    }
    compare(name, &double, &single);
}

#[test]
fn atan2() {
    let mut pairs = |random: &mut Random| {
        vec![
            (random.of_size(-1074, -1000), random.of_size(-1074, -1000)),
            (random.of_size(1000, 1024), random.of_size(1000, 1024)),
            (random.of_size(-1074, -500), random.of_size(-50, 50)),
            (random.between((-5.0, 5.0)), random.between((-5.0, 5.0))),
        ]
    };
    measure2::<Atan2>("atan2", |y, x| y != 0.0 && x != 0.0, &mut pairs, wide::atan2_any);
}

#[test]
fn hypot() {
    let mut pairs = |random: &mut Random| {
        vec![
            (random.of_size(-1074, -1000), random.of_size(-1074, -1000)),
            (random.of_size(1000, 1024), random.of_size(1000, 1024)),
            (random.between((-5.0, 5.0)), random.between((-5.0, 5.0))),
        ]
    };
    measure2::<Hypot>("hypot", |_, _| true, &mut pairs, wide::hypot);
}

#[test]
fn pow() {
    let mut pairs = |random: &mut Random| {
        let log = random.between((-745.0, 709.0));
        let (x, close) = (random.any().abs(), random.between((0.9, 1.1)));
        let closer = 1.0 + random.of_size(-40, -3);
        vec![
            // Results of all sizes, from numbers of all sizes and close to 1.
            (x, log / x.ln()),
            (close, log / close.ln()),
            (closer, log / closer.ln()),
            (random.any(), random.between((-3.0, 3.0))),
            (random.between((-20.0, 20.0)), random.between((-60.0, 60.0)).round()),
        ]
    };
    measure2::<Pow>("pow", |x, _| x != 0.0, &mut pairs, wide::pow);
}

#[test]
fn logaddexp() {
    let mut pairs = |random: &mut Random| {
        let x = random.between((-0.69, 0.0));
        vec![
            (random.between((-750.0, 0.0)), random.between((-750.0, 0.0))),
            (random.between((-1.0, 0.0)), random.between((-3.0, 0.0))),
            (random.of_size(-1074, 0), random.between((-740.0, 0.0))),
            // Close to where it is 0.
            (x, (-x.exp_m1()).ln() + random.of_size(-35, -3)),
        ]
    };
    // Where the result is 0 to twelve digits the judge has no more bits than the product.
    let domain = |x: f64, y: f64| {
        let exact = wide::logaddexp(x, y);
        exact.power != 0 || exact.value.high.abs() > 1e-12 * x.max(y).abs()
    };
    measure2::<Logaddexp>("logaddexp", domain, &mut pairs, wide::logaddexp);
}
