//! Files given for the inputs of a model.

use crate::error::CliError;
use crate::mapped::map_array;
use crate::paths::{file_name, has_extension};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use unishape::{Tensor, TensorView, text};
use unishape_npy::{self as npy, RawArray};
use unishape_onnx::open_tensor;

/// The array of an input.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    array: InputArray,
}

enum InputArray {
    Mapped(RawArray),
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
            let (array, _) = open(Path::new(&path))?;
            return Ok(Input { name: name.into(), path: path.into(), array });
        }
        let path = Path::new(word);
        let has_name = word.as_encoded_bytes().contains(&b'=');
        let looks_like_file = (has_extension(path, "npy") || has_extension(path, "pb")) && !has_name;
        if !looks_like_file && !path.is_file() {
            let shown = text::display_path(path);
            let problem = if has_name {
                "the model has no input of that name"
            } else {
                "write NAME=FILE, as in x=x.npy"
            };
            return Err(CliError::usage(format!("{shown}: {problem}; {}", inputs_text(names))));
        }
        let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
        let (array, own_name) = open(path)?;
        let find = |name: &str| names.iter().find(|input| **input == name).map(|input| (*input).to_owned());
        match own_name.as_deref().and_then(find).or_else(|| find(&stem)) {
            Some(name) => Ok(Input { name, path: path.into(), array }),
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
            InputArray::Mapped(mapped) => mapped.view().ok_or_else(|| {
                CliError::failed(format!("{}: cannot be memory-mapped", text::display_path(&self.path)))
            }),
        }
    }
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
fn open(path: &Path) -> Result<(InputArray, Option<String>), CliError> {
    if has_extension(path, "pb") {
        let (name, tensor) = open_tensor(path).map_err(CliError::failed)?;
        return Ok((InputArray::Read(tensor), Some(name).filter(|name| !name.is_empty())));
    }
    if has_extension(path, "npz") {
        let shown = text::display_path(path);
        let message = format!("{shown}: archives are not supported; extract the .npy files first");
        return Err(CliError::usage(message));
    }
    let mapped = map_array(path)?;
    if mapped.view().is_some() {
        return Ok((InputArray::Mapped(mapped), None));
    }
    Ok((InputArray::Read(npy::read(path).map_err(CliError::failed)?), None))
}
