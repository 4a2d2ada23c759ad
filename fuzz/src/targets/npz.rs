//! Reads `.npz` files: any bytes give arrays or an error, with bounded memory.
//!
//! Arrays that are read survive a round trip.

use super::npy::{MEMORY_PER_BYTE, npy_bytes};
use crate::file::{check_message, npy_file, with_file, with_memory_limit};
use crate::source::ByteSource;
use std::io::{Cursor, Write};
use unishape::Tensor;
use unishape_npy::{self as npy, Header, NpyError, NpzWriter};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Deflate expands one byte to at most 1032 bytes.
const BYTES_PER_DEFLATED: u64 = 1032;

pub(crate) fn run(bytes: &[u8]) {
    let archive = if bytes.starts_with(b"PK") { bytes.to_vec() } else { archive(bytes) };
    let memory = MEMORY_PER_BYTE * BYTES_PER_DEFLATED;
    let read = with_file(&archive, |path| with_memory_limit(memory, archive.len(), || npy::read_npz(path)));
    let arrays = match read {
        Ok(arrays) => arrays,
        Err(error) => return check_message(&error),
    };
    let written = match write(&arrays) {
        Ok(written) => written,
        Err(error) => {
            check_message(&error);
            // Two members can have the same name without `.npy`; all other names can be written.
            let mut names: Vec<_> = arrays.iter().map(|(name, _)| name).collect();
            names.sort_unstable();
            assert!(names.windows(2).any(|pair| pair[0] == pair[1]), "{error}");
            return;
        }
    };
    let again = with_file(&written, |path| npy::read_npz(path)).expect("written by unishape");
    assert_eq!(again.len(), arrays.len());
    for ((name, tensor), (same_name, same)) in arrays.iter().zip(&again) {
        assert_eq!((name, npy_bytes(tensor)), (same_name, npy_bytes(same)));
    }
}

/// As `npy::write_npz`, but to memory, since an atomic rename of a file is slow.
fn write(arrays: &[(String, Tensor)]) -> Result<Vec<u8>, NpyError> {
    let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
    for (name, tensor) in arrays {
        let header = Header::of(&tensor.view())?;
        let file = npy_bytes(tensor);
        let data = &file[header.encoded_len()? as usize..];
        npz.start(name, &header)?.write_all(data)?;
    }
    Ok(npz.finish()?.into_inner())
}

/// An archive with valid checksums; members are files as in the target `npy`.
fn archive(bytes: &[u8]) -> Vec<u8> {
    let mut source = ByteSource::new(bytes);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for _ in 0..1 + source.up_to(2) {
        let method = [CompressionMethod::Stored, CompressionMethod::Deflated][source.up_to(1)];
        let length = source.up_to(12);
        let name = String::from_utf8_lossy(source.bytes(length)).into_owned();
        let length = usize::from(source.byte()) * 4;
        let member = npy_file(source.bytes(length));
        let options = SimpleFileOptions::default().compression_method(method);
        // The writer rejects duplicate names.
        if zip.start_file(name, options).is_ok() {
            zip.write_all(&member).expect("memory can be written");
        }
    }
    zip.finish().expect("memory can be written").into_inner()
}
