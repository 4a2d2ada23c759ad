//! Complex functions: special values of the array API standard (2025.12), and errors against 106 bits.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LN_10, PI};

use num_complex::Complex;

use super::accuracy::sample_factor;
use super::reference::{self, Wide, wide};
use crate::complex::{Sign, Sqrt, abs, abs_f32};
use crate::*;

type C = Complex<f64>;
type Single = Complex<f32>;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn call<F: UnaryFunction<T>, T: Copy>(z: T) -> T {
    let mut got = [z; 3];
    F::map(&[z; 3], &mut got);
    got[1]
}

/// Whether numbers are equal bit by bit, or, if not 0, closer than `tolerance` (multiples of π are rounded).
fn same(got: f64, wanted: f64, tolerance: f64) -> bool {
    got.is_nan() && wanted.is_nan()
        || got == wanted && got.is_sign_negative() == wanted.is_sign_negative()
        || (got - wanted).abs() < tolerance && wanted != 0.0
}

/// Checks cases x, y, real part, imaginary part, and their conjugates.
fn check<F: UnaryFunction<C> + UnaryFunction<Single>>(name: &str, cases: &[(f64, f64, f64, f64)]) {
    for &(x, y, re, im) in cases {
        for sign in [1.0, -1.0] {
            let (y, im) = (sign * y, sign * im);
            let got = call::<F, C>(C::new(x, y));
            assert!(same(got.re, re, 1e-15) && same(got.im, im, 1e-15), "{name}({x}, {y}) is {got}");
            let got = call::<F, Single>(Single::new(x as f32, y as f32));
            let (got_re, got_im) = (got.re.into(), got.im.into());
            assert!(same(got_re, re, 1e-6) && same(got_im, im, 1e-6), "{name}({x}, {y})f32 is {got}");
        }
    }
}

/// Checks cases of a function with f(-z) = -f(z).
fn check_odd<F: UnaryFunction<C> + UnaryFunction<Single>>(name: &str, cases: &[(f64, f64, f64, f64)]) {
    check::<F>(name, cases);
    let negated: Vec<_> = cases.iter().map(|&(x, y, re, im)| (-x, -y, -re, -im)).collect();
    check::<F>(name, &negated);
}

/// Checks that both parts of the result are NaN.
fn check_nan<F: UnaryFunction<C> + UnaryFunction<Single>>(name: &str, cases: &[(f64, f64)]) {
    let cases: Vec<_> = cases.iter().map(|&(x, y)| (x, y, NAN, NAN)).collect();
    check::<F>(name, &cases);
}

#[test]
fn exponentials() {
    check::<Exp>(
        "exp",
        &[(0.0, 0.0, 1.0, 0.0), (-0.0, 0.0, 1.0, 0.0), (INF, 0.0, INF, 0.0), (NAN, 0.0, NAN, 0.0)],
    );
    check::<Exp>(
        "exp",
        &[(-INF, 0.5, 0.0, 0.0), (-INF, 2.5, -0.0, 0.0), (INF, 0.5, INF, INF), (INF, 2.5, -INF, INF)],
    );
    check::<Exp>("exp", &[(INF, INF, INF, NAN), (INF, NAN, INF, NAN)]);
    // The standard leaves the signs of these zeros open.
    for y in [INF, -INF, NAN] {
        assert_eq!(call::<Exp, C>(C::new(-INF, y)), C::new(0.0, 0.0));
        assert_eq!(call::<Exp2, C>(C::new(-INF, y)), C::new(0.0, 0.0));
        assert_eq!(call::<Expm1, C>(C::new(-INF, y)), C::new(-1.0, 0.0));
    }
    check::<Exp2>(
        "exp2",
        &[(0.0, 0.0, 1.0, 0.0), (-0.0, 0.0, 1.0, 0.0), (INF, 0.0, INF, 0.0), (NAN, 0.0, NAN, 0.0)],
    );
    check::<Exp2>(
        "exp2",
        &[(-INF, 0.5, 0.0, 0.0), (-INF, 2.5, -0.0, 0.0), (INF, 0.5, INF, INF), (INF, 2.5, -INF, INF)],
    );
    check::<Exp2>("exp2", &[(INF, INF, INF, NAN), (INF, NAN, INF, NAN), (3.0, 0.0, 8.0, 0.0)]);
    let nan = [(0.0, INF), (1.0, INF), (-2.5, NAN), (0.0, NAN), (NAN, 1.0), (NAN, INF), (NAN, NAN)];
    check_nan::<Exp>("exp", &nan);
    check_nan::<Exp2>("exp2", &nan);
    check_nan::<Expm1>("expm1", &nan);
    check::<Expm1>("expm1", &[(0.0, 0.0, 0.0, 0.0), (INF, 0.0, INF, 0.0), (NAN, 0.0, NAN, 0.0)]);
    check::<Expm1>("expm1", &[(-INF, 0.5, -1.0, 0.0), (-INF, 2.5, -1.0, 0.0), (INF, 2.5, -INF, INF)]);
    check::<Expm1>("expm1", &[(INF, INF, INF, NAN), (INF, NAN, INF, NAN)]);
    // e^710 overflows, but this result does not.
    let got = call::<Exp, C>(C::new(710.0, FRAC_PI_2));
    assert!(got.re.is_finite() && got.im == INF);
}

#[test]
fn logarithms() {
    let cases = [
        (-2.5, INF, INF, FRAC_PI_2),
        (0.0, INF, INF, FRAC_PI_2),
        (-INF, 0.5, INF, PI),
        (INF, 0.5, INF, 0.0),
        (-INF, INF, INF, 3.0 * FRAC_PI_4),
        (INF, INF, INF, FRAC_PI_4),
        (INF, NAN, INF, NAN),
        (-INF, NAN, INF, NAN),
        (NAN, INF, INF, NAN),
    ];
    let zeros = [(-0.0, 0.0, -INF, PI), (0.0, 0.0, -INF, 0.0)];
    let nan = [(1.0, NAN), (0.0, NAN), (NAN, 1.0), (NAN, 0.0), (NAN, NAN)];
    let over = |divisor: f64, cases: &[(f64, f64, f64, f64)]| -> Vec<_> {
        cases.iter().map(|&(x, y, re, im)| (x, y, re / divisor, im / divisor)).collect()
    };
    for cases in [&cases[..], &zeros] {
        check::<Log>("log", cases);
        check::<Log2>("log2", &over(LN_2, cases));
        check::<Log10>("log10", &over(LN_10, cases));
    }
    check::<Log1p>("log1p", &cases);
    check::<Log1p>("log1p", &[(-1.0, 0.0, -INF, 0.0), (0.0, 0.0, 0.0, 0.0)]);
    check_nan::<Log>("log", &nan);
    check_nan::<Log2>("log2", &nan);
    check_nan::<Log10>("log10", &nan);
    check_nan::<Log1p>("log1p", &nan);
}

#[test]
fn roots_and_signs() {
    check::<Sqrt>(
        "sqrt",
        &[(0.0, 0.0, 0.0, 0.0), (-0.0, 0.0, 0.0, 0.0), (-4.0, 0.0, 0.0, 2.0), (3.0, 4.0, 2.0, 1.0)],
    );
    check::<Sqrt>("sqrt", &[0.0, -2.5, INF, -INF, NAN].map(|x| (x, INF, INF, INF)));
    check::<Sqrt>("sqrt", &[(-INF, 0.5, 0.0, INF), (INF, 0.5, INF, 0.0), (INF, NAN, INF, NAN)]);
    check_nan::<Sqrt>("sqrt", &[(1.0, NAN), (0.0, NAN), (NAN, 1.0), (NAN, NAN)]);
    let got = call::<Sqrt, C>(C::new(-INF, NAN));
    assert!(got.re.is_nan() && got.im.is_infinite());
    let huge = call::<Sqrt, C>(C::new(f64::MAX, f64::MAX));
    assert!(huge.re.is_finite() && huge.im.is_finite());

    assert_eq!(call::<Sign, C>(C::new(-0.0, -0.0)), C::new(0.0, 0.0));
    check::<Sign>("sign", &[(3.0, 4.0, 0.6, 0.8), (-1e-38, 0.0, -1.0, 0.0), (0.0, 1e38, 0.0, 1.0)]);
    check_nan::<Sign>("sign", &[(NAN, 1.0), (1.0, NAN), (NAN, NAN), (INF, NAN), (NAN, INF)]);
    for z in [C::new(f64::MAX, f64::MAX), C::new(1e-320, -1e-320)] {
        let got = call::<Sign, C>(z);
        assert!((abs(got) - 1.0).abs() < 1e-15, "sign({z}) is {got}");
    }
    for (x, y, re, im) in [(INF, -0.5, 1.0, 0.0), (-0.5, INF, 0.0, 1.0), (-INF, 0.0, -1.0, 0.0)] {
        assert_eq!(call::<Sign, C>(C::new(x, y)), C::new(re, im));
    }
    check_nan::<Sign>("sign", &[(INF, INF), (-INF, INF)]);

    for y in [0.0, NAN, INF] {
        assert_eq!(abs(C::new(-INF, y)), INF);
        assert_eq!(abs_f32(Single::new(y as f32, f32::INFINITY)), f32::INFINITY);
    }
    assert!(abs(C::new(NAN, 1.0)).is_nan() && abs_f32(Single::new(1.0, f32::NAN)).is_nan());
    assert_eq!(abs(C::new(-0.0, -3.0)), 3.0);
}

#[test]
fn hyperbolic() {
    check_odd::<Sinh>("sinh", &[(0.0, 0.0, 0.0, 0.0), (0.0, INF, 0.0, NAN), (0.0, NAN, 0.0, NAN)]);
    check_odd::<Sinh>("sinh", &[(INF, 0.0, INF, 0.0), (INF, 0.5, INF, INF), (INF, 2.5, -INF, INF)]);
    check_odd::<Sinh>("sinh", &[(INF, INF, INF, NAN), (INF, NAN, INF, NAN), (NAN, 0.0, NAN, 0.0)]);
    let nan = [(1.0, INF), (1.0, NAN), (NAN, 1.0), (NAN, INF), (NAN, NAN)];
    check_nan::<Sinh>("sinh", &nan);
    check::<Cosh>(
        "cosh",
        &[(0.0, 0.0, 1.0, 0.0), (0.0, INF, NAN, 0.0), (INF, 0.0, INF, 0.0), (-INF, 0.0, INF, -0.0)],
    );
    check::<Cosh>("cosh", &[(INF, 0.5, INF, INF), (INF, 2.5, -INF, INF), (-INF, 2.5, -INF, -INF)]);
    check::<Cosh>("cosh", &[(INF, INF, INF, NAN), (INF, NAN, INF, NAN), (NAN, 0.0, NAN, 0.0)]);
    assert_eq!(call::<Cosh, C>(C::new(0.0, NAN)).im, 0.0);
    check_nan::<Cosh>("cosh", &nan);
    check_odd::<Tanh>("tanh", &[(0.0, 0.0, 0.0, 0.0), (0.0, INF, 0.0, NAN), (0.0, NAN, 0.0, NAN)]);
    check_odd::<Tanh>("tanh", &[(INF, 0.5, 1.0, 0.0), (INF, 2.5, 1.0, 0.0), (INF, INF, 1.0, 0.0)]);
    check_odd::<Tanh>("tanh", &[(NAN, 0.0, NAN, 0.0)]);
    assert_eq!(call::<Tanh, C>(C::new(INF, NAN)).re, 1.0);
    check_nan::<Tanh>("tanh", &nan);
}

#[test]
fn trigonometric() {
    // sin z = -i·sinh(i·z), and so on: derived from the tables above.
    let mut values = vec![0.0, -0.0, 0.5, -2.5, INF, -INF, NAN];
    values.push(1e-300);
    for &x in &values {
        for &y in &values {
            let z = C::new(x, y);
            let iz = C::new(-y, x);
            let times_minus_i = |z: C| C::new(z.im, -z.re);
            let pairs = [
                (call::<Sin, C>(z), times_minus_i(call::<Sinh, C>(iz))),
                (call::<Cos, C>(z), call::<Cosh, C>(iz)),
                (call::<Tan, C>(z), times_minus_i(call::<Tanh, C>(iz))),
                (call::<Asin, C>(z), times_minus_i(call::<Asinh, C>(iz))),
                (call::<Atan, C>(z), times_minus_i(call::<Atanh, C>(iz))),
            ];
            for (got, wanted) in pairs {
                assert!(
                    same(got.re, wanted.re, 0.0) && same(got.im, wanted.im, 0.0),
                    "{z}: {got}, not {wanted}"
                );
            }
        }
    }
}

#[test]
fn inverse_functions() {
    let cases = [
        (0.0, 0.0, FRAC_PI_2, -0.0),
        (-0.0, 0.0, FRAC_PI_2, -0.0),
        (0.0, NAN, FRAC_PI_2, NAN),
        (-2.5, INF, FRAC_PI_2, -INF),
        (-INF, 0.5, PI, -INF),
        (INF, 0.5, 0.0, -INF),
        (-INF, INF, 3.0 * FRAC_PI_4, -INF),
        (INF, INF, FRAC_PI_4, -INF),
        (NAN, INF, NAN, -INF),
    ];
    check::<Acos>("acos", &cases);
    let got = call::<Acos, C>(C::new(INF, NAN));
    assert!(got.re.is_nan() && got.im.is_infinite());
    check_nan::<Acos>("acos", &[(1.0, NAN), (NAN, 1.0), (NAN, 0.0), (NAN, NAN)]);

    let cases = [
        (0.0, 0.0, 0.0, FRAC_PI_2),
        (-0.0, 0.0, 0.0, FRAC_PI_2),
        (2.5, INF, INF, FRAC_PI_2),
        (-INF, 0.5, INF, PI),
        (INF, 0.5, INF, 0.0),
        (-INF, INF, INF, 3.0 * FRAC_PI_4),
        (INF, INF, INF, FRAC_PI_4),
        (INF, NAN, INF, NAN),
        (-INF, NAN, INF, NAN),
        (NAN, INF, INF, NAN),
    ];
    check::<Acosh>("acosh", &cases);
    let got = call::<Acosh, C>(C::new(0.0, NAN));
    assert!(got.re.is_nan() && got.im.abs() == FRAC_PI_2);
    check_nan::<Acosh>("acosh", &[(1.0, NAN), (NAN, 1.0), (NAN, 0.0), (NAN, NAN)]);

    let cases = [
        (0.0, 0.0, 0.0, 0.0),
        (2.5, INF, INF, FRAC_PI_2),
        (INF, 0.5, INF, 0.0),
        (INF, INF, INF, FRAC_PI_4),
        (INF, NAN, INF, NAN),
        (NAN, 0.0, NAN, 0.0),
    ];
    check_odd::<Asinh>("asinh", &cases);
    check_nan::<Asinh>("asinh", &[(1.0, NAN), (0.0, NAN), (NAN, 1.0), (NAN, NAN)]);
    assert!(call::<Asinh, C>(C::new(NAN, INF)).re.is_infinite());

    let cases = [
        (0.0, 0.0, 0.0, 0.0),
        (0.0, NAN, 0.0, NAN),
        (1.0, 0.0, INF, 0.0),
        (2.5, INF, 0.0, FRAC_PI_2),
        (INF, 0.5, 0.0, FRAC_PI_2),
        (INF, INF, 0.0, FRAC_PI_2),
        (INF, NAN, 0.0, NAN),
    ];
    check_odd::<Atanh>("atanh", &cases);
    check_nan::<Atanh>("atanh", &[(1.0, NAN), (NAN, 1.0), (NAN, 0.0), (NAN, NAN)]);
    assert_eq!(call::<Atanh, C>(C::new(NAN, INF)).im, FRAC_PI_2);
}

#[test]
fn powers() {
    let pow = |z: C, w: C| {
        let mut got = [z];
        Pow::map(&[z], &[w], &mut got);
        got[0]
    };
    let i = C::new(0.0, 1.0);
    for z in [C::new(0.0, 0.0), C::new(NAN, 1.0), C::new(INF, 0.0), i] {
        assert_eq!(pow(z, C::new(0.0, 0.0)), C::new(1.0, 0.0));
    }
    assert_eq!(pow(C::new(0.0, 0.0), C::new(2.0, 1.0)), C::new(0.0, 0.0));
    assert!(pow(C::new(0.0, 0.0), C::new(-1.0, 0.0)).re.is_nan());
    assert_eq!(pow(i, C::new(2.0, 0.0)), C::new(-1.0, 0.0));
    assert_eq!(pow(C::new(2.0, 1.0), C::new(3.0, 0.0)), C::new(2.0, 11.0));
    assert!((pow(C::new(2.0, 1.0), C::new(-2.0, 0.0)) - C::new(0.12, -0.16)).norm() < 1e-16);
    assert!((pow(i, i) - C::new((-FRAC_PI_2).exp(), 0.0)).norm() < 1e-16);
    assert!(pow(C::new(NAN, 0.0), C::new(1.5, 0.0)).re.is_nan());
    // Small integers, by exact products: terms cancel.
    assert_eq!(pow(C::new(2.0, 1.0), C::new(4.0, 0.0)), C::new(-7.0, 24.0));
    assert_eq!(pow(C::new(1.0, 1.0), C::new(6.0, 0.0)), C::new(0.0, -8.0));
    let (e, d) = (2f64.powi(-30), 2f64.powi(-31));
    let square = pow(C::new(1.0 + e, 1.0 - d), C::new(2.0, 0.0));
    assert_eq!(square.re, 2.0 * e + e * e + 2.0 * d - d * d);
    // By way of e^(w·ln z).
    let w = C::new(400.5, 1.0);
    for (z, w) in [
        (C::new(3.0, 4.0), C::new(10.5, 300.25)),
        (C::new(1.0, 1e-3), C::new(12345.0, -678.0)),
        (C::new(3.0, 4.0), w),
        (C::new(-3.0, 4.0), w),
        (C::new(-3.0, -4.0), w),
        (C::new(4.0, -3.0), w),
    ] {
        let (large, wanted) = (pow(z, w), wide_pow(z, w));
        assert!((large - wanted).norm() < 4e-15 * wanted.norm(), "{large} {wanted}");
    }
    // Infinite bases and exponents.
    let real = |x: f64| C::new(x, 0.0);
    assert_eq!(pow(real(INF), real(2.5)), real(INF));
    assert_eq!(pow(real(INF), real(-2.5)), real(0.0));
    assert_eq!(pow(real(2.0), real(INF)).re, INF);
    assert_eq!(pow(real(2.0), C::new(INF, 1.0)).re, INF);
    assert!(pow(i, real(INF)).im.is_nan() && pow(real(INF), C::new(1.0, 1.0)).im.is_nan());
    // complex64 is computed as complex128.
    for (z, w) in [(C::new(3.0, 4.0), C::new(1.5, -0.5)), (real(INF), real(2.5)), (real(2.0), real(-INF))] {
        let single = |z: C| Single::new(z.re as f32, z.im as f32);
        let mut got = [Single::new(0.0, 0.0)];
        Pow::map(&[single(z)], &[single(w)], &mut got);
        let wanted = single(pow(z, w));
        assert!(
            got[0] == wanted || wanted.im.is_nan() && got[0].re == wanted.re,
            "{z} to the {w}: {}",
            got[0]
        );
    }
    // Parts whose quotient overflows or underflows.
    for z in [C::new(3e200, 1.0), C::new(-1e-310, 2.0), C::new(1e-200, -3e150)] {
        let (got, wanted) = (pow(z, C::new(0.5, 0.0)), call::<Sqrt, C>(z));
        assert!((got - wanted).norm() < 4e-15 * wanted.norm(), "{got:e} {wanted:e}");
    }
}

/// Whether both parts have a small relative error.
fn is_near(got: C, wanted: C) -> bool {
    let is_near = |got: f64, wanted: f64| (got - wanted).abs() <= 2e-15 * wanted.abs();
    is_near(got.re, wanted.re) && is_near(got.im, wanted.im)
}

/// Numbers of moderate size, which are scaled by powers of two; one part may be far smaller.
fn scaled_numbers(powers: &[i32]) -> Vec<(C, i32, C)> {
    let small = 2f64.powi(-40);
    let numbers = [(1.5, small), (small, -1.5), (-1.5, -small), (1.0, 1.0), (-0.75, 0.5), (0.5, -1.25)];
    let scaled = |x: f64, power: i32| reference::ldexp(x, power);
    let all = powers.iter().flat_map(|&power| numbers.map(|(x, y)| (C::new(x, y), power)));
    all.map(|(z, power)| (z, power, C::new(scaled(z.re, power), scaled(z.im, power)))).collect()
}

/// Squares of these numbers overflow or underflow.
#[test]
fn roots_and_logarithms_of_huge_and_tiny_numbers() {
    for (z, power, scaled) in scaled_numbers(&[-1020, -980, -520, -480, 480, 520, 980, 1023]) {
        let got = call::<Sqrt, C>(scaled);
        let wanted =
            call::<Sqrt, C>(z) * 2f64.powi(power / 2) * if power % 2 == 0 { 1.0 } else { 2f64.sqrt() };
        assert!(is_near(got, wanted), "sqrt({scaled:e}) is {got:e}, not {wanted:e}");
        let got = call::<Log, C>(scaled);
        let wanted = C::new(z.norm().ln() + f64::from(power) * LN_2, z.arg());
        assert!(is_near(got, wanted), "log({scaled:e}) is {got:e}, not {wanted:e}");
        let (got, wanted) = (call::<Sign, C>(scaled), z / z.norm());
        assert!(is_near(got, wanted), "sign({scaled:e}) is {got:e}, not {wanted:e}");
        let (got, wanted) = (abs(scaled), reference::ldexp(z.norm(), power));
        assert!((got - wanted).abs() <= 1e-15 * wanted, "|{scaled:e}| is {got:e}, not {wanted:e}");
        let mut got = [scaled];
        Pow::map(&[scaled], &[C::new(-1.0, 0.0)], &mut got);
        let wanted =
            z.conj() / z.norm_sqr() * 2f64.powi(-power.min(1000)) * 2f64.powi(1000 - power.max(1000));
        // Subnormal results are less accurate.
        if wanted.re.abs().min(wanted.im.abs()) > 1e-300 {
            assert!(is_near(got[0], wanted), "1 / {scaled:e} is {:e}, not {wanted:e}", got[0]);
        }
    }
    // Subnormal numbers.
    let got = call::<Sqrt, C>(C::new(1e-320, 1e-320));
    let wanted = call::<Sqrt, C>(C::new(1e-320 * 2f64.powi(200), 1e-320 * 2f64.powi(200))) * 2f64.powi(-100);
    assert!(is_near(got, wanted), "{got:e}, not {wanted:e}");
}

/// ln(2 |z|) and the angle of z, and 1 / z.
#[test]
fn inverse_functions_of_huge_numbers() {
    for (z, power, scaled) in scaled_numbers(&[480, 520, 1023]) {
        let (log, angle) = (z.norm().ln() + f64::from(power + 1) * LN_2, z.re.atan2(z.im.abs()));
        let asin = C::new(angle, log.copysign(z.im));
        let reciprocal = z.conj() / z.norm_sqr() * 2f64.powi(-power / 2) * 2f64.powi(power / 2 - power);
        for (name, got, wanted) in [
            ("asin", call::<Asin, C>(scaled), asin),
            ("acos", call::<Acos, C>(scaled), C::new(z.im.abs().atan2(z.re), -asin.im)),
            ("acosh", call::<Acosh, C>(scaled), C::new(log, z.arg())),
            ("asinh", call::<Asinh, C>(scaled), C::new(log.copysign(z.re), z.im.atan2(z.re.abs()))),
            ("atanh", call::<Atanh, C>(scaled), C::new(reciprocal.re, FRAC_PI_2.copysign(z.im))),
            ("atan", call::<Atan, C>(scaled), C::new(FRAC_PI_2.copysign(z.re), -reciprocal.im)),
        ] {
            let is_subnormal = wanted.re.abs().min(wanted.im.abs()) < 1e-300;
            assert!(is_subnormal || is_near(got, wanted), "{name}({scaled:e}) is {got:e}, not {wanted:e}");
        }
    }
}

/// |1 - z|² underflows.
#[test]
fn atanh_next_to_one() {
    let got = call::<Atanh, C>(C::new(1.0, 1e-200));
    let wanted = C::new(0.5 * (LN_2 + 200.0 * LN_10), FRAC_PI_4);
    assert!(is_near(got, wanted), "{got:e}, not {wanted:e}");
}

/// f(z) is z for tiny numbers.
#[test]
fn functions_of_tiny_numbers() {
    for (_, _, z) in scaled_numbers(&[-1020, -980, -520, -480, -100]) {
        for (name, got) in [
            ("expm1", call::<Expm1, C>(z)),
            ("log1p", call::<Log1p, C>(z)),
            ("sinh", call::<Sinh, C>(z)),
            ("tanh", call::<Tanh, C>(z)),
            ("asinh", call::<Asinh, C>(z)),
            ("atanh", call::<Atanh, C>(z)),
            ("sin", call::<Sin, C>(z)),
            ("tan", call::<Tan, C>(z)),
            ("asin", call::<Asin, C>(z)),
            ("atan", call::<Atan, C>(z)),
        ] {
            assert!(is_near(got, z), "{name}({z:e}) is {got:e}");
        }
    }
}

/// Where e^x overflows, or nearly so.
#[test]
fn exponentials_of_large_numbers() {
    for (x, y) in [(50.0, 1.0), (705.0, 2.5), (-705.0, -1.0), (711.0, 1.5706), (-711.0, 1.5706)] {
        let z = C::new(x, y);
        // e^|x| · (cos y + i·sin y), without overflow in between.
        let exp = |factor: C| factor * (x.abs() - 20.0).exp() * 20f64.exp();
        let half = C::new(0.5 * y.cos(), 0.5 * y.sin());
        let finite = |got: C, wanted: C| {
            let part = |got: f64, wanted: f64| got == wanted || (got - wanted).abs() < 1e-14 * wanted.abs();
            part(got.re, wanted.re) && part(got.im, wanted.im)
        };
        let (sinh, cosh) = (call::<Sinh, C>(z), call::<Cosh, C>(z));
        assert!(finite(sinh, exp(C::new(half.re.copysign(x * y.cos()), half.im))), "sinh({z}) is {sinh:e}");
        assert!(finite(cosh, exp(C::new(half.re, half.im * x.signum()))), "cosh({z}) is {cosh:e}");
        if x > 0.0 {
            for got in [call::<Exp, C>(z), call::<Expm1, C>(z)] {
                assert!(finite(got, exp(half * 2.0)), "exp({z}) is {got:e}");
            }
        }
    }
    for (x, y) in [(25.0, 1.0), (-30.0, 2.5), (400.0, 1.0)] {
        let got = call::<Tanh, C>(C::new(x, y));
        let wanted = C::new(1f64.copysign(x), 4.0 * y.cos() * y.sin() * (-2.0 * x.abs()).exp());
        assert!(
            (got - wanted).norm() < 1e-15 && (got.im - wanted.im).abs() <= 1e-14 * wanted.im.abs(),
            "{got:e}"
        );
    }
}

/// Results overflow, underflow, or have the sign of a zero; angles are larger than the fast functions take.
#[test]
fn powers_of_two() {
    for (x, y) in [(1023.5, 2.0), (-1070.0, 1.0), (4000.0, 1.0), (-4000.0, 1.0), (f64::MAX, 0.5), (3.0, -0.0)]
    {
        let (got, angle) = (call::<Exp2, C>(C::new(x, y)), y * LN_2);
        let size = Exp2::eval(x);
        let part = |got: f64, factor: f64| {
            let wanted = if x == 1023.5 { Exp2::eval(x - 2.0) * factor * 4.0 } else { size * factor };
            assert_eq!(got.is_sign_negative(), wanted.is_sign_negative(), "exp2({x}, {y}) is {got:e}");
            assert!(
                got == wanted || (got - wanted).abs() <= 1e-14 * wanted.abs() + 5e-324,
                "{got:e}, {wanted:e}"
            );
        };
        part(got.re, angle.cos());
        part(got.im, angle.sin());
    }
    // 2^(i·(y + y)) is the square of 2^(i·y), to the last bits.
    for y in [1e5, 1e9, 3e15, 1e18, 1e100, -1e300] {
        let (half, whole) = (call::<Exp2, C>(C::new(0.0, y)), call::<Exp2, C>(C::new(0.0, y + y)));
        assert!((half * half - whole).norm() < 2e-15, "{y}: {half} {whole}");
    }
}

/// The real part of ln(1 + z) is small where |1 + z| is nearly 1, and still accurate.
#[test]
fn log1p_on_the_unit_circle() {
    for i in 1..120 {
        let z = C::from_polar(1.0, 0.05 * f64::from(i)) - 1.0;
        let (x, y) = (wide(z.re), wide(z.im));
        let wanted = (reference::log1p(x + x + x * x + y * y) * wide(0.5)).high;
        let got = call::<Log1p, C>(z);
        assert!((got.re - wanted).abs() <= 1e-10 * wanted.abs(), "log1p({z:e}) is {got:e}, not {wanted:e}");
    }
}

/// A complex number with 106 bits in each part.
#[derive(Clone, Copy)]
struct Big {
    re: Wide,
    im: Wide,
}

fn big(z: C) -> Big {
    Big { re: wide(z.re), im: wide(z.im) }
}

impl Big {
    fn times(self, z: Big) -> Big {
        Big { re: self.re * z.re - self.im * z.im, im: self.re * z.im + self.im * z.re }
    }

    fn plus(self, z: Big) -> Big {
        Big { re: self.re + z.re, im: self.im + z.im }
    }

    /// i·z.
    fn times_i(self) -> Big {
        Big { re: -self.im, im: self.re }
    }

    fn over(self, z: Big) -> Big {
        let square = z.re * z.re + z.im * z.im;
        let product = self.times(Big { re: z.re, im: -z.im });
        Big { re: product.re / square, im: product.im / square }
    }

    fn sqrt(self) -> Big {
        let size = (self.re * self.re + self.im * self.im).sqrt();
        let root = ((self.re.abs() + size) * wide(0.5)).sqrt();
        let other = self.im.abs() / (root + root);
        let sign = wide(1f64.copysign(self.im.high));
        if self.re.high < 0.0 {
            Big { re: other, im: root * sign }
        } else {
            Big { re: root, im: other * sign }
        }
    }

    fn log(self) -> Big {
        let square = self.re * self.re + self.im * self.im;
        Big { re: reference::log(square) * wide(0.5), im: reference::atan2(self.im, self.re) }
    }

    fn exp(self) -> Big {
        let size = reference::exp(self.re).wide();
        // The low part of the angle, to first order.
        let (sine, cosine) = reference::sin_cos(self.im.high);
        let low = wide(self.im.low);
        Big { re: size * (cosine - sine * low), im: size * (sine + cosine * low) }
    }

    fn rounded(self) -> C {
        C::new(self.re.high, self.im.high)
    }
}

fn wide_pow(z: C, w: C) -> C {
    big(z).log().times(big(w)).exp().rounded()
}

/// The largest relative error over the plane, in units of 2^-53, and its argument.
fn max_error<F: UnaryFunction<C>>(exact: impl Fn(Big) -> Big) -> (f64, C) {
    let mut max = (0.0, C::new(0.0, 0.0));
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / 2f64.powi(53)
    };
    for n in 0..(20_000.0 * sample_factor()) as usize {
        let (a, b) = (random(), random());
        // In a square, with many magnitudes, and near the branch points 1 and -i.
        let z = match n % 4 {
            0 => C::new(8.0 * a - 4.0, 8.0 * b - 4.0),
            1 => C::from_polar((14.0 * a - 10.0).exp(), std::f64::consts::TAU * b),
            2 => C::new(1.0, 0.0) + C::from_polar((-20.0 * a).exp(), std::f64::consts::TAU * b),
            _ => C::new(0.0, -1.0) + C::from_polar((-20.0 * a).exp(), std::f64::consts::TAU * b),
        };
        let exact = exact(big(z));
        let got = call::<F, C>(z);
        let off = Big { re: wide(got.re) - exact.re, im: wide(got.im) - exact.im }.rounded();
        let error = off.norm() / exact.rounded().norm() * 2f64.powi(53);
        if error > max.0 {
            max = (error, z);
        }
    }
    max
}

#[test]
fn accuracy() {
    let one = big(C::new(1.0, 0.0));
    let minus = |z: Big| Big { re: -z.re, im: -z.im };
    let half = big(C::new(0.5, 0.0));
    let times_minus_i = move |z: Big| minus(z.times_i());
    let sinh = move |z: Big| z.exp().plus(minus(minus(z).exp())).times(half);
    let cosh = move |z: Big| z.exp().plus(minus(z).exp()).times(half);
    // ln(z + √(z² + 1)); asin and acos follow from it.
    let asinh = move |z: Big| z.plus(z.times(z).plus(one).sqrt()).log();
    let asin = move |z: Big| times_minus_i(asinh(z.times_i()));
    let atanh = move |z: Big| one.plus(z).log().plus(minus(one.plus(minus(z)).log())).times(half);
    let acosh = move |z: Big| {
        let roots = z.plus(one).sqrt().times(z.plus(minus(one)).sqrt());
        z.plus(roots).log()
    };
    let acos = move |z: Big| {
        let arc = asin(z);
        Big { re: reference::pi() * wide(0.5) - arc.re, im: -arc.im }
    };
    let ln_2 = Big { re: reference::log(wide(2.0)), im: wide(0.0) };
    let ln_10 = Big { re: reference::log(wide(10.0)), im: wide(0.0) };
    for (name, (error, at)) in [
        ("exp", max_error::<Exp>(Big::exp)),
        ("exp2", max_error::<Exp2>(|z| z.times(ln_2).exp())),
        ("expm1", max_error::<Expm1>(|z| z.exp().plus(minus(one)))),
        ("log", max_error::<Log>(Big::log)),
        ("log10", max_error::<Log10>(|z| z.log().over(ln_10))),
        ("log1p", max_error::<Log1p>(|z| z.plus(one).log())),
        ("sqrt", max_error::<Sqrt>(Big::sqrt)),
        ("sinh", max_error::<Sinh>(sinh)),
        ("cosh", max_error::<Cosh>(cosh)),
        ("tanh", max_error::<Tanh>(|z| sinh(z).over(cosh(z)))),
        ("sin", max_error::<Sin>(|z| times_minus_i(sinh(z.times_i())))),
        ("cos", max_error::<Cos>(|z| cosh(z.times_i()))),
        ("tan", max_error::<Tan>(|z| times_minus_i(sinh(z.times_i()).over(cosh(z.times_i()))))),
        ("asinh", max_error::<Asinh>(asinh)),
        ("acosh", max_error::<Acosh>(acosh)),
        ("atanh", max_error::<Atanh>(atanh)),
        ("asin", max_error::<Asin>(asin)),
        ("acos", max_error::<Acos>(acos)),
        ("atan", max_error::<Atan>(|z| times_minus_i(atanh(z.times_i())))),
    ] {
        println!("| {name} | {error:.2} | {at:e} |");
        assert!(error < 5.0, "error of {name} is {error} at {at:e}");
    }
}
