//! Allocation that fails with an error instead of aborting, on huge pages where it is large.

use super::huge_pages::advise_huge_pages;

/// Memory that could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError {
    /// Requested size in bytes, `usize::MAX` where it cannot be counted.
    pub bytes: usize,
}

/// An empty vector with capacity for exactly `count` elements.
///
/// # Errors
///
/// [`AllocError`] where the memory is not available.
pub fn reserve<T>(count: usize) -> Result<Vec<T>, AllocError> {
    let mut elements = Vec::new();
    if elements.try_reserve_exact(count).is_err() {
        return Err(AllocError { bytes: count.saturating_mul(size_of::<T>()) });
    }
    advise_huge_pages(elements.spare_capacity_mut());
    Ok(elements)
}

/// Whether memory of this size takes fresh pages.
///
/// The system has zeroed them: [`zeroed`] then costs nothing.
#[cfg(feature = "fused")]
pub fn is_zeroed_by_system(bytes: usize) -> bool {
    bytes >= crate::tuning::FRESH_PAGES_MIN_BYTES
}

/// A vector of `count` zeros.
///
/// A large one takes fresh pages, which the system has zeroed already.
///
/// # Errors
///
/// [`AllocError`] where the memory is not available.
#[cfg(feature = "fused")]
pub fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>, AllocError> {
    let error = AllocError { bytes: count.saturating_mul(size_of::<T>()) };
    let Ok(layout) = std::alloc::Layout::array::<T>(count) else { return Err(error) };
    if layout.size() == 0 {
        // No elements, or elements without a size.
        return Ok(Vec::from_iter(std::iter::repeat_with(T::zeroed).take(count)));
    }
    // Safety: the layout's size is not 0.
    let first = unsafe { std::alloc::alloc_zeroed(layout) };
    if first.is_null() {
        return Err(error);
    }
    // Safety: the global allocator returned this memory for this layout, and zero bytes are elements.
    let mut elements = unsafe { Vec::from_raw_parts(first.cast::<T>(), count, count) };
    advise_huge_pages(elements.as_mut_slice());
    Ok(elements)
}

#[cfg(test)]
#[cfg(feature = "fused")]
mod tests {
    use super::{AllocError, is_zeroed_by_system, reserve, zeroed};
    use crate::tuning::FRESH_PAGES_MIN_BYTES;

    #[test]
    fn vectors_have_the_requested_elements() {
        assert_eq!(zeroed::<u32>(5), Ok(vec![0; 5]));
        assert_eq!(zeroed::<u32>(0), Ok(vec![]));
        assert_eq!(zeroed::<()>(5), Ok(vec![(); 5]));
        let reserved = reserve::<u32>(5).unwrap();
        assert!(reserved.is_empty() && reserved.capacity() >= 5);
    }

    #[test]
    fn memory_that_is_not_available_is_an_error() {
        // The second is half of all addresses; the third is allowed, but more than any machine has.
        let half = (1 << (usize::BITS - 4), 1 << (usize::BITS - 1));
        let sizes = [
            (usize::MAX, usize::MAX),
            half,
            #[cfg(target_pointer_width = "64")]
            (1 << 58, 1 << 61),
        ];
        for (count, bytes) in sizes {
            assert_eq!(reserve::<u64>(count), Err(AllocError { bytes }));
            assert_eq!(zeroed::<u64>(count), Err(AllocError { bytes }));
        }
    }

    #[test]
    fn large_memory_is_zeroed_by_the_system() {
        let bytes = FRESH_PAGES_MIN_BYTES;
        assert_eq!([bytes - 1, bytes].map(is_zeroed_by_system), [false, true]);
    }
}
