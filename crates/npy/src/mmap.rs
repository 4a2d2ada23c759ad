//! A file seen as memory.

#![allow(unsafe_code)]

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Maps a file for reading. Pages are read as they are touched, and given back when memory is
/// short, so that a file of any size can be mapped.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // Safety: the one danger of a mapping is that somebody changes the file, or cuts it short, while
    // it is mapped. No other mapping or handle of ours writes to it. The bytes never leave this crate
    // as a slice of bytes: `npy::Mapped` hands them to `write` calls, copies them, or shows them as numbers,
    // which any bytes are, and from which nothing is concluded about memory; booleans are looked at and
    // copied. So bytes changed by another program come out as bytes changed. A file cut short ends the
    // process with SIGBUS. `npy::Mapped` says in its documentation that files must be left alone meanwhile;
    // more cannot be done for a mapped file.
    unsafe { Mmap::map(file) }
}

/// Takes some bytes of a mapped file out of this process's memory until they are touched again.
pub(crate) fn let_go(file: &Mmap, bytes: Range<usize>) {
    #[cfg(unix)]
    {
        use memmap2::UncheckedAdvice::DontNeed;
        // Safety: the mapping is of a file and only for reading, as `map_file` makes them, so that there is
        // nothing in it which is not in the file: touched again, the pages have the same bytes.
        let _ = unsafe { file.unchecked_advise_range(DontNeed, bytes.start, bytes.len()) };
    }
    #[cfg(not(unix))]
    let _ = (file, bytes);
}
