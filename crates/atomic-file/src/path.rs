//! Where a path leads: symbolic links, and the directory of a file that need not exist.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The longest chain of symbolic links that is followed, as on Linux.
const MAX_LINKS: usize = 40;

/// The absolute path, without links, of a file that exists or is about to.
///
/// Two paths that resolve to the same target would write the same file.
///
/// ```
/// # use unishape_atomic_file::resolve_target;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// assert_eq!(resolve_target(&path), resolve_target(directory.path().join("./file")));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn resolve_target(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    // Knows more than links: file systems that ignore case, for example.
    if let Ok(target) = fs::canonicalize(path) {
        return target;
    }
    let target = follow_links(path).unwrap_or_else(|_| path.into());
    let absolute = match (fs::canonicalize(parent_directory(&target)), target.file_name()) {
        (Ok(directory), Some(name)) => Ok(directory.join(name)),
        _ => std::path::absolute(&target),
    };
    absolute.unwrap_or(target)
}

/// The path at the end of a chain of symbolic links, whether or not a file is there.
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = parent_directory(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    // Gives the system's own error for a loop.
    fs::metadata(path).map(|_| target)
}

/// The directory that a file is in.
pub(crate) fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
