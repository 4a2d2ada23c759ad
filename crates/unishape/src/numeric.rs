//! Elements that expressions compute with.

use crate::tensor::Element;
use half::{bf16, f16};
use num_complex::Complex;

/// An element type that expressions compute with: every [`Element`] but strings.
///
/// ```
/// # use unishape::expr::{Bound, ExprError, Numeric};
/// fn into_vector<T: Numeric>(bound: &Bound<'_>) -> Result<Vec<T>, ExprError> {
///     let mut out = ndarray::Array1::from_elem(bound.shape()[0], T::zeroed());
///     bound.compute_into(&mut out)?;
///     Ok(out.into_raw_vec_and_offset().0)
/// }
/// ```
pub trait Numeric: Element + bytemuck::NoUninit + bytemuck::Zeroable + Send + Sync {
    /// The bits of a byte that may be set: any bytes within the mask are an element.
    #[doc(hidden)]
    const BYTE_MASK: u8;
}

macro_rules! numeric {
    ($($type:ty),+) => {
        $(impl Numeric for $type {
            // Any bit pattern is a valid element.
            const BYTE_MASK: u8 = {
                #[allow(clippy::extra_unused_type_parameters)] // the bound is what is checked
                const fn any_bit_pattern<T: bytemuck::Pod>() -> u8 {
                    u8::MAX
                }
                any_bit_pattern::<$type>()
            };
        })+
    };
}
numeric!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f16, bf16, Complex<f32>, Complex<f64>);

/// 0 is false, 1 is true.
impl Numeric for bool {
    const BYTE_MASK: u8 = 1;
}
