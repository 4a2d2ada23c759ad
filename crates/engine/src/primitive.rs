//! Which element types are numbers: decided by type identity, without a trait that callers implement.

use std::any::TypeId;
use std::num::Wrapping;

/// Whether a type is a number, which any thread may access.
///
/// Other types may have interior mutability: a closure can distinguish the copy of an atomic from the original.
pub(crate) fn is_number<T>() -> bool {
    macro_rules! one_of {
        ($($number:ty),+ $(,)?) => {
            // `typeid` works for types with lifetimes too, which none of these has.
            [$(TypeId::of::<$number>()),+].contains(&typeid::of::<T>())
        };
    }
    one_of!(
        half::f16,
        half::bf16,
        num_complex::Complex<f32>,
        num_complex::Complex<f64>,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        i128,
        isize,
        u8,
        u16,
        u32,
        u64,
        u128,
        usize,
        Wrapping<i8>,
        Wrapping<i16>,
        Wrapping<i32>,
        Wrapping<i64>,
        Wrapping<u8>,
        Wrapping<u16>,
        Wrapping<u32>,
        Wrapping<u64>,
    )
}
