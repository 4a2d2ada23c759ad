//! A writer that is let go once it has failed.

use std::io::{self, ErrorKind, Seek, SeekFrom, Write};

/// Hands on what is written until the writer behind it fails, and from then on nothing.
///
/// The zip crate completes an archive that is dropped, and prints to standard error where it
/// cannot. An archive that could not be written is not worth completing: here that comes to
/// nothing, in silence.
pub(crate) struct UntilFailure<W> {
    inner: W,
    failed: bool,
    /// Where the writer stands, and the furthest it got: after a failure, where it would.
    at: u64,
    end: u64,
}

impl<W> UntilFailure<W> {
    pub(crate) fn new(inner: W) -> UntilFailure<W> {
        UntilFailure { inner, failed: false, at: 0, end: 0 }
    }

    /// The writer, unless it has failed.
    pub(crate) fn into_inner(self) -> io::Result<W> {
        self.check().map(|()| self.inner)
    }

    /// An error if it has failed, so that nobody takes what came after for written.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.failed { Err(io::Error::other("an earlier write failed")) } else { Ok(()) }
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.failed = matches!(&result, Err(error) if error.kind() != ErrorKind::Interrupted);
        result
    }

    fn move_to(&mut self, at: u64) {
        self.at = at;
        self.end = self.end.max(at);
    }
}

impl<W: Write> Write for UntilFailure<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.failed {
            bytes.len()
        } else {
            let result = self.inner.write(bytes);
            self.note(result)?
        };
        self.move_to(self.at.saturating_add(written as u64));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.note(result)
    }
}

impl<W: Seek> Seek for UntilFailure<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = if self.failed {
            match to {
                SeekFrom::Start(at) => at,
                SeekFrom::Current(by) => self.at.saturating_add_signed(by),
                SeekFrom::End(by) => self.end.saturating_add_signed(by),
            }
        } else {
            let result = self.inner.seek(to);
            self.note(result)?
        };
        self.move_to(at);
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Descr, Header, NpzWriter};
    use std::io::{self, Cursor, Seek, SeekFrom, Write};
    use unishape::DType;

    /// A disk that is full after so many bytes.
    struct Full(Cursor<Vec<u8>>, usize);

    impl Write for Full {
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

    impl Seek for Full {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn an_archive_that_could_not_be_written_is_never_taken_for_complete() {
        let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![100] };
        let size = |room: usize| {
            let mut npz = NpzWriter::new(Full(Cursor::default(), room));
            let mut failures = 0;
            for name in ["a", "b"] {
                let written = npz.start(name, &header).map(|mut member| member.write_all(&[7; 100]).is_err());
                failures += usize::from(written.unwrap_or(true));
            }
            let finished = npz.finish();
            assert!(failures == 0 || finished.is_err(), "room for {room} bytes");
            finished.ok().map(|full| full.0.into_inner().len())
        };
        let whole = size(usize::MAX).expect("there is room for everything");
        for room in 0..whole {
            assert_eq!(size(room), None, "room for {room} bytes");
        }
        assert_eq!(size(whole), Some(whole));
    }
}
