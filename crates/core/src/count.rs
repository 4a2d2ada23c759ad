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
    match element_count(shape) {
        Ok(count) => match count.checked_mul(element) {
            Some(bytes) => Ok(bytes),
            None => Err(TooLarge),
        },
        Err(TooLarge) => Err(TooLarge),
    }
}

/// Whether arrays of this shape can be indexed.
///
/// The product of the sizes other than 0 must fit an `isize`.
///
/// The number of elements then fits as well, and so does that of every part of the array. ndarray requires this
/// of every view.
///
/// ```
/// use unishape_core::fits_isize;
///
/// assert!(fits_isize(&[1 << 31, 1 << 31]));
/// assert!(!fits_isize(&[1 << 32, 1 << 31]));
/// assert!(!fits_isize(&[1 << 32, 1 << 31, 0])); // although there is no element
/// ```
#[inline(always)]
pub fn fits_isize(shape: &[usize]) -> bool {
    let mut product = 1usize;
    for &size in shape {
        let own = if size == 0 { 1 } else { size };
        match product.checked_mul(own) {
            Some(next) => product = next,
            None => return false,
        }
    }
    product <= isize::MAX as usize
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
    #[inline] // so that the check for panics sees it
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number of elements or bytes does not fit a usize")
    }
}

impl core::error::Error for TooLarge {}
