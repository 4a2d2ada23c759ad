//! Exact numbers of elements and bytes, or an error on overflow (BC-14).

use core::fmt;

/// The number of elements of a shape: the product of its sizes.
///
/// It is 1 for rank 0, and 0 if any size is 0, even if the other sizes alone would overflow.
///
/// # Errors
///
/// [`TooLarge`] if the product does not fit a `usize`.
///
/// ```
/// use unishape_core::{TooLarge, element_count};
///
/// assert_eq!(element_count(&[8, 7, 6, 5]), Ok(1680));
/// assert_eq!(element_count(&[]), Ok(1));
/// assert_eq!(element_count(&[usize::MAX, 2]), Err(TooLarge));
/// assert_eq!(element_count(&[usize::MAX, 2, 0]), Ok(0));
/// ```
#[inline]
pub fn element_count(shape: &[usize]) -> Result<usize, TooLarge> {
    for &size in shape {
        if size == 0 {
            return Ok(0);
        }
    }
    let mut count = 1usize;
    for &size in shape {
        match count.checked_mul(size) {
            Some(product) => count = product,
            None => return Err(TooLarge),
        }
    }
    Ok(count)
}

/// The number of bytes of a shape whose elements have `element` bytes each.
///
/// # Errors
///
/// [`TooLarge`] if the number of elements or of bytes does not fit a `usize`.
///
/// ```
/// use unishape_core::{TooLarge, byte_count};
///
/// assert_eq!(byte_count(&[1000, 1000], 8), Ok(8_000_000));
/// assert_eq!(byte_count(&[usize::MAX / 2], 8), Err(TooLarge));
/// ```
#[inline]
pub fn byte_count(shape: &[usize], element: usize) -> Result<usize, TooLarge> {
    match element_count(shape)?.checked_mul(element) {
        Some(bytes) => Ok(bytes),
        None => Err(TooLarge),
    }
}

/// The number of elements or bytes does not fit a `usize`.
///
/// ```
/// use unishape_core::{TooLarge, element_count};
///
/// assert_eq!(element_count(&[usize::MAX, usize::MAX]), Err(TooLarge));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number of elements or bytes does not fit a usize")
    }
}

impl core::error::Error for TooLarge {}
