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

/// Whether memory of this size takes fresh pages, which the system has zeroed: [`zeroed`] then costs nothing.
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
