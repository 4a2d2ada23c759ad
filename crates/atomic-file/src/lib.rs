//! Files that appear complete or not at all; several at once or none.
//!
//! An [`AtomicFile`] writes to a temporary file in the directory of its target. [`AtomicFile::finish`] turns
//! it into a [`PendingFile`], and [`commit_all`] gives any number of those their names: all of them, or, on
//! an error, none. A file that is dropped before that leaves nothing behind.
//!
//! | constructor | existing file at the path |
//! |---|---|
//! | [`AtomicFile::create`] | is replaced by the commit |
//! | [`AtomicFile::create_new`] | is an error, also if it appears before the commit: never overwritten |
//!
//! On Linux the temporary file has no name (`O_TMPFILE`), so the kernel removes it even if the process is killed. A
//! killed process leaves files named `.unishape-*` only in these cases:
//!
//! - The temporary file has such a name, and is removed when it is dropped: on other systems, on file systems without
//!   `O_TMPFILE`, without `/proc`, and where 256 others are open or wait for their commit.
//! - A commit replaces a file. As a link cannot, the new file gets such a name first, and is renamed at once.
//! - [`commit_all`] keeps each file that it replaces, except the last one, under such a name until all are committed. If
//!   the process is killed meanwhile, some files are committed and others are not.
//!
//! Commits are atomic for other processes. They are not durable: nothing calls `fsync`.
//!
//! ```
//! use std::io::Write;
//! use unishape_atomic_file::{AtomicFile, commit_all};
//!
//! # let directory = tempfile::tempdir()?;
//! # let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
//! let mut pending = Vec::new();
//! for path in [&a, &b] {
//!     let mut file = AtomicFile::create(path)?;
//!     file.file().write_all(b"new")?;
//!     pending.push(file.finish());
//! }
//! assert!(!a.exists() && !b.exists());
//! commit_all(pending)?;
//! assert!(a.exists() && b.exists());
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod path;
mod temporary;

pub use path::resolve_target;

use path::{follow_links, parent_directory};
use std::error::Error;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use temporary::{CompleteFile, TemporaryFile};

/// A file that is being written, and that is not yet visible under its name.
///
/// ```
/// # use unishape_atomic_file::AtomicFile;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// drop(AtomicFile::create(&path)?);
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    destination: Destination,
    existing: Existing,
}

#[derive(Debug)]
enum Destination {
    TemporaryFile(TemporaryFile),
    /// A pipe or a device, which is written to and never replaced.
    InPlace(File),
}

/// What a commit does with a file that has the target's name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Existing {
    Replace,
    Refuse,
}

impl AtomicFile {
    /// Starts a file that replaces whatever file is at this path.
    ///
    /// A symbolic link stays: the file that it points to is created or replaced. A replaced file passes its
    /// permissions on. A pipe or a device is [written in place](AtomicFile::is_in_place).
    ///
    /// ```
    /// # use unishape_atomic_file::AtomicFile;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// let file = AtomicFile::create(&path)?;
    /// assert_eq!(std::fs::read(&path)?, b"old");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If no file can be created in the directory of the target.
    pub fn create(path: impl AsRef<Path>) -> io::Result<AtomicFile> {
        let path = path.as_ref();
        let existing = existing_metadata(path)?;
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return AtomicFile::in_place(path);
        }
        let target = follow_links(path)?;
        let mut temporary = TemporaryFile::create(parent_directory(&target))?;
        if let Some(metadata) = existing {
            temporary.file().set_permissions(metadata.permissions())?;
        }
        Ok(AtomicFile {
            target,
            destination: Destination::TemporaryFile(temporary),
            existing: Existing::Replace,
        })
    }

    /// Starts a file at a path where there must be none.
    ///
    /// There must be none now, nor at the commit.
    ///
    /// Of several processes that create the same path, exactly one commits. A symbolic link counts as a file,
    /// whether or not its target exists. A pipe or a device is [written in place](AtomicFile::is_in_place).
    ///
    /// ```
    /// # use unishape_atomic_file::AtomicFile;
    /// # use std::io::ErrorKind;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// let file = AtomicFile::create_new(&path)?;
    /// std::fs::write(&path, "by another process")?;
    /// let error = file.finish().commit().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    /// assert_eq!(std::fs::read(&path)?, b"by another process");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the file exists; any other error if it cannot be created.
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<AtomicFile> {
        let path = path.as_ref();
        match existing_metadata(path)? {
            Some(metadata) if metadata.is_file() => return Err(ErrorKind::AlreadyExists.into()),
            Some(_) => return AtomicFile::in_place(path),
            None if path.is_symlink() => return Err(ErrorKind::AlreadyExists.into()),
            None => {}
        }
        let temporary = TemporaryFile::create(parent_directory(path))?;
        let destination = Destination::TemporaryFile(temporary);
        Ok(AtomicFile { target: path.into(), destination, existing: Existing::Refuse })
    }

    fn in_place(path: &Path) -> io::Result<AtomicFile> {
        let file = File::options().write(true).open(path)?;
        let destination = Destination::InPlace(file);
        Ok(AtomicFile { target: path.into(), destination, existing: Existing::Replace })
    }

    /// Whether bytes go directly to a pipe or a device, and cannot be taken back.
    ///
    /// ```
    /// # use unishape_atomic_file::AtomicFile;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// assert!(!AtomicFile::create(&path)?.is_in_place());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_in_place(&self) -> bool {
        matches!(self.destination, Destination::InPlace(_))
    }

    /// The open file to write to.
    ///
    /// ```
    /// # use unishape_atomic_file::AtomicFile;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// std::io::Write::write_all(AtomicFile::create(&path)?.file(), b"new")?;
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn file(&mut self) -> &mut File {
        match &mut self.destination {
            Destination::TemporaryFile(temporary) => temporary.file(),
            Destination::InPlace(file) => file,
        }
    }

    /// Ends the writing. The file still has no name.
    ///
    /// ```
    /// # use unishape_atomic_file::AtomicFile;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// let pending = AtomicFile::create(&path)?.finish();
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn finish(self) -> PendingFile {
        let written = match self.destination {
            Destination::TemporaryFile(temporary) => Some(temporary.finish()),
            Destination::InPlace(_) => None,
        };
        PendingFile { target: self.target, written, existing: self.existing }
    }
}

/// A complete file that waits for its name.
///
/// ```
/// # use unishape_atomic_file::AtomicFile;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// drop(AtomicFile::create(&path)?.finish());
/// assert_eq!(std::fs::read_dir(&directory)?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PendingFile {
    target: PathBuf,
    /// `None` for a file that was written in place.
    written: Option<CompleteFile>,
    existing: Existing,
}

impl PendingFile {
    /// Gives the file its name, in one step.
    ///
    /// ```
    /// # use unishape_atomic_file::AtomicFile;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// AtomicFile::create(&path)?.finish().commit()?;
    /// assert!(path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] for a file of [`AtomicFile::create_new`] whose name is taken; any other
    /// error if the directory cannot be written to.
    pub fn commit(self) -> io::Result<()> {
        commit_all([self]).map_err(|error| error.source)
    }
}

/// The error of [`commit_all`]: which file could not be committed, and why.
///
/// ```
/// use unishape_atomic_file::{AtomicFile, commit_all};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("taken");
/// let file = AtomicFile::create_new(&path)?.finish();
/// std::fs::write(&path, "another program's")?;
/// assert_eq!(commit_all([file]).unwrap_err().index, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CommitError {
    /// The position of that file among those given to [`commit_all`].
    pub index: usize,
    /// The reason.
    pub source: io::Error,
}

impl Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}: {}", self.index, self.source)
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

impl From<CommitError> for io::Error {
    fn from(error: CommitError) -> io::Error {
        io::Error::new(error.source.kind(), error)
    }
}

/// Gives all files their names, or none.
///
/// If one cannot be committed, those before it are removed again and the files that they replaced are
/// restored. If that fails too, the error names the files that are left.
///
/// ```
/// # use unishape_atomic_file::{AtomicFile, commit_all};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// commit_all([AtomicFile::create(&path)?.finish()])?;
/// assert!(path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The index of the file that could not be committed, and the reason: [`PendingFile::commit`].
pub fn commit_all(files: impl IntoIterator<Item = PendingFile>) -> Result<(), CommitError> {
    let mut files = files.into_iter().enumerate().peekable();
    let mut committed = Vec::new();
    while let Some((index, file)) = files.next() {
        // Nothing can fail after the last file, so it needs no undo and replaces its target in one step.
        let is_last = files.peek().is_none();
        match commit(file, is_last) {
            Ok(undo) => committed.extend(undo),
            Err(source) => return Err(CommitError { index, source: roll_back(committed, source) }),
        }
    }
    for Committed { backup, .. } in committed {
        // The commit is complete; an old file that cannot be removed does not change that.
        let _ = backup.map(fs::remove_file);
    }
    Ok(())
}

/// A committed file, and the path of the file that it replaced.
struct Committed {
    target: PathBuf,
    backup: Option<PathBuf>,
}

/// Commits one file. Returns how to undo that, unless it is the last one.
fn commit(file: PendingFile, is_last: bool) -> io::Result<Option<Committed>> {
    let PendingFile { target, written: Some(written), existing } = file else { return Ok(None) };
    if existing == Existing::Refuse {
        written.create(&target)?;
        return Ok((!is_last).then_some(Committed { target, backup: None }));
    }
    let exists = match fs::symlink_metadata(&target) {
        Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(_) => true,
        Err(_) => false,
    };
    if is_last {
        written.replace(&target)?;
        return Ok(None);
    }
    let backup = if exists { Some(move_to_backup(&target)?) } else { None };
    let committed = Committed { target, backup };
    match written.replace(&committed.target) {
        Ok(()) => Ok(Some(committed)),
        // There is no new file to remove, but perhaps an old one to restore.
        Err(error) if committed.backup.is_some() => Err(roll_back(vec![committed], error)),
        Err(error) => Err(error),
    }
}

/// Renames a file to an unused temporary name in its directory.
fn move_to_backup(target: &Path) -> io::Result<PathBuf> {
    let mut names = temporary::names();
    // The file belongs to the user: dropping the name must not remove it.
    names.disable_cleanup(true);
    let moved = names.make_in(parent_directory(target), |backup| match fs::symlink_metadata(backup) {
        // Makes `make_in` try another name.
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(target, backup),
    })?;
    Ok(moved.path().to_path_buf())
}

/// Undoes commits, the last first. Adds to the error what could not be undone.
fn roll_back(committed: Vec<Committed>, error: io::Error) -> io::Error {
    let mut error = error;
    for Committed { target, backup } in committed.into_iter().rev() {
        let undone = match &backup {
            Some(backup) => fs::rename(backup, &target),
            None => fs::remove_file(&target),
        };
        let Err(problem) = undone else { continue };
        let left = match backup {
            Some(backup) => format!("the previous {target:?} is now {backup:?}"),
            None => format!("{target:?} could not be removed"),
        };
        error = io::Error::new(error.kind(), format!("{error}; {left}: {problem}"));
    }
    error
}

/// Metadata of the file that a path leads to; `None` if it does not exist.
fn existing_metadata(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
