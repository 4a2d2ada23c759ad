//! What the results of `broadcast` are called.

use crate::input::has_ending;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The names of the files that results go to, no two alike: each input's own, and where inputs share
/// one, numbered from the second on: `a.npy`, `a-1.npy`, `a-2.npy`. In an archive names are text.
pub(crate) fn result_names<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    in_archive: bool,
) -> Vec<OsString> {
    let stems: Vec<OsString> = inputs.into_iter().map(|path| stem(path, in_archive)).collect();
    // What is some input's own name is given to no other, also if that input comes later.
    let own: HashSet<OsString> = stems.iter().map(|stem| key(stem, in_archive)).collect();
    let mut taken: HashSet<OsString> = HashSet::new();
    // The number to try next, so that a thousand inputs of one name do not try a thousand each.
    let mut numbers: HashMap<OsString, usize> = HashMap::new();
    let mut names = Vec::new();
    for stem in stems {
        let its_key = key(&stem, in_archive);
        let mut name = stem.clone();
        if !taken.insert(its_key.clone()) {
            let number = numbers.entry(its_key).or_insert(1);
            name = loop {
                let mut numbered = stem.clone();
                numbered.push(format!("-{number}"));
                *number += 1;
                let numbered_key = key(&numbered, in_archive);
                if !own.contains(&numbered_key) && taken.insert(numbered_key) {
                    break numbered;
                }
            };
        }
        name.push(".npy");
        names.push(name);
    }
    names
}

/// An input's name without its ending. Only .npy is an ending of ours: data.v1 and data.v2 stay two
/// names.
fn stem(path: &Path, in_archive: bool) -> OsString {
    let stem = if has_ending(path, "npy") { path.file_stem() } else { path.file_name() };
    let stem = stem.unwrap_or(path.as_os_str());
    match in_archive {
        true => stem.to_string_lossy().into_owned().into(),
        // To the byte, also where it is no text.
        false => stem.into(),
    }
}

/// What is equal for names of the same file: there, capitals make no difference.
fn key(name: &OsStr, in_archive: bool) -> OsString {
    let capitals_differ = in_archive || !cfg!(any(windows, target_os = "macos"));
    if capitals_differ { name.into() } else { name.to_string_lossy().to_lowercase().into() }
}

#[cfg(test)]
mod tests {
    use super::result_names;
    use std::path::Path;

    fn names(inputs: &[&str]) -> Vec<String> {
        let inputs = inputs.iter().map(Path::new);
        result_names(inputs, false).into_iter().map(|name| name.into_string().unwrap_or_default()).collect()
    }

    #[test]
    fn inputs_of_one_name_are_numbered() {
        assert_eq!(names(&["x/a.npy", "y/a.npy", "a.npy", "b"]), ["a.npy", "a-1.npy", "a-2.npy", "b.npy"]);
        assert_eq!(names(&["a", "a.NPY", "a.npy"]), ["a.npy", "a-1.npy", "a-2.npy"]);
    }

    #[test]
    fn a_number_that_makes_another_inputs_own_name_is_skipped() {
        assert_eq!(names(&["a.npy", "a.npy", "a-1.npy"]), ["a.npy", "a-2.npy", "a-1.npy"]);
        assert_eq!(
            names(&["a-1.npy", "a-1.npy", "a.npy", "a.npy", "a-1-1.npy"]),
            ["a-1.npy", "a-1-2.npy", "a.npy", "a-2.npy", "a-1-1.npy"]
        );
    }
}
