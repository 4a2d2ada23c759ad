//! Complex numbers.

use super::kernel;
use crate::expr::op::Op;
use crate::loops::Kernel;
use num_complex::Complex;

macro_rules! complexes {
    ($($find:ident $T:ident)+) => {
        $(
            /// The kernel of a function of these numbers.
            pub(super) fn $find(op: Op) -> Option<Kernel> {
                type C = Complex<$T>;
                Some(match op {
                    Op::Add => kernel!(|a: C, b: C| -> C { C::new(a.re + b.re, a.im + b.im) }),
                    Op::Subtract => kernel!(|a: C, b: C| -> C { C::new(a.re - b.re, a.im - b.im) }),
                    Op::Multiply => kernel!(|a: C, b: C| -> C { product!(C, a, b) }),
                    Op::Square => kernel!(|a: C| -> C { product!(C, a, a) }),
                    Op::Divide => kernel!(|a: C, b: C| -> C { quotient!(C, a, b) }),
                    Op::Reciprocal => kernel!(|a: C| -> C {{
                        let one = C::new(1.0, 0.0);
                        quotient!(C, one, a)
                    }}),
                    Op::Negative => kernel!(|a: C| -> C { C::new(-a.re, -a.im) }),
                    Op::Conj => kernel!(|a: C| -> C { C::new(a.re, -a.im) }),
                    Op::Real => kernel!(|a: C| -> $T { a.re }),
                    Op::Imag => kernel!(|a: C| -> $T { a.im }),
                    Op::Equal => kernel!(|a: C, b: C| -> u8 { (a.re == b.re && a.im == b.im) as u8 }),
                    Op::NotEqual => kernel!(|a: C, b: C| -> u8 { (a.re != b.re || a.im != b.im) as u8 }),
                    Op::Less => kernel!(|a: C, b: C| -> u8 { before!(a, b, <) as u8 }),
                    Op::LessEqual => kernel!(|a: C, b: C| -> u8 { before!(a, b, <=) as u8 }),
                    Op::Greater => kernel!(|a: C, b: C| -> u8 { before!(b, a, <) as u8 }),
                    Op::GreaterEqual => kernel!(|a: C, b: C| -> u8 { before!(b, a, <=) as u8 }),
                    Op::Min => kernel!(|a: C, b: C| -> C { smaller!(a, b) }),
                    Op::Max => kernel!(|a: C, b: C| -> C { larger!(a, b) }),
                    Op::Clip => kernel!(|a: C, least: C, most: C| -> C {{
                        let a = larger!(a, least);
                        smaller!(a, most)
                    }}),
                    Op::Round => kernel!(|a: C| -> C { C::new(a.re.round_ties_even(), a.im.round_ties_even()) }),
                    Op::IsNan => kernel!(|a: C| -> u8 { (a.re.is_nan() || a.im.is_nan()) as u8 }),
                    Op::IsInf => kernel!(|a: C| -> u8 { (a.re.is_infinite() || a.im.is_infinite()) as u8 }),
                    Op::IsFinite => kernel!(|a: C| -> u8 { (a.re.is_finite() && a.im.is_finite()) as u8 }),
                    op => return functions!(op, $T),
                })
            }
        )+
    };
}

macro_rules! product {
    ($C:ident, $a:ident, $b:ident) => {
        $C::new($a.re * $b.re - $a.im * $b.im, $a.re * $b.im + $a.im * $b.re)
    };
}

/// By the larger part of the divisor first, so that nothing overflows on the way.
macro_rules! quotient {
    ($C:ident, $a:ident, $b:ident) => {{
        if $b.re.abs() >= $b.im.abs() {
            if $b.re == 0.0 && $b.im == 0.0 {
                $C::new($a.re / $b.re.abs(), $a.im / $b.re.abs())
            } else {
                let ratio = $b.im / $b.re;
                let scale = 1.0 / ($b.re + $b.im * ratio);
                $C::new(($a.re + $a.im * ratio) * scale, ($a.im - $a.re * ratio) * scale)
            }
        } else {
            let ratio = $b.re / $b.im;
            let scale = 1.0 / ($b.im + $b.re * ratio);
            $C::new(($a.re * ratio + $a.im) * scale, ($a.im * ratio - $a.re) * scale)
        }
    }};
}

/// NumPy's order: by the real part, then by the imaginary one.
macro_rules! before {
    ($a:ident, $b:ident, $less:tt) => {
        ($a.re < $b.re && !$a.im.is_nan() && !$b.im.is_nan()) || ($a.re == $b.re && $a.im $less $b.im)
    };
}

macro_rules! smaller {
    ($a:ident, $b:ident) => {
        if before!($a, $b, <=) || $a.re.is_nan() || $a.im.is_nan() { $a } else { $b }
    };
}

macro_rules! larger {
    ($a:ident, $b:ident) => {
        if before!($b, $a, <=) || $a.re.is_nan() || $a.im.is_nan() { $a } else { $b }
    };
}

macro_rules! functions {
    ($op:ident, $T:ident) => {
        Some(match $op {
            Op::Abs => kernel!(|a: C| -> $T { a.re.hypot(a.im) }),
            _ => return None,
        })
    };
}
complexes!(c64 f32 c128 f64);
