//! Memory-mapped files.
//!
//! This module and `RawArray::map` have the only `unsafe` code of this crate.

#![allow(unsafe_code)]

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Range;

/// A read-only memory mapping of a whole file.
#[derive(Debug)]
pub(crate) struct FileMapping(Mmap);

impl FileMapping {
    /// Maps a file. The system reads pages on first access and may evict them again.
    ///
    /// # Safety
    ///
    /// The file must not be modified or truncated while the mapping exists.
    pub(crate) unsafe fn new(file: &File) -> io::Result<FileMapping> {
        // Safety: the caller guarantees that the file keeps its bytes and its length.
        unsafe { Mmap::map(file) }.map(FileMapping)
    }

    /// Copies a stream to a temporary file without a name and maps that; `None` for an empty stream. Also returns
    /// the number of bytes.
    pub(crate) fn of_stream(reader: &mut impl io::Read) -> io::Result<(Option<FileMapping>, u64)> {
        let mut file = tempfile::tempfile()?;
        let len = io::copy(reader, &mut file)?;
        if len == 0 {
            return Ok((None, 0));
        }
        // Safety: the file has no name, and this handle of it is closed at the end of this function.
        let mapping = unsafe { FileMapping::new(&file) }?;
        Ok((Some(mapping), len))
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Advises the system to read a range of bytes soon.
    pub(crate) fn prefetch(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        {
            // A system that ignores the advice only makes the work slower.
            let _ = self.0.advise_range(memmap2::Advice::WillNeed, bytes.start, bytes.len());
        }
        #[cfg(not(unix))]
        let _ = bytes;
    }

    /// Drops a range of bytes from this process's memory until the next access.
    pub(crate) fn release(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        {
            use memmap2::UncheckedAdvice::DontNeed;
            // Safety: the mapping is read-only, so no page differs from the file, and the contract of `new`
            // forbids changes of the file. References into the range stay valid: an access after this call
            // reads the same bytes from the file again.
            let _ = unsafe { self.0.unchecked_advise_range(DontNeed, bytes.start, bytes.len()) };
        }
        #[cfg(not(unix))]
        let _ = bytes;
    }
}
