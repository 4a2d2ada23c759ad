//! Reads whole files, with a size limit.

use crate::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Size limit of a protobuf message; larger models keep their tensors in external data files.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// Reads a file of at most 2 GiB.
///
/// Memory grows with the bytes that arrive, because the path may name an endless pipe.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_limited(path, MAX_FILE_BYTES)
}

/// Directory that contains a file.
pub(crate) fn parent_dir(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn read_limited(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let io_error = |error| Error::file(path, error);
    let mut bytes = Vec::new();
    File::open(path).map_err(io_error)?.take(max_bytes + 1).read_to_end(&mut bytes).map_err(io_error)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(Error::file(path, "the file is larger than 2 GiB, the limit for ONNX files")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::read_limited;

    #[test]
    fn files_over_the_limit_are_rejected() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 100]).expect("a file");
        assert_eq!(read_limited(&path, 100).map(|bytes| bytes.len()), Ok(100));
        let error = read_limited(&path, 99).expect_err("too large").to_string();
        assert!(error.ends_with("file: the file is larger than 2 GiB, the limit for ONNX files"), "{error}");
    }
}
