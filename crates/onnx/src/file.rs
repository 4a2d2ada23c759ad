//! Files read whole.

use crate::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What Protocol Buffers allow at the most; larger models keep their data in files beside them.
const MOST_BYTES: u64 = 1 << 31;

/// The bytes of a file, which takes memory as they arrive: it may be a pipe without an end.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_at_most(path, MOST_BYTES)
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let in_file = |error| Error::file(path, error);
    let mut bytes = Vec::new();
    File::open(path).map_err(in_file)?.take(most + 1).read_to_end(&mut bytes).map_err(in_file)?;
    match bytes.len() as u64 > most {
        true => Err(Error::file(path, "this is larger than 2 GiB, as no ONNX file is")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::read_at_most;

    #[test]
    fn a_file_has_an_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 100]).expect("a file");
        assert_eq!(read_at_most(&path, 100).map(|bytes| bytes.len()), Ok(100));
        let said = read_at_most(&path, 99).expect_err("too large").to_string();
        assert!(said.ends_with("file: this is larger than 2 GiB, as no ONNX file is"), "{said}");
    }
}
