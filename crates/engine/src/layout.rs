//! Strides of contiguous arrays, in elements.

/// Row-major strides: the last dimension is contiguous.
pub fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    set_row_major(&mut strides, shape);
    strides
}

/// Writes row-major strides to a slice as long as the shape.
#[inline]
pub fn set_row_major(strides: &mut [isize], shape: &[usize]) {
    set_strides(strides.iter_mut().rev(), shape.iter().rev());
}

/// Column-major strides: the first dimension is contiguous.
#[cfg(test)]
pub(crate) fn column_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    set_strides(strides.iter_mut(), shape.iter());
    strides
}

/// Sets strides from the innermost dimension outwards. A stride that overflows becomes 0, which is valid: the
/// array has no elements then.
fn set_strides<'a>(strides: impl Iterator<Item = &'a mut isize>, sizes: impl Iterator<Item = &'a usize>) {
    let mut next = 1isize;
    for (stride, &size) in strides.zip(sizes) {
        *stride = next;
        next = isize::try_from(size).ok().and_then(|size| next.checked_mul(size)).unwrap_or(0);
    }
}

/// All indices of a shape, in row-major order: the reference that tests compare with.
#[cfg(test)]
pub(crate) fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    ndarray::indices(shape).into_iter().map(|index| ndarray::Dimension::slice(&index).to_vec())
}
