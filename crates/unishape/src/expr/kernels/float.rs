//! Single and double precision.

use super::kernel;
use crate::expr::op::Op;
use crate::loops::Kernel;
use half::{bf16, f16};

macro_rules! floats {
    ($($T:ident $Bits:ident)+) => {
        $(
            /// The kernel of a function of these numbers.
            pub(super) fn $T(op: Op) -> Option<Kernel> {
                Some(match op {
                    Op::Add => kernel!(|a: $T, b: $T| -> $T { a + b }),
                    Op::Subtract => kernel!(|a: $T, b: $T| -> $T { a - b }),
                    Op::Multiply => kernel!(|a: $T, b: $T| -> $T { a * b }),
                    Op::Divide => kernel!(|a: $T, b: $T| -> $T { a / b }),
                    Op::FloorDivide => kernel!(|a: $T, b: $T| -> $T { $T::floor_divide(a, b) }),
                    Op::Remainder => kernel!(|a: $T, b: $T| -> $T { $T::remainder(a, b) }),
                    Op::Fmod => kernel!(|a: $T, b: $T| -> $T { a % b }),
                    Op::TruncDivide => kernel!(|a: $T, b: $T| -> $T { (a / b).trunc() }),
                    Op::Negative => kernel!(|a: $T| -> $T { -a }),
                    Op::Abs => kernel!(|a: $T| -> $T { a.abs() }),
                    Op::Sign => kernel!(|a: $T| -> $T {
                        if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else if a == 0.0 { 0.0 } else { a }
                    }),
                    Op::Square => kernel!(|a: $T| -> $T { a * a }),
                    Op::Reciprocal => kernel!(|a: $T| -> $T { 1.0 / a }),
                    Op::Sqrt => kernel!(|a: $T| -> $T { a.sqrt() }),
                    Op::Floor => kernel!(|a: $T| -> $T { a.floor() }),
                    Op::Ceil => kernel!(|a: $T| -> $T { a.ceil() }),
                    Op::Trunc => kernel!(|a: $T| -> $T { a.trunc() }),
                    Op::Round => kernel!(|a: $T| -> $T { a.round_ties_even() }),
                    Op::Copysign => kernel!(|a: $T, b: $T| -> $T { a.copysign(b) }),
                    Op::Nextafter => kernel!(|a: $T, b: $T| -> $T { $T::nextafter(a, b) }),
                    Op::Min => kernel!(|a: $T, b: $T| -> $T { smaller!(a, b) }),
                    Op::Max => kernel!(|a: $T, b: $T| -> $T { larger!(a, b) }),
                    Op::Clip => kernel!(|a: $T, least: $T, most: $T| -> $T {{
                        let a = larger!(a, least);
                        smaller!(a, most)
                    }}),
                    Op::Equal => kernel!(|a: $T, b: $T| -> u8 { (a == b) as u8 }),
                    Op::NotEqual => kernel!(|a: $T, b: $T| -> u8 { (a != b) as u8 }),
                    Op::Less => kernel!(|a: $T, b: $T| -> u8 { (a < b) as u8 }),
                    Op::LessEqual => kernel!(|a: $T, b: $T| -> u8 { (a <= b) as u8 }),
                    Op::Greater => kernel!(|a: $T, b: $T| -> u8 { (a > b) as u8 }),
                    Op::GreaterEqual => kernel!(|a: $T, b: $T| -> u8 { (a >= b) as u8 }),
                    Op::IsNan => kernel!(|a: $T| -> u8 { a.is_nan() as u8 }),
                    Op::IsInf => kernel!(|a: $T| -> u8 { a.is_infinite() as u8 }),
                    Op::IsFinite => kernel!(|a: $T| -> u8 { a.is_finite() as u8 }),
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

/// As NumPy's: NaN where either is one.
macro_rules! smaller {
    ($a:ident, $b:ident) => {
        if $a <= $b || $a.is_nan() { $a } else { $b }
    };
}

macro_rules! larger {
    ($a:ident, $b:ident) => {
        if $a >= $b || $a.is_nan() { $a } else { $b }
    };
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
            Op::Exp => kernel!(|a: $T| -> $T { a.exp() }),
            Op::Exp2 => kernel!(|a: $T| -> $T { a.exp2() }),
            Op::Expm1 => kernel!(|a: $T| -> $T { a.exp_m1() }),
            Op::Log => kernel!(|a: $T| -> $T { a.ln() }),
            Op::Log2 => kernel!(|a: $T| -> $T { a.log2() }),
            Op::Log10 => kernel!(|a: $T| -> $T { a.log10() }),
            Op::Log1p => kernel!(|a: $T| -> $T { a.ln_1p() }),
            Op::Sin => kernel!(|a: $T| -> $T { a.sin() }),
            Op::Cos => kernel!(|a: $T| -> $T { a.cos() }),
            Op::Tan => kernel!(|a: $T| -> $T { a.tan() }),
            Op::Asin => kernel!(|a: $T| -> $T { a.asin() }),
            Op::Acos => kernel!(|a: $T| -> $T { a.acos() }),
            Op::Atan => kernel!(|a: $T| -> $T { a.atan() }),
            Op::Sinh => kernel!(|a: $T| -> $T { a.sinh() }),
            Op::Cosh => kernel!(|a: $T| -> $T { a.cosh() }),
            Op::Tanh => kernel!(|a: $T| -> $T { a.tanh() }),
            Op::Asinh => kernel!(|a: $T| -> $T { a.asinh() }),
            Op::Acosh => kernel!(|a: $T| -> $T { a.acosh() }),
            Op::Atanh => kernel!(|a: $T| -> $T { a.atanh() }),
            Op::Cbrt => kernel!(|a: $T| -> $T { a.cbrt() }),
            Op::Sigmoid => kernel!(|a: $T| -> $T { 1.0 / (1.0 + (-a).exp()) }),
            Op::Atan2 => kernel!(|a: $T, b: $T| -> $T { a.atan2(b) }),
            Op::Hypot => kernel!(|a: $T, b: $T| -> $T { a.hypot(b) }),
            Op::Pow => kernel!(|a: $T, b: $T| -> $T { a.powf(b) }),
            _ => return None,
        })
    };
}
floats!(f32 u32 f64 u64);

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

pub(super) fn nextafter_f16(from: &[&[u8]], to: &mut [u8]) {
    super::binary::<u16, u16, u16>(from, to, |a, b| next_of_bits(a, b, f16::INFINITY.to_bits()));
}

pub(super) fn nextafter_bf16(from: &[&[u8]], to: &mut [u8]) {
    super::binary::<u16, u16, u16>(from, to, |a, b| next_of_bits(a, b, bf16::INFINITY.to_bits()));
}
