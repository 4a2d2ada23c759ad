//! More pending files than a process may have open.
//!
//! A process has a limited number of files without a name, so that other tests would see names while this one runs: it
//! is a program of its own.

use std::fs;
use std::io::Write;
use tempfile::tempdir;
use unishape_atomic_file::{AtomicFile, PendingFile, commit_all};

/// The names of the files beyond the limit identify the program.
#[test]
fn any_number_of_files_can_be_pending() {
    const COUNT: usize = 1500;
    let directory = tempdir().unwrap();
    let at = |number: usize| directory.path().join(number.to_string());
    let pending = |number: usize| -> PendingFile {
        let mut file = AtomicFile::create_new(at(number)).unwrap();
        file.file().write_all(b"new").unwrap();
        file.finish()
    };
    let names = || -> Vec<String> {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let pending: Vec<PendingFile> = (0..COUNT).map(pending).collect();
    let named = names();
    assert!(named.len() >= COUNT - 256 && named.iter().all(|name| name.starts_with(".unishape-")));
    commit_all(pending).unwrap();
    assert_eq!(names().len(), COUNT);
    assert!((0..COUNT).all(|number| fs::read(at(number)).unwrap() == b"new"));
}
