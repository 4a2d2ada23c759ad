//! Files that are there whole or not at all, many of them together.

use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::{TempDir, tempdir};
use unishape::whole_file::{CompleteFile, WholeFile, place_all, real_place};

/// A file with some text, not in its place yet.
fn complete(path: &Path, text: &str) -> CompleteFile {
    let mut file = WholeFile::new(path).unwrap();
    file.file().write_all(text.as_bytes()).unwrap();
    file.complete()
}

/// The names in a folder with what the files hold, and nothing for folders.
fn contents(folder: &TempDir) -> Vec<(String, Option<String>)> {
    let mut contents: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).ok()))
        .collect();
    contents.sort();
    contents
}

fn held(names: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    names.iter().map(|&(name, text)| (name.into(), Some(text.into()))).collect()
}

#[test]
fn all_files_get_their_places_and_replace_what_is_there() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a"), "old").unwrap();
    fs::write(at("c"), "old").unwrap();
    let files = ["a", "b", "c"].map(|name| complete(&at(name), name));
    place_all(files).unwrap();
    assert_eq!(contents(&folder), held(&[("a", "a"), ("b", "b"), ("c", "c")]));
}

#[test]
fn files_that_are_not_placed_leave_nothing() {
    let folder = tempdir().unwrap();
    drop(complete(&folder.path().join("a"), "new"));
    assert_eq!(contents(&folder), []);
}

/// Whichever it is: the ones before it are undone, the ones after it not begun.
#[test]
fn one_that_cannot_be_placed_undoes_the_others() {
    let names = ["a", "b", "c", "d"];
    for bad in 0..names.len() {
        let folder = tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for old in ["a", "c"] {
            fs::write(at(old), "old").unwrap();
        }
        let files = names.map(|name| complete(&at(name), "new"));
        // A folder comes in the way of a file that was complete.
        let _ = fs::remove_file(at(names[bad]));
        fs::create_dir(at(names[bad])).unwrap();
        let mut before = contents(&folder);
        before.retain(|(name, _)| !name.starts_with('.'));
        let (number, _) = place_all(files).unwrap_err();
        assert_eq!(number, bad);
        assert_eq!(contents(&folder), before);
    }
}

#[test]
fn a_place_whose_folder_has_gone_undoes_the_others() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("a"), "old").unwrap();
    let files = [complete(&at("a"), "new"), complete(&at("sub/b"), "new"), complete(&at("c"), "new")];
    fs::remove_dir_all(at("sub")).unwrap();
    let (number, error) = place_all(files).unwrap_err();
    assert_eq!((number, error.kind()), (1, std::io::ErrorKind::NotFound));
    assert_eq!(contents(&folder), held(&[("a", "old")]));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_yet_stays_and_then_leads_to_the_file() {
    use std::os::unix::fs::symlink;
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    symlink("sub/link", at("a")).unwrap();
    symlink("../file", at("sub/link")).unwrap();
    place_all([complete(&at("a"), "new")]).unwrap();
    assert!(fs::symlink_metadata(at("a")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "new");
    assert_eq!(real_place(&at("a")), real_place(&at("file")));
    // A link to itself leads nowhere, ever.
    symlink("loop", at("loop")).unwrap();
    assert!(WholeFile::new(&at("loop")).is_err());
}

#[test]
fn places_are_whole_paths_whether_or_not_there_is_a_file() {
    let folder = tempdir().unwrap();
    let (there, not_there) = (folder.path().join("there"), folder.path().join("not there"));
    fs::write(&there, "").unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    assert_eq!(real_place(&there), real.join("there"));
    assert_eq!(real_place(&not_there), real.join("not there"));
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(".", &link).unwrap();
        assert_eq!(real_place(&link.join("there")), real.join("there"));
        assert_eq!(real_place(&link.join("not there")), real.join("not there"));
    }
    assert_eq!(real_place(&folder.path().join("no folder/file")), folder.path().join("no folder/file"));
}

/// Devices cannot be replaced, and so are written to directly.
#[cfg(unix)]
#[test]
fn only_what_is_no_file_is_written_in_place() {
    assert!(WholeFile::new(Path::new("/dev/null")).unwrap().is_in_place());
    let folder = tempdir().unwrap();
    let path = folder.path().join("file");
    assert!(!WholeFile::new(&path).unwrap().is_in_place());
    fs::write(&path, "old").unwrap();
    assert!(!WholeFile::new(&path).unwrap().is_in_place());
}

/// Who finds a file that was left behind can tell whose it was.
#[test]
fn what_is_being_written_tells_whose_it_is() {
    let folder = tempdir().unwrap();
    let _writing = WholeFile::new(&folder.path().join("file")).unwrap();
    let names = contents(&folder);
    assert!(matches!(&names[..], [(name, _)] if name.starts_with(".unishape-")), "{names:?}");
}
