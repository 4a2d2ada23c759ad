//! Data that is kept outside of a model's file: in its folder, and nowhere else.

use crate::error::{Error, named};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// Reads so many bytes from where the entries say.
pub(crate) fn read(
    entries: &[(String, String)],
    folder: Option<&Path>,
    bytes: usize,
) -> Result<Vec<u8>, Error> {
    let entry = |key: &str| entries.iter().rev().find(|(its, _)| its == key).map(|(_, value)| value.as_str());
    let number = |key: &str| match entry(key).map(str::trim) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Error::malformed(format!("its data has the {key} '{}', no number", named(text)))),
        },
    };
    let location = entry("location").ok_or_else(|| Error::malformed("nothing says where its data is"))?;
    let folder = folder.ok_or_else(|| {
        let location = named(location);
        Error::given(format!("its data is in the file {location}, and the model was given without a folder"))
    })?;
    let path = place(location, folder)?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let wanted = bytes as u64;
    if length.is_some_and(|length| length != wanted) {
        let length = length.unwrap_or(0);
        let problem = format!("its elements take {bytes} bytes, and its data is {length} bytes long");
        return Err(Error::malformed(problem));
    }
    let in_file = |error| Error::file(&path, error);
    let mut file = File::open(&path).map_err(in_file)?;
    let metadata = file.metadata().map_err(in_file)?;
    if !metadata.is_file() {
        return Err(Error::file(&path, "this is no file that data can be in"));
    }
    // Before any memory is taken for it.
    if offset.checked_add(wanted).is_none_or(|end| end > metadata.len()) {
        let problem = format!("{wanted} bytes from byte {offset} on are wanted of {}", metadata.len());
        return Err(Error::file(&path, problem));
    }
    file.seek(SeekFrom::Start(offset)).map_err(in_file)?;
    let mut data = Vec::new();
    file.take(wanted).read_to_end(&mut data).map_err(in_file)?;
    Ok(data)
}

/// The file that is meant, if it is in the folder: also behind all links.
fn place(location: &str, folder: &Path) -> Result<PathBuf, Error> {
    let relative = Path::new(location);
    let is_within = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    // A colon or a backslash would mean something else on another system.
    if location.is_empty() || location.contains(['\\', ':', '\0']) || !relative.components().all(is_within) {
        return Err(outside(location));
    }
    let path = folder.join(relative);
    let in_file = |error| Error::file(&path, error);
    let real = fs::canonicalize(&path).map_err(in_file)?;
    match real.starts_with(fs::canonicalize(folder).map_err(|error| Error::file(folder, error))?) {
        true => Ok(path),
        false => Err(outside(location)),
    }
}

fn outside(location: &str) -> Error {
    let location = named(location);
    Error::invalid(format!("its data would be at '{location}', which is no place in the model's folder"))
}
