//! Fresh memory costs a fault for each page when it is first written to, and that takes longer than
//! writing it. Large pages are 512 times fewer.

/// Asks for large pages for memory that has not been touched. Where the system has none to give, or is not
/// asked to, nothing changes.
pub(crate) fn ask_for_large<T>(room: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 1 << 21;
        let (start, bytes) = (room.as_mut_ptr().cast::<u8>(), size_of_val(room));
        // What begins and ends within a large page shares it with others.
        let before = start.align_offset(LARGE);
        let whole = bytes.saturating_sub(before) / LARGE * LARGE;
        if whole >= 2 * LARGE {
            // Safety: these are whole pages of the caller's own memory, and the advice changes nothing in
            // them. That it may be refused does not matter.
            unsafe { libc::madvise(start.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

#[cfg(test)]
mod tests {
    use super::ask_for_large;

    #[test]
    fn what_is_there_stays() {
        let mut elements = vec![7u64; 1 << 20];
        elements.reserve_exact(1 << 20);
        ask_for_large(elements.spare_capacity_mut());
        elements.resize(1 << 21, 9);
        assert!(elements[..1 << 20].iter().all(|&x| x == 7) && elements[1 << 20..].iter().all(|&x| x == 9));
        ask_for_large::<u8>(&mut []);
        ask_for_large(&mut [(); 5]);
    }
}
