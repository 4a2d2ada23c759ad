//! A file seen as memory.

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps a file for reading. Pages are read as they are touched, and given back when memory is
/// short, so that a file of any size can be mapped.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // Safety: the one danger of a mapping is that the file is changed or cut short by someone else
    // while it is mapped. The bytes are only ever handed on as bytes, for which any value will do,
    // and a file cut short ends the process with SIGBUS rather than reading other memory. Callers
    // say in their documentation that files must be left alone meanwhile.
    unsafe { Mmap::map(file) }
}
