//! Bytes that stay in a file until they are used.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// An open file that must not change.
#[derive(Debug)]
pub(crate) struct SourceFile {
    file: Mutex<File>,
    state: (u64, Option<SystemTime>),
}

impl SourceFile {
    pub(crate) fn new(file: File) -> io::Result<SourceFile> {
        Ok(SourceFile { state: state(&file)?, file: Mutex::new(file) })
    }
}

/// Length and time of the last change.
fn state(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Range of an open file.
#[derive(Clone, Debug)]
pub(crate) struct FileRange {
    source: Arc<SourceFile>,
    start: u64,
    len: usize,
}

impl FileRange {
    pub(crate) fn new(source: Arc<SourceFile>, start: u64, len: usize) -> FileRange {
        FileRange { source, start, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes the bytes; fails if the file has changed since it was opened.
    pub(crate) fn write_to(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut file = self.source.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start))?;
        let copied = io::copy(&mut (&mut *file).take(self.len as u64), writer)?;
        match copied == self.len as u64 && state(&file)? == self.source.state {
            true => Ok(()),
            false => Err(io::Error::other("the file of the model changed while it was in use")),
        }
    }

    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.len);
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }
}
