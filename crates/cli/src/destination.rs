//! Checks of the paths that results are written to: existing files, directories, disk space.

use crate::error::CliError;
use crate::output::already_exists;
use indicatif::BinaryBytes;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use unishape::text;

/// Checks that a file can be written: no directory, and no existing file without `force`.
///
/// Only a check before long work: the commit itself refuses files that have appeared since.
pub(crate) fn check_target(path: &Path, force: bool) -> Result<(), CliError> {
    if path.is_dir() {
        return Err(CliError::io(format!("{} is a directory", text::display_path(path))));
    }
    // A dangling symbolic link exists too.
    if !force && fs::symlink_metadata(path).is_ok() {
        return Err(already_exists(path));
    }
    Ok(())
}

pub(crate) fn check_directory_exists(directory: &Path) -> Result<(), CliError> {
    match directory.exists() {
        true => Ok(()),
        false => Err(CliError::io(format!("{}: no such directory", text::display_path(directory)))),
    }
}

/// Free bytes on the disk of a directory, which need not exist yet.
pub(crate) fn free_space(directory: &Path) -> Option<u64> {
    let directory = std::path::absolute(directory).ok()?;
    let existing = directory.ancestors().find(|ancestor| ancestor.exists())?;
    fs4::available_space(existing).ok()
}

/// Checks that `needed` bytes are free. `subject` begins the message: `the result needs`.
pub(crate) fn check_free_space(
    subject: &str,
    needed: u64,
    directory: &Path,
    free: Option<u64>,
) -> Result<(), CliError> {
    match free {
        Some(free) if free < needed => Err(CliError::io(format!(
            "{subject} {}, but {} has only {} free; nothing was written",
            BinaryBytes(needed),
            text::display_path(directory),
            BinaryBytes(free),
        ))),
        _ => Ok(()),
    }
}

/// Runs `work` in a directory, which is created if necessary and removed again if `work` fails.
pub(crate) fn in_directory(
    directory: &Path,
    work: impl FnOnce() -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (created, result) = create_directories(directory);
    #[cfg(target_os = "linux")]
    crate::signals::remove_if_truncated(&created);
    let result = result
        .map_err(|error| CliError::io(format!("{}: {error}", text::display_path(directory))))
        .and_then(|()| work());
    if result.is_err() {
        for directory in created.iter().rev() {
            // Fails if another process has put a file into it, which is right.
            let _ = fs::remove_dir(directory);
        }
    }
    result
}

/// Creates a directory and its parents. Returns those that this process has created, outermost first.
fn create_directories(directory: &Path) -> (Vec<PathBuf>, io::Result<()>) {
    let is_missing = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    let mut created = Vec::new();
    for directory in missing.into_iter().rev() {
        match fs::create_dir(directory) {
            Ok(()) => created.push(directory.into()),
            // Created by another process meanwhile.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && directory.is_dir() => {}
            Err(error) => return (created, Err(error)),
        }
    }
    (created, Ok(()))
}

/// `5.00 MiB to z.npy (72.90 GiB free)`.
pub(crate) fn destination_text(bytes: u64, path: &Path, free: Option<u64>) -> String {
    let free = free.map_or(String::new(), |free| format!(" ({} free)", BinaryBytes(free)));
    format!("{} to {}{free}", BinaryBytes(bytes), text::display_path(path))
}
