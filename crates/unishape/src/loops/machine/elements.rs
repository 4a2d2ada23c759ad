//! Elements copied together from where they are, and back: as bytes, whose number alone matters here.

use super::routine::Extent;
use unishape_elements::{Job, at_full_width};

/// Writes an element's bytes again and again.
pub(super) fn fill(element: &[u8], to: &mut [u8]) {
    struct Fill<'f, const N: usize>(&'f [u8], &'f mut [u8]);

    impl<const N: usize> Job for Fill<'_, N> {
        #[inline(always)]
        fn run(self) {
            if let Ok(element) = <[u8; N]>::try_from(self.0) {
                self.1.as_chunks_mut::<N>().0.fill(element);
            }
        }
    }

    fn elements<const N: usize>(element: &[u8], to: &mut [u8]) {
        at_full_width(Fill::<N>(element, to));
    }
    match element.len() {
        1 => elements::<1>(element, to),
        2 => elements::<2>(element, to),
        4 => elements::<4>(element, to),
        8 => elements::<8>(element, to),
        _ => elements::<16>(element, to),
    }
}

/// # Safety
///
/// All elements of the block, of `N` bytes each, are there.
pub(super) unsafe fn gather<const N: usize>(
    from: *const u8,
    (row_step, step): (isize, isize),
    block: Extent,
    to: &mut [u8],
) {
    let (from, to) = (from.cast::<[u8; N]>(), to.as_chunks_mut::<N>().0);
    let to = &mut to[..block.count()];
    let Extent { rows, len } = block;
    // Safety: rows and columns are those of the block.
    unsafe {
        let at = |row: usize, i: usize| from.offset(row as isize * row_step + i as isize * step);
        if row_step == 0 && rows > 1 {
            // The same row again and again.
            gather::<N>(from.cast(), (0, step), Extent { rows: 1, len }, to[..len].as_flattened_mut());
            let mut have = len;
            while have < to.len() {
                let more = have.min(to.len() - have);
                to.copy_within(..more, have);
                have += more;
            }
        } else if step == 1 {
            for (row, to) in to.chunks_exact_mut(len).enumerate() {
                to.copy_from_slice(std::slice::from_raw_parts(at(row, 0), len));
            }
        } else if step == 0 {
            match len {
                2 => repeat::<N, 2>(|row| *at(row, 0), to),
                3 => repeat::<N, 3>(|row| *at(row, 0), to),
                4 => repeat::<N, 4>(|row| *at(row, 0), to),
                _ => to.chunks_exact_mut(len).enumerate().for_each(|(row, to)| to.fill(*at(row, 0))),
            }
        } else if row_step.unsigned_abs() < step.unsigned_abs() && rows > 1 {
            // A column of the block is a row of the input: read by the line, turned round on the way.
            let to = to.as_mut_ptr();
            for i in 0..len {
                let column = from.offset(i as isize * step);
                if row_step == 1 {
                    (0..rows).for_each(|row| *to.add(row * len + i) = *column.add(row));
                } else {
                    (0..rows)
                        .for_each(|row| *to.add(row * len + i) = *column.offset(row as isize * row_step));
                }
            }
        } else {
            for (row, to) in to.chunks_exact_mut(len).enumerate() {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = *at(row, i);
                }
            }
        }
    }
}

/// Each row's element as often as the row is long, which is known here.
#[inline(always)]
fn repeat<const N: usize, const LEN: usize>(element: impl Fn(usize) -> [u8; N], to: &mut [[u8; N]]) {
    for (row, to) in to.as_chunks_mut::<LEN>().0.iter_mut().enumerate() {
        *to = [element(row); LEN];
    }
}

/// # Safety
///
/// All elements of the block, of `N` bytes each, can be written to.
pub(super) unsafe fn scatter<const N: usize>(
    from: &[u8],
    single: bool,
    mask: u8,
    to: *mut u8,
    (row_step, step): (isize, isize),
    Extent { rows, len }: Extent,
) {
    let (from, to) = (from.as_chunks::<N>().0, to.cast::<[u8; N]>());
    for row in 0..rows {
        // Safety: rows and columns are those of the block.
        unsafe {
            let to = to.offset(row as isize * row_step);
            if !single && step == 1 && mask == u8::MAX {
                to.copy_from_nonoverlapping(from[row * len..][..len].as_ptr(), len);
                continue;
            }
            for i in 0..len {
                let element = if single { from[0] } else { from[row * len + i] };
                *to.offset(i as isize * step) = element.map(|byte| byte & mask);
            }
        }
    }
}
