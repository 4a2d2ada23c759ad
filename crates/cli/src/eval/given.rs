//! What is given for the names of an expression, as it is written on the command line.

use super::counted::Counted;
use super::listed;
use crate::failure::Failure;
use crate::input::has_ending;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use unishape::expr::{Expr, Scalar};
use unishape::{Tensor, text};

/// One `NAME=VALUE`, or a file that is called as a name.
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) value: Written,
    /// The value as it was written.
    pub(crate) text: String,
}

/// A value before any file is opened.
pub(crate) enum Written {
    Scalar(Scalar),
    Counted(Counted),
    Listed(Tensor),
    File(PathBuf),
}

impl Given {
    /// Reads one word. What is a number, a range or a list is one whatever files there are, so that a command
    /// means the same in every folder: a file called `4` is `./4`.
    pub(crate) fn read(word: &OsStr, expr: &Expr) -> Result<Given, Failure> {
        match split(word) {
            Some((name, value)) => {
                let text = text::sanitize(&value.to_string_lossy());
                let value = written(&name, &value).map_err(|problem| {
                    let problem = text::sanitize(&problem);
                    Failure::usage(format!("{name}={}: {problem}", text::truncate(&text, 80)))
                })?;
                Ok(Given { name, value, text })
            }
            None => file(word, expr),
        }
    }
}

/// The name and the value of `NAME=VALUE`.
fn split(word: &OsStr) -> Option<(String, OsString)> {
    let bytes = word.as_encoded_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=')?;
    let name = std::str::from_utf8(&bytes[..at]).ok()?.trim();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| (name.into(), behind(word, at + 1)))
}

#[cfg(unix)]
fn behind(word: &OsStr, at: usize) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(&word.as_bytes()[at..]).into()
}

#[cfg(not(unix))]
fn behind(word: &OsStr, at: usize) -> OsString {
    // What is no text loses its meaning, as a name of a file does not matter there.
    String::from_utf8_lossy(&word.as_encoded_bytes()[at..]).into_owned().into()
}

fn written(name: &str, value: &OsStr) -> Result<Written, String> {
    let path = Path::new(value);
    if let Some(text) = value.to_str() {
        let text = text.trim();
        if text.is_empty() {
            return Err(format!("nothing is given; write {name}=a.npy, {name}=2.5 or {name}=0:10"));
        }
        if let Some(number) = Scalar::parse(text.strip_prefix('+').unwrap_or(text)) {
            return Ok(Written::Scalar(number));
        }
        if text.starts_with('[') {
            return listed::parse(text).map(Written::Listed);
        }
        if let Some(counted) = Counted::parse(text) {
            return counted.map(Written::Counted);
        }
    }
    if !has_ending(path, "npy") && !path.exists() {
        return Err("this is no number, no range like 0:10, no list like [1,2], and no file".into());
    }
    no_archive(path)?;
    Ok(Written::File(path.into()))
}

/// A file alone is for the name that it has.
fn file(word: &OsStr, expr: &Expr) -> Result<Given, Failure> {
    let path = Path::new(word);
    let shown = text::display_path(path);
    let stem = if has_ending(path, "npy") { path.file_stem() } else { path.file_name() };
    let stem = stem.map(|stem| text::sanitize(&stem.to_string_lossy())).unwrap_or_default();
    let names = expr.names();
    if !names.contains(&stem) {
        let name = names.first().map_or("a", String::as_str);
        let problem = if has_ending(path, "npy") || path.exists() {
            format!(
                "{shown}: the expression has no variable {stem}; say what it is for, as in {name}={shown}"
            )
        } else {
            format!("{shown}: write NAME=VALUE, as in {name}=a.npy or {name}=2.5")
        };
        return Err(Failure::usage(problem));
    }
    no_archive(path).map_err(|problem| Failure::usage(format!("{shown}: {problem}")))?;
    Ok(Given { name: stem, value: Written::File(path.into()), text: shown })
}

fn no_archive(path: &Path) -> Result<(), String> {
    match has_ending(path, "npz") {
        true => Err("archives are not read here; unpack it, its members are .npy files".into()),
        false => Ok(()),
    }
}
