//! Elements that a program can be run on.

use crate::tensor::Element;
use half::{bf16, f16};
use num_complex::Complex;

/// An element that is nothing but its bytes.
///
/// ```
/// # use unishape::expr::{Bound, ExprError, Plain};
/// fn into_vector<T: Plain>(bound: &Bound<'_>) -> Result<Vec<T>, ExprError> {
///     let mut out = ndarray::Array1::from_elem(bound.shape()[0], T::zeroed());
///     bound.compute_into(&mut out)?;
///     Ok(out.into_raw_vec_and_offset().0)
/// }
/// ```
///
/// # Safety
///
/// Any bits are an element; or, where it `IS_TRUTH`, any that are 0 but for the lowest one.
pub unsafe trait Plain: Element + bytemuck::NoUninit + bytemuck::Zeroable + Send + Sync {
    /// Whether it is a boolean.
    #[doc(hidden)]
    const IS_TRUTH: bool = false;
}

macro_rules! plain {
    ($($type:ty),+) => {
        $(
            const _: () = {
                const fn any_bits<T: bytemuck::Pod>() {}
                any_bits::<$type>();
            };
            // Safety: as the line above says, any bits are one.
            unsafe impl Plain for $type {}
        )+
    };
}
plain!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f16, bf16, Complex<f32>, Complex<f64>);

// Safety: 0 is false, 1 is true.
unsafe impl Plain for bool {
    const IS_TRUTH: bool = true;
}
