//! Transposing with SIMD: squares of elements in registers.

/// Transposes the part of a matrix that consists of whole squares: `to[row][i] = from[i][row]`, for rows of `to`
/// that are contiguous. Returns how many rows and columns that are; 0 where this CPU or the element size has no
/// squares.
///
/// # Safety
///
/// `from` has `len` contiguous runs of `rows` readable elements, `stride` elements apart, and `to` has
/// `rows * len` elements.
#[allow(unused_variables)]
pub(super) unsafe fn transpose<const N: usize>(
    from: *const [u8; N],
    stride: isize,
    [rows, len]: [usize; 2],
    to: &mut [[u8; N]],
) -> [usize; 2] {
    debug_assert!(to.len() == rows * len);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") && matches!(N, 4 | 8) {
        let side = 32 / N;
        let done = [rows / side * side, len / side * side];
        let to = to.as_mut_ptr();
        // Runs of a cache line are read completely before the next ones: with a stride of a power of two they
        // would evict each other.
        for i in (0..done[1]).step_by(side) {
            for row in (0..done[0]).step_by(side) {
                // Safety: the CPU has the instructions, and the square lies within both matrices.
                unsafe {
                    let from = from.offset(i as isize * stride).add(row);
                    let to = to.add(row * len + i);
                    match N {
                        4 => x86::square_of_8(from.cast(), stride, to.cast(), len),
                        _ => x86::square_of_4(from.cast(), stride, to.cast(), len),
                    }
                }
            }
        }
        return done;
    }
    [0, 0]
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Transposes 8 x 8 elements of 4 bytes.
    ///
    /// # Safety
    ///
    /// `from` has 8 rows of 8 elements, `stride` elements apart, and `to` as many, `to_stride` elements apart.
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) unsafe fn square_of_8(from: *const f32, stride: isize, to: *mut f32, to_stride: usize) {
        // Safety: the caller guarantees the elements.
        unsafe {
            for half in 0..2 {
                // Four columns of rows k and k + 4, side by side.
                let pair = |k: isize| {
                    let low = from.offset(k * stride).add(4 * half);
                    let high = from.offset((k + 4) * stride).add(4 * half);
                    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high))
                };
                let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
                let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                let rows = [
                    _mm256_shuffle_ps::<0b01_00_01_00>(ab_low, cd_low),
                    _mm256_shuffle_ps::<0b11_10_11_10>(ab_low, cd_low),
                    _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
                    _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
                ];
                for (row, values) in rows.into_iter().enumerate() {
                    _mm256_storeu_ps(to.add((4 * half + row) * to_stride), values);
                }
            }
        }
    }

    /// Transposes 4 x 4 elements of 8 bytes.
    ///
    /// # Safety
    ///
    /// `from` has 4 rows of 4 elements, `stride` elements apart, and `to` as many, `to_stride` elements apart.
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) unsafe fn square_of_4(from: *const f64, stride: isize, to: *mut f64, to_stride: usize) {
        // Safety: the caller guarantees the elements.
        unsafe {
            for half in 0..2 {
                // Two columns of rows k and k + 2, side by side.
                let pair = |k: isize| {
                    let low = from.offset(k * stride).add(2 * half);
                    let high = from.offset((k + 2) * stride).add(2 * half);
                    _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high))
                };
                let (a, b) = (pair(0), pair(1));
                _mm256_storeu_pd(to.add(2 * half * to_stride), _mm256_unpacklo_pd(a, b));
                _mm256_storeu_pd(to.add((2 * half + 1) * to_stride), _mm256_unpackhi_pd(a, b));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::transpose;
    use proptest::prelude::*;

    fn check<const N: usize>(rows: usize, len: usize, gap: usize) {
        let stride = rows + gap;
        let from: Vec<[u8; N]> =
            (0..stride * len).map(|i| std::array::from_fn(|byte| (i * 7 + byte * 31) as u8)).collect();
        let untouched = [0xA5; N];
        let mut to = vec![untouched; rows * len];
        // Safety: `from` has `len` runs of `stride` elements, of which `rows` are read.
        let done = unsafe { transpose(from.as_ptr(), stride as isize, [rows, len], &mut to) };
        for (row, i) in (0..rows).flat_map(|row| (0..len).map(move |i| (row, i))) {
            let expected = if row < done[0] && i < done[1] { from[i * stride + row] } else { untouched };
            assert_eq!(to[row * len + i], expected, "row {row}, column {i} of {rows} x {len}");
        }
    }

    proptest! {
        #[test]
        fn whole_squares_are_transposed(rows in 0usize..40, len in 0usize..40, gap in 0usize..5) {
            check::<1>(rows, len, gap);
            check::<4>(rows, len, gap);
            check::<8>(rows, len, gap);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn squares_fill_registers() {
        if is_x86_feature_detected!("avx") {
            let (from, mut to) = (vec![[0u8; 4]; 20 * 17], vec![[0u8; 4]; 20 * 17]);
            // Safety: `from` has 17 runs of 20 elements.
            assert_eq!(unsafe { transpose(from.as_ptr(), 20, [20, 17], &mut to) }, [16, 16]);
        }
    }
}
