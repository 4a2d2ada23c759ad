//! Transposing with SIMD: squares of elements in registers.

/// Transposes a matrix: `to[row][i] = from[i][row]`, for rows of `to` that are contiguous.
///
/// Returns whether it did: this CPU, the element size or the matrix may have no squares.
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
) -> bool {
    debug_assert!(to.len() == rows * len);
    #[cfg(target_arch = "x86_64")]
    if matches!(N, 4 | 8) && rows.min(len) >= 32 / N && is_x86_feature_detected!("avx") {
        let to = to.as_mut_ptr();
        // Safety: the CPU has the instructions, and the matrices have a square.
        unsafe {
            match N {
                4 => x86::transpose::<f32>(from.cast(), stride, [rows, len], to.cast()),
                _ => x86::transpose::<f64>(from.cast(), stride, [rows, len], to.cast()),
            }
        }
        return true;
    }
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Elements whose squares fit the registers.
    pub(super) trait Square: Copy {
        /// Elements of a row of a square.
        const SIDE: usize;

        /// Transposes a square.
        ///
        /// # Safety
        ///
        /// The CPU has AVX. `from` and `to` have a square of elements, in rows that are `stride` and `to_stride`
        /// elements apart.
        unsafe fn transpose(from: *const Self, stride: isize, to: *mut Self, to_stride: usize);
    }

    /// Transposes a matrix in squares. The last ones overlap those before them.
    ///
    /// # Safety
    ///
    /// The CPU has AVX. `from` has `len` contiguous runs of `rows` readable elements, `stride` elements apart,
    /// `to` has `rows * len` elements, and `rows` and `len` are at least `T::SIDE`.
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn transpose<T: Square>(
        from: *const T,
        stride: isize,
        [rows, len]: [usize; 2],
        to: *mut T,
    ) {
        let (side, mut i) = (T::SIDE, 0);
        // Runs of a cache line are read completely before the next ones: with a stride of a power of two they
        // would evict each other.
        loop {
            let mut row = 0;
            loop {
                // Safety: the square lies within both matrices.
                unsafe {
                    T::transpose(
                        from.offset(i as isize * stride).add(row),
                        stride,
                        to.add(row * len + i),
                        len,
                    )
                };
                if row + side == rows {
                    break;
                }
                row = (row + side).min(rows - side);
            }
            if i + side == len {
                break;
            }
            i = (i + side).min(len - side);
        }
    }

    /// 8 x 8 elements.
    impl Square for f32 {
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn transpose(from: *const f32, stride: isize, to: *mut f32, to_stride: usize) {
            // Safety: the caller guarantees the elements and the instructions.
            unsafe {
                for half in 0..2 {
                    // Four columns of rows k and k + 4, side by side.
                    let pair = |k: isize| {
                        let low = from.offset(k * stride).add(4 * half);
                        let high = from.offset((k + 4) * stride).add(4 * half);
                        _mm256_insertf128_ps::<1>(
                            _mm256_castps128_ps256(_mm_loadu_ps(low)),
                            _mm_loadu_ps(high),
                        )
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
    }

    /// 4 x 4 elements.
    impl Square for f64 {
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn transpose(from: *const f64, stride: isize, to: *mut f64, to_stride: usize) {
            // Safety: the caller guarantees the elements and the instructions.
            unsafe {
                for half in 0..2 {
                    // Two columns of rows k and k + 2, side by side.
                    let pair = |k: isize| {
                        let low = from.offset(k * stride).add(2 * half);
                        let high = from.offset((k + 2) * stride).add(2 * half);
                        _mm256_insertf128_pd::<1>(
                            _mm256_castpd128_pd256(_mm_loadu_pd(low)),
                            _mm_loadu_pd(high),
                        )
                    };
                    let (a, b) = (pair(0), pair(1));
                    _mm256_storeu_pd(to.add(2 * half * to_stride), _mm256_unpacklo_pd(a, b));
                    _mm256_storeu_pd(to.add((2 * half + 1) * to_stride), _mm256_unpackhi_pd(a, b));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::transpose;
    use proptest::prelude::*;

    /// Whether the matrix was transposed.
    fn check<const N: usize>(rows: usize, len: usize, gap: usize) -> bool {
        let stride = rows + gap;
        let from: Vec<[u8; N]> =
            (0..stride * len).map(|i| std::array::from_fn(|byte| (i * 7 + byte * 31) as u8)).collect();
        let untouched = [0xA5; N];
        let mut to = vec![untouched; rows * len];
        // Safety: `from` has `len` runs of `stride` elements, of which `rows` are read.
        let done = unsafe { transpose(from.as_ptr(), stride as isize, [rows, len], &mut to) };
        for (row, i) in (0..rows).flat_map(|row| (0..len).map(move |i| (row, i))) {
            let expected = if done { from[i * stride + row] } else { untouched };
            assert_eq!(to[row * len + i], expected, "row {row}, column {i} of {rows} x {len}");
        }
        done
    }

    proptest! {
        #[test]
        fn matrices_of_any_size(rows in 0usize..40, len in 0usize..40, gap in 0usize..5) {
            check::<1>(rows, len, gap);
            check::<4>(rows, len, gap);
            check::<8>(rows, len, gap);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn squares_fill_registers() {
        if is_x86_feature_detected!("avx") {
            assert!(check::<4>(8, 8, 0) && check::<4>(20, 17, 3) && !check::<4>(7, 100, 0));
            assert!(check::<8>(4, 4, 1) && check::<8>(9, 5, 0) && !check::<8>(100, 3, 0));
        }
    }
}
