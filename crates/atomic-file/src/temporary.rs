//! Temporary files: without a name where the system has them, else with a name that is removed on drop.

use std::fs::File;
use std::io;
use std::path::Path;
use tempfile::{NamedTempFile, TempPath};

#[cfg(target_os = "linux")]
use unnamed::Unnamed;

/// A temporary file that is open for writing.
#[derive(Debug)]
pub(crate) enum TemporaryFile {
    #[cfg(target_os = "linux")]
    Unnamed(Unnamed),
    Named(NamedTempFile),
}

/// A temporary file that is complete and can get its final name.
#[derive(Debug)]
pub(crate) enum CompleteFile {
    /// Stays open, since closing it would remove it.
    #[cfg(target_os = "linux")]
    Unnamed(Unnamed),
    Named(TempPath),
}

impl TemporaryFile {
    /// Creates a temporary file in a directory.
    pub(crate) fn create(directory: &Path) -> io::Result<TemporaryFile> {
        #[cfg(target_os = "linux")]
        if let Some(file) = Unnamed::create(directory) {
            return Ok(TemporaryFile::Unnamed(file));
        }
        TemporaryFile::create_named(directory)
    }

    fn create_named(directory: &Path) -> io::Result<TemporaryFile> {
        let mut names = names();
        #[cfg(unix)]
        {
            // As for any new file. The default of the crate is access for the owner alone.
            use std::os::unix::fs::PermissionsExt;
            names.permissions(std::fs::Permissions::from_mode(0o666));
        }
        names.tempfile_in(directory).map(TemporaryFile::Named)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            TemporaryFile::Unnamed(unnamed) => unnamed.file(),
            TemporaryFile::Named(named) => named.as_file_mut(),
        }
    }

    pub(crate) fn finish(self) -> CompleteFile {
        match self {
            #[cfg(target_os = "linux")]
            TemporaryFile::Unnamed(unnamed) => CompleteFile::Unnamed(unnamed),
            TemporaryFile::Named(named) => CompleteFile::Named(named.into_temp_path()),
        }
    }
}

impl CompleteFile {
    /// Gives the file its name if that is free; else fails with `AlreadyExists`.
    pub(crate) fn create(self, target: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            CompleteFile::Unnamed(unnamed) => unnamed.link(target),
            CompleteFile::Named(named) => Ok(named.persist_noclobber(target)?),
        }
    }

    /// Gives the file its name, in place of any file that has it.
    pub(crate) fn replace(self, target: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            CompleteFile::Unnamed(unnamed) => match unnamed.link(target) {
                // `linkat` never replaces: a second name that exists for a moment is renamed to the target.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let directory = crate::path::parent_directory(target);
                    let linked = names().make_in(directory, |path| unnamed.link(path))?;
                    Ok(linked.into_temp_path().persist(target)?)
                }
                linked => linked,
            },
            CompleteFile::Named(named) => Ok(named.persist(target)?),
        }
    }
}

/// Names of temporary files: `.unishape-` and random characters.
pub(crate) fn names() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unishape-");
    builder
}

#[cfg(target_os = "linux")]
mod unnamed {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The most unnamed files at a time. Each holds a file descriptor until it is committed, and processes
    /// often have no more than 1024; further files are named, and closed when they are complete.
    const MAX_OPEN: usize = 256;

    static OPEN: AtomicUsize = AtomicUsize::new(0);

    /// A file without a name, which the kernel removes with its last descriptor.
    #[derive(Debug)]
    pub(crate) struct Unnamed(File);

    impl Unnamed {
        /// Creates a file in a directory; `None` where that is not possible and a name is needed.
        pub(crate) fn create(directory: &Path) -> Option<Unnamed> {
            if OPEN.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
                OPEN.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o666);
            let Ok(file) = open(directory, flags, mode) else {
                OPEN.fetch_sub(1, Ordering::Relaxed);
                return None;
            };
            let unnamed = Unnamed(file.into());
            // Without `/proc` the file could never be linked.
            unnamed.descriptor_path().exists().then_some(unnamed)
        }

        pub(crate) fn file(&mut self) -> &mut File {
            &mut self.0
        }

        /// Gives the file a name that no other file has.
        pub(crate) fn link(&self, path: &Path) -> io::Result<()> {
            // Not `AT_EMPTY_PATH`, which kernels before 6.10 allow to privileged processes only.
            Ok(linkat(CWD, self.descriptor_path(), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
        }

        fn descriptor_path(&self) -> PathBuf {
            format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
        }
    }

    impl Drop for Unnamed {
        fn drop(&mut self) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TemporaryFile;
    use crate::{AtomicFile, Existing, PendingFile, commit_all};
    use std::fs;
    use std::io::{ErrorKind, Write};
    use tempfile::tempdir;

    /// The fallback does the same as files without a name.
    #[test]
    fn named_files_create_and_replace_too() {
        let directory = tempdir().unwrap();
        let target = directory.path().join("file");
        for text in ["first", "second", "third"] {
            let mut file = TemporaryFile::create_named(directory.path()).unwrap();
            let names: Vec<_> =
                fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(names.iter().any(|name| name.to_string_lossy().starts_with(".unishape-")), "{names:?}");
            file.file().write_all(text.as_bytes()).unwrap();
            match text {
                "first" => file.finish().create(&target).unwrap(),
                "second" => {
                    let error = file.finish().create(&target).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
                }
                _ => file.finish().replace(&target).unwrap(),
            }
            let expected = if text == "third" { "third" } else { "first" };
            assert_eq!(fs::read_to_string(&target).unwrap(), expected);
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn both_kinds_have_the_permissions_of_new_files() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempdir().unwrap();
        fs::write(directory.path().join("plain"), "").unwrap();
        let create = [TemporaryFile::create, TemporaryFile::create_named];
        for (name, create) in ["default", "named"].into_iter().zip(create) {
            create(directory.path()).unwrap().finish().create(&directory.path().join(name)).unwrap();
        }
        let mode = |name| fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!((mode("default"), mode("named")), (mode("plain"), mode("plain")));
    }

    /// The old file has been renamed when the new one turns out to be missing.
    #[test]
    fn a_file_that_cannot_be_renamed_restores_the_one_that_it_replaces() {
        let directory = tempdir().unwrap();
        let [first, last] = ["first", "last"].map(|name| directory.path().join(name));
        fs::write(&first, "old").unwrap();
        let named = TemporaryFile::create_named(directory.path()).unwrap();
        for entry in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_name() != "first" {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        let written = Some(named.finish());
        let pending = PendingFile { target: first.clone(), written, existing: Existing::Replace };
        let error = commit_all([pending, AtomicFile::create(last).unwrap().finish()]).unwrap_err();
        assert_eq!((error.index, error.source.kind()), (0, ErrorKind::NotFound));
        assert_eq!(fs::read_to_string(&first).unwrap(), "old");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    /// Only files that are open at the same time count towards the limit.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_have_no_name_however_many_came_before() {
        let directory = tempdir().unwrap();
        for number in 0..1000 {
            let file = TemporaryFile::create(directory.path()).unwrap();
            assert!(matches!(file, TemporaryFile::Unnamed(_)), "file {number}");
        }
    }
}
