//! Standard output, and files that appear complete or not at all.

use crate::error::CliError;
use crate::paths::is_stdout;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use unishape::{Tensor, text};
use unishape_array_text::{IndexRanges, format_array};
use unishape_atomic_file::{AtomicFile, PendingFile, commit_all};

/// Stands for the path of standard output, in errors.
pub(crate) const STDOUT: &str = "standard output";

/// Prints to standard output.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(CliError::BrokenPipe),
        Err(error) => Err(CliError::io(format!("standard output: {error}"))),
    }
}

/// Prints JSON and a newline to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let json = serde_json::to_string(value).map_err(CliError::internal)?;
    print(&(json + "\n"))
}

/// An array of this shape as text. `region` returns the elements of a region; only printed ones are requested.
pub(crate) fn array_text(
    shape: &[usize],
    region: impl Fn(&IndexRanges) -> Result<Tensor, CliError>,
) -> Result<String, CliError> {
    format_array(shape, region)?
        .ok_or_else(|| CliError::usage("the result has too many dimensions to print; use -o FILE.npy"))
}

/// Prints to standard error, except with `--quiet`.
pub(crate) fn print_info(quiet: bool, text: &str) {
    if !quiet {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Starts a file. Only with `force` may it replace another, even one that appears before the commit.
pub(crate) fn create_file(path: &Path, force: bool) -> Result<AtomicFile, CliError> {
    let file = if force { AtomicFile::create(path) } else { AtomicFile::create_new(path) };
    file.map_err(|error| file_error(path, &error))
}

/// Commits complete files, all of them or none. `paths` are those of the files, for errors.
pub(crate) fn commit(files: Vec<PendingFile>, paths: &[&Path]) -> Result<(), CliError> {
    commit_all(files).map_err(|error| file_error(paths[error.index], &error.source))
}

/// An error about a file, with its path.
fn file_error(path: &Path, error: &io::Error) -> CliError {
    match error.kind() {
        // An error with a message of its own also says what could not be undone.
        ErrorKind::AlreadyExists if error.get_ref().is_none() => already_exists(path),
        _ => CliError::io(format!("{}: {error}", text::display_path(path))),
    }
}

pub(crate) fn already_exists(path: &Path) -> CliError {
    CliError::io(format!("{} already exists; use --force to replace it", text::display_path(path)))
}

/// Whether a path is a pipe or a device: written directly, and not taken back after an error.
pub(crate) fn is_in_place(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// An error while a result is written, with the path of the result and not of its temporary file.
pub(crate) fn write_error(path: &Path, error: &dyn std::error::Error) -> CliError {
    let undone = if is_in_place(path) { "" } else { "; nothing was written" };
    CliError::io(format!("{}: {error}{undone}", text::display_path(path)))
}

/// Writes text files, all of them or none. The path `-` is standard output.
pub(crate) fn write_text_files(texts: &[(&Path, String)], force: bool) -> Result<(), CliError> {
    let (printed, mut files) = (texts.iter().find(|(path, _)| is_stdout(path)), Vec::new());
    for (path, text) in texts.iter().filter(|(path, _)| !is_stdout(path)) {
        files.push((create_file(path, force)?, *path, text));
    }
    // Pipes and devices cannot be undone and come last; standard output comes after them.
    files.sort_by_key(|(file, ..)| file.is_in_place());
    let paths: Vec<&Path> = files.iter().map(|&(_, path, _)| path).collect();
    let mut pending = Vec::new();
    for (mut file, path, text) in files {
        file.file().write_all(text.as_bytes()).map_err(|error| file_error(path, &error))?;
        pending.push(file.finish());
    }
    if let Some((_, text)) = printed {
        print(text)?;
    }
    commit(pending, &paths)
}
