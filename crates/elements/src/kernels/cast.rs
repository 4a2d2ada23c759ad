//! From one element type to another, and written numbers as elements.
//!
//! Integers wrap. Floating point becomes an integer by dropping the fraction; what is too large becomes the
//! largest integer there is, and NaN 0. Everything but 0 is true.

use super::{Kernel, kernel};
use crate::{Ahead, Constant, DType, Scalar};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

/// The kernel that makes elements of one type into those of another, if there is one for just that; see
/// [`next_type`].
#[doc(hidden)]
pub fn cast(from: DType, to: DType) -> Option<Kernel> {
    use DType::*;
    Some(match (from, to) {
        (Bool | U8 | I8, Bool) => kernel!(any |a: u8| -> u8 { (a != 0) as u8 }),
        (I16 | U16, Bool) => kernel!(any |a: u16| -> u8 { (a != 0) as u8 }),
        (I32 | U32, Bool) => kernel!(any |a: u32| -> u8 { (a != 0) as u8 }),
        (I64 | U64, Bool) => kernel!(any |a: u64| -> u8 { (a != 0) as u8 }),
        // Both zeros, whatever their sign.
        (F16 | BF16, Bool) => kernel!(any |a: u16| -> u8 { (a << 1 != 0) as u8 }),
        (F32, Bool) => kernel!(any |a: f32| -> u8 { (a != 0.0) as u8 }),
        (F64, Bool) => kernel!(any |a: f64| -> u8 { (a != 0.0) as u8 }),
        (C64, Bool) => kernel!(any |a: Complex<f32>| -> u8 { (a.re != 0.0 || a.im != 0.0) as u8 }),
        (C128, Bool) => kernel!(any |a: Complex<f64>| -> u8 { (a.re != 0.0 || a.im != 0.0) as u8 }),
        // Integers: widened by sign or by zeros, and cut.
        (I8, I64) => kernel!(|a: i8| -> i64 { a.into() }),
        (I16, I64) => kernel!(|a: i16| -> i64 { a.into() }),
        (I32, I64) => kernel!(|a: i32| -> i64 { a.into() }),
        (Bool | U8, U64) => kernel!(|a: u8| -> u64 { a.into() }),
        (U16, U64) => kernel!(|a: u16| -> u64 { a.into() }),
        (U32, U64) => kernel!(|a: u32| -> u64 { a.into() }),
        (U64, U8) => kernel!(any |a: u64| -> u8 { a as u8 }),
        (U64, U16) => kernel!(any |a: u64| -> u16 { a as u16 }),
        (U64, U32) => kernel!(any |a: u64| -> u32 { a as u32 }),
        // Between integers and floating point.
        (Bool | U8, F32) => kernel!(|a: u8| -> f32 { a.into() }),
        (I8, F32) => kernel!(|a: i8| -> f32 { a.into() }),
        (I16, F32) => kernel!(|a: i16| -> f32 { a.into() }),
        (U16, F32) => kernel!(|a: u16| -> f32 { a.into() }),
        (I32, F32) => kernel!(|a: i32| -> f32 { a as f32 }),
        (U32, F32) => kernel!(any |a: u32| -> f32 { a as f32 }),
        (I64, F32) => kernel!(|a: i64| -> f32 { a as f32 }),
        (U64, F32) => kernel!(any |a: u64| -> f32 { a as f32 }),
        (Bool | U8, F64) => kernel!(|a: u8| -> f64 { a.into() }),
        (I8, F64) => kernel!(any |a: i8| -> f64 { a.into() }),
        (I16, F64) => kernel!(|a: i16| -> f64 { a.into() }),
        (U16, F64) => kernel!(any |a: u16| -> f64 { a.into() }),
        (I32, F64) => kernel!(|a: i32| -> f64 { a.into() }),
        (U32, F64) => kernel!(any |a: u32| -> f64 { a.into() }),
        (I64, F64) => kernel!(|a: i64| -> f64 { a as f64 }),
        (U64, F64) => kernel!(any |a: u64| -> f64 { a as f64 }),
        (F64, I8) => kernel!(any |a: f64| -> i8 { a as i8 }),
        (F64, I16) => kernel!(any |a: f64| -> i16 { a as i16 }),
        (F64, I32) => kernel!(|a: f64| -> i32 { a as i32 }),
        (F64, I64) => kernel!(|a: f64| -> i64 { a as i64 }),
        (F64, U8) => kernel!(|a: f64| -> u8 { a as u8 }),
        (F64, U16) => kernel!(any |a: f64| -> u16 { a as u16 }),
        (F64, U32) => kernel!(any |a: f64| -> u32 { a as u32 }),
        (F64, U64) => kernel!(any |a: f64| -> u64 { a as u64 }),
        // Floating point among itself.
        (F32, F64) => kernel!(|a: f32| -> f64 { a.into() }),
        (F64, F32) => kernel!(|a: f64| -> f32 { a as f32 }),
        // Whole blocks at a time, by instructions made for it.
        (F16, F32) => f16_to_f32,
        (F32, F16) => f32_to_f16,
        (F64, F16) => kernel!(any |a: f64| -> f16 { f16::from_f64(a) }),
        (BF16, F32) => kernel!(|a: bf16| -> f32 { widened(a) }),
        (F32, BF16) => kernel!(|a: f32| -> bf16 { narrowed(a) }),
        (F64, BF16) => kernel!(any |a: f64| -> bf16 { bf16::from_f64(a) }),
        (F32, C64) => kernel!(|a: f32| -> Complex<f32> { Complex::new(a, 0.0) }),
        (F64, C128) => kernel!(|a: f64| -> Complex<f64> { Complex::new(a, 0.0) }),
        (C64, C128) => kernel!(|a: Complex<f32>| -> Complex<f64> { Complex::new(a.re.into(), a.im.into()) }),
        (C128, C64) => {
            kernel!(|a: Complex<f64>| -> Complex<f32> { Complex::new(a.re as f32, a.im as f32) })
        }
        _ => return None,
    })
}

/// Where elements of one type go next on their way to another, and by which kernel; by none where they are
/// the same bits. `None` where the way would drop more than digits.
#[doc(hidden)]
pub fn next_type(from: DType, to: DType) -> Option<(DType, Option<Kernel>)> {
    use DType::*;
    if let Some(kernel) = cast(from, to) {
        return Some((to, Some(kernel)));
    }
    let is_whole = |dtype: DType| dtype.is_integer() || dtype == Bool;
    if is_whole(from) && to.is_integer() && from.bytes() == to.bytes() {
        return Some((to, None));
    }
    let next = match (from, to) {
        (Str, _) | (_, Str) | (C64 | C128, _) => return None,
        (F32, C128) => F64,
        (F64, C64) => F32,
        (F16 | BF16, _) => F32,
        (F32, _) => F64,
        (_, C64) => F32,
        (_, C128) => F64,
        // Exactly, so that it is rounded once.
        (I32 | U32 | I64 | U64, F16 | BF16) => F64,
        (_, F16 | BF16) => F32,
        // To another number of bytes, by way of the most.
        (I8 | I16 | I32, _) => I64,
        (Bool | U8 | U16 | U32, _) => U64,
        (U64, I8) => U8,
        (U64, I16) => U16,
        (U64, _) => U32,
        (I64, _) => return Some((U64, None)),
        (F64, _) => return None,
    };
    Some((next, cast(from, next)))
}

fn f16_to_f32(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    if let &[a] = from {
        let (a, to) = (bytemuck::cast_slice::<u8, f16>(a), bytemuck::cast_slice_mut(to));
        ahead.in_parts(to.len(), to.len(), |first, end| {
            a[first..end].convert_to_f32_slice(&mut to[first..end])
        });
    }
}

fn f32_to_f16(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    if let &[a] = from {
        let (a, to) = (bytemuck::cast_slice(a), bytemuck::cast_slice_mut::<u8, f16>(to));
        ahead
            .in_parts(to.len(), to.len(), |first, end| to[first..end].convert_from_f32_slice(&a[first..end]));
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

/// A written number as an element; `None` where the type has none like it.
#[doc(hidden)]
pub fn constant(number: Scalar, dtype: DType) -> Option<Constant> {
    let (complex, int) = match number {
        Scalar::Bool(truth) => return constant(Scalar::Int(truth.into()), dtype),
        Scalar::Int(int) => (Complex::new(int as f64, 0.0), Some(int)),
        Scalar::Float(float) => (Complex::new(float, 0.0), None),
        Scalar::Complex(complex) => (complex, None),
    };
    if complex.im != 0.0 && !dtype.is_complex() && dtype != DType::Bool {
        return None;
    }
    let int = || int.filter(|&int| dtype.holds(int));
    Some(match dtype {
        DType::Bool => Constant::new((complex != Complex::ZERO) as u8),
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
        DType::Str => return None,
    })
}
