//! Opens the arrays that arguments name, in files of every format.

use crate::error::CliError;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};
use unishape::text::display_path;
use unishape_files::{ArraySource, Container, Location, member_names, open, read_header};
use unishape_npy::Header;

/// An open array, and where it is.
pub(crate) struct OpenArray {
    pub(crate) location: Location,
    pub(crate) source: Box<dyn ArraySource>,
}

/// Opens an array. Files are memory-mapped where their format allows it.
#[allow(unsafe_code)]
pub(crate) fn open_array(location: Location) -> Result<OpenArray, CliError> {
    let location = directory_as_store(location)?;
    if let Location::Member { container: Container::Zarr, path, name } = &location {
        let source = open_zarr(path, name.as_deref())?;
        return Ok(OpenArray { source, location });
    }
    // Safety: the command does not write to its inputs. Results go to temporary files that are renamed when
    // complete; a rename keeps the mapped file. No other code in this process has a handle of the file. Only
    // another process could break the contract, by modifying an input while the command reads it: the
    // same race would give a wrong result with `read`, and the mapped bytes are only copied or read as numbers.
    // A truncated input is reported by `signals`.
    let source = Box::new(unsafe { open(&location) }?);
    Ok(OpenArray { location, source })
}

/// Reads the dtype and shape of an array. The elements need not be complete.
#[allow(unsafe_code)]
pub(crate) fn array_header(location: &Location) -> Result<Header, CliError> {
    let location = directory_as_store(location.clone())?;
    if let Location::Member { container: Container::Zarr, path, name } = &location {
        return Ok(open_zarr(path, name.as_deref())?.header().clone());
    }
    // Safety: as in `open_array`.
    Ok(unsafe { read_header(&location) }?)
}

/// The names of the arrays in a file; `None` if its format has no names.
#[allow(unsafe_code)]
pub(crate) fn names_in(location: &Location) -> Result<Option<Vec<String>>, CliError> {
    if let Location::Member { container: Container::Zarr, path, .. } = location {
        // A store that is an array itself has no names.
        return Ok(Some(zarr_names(path)?).filter(|names| !names.is_empty()));
    }
    // Safety: as in `open_array`.
    Ok(unsafe { member_names(location) }?)
}

/// A directory with the metadata of a Zarr store is one, whatever its name.
fn directory_as_store(location: Location) -> Result<Location, CliError> {
    match location {
        Location::Npy(path) if path.is_dir() => {
            let metadata = ["zarr.json", ".zarray", ".zgroup", ".zmetadata"];
            if metadata.iter().any(|name| path.join(name).is_file()) {
                return Ok(Location::Member { container: Container::Zarr, path, name: None });
            }
            Err(CliError::io(format!(
                "{}: is a directory; name a file of an array in it",
                display_path(&path)
            )))
        }
        other => Ok(other),
    }
}

#[cfg(feature = "zarr")]
fn open_zarr(path: &Path, name: Option<&str>) -> Result<Box<dyn ArraySource>, CliError> {
    Ok(Box::new(unishape_zarr::ZarrArray::open(path, name)?))
}

#[cfg(feature = "zarr")]
fn zarr_names(path: &Path) -> Result<Vec<String>, CliError> {
    Ok(unishape_zarr::array_names(path)?)
}

#[cfg(not(feature = "zarr"))]
fn open_zarr(path: &Path, _name: Option<&str>) -> Result<Box<dyn ArraySource>, CliError> {
    Err(unread_store(path))
}

#[cfg(not(feature = "zarr"))]
fn zarr_names(path: &Path) -> Result<Vec<String>, CliError> {
    Err(unread_store(path))
}

/// Why a build without Zarr does not read a store.
#[cfg(not(feature = "zarr"))]
fn unread_store(path: &Path) -> CliError {
    match std::fs::metadata(path) {
        Ok(_) => without_zarr(path),
        Err(error) => unishape_files::FileError::io(&display_path(path), &error).into(),
    }
}

/// The error of a build without Zarr.
#[cfg(not(feature = "zarr"))]
pub(crate) fn without_zarr(path: &Path) -> CliError {
    CliError::usage(format!(
        "{}: this build cannot read or write Zarr; build it with `cargo install --path crates/cli --features zarr`, \
         or open the store in Python with the package zarr or dask",
        display_path(path)
    ))
}

/// Refuses to read standard input for more than one array.
pub(crate) fn check_stdin<'w>(words: impl IntoIterator<Item = &'w OsString>) -> Result<(), CliError> {
    match words.into_iter().filter(|word| *word == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(CliError::usage("standard input (-) can be read only once")),
    }
}

/// The location that an argument names, if it is a file rather than another value: by its form, or because it exists.
///
/// No other value begins with `/`, `./` or `../`.
pub(crate) fn location_of(word: &OsStr) -> Result<Option<Location>, CliError> {
    let location = Location::parse(word)?;
    let begins_as_path = || !matches!(Path::new(word).components().next(), Some(Component::Normal(_)) | None);
    let exists = || location.path().is_some_and(Path::exists);
    Ok((location.is_certain() || begins_as_path() || exists()).then_some(location))
}
