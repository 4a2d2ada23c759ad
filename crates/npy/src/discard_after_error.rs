//! A writer that discards everything after its first error.

use std::io::{self, ErrorKind, Seek, SeekFrom, Write};

/// Passes writes on until one fails; later writes succeed and are discarded.
///
/// The zip crate completes an archive on drop, and prints to standard error if that fails. An archive that
/// failed to write is incomplete anyway, so this writer lets the completion succeed silently.
pub(crate) struct DiscardAfterError<W> {
    inner: W,
    failed: bool,
    /// Position and length of the output, including discarded bytes.
    position: u64,
    len: u64,
}

impl<W> DiscardAfterError<W> {
    pub(crate) fn new(inner: W) -> DiscardAfterError<W> {
        DiscardAfterError { inner, failed: false, position: 0, len: 0 }
    }

    /// The inner writer, or an error if a write failed.
    pub(crate) fn into_inner(self) -> io::Result<W> {
        self.check().map(|()| self.inner)
    }

    /// An error if a write failed before.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.failed { Err(io::Error::other("an earlier write failed")) } else { Ok(()) }
    }

    fn record<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.failed = matches!(&result, Err(error) if error.kind() != ErrorKind::Interrupted);
        result
    }

    fn move_to(&mut self, position: u64) {
        self.position = position;
        self.len = self.len.max(position);
    }
}

impl<W: Write> Write for DiscardAfterError<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.failed {
            bytes.len()
        } else {
            let result = self.inner.write(bytes);
            self.record(result)?
        };
        self.move_to(self.position.saturating_add(written as u64));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.record(result)
    }
}

impl<W: Seek> Seek for DiscardAfterError<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = if self.failed {
            match to {
                SeekFrom::Start(position) => position,
                SeekFrom::Current(by) => self.position.saturating_add_signed(by),
                SeekFrom::End(by) => self.len.saturating_add_signed(by),
            }
        } else {
            let result = self.inner.seek(to);
            self.record(result)?
        };
        self.move_to(position);
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Descr, Header, NpzWriter};
    use std::io::{self, Cursor, Seek, SeekFrom, Write};
    use unishape::DType;

    /// A writer with room for a number of bytes.
    struct Limited(Cursor<Vec<u8>>, usize);

    impl Write for Limited {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.position() as usize + bytes.len() > self.1 {
                true => Err(io::Error::other("the disk is full")),
                false => self.0.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Limited {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn finishing_an_archive_after_a_failed_write_is_an_error() {
        let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![100] };
        let size = |room: usize| {
            let mut npz = NpzWriter::new(Limited(Cursor::default(), room));
            let mut failures = 0;
            for name in ["a", "b"] {
                let written = npz.start(name, &header).map(|mut member| member.write_all(&[7; 100]).is_err());
                failures += usize::from(written.unwrap_or(true));
            }
            let finished = npz.finish();
            assert!(failures == 0 || finished.is_err(), "room for {room} bytes");
            finished.ok().map(|limited| limited.0.into_inner().len())
        };
        let whole = size(usize::MAX).expect("unlimited room");
        for room in 0..whole {
            assert_eq!(size(room), None, "room for {room} bytes");
        }
        assert_eq!(size(whole), Some(whole));
    }
}
