//! From one element type to another, and written numbers as elements.
//!
//! Integers wrap. Floating point becomes an integer by dropping the fraction; what is too large becomes the
//! largest integer there is, and NaN 0. Everything but 0 is true.

use super::kernel;
use crate::expr::error::Problem;
use crate::expr::number::Number;
use crate::loops::{Constant, Kernel};
use crate::tensor::DType;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

/// From any real type to one of Rust's own numbers.
macro_rules! to_number {
    ($from:ident, $To:ident) => {
        match $from {
            DType::Bool | DType::U8 => kernel!(|a: u8| -> $To { a as $To }),
            DType::I8 => kernel!(|a: i8| -> $To { a as $To }),
            DType::I16 => kernel!(|a: i16| -> $To { a as $To }),
            DType::I32 => kernel!(|a: i32| -> $To { a as $To }),
            DType::I64 => kernel!(|a: i64| -> $To { a as $To }),
            DType::U16 => kernel!(|a: u16| -> $To { a as $To }),
            DType::U32 => kernel!(|a: u32| -> $To { a as $To }),
            DType::U64 => kernel!(|a: u64| -> $To { a as $To }),
            DType::F32 => kernel!(|a: f32| -> $To { a as $To }),
            DType::F64 => kernel!(|a: f64| -> $To { a as $To }),
            DType::F16 => kernel!(|a: f16| -> $To { a.to_f32() as $To }),
            DType::BF16 => kernel!(|a: bf16| -> $To { widened(a) as $To }),
            DType::C64 | DType::C128 | DType::Str => return None,
        }
    };
}

/// From any real type to something else, by a function of a floating point number that holds it.
macro_rules! through_float {
    ($from:ident, $To:ty, $of_f32:path, $of_f64:path) => {
        match $from {
            DType::Bool | DType::U8 => kernel!(|a: u8| -> $To { $of_f32(a as f32) }),
            DType::I8 => kernel!(|a: i8| -> $To { $of_f32(a as f32) }),
            DType::I16 => kernel!(|a: i16| -> $To { $of_f32(a as f32) }),
            DType::I32 => kernel!(|a: i32| -> $To { $of_f64(a as f64) }),
            DType::I64 => kernel!(|a: i64| -> $To { $of_f64(a as f64) }),
            DType::U16 => kernel!(|a: u16| -> $To { $of_f32(a as f32) }),
            DType::U32 => kernel!(|a: u32| -> $To { $of_f64(a as f64) }),
            DType::U64 => kernel!(|a: u64| -> $To { $of_f64(a as f64) }),
            DType::F32 => kernel!(|a: f32| -> $To { $of_f32(a) }),
            DType::F64 => kernel!(|a: f64| -> $To { $of_f64(a) }),
            DType::F16 => kernel!(|a: f16| -> $To { $of_f32(a.to_f32()) }),
            DType::BF16 => kernel!(|a: bf16| -> $To { $of_f32(widened(a)) }),
            DType::C64 | DType::C128 | DType::Str => return None,
        }
    };
}

/// The kernel that makes elements of one type into those of another; `None` where that would drop more than
/// digits.
pub(in crate::expr) fn cast(from: DType, to: DType) -> Option<Kernel> {
    Some(match (from, to) {
        // Whole blocks at a time, by instructions made for it.
        (DType::F16, DType::F32) => f16_to_f32,
        (DType::F32, DType::F16) => f32_to_f16,
        (DType::C64, DType::C128) => {
            kernel!(|a: Complex<f32>| -> Complex<f64> { Complex::new(a.re.into(), a.im.into()) })
        }
        (DType::C128, DType::C64) => {
            kernel!(|a: Complex<f64>| -> Complex<f32> { Complex::new(a.re as f32, a.im as f32) })
        }
        (DType::C64, DType::Bool) => kernel!(|a: Complex<f32>| -> u8 { (a.re != 0.0 || a.im != 0.0) as u8 }),
        (DType::C128, DType::Bool) => kernel!(|a: Complex<f64>| -> u8 { (a.re != 0.0 || a.im != 0.0) as u8 }),
        (_, DType::Bool) => to_truth(from)?,
        (_, DType::I8) => to_number!(from, i8),
        (_, DType::I16) => to_number!(from, i16),
        (_, DType::I32) => to_number!(from, i32),
        (_, DType::I64) => to_number!(from, i64),
        (_, DType::U8) => to_number!(from, u8),
        (_, DType::U16) => to_number!(from, u16),
        (_, DType::U32) => to_number!(from, u32),
        (_, DType::U64) => to_number!(from, u64),
        (_, DType::F32) => to_number!(from, f32),
        (_, DType::F64) => to_number!(from, f64),
        (_, DType::F16) => through_float!(from, f16, f16::from_f32, f16::from_f64),
        (_, DType::BF16) => through_float!(from, bf16, narrowed, bf16::from_f64),
        (_, DType::C64) => through_float!(from, Complex<f32>, complex_of_f32, complex64_of_f64),
        (_, DType::C128) => through_float!(from, Complex<f64>, complex_of_f32, Complex::<f64>::from),
        (_, DType::Str) => return None,
    })
}

fn to_truth(from: DType) -> Option<Kernel> {
    Some(match from {
        DType::Bool | DType::U8 | DType::I8 => kernel!(|a: u8| -> u8 { (a != 0) as u8 }),
        DType::I16 | DType::U16 => kernel!(|a: u16| -> u8 { (a != 0) as u8 }),
        DType::I32 | DType::U32 => kernel!(|a: u32| -> u8 { (a != 0) as u8 }),
        DType::I64 | DType::U64 => kernel!(|a: u64| -> u8 { (a != 0) as u8 }),
        // Both zeros, whatever their sign.
        DType::F16 | DType::BF16 => kernel!(|a: u16| -> u8 { (a << 1 != 0) as u8 }),
        DType::F32 => kernel!(|a: f32| -> u8 { (a != 0.0) as u8 }),
        DType::F64 => kernel!(|a: f64| -> u8 { (a != 0.0) as u8 }),
        DType::C64 | DType::C128 | DType::Str => return None,
    })
}

fn f16_to_f32(from: &[&[u8]], to: &mut [u8]) {
    if let &[a] = from {
        bytemuck::cast_slice::<u8, f16>(a).convert_to_f32_slice(bytemuck::cast_slice_mut(to));
    }
}

fn f32_to_f16(from: &[&[u8]], to: &mut [u8]) {
    if let &[a] = from {
        bytemuck::cast_slice_mut::<u8, f16>(to).convert_from_f32_slice(bytemuck::cast_slice(a));
    }
}

/// In the same steps for every number, so that the loop becomes vector code.
#[inline(always)]
fn widened(a: bf16) -> f32 {
    f32::from_bits(u32::from(a.to_bits()) << 16)
}

/// To the nearest, the even one of two.
#[inline(always)]
fn narrowed(a: f32) -> bf16 {
    let bits = a.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN stays one: rounding might have carried it away.
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if a.is_nan() { nan } else { rounded } as u16)
}

#[inline(always)]
fn complex_of_f32<T: From<f32>>(a: f32) -> Complex<T> {
    Complex::new(a.into(), 0.0.into())
}

#[inline(always)]
fn complex64_of_f64(a: f64) -> Complex<f32> {
    Complex::new(a as f32, 0.0)
}

/// A written number as an element.
pub(in crate::expr) fn constant(number: Number, dtype: DType) -> Result<Constant, Problem> {
    if let Number::Bool(truth) = number {
        return constant(Number::Int(truth.into()), dtype);
    }
    let does_not_fit = || Problem::DoesNotFit { number: number.to_string(), dtype };
    let (complex, int) = match number {
        Number::Bool(_) => return Err(does_not_fit()),
        Number::Int(int) => (Complex::new(int as f64, 0.0), Some(int)),
        Number::Float(float) => (Complex::new(float, 0.0), None),
        Number::Complex(complex) => (complex, None),
    };
    if complex.im != 0.0 && !dtype.is_complex() {
        return Err(does_not_fit());
    }
    let int = || int.filter(|&int| dtype.holds(int)).ok_or_else(does_not_fit);
    Ok(match dtype {
        DType::Bool => Constant::new((complex.re != 0.0) as u8),
        DType::I8 => Constant::new(int()? as i8),
        DType::I16 => Constant::new(int()? as i16),
        DType::I32 => Constant::new(int()? as i32),
        DType::I64 => Constant::new(int()? as i64),
        DType::U8 => Constant::new(int()? as u8),
        DType::U16 => Constant::new(int()? as u16),
        DType::U32 => Constant::new(int()? as u32),
        DType::U64 => Constant::new(int()? as u64),
        DType::F16 => Constant::new(f16::from_f64(complex.re)),
        DType::BF16 => Constant::new(bf16::from_f64(complex.re)),
        DType::F32 => Constant::new(complex.re as f32),
        DType::F64 => Constant::new(complex.re),
        DType::C64 => Constant::new(Complex::new(complex.re as f32, complex.im as f32)),
        DType::C128 => Constant::new(complex),
        DType::Str => return Err(Problem::Strings),
    })
}
