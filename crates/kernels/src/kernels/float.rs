//! Kernels of float32 and float64, and `nextafter` of float16 and bfloat16.

use super::elementwise::{Baseline, Kernel, KernelContext, binary, binary_function, kernel, unary_function};
use crate::Op;
use half::{bf16, f16};
use unishape_vecmath as vecmath;

macro_rules! floats {
    ($($T:ident)+) => {
        $(
            /// The kernel of an operation.
            pub(super) fn $T(op: Op) -> Option<Kernel> {
                Some(match op {
                    Op::Add => kernel!(|a: $T, b: $T| -> $T { a + b }),
                    Op::Subtract => kernel!(|a: $T, b: $T| -> $T { a - b }),
                    Op::Multiply => kernel!(|a: $T, b: $T| -> $T { a * b }),
                    Op::Divide => kernel!(|a: $T, b: $T| -> $T { a / b }),
                    Op::FloorDivide => kernel!(baseline |a: $T, b: $T| -> $T { $T::floor_divide(a, b) }),
                    Op::Remainder => kernel!(baseline |a: $T, b: $T| -> $T { $T::remainder(a, b) }),
                    Op::Fmod => kernel!(baseline |a: $T, b: $T| -> $T { a % b }),
                    Op::TruncDivide => kernel!(|a: $T, b: $T| -> $T { (a / b).trunc() }),
                    Op::Negative => kernel!(|a: $T| -> $T { -a }),
                    Op::Abs => kernel!(|a: $T| -> $T { a.abs() }),
                    Op::Sign => kernel!(|a: $T| -> $T {
                        if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else if a == 0.0 { 0.0 } else { a }
                    }),
                    Op::Sqrt => kernel!(|a: $T| -> $T { a.sqrt() }),
                    Op::Floor => kernel!(|a: $T| -> $T { a.floor() }),
                    Op::Ceil => kernel!(|a: $T| -> $T { a.ceil() }),
                    Op::Trunc => kernel!(|a: $T| -> $T { a.trunc() }),
                    Op::Round => kernel!(|a: $T| -> $T { a.round_ties_even() }),
                    Op::Copysign => kernel!(|a: $T, b: $T| -> $T { a.copysign(b) }),
                    Op::Nextafter => kernel!(baseline |a: $T, b: $T| -> $T { $T::nextafter(a, b) }),
                    Op::LeakyRelu => kernel!(|a: $T, b: $T| -> $T { if a < 0.0 { a * b } else { a } }),
                    Op::Min => min_or_max!($T, <=, <),
                    Op::Max => min_or_max!($T, >=, >),
                    Op::Equal => kernel!(widest |a: $T, b: $T| -> u8 { (a == b) as u8 }),
                    Op::NotEqual => kernel!(widest |a: $T, b: $T| -> u8 { (a != b) as u8 }),
                    Op::Less => kernel!(widest |a: $T, b: $T| -> u8 { (a < b) as u8 }),
                    Op::LessEqual => kernel!(widest |a: $T, b: $T| -> u8 { (a <= b) as u8 }),
                    Op::Signbit => kernel!(|a: $T| -> u8 { a.is_sign_negative() as u8 }),
                    op => return functions!(op, $T),
                })
            }

            impl FloatExt for $T {
                #[inline(always)]
                fn remainder(self, divisor: $T) -> $T {
                    let rest = self % divisor;
                    if divisor == 0.0 {
                        rest
                    } else if rest == 0.0 {
                        (0.0 as $T).copysign(divisor)
                    } else if (rest < 0.0) != (divisor < 0.0) {
                        rest + divisor
                    } else {
                        rest
                    }
                }

                #[inline(always)]
                fn floor_divide(self, divisor: $T) -> $T {
                    if divisor == 0.0 {
                        return self / divisor;
                    }
                    let rest = self % divisor;
                    let mut quotient = (self - rest) / divisor;
                    if rest != 0.0 && (rest < 0.0) != (divisor < 0.0) {
                        quotient -= 1.0;
                    }
                    if quotient == 0.0 {
                        return (0.0 as $T).copysign(self / divisor);
                    }
                    // The quotient is near an integer, but may be rounded.
                    let below = quotient.floor();
                    if quotient - below > 0.5 { below + 1.0 } else { below }
                }

                #[inline(always)]
                fn nextafter(self, target: $T) -> $T {
                    match self {
                        _ if self.is_nan() || target.is_nan() => $T::NAN,
                        _ if self == target => target,
                        _ if self == 0.0 => $T::from_bits(1).copysign(target),
                        _ if (self < target) == (self > 0.0) => $T::from_bits(self.to_bits() + 1),
                        _ => $T::from_bits(self.to_bits() - 1),
                    }
                }
            }
        )+
    };
}

/// Minimum or maximum as in NumPy: the first of equal elements, and NaN if either is NaN.
///
/// With a broadcast scalar that is not NaN, as bounds of `clip` are, one comparison per element is enough.
macro_rules! min_or_max {
    ($T:ident, $or_equal:tt, $than:tt) => {{
        fn min_or_max(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext) {
            let is_scalar_not_nan = |a: &[u8]| matches!(*bytemuck::cast_slice::<u8, $T>(a), [scalar] if !scalar.is_nan());
            match *inputs {
                [a, _] if is_scalar_not_nan(a) => {
                    kernel!(|a: $T, b: $T| -> $T { if a $or_equal b { a } else { b } })(inputs, output, context)
                }
                [_, b] if is_scalar_not_nan(b) => {
                    kernel!(|a: $T, b: $T| -> $T { if b $than a { b } else { a } })(inputs, output, context)
                }
                _ => kernel!(|a: $T, b: $T| -> $T { if a $or_equal b || a.is_nan() { a } else { b } })(inputs, output, context),
            }
        }
        min_or_max as Kernel
    }};
}

/// Functions that the standard library has not, with the results of NumPy, bit by bit.
trait FloatExt: Sized {
    /// The remainder of `floor_divide`, with the sign of the divisor.
    fn remainder(self, divisor: Self) -> Self;
    /// The quotient rounded down.
    fn floor_divide(self, divisor: Self) -> Self;
    /// The next number toward `target`.
    fn nextafter(self, target: Self) -> Self;
}

macro_rules! functions {
    ($op:ident, $T:ident) => {
        Some(match $op {
            Op::Exp => unary_function::<vecmath::Exp, $T>,
            Op::Exp2 => unary_function::<vecmath::Exp2, $T>,
            Op::Expm1 => unary_function::<vecmath::Expm1, $T>,
            Op::Log => unary_function::<vecmath::Log, $T>,
            Op::Log2 => unary_function::<vecmath::Log2, $T>,
            Op::Log10 => unary_function::<vecmath::Log10, $T>,
            Op::Log1p => unary_function::<vecmath::Log1p, $T>,
            Op::Sin => unary_function::<vecmath::Sin, $T>,
            Op::Cos => unary_function::<vecmath::Cos, $T>,
            Op::Tan => unary_function::<vecmath::Tan, $T>,
            Op::Asin => unary_function::<vecmath::Asin, $T>,
            Op::Acos => unary_function::<vecmath::Acos, $T>,
            Op::Atan => unary_function::<vecmath::Atan, $T>,
            Op::Sinh => unary_function::<vecmath::Sinh, $T>,
            Op::Cosh => unary_function::<vecmath::Cosh, $T>,
            Op::Tanh => unary_function::<vecmath::Tanh, $T>,
            Op::Asinh => unary_function::<vecmath::Asinh, $T>,
            Op::Acosh => unary_function::<vecmath::Acosh, $T>,
            Op::Atanh => unary_function::<vecmath::Atanh, $T>,
            Op::Cbrt => unary_function::<vecmath::Cbrt, $T>,
            Op::Sigmoid => unary_function::<vecmath::Sigmoid, $T>,
            Op::Erf => unary_function::<vecmath::Erf, $T>,
            Op::Atan2 => binary_function::<vecmath::Atan2, $T>,
            Op::Hypot => binary_function::<vecmath::Hypot, $T>,
            Op::Pow => binary_function::<vecmath::Pow, $T>,
            Op::Logaddexp => binary_function::<vecmath::Logaddexp, $T>,
            _ => return None,
        })
    };
}
floats!(f32 f64);

/// `nextafter` of a 16-bit format, given by the bits of its infinity and its NaN.
#[inline(always)]
fn nextafter_bits(from: u16, target: u16, infinity: u16, nan: u16) -> u16 {
    const SIGN: u16 = 0x8000;
    let is_nan = |bits: u16| bits & !SIGN > infinity;
    // Orders all numbers; both zeros are equal.
    let key = |bits: u16| if bits & SIGN == 0 { i32::from(bits) } else { -i32::from(bits & !SIGN) };
    match (key(from), key(target)) {
        _ if is_nan(from) || is_nan(target) => nan,
        (a, b) if a == b => target,
        (0, _) => 1 | target & SIGN,
        (a, b) if (a < b) == (a > 0) => from + 1,
        _ => from - 1,
    }
}

pub(super) fn nextafter_f16(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext) {
    binary::<Baseline, u16, u16, u16>(inputs, output, context, |a, b| {
        nextafter_bits(a, b, f16::INFINITY.to_bits(), f16::NAN.to_bits())
    });
}

pub(super) fn nextafter_bf16(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext) {
    binary::<Baseline, u16, u16, u16>(inputs, output, context, |a, b| {
        nextafter_bits(a, b, bf16::INFINITY.to_bits(), bf16::NAN.to_bits())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All neighbours, by the order of all numbers.
    fn check(dtype: &str, nextafter: impl Fn(u16, u16) -> u16, value: impl Fn(u16) -> f32, nan: u16) {
        let mut all: Vec<u16> =
            (0..=u16::MAX).filter(|&bits| !value(bits).is_nan() && bits != 0x8000).collect();
        all.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
        let targets = [0, 0x8000, 1, 0x8001, all[0], all[all.len() - 1], 0x3c00, 0xbc00];
        for (i, &from) in all.iter().enumerate() {
            for target in targets.into_iter().chain([from]) {
                let expected = match value(from).partial_cmp(&value(target)).unwrap() {
                    std::cmp::Ordering::Less => all[i + 1],
                    std::cmp::Ordering::Greater => all[i - 1],
                    std::cmp::Ordering::Equal => target,
                };
                // Above the largest negative number is -0.
                let expected = if from == 0x8001 && expected == 0 { 0x8000 } else { expected };
                assert_eq!(nextafter(from, target), expected, "{dtype}: from {from:x} to {target:x}");
            }
            assert_eq!([nextafter(from, nan), nextafter(nan | 0x8000, from)], [nan; 2], "{dtype}: {from:x}");
        }
        assert_eq!([nextafter(0x8000, 1), nextafter(0x8000, 0x8001)], [1, 0x8001], "{dtype}");
    }

    #[test]
    fn neighbours_of_16_bit_numbers() {
        let kernel = |kernel: Kernel| {
            move |from: u16, target: u16| {
                let [from, target] = [from, target].map(|bits| [bits]);
                let mut result = [0_u16];
                kernel(
                    &[bytemuck::cast_slice(&from), bytemuck::cast_slice(&target)],
                    bytemuck::cast_slice_mut(&mut result),
                    &mut KernelContext::default(),
                );
                result[0]
            }
        };
        check("float16", kernel(nextafter_f16), |bits| f16::from_bits(bits).to_f32(), f16::NAN.to_bits());
        check("bfloat16", kernel(nextafter_bf16), |bits| bf16::from_bits(bits).to_f32(), bf16::NAN.to_bits());
    }
}
