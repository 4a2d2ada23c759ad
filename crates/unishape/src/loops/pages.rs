//! Fresh memory costs a fault for each page when it is first written to, and that takes longer than
//! writing it. Large pages are 512 times fewer.

/// Asks for large pages for what a vector has room for. Where the system has none to give, or is not asked
/// to, nothing changes.
pub(crate) fn ask_for_large<T>(elements: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 1 << 21;
        let room = elements.spare_capacity_mut();
        let (start, bytes) = (room.as_mut_ptr().cast::<u8>(), size_of_val(room));
        // What begins and ends within a large page shares it with others.
        let before = start.align_offset(LARGE);
        let whole = bytes.saturating_sub(before) / LARGE * LARGE;
        if whole >= 2 * LARGE {
            // Safety: these are whole pages of the vector's own memory, and the advice changes nothing in
            // them. That it may be refused does not matter.
            unsafe { libc::madvise(start.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = elements;
}

#[cfg(test)]
mod tests {
    use super::ask_for_large;

    #[test]
    fn what_is_there_stays() {
        let mut elements = vec![7u64; 1 << 20];
        elements.reserve_exact(1 << 20);
        ask_for_large(&mut elements);
        elements.resize(1 << 21, 9);
        assert!(elements[..1 << 20].iter().all(|&x| x == 7) && elements[1 << 20..].iter().all(|&x| x == 9));
        ask_for_large(&mut Vec::<u8>::new());
        ask_for_large(&mut Vec::<()>::with_capacity(5));
    }
}
