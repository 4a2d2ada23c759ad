//! Which element types are plain numbers, decided without asking callers to promise anything about them.

use std::any::TypeId;
use std::num::Wrapping;

macro_rules! one_of {
    ($type:ident: $($candidate:ty),+ $(,)?) => {
        // `typeid` works for types with lifetimes too, which none of these has.
        [$(TypeId::of::<$candidate>()),+].contains(&typeid::of::<$type>())
    };
}

/// Whether a type is a primitive of Rust, of which a copy is as good as the original.
///
/// Other types may have interior mutability: a closure can tell the copy of an atomic from the original.
pub(crate) fn is_primitive<T>() -> bool {
    one_of!(
        T: f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool, char,
        Wrapping<i8>, Wrapping<i16>, Wrapping<i32>, Wrapping<i64>,
        Wrapping<u8>, Wrapping<u16>, Wrapping<u32>, Wrapping<u64>,
    )
}

/// Whether a type is a number that any thread may access.
#[cfg(feature = "parallel")]
pub(crate) fn is_number<T>() -> bool {
    is_primitive::<T>()
        || one_of!(T: half::f16, half::bf16, num_complex::Complex<f32>, num_complex::Complex<f64>)
}
