//! `NAME=VALUE` arguments: the variables of an expression.

use crate::error::CliError;
use crate::sources::{location_of, names_in};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use unishape::expr::Expr;
use unishape::text;
use unishape_array_text::Literal;
use unishape_files::Location;

/// A variable and its value: `NAME=VALUE`, or a file named after the variable.
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) value: BindingValue,
    /// The value as given on the command line.
    pub(crate) text: String,
}

/// A parsed value. Files are not opened yet.
pub(crate) enum BindingValue {
    Literal(Literal),
    File(Location),
}

impl Binding {
    /// Parses an argument.
    ///
    /// A valid number, range or list is never a file name, so that a command means the same in every
    /// directory: the file `4` is written `./4`.
    /// An archive alone has values for all variables that it has arrays of.
    pub(crate) fn parse(word: &OsStr, expr: &Expr) -> Result<Vec<Binding>, CliError> {
        match split(word) {
            Some((name, value)) => {
                let text = text::sanitize(&value.to_string_lossy());
                let value = match parse_value(&name, &value).map_err(|message| {
                    let message = text::sanitize(&message);
                    CliError::usage(format!("{name}={}: {message}", text::truncate(&text, 80)))
                })? {
                    Some(value) => value,
                    None => BindingValue::File(file_value(&name, &value)?),
                };
                Ok(vec![Binding { name, value, text }])
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

/// Parses a number, a range or a list; `None` if the value is something else.
fn parse_value(name: &str, value: &OsStr) -> Result<Option<BindingValue>, String> {
    let Some(text) = value.to_str() else { return Ok(None) };
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("missing value; write {name}=a.npy, {name}=2.5 or {name}=0:10"));
    }
    Ok(Literal::parse(text)?.map(BindingValue::Literal))
}

/// The file that a value names.
fn file_value(name: &str, value: &OsStr) -> Result<Location, CliError> {
    location_of(value)?.ok_or_else(|| {
        let shown = text::truncate(&value.to_string_lossy(), 80);
        let problem = "no file of that name, and not a number, a range like 0:10 or a list like [1,2]";
        CliError::usage(format!("{name}={shown}: {problem}"))
    })
}

/// A file without a name is the value of the variable that it is named after.
fn parse_file(word: &OsStr, expr: &Expr) -> Result<Vec<Binding>, CliError> {
    let names = expr.names();
    let shown = text::display_path(Path::new(word));
    let first = names.first().map_or("a", String::as_str);
    let Some(location) = location_of(word)? else {
        return Err(CliError::usage(format!(
            "{shown}: there is no file of that name; for another value write NAME=VALUE, as in {first}=a.npy or {first}=2.5"
        )));
    };
    if location == Location::Stdin {
        return Err(CliError::usage(format!("-: name the variable for standard input, as in {first}=-")));
    }
    if let Location::Member { name: None, .. } = location
        && let Some(members) = names_in(&location)?
    {
        let wanted = members.iter().filter(|member| names.contains(member));
        let bindings: Vec<Binding> =
            wanted.map(|member| Binding::of_file(member, location.clone().with_name(member))).collect();
        if !bindings.is_empty() {
            return Ok(bindings);
        }
        let members: Vec<String> = members.iter().take(10).map(|member| text::truncate(member, 60)).collect();
        return Err(CliError::usage(format!(
            "{shown}: none of its arrays is named like a variable ({}); name one, as in {first}={shown}:{}",
            text::truncate(&names.join(", "), 80),
            members.first().map_or("a", String::as_str)
        )));
    }
    let stem = text::sanitize(&location.stem().to_string_lossy());
    if !names.contains(&stem) {
        let message =
            format!("{shown}: the expression has no variable {stem}; name one, as in {first}={shown}");
        return Err(CliError::usage(message));
    }
    Ok(vec![Binding::of_file(&stem, location)])
}

impl Binding {
    /// The value of a variable from a file.
    pub(crate) fn of_file(name: &str, location: Location) -> Binding {
        Binding { name: name.into(), text: location.to_string(), value: BindingValue::File(location) }
    }
}
