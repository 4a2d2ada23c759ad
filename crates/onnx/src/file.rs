//! Reads whole files, with a size limit.

use crate::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Size limit of what is not a regular file, such as a pipe, which may be endless.
const MAX_STREAM_BYTES: u64 = 1 << 31;

/// Reads a file; one that is not a regular file has at most 2 GiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_limited(path, MAX_STREAM_BYTES)
}

/// Directory that contains a file.
pub(crate) fn parent_dir(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn read_limited(path: &Path, max_stream_bytes: u64) -> Result<Vec<u8>, Error> {
    let io_error = |error| Error::file(path, error);
    let mut file = File::open(path).map_err(io_error)?;
    let metadata = file.metadata().map_err(io_error)?;
    let mut bytes = Vec::new();
    if metadata.is_file() {
        // The exact size: a vector that grows would take up to twice as much.
        let len = usize::try_from(metadata.len()).ok().filter(|&len| bytes.try_reserve_exact(len).is_ok());
        len.ok_or_else(|| Error::file(path, "the file is larger than the memory"))?;
        file.read_to_end(&mut bytes).map_err(io_error)?;
        return Ok(bytes);
    }
    // Memory grows with the bytes that arrive.
    file.take(max_stream_bytes + 1).read_to_end(&mut bytes).map_err(io_error)?;
    match bytes.len() as u64 > max_stream_bytes {
        true => {
            Err(Error::file(path, "the input is larger than 2 GiB, the limit for what is not a regular file"))
        }
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::read_limited;

    #[test]
    fn regular_files_have_no_limit() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 100]).expect("a file");
        assert_eq!(read_limited(&path, 99).map(|bytes| (bytes.len(), bytes.capacity())), Ok((100, 100)));
    }

    #[cfg(unix)]
    #[test]
    fn endless_inputs_are_rejected() {
        let error = read_limited("/dev/zero".as_ref(), 99).expect_err("too large").to_string();
        assert!(error.ends_with("2 GiB, the limit for what is not a regular file"), "{error}");
    }
}
