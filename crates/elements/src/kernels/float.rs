//! Single and double precision.

use super::{Kernel, function, function2, kernel};
use crate::{Ahead, Op, math};
use half::{bf16, f16};

macro_rules! floats {
    ($($T:ident)+) => {
        $(
            /// The kernel of a function of these numbers.
            pub(super) fn $T(op: Op) -> Option<Kernel> {
                Some(match op {
                    Op::Add => kernel!(|a: $T, b: $T| -> $T { a + b }),
                    Op::Subtract => kernel!(|a: $T, b: $T| -> $T { a - b }),
                    Op::Multiply => kernel!(|a: $T, b: $T| -> $T { a * b }),
                    Op::Divide => kernel!(|a: $T, b: $T| -> $T { a / b }),
                    Op::FloorDivide => kernel!(any |a: $T, b: $T| -> $T { $T::floor_divide(a, b) }),
                    Op::Remainder => kernel!(any |a: $T, b: $T| -> $T { $T::remainder(a, b) }),
                    Op::Fmod => kernel!(any |a: $T, b: $T| -> $T { a % b }),
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
                    Op::Nextafter => kernel!(any |a: $T, b: $T| -> $T { $T::nextafter(a, b) }),
                    Op::LeakyRelu => kernel!(|a: $T, b: $T| -> $T { if a < 0.0 { a * b } else { a } }),
                    Op::Min => extreme!($T, <=, <),
                    Op::Max => extreme!($T, >=, >),
                    Op::Equal => kernel!(wide |a: $T, b: $T| -> u8 { (a == b) as u8 }),
                    Op::NotEqual => kernel!(wide |a: $T, b: $T| -> u8 { (a != b) as u8 }),
                    Op::Less => kernel!(wide |a: $T, b: $T| -> u8 { (a < b) as u8 }),
                    Op::LessEqual => kernel!(wide |a: $T, b: $T| -> u8 { (a <= b) as u8 }),
                    Op::Signbit => kernel!(|a: $T| -> u8 { a.is_sign_negative() as u8 }),
                    op => return functions!(op, $T),
                })
            }

            impl Divisions for $T {
                #[inline(always)]
                fn remainder(self, by: $T) -> $T {
                    let left = self % by;
                    if by == 0.0 {
                        left
                    } else if left == 0.0 {
                        (0.0 as $T).copysign(by)
                    } else if (left < 0.0) != (by < 0.0) {
                        left + by
                    } else {
                        left
                    }
                }

                #[inline(always)]
                fn floor_divide(self, by: $T) -> $T {
                    if by == 0.0 {
                        return self / by;
                    }
                    let left = self % by;
                    let mut quotient = (self - left) / by;
                    if left != 0.0 && (left < 0.0) != (by < 0.0) {
                        quotient -= 1.0;
                    }
                    if quotient == 0.0 {
                        return (0.0 as $T).copysign(self / by);
                    }
                    // Very near to a whole number, from either side.
                    let below = quotient.floor();
                    if quotient - below > 0.5 { below + 1.0 } else { below }
                }

                #[inline(always)]
                fn nextafter(self, to: $T) -> $T {
                    match self {
                        _ if self.is_nan() || to.is_nan() => $T::NAN,
                        _ if self == to => to,
                        _ if self == 0.0 => $T::from_bits(1).copysign(to),
                        _ if (self < to) == (self > 0.0) => $T::from_bits(self.to_bits() + 1),
                        _ => $T::from_bits(self.to_bits() - 1),
                    }
                }
            }
        )+
    };
}

/// The smaller or the larger one, as NumPy has it: the first of equal ones, and NaN where either is one. Beside one
/// element for all that is a number, as most bounds are, only a comparison is left.
macro_rules! extreme {
    ($T:ident, $or_equal:tt, $than:tt) => {{
        fn extreme(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
            let is_a_number = |a: &[u8]| matches!(*bytemuck::cast_slice::<u8, $T>(a), [only] if !only.is_nan());
            match *from {
                [a, _] if is_a_number(a) => {
                    kernel!(|a: $T, b: $T| -> $T { if a $or_equal b { a } else { b } })(from, to, ahead)
                }
                [_, b] if is_a_number(b) => {
                    kernel!(|a: $T, b: $T| -> $T { if b $than a { b } else { a } })(from, to, ahead)
                }
                _ => kernel!(|a: $T, b: $T| -> $T { if a $or_equal b || a.is_nan() { a } else { b } })(from, to, ahead),
            }
        }
        extreme as Kernel
    }};
}

/// Division with a remainder as Python has it, exactly as NumPy computes it.
trait Divisions: Sized {
    fn remainder(self, by: Self) -> Self;
    fn floor_divide(self, by: Self) -> Self;
    fn nextafter(self, to: Self) -> Self;
}

macro_rules! functions {
    ($op:ident, $T:ident) => {
        Some(match $op {
            Op::Exp => function::<math::Exp, $T>,
            Op::Exp2 => function::<math::Exp2, $T>,
            Op::Expm1 => function::<math::Expm1, $T>,
            Op::Log => function::<math::Log, $T>,
            Op::Log2 => function::<math::Log2, $T>,
            Op::Log10 => function::<math::Log10, $T>,
            Op::Log1p => function::<math::Log1p, $T>,
            Op::Sin => function::<math::Sin, $T>,
            Op::Cos => function::<math::Cos, $T>,
            Op::Tan => function::<math::Tan, $T>,
            Op::Asin => function::<math::Asin, $T>,
            Op::Acos => function::<math::Acos, $T>,
            Op::Atan => function::<math::Atan, $T>,
            Op::Sinh => function::<math::Sinh, $T>,
            Op::Cosh => function::<math::Cosh, $T>,
            Op::Tanh => function::<math::Tanh, $T>,
            Op::Asinh => function::<math::Asinh, $T>,
            Op::Acosh => function::<math::Acosh, $T>,
            Op::Atanh => function::<math::Atanh, $T>,
            Op::Cbrt => function::<math::Cbrt, $T>,
            Op::Sigmoid => function::<math::Sigmoid, $T>,
            Op::Erf => function::<math::Erf, $T>,
            Op::Atan2 => function2::<math::Atan2, $T>,
            Op::Hypot => function2::<math::Hypot, $T>,
            Op::Pow => function2::<math::Pow, $T>,
            Op::Logaddexp => function2::<math::Logaddexp, $T>,
            _ => return None,
        })
    };
}
floats!(f32 f64);

/// The next number of 16 bits, whose NaNs are those beyond `infinity`.
#[inline(always)]
fn next_of_bits(from: u16, to: u16, infinity: u16) -> u16 {
    const SIGN: u16 = 0x8000;
    let is_nan = |bits: u16| bits & !SIGN > infinity;
    // An order of all numbers, in which both zeros are the same.
    let key = |bits: u16| if bits & SIGN == 0 { i32::from(bits) } else { -i32::from(bits & !SIGN) };
    match (key(from), key(to)) {
        _ if is_nan(from) || is_nan(to) => infinity | 1 << 6 | 1 << 9 & !infinity,
        (a, b) if a == b => to,
        (0, _) => 1 | to & SIGN,
        (a, b) if (a < b) == (a > 0) => from + 1,
        _ => from - 1,
    }
}

pub(super) fn nextafter_f16(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    super::binary::<super::Any, u16, u16, u16>(from, to, ahead, |a, b| {
        next_of_bits(a, b, f16::INFINITY.to_bits())
    });
}

pub(super) fn nextafter_bf16(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    super::binary::<super::Any, u16, u16, u16>(from, to, ahead, |a, b| {
        next_of_bits(a, b, bf16::INFINITY.to_bits())
    });
}
