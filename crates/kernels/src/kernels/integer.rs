//! Kernels of integers. Arithmetic wraps, and division by 0 gives 0, as in NumPy.

use super::elementwise::{Kernel, kernel};
use crate::Op;

/// Kernels of signed integers that differ from those of unsigned integers of the same size.
macro_rules! signed {
    ($($T:ident)+) => {
        $(
            /// The kernel of an operation, if it differs from that of unsigned integers.
            pub(super) fn $T(op: Op) -> Option<Kernel> {
                Some(match op {
                    Op::Less => kernel!(widest |a: $T, b: $T| -> u8 { (a < b) as u8 }),
                    Op::LessEqual => kernel!(widest |a: $T, b: $T| -> u8 { (a <= b) as u8 }),
                    Op::Min => kernel!(|a: $T, b: $T| -> $T { a.min(b) }),
                    Op::Max => kernel!(|a: $T, b: $T| -> $T { a.max(b) }),
                    Op::Abs => kernel!(|a: $T| -> $T { a.wrapping_abs() }),
                    Op::Sign => kernel!(baseline |a: $T| -> $T { a.signum() }),
                    Op::ShiftRight => kernel!(baseline |a: $T, b: $T| -> $T {
                        // A shift by all bits or more leaves the sign.
                        if (0..$T::BITS as $T).contains(&b) { a >> b } else { a >> ($T::BITS - 1) }
                    }),
                    Op::TruncDivide => {
                        kernel!(baseline |a: $T, b: $T| -> $T { if b == 0 { 0 } else { a.wrapping_div(b) } })
                    }
                    Op::Fmod => kernel!(baseline |a: $T, b: $T| -> $T { if b == 0 { 0 } else { a.wrapping_rem(b) } }),
                    Op::FloorDivide => kernel!(baseline |a: $T, b: $T| -> $T {{
                        let (quotient, rest) =
                            if b == 0 { (0, 0) } else { (a.wrapping_div(b), a.wrapping_rem(b)) };
                        quotient - (rest != 0 && (rest < 0) != (b < 0)) as $T
                    }}),
                    Op::Remainder => kernel!(baseline |a: $T, b: $T| -> $T {{
                        let rest = if b == 0 { 0 } else { a.wrapping_rem(b) };
                        if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
                    }}),
                    Op::Pow => kernel!(baseline |a: $T, b: $T| -> $T {
                        match b {
                            0.. => power!($T, a, b),
                            // The reciprocal of the power, rounded toward 0.
                            _ => match a {
                                1 => 1,
                                -1 => if b & 1 == 0 { 1 } else { -1 },
                                _ => 0,
                            },
                        }
                    }),
                    _ => return None,
                })
            }
        )+
    };
}

/// Kernels of unsigned integers, and of signed ones where the result has the same bits.
macro_rules! unsigned {
    ($($T:ident)+) => {
        $(
            /// The kernel of an operation.
            pub(super) fn $T(op: Op) -> Option<Kernel> {
                Some(match op {
                    Op::Add => kernel!(|a: $T, b: $T| -> $T { a.wrapping_add(b) }),
                    Op::Subtract => kernel!(|a: $T, b: $T| -> $T { a.wrapping_sub(b) }),
                    Op::Multiply => kernel!(|a: $T, b: $T| -> $T { a.wrapping_mul(b) }),
                    Op::Equal => kernel!(widest |a: $T, b: $T| -> u8 { (a == b) as u8 }),
                    Op::NotEqual => kernel!(widest |a: $T, b: $T| -> u8 { (a != b) as u8 }),
                    Op::Less => kernel!(widest |a: $T, b: $T| -> u8 { (a < b) as u8 }),
                    Op::LessEqual => kernel!(widest |a: $T, b: $T| -> u8 { (a <= b) as u8 }),
                    Op::Min => kernel!(|a: $T, b: $T| -> $T { a.min(b) }),
                    Op::Max => kernel!(|a: $T, b: $T| -> $T { a.max(b) }),
                    Op::ShiftLeft => kernel!(baseline |a: $T, b: $T| -> $T { if b < $T::BITS as $T { a << b } else { 0 } }),
                    Op::ShiftRight => kernel!(baseline |a: $T, b: $T| -> $T { if b < $T::BITS as $T { a >> b } else { 0 } }),
                    Op::FloorDivide | Op::TruncDivide => {
                        kernel!(baseline |a: $T, b: $T| -> $T { a.checked_div(b).unwrap_or(0) })
                    }
                    Op::Remainder | Op::Fmod => {
                        kernel!(baseline |a: $T, b: $T| -> $T { a.checked_rem(b).unwrap_or(0) })
                    }
                    Op::Sign => kernel!(baseline |a: $T| -> $T { (a > 0) as $T }),
                    Op::Pow => kernel!(baseline |a: $T, b: $T| -> $T { power!($T, a, b) }),
                    _ => return None,
                })
            }
        )+
    };
}

/// Exponentiation by squaring; wraps like repeated multiplication.
macro_rules! power {
    ($T:ident, $a:ident, $b:ident) => {{
        let (mut base, mut exponent, mut result) = ($a, $b, 1 as $T);
        while exponent != 0 {
            if exponent & 1 != 0 {
                result = result.wrapping_mul(base);
            }
            base = base.wrapping_mul(base);
            exponent >>= 1;
        }
        result
    }};
}
signed!(i8 i16 i32 i64);
unsigned!(u8 u16 u32 u64);

/// The kernel that compares `i64` and `u64` exactly, in either order.
///
/// No integer dtype holds both.
///
/// ```
/// use unishape_kernels::{Constant, Op, compare_mixed};
///
/// let less = compare_mixed(Op::Less, true).unwrap();
/// let result = Constant::evaluate(less, &[Constant::new(-1_i64), Constant::new(u64::MAX)], 1);
/// assert_eq!(result, Constant::new(1_u8));
/// ```
pub fn compare_mixed(op: Op, signed_first: bool) -> Option<Kernel> {
    macro_rules! compare {
        ($A:ty, $B:ty) => {
            match op {
                Op::Equal => kernel!(baseline |a: $A, b: $B| -> u8 { (i128::from(a) == i128::from(b)) as u8 }),
                Op::NotEqual => kernel!(baseline |a: $A, b: $B| -> u8 { (i128::from(a) != i128::from(b)) as u8 }),
                Op::Less => kernel!(baseline |a: $A, b: $B| -> u8 { (i128::from(a) < i128::from(b)) as u8 }),
                Op::LessEqual => kernel!(baseline |a: $A, b: $B| -> u8 { (i128::from(a) <= i128::from(b)) as u8 }),
                _ => return None,
            }
        };
    }
    Some(if signed_first { compare!(i64, u64) } else { compare!(u64, i64) })
}
