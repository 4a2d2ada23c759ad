//! Huge pages. The first write to fresh memory faults once a page, which takes longer than the write
//! itself; with huge pages there are 512 times fewer faults.

/// Requests huge pages for memory, best before its first write. The system may ignore it.
pub(crate) fn advise_huge_pages<T>(memory: &mut [T]) {
    #[cfg(all(target_os = "linux", feature = "closures"))]
    {
        use crate::tuning::{HUGE_PAGE, MIN_HUGE_PAGES};
        let (start, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
        // Only whole huge pages: those at the ends are shared with other allocations.
        let before = start.align_offset(HUGE_PAGE);
        let whole = bytes.saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
        if whole >= MIN_HUGE_PAGES * HUGE_PAGE {
            // Safety: these are whole pages of the caller's own memory, and the advice does not change their
            // contents. A refusal is of no consequence.
            unsafe { libc::madvise(start.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", feature = "closures")))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::advise_huge_pages;

    #[test]
    fn contents_stay() {
        let mut elements = vec![7u64; 1 << 20];
        elements.reserve_exact(1 << 20);
        advise_huge_pages(elements.spare_capacity_mut());
        elements.resize(1 << 21, 9);
        assert!(elements[..1 << 20].iter().all(|&x| x == 7) && elements[1 << 20..].iter().all(|&x| x == 9));
        advise_huge_pages::<u8>(&mut []);
        advise_huge_pages(&mut [(); 5]);
    }
}
