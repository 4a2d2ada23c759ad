//! Bytes as files.

use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use tempfile::NamedTempFile;

thread_local! {
    /// One file for all inputs: making one takes longer than filling it.
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a temporary file"));
}

/// Shows the bytes to `work` as a file.
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

/// An `.npy` file: the bytes themselves where they begin as one does. Otherwise the first of them says
/// which version, those up to the end of a line are the header's text, and the rest is data: so a change
/// to the text does not make its length wrong.
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

/// What an error says is for people: neither without end nor with signs that move the cursor.
pub(crate) fn check_message(error: &impl Display) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 2000, "{} bytes: {text}", text.len());
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

/// Runs `read`, which may take so many bytes of memory for each byte it is given, and a little more.
pub(crate) fn with_memory<T>(each: u64, bytes: usize, read: impl FnOnce() -> T) -> T {
    const A_LITTLE: u64 = 1 << 20;
    let mut result = None;
    let taken = allocation_counter::measure(|| result = Some(read())).bytes_max;
    let allowed = each * bytes as u64 + A_LITTLE;
    assert!(taken <= allowed, "{bytes} bytes were read into {taken} bytes of memory");
    result.expect("it was run")
}
