//! Reads tensor data from external files, restricted to the model's directory.

use crate::error::{Error, display_name};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// Reads `byte_count` bytes from the location in `entries` (keys `location`, `offset`, `length`).
pub(crate) fn read(
    entries: &[(String, String)],
    base_dir: Option<&Path>,
    byte_count: usize,
) -> Result<Vec<u8>, Error> {
    let entry =
        |key: &str| entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let number = |key: &str| match entry(key).map(str::trim) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => {
                let text = display_name(text);
                Err(Error::malformed(format!("the {key} of its external data is '{text}', not a number")))
            }
        },
    };
    let location = entry("location").ok_or_else(|| Error::malformed("its external data has no location"))?;
    let base_dir = base_dir.ok_or_else(|| {
        let location = display_name(location);
        Error::input(format!("its external data is in the file {location}, but the model has no directory"))
    })?;
    let path = resolve(location, base_dir)?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let byte_count = byte_count as u64;
    if let Some(length) = length.filter(|&length| length != byte_count) {
        let problem =
            format!("its elements take {byte_count} bytes, but its external data has {length} bytes");
        return Err(Error::malformed(problem));
    }
    let io_error = |error| Error::file(&path, error);
    let mut file = File::open(&path).map_err(io_error)?;
    let metadata = file.metadata().map_err(io_error)?;
    if !metadata.is_file() {
        return Err(Error::file(&path, "not a regular file"));
    }
    // Fail before any memory is allocated.
    if offset.checked_add(byte_count).is_none_or(|end| end > metadata.len()) {
        let file_bytes = metadata.len();
        let problem =
            format!("{byte_count} bytes at offset {offset} exceed the file size of {file_bytes} bytes");
        return Err(Error::file(&path, problem));
    }
    file.seek(SeekFrom::Start(offset)).map_err(io_error)?;
    let mut data = Vec::new();
    file.take(byte_count).read_to_end(&mut data).map_err(io_error)?;
    Ok(data)
}

/// Resolves a location to a path inside `base_dir`, with symbolic links followed.
fn resolve(location: &str, base_dir: &Path) -> Result<PathBuf, Error> {
    let relative = Path::new(location);
    let is_inside = |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    // A colon or a backslash has another meaning on Windows.
    if location.is_empty() || location.contains(['\\', ':', '\0']) || !relative.components().all(is_inside) {
        return Err(outside(location));
    }
    let path = base_dir.join(relative);
    let target = fs::canonicalize(&path).map_err(|error| Error::file(&path, error))?;
    match target.starts_with(fs::canonicalize(base_dir).map_err(|error| Error::file(base_dir, error))?) {
        true => Ok(path),
        false => Err(outside(location)),
    }
}

fn outside(location: &str) -> Error {
    let location = display_name(location);
    Error::invalid(format!("its external data location '{location}' is outside the model's directory"))
}
