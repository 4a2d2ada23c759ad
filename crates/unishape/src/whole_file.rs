//! Files that are there whole or not at all.
//!
//! Public for the command, which writes files of its own in the same way; hidden since it has nothing
//! to do with broadcasting, and may change with every version.

use crate::text;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// How many links may lead from one to the next, as on Linux.
const MOST_LINKS: usize = 40;

/// A file that is being written: a temporary one beside its place, gone if it is not completed.
///
/// ```
/// # use unishape::whole_file::WholeFile;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// drop(WholeFile::new(&path)?);
/// assert_eq!(std::fs::read_dir(&folder)?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct WholeFile {
    target: PathBuf,
    file: Writing,
}

enum Writing {
    Beside(NamedTempFile),
    /// A pipe or a device is written to, never replaced.
    InPlace(File),
}

impl WholeFile {
    /// A file that will be at this path. A link stays a link: what it leads to is made or replaced,
    /// and what is replaced hands its permissions on.
    ///
    /// ```
    /// # use unishape::whole_file::WholeFile;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// let file = WholeFile::new(&path)?;
    /// assert_eq!(std::fs::read(&path)?, b"old");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where no file can be made there.
    pub fn new(path: &Path) -> io::Result<WholeFile> {
        let existing = existing(path)?;
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(WholeFile { target: path.into(), file: Writing::InPlace(file) });
        }
        let target = behind_links(path)?;
        let mut builder = builder();
        #[cfg(unix)]
        {
            // As for any new file, rather than the owner alone as for secrets.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder_of(&target))?;
        if let Some(metadata) = existing {
            temporary.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(WholeFile { target, file: Writing::Beside(temporary) })
    }

    /// What is written goes straight to where it belongs, and cannot be taken back.
    ///
    /// ```
    /// # use unishape::whole_file::WholeFile;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// assert!(!WholeFile::new(&path)?.is_in_place());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_in_place(&self) -> bool {
        matches!(self.file, Writing::InPlace(_))
    }

    /// Where its bytes go.
    ///
    /// ```
    /// # use unishape::whole_file::WholeFile;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// std::io::Write::write_all(WholeFile::new(&path)?.file(), b"new")?;
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn file(&mut self) -> &mut File {
        match &mut self.file {
            Writing::Beside(temporary) => temporary.as_file_mut(),
            Writing::InPlace(file) => file,
        }
    }

    /// The file with all its bytes, closed: any number of them can wait for the others.
    ///
    /// ```
    /// # use unishape::whole_file::WholeFile;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let complete = WholeFile::new(&path)?.complete();
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn complete(self) -> CompleteFile {
        let temporary = match self.file {
            Writing::Beside(temporary) => Some(temporary.into_temp_path()),
            Writing::InPlace(_) => None,
        };
        CompleteFile { target: self.target, temporary }
    }
}

/// A complete file that is not in its place yet, and gone if it is not [put there](place_all).
///
/// ```
/// # use unishape::whole_file::WholeFile;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// drop(WholeFile::new(&path)?.complete());
/// assert_eq!(std::fs::read_dir(&folder)?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct CompleteFile {
    target: PathBuf,
    /// `None` for what was written in place.
    temporary: Option<TempPath>,
}

/// Puts all files into their places, or none: where one cannot be put there, those before it are
/// taken away again, and what they replaced is put back.
///
/// ```
/// # use unishape::whole_file::{WholeFile, place_all};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// let file = WholeFile::new(&path)?.complete();
/// place_all([file]).map_err(|(_, error)| error)?;
/// assert!(path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The number of the file that could not be put into its place, and why.
pub fn place_all(files: impl IntoIterator<Item = CompleteFile>) -> Result<(), (usize, io::Error)> {
    let mut files = files.into_iter().enumerate().peekable();
    let mut placed = Vec::new();
    while let Some((number, file)) = files.next() {
        // After the last one nothing can fail, so it needs no way back: it replaces what is there in
        // one step, and so does a file that is alone.
        let is_last = files.peek().is_none();
        match place(file, is_last) {
            Ok(file) => placed.extend(file),
            Err(error) => return Err((number, take_back(placed, error))),
        }
    }
    for Placed { aside, .. } in placed {
        // The new files are there; an old one that cannot be deleted does not change that.
        let _ = aside.map(fs::remove_file);
    }
    Ok(())
}

/// A file in its place, and where the one is that was there before.
struct Placed {
    target: PathBuf,
    aside: Option<PathBuf>,
}

/// Puts one file into its place; `None` if there is no way back.
fn place(file: CompleteFile, is_last: bool) -> io::Result<Option<Placed>> {
    let CompleteFile { target, temporary: Some(temporary) } = file else { return Ok(None) };
    let existing = match fs::symlink_metadata(&target) {
        Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(_) => true,
        Err(_) => false,
    };
    if is_last {
        temporary.persist(&target)?;
        return Ok(None);
    }
    let aside = if existing { Some(move_aside(&target)?) } else { None };
    let placed = Placed { target, aside };
    match temporary.persist(&placed.target) {
        Ok(()) => Ok(Some(placed)),
        Err(error) => {
            // What was moved aside goes back; there is nothing new to be taken away.
            let error = error.error;
            Err(if placed.aside.is_some() { take_back(vec![placed], error) } else { error })
        }
    }
}

/// Gives a file a name of no meaning in the same folder.
fn move_aside(target: &Path) -> io::Result<PathBuf> {
    let mut builder = builder();
    // It is somebody's, and nothing to be deleted on the way out.
    builder.disable_cleanup(true);
    let moved = builder.make_in(folder_of(target), |aside| match fs::symlink_metadata(aside) {
        // Another name is tried.
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(target, aside),
    })?;
    Ok(moved.path().to_path_buf())
}

/// Undoes what was done, the last first, and says so where that fails too.
fn take_back(placed: Vec<Placed>, error: io::Error) -> io::Error {
    let mut error = error;
    for Placed { target, aside } in placed.into_iter().rev() {
        let undone = match &aside {
            Some(aside) => fs::rename(aside, &target),
            None => fs::remove_file(&target),
        };
        let Err(problem) = undone else { continue };
        let left = match aside {
            Some(aside) => {
                format!("what was {} is now {}", text::display_path(&target), text::display_path(&aside))
            }
            None => format!("{} stays", text::display_path(&target)),
        };
        error = io::Error::new(error.kind(), format!("{error}; {left}: {problem}"));
    }
    error
}

/// Where a file at this path really is or will be, so that two paths to one place are seen to be.
///
/// ```
/// # use unishape::whole_file::real_place;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// assert_eq!(real_place(&path), real_place(&folder.path().join("./file")));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn real_place(path: &Path) -> PathBuf {
    // The system knows more than links: where capitals make no difference, say.
    if let Ok(place) = fs::canonicalize(path) {
        return place;
    }
    let target = behind_links(path).unwrap_or_else(|_| path.into());
    let whole = match (fs::canonicalize(folder_of(&target)), target.file_name()) {
        (Ok(folder), Some(name)) => Ok(folder.join(name)),
        _ => std::path::absolute(&target),
    };
    whole.unwrap_or(target)
}

/// What a path leads to, in the end; `None` if that is not there.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The path that links lead to, whether or not there is anything.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    // The system says it best.
    fs::metadata(path).map(|_| target)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unishape-");
    builder
}
