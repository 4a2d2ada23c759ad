//! Kernels: functions of blocks of elements, one for each operation and the dtype that it computes in.
//!
//! Kernels take and write bytes, so that all have one type; inside they use slices of elements. Booleans are
//! bytes 0 or 1, and every kernel with a boolean result writes one of these. float16 and bfloat16 are
//! computed as float32, so they have casts only.
//!
//! Operations that other kernels can do have none: `a > b` is `b < a`, and bitwise operations depend on the
//! item size only. Each kernel less saves up to three loops to compile.

mod bits;
mod cast;
mod complex;
mod elementwise;
mod float;
mod integer;

use crate::{DType, Op};

pub use cast::{find_cast, next_cast};
pub use elementwise::{Kernel, KernelContext};
pub use integer::compare_mixed;

/// The kernel of an operation for inputs of a dtype, if there is one.
///
/// ```
/// use unishape_kernels::{DType, Op, find_kernel};
///
/// assert!(find_kernel(Op::Sqrt, DType::F32).is_some());
/// // Computed as `b < a`.
/// assert!(find_kernel(Op::Greater, DType::F32).is_none());
/// ```
pub fn find_kernel(op: Op, dtype: DType) -> Option<Kernel> {
    if let Some(kernel) = bits::find(op, dtype) {
        return Some(kernel);
    }
    match dtype {
        DType::Bool | DType::U8 => integer::u8(op),
        DType::I8 => integer::i8(op).or_else(|| integer::u8(op)),
        DType::I16 => integer::i16(op).or_else(|| integer::u16(op)),
        DType::I32 => integer::i32(op).or_else(|| integer::u32(op)),
        DType::I64 => integer::i64(op).or_else(|| integer::u64(op)),
        DType::U16 => integer::u16(op),
        DType::U32 => integer::u32(op),
        DType::U64 => integer::u64(op),
        DType::F32 => float::f32(op),
        DType::F64 => float::f64(op),
        DType::F16 if op == Op::Nextafter => Some(float::nextafter_f16),
        DType::BF16 if op == Op::Nextafter => Some(float::nextafter_bf16),
        DType::C64 => complex::c64(op),
        DType::C128 => complex::c128(op),
        DType::F16 | DType::BF16 | DType::Str => None,
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod value_tests;
