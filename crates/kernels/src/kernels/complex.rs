//! Kernels of complex64 and complex128.

use super::elementwise::{Kernel, binary_function, kernel, unary_function};
use crate::Op;
use num_complex::Complex;
use unishape_vecmath as vecmath;

macro_rules! complexes {
    ($($find:ident $T:ident)+) => {
        $(
            /// The kernel of an operation.
            pub(super) fn $find(op: Op) -> Option<Kernel> {
                type C = Complex<$T>;
                Some(match op {
                    Op::Add => kernel!(|a: C, b: C| -> C { C::new(a.re + b.re, a.im + b.im) }),
                    Op::Subtract => kernel!(|a: C, b: C| -> C { C::new(a.re - b.re, a.im - b.im) }),
                    Op::Multiply => kernel!(|a: C, b: C| -> C { product!(C, a, b) }),
                    Op::Divide => kernel!(baseline |a: C, b: C| -> C { quotient!(C, a, b) }),
                    Op::Negative => kernel!(|a: C| -> C { C::new(-a.re, -a.im) }),
                    Op::Conj => kernel!(|a: C| -> C { C::new(a.re, -a.im) }),
                    Op::Real => kernel!(|a: C| -> $T { a.re }),
                    Op::Imag => kernel!(|a: C| -> $T { a.im }),
                    Op::Equal => kernel!(|a: C, b: C| -> u8 { (a.re == b.re && a.im == b.im) as u8 }),
                    Op::NotEqual => kernel!(|a: C, b: C| -> u8 { (a.re != b.re || a.im != b.im) as u8 }),
                    Op::Less => kernel!(baseline |a: C, b: C| -> u8 { before!(a, b, <) as u8 }),
                    Op::LessEqual => kernel!(baseline |a: C, b: C| -> u8 { before!(a, b, <=) as u8 }),
                    Op::Min => kernel!(baseline |a: C, b: C| -> C { smaller!(a, b) }),
                    Op::Max => kernel!(baseline |a: C, b: C| -> C { larger!(a, b) }),
                    Op::Round => kernel!(baseline |a: C| -> C { C::new(a.re.round_ties_even(), a.im.round_ties_even()) }),
                    Op::IsInf => kernel!(baseline |a: C| -> u8 { (a.re.is_infinite() || a.im.is_infinite()) as u8 }),
                    Op::IsFinite => kernel!(baseline |a: C| -> u8 { (a.re.is_finite() && a.im.is_finite()) as u8 }),
                    op => return functions::$find(op),
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

/// Smith's algorithm: scales by the larger part of the divisor, so that squares do not overflow.
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

/// NumPy's order: by real part, then by imaginary part.
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

/// Elementary functions. Those of complex64 are computed as complex128 and rounded once.
mod functions {
    use super::*;

    pub(super) fn c64(op: Op) -> Option<Kernel> {
        (op == Op::Abs).then_some(kernel!(|a: Complex<f32>| -> f32 { vecmath::complex::abs_f32(a) }))
    }

    pub(super) fn c128(op: Op) -> Option<Kernel> {
        type C = Complex<f64>;
        Some(match op {
            Op::Abs => kernel!(|a: C| -> f64 { vecmath::complex::abs(a) }),
            Op::Sqrt => unary_function::<vecmath::complex::Sqrt, C>,
            Op::Sign => unary_function::<vecmath::complex::Sign, C>,
            Op::Exp => unary_function::<vecmath::Exp, C>,
            Op::Exp2 => unary_function::<vecmath::Exp2, C>,
            Op::Expm1 => unary_function::<vecmath::Expm1, C>,
            Op::Log => unary_function::<vecmath::Log, C>,
            Op::Log2 => unary_function::<vecmath::Log2, C>,
            Op::Log10 => unary_function::<vecmath::Log10, C>,
            Op::Log1p => unary_function::<vecmath::Log1p, C>,
            Op::Sin => unary_function::<vecmath::Sin, C>,
            Op::Cos => unary_function::<vecmath::Cos, C>,
            Op::Tan => unary_function::<vecmath::Tan, C>,
            Op::Asin => unary_function::<vecmath::Asin, C>,
            Op::Acos => unary_function::<vecmath::Acos, C>,
            Op::Atan => unary_function::<vecmath::Atan, C>,
            Op::Sinh => unary_function::<vecmath::Sinh, C>,
            Op::Cosh => unary_function::<vecmath::Cosh, C>,
            Op::Tanh => unary_function::<vecmath::Tanh, C>,
            Op::Asinh => unary_function::<vecmath::Asinh, C>,
            Op::Acosh => unary_function::<vecmath::Acosh, C>,
            Op::Atanh => unary_function::<vecmath::Atanh, C>,
            Op::Pow => binary_function::<vecmath::Pow, C>,
            _ => return None,
        })
    }
}

complexes!(c64 f32 c128 f64);
