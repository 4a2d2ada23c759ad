//! Strides of arrays that lie in one piece, in elements.

/// The last index moves fastest.
pub(crate) fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    set_row_major(&mut strides, shape);
    strides
}

/// The same in a slice as long as the shape.
#[inline]
pub(crate) fn set_row_major(strides: &mut [isize], shape: &[usize]) {
    set_strides(strides.iter_mut().rev(), shape.iter().rev());
}

/// The first index moves fastest.
#[cfg(test)]
pub(crate) fn column_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    set_strides(strides.iter_mut(), shape.iter());
    strides
}

/// From the fastest dimension to the slowest. Where a size is 0 there is no element, and any stride
/// will do, also one that could not be counted.
fn set_strides<'a>(strides: impl Iterator<Item = &'a mut isize>, sizes: impl Iterator<Item = &'a usize>) {
    let mut next = 1isize;
    for (stride, &size) in strides.zip(sizes) {
        *stride = next;
        next = isize::try_from(size).ok().and_then(|size| next.checked_mul(size)).unwrap_or(0);
    }
}
