//! Special values of real functions: those of the array API standard (2025.12), sentence by sentence, and
//! corresponding ones of functions that it does not define.

use crate::*;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn same(got: f64, wanted: f64) -> bool {
    got.is_nan() && wanted.is_nan() || got.to_bits() == wanted.to_bits()
}

/// Checks each case in a slice with several SIMD vectors and a remainder.
fn check<F: UnaryFunction<f64> + UnaryFunction<f32>>(name: &str, cases: &[(f64, f64)]) {
    for &(x, wanted) in cases {
        let mut got = [0.5; 21];
        F::map(&[x; 21], &mut got);
        assert!(got.iter().all(|&got| same(got, wanted)), "{name}({x}) is {}", got[0]);
        let mut got = [0.5; 37];
        F::map(&[x as f32; 37], &mut got);
        assert!(got.iter().all(|&got| same(got.into(), wanted)), "{name}({x}f32) is {}", got[0]);
    }
}

fn check_binary<F: BinaryFunction<f64> + BinaryFunction<f32>>(name: &str, cases: &[(f64, f64, f64)]) {
    for &(x, y, wanted) in cases {
        let mut got = [0.5; 21];
        F::map(&[x; 21], &[y; 21], &mut got);
        assert!(got.iter().all(|&got| same(got, wanted)), "{name}({x}, {y}) is {}", got[0]);
        let mut got = [0.5; 37];
        F::map(&[x as f32; 37], &[y as f32; 37], &mut got);
        // Multiples of π are the only results that are not exact in f32.
        let wanted = f64::from(wanted as f32);
        assert!(got.iter().all(|&got| same(got.into(), wanted)), "{name}({x}f32, {y}f32) is {}", got[0]);
    }
}

#[test]
fn exponentials() {
    check::<Exp>(
        "exp",
        &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)],
    );
    check::<Exp2>("exp2", &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (3.0, 8.0)]);
    check::<Expm1>("expm1", &[(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0)]);
    check::<Sigmoid>("sigmoid", &[(NAN, NAN), (0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0)]);
}

#[test]
fn logarithms() {
    let cases = [(NAN, NAN), (-1.0, NAN), (-INF, NAN), (-1e-30, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0)];
    let more = [(INF, INF)];
    for cases in [&cases[..], &more] {
        check::<Log>("log", cases);
        check::<Log2>("log2", cases);
        check::<Log10>("log10", cases);
    }
    check::<Log2>("log2", &[(8.0, 3.0), (0.25, -2.0)]);
    check::<Log10>("log10", &[(1000.0, 3.0), (1e10, 10.0)]);
    let cases = [(NAN, NAN), (-1.5, NAN), (-INF, NAN), (-1.0, -INF), (0.0, 0.0), (-0.0, -0.0), (INF, INF)];
    check::<Log1p>("log1p", &cases);
}

/// Logarithms of powers of the base are exact.
#[test]
fn logarithms_of_powers() {
    for n in -1074..1024 {
        let mut got = [0.0];
        Log2::map(&[super::reference::ldexp(1.0, n)], &mut got);
        assert_eq!(got[0], f64::from(n));
        Exp2::map(&[f64::from(n)], &mut got);
        assert_eq!(got[0], super::reference::ldexp(1.0, n));
    }
    for n in 0..=22 {
        let mut got = [0.0];
        Log10::map(&[10f64.powi(n)], &mut got);
        assert_eq!(got[0], f64::from(n));
    }
}

#[test]
fn trigonometric_and_inverse() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0)];
    check::<Sin>("sin", &odd);
    check::<Tan>("tan", &odd);
    check::<Asin>("asin", &odd);
    check::<Atan>("atan", &odd);
    for x in [INF, -INF] {
        check::<Sin>("sin", &[(x, NAN)]);
        check::<Cos>("cos", &[(x, NAN)]);
        check::<Tan>("tan", &[(x, NAN)]);
    }
    check::<Cos>("cos", &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0)]);
    let outside = [(1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)];
    check::<Asin>("asin", &outside);
    check::<Acos>("acos", &outside);
    check::<Acos>("acos", &[(NAN, NAN), (1.0, 0.0)]);
    let mut got = [0.0; 4];
    Atan::map(&[INF, -INF, 1.0, 1e308], &mut got);
    let half = std::f64::consts::FRAC_PI_2;
    assert_eq!(got, [half, -half, half / 2.0, half]);
    Asin::map(&[1.0, -1.0, 0.0, 0.0], &mut got);
    assert_eq!(got[..2], [half, -half]);
    Acos::map(&[0.0, -0.0, -1.0, 0.0], &mut got);
    assert_eq!(got[..3], [half, half, 2.0 * half]);
}

#[test]
fn hyperbolic() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)];
    check::<Sinh>("sinh", &odd);
    check::<Asinh>("asinh", &odd);
    check::<Cosh>("cosh", &[(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)]);
    check::<Tanh>("tanh", &[(NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)]);
    check::<Acosh>("acosh", &[(NAN, NAN), (0.5, NAN), (-1.0, NAN), (-INF, NAN), (1.0, 0.0), (INF, INF)]);
    let cases = [(NAN, NAN), (-1.5, NAN), (1.5, NAN), (INF, NAN), (-INF, NAN), (-1.0, -INF), (1.0, INF)];
    check::<Atanh>("atanh", &cases);
    check::<Atanh>("atanh", &[(0.0, 0.0), (-0.0, -0.0)]);
}

#[test]
fn roots_and_error_function() {
    let odd = [(NAN, NAN), (0.0, 0.0), (-0.0, -0.0)];
    check::<Cbrt>("cbrt", &odd);
    check::<Cbrt>("cbrt", &[(INF, INF), (-INF, -INF), (27.0, 3.0), (-0.125, -0.5)]);
    check::<Erf>("erf", &odd);
    check::<Erf>("erf", &[(INF, 1.0), (-INF, -1.0), (30.0, 1.0)]);
    let cases = [
        (INF, NAN, INF),
        (-INF, NAN, INF),
        (NAN, INF, INF),
        (NAN, -INF, INF),
        (INF, 1.0, INF),
        (1.0, NAN, NAN),
        (NAN, 1.0, NAN),
        (NAN, NAN, NAN),
        (0.0, -0.0, 0.0),
        (-0.0, -0.0, 0.0),
        (0.0, -3.0, 3.0),
        (-3.0, 4.0, 5.0),
    ];
    check_binary::<Hypot>("hypot", &cases);
}

#[test]
fn angle_of_two_coordinates() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let cases = [
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (NAN, NAN, NAN),
        (1.0, 0.0, FRAC_PI_2),
        (1.0, -0.0, FRAC_PI_2),
        (0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, -0.0, PI),
        (0.0, -1.0, PI),
        (-0.0, 1.0, -0.0),
        (-0.0, 0.0, -0.0),
        (-0.0, -0.0, -PI),
        (-0.0, -1.0, -PI),
        (-1.0, 0.0, -FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (1.0, INF, 0.0),
        (1.0, -INF, PI),
        (-1.0, INF, -0.0),
        (-1.0, -INF, -PI),
        (INF, 1.0, FRAC_PI_2),
        (INF, -1.0, FRAC_PI_2),
        (-INF, 1.0, -FRAC_PI_2),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (-INF, INF, -FRAC_PI_4),
        (-INF, -INF, -3.0 * FRAC_PI_4),
        (0.0, INF, 0.0),
        (-0.0, -INF, -PI),
        (1.0, 1.0, FRAC_PI_4),
    ];
    check_binary::<Atan2>("atan2", &cases);
}

#[test]
fn powers() {
    let mut cases = Vec::new();
    for x in [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 3.5, -2.0] {
        cases.push((x, 0.0, 1.0));
        cases.push((x, -0.0, 1.0));
        if x != 1.0 {
            cases.push((x, NAN, NAN));
        }
    }
    cases.push((1.0, NAN, 1.0));
    cases.extend([1.0, -1.0, 2.5, INF, -INF].map(|y| (NAN, y, NAN)));
    for x in [2.0, -2.0, 1.1, -1e30] {
        cases.extend([(x, INF, INF), (x, -INF, 0.0)]);
    }
    for x in [1.0, -1.0] {
        cases.extend([(x, INF, 1.0), (x, -INF, 1.0)]);
    }
    for x in [0.5, -0.5, 0.0, -0.0, 1e-30] {
        cases.extend([(x, INF, 0.0), (x, -INF, INF)]);
    }
    for y in [1.0, 2.0, 0.5, 3.0, 1e30] {
        cases.extend([(INF, y, INF), (INF, -y, 0.0), (0.0, y, 0.0), (0.0, -y, INF)]);
    }
    for y in [1.0, 3.0, 5.0] {
        cases.extend([(-INF, y, -INF), (-INF, -y, -0.0), (-0.0, y, -0.0), (-0.0, -y, -INF)]);
    }
    for y in [2.0, 4.0, 0.5, 2.5, 1e30] {
        cases.extend([(-INF, y, INF), (-INF, -y, 0.0), (-0.0, y, 0.0), (-0.0, -y, INF)]);
    }
    cases.extend([(-2.0, 0.5, NAN), (-1.0, -2.5, NAN), (-1e30, 0.125, NAN)]);
    cases.extend([
        (-2.0, 3.0, -8.0),
        (-2.0, -1.0, -0.5),
        (-2.0, 2.0, 4.0),
        (1.0, 7.25, 1.0),
        (-1.0, 1e30, 1.0),
    ]);
    cases.extend([(-1.0, 9007199.0, -1.0), (10.0, 5.0, 1e5), (2.0, 10.0, 1024.0), (2.0, 1e30, INF)]);
    check_binary::<Pow>("pow", &cases);
}

#[test]
fn sum_of_exponentials() {
    let mut cases =
        vec![(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, NAN, NAN), (NAN, -INF, NAN), (NAN, NAN, NAN)];
    for x in [INF, 1.0, 0.0, -1e30, -INF] {
        cases.extend([(INF, x, INF), (x, INF, INF)]);
    }
    // e^-infinity is 0.
    for x in [1.0, 0.0, -1e30, -INF] {
        cases.extend([(-INF, x, x), (x, -INF, x)]);
    }
    check_binary::<Logaddexp>("logaddexp", &cases);
}
