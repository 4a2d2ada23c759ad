//! Gathering strided elements into contiguous blocks, and scattering them back. Elements are bytes here: only
//! their size matters.

use super::transpose::transpose;
use unishape_simd::{SimdTask, run_avx2};

/// Fills a block with copies of an element.
pub(super) fn fill(element: &[u8], to: &mut [u8]) {
    struct Fill<'f, const N: usize>(&'f [u8], &'f mut [u8]);

    impl<const N: usize> SimdTask for Fill<'_, N> {
        #[inline(always)]
        fn run(self) {
            if let Ok(element) = <[u8; N]>::try_from(self.0) {
                self.1.as_chunks_mut::<N>().0.fill(element);
            }
        }
    }

    fn elements<const N: usize>(element: &[u8], to: &mut [u8]) {
        run_avx2(Fill::<N>(element, to));
    }
    match element.len() {
        1 => elements::<1>(element, to),
        2 => elements::<2>(element, to),
        4 => elements::<4>(element, to),
        8 => elements::<8>(element, to),
        _ => elements::<16>(element, to),
    }
}

/// Writes the offsets of some loops, innermost first, to a contiguous block.
pub(super) fn write_indices(first: isize, loops: &[(usize, isize)], to: &mut [[u8; 8]]) {
    match *loops {
        [] => to.fill((first as i64).to_ne_bytes()),
        [(_, stride)] => {
            let mut index = first as i64;
            for element in to {
                *element = index.to_ne_bytes();
                index = index.wrapping_add(stride as i64);
            }
        }
        [ref inner @ .., (count, stride)] => {
            for (i, to) in to.chunks_exact_mut(to.len() / count).enumerate() {
                write_indices(first.wrapping_add(stride.wrapping_mul(i as isize)), inner, to);
            }
        }
    }
}

/// Copies the elements of some loops, innermost first, to a contiguous block.
///
/// # Safety
///
/// All of the elements are readable, and `to` has exactly as many.
pub(super) unsafe fn gather<const N: usize>(
    from: *const [u8; N],
    loops: &[(usize, isize)],
    to: &mut [[u8; N]],
) {
    // Safety: indices are those of the loops; each iteration of an outer one fills a part of `to`.
    unsafe {
        match *loops {
            [] => to[0] = *from,
            [(len, 1)] => to.copy_from_slice(std::slice::from_raw_parts(from, len)),
            [(_, 0)] => to.fill(*from),
            [ref inner @ .., (times, 0)] => {
                // Gather once, then double the copies.
                let len = to.len() / times;
                gather(from, inner, &mut to[..len]);
                let mut filled = len;
                while filled < to.len() {
                    let more = filled.min(to.len() - filled);
                    to.copy_within(..more, filled);
                    filled += more;
                }
            }
            [(2, 0), (_, stride)] => repeat::<N, 2>(|i| *from.offset(i as isize * stride), to),
            [(3, 0), (_, stride)] => repeat::<N, 3>(|i| *from.offset(i as isize * stride), to),
            [(4, 0), (_, stride)] => repeat::<N, 4>(|i| *from.offset(i as isize * stride), to),
            [(len, stride), (rows, row_stride)] if row_stride.unsigned_abs() < stride.unsigned_abs() => {
                // A column of the block is contiguous in the input: transpose, reading whole cache lines.
                if row_stride == 1 && transpose(from, stride, [rows, len], to) {
                    return;
                }
                let to = to.as_mut_ptr();
                for i in 0..len {
                    let column = from.offset(i as isize * stride);
                    for row in 0..rows {
                        *to.add(row * len + i) = *column.offset(row as isize * row_stride);
                    }
                }
            }
            [(_, stride)] => {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = *from.offset(i as isize * stride);
                }
            }
            [ref inner @ .., (times, stride)] => {
                for (iteration, to) in to.chunks_exact_mut(to.len() / times).enumerate() {
                    gather(from.offset(iteration as isize * stride), inner, to);
                }
            }
        }
    }
}

/// Repeats each element a constant number of times.
#[inline(always)]
fn repeat<const N: usize, const LEN: usize>(element: impl Fn(usize) -> [u8; N], to: &mut [[u8; N]]) {
    for (i, to) in to.as_chunks_mut::<LEN>().0.iter_mut().enumerate() {
        *to = [element(i); LEN];
    }
}

/// Writes a contiguous block, or copies of one element, to the elements of some loops, innermost first.
///
/// # Safety
///
/// All of the elements are writable.
pub(super) unsafe fn scatter<const N: usize>(
    from: &[[u8; N]],
    mask: u8,
    to: *mut [u8; N],
    loops: &[(usize, isize)],
) {
    let masked = |element: &[u8; N]| element.map(|byte| byte & mask);
    // Safety: indices are those of the loops.
    unsafe {
        match (loops, from) {
            ([], _) => *to = masked(&from[0]),
            (&[(len, 1)], from) if from.len() == len && mask == u8::MAX => {
                to.copy_from_nonoverlapping(from.as_ptr(), len);
            }
            (&[(len, stride)], [element]) => {
                (0..len).for_each(|i| *to.offset(i as isize * stride) = masked(element));
            }
            (&[(len, stride)], from) => {
                let elements = from[..len].iter().enumerate();
                elements.for_each(|(i, element)| *to.offset(i as isize * stride) = masked(element));
            }
            ([inner @ .., (times, stride)], from) => {
                let len = from.len() / times;
                for iteration in 0..*times {
                    let from = if from.len() == 1 { from } else { &from[iteration * len..][..len] };
                    scatter(from, mask, to.offset(iteration as isize * stride), inner);
                }
            }
        }
    }
}
