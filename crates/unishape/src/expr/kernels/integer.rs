//! Integers. They wrap, as NumPy's do; what has no answer, a division by 0, gives 0.

use super::kernel;
use crate::expr::op::Op;
use crate::loops::Kernel;

/// What signed and unsigned integers do not do alike.
macro_rules! by_sign {
    (signed $op:ident $T:ident) => {
        match $op {
            Op::FloorDivide => kernel!(|a: $T, b: $T| -> $T {
                {
                    let quotient = if b == 0 { 0 } else { a.wrapping_div(b) };
                    let left = if b == 0 { 0 } else { a.wrapping_rem(b) };
                    quotient - (left != 0 && (left < 0) != (b < 0)) as $T
                }
            }),
            Op::Remainder => kernel!(|a: $T, b: $T| -> $T {
                {
                    let left = if b == 0 { 0 } else { a.wrapping_rem(b) };
                    if left != 0 && (left < 0) != (b < 0) { left + b } else { left }
                }
            }),
            Op::Abs => kernel!(|a: $T| -> $T { a.wrapping_abs() }),
            Op::Sign => kernel!(|a: $T| -> $T { (a > 0) as $T - (a < 0) as $T }),
            Op::Signbit => kernel!(|a: $T| -> u8 { (a < 0) as u8 }),
            Op::Pow => kernel!(|a: $T, b: $T| -> $T {
                {
                    match b {
                        0.. => power!($T, a, b),
                        // 1 over the power, rounded toward 0: only ones are left.
                        _ => match a {
                            1 => 1,
                            -1 => {
                                if b & 1 == 0 {
                                    1
                                } else {
                                    -1
                                }
                            }
                            _ => 0,
                        },
                    }
                }
            }),
            Op::ShiftRight => kernel!(|a: $T, b: $T| -> $T {
                // As often as there are bits, or more: only the sign is left.
                if (0..$T::BITS as $T).contains(&b) { a >> b } else { a >> ($T::BITS - 1) }
            }),
            _ => return None,
        }
    };
    (unsigned $op:ident $T:ident) => {
        match $op {
            Op::FloorDivide => kernel!(|a: $T, b: $T| -> $T { if b == 0 { 0 } else { a / b } }),
            Op::Remainder => kernel!(|a: $T, b: $T| -> $T { if b == 0 { 0 } else { a % b } }),
            Op::Sign => kernel!(|a: $T| -> $T { (a > 0) as $T }),
            Op::Pow => kernel!(|a: $T, b: $T| -> $T { power!($T, a, b) }),
            Op::ShiftRight => kernel!(|a: $T, b: $T| -> $T { if b < $T::BITS as $T { a >> b } else { 0 } }),
            _ => return None,
        }
    };
}

/// By squaring, which wraps as multiplying so often would.
macro_rules! power {
    ($T:ident, $a:ident, $b:ident) => {{
        let (mut base, mut left, mut result) = ($a, $b, 1 as $T);
        while left != 0 {
            if left & 1 != 0 {
                result = result.wrapping_mul(base);
            }
            base = base.wrapping_mul(base);
            left >>= 1;
        }
        result
    }};
}

macro_rules! integers {
    ($($sign:ident $T:ident)+) => {
        $(
            /// The kernel of a function of these integers.
            pub(super) fn $T(op: Op) -> Option<Kernel> {
                Some(match op {
                    Op::Add => kernel!(|a: $T, b: $T| -> $T { a.wrapping_add(b) }),
                    Op::Subtract => kernel!(|a: $T, b: $T| -> $T { a.wrapping_sub(b) }),
                    Op::Multiply => kernel!(|a: $T, b: $T| -> $T { a.wrapping_mul(b) }),
                    Op::TruncDivide | Op::Divide => {
                        kernel!(|a: $T, b: $T| -> $T { if b == 0 { 0 } else { a.wrapping_div(b) } })
                    }
                    Op::Fmod => kernel!(|a: $T, b: $T| -> $T { if b == 0 { 0 } else { a.wrapping_rem(b) } }),
                    Op::Negative => kernel!(|a: $T| -> $T { a.wrapping_neg() }),
                    Op::Square => kernel!(|a: $T| -> $T { a.wrapping_mul(a) }),
                    Op::Reciprocal => kernel!(|a: $T| -> $T { if a == 0 { 0 } else { (1 as $T).wrapping_div(a) } }),
                    Op::And => kernel!(|a: $T, b: $T| -> $T { a & b }),
                    Op::Or => kernel!(|a: $T, b: $T| -> $T { a | b }),
                    Op::Xor => kernel!(|a: $T, b: $T| -> $T { a ^ b }),
                    Op::Invert => kernel!(|a: $T| -> $T { !a }),
                    Op::ShiftLeft => kernel!(|a: $T, b: $T| -> $T {
                        if (0..$T::BITS as $T).contains(&b) { a << b } else { 0 }
                    }),
                    Op::Min => kernel!(|a: $T, b: $T| -> $T { a.min(b) }),
                    Op::Max => kernel!(|a: $T, b: $T| -> $T { a.max(b) }),
                    Op::Clip => kernel!(|a: $T, least: $T, most: $T| -> $T { a.max(least).min(most) }),
                    Op::Equal => kernel!(|a: $T, b: $T| -> u8 { (a == b) as u8 }),
                    Op::NotEqual => kernel!(|a: $T, b: $T| -> u8 { (a != b) as u8 }),
                    Op::Less => kernel!(|a: $T, b: $T| -> u8 { (a < b) as u8 }),
                    Op::LessEqual => kernel!(|a: $T, b: $T| -> u8 { (a <= b) as u8 }),
                    Op::Greater => kernel!(|a: $T, b: $T| -> u8 { (a > b) as u8 }),
                    Op::GreaterEqual => kernel!(|a: $T, b: $T| -> u8 { (a >= b) as u8 }),
                    op => by_sign!($sign op $T),
                })
            }
        )+
    };
}
integers!(signed i8 signed i16 signed i32 signed i64 unsigned u8 unsigned u16 unsigned u32 unsigned u64);

/// Comparisons of an `i64` with a `u64`, or the other way round, which have no common type.
pub(crate) fn compare_mixed(op: Op, signed_first: bool) -> Option<Kernel> {
    macro_rules! compare {
        ($A:ty, $B:ty) => {
            match op {
                Op::Equal => kernel!(|a: $A, b: $B| -> u8 { (i128::from(a) == i128::from(b)) as u8 }),
                Op::NotEqual => kernel!(|a: $A, b: $B| -> u8 { (i128::from(a) != i128::from(b)) as u8 }),
                Op::Less => kernel!(|a: $A, b: $B| -> u8 { (i128::from(a) < i128::from(b)) as u8 }),
                Op::LessEqual => kernel!(|a: $A, b: $B| -> u8 { (i128::from(a) <= i128::from(b)) as u8 }),
                Op::Greater => kernel!(|a: $A, b: $B| -> u8 { (i128::from(a) > i128::from(b)) as u8 }),
                Op::GreaterEqual => kernel!(|a: $A, b: $B| -> u8 { (i128::from(a) >= i128::from(b)) as u8 }),
                _ => return None,
            }
        };
    }
    Some(if signed_first { compare!(i64, u64) } else { compare!(u64, i64) })
}
