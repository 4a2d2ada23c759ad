//! Commits of one and of several files: complete or not at all, all or none.

use std::error::Error;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use tempfile::{TempDir, tempdir};
use unishape_atomic_file::{AtomicFile, CommitError, PendingFile, commit_all, resolve_target};

fn written(file: std::io::Result<AtomicFile>, text: &str) -> PendingFile {
    let mut file = file.unwrap();
    file.file().write_all(text.as_bytes()).unwrap();
    file.finish()
}

/// A pending file with some text that replaces an existing one.
fn replacing(path: &Path, text: &str) -> PendingFile {
    written(AtomicFile::create(path), text)
}

/// A pending file with some text that refuses an existing one.
fn new(path: &Path, text: &str) -> PendingFile {
    written(AtomicFile::create_new(path), text)
}

/// The names in a directory with the text of the files, and `None` for directories.
fn contents(directory: &TempDir) -> Vec<(String, Option<String>)> {
    let mut contents: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).ok()))
        .collect();
    contents.sort();
    contents
}

fn files(names: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    names.iter().map(|&(name, text)| (name.into(), Some(text.into()))).collect()
}

#[test]
fn commit_replaces_existing_files_and_creates_the_others() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("a"), "old").unwrap();
    fs::write(at("c"), "old").unwrap();
    commit_all(["a", "b", "c"].map(|name| replacing(&at(name), name))).unwrap();
    assert_eq!(contents(&directory), files(&[("a", "a"), ("b", "b"), ("c", "c")]));
    commit_all(["d", "e"].map(|name| new(&at(name), name))).unwrap();
    assert_eq!(contents(&directory)[3..], files(&[("d", "d"), ("e", "e")]));
}

#[test]
fn dropped_files_leave_nothing() {
    let directory = tempdir().unwrap();
    drop(replacing(&directory.path().join("a"), "new"));
    drop(new(&directory.path().join("a"), "new"));
    drop(AtomicFile::create(directory.path().join("a")).unwrap());
    assert_eq!(contents(&directory), []);
}

#[test]
fn a_failed_commit_undoes_the_files_before_it() {
    let names = ["a", "b", "c", "d"];
    for bad in 0..names.len() {
        let directory = tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for old in ["a", "c"] {
            fs::write(at(old), "old").unwrap();
        }
        let pending = names.map(|name| replacing(&at(name), "new"));
        // A directory takes the name of a file that is complete.
        let _ = fs::remove_file(at(names[bad]));
        fs::create_dir(at(names[bad])).unwrap();
        let before = contents(&directory);
        assert_eq!(commit_all(pending).unwrap_err().index, bad);
        assert_eq!(contents(&directory), before);
    }
}

#[test]
fn a_name_that_is_taken_before_the_commit_undoes_the_files_before_it() {
    let names = ["a", "b", "c"];
    for bad in 0..names.len() {
        let directory = tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let pending = names.map(|name| new(&at(name), "new"));
        fs::write(at(names[bad]), "by another process").unwrap();
        let error = commit_all(pending).unwrap_err();
        assert_eq!((error.index, error.source.kind()), (bad, ErrorKind::AlreadyExists));
        assert_eq!(contents(&directory), files(&[(names[bad], "by another process")]));
    }
}

#[test]
fn of_simultaneous_commits_to_one_new_name_exactly_one_succeeds() {
    const THREADS: usize = 8;
    let directory = tempdir().unwrap();
    let path = directory.path().join("file");
    let barrier = Barrier::new(THREADS);
    let commit = &|number: usize| {
        let pending = new(&path, &number.to_string());
        barrier.wait();
        pending.commit()
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || commit(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let winners: Vec<usize> = (0..THREADS).filter(|&number| results[number].is_ok()).collect();
    assert_eq!(winners.len(), 1, "{results:?}");
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    }
    assert_eq!(contents(&directory), files(&[("file", &winners[0].to_string())]));
}

#[test]
fn an_existing_file_or_link_is_refused_from_the_beginning() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("file"), "old").unwrap();
    let refused = |name: &str| AtomicFile::create_new(at(name)).unwrap_err().kind();
    assert_eq!(refused("file"), ErrorKind::AlreadyExists);
    #[cfg(unix)]
    for (link, target) in [("link", "file"), ("dangling", "missing")] {
        std::os::unix::fs::symlink(target, at(link)).unwrap();
        assert_eq!(refused(link), ErrorKind::AlreadyExists);
    }
}

#[test]
fn a_directory_that_has_been_removed_undoes_the_other_files() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("a"), "old").unwrap();
    let pending = [replacing(&at("a"), "new"), replacing(&at("sub/b"), "new"), replacing(&at("c"), "new")];
    fs::remove_dir_all(at("sub")).unwrap();
    let error = commit_all(pending).unwrap_err();
    assert_eq!((error.index, error.source.kind()), (1, ErrorKind::NotFound));
    // Nothing is left, so the message does not list anything.
    assert!(!error.source.to_string().contains("could not be removed"), "{error}");
    assert_eq!(contents(&directory), files(&[("a", "old")]));
}

#[test]
fn the_error_has_the_index_of_the_file_and_the_reason() {
    let source = std::io::Error::other("disk full");
    let error = CommitError { index: 2, source };
    assert_eq!(error.to_string(), "file 2: disk full");
    assert_eq!(error.source().unwrap().to_string(), "disk full");
}

/// Before anything is written to it.
#[test]
fn a_name_that_no_file_can_have_is_an_error_from_the_beginning() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x".repeat(1000));
    for create in [AtomicFile::create, AtomicFile::create_new] {
        assert!(create(&path).is_err());
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_stays_and_its_target_is_created() {
    use std::os::unix::fs::symlink;
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    symlink("sub/link", at("a")).unwrap();
    symlink("../file", at("sub/link")).unwrap();
    replacing(&at("a"), "new").commit().unwrap();
    assert!(fs::symlink_metadata(at("a")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "new");
    assert_eq!(resolve_target(at("a")), resolve_target(at("file")));
    symlink("loop", at("loop")).unwrap();
    assert!(AtomicFile::create(at("loop")).is_err());
}

#[test]
fn targets_are_absolute_whether_or_not_the_file_exists() {
    let directory = tempdir().unwrap();
    let (existing, missing) = (directory.path().join("existing"), directory.path().join("missing"));
    fs::write(&existing, "").unwrap();
    let real = fs::canonicalize(directory.path()).unwrap();
    assert_eq!(resolve_target(&existing), real.join("existing"));
    assert_eq!(resolve_target(&missing), real.join("missing"));
    #[cfg(unix)]
    {
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(".", &link).unwrap();
        assert_eq!(resolve_target(link.join("existing")), real.join("existing"));
        assert_eq!(resolve_target(link.join("missing")), real.join("missing"));
    }
    let nested = directory.path().join("no directory/file");
    assert_eq!(resolve_target(&nested), nested);
}

#[cfg(unix)]
#[test]
fn only_pipes_and_devices_are_written_in_place() {
    assert!(AtomicFile::create("/dev/null").unwrap().is_in_place());
    assert!(AtomicFile::create_new("/dev/null").unwrap().is_in_place());
    written(AtomicFile::create_new("/dev/null"), "text").commit().unwrap();
    let directory = tempdir().unwrap();
    let path = directory.path().join("file");
    assert!(!AtomicFile::create(&path).unwrap().is_in_place());
    fs::write(&path, "old").unwrap();
    assert!(!AtomicFile::create(&path).unwrap().is_in_place());
}

#[cfg(unix)]
#[test]
fn a_replaced_file_passes_its_permissions_on() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    replacing(&path, "new").commit().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

/// So nothing is left whatever ends the process.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_being_written_has_no_name() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("file");
    let writing = AtomicFile::create(&path).unwrap();
    assert_eq!(contents(&directory), []);
    let pending = writing.finish();
    assert_eq!(contents(&directory), []);
    pending.commit().unwrap();
    assert_eq!(contents(&directory), files(&[("file", "")]));
}
