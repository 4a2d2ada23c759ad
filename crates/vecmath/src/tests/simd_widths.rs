//! Results have the same bits with SIMD of any width and without, and with or without FMA instructions.

use crate::*;

fn numbers() -> Vec<f64> {
    let moderate = (0..500).map(|i| (f64::from(i) - 250.0) * 0.037);
    let all = (0..700_u64).map(|i| f64::from_bits(i.wrapping_mul(0x9e3779b97f4a7c15)));
    moderate.chain(all).collect()
}

/// One call, compiled for the target's baseline.
fn baseline<F: UnaryFunction<T>, T: Copy>(x: T) -> T {
    F::eval(x)
}

fn baseline_binary<F: BinaryFunction<T>, T: Copy>(x: T, y: T) -> T {
    F::eval(x, y)
}

fn check<F: UnaryFunction<f64> + UnaryFunction<f32>>() {
    let name = std::any::type_name::<F>();
    let x = numbers();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &mut got);
    for (&x, got) in x.iter().zip(got) {
        let baseline = baseline::<F, f64>(x);
        assert!(
            baseline.to_bits() == got.to_bits() || baseline.is_nan() && got.is_nan(),
            "{name} {x}: {baseline} {got}"
        );
    }
    let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &mut got);
    for (&x, got) in x.iter().zip(got) {
        let baseline = baseline::<F, f32>(x);
        assert!(
            baseline.to_bits() == got.to_bits() || baseline.is_nan() && got.is_nan(),
            "{name} {x}: {baseline} {got}"
        );
    }
}

fn check_binary<F: BinaryFunction<f64> + BinaryFunction<f32>>() {
    let name = std::any::type_name::<F>();
    let x = numbers();
    let y: Vec<f64> = x.iter().rev().copied().collect();
    let mut got = vec![0.0; x.len()];
    F::map(&x, &y, &mut got);
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        let baseline = baseline_binary::<F, f64>(x, y);
        assert!(baseline.to_bits() == got.to_bits() || baseline.is_nan() && got.is_nan(), "{name} {x} {y}");
    }
    let [x, y] = [x, y].map(|x| x.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    let mut got = vec![0.0; x.len()];
    F::map(&x, &y, &mut got);
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        let baseline = baseline_binary::<F, f32>(x, y);
        assert!(baseline.to_bits() == got.to_bits() || baseline.is_nan() && got.is_nan(), "{name} {x} {y}");
    }
}

#[test]
fn same_bits() {
    check::<Exp>();
    check::<Exp2>();
    check::<Expm1>();
    check::<Sigmoid>();
    check::<Log>();
    check::<Log2>();
    check::<Log10>();
    check::<Log1p>();
    check::<Sin>();
    check::<Cos>();
    check::<Tan>();
    check::<Asin>();
    check::<Acos>();
    check::<Atan>();
    check::<Sinh>();
    check::<Cosh>();
    check::<Tanh>();
    check::<Asinh>();
    check::<Acosh>();
    check::<Atanh>();
    check::<Cbrt>();
    check::<Erf>();
    check_binary::<Atan2>();
    check_binary::<Hypot>();
    check_binary::<Pow>();
    check_binary::<Logaddexp>();
}

/// More elements than a block has.
#[test]
fn broadcast_scalars() {
    let x: Vec<f64> = (0..3000).map(f64::from).collect();
    let (mut squares, mut powers) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    Pow::map(&x, &[2.0], &mut squares);
    Pow::map(&[1.001], &x, &mut powers);
    for ((x, square), power) in x.into_iter().zip(squares).zip(powers) {
        assert_eq!(square, x * x);
        assert_eq!(power, Pow::eval(1.001, x));
    }
}

fn check_complex<F: UnaryFunction<num_complex::Complex<f64>>>() {
    let numbers = numbers();
    let z: Vec<_> =
        numbers.iter().zip(numbers.iter().rev()).map(|(&x, &y)| num_complex::Complex::new(x, y)).collect();
    let mut got = z.clone();
    F::map(&z, &mut got);
    for (&z, got) in z.iter().zip(got) {
        let baseline = baseline::<F, _>(z);
        for (baseline, got) in [(baseline.re, got.re), (baseline.im, got.im)] {
            let name = std::any::type_name::<F>();
            assert!(
                baseline.to_bits() == got.to_bits() || baseline.is_nan() && got.is_nan(),
                "{name} {z}: {baseline} {got}"
            );
        }
    }
}

#[test]
fn same_bits_for_complex_numbers() {
    check_complex::<Exp>();
    check_complex::<Exp2>();
    check_complex::<Expm1>();
    check_complex::<Log>();
    check_complex::<Log1p>();
    check_complex::<complex::Sqrt>();
    check_complex::<complex::Sign>();
    check_complex::<Sin>();
    check_complex::<Tan>();
    check_complex::<Cosh>();
    check_complex::<Asin>();
    check_complex::<Acos>();
    check_complex::<Acosh>();
    check_complex::<Atanh>();
}
