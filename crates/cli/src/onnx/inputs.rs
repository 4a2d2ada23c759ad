//! The files that are given for a model's inputs.

use crate::failure::Failure;
use crate::input::{file_name, has_ending};
use crate::mapped::map_array;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use unishape::{Tensor, TensorView, text};
use unishape_npy::{self as npy, RawArray};
use unishape_onnx::open_tensor;

/// An array for an input.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    array: Array,
}

enum Array {
    /// It stays in its file.
    Mapped(RawArray),
    Read(Tensor),
}

impl Input {
    /// Reads what a word gives: `NAME=FILE`, or a file that is called as an input. Names in models may have any
    /// signs in them, so it is the model's own names that are looked for.
    pub(crate) fn read(word: &OsStr, names: &[&str]) -> Result<Input, Failure> {
        let longest =
            names.iter().filter(|name| behind_name(word, name).is_some()).max_by_key(|name| name.len());
        if let Some(&name) = longest
            && let Some(path) = behind_name(word, name)
        {
            let (array, _) = read(Path::new(&path))?;
            return Ok(Input { name: name.into(), path: path.into(), array });
        }
        let path = Path::new(word);
        let is_named = word.as_encoded_bytes().contains(&b'=');
        let looks_like_file = (has_ending(path, "npy") || has_ending(path, "pb")) && !is_named;
        if !looks_like_file && !path.is_file() {
            let shown = text::display_path(path);
            let what = if is_named {
                "the model has no input of that name"
            } else {
                "write NAME=FILE, as in x=x.npy"
            };
            let problem = format!("{shown}: {what}; {}", told(names));
            return Err(Failure::usage(problem));
        }
        let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
        let (array, own) = read(path)?;
        let is_one = |name: &str| names.iter().find(|one| **one == name).map(|one| (*one).to_owned());
        match own.as_deref().and_then(is_one).or_else(|| is_one(&stem)) {
            Some(name) => Ok(Input { name, path: path.into(), array }),
            None => {
                let (shown, name) = (text::display_path(path), file_name(path));
                let problem = format!(
                    "{shown}: the model has no input {}; say what it is for, as in {}={shown}; {}",
                    text::truncate(name.strip_suffix(".npy").unwrap_or(&name), 60),
                    first(names),
                    told(names)
                );
                Err(Failure::usage(problem))
            }
        }
    }

    pub(crate) fn view(&self) -> Result<TensorView<'_>, Failure> {
        match &self.array {
            Array::Read(tensor) => Ok(tensor.view()),
            // `read` has looked.
            Array::Mapped(mapped) => mapped.view().ok_or_else(|| {
                Failure::failed(format!("{}: cannot be mapped", text::display_path(&self.path)))
            }),
        }
    }
}

fn first<'n>(names: &[&'n str]) -> &'n str {
    names.first().copied().unwrap_or("x")
}

fn told(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| text::truncate(name, 60)).collect();
    let more = if names.len() > 10 { ", …" } else { "" };
    match shown.is_empty() {
        true => "the model has no inputs".into(),
        false => format!("its inputs are {}{more}", shown.join(", ")),
    }
}

/// What is behind `NAME=`.
fn behind_name(word: &OsStr, name: &str) -> Option<OsString> {
    let rest = word.as_encoded_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some(OsStr::from_bytes(rest).into())
    }
    #[cfg(not(unix))]
    Some(String::from_utf8_lossy(rest).into_owned().into())
}

/// An array from a file, and the name that the file gives it.
fn read(path: &Path) -> Result<(Array, Option<String>), Failure> {
    if has_ending(path, "pb") {
        let (name, tensor) = open_tensor(path).map_err(Failure::failed)?;
        return Ok((Array::Read(tensor), Some(name).filter(|name| !name.is_empty())));
    }
    if has_ending(path, "npz") {
        let shown = text::display_path(path);
        return Err(Failure::usage(format!(
            "{shown}: archives are not read here; unpack it, its members are .npy files"
        )));
    }
    let mapped = map_array(path)?;
    if mapped.view().is_some() {
        return Ok((Array::Mapped(mapped), None));
    }
    Ok((Array::Read(npy::read(path).map_err(Failure::failed)?), None))
}
