//! Every public item of the published libraries has documentation with an example that runs, and every verb of `unishape`
//! says when it panics.

mod support;

use std::fs;
use std::path::Path;
use support::{packages, rust_files};

/// Published libraries without examples on every item: ONNX, the parts of the engine that users do not call, and GPUs, whose
/// examples do not run without one.
const EXEMPT: [&str; 5] =
    ["unishape-onnx", "unishape-engine", "unishape-jit", "unishape-simd", "unishape-cuda"];

/// A public item that can have an example.
struct Item {
    /// Its declaration, after `pub` and the kind of item.
    name: String,
    documentation: String,
    /// Whether it is a function outside of `impl` blocks, or a method of a public trait.
    is_verb: bool,
    /// Whether rustdoc hides it.
    is_hidden: bool,
}

/// The kind and the declaration in a line, if it is a public item that can have an example. Methods of a public trait are
/// public without `pub`.
fn declaration(line: &str, in_trait: bool) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let rest = match line.strip_prefix("pub ") {
        Some(rest) => rest,
        None if in_trait && line.starts_with("fn ") => line,
        None => return None,
    };
    let kinds = ["fn ", "const fn ", "unsafe fn ", "const ", "struct ", "enum ", "trait ", "type "];
    kinds.iter().find_map(|kind| Some((*kind, rest.strip_prefix(kind)?)))
}

fn items(file: &Path) -> Vec<Item> {
    let text = fs::read_to_string(file).unwrap();
    let mut items = Vec::new();
    let mut documentation = String::new();
    let (mut is_hidden, mut in_trait) = (false, false);
    for line in text.lines() {
        if line.starts_with("pub trait ") {
            in_trait = true;
        } else if line == "}" {
            in_trait = false;
        }
        let trimmed = line.trim_start();
        if let Some(line) = trimmed.strip_prefix("///") {
            documentation.push_str(line);
        } else if trimmed.starts_with("#[") {
            is_hidden |= trimmed.contains("doc(hidden)");
        } else {
            let documentation = std::mem::take(&mut documentation);
            if let Some((kind, name)) = declaration(line, in_trait && !line.starts_with("pub trait ")) {
                let is_verb = kind == "fn " && (in_trait || !line.starts_with(' '));
                items.push(Item { name: name.to_owned(), documentation, is_verb, is_hidden });
            }
            is_hidden = false;
        }
    }
    items
}

#[test]
fn every_public_item_has_an_example() {
    let mut without = Vec::new();
    let mut count = 0;
    let libraries = packages().into_iter().filter(|package| {
        package.is_published && package.is_library && !EXEMPT.contains(&package.name.as_str())
    });
    for file in libraries.flat_map(|package| rust_files(package.root.parent().unwrap())) {
        for Item { name, documentation, is_hidden, .. } in items(&file) {
            count += 1;
            // Sealed traits need no example.
            if !is_hidden && name != "Sealed {}" && !documentation.contains("```") {
                without.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(count > 80, "only {count} public items were found");
    assert!(without.is_empty(), "{} items have no example:\n{}", without.len(), without.join("\n"));
}

#[test]
fn every_verb_says_when_it_panics() {
    let package = packages().into_iter().find(|package| package.name == "unishape").unwrap();
    let folder = package.root.parent().unwrap();
    let mut without = Vec::new();
    let mut count = 0;
    for file in rust_files(folder).iter().filter(|file| file.parent() == Some(folder)) {
        for Item { name, documentation, .. } in items(file).iter().filter(|item| item.is_verb) {
            if documentation.contains("# Errors") {
                count += 1;
                if !documentation.contains("# Panics") {
                    without.push(format!("{}: {name}", file.display()));
                }
            }
        }
    }
    assert!(count > 20, "only {count} verbs were found");
    assert!(without.is_empty(), "no section 'Panics':\n{}", without.join("\n"));
}
