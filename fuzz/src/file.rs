//! Bytes as files, and checks that several targets share.

use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use tempfile::NamedTempFile;

thread_local! {
    /// One file for all inputs, since creating a file takes longer than filling it.
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a temporary file"));
}

/// Writes the bytes to a temporary file and calls `work` with its path.
pub(crate) fn with_file<T>(bytes: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    FILE.with_borrow_mut(|file| {
        fill(file.as_file_mut(), bytes).expect("the temporary file can be written");
        work(file.path())
    })
}

fn fill(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// An `.npy` file made from the bytes.
///
/// Bytes that start with 0x93 are used unchanged. Otherwise the first byte selects the format version,
/// the first line is the header's text, and the rest is data. The header's length is computed, so that
/// mutations of the text keep it valid.
pub(crate) fn npy_file(bytes: &[u8]) -> Vec<u8> {
    let Some((&version, rest)) = bytes.split_first().filter(|(first, _)| **first != 0x93) else {
        return bytes.to_vec();
    };
    let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
    let (text, data) = rest.split_at(end);
    let version = 1 + version % 3;
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((text.len() as u16).to_le_bytes()),
        _ => file.extend((text.len() as u32).to_le_bytes()),
    }
    file.extend(text);
    file.extend(data);
    file
}

/// Checks that an error's text is short and free of control characters.
///
/// Line breaks are allowed.
pub(crate) fn check_message(error: &impl Display) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 2000, "{} bytes: {text}", text.len());
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

/// Runs `read` and checks its peak memory.
///
/// The limit is `per_byte` bytes per input byte, plus 1 MiB.
pub(crate) fn with_memory_limit<T>(per_byte: u64, bytes: usize, read: impl FnOnce() -> T) -> T {
    const BASE: u64 = 1 << 20;
    let mut result = None;
    let peak = allocation_counter::measure(|| result = Some(read())).bytes_max;
    let limit = per_byte * bytes as u64 + BASE;
    assert!(peak <= limit, "reading {bytes} bytes allocated {peak} bytes, more than {limit}");
    result.expect("measure runs the closure")
}
