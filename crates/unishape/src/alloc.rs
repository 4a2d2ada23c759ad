//! Checks before memory for a result is allocated (BC-14).

use crate::error::Error;
use unishape_core::{byte_count, element_count};
use unishape_engine::memory::AllocError;

/// Number of elements of a shape, if their bytes can be addressed.
pub(crate) fn checked_len<T>(shape: &[usize]) -> Result<usize, Error> {
    match (byte_count(shape, size_of::<T>()), element_count(shape)) {
        (Ok(bytes), Ok(count)) if bytes <= isize::MAX as usize => Ok(count),
        _ => Err(Error::too_large(shape, Some(size_of::<T>()))),
    }
}

/// The user's error for memory that is not available.
pub(crate) fn out_of_memory(error: AllocError) -> Error {
    Error::OutOfMemory { bytes: error.bytes }
}

/// Number of bytes of a shape's elements, if they can be addressed.
#[cfg(feature = "expr")]
pub(crate) fn checked_bytes(shape: &[usize], item: usize) -> Result<usize, Error> {
    match byte_count(shape, item) {
        Ok(bytes) if bytes <= isize::MAX as usize => Ok(bytes),
        _ => Err(Error::too_large(shape, Some(item))),
    }
}
