//! Writing past the cache. A line of memory that is written by ordinary means is read first, which costs a
//! third of what memory can move; and once it is written it takes a place in the cache from what is still
//! to be read. Results are put together in the first cache and go from there to memory as they are, line by
//! line, while the inputs that come next are fetched: memory would rest until they are asked for.

use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};

pub(crate) use unishape_simd::CACHE_LINE as LINE;

/// Bytes that are put together before they are written: enough that little is lost between one time and the
/// next, and few enough that memory does not rest meanwhile.
pub(crate) const PART: usize = 1024;

/// So many bytes before they are read, inputs are fetched: so early that they are there in time.
pub(crate) const AHEAD: usize = 4096;

/// Outputs of fewer bytes are likely to be read again before they have left the cache.
const LARGE: usize = 1 << 25;

/// Whether an output of so many elements from this one on is so large, its elements are such and this CPU can.
pub(crate) fn pays<T>(first: *const T, count: usize) -> bool {
    let size = size_of::<T>();
    let is_plain =
        !needs_drop::<T>() && size.is_power_of_two() && size <= LINE && first.addr().is_multiple_of(size);
    is_plain && count >= LARGE / size && cpu_can()
}

/// Whether this CPU has the instructions.
fn cpu_can() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Where a [`Writer`] puts things together.
#[repr(align(64))]
pub(crate) struct Room(MaybeUninit<[u8; PART]>);

impl Room {
    #[inline(always)]
    pub(crate) fn new() -> Room {
        Room(MaybeUninit::uninit())
    }
}

/// Puts an output together and writes it past the cache. What comes next in memory may come much later: lines that
/// are not whole wait for their rest.
pub(crate) struct Writer<'r> {
    /// The room's begin. Others write there meanwhile, by way of this pointer.
    room: *mut u8,
    _room: PhantomData<&'r mut Room>,
    /// Where the bytes in the room belong, and how many there are.
    to: *mut u8,
    filled: usize,
}

impl<'r> Writer<'r> {
    #[inline(always)]
    pub(crate) fn new(room: &'r mut Room) -> Writer<'r> {
        let room = room.0.as_mut_ptr().cast();
        Writer { room, _room: PhantomData, to: std::ptr::null_mut(), filled: 0 }
    }

    /// Where there is room, from its begin.
    #[inline(always)]
    pub(crate) fn buffer<T>(&self) -> *mut T {
        self.room.cast()
    }

    /// Elements that are there, which are at the begin of the room.
    #[inline(always)]
    pub(crate) fn filled<T>(&self) -> usize {
        self.filled / size_of::<T>()
    }

    /// How many elements there is room for.
    #[inline(always)]
    pub(crate) fn room<T>(&self) -> usize {
        (PART - self.filled) / size_of::<T>()
    }

    /// What comes next belongs at this place.
    ///
    /// # Safety
    ///
    /// As for [`wrote`](Writer::wrote).
    #[inline(always)]
    pub(crate) unsafe fn go_to<T>(&mut self, place: *mut T) {
        if self.to.wrapping_add(self.filled) != place.cast() {
            // Safety: as for the caller.
            unsafe { self.write_all() };
            self.to = place.cast();
        }
    }

    /// So many elements more are in the room; afterwards there is room for more.
    ///
    /// # Safety
    ///
    /// They are, they can be written to where they belong, and there it [pays].
    #[inline(always)]
    pub(crate) unsafe fn wrote<T>(&mut self, count: usize) {
        self.filled += count * size_of::<T>();
        if self.filled >= PART {
            let rest = (self.to.addr() + self.filled) % LINE;
            // Safety: there are more bytes than a line has, so that the rest is apart from where it goes.
            unsafe {
                let whole = self.filled - rest;
                self.write_first(whole);
                if rest > 0 {
                    let first = self.buffer::<u8>();
                    std::ptr::copy_nonoverlapping(first.add(whole), first, rest);
                }
                self.to = self.to.add(whole);
                self.filled = rest;
            }
        }
    }

    /// # Safety
    ///
    /// So many bytes are in the room, and can be written to where they belong; it pays.
    #[inline(always)]
    unsafe fn write_first(&mut self, bytes: usize) {
        // Safety: the caller vouches for the bytes, which are apart, the one being in our room.
        unsafe { write(self.buffer(), self.to, bytes) };
    }

    /// Nothing is left in the room.
    ///
    /// # Safety
    ///
    /// As for [`wrote`](Writer::wrote).
    unsafe fn write_all(&mut self) {
        // Safety: as for the caller; without bytes, nothing is written.
        unsafe { self.write_first(self.filled) };
        self.filled = 0;
    }

    /// Nothing comes any more; all that was written comes before what is written from now on.
    ///
    /// # Safety
    ///
    /// As for [`wrote`](Writer::wrote).
    pub(crate) unsafe fn end(mut self) {
        // Safety: as for the caller.
        unsafe { self.write_all() };
        done();
    }
}

/// Writes so many bytes, whatever they are, and those in whole lines past the cache. [`done`] has to be
/// called on this thread before anybody reads them.
///
/// # Safety
///
/// They can be read from `from` and written to `to`, which are apart, and it [pays], which it does not where the
/// CPU has no such instructions.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx"))]
pub(crate) unsafe fn write(from: *const u8, to: *mut u8, bytes: usize) {
    let before = to.align_offset(LINE).min(bytes);
    let lines = (bytes - before) / LINE;
    let after = before + lines * LINE;
    // Safety: all this is within the bytes.
    unsafe {
        // Most often there is nothing before and after the lines, and it would take a call to copy that.
        if before > 0 {
            std::ptr::copy_nonoverlapping(from, to, before);
        }
        let (mut from_line, mut to_line) = (from.add(before), to.add(before));
        for _ in 0..lines / 2 {
            write_line(from_line, to_line);
            write_line(from_line.add(LINE), to_line.add(LINE));
            (from_line, to_line) = (from_line.add(2 * LINE), to_line.add(2 * LINE));
        }
        if !lines.is_multiple_of(2) {
            write_line(from_line, to_line);
        }
        if after < bytes {
            std::ptr::copy_nonoverlapping(from.add(after), to.add(after), bytes - after);
        }
    }
    // The compiler does not know what was done to wide registers. Code for narrow ones, which may come next, would
    // wait for their upper halves at every step: rows of 3 took twice as long.
    #[cfg(target_arch = "x86_64")]
    std::arch::x86_64::_mm256_zeroupper();
}

/// # Safety
///
/// There is a line to read at `from`, and one to write at `to`, where a line begins.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx"))]
unsafe fn write_line(from: *const u8, to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // Safety: the caller vouches for both lines. The intrinsics for this would look at the bytes, of which some
    // may be padding.
    unsafe {
        std::arch::asm!(
            "vmovups {a}, [{from}]",
            "vmovups {b}, [{from} + 32]",
            "vmovntps [{to}], {a}",
            "vmovntps [{to} + 32], {b}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // Safety: the caller vouches for both lines.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, LINE);
    }
}

/// What was written past the cache comes before what is written from now on.
#[inline(always)]
pub(crate) fn done() {
    #[cfg(target_arch = "x86_64")]
    // Safety: every x86-64 CPU has this.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::{Room, Writer, cpu_can, pays};
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Line(usize);

    fn written<T: Copy + PartialEq + std::fmt::Debug>(
        element: impl Fn(usize) -> T,
        rows: &[(usize, usize)],
    ) -> Result<(), TestCaseError> {
        let end = rows.iter().map(|(gap, len)| gap + len).sum::<usize>();
        let mut expected: Vec<T> = (0..end).map(|_| element(usize::MAX)).collect();
        let mut out = expected.clone();
        let mut room = Room::new();
        let (mut writer, mut at) = (Writer::new(&mut room), 0);
        for (gap, len) in rows {
            at += gap;
            (at..at + len).for_each(|i| expected[i] = element(i));
            let mut done = 0;
            // Safety: there is room for what is written to it, and the places are those of the vector.
            unsafe {
                writer.go_to(out.as_mut_ptr().add(at));
                while done < *len {
                    let count = writer.room::<T>().min(len - done);
                    let first = writer.buffer::<T>().add(writer.filled::<T>());
                    (0..count).for_each(|i| first.add(i).write(element(at + done + i)));
                    writer.wrote::<T>(count);
                    done += count;
                }
            }
            at += len;
        }
        // Safety: as above.
        unsafe { writer.end() };
        prop_assert_eq!(out, expected);
        Ok(())
    }

    proptest! {
        /// Rows one after another, and such with something between them that stays as it is.
        #[test]
        fn everything_comes_to_its_place(
            rows in prop::collection::vec((prop_oneof![Just(0), 0usize..40], 0usize..700), 0..12),
        ) {
            if cpu_can() {
                written(|i| i as u8, &rows)?;
                written(|i| i as u32, &rows)?;
                written(|i| i as u128, &rows)?;
                written(Line, &rows)?;
            }
        }
    }

    #[test]
    fn elements_that_make_no_whole_lines_do_not_go_past() {
        let (bytes, many) = ([0u8; 128], 1 << 26);
        let first = bytes.as_ptr().wrapping_add(bytes.as_ptr().align_offset(64));
        assert_eq!(pays(first.cast::<[u8; 4]>(), many), cpu_can());
        assert!(!pays(first.wrapping_add(1).cast::<[u8; 4]>(), many));
        assert!(!pays(first.cast::<[u8; 3]>(), many));
        assert!(!pays(first.cast::<String>(), many));
        assert!(!pays(first, 1 << 20));
    }
}
