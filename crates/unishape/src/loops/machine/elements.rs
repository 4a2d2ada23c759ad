//! Elements copied together from where they are, and back: as bytes, whose number alone matters here.

use unishape_simd::{SimdTask, run_avx2};

/// Writes an element's bytes again and again.
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

/// Copies the elements on a way, the innermost loop of which comes first.
///
/// # Safety
///
/// They are there, and `to` has room for as many and no more.
pub(super) unsafe fn gather<const N: usize>(
    from: *const [u8; N],
    way: &[(usize, isize)],
    to: &mut [[u8; N]],
) {
    // Safety: turns are those of the loops; those of an outer one are as many pieces of `to`.
    unsafe {
        match *way {
            [] => to[0] = *from,
            [(len, 1)] => to.copy_from_slice(std::slice::from_raw_parts(from, len)),
            [(_, 0)] => to.fill(*from),
            [ref within @ .., (times, 0)] => {
                // The same again and again.
                let len = to.len() / times;
                gather(from, within, &mut to[..len]);
                let mut have = len;
                while have < to.len() {
                    let more = have.min(to.len() - have);
                    to.copy_within(..more, have);
                    have += more;
                }
            }
            [(2, 0), (_, step)] => repeat::<N, 2>(|i| *from.offset(i as isize * step), to),
            [(3, 0), (_, step)] => repeat::<N, 3>(|i| *from.offset(i as isize * step), to),
            [(4, 0), (_, step)] => repeat::<N, 4>(|i| *from.offset(i as isize * step), to),
            [(len, step), (rows, row_step)] if row_step.unsigned_abs() < step.unsigned_abs() => {
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
            }
            [(_, step)] => {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = *from.offset(i as isize * step);
                }
            }
            [ref within @ .., (times, step)] => {
                for (turn, to) in to.chunks_exact_mut(to.len() / times).enumerate() {
                    gather(from.offset(turn as isize * step), within, to);
                }
            }
        }
    }
}

/// Each element as often as is known here.
#[inline(always)]
fn repeat<const N: usize, const LEN: usize>(element: impl Fn(usize) -> [u8; N], to: &mut [[u8; N]]) {
    for (at, to) in to.as_chunks_mut::<LEN>().0.iter_mut().enumerate() {
        *to = [element(at); LEN];
    }
}

/// Writes as many elements, or one for all, to the places on a way.
///
/// # Safety
///
/// They can be written to.
pub(super) unsafe fn scatter<const N: usize>(
    from: &[[u8; N]],
    mask: u8,
    to: *mut [u8; N],
    way: &[(usize, isize)],
) {
    let masked = |element: &[u8; N]| element.map(|byte| byte & mask);
    // Safety: turns are those of the loops.
    unsafe {
        match (way, from) {
            ([], _) => *to = masked(&from[0]),
            (&[(len, 1)], from) if from.len() == len && mask == u8::MAX => {
                to.copy_from_nonoverlapping(from.as_ptr(), len);
            }
            (&[(len, step)], [element]) => {
                (0..len).for_each(|i| *to.offset(i as isize * step) = masked(element));
            }
            (&[(len, step)], from) => {
                let elements = from[..len].iter().enumerate();
                elements.for_each(|(i, element)| *to.offset(i as isize * step) = masked(element));
            }
            ([within @ .., (times, step)], from) => {
                let len = from.len() / times;
                for turn in 0..*times {
                    let from = if from.len() == 1 { from } else { &from[turn * len..][..len] };
                    scatter(from, mask, to.offset(turn as isize * step), within);
                }
            }
        }
    }
}
