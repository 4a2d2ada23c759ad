//! `NAME=VALUE` arguments: the variables of an expression.

use super::arange::Arange;
use super::list_literal;
use crate::error::CliError;
use crate::paths::has_extension;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use unishape::expr::{Expr, Scalar};
use unishape::{Tensor, text};

/// A variable and its value: `NAME=VALUE`, or a file named after the variable.
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) value: BindingValue,
    /// The value as given on the command line.
    pub(crate) text: String,
}

/// A parsed value. Files are not opened yet.
pub(crate) enum BindingValue {
    Scalar(Scalar),
    Range(Arange),
    List(Tensor),
    File(PathBuf),
}

impl Binding {
    /// Parses an argument.
    ///
    /// A valid number, range or list is never a file name, so that a command means the same in every
    /// directory: the file `4` is written `./4`.
    pub(crate) fn parse(word: &OsStr, expr: &Expr) -> Result<Binding, CliError> {
        match split(word) {
            Some((name, value)) => {
                let text = text::sanitize(&value.to_string_lossy());
                let value = parse_value(&name, &value).map_err(|message| {
                    let message = text::sanitize(&message);
                    CliError::usage(format!("{name}={}: {message}", text::truncate(&text, 80)))
                })?;
                Ok(Binding { name, value, text })
            }
            None => parse_file(word, expr),
        }
    }
}

/// Splits `NAME=VALUE`; `None` if the part before `=` is not a valid name.
fn split(word: &OsStr) -> Option<(String, OsString)> {
    let bytes = word.as_encoded_bytes();
    let equals = bytes.iter().position(|&byte| byte == b'=')?;
    let name = std::str::from_utf8(&bytes[..equals]).ok()?.trim();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| (name.into(), text_from(word, equals + 1)))
}

#[cfg(unix)]
fn text_from(word: &OsStr, start: usize) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(&word.as_bytes()[start..]).into()
}

#[cfg(not(unix))]
fn text_from(word: &OsStr, start: usize) -> OsString {
    // Lossy only for file names that are not valid Unicode.
    String::from_utf8_lossy(&word.as_encoded_bytes()[start..]).into_owned().into()
}

fn parse_value(name: &str, value: &OsStr) -> Result<BindingValue, String> {
    let path = Path::new(value);
    if let Some(text) = value.to_str() {
        let text = text.trim();
        if text.is_empty() {
            return Err(format!("missing value; write {name}=a.npy, {name}=2.5 or {name}=0:10"));
        }
        if let Some(number) = Scalar::parse(text.strip_prefix('+').unwrap_or(text)) {
            return Ok(BindingValue::Scalar(number));
        }
        if text.starts_with('[') {
            return list_literal::parse(text).map(BindingValue::List);
        }
        if let Some(range) = Arange::parse(text) {
            return range.map(BindingValue::Range);
        }
    }
    if !has_extension(path, "npy") && !path.exists() {
        return Err("not a number, a range like 0:10, a list like [1,2], or an existing file".into());
    }
    refuse_archive(path)?;
    Ok(BindingValue::File(path.into()))
}

/// A file without a name is the value of the variable that it is named after.
fn parse_file(word: &OsStr, expr: &Expr) -> Result<Binding, CliError> {
    let path = Path::new(word);
    let shown = text::display_path(path);
    let stem = if has_extension(path, "npy") { path.file_stem() } else { path.file_name() };
    let stem = stem.map(|stem| text::sanitize(&stem.to_string_lossy())).unwrap_or_default();
    let names = expr.names();
    if !names.contains(&stem) {
        let name = names.first().map_or("a", String::as_str);
        let message = if has_extension(path, "npy") || path.exists() {
            format!("{shown}: the expression has no variable {stem}; name one, as in {name}={shown}")
        } else {
            format!("{shown}: write NAME=VALUE, as in {name}=a.npy or {name}=2.5")
        };
        return Err(CliError::usage(message));
    }
    refuse_archive(path).map_err(|message| CliError::usage(format!("{shown}: {message}")))?;
    Ok(Binding { name: stem, value: BindingValue::File(path.into()), text: shown })
}

fn refuse_archive(path: &Path) -> Result<(), String> {
    match has_extension(path, "npz") {
        true => Err("archives are not supported; extract the .npy files first".into()),
        false => Ok(()),
    }
}
