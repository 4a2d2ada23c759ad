//! Unique file names of results.

use crate::paths::has_extension;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The file name of each result: that of its input, made unique by a number.
///
/// The second and further inputs of one name are numbered: `a.npy`, `a-1.npy`, `a-2.npy`. Names in an archive
/// are valid UTF-8.
pub(crate) fn output_file_names<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    in_archive: bool,
) -> Vec<OsString> {
    let stems: Vec<OsString> = inputs.into_iter().map(|path| stem(path, in_archive)).collect();
    // A numbered name must not be the name of another input, also if that comes later.
    let own_names: HashSet<OsString> = stems.iter().map(|stem| key(stem, in_archive)).collect();
    let mut used: HashSet<OsString> = HashSet::new();
    // The next number to try for a name, so that many inputs of one name take linear time.
    let mut next_number: HashMap<OsString, usize> = HashMap::new();
    let mut names = Vec::new();
    for stem in stems {
        let stem_key = key(&stem, in_archive);
        let mut name = stem.clone();
        if !used.insert(stem_key.clone()) {
            let number = next_number.entry(stem_key).or_insert(1);
            name = loop {
                let mut numbered = stem.clone();
                numbered.push(format!("-{number}"));
                *number += 1;
                let numbered_key = key(&numbered, in_archive);
                if !own_names.contains(&numbered_key) && used.insert(numbered_key) {
                    break numbered;
                }
            };
        }
        name.push(".npy");
        names.push(name);
    }
    names
}

/// A file name without the extension `.npy`. Others stay, so that `data.v1` and `data.v2` differ.
fn stem(path: &Path, in_archive: bool) -> OsString {
    let stem = if has_extension(path, "npy") { path.file_stem() } else { path.file_name() };
    let stem = stem.unwrap_or(path.as_os_str());
    match in_archive {
        true => stem.to_string_lossy().into_owned().into(),
        // Keeps names that are not UTF-8.
        false => stem.into(),
    }
}

/// Equal for names of the same file, also on file systems that ignore case.
fn key(name: &OsStr, in_archive: bool) -> OsString {
    let case_sensitive = in_archive || !cfg!(any(windows, target_os = "macos"));
    if case_sensitive { name.into() } else { name.to_string_lossy().to_lowercase().into() }
}

#[cfg(test)]
mod tests {
    use super::output_file_names;
    use std::path::Path;

    fn names(inputs: &[&str]) -> Vec<String> {
        let inputs = inputs.iter().map(Path::new);
        output_file_names(inputs, false)
            .into_iter()
            .map(|name| name.into_string().unwrap_or_default())
            .collect()
    }

    #[test]
    fn inputs_with_the_same_name_are_numbered() {
        assert_eq!(names(&["x/a.npy", "y/a.npy", "a.npy", "b"]), ["a.npy", "a-1.npy", "a-2.npy", "b.npy"]);
        assert_eq!(names(&["a", "a.NPY", "a.npy"]), ["a.npy", "a-1.npy", "a-2.npy"]);
    }

    #[test]
    fn numbers_that_give_the_name_of_another_input_are_skipped() {
        assert_eq!(names(&["a.npy", "a.npy", "a-1.npy"]), ["a.npy", "a-2.npy", "a-1.npy"]);
        assert_eq!(
            names(&["a-1.npy", "a-1.npy", "a.npy", "a.npy", "a-1-1.npy"]),
            ["a-1.npy", "a-1-2.npy", "a.npy", "a-2.npy", "a-1-1.npy"]
        );
    }
}
