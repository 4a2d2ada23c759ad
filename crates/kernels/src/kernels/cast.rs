//! Casts from one dtype to another.
//!
//! Integers wrap. Floating-point numbers are truncated to integers; those that no integer of the dtype can hold become
//! what C compilers and NumPy make of them on x86-64, see [`to_i32`]. Everything but 0 is true.

use super::elementwise::{Kernel, KernelContext, kernel};
use crate::DType;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

/// The kernel that casts one dtype to another in one step, if there is one.
///
/// [`next_cast`] is for casts of several steps.
///
/// ```
/// use unishape_kernels::{DType, find_cast};
///
/// assert!(find_cast(DType::F32, DType::F64).is_some());
/// // By way of float32.
/// assert!(find_cast(DType::F16, DType::F64).is_none());
/// ```
pub fn find_cast(from: DType, to: DType) -> Option<Kernel> {
    use DType::*;
    Some(match (from, to) {
        (Bool | U8 | I8, Bool) => kernel!(baseline |a: u8| -> u8 { (a != 0) as u8 }),
        (I16 | U16, Bool) => kernel!(baseline |a: u16| -> u8 { (a != 0) as u8 }),
        (I32 | U32, Bool) => kernel!(baseline |a: u32| -> u8 { (a != 0) as u8 }),
        (I64 | U64, Bool) => kernel!(baseline |a: u64| -> u8 { (a != 0) as u8 }),
        // Without the sign bit, so that -0 is false too.
        (F16 | BF16, Bool) => kernel!(baseline |a: u16| -> u8 { (a << 1 != 0) as u8 }),
        (F32, Bool) => kernel!(baseline |a: f32| -> u8 { (a != 0.0) as u8 }),
        (F64, Bool) => kernel!(baseline |a: f64| -> u8 { (a != 0.0) as u8 }),
        (C64, Bool) => kernel!(baseline |a: Complex<f32>| -> u8 { (a.re != 0.0 || a.im != 0.0) as u8 }),
        (C128, Bool) => kernel!(baseline |a: Complex<f64>| -> u8 { (a.re != 0.0 || a.im != 0.0) as u8 }),
        // Integers: sign-extended, zero-extended, truncated.
        (I8, I64) => kernel!(|a: i8| -> i64 { a.into() }),
        (I16, I64) => kernel!(|a: i16| -> i64 { a.into() }),
        (I32, I64) => kernel!(|a: i32| -> i64 { a.into() }),
        (Bool | U8, U64) => kernel!(|a: u8| -> u64 { a.into() }),
        (U16, U64) => kernel!(|a: u16| -> u64 { a.into() }),
        (U32, U64) => kernel!(|a: u32| -> u64 { a.into() }),
        (U64, U8) => kernel!(baseline |a: u64| -> u8 { a as u8 }),
        (U64, U16) => kernel!(baseline |a: u64| -> u16 { a as u16 }),
        (U64, U32) => kernel!(baseline |a: u64| -> u32 { a as u32 }),
        // Between integers and floating point.
        (Bool | U8, F32) => kernel!(|a: u8| -> f32 { a.into() }),
        (I8, F32) => kernel!(|a: i8| -> f32 { a.into() }),
        (I16, F32) => kernel!(|a: i16| -> f32 { a.into() }),
        (U16, F32) => kernel!(|a: u16| -> f32 { a.into() }),
        (I32, F32) => kernel!(|a: i32| -> f32 { a as f32 }),
        (U32, F32) => kernel!(baseline |a: u32| -> f32 { a as f32 }),
        (I64, F32) => kernel!(|a: i64| -> f32 { a as f32 }),
        (U64, F32) => kernel!(baseline |a: u64| -> f32 { a as f32 }),
        (Bool | U8, F64) => kernel!(|a: u8| -> f64 { a.into() }),
        (I8, F64) => kernel!(baseline |a: i8| -> f64 { a.into() }),
        (I16, F64) => kernel!(|a: i16| -> f64 { a.into() }),
        (U16, F64) => kernel!(baseline |a: u16| -> f64 { a.into() }),
        (I32, F64) => kernel!(|a: i32| -> f64 { a.into() }),
        (U32, F64) => kernel!(baseline |a: u32| -> f64 { a.into() }),
        (I64, F64) => kernel!(|a: i64| -> f64 { a as f64 }),
        (U64, F64) => kernel!(baseline |a: u64| -> f64 { a as f64 }),
        (F64, I8) => kernel!(baseline |a: f64| -> i8 { to_i32(a) as i8 }),
        (F64, I16) => kernel!(baseline |a: f64| -> i16 { to_i32(a) as i16 }),
        (F64, I32) => kernel!(|a: f64| -> i32 { to_i32(a) }),
        (F64, I64) => kernel!(|a: f64| -> i64 { to_i64(a) }),
        (F64, U8) => kernel!(|a: f64| -> u8 { to_i32(a) as u8 }),
        (F64, U16) => kernel!(baseline |a: f64| -> u16 { to_i32(a) as u16 }),
        (F64, U32) => kernel!(baseline |a: f64| -> u32 { to_i64(a) as u32 }),
        (F64, U64) => kernel!(baseline |a: f64| -> u64 { to_u64(a) }),
        // Between floating-point dtypes.
        (F32, F64) => kernel!(|a: f32| -> f64 { a.into() }),
        (F64, F32) => kernel!(|a: f64| -> f32 { a as f32 }),
        // Chunk by chunk, with the CPU's conversion instructions.
        (F16, F32) => f16_to_f32,
        (F32, F16) => f32_to_f16,
        (F64, F16) => kernel!(baseline |a: f64| -> f16 { f16::from_f64(a) }),
        (BF16, F32) => kernel!(|a: bf16| -> f32 { bf16_to_f32(a) }),
        (F32, BF16) => kernel!(|a: f32| -> bf16 { f32_to_bf16(a) }),
        (F64, BF16) => kernel!(baseline |a: f64| -> bf16 { bf16::from_f64(a) }),
        (F32, C64) => kernel!(|a: f32| -> Complex<f32> { Complex::new(a, 0.0) }),
        (F64, C128) => kernel!(|a: f64| -> Complex<f64> { Complex::new(a, 0.0) }),
        (C64, C128) => kernel!(|a: Complex<f32>| -> Complex<f64> { Complex::new(a.re.into(), a.im.into()) }),
        (C128, C64) => {
            kernel!(|a: Complex<f64>| -> Complex<f32> { Complex::new(a.re as f32, a.im as f32) })
        }
        _ => return None,
    })
}

/// The first step of a cast: a dtype, and the kernel that casts to it.
///
/// The dtype is an intermediate one or `to`.
///
/// The kernel is `None` if the bits stay the same. The result is `None` if there is no cast: from or to text,
/// and from complex to real numbers.
///
/// ```
/// use unishape_kernels::{DType, next_cast};
///
/// let (dtype, kernel) = next_cast(DType::F16, DType::F64).unwrap();
/// assert!(dtype == DType::F32 && kernel.is_some());
/// let (dtype, kernel) = next_cast(DType::U8, DType::I8).unwrap();
/// assert!(dtype == DType::I8 && kernel.is_none());
/// assert!(next_cast(DType::C64, DType::F64).is_none());
/// ```
pub fn next_cast(from: DType, to: DType) -> Option<(DType, Option<Kernel>)> {
    use DType::*;
    if let Some(kernel) = find_cast(from, to) {
        return Some((to, Some(kernel)));
    }
    let is_integer_or_bool = |dtype: DType| dtype.is_integer() || dtype == Bool;
    if is_integer_or_bool(from) && to.is_integer() && from.item_size() == to.item_size() {
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
        // Exact, so that the result is rounded once.
        (I32 | U32 | I64 | U64, F16 | BF16) => F64,
        (_, F16 | BF16) => F32,
        // To another item size, by way of 8 bytes.
        (I8 | I16 | I32, _) => I64,
        (Bool | U8 | U16 | U32, _) => U64,
        (U64, I8) => U8,
        (U64, I16) => U16,
        (U64, _) => U32,
        (I64, _) => return Some((U64, None)),
        (F64, _) => return None,
    };
    Some((next, find_cast(from, next)))
}

/// Truncates to an `i32`, which is also the way to integers of 8 and 16 bits. As the instruction of x86-64 does, numbers
/// beyond its range and NaN become the smallest one, of which these have the low bits.
#[inline(always)]
fn to_i32(a: f64) -> i32 {
    // Numbers that are too small saturate.
    if a < 2_147_483_648.0 { a as i32 } else { i32::MIN }
}

/// As [`to_i32`]; also the way to `u32`.
#[inline(always)]
fn to_i64(a: f64) -> i64 {
    if a < TWO_63 { a as i64 } else { i64::MIN }
}

/// By way of `i64`: negative numbers wrap, and those from 2⁶³ on are shifted into its range.
#[inline(always)]
fn to_u64(a: f64) -> u64 {
    if a >= TWO_63 { to_i64(a - TWO_63) as u64 ^ 1 << 63 } else { to_i64(a) as u64 }
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

fn f16_to_f32(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext) {
    if let &[a] = inputs {
        let (a, output) = (bytemuck::cast_slice::<u8, f16>(a), bytemuck::cast_slice_mut(output));
        context.prefetch.for_each_chunk(output.len(), output.len(), |first, end| {
            a[first..end].convert_to_f32_slice(&mut output[first..end])
        });
    }
}

fn f32_to_f16(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext) {
    if let &[a] = inputs {
        let (a, output) = (bytemuck::cast_slice(a), bytemuck::cast_slice_mut::<u8, f16>(output));
        context.prefetch.for_each_chunk(output.len(), output.len(), |first, end| {
            output[first..end].convert_from_f32_slice(&a[first..end])
        });
    }
}

/// Branch-free, unlike `half`'s conversion, so that the loop is vectorized.
#[inline(always)]
fn bf16_to_f32(a: bf16) -> f32 {
    f32::from_bits(u32::from(a.to_bits()) << 16)
}

/// Rounds to nearest, ties to even.
#[inline(always)]
fn f32_to_bf16(a: f32) -> bf16 {
    let bits = a.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // Rounding could carry a NaN into infinity.
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if a.is_nan() { nan } else { rounded } as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constant, Scalar};

    const ORDER: [DType; 15] = {
        use DType::*;
        [Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128]
    };

    /// Casts an element in as many steps as needed, and counts kernels and steps that only rename the dtype.
    fn cast(mut element: Constant, mut from: DType, to: DType) -> Option<(Constant, usize)> {
        let mut kernels = 0;
        for _ in 0..5 {
            let (next, kernel) = next_cast(from, to)?;
            if let Some(kernel) = kernel {
                element = Constant::evaluate(kernel, &[element], next.item_size());
                kernels += 1;
            } else {
                assert_eq!(from.item_size(), next.item_size());
            }
            if next == to {
                return Some((element, kernels));
            }
            from = next;
        }
        panic!("no end of casts from {from} to {to}");
    }

    #[test]
    fn casts_of_numbers_that_both_dtypes_have() {
        for from in ORDER {
            for to in ORDER.into_iter().filter(|&to| to != from && (to.is_complex() || !from.is_complex())) {
                for int in [-100, -1, 0, 1, 2, 100, 40_000, 3 << 30, 3 << 60] {
                    // Rounded once, to the precision of `from`.
                    let scalar = Scalar::Int(int);
                    let rounds = |dtype| matches!(dtype, DType::F16 | DType::BF16) && int.abs() > 100;
                    let (Some(element), Some(expected)) = (
                        Constant::from_scalar(scalar, from).filter(|_| from.can_hold(int) && !rounds(from)),
                        Constant::from_scalar(scalar, to).filter(|_| to.can_hold(int)),
                    ) else {
                        continue;
                    };
                    let (element, _) = cast(element, from, to).unwrap();
                    assert_eq!(element, expected, "{int} as {from} to {to}");
                }
            }
        }
    }

    /// The number of kernels that each cast takes.
    #[test]
    fn casts_take_few_steps() {
        let steps = |from: DType| {
            ORDER.map(|to| {
                let zero = Constant::from_scalar(Scalar::Int(0), from).unwrap();
                match cast(zero, from, to) {
                    _ if from == to => "0".into(),
                    Some((_, kernels)) => kernels.to_string(),
                    None => "-".into(),
                }
            })
        };
        let table = ORDER.map(|from| steps(from).concat());
        assert_eq!(table, STEPS);
    }

    const STEPS: [&str; 15] = [
        "002210221221122",
        "102210221221122",
        "120212021221122",
        "122012201221122",
        "111101110221122",
        "102210221221122",
        "120212021221122",
        "122012201221122",
        "111101110221122",
        "133333333021223",
        "133333333201223",
        "122222222110112",
        "111111111111021",
        "1------------01",
        "1------------10",
    ];

    #[test]
    fn text_has_no_casts() {
        for &dtype in DType::ALL {
            assert!(next_cast(dtype, DType::Str).is_none() && next_cast(DType::Str, dtype).is_none());
        }
    }

    fn cast_one<A: bytemuck::NoUninit, B: bytemuck::AnyBitPattern>(from: DType, to: DType, a: A) -> B {
        cast(Constant::new(a), from, to).unwrap().0.get().unwrap()
    }

    /// What NumPy's `astype` gives on x86-64.
    #[test]
    fn floating_point_numbers_are_truncated() {
        let doubles = [2.9, -2.9, 300.5, -300.5, 70_000.0, 3e9, -5e9, 1e30, f64::NAN, f64::NEG_INFINITY];
        macro_rules! all {
            ($T:ident $dtype:ident) => {
                doubles.map(|x| cast_one::<_, $T>(DType::F64, DType::$dtype, x))
            };
        }
        assert_eq!(all!(i8 I8), [2, -2, 44, -44, 112, 0, 0, 0, 0, 0]);
        assert_eq!(all!(u8 U8), [2, 254, 44, 212, 112, 0, 0, 0, 0, 0]);
        assert_eq!(all!(i16 I16), [2, -2, 300, -300, 4464, 0, 0, 0, 0, 0]);
        assert_eq!(all!(u16 U16), [2, 65534, 300, 65236, 4464, 0, 0, 0, 0, 0]);
        let most = i32::MIN;
        assert_eq!(all!(i32 I32), [2, -2, 300, -300, 70_000, most, most, most, most, most]);
        let (three, minus_five) = (3_000_000_000, -5_000_000_000_i64);
        assert_eq!(
            all!(u32 U32),
            [2, -2_i32 as u32, 300, -300_i32 as u32, 70_000, three, minus_five as u32, 0, 0, 0]
        );
        let most = i64::MIN;
        assert_eq!(all!(i64 I64), [2, -2, 300, -300, 70_000, i64::from(three), minus_five, most, most, most]);
        let half = 1 << 63;
        assert_eq!(
            all!(u64 U64),
            [2, -2_i64 as u64, 300, -300_i64 as u64, 70_000, three.into(), minus_five as u64, 0, half, half]
        );
        assert_eq!(cast_one::<_, u64>(DType::F64, DType::U64, 1.8e19), 18_000_000_000_000_000_000);
        assert_eq!(cast_one::<f32, i64>(DType::F32, DType::I64, -1e30), i64::MIN);
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(cast_one::<_, i8>(DType::U16, DType::I8, 0x1280_u16), -128);
        assert_eq!(cast_one::<_, u32>(DType::I8, DType::U32, -1_i8), u32::MAX);
        assert_eq!(cast_one::<_, i64>(DType::U64, DType::I64, u64::MAX), -1);
        assert_eq!(cast_one::<_, u16>(DType::I64, DType::U16, -2_i64), 65534);
        assert_eq!(cast_one::<_, i16>(DType::U64, DType::I16, 0xFFFF_FFFE_u64), -2);
    }

    #[test]
    fn everything_but_zero_is_true() {
        let bools = |dtype, bits: [u16; 3]| bits.map(|bits| cast_one::<_, u8>(dtype, DType::Bool, bits));
        for dtype in [DType::F16, DType::BF16] {
            // 0, -0, and the smallest negative number.
            assert_eq!(bools(dtype, [0, 0x8000, 0x8001]), [0, 0, 1]);
        }
        assert_eq!(bools(DType::I16, [0, 0x8000, 0x0100]), [0, 1, 1]);
        let complex = |re, im| cast_one::<_, u8>(DType::C128, DType::Bool, Complex::new(re, im));
        assert_eq!([complex(0.0, -0.0), complex(0.0, 0.5), complex(f64::NAN, 0.0)], [0, 1, 1]);
    }

    /// `half` converts each of them alone; the bits of NaN, too.
    #[test]
    fn casts_of_16_bits_equal_those_of_half() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            let single: f32 = cast_one(DType::F16, DType::F32, half);
            assert!(single == half.to_f32() || single.is_nan() && half.is_nan(), "{bits:x}");
            assert_eq!(bf16_to_f32(brain).to_bits(), u32::from(bits) << 16);
            for rest in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let single = f32::from_bits(u32::from(bits) << 16 | rest);
                assert_eq!(f32_to_bf16(single).to_bits(), bf16::from_f32(single).to_bits(), "{single:e}");
                let half: f16 = cast_one(DType::F32, DType::F16, single);
                assert!(half == f16::from_f32(single) || half.is_nan() && single.is_nan(), "{single:e}");
            }
        }
    }
}
