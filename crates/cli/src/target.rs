//! Places that results go to: what is there already, and how much room there is.

use crate::failure::Failure;
use crate::out::bytes_text;
use std::fs;
use std::path::Path;
use unishape::text;

/// Refuses a place where something is that must not be replaced.
pub(crate) fn check_free_place(path: &Path, force: bool) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::failed(format!("{} is a folder", text::display_path(path))));
    }
    // A link that leads nowhere is there too.
    if !force && fs::symlink_metadata(path).is_ok() {
        let problem = format!("{} is there already; add --force to replace it", text::display_path(path));
        return Err(Failure::failed(problem));
    }
    Ok(())
}

/// The folder that a file is in, or will be.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses a folder that is not there.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Failure> {
    match folder.exists() {
        true => Ok(()),
        false => Err(Failure::failed(format!("{}: there is no such folder", text::display_path(folder)))),
    }
}

/// The room on the disk that a folder is on, or will be.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    let folder = std::path::absolute(folder).ok()?;
    let exists = folder.ancestors().find(|ancestor| ancestor.exists())?;
    fs4::available_space(exists).ok()
}

/// Refuses what the disk has no room for. `what` is told as what takes so much: `the result takes`.
pub(crate) fn check_room(what: &str, needed: u64, folder: &Path, free: Option<u64>) -> Result<(), Failure> {
    match free {
        Some(free) if free < needed => Err(Failure::failed(format!(
            "{what} {}, and {} has room for {}; nothing was written",
            bytes_text(needed),
            text::display_path(folder),
            bytes_text(free),
        ))),
        _ => Ok(()),
    }
}

/// Does some work in a folder, which is made if need be; folders made for it do not outlive a failure.
pub(crate) fn in_folder(folder: &Path, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // Those that are not there yet, innermost first.
    let to_make: Vec<&Path> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    let made = fs::create_dir_all(folder)
        .map_err(|error| Failure::failed(format!("{}: {error}", text::display_path(folder))));
    let done = made.and_then(|()| work());
    if done.is_err() {
        for folder in to_make {
            // One that somebody else has put something into stays.
            let _ = fs::remove_dir(folder);
        }
    }
    done
}

/// `5.0 MiB to z.npy, 72.9 GiB free there`.
pub(crate) fn destination_text(bytes: u64, path: &Path, free: Option<u64>) -> String {
    let free = free.map_or(String::new(), |free| format!(", {} free there", bytes_text(free)));
    format!("{} to {}{free}", bytes_text(bytes), text::display_path(path))
}
