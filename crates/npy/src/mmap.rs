//! Memory-mapped files.
//!
//! This module and `RawArray::map` have the only `unsafe` code of this crate.

#![allow(unsafe_code)]

use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

/// A temporary file without a name, of which there is no other handle.
#[derive(Debug)]
pub(crate) struct TemporaryFile(File);

impl TemporaryFile {
    pub(crate) fn create() -> io::Result<TemporaryFile> {
        tempfile::tempfile().map(TemporaryFile)
    }

    /// Sets the length; new bytes are 0.
    pub(crate) fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    /// The next bytes are written from this position on.
    pub(crate) fn seek_to(&mut self, position: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(position)).map(drop)
    }

    /// Maps the file; `None` if it is empty.
    pub(crate) fn map(self) -> io::Result<Option<FileMapping>> {
        if self.0.metadata()?.len() == 0 {
            return Ok(None);
        }
        // Safety: the file has no name, and this only handle of it is closed at the end of this function.
        unsafe { FileMapping::new(&self.0) }.map(Some)
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

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
        let mut file = TemporaryFile::create()?;
        let len = io::copy(reader, &mut file)?;
        Ok((file.map()?, len))
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
