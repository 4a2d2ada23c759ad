//! Every public item of the published libraries has documentation with an example that runs.

mod support;

use std::fs;
use support::{packages, rust_files};

/// Published libraries without examples on every item: ONNX, the parts of the engine that users do not call, and GPUs, whose
/// examples do not run without one.
const EXEMPT: [&str; 5] =
    ["unishape-onnx", "unishape-engine", "unishape-jit", "unishape-simd", "unishape-cuda"];

/// The declaration in a line, if it is a public item that can have an example. Methods of a public trait are
/// public without `pub`.
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
    let mut without = Vec::new();
    let mut items = 0;
    let libraries = packages().into_iter().filter(|package| {
        package.is_published && package.is_library && !EXEMPT.contains(&package.name.as_str())
    });
    for file in libraries.flat_map(|package| rust_files(package.root.parent().unwrap())) {
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
            if let Some(line) = trimmed.strip_prefix("///") {
                documentation.push_str(line);
            } else if trimmed.starts_with("#[") {
                // Sealed traits and items that rustdoc hides need no example.
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
    assert!(without.is_empty(), "{} items have no example:\n{}", without.len(), without.join("\n"));
}
