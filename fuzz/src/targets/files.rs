//! Names of arrays in files, tables of numbers and files of tensors: any bytes give a value or an error.

use crate::file::{check_message, with_file, with_memory_limit};
use unishape_files::{Location, open, parse_table};

/// Bytes of memory per byte of a table: two bytes of text become 8 or 16, in vectors that grow and are converted.
const MEMORY_PER_BYTE: u64 = 100;

pub(crate) fn run(bytes: &[u8]) {
    check_location(&String::from_utf8_lossy(bytes));
    match with_memory_limit(MEMORY_PER_BYTE, bytes.len(), || parse_table(bytes)) {
        Ok(tensor) => assert!(tensor.shape().len() <= 2),
        Err(error) => check_message(&error),
    }
    check_files(bytes);
}

/// Checks that a location survives formatting.
fn check_location(text: &str) {
    let location = match Location::parse(text.as_ref()) {
        Ok(location) => location,
        Err(error) => return check_message(&error),
    };
    assert!(location.path().is_none_or(|path| path.as_os_str().len() <= text.len()));
    let _ = location.stem();
    if let Location::Raw { description, .. } = &location {
        for len in [0, 1, 4096, u64::MAX] {
            if let Ok(header) = description.header(len) {
                assert!(header.data_bytes().is_ok_and(|bytes| bytes <= len), "{text}");
            }
        }
    }
    // Control characters are replaced, and paths in a store are written after a colon.
    let shown = location.to_string();
    if let Ok(again) = Location::parse(shown.as_ref()) {
        assert_eq!(again.to_string(), shown, "{text}");
    }
}

/// Opens the bytes as a file of tensors, and as an archive.
fn check_files(bytes: &[u8]) {
    with_file(bytes, |path| {
        for container in [unishape_files::Container::SafeTensors, unishape_files::Container::Npz] {
            for name in [None, Some("a".to_owned())] {
                let location = Location::Member { container, path: path.into(), name };
                // Safety: no one else writes to the temporary file meanwhile.
                #[allow(unsafe_code)]
                match unsafe { open(&location) } {
                    Ok(array) => assert!(array.header().data_bytes().is_ok()),
                    Err(error) => check_message(&error),
                }
            }
        }
    });
}
