//! Unique file names of results.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};

/// The file name of each result: the name of its input, made unique by a number.
///
/// The second and further inputs of one name are numbered: `a.npy`, `a-1.npy`, `a-2.npy`. Names in an archive
/// are valid UTF-8.
pub(crate) fn output_file_names(
    stems: impl IntoIterator<Item = OsString>,
    in_archive: bool,
) -> Vec<OsString> {
    let stems: Vec<OsString> = stems.into_iter().map(|stem| stem_for(stem, in_archive)).collect();
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

/// A name that is valid in an archive. In a directory, names that are not UTF-8 are kept.
fn stem_for(stem: OsString, in_archive: bool) -> OsString {
    if in_archive { stem.to_string_lossy().into_owned().into() } else { stem }
}

/// Equal for names of the same file, also on file systems that ignore case.
fn key(name: &OsStr, in_archive: bool) -> OsString {
    let case_sensitive = in_archive || !cfg!(any(windows, target_os = "macos"));
    if case_sensitive { name.into() } else { name.to_string_lossy().to_lowercase().into() }
}

#[cfg(test)]
mod tests {
    use super::output_file_names;

    fn names(inputs: &[&str]) -> Vec<String> {
        output_file_names(inputs.iter().map(Into::into), false)
            .into_iter()
            .map(|name| name.into_string().unwrap_or_default())
            .collect()
    }

    #[test]
    fn inputs_with_the_same_name_are_numbered() {
        assert_eq!(names(&["a", "a", "a", "b"]), ["a.npy", "a-1.npy", "a-2.npy", "b.npy"]);
    }

    #[test]
    fn numbers_that_give_the_name_of_another_input_are_skipped() {
        assert_eq!(names(&["a", "a", "a-1"]), ["a.npy", "a-2.npy", "a-1.npy"]);
        assert_eq!(
            names(&["a-1", "a-1", "a", "a", "a-1-1"]),
            ["a-1.npy", "a-1-2.npy", "a.npy", "a-2.npy", "a-1-1.npy"]
        );
    }
}
