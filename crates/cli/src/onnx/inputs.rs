//! Files given for the inputs of a model.

use crate::error::CliError;
use crate::paths::{file_name, has_extension};
use crate::sources::{OpenArray, location_of, open_array};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use unishape::{Tensor, TensorView, text};
use unishape_files::{Location, is_stream};
use unishape_npy::{Region, read};
use unishape_onnx::{ErrorKind, open_tensor};

/// The array of an input.
pub(crate) struct Input {
    pub(crate) name: String,
    location: Location,
    array: InputArray,
}

enum InputArray {
    /// An array that is read where it is.
    InPlace(OpenArray),
    Read(Tensor),
}

impl Input {
    /// Opens the file of an argument: `NAME=FILE`, or a file named after an input.
    ///
    /// Names in models may contain any character, `=` included: the longest name of the model that fits wins.
    pub(crate) fn open(word: &OsStr, names: &[&str]) -> Result<Input, CliError> {
        let longest =
            names.iter().filter(|name| strip_name(word, name).is_some()).max_by_key(|name| name.len());
        if let Some(&name) = longest
            && let Some(path) = strip_name(word, name)
        {
            let location = Location::parse(&path)?;
            if path.as_encoded_bytes().starts_with(b"[") && !Path::new(&path).exists() {
                let shown = text::truncate(&word.to_string_lossy(), 80);
                let hint = "`unishape eval 'float32(x)' 'x=[1, 2]' -o x.npy` writes one of a list";
                return Err(CliError::usage(format!("{shown}: give a file; {hint}")));
            }
            let (array, _) = open(&location)?;
            return Ok(Input { name: name.into(), location, array });
        }
        let path = Path::new(word);
        let has_name = word.as_encoded_bytes().contains(&b'=');
        let location = location_of(word)?.filter(|location| {
            (!has_name && (location.is_certain() || has_extension(path, "pb"))) || path.is_file()
        });
        let Some(location) = location.or_else(|| missing_tensor(path, has_name)) else {
            let shown = text::display_path(path);
            let problem = if has_name {
                "the model has no input of that name"
            } else {
                "write NAME=FILE, as in x=x.npy"
            };
            return Err(CliError::usage(format!("{shown}: {problem}; {}", inputs_text(names))));
        };
        let stem = match has_extension(path, "pb") {
            true => path.file_stem().unwrap_or_default().to_os_string(),
            false => location.stem(),
        };
        let stem = stem.to_string_lossy();
        let (array, own_name) = open(&location)?;
        let find = |name: &str| names.iter().find(|input| **input == name).map(|input| (*input).to_owned());
        match own_name.as_deref().and_then(find).or_else(|| find(&stem)) {
            Some(name) => Ok(Input { name, location, array }),
            None => {
                let (shown, name) = (text::display_path(path), file_name(path));
                Err(CliError::usage(format!(
                    "{shown}: the model has no input {}; name one, as in {}={shown}; {}",
                    text::truncate(name.strip_suffix(".npy").unwrap_or(&name), 60),
                    names.first().copied().unwrap_or("x"),
                    inputs_text(names)
                )))
            }
        }
    }

    pub(crate) fn view(&self) -> Result<TensorView<'_>, CliError> {
        match &self.array {
            InputArray::Read(tensor) => Ok(tensor.view()),
            // Cannot fail: `open` has checked it.
            InputArray::InPlace(array) => array
                .source
                .as_raw()
                .and_then(|raw| raw.view())
                .ok_or_else(|| CliError::internal(format!("{}: cannot be memory-mapped", self.location))),
        }
    }

    /// The path of its file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.location.path()
    }
}

/// The location of an ONNX tensor file that does not exist, so that the error says so.
fn missing_tensor(path: &Path, has_name: bool) -> Option<Location> {
    (!has_name && has_extension(path, "pb")).then(|| Location::Npy(path.into()))
}

/// The names of the model's inputs, at most 10 of them.
fn inputs_text(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| text::truncate(name, 60)).collect();
    let more = if names.len() > 10 { ", …" } else { "" };
    match shown.is_empty() {
        true => "the model has no inputs".into(),
        false => format!("its inputs are {}{more}", shown.join(", ")),
    }
}

/// The rest of an argument after `NAME=`.
fn strip_name(word: &OsStr, name: &str) -> Option<OsString> {
    let rest = word.as_encoded_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some(OsStr::from_bytes(rest).into())
    }
    #[cfg(not(unix))]
    Some(String::from_utf8_lossy(rest).into_owned().into())
}

/// Opens an array. An ONNX tensor may have a name of its own.
fn open(location: &Location) -> Result<(InputArray, Option<String>), CliError> {
    if let Some(path) = location.path().filter(|path| has_extension(path, "pb")) {
        let (name, tensor) = open_tensor(path).map_err(|error| match error.kind() {
            ErrorKind::File(_) => CliError::io(error),
            _ => CliError::input(error),
        })?;
        return Ok((InputArray::Read(tensor), Some(name).filter(|name| !name.is_empty())));
    }
    let array = open_array(location.clone())?;
    if array.source.as_raw().is_some_and(|raw| raw.view().is_some()) {
        return Ok((InputArray::InPlace(array), None));
    }
    // Strings are read, too, but not region by region.
    if let Location::Npy(path) = location
        && !is_stream(location)
    {
        return Ok((InputArray::Read(read(path)?), None));
    }
    let whole: Vec<_> = array.source.header().shape.iter().map(|&size| 0..size).collect();
    let tensor = match array.source.region(&whole)? {
        Region::View(view) => view.to_owned()?,
        Region::Tensor(tensor) => tensor,
    };
    Ok((InputArray::Read(tensor), None))
}
