//! Every public item of the crates that people add has documentation with an example that runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// What a line declares, if it is a public item that can have an example. Methods of a trait are
/// public with it, and have no `pub` of their own.
fn item(line: &str, in_trait: bool) -> Option<&str> {
    let line = line.trim_start();
    let rest = match line.strip_prefix("pub ") {
        Some(rest) => rest,
        None if in_trait && line.starts_with("fn ") => line,
        None => return None,
    };
    let kinds = ["fn ", "const fn ", "const ", "struct ", "enum ", "trait ", "type "];
    kinds.iter().find_map(|kind| rest.strip_prefix(kind))
}

#[test]
fn every_public_item_has_an_example() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut without = Vec::new();
    let mut items = 0;
    let folders = ["core/src", "kernels/src", "vecmath/src", "unishape/src", "npy/src", "explain/src"];
    for file in folders.iter().flat_map(|folder| sources(&crates.join(folder))) {
        let text = fs::read_to_string(&file).unwrap();
        let mut documentation = String::new();
        let (mut hidden, mut in_trait) = (false, false);
        for line in text.lines() {
            if line.starts_with("pub trait ") {
                in_trait = true;
            } else if line == "}" {
                in_trait = false;
            }
            let trimmed = line.trim_start();
            if let Some(words) = trimmed.strip_prefix("///") {
                documentation.push_str(words);
            } else if trimmed.starts_with("#[") {
                // Sealed traits and what rustdoc does not show need no example.
                hidden |= trimmed.contains("doc(hidden)");
            } else {
                if let Some(name) = item(line, in_trait && !line.starts_with("pub trait ")) {
                    items += 1;
                    if !hidden && name != "Sealed {}" && !documentation.contains("```") {
                        without.push(format!("{}: {name}", file.display()));
                    }
                }
                documentation.clear();
                hidden = false;
            }
        }
    }
    assert!(items > 80, "only {items} public items were found");
    assert!(without.is_empty(), "no example on {} items:\n{}", without.len(), without.join("\n"));
}
