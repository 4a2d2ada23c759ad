//! A file seen as memory.

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps a file for reading. Pages are read as they are touched, and given back when memory is
/// short, so that a file of any size can be mapped.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // Safety: the one danger of a mapping is that somebody changes the file, or cuts it short, while
    // it is mapped. No other mapping or handle of ours writes to it. The bytes never leave this crate
    // as a slice: `npy::Mapped` hands them to `write` calls and nothing else, and reads no meaning
    // into them, so that bytes changed by another program come out as bytes changed. A file cut short
    // ends the process with SIGBUS. `npy::Mapped` says in its documentation that files must be left
    // alone meanwhile; more cannot be done for a mapped file.
    unsafe { Mmap::map(file) }
}
