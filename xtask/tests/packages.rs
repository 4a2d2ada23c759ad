//! Every published crate has what a registry shows of it, and packages have what they need and no more.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{cells, metadata, packages, quoted, root, rust_files};

/// Packages of the workspace that are never published: tests, examples, tools, a part of the site, and the extension
/// module of Python.
const INTERNAL: [&str; 8] = [
    "unishape-examples",
    "unishape-exported",
    "unishape-fuzz",
    "unishape-oracle",
    "unishape-playground",
    "unishape-proven",
    "unishape-python",
    "xtask",
];

#[test]
fn published_crates_describe_themselves() {
    let metadata = metadata();
    let mut published = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if INTERNAL.contains(&name) {
            assert_eq!(
                package["publish"].as_array().map(Vec::len),
                Some(0),
                "{name} has no `publish = false`"
            );
            continue;
        }
        published += 1;
        let text = |field: &str| package[field].as_str().unwrap_or_else(|| panic!("{name} has no {field}"));
        let description = text("description");
        assert!(description.ends_with('.') && description.len() <= 200, "{name}: {description}");
        for field in ["license", "repository", "rust_version"] {
            text(field);
        }
        assert_eq!(text("readme"), "README.md", "{name}");
        let words = package["keywords"].as_array().unwrap();
        assert!(
            words.len() == 5 && words.iter().all(|word| word.as_str().unwrap().len() <= 20),
            "{name}: {words:?}"
        );
        assert!((1..=5).contains(&package["categories"].as_array().unwrap().len()), "{name}");
        assert!(package["metadata"]["docs"]["rs"].is_object(), "{name} has no settings for docs.rs");
        // A dependency without a version cannot be published; development dependencies without one are left out.
        for dependency in package["dependencies"].as_array().unwrap() {
            let version = dependency["req"].as_str().unwrap();
            assert!(
                dependency["kind"] == "dev" || version != "*",
                "{name} depends on {}",
                dependency["name"]
            );
        }
    }
    assert!(published >= 15, "only {published} crates are published");
}

#[test]
fn packages_have_licences_and_sources_only() {
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if INTERNAL.contains(&name) {
            continue;
        }
        let mut list = Command::new(env!("CARGO"));
        list.args(["package", "--list", "--allow-dirty", "--offline", "--package", name]);
        let output = list.current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let list = String::from_utf8(output.stdout).unwrap();
        let files: Vec<String> = list.lines().map(|file| file.replace('\\', "/")).collect();
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"] {
            assert!(files.iter().any(|of| of == file), "the package of {name} has no {file}");
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let [own, whole] = [folder, &root()].map(|folder| fs::read(folder.join(licence)).unwrap());
            assert!(own == whole, "{licence} of {name} is not the text of the licence");
        }
        let expected = |file: &String| {
            let at_root = ["Cargo.", "LICENSE-", "README.md", ".cargo_vcs_info.json", "accuracy.md"];
            file.starts_with("src/") || at_root.iter().any(|start| file.starts_with(start))
        };
        let other: Vec<&String> = files.iter().filter(|file| !expected(file)).collect();
        assert!(other.is_empty(), "the package of {name} also has {other:?}");
    }
}

/// Published crates whose API may change with every release, except for what `unishape` re-exports.
const INTERNAL_API: [&str; 5] =
    ["unishape-cuda", "unishape-engine", "unishape-jit", "unishape-kernels", "unishape-simd"];

#[test]
fn enums_that_cannot_grow_are_documented() {
    let mut reexported = String::new();
    for file in rust_files(&root().join("crates/unishape/src")) {
        let text = fs::read_to_string(file).unwrap();
        let uses = text.split("pub use unishape_").skip(1).filter_map(|after| after.split_once(';'));
        reexported.extend(uses.map(|(names, _)| format!("{names} ")));
    }
    let reexported: BTreeSet<&str> = reexported.split(|c: char| !c.is_alphanumeric()).collect();
    let mut found = BTreeSet::new();
    for package in packages().into_iter().filter(|package| package.is_published) {
        let internal = INTERNAL_API.contains(&package.name.as_str());
        for file in rust_files(&package.folder.join("src")) {
            let text = fs::read_to_string(file).unwrap();
            for (before, after) in text.match_indices("pub enum ").map(|(at, _)| text.split_at(at)) {
                let name = after["pub enum ".len()..].split(|c: char| !c.is_alphanumeric()).next().unwrap();
                let attributes =
                    before.lines().rev().take_while(|line| !line.trim_start().starts_with("///"));
                let can_grow = attributes.take(4).any(|line| line.trim() == "#[non_exhaustive]");
                if !can_grow && (!internal || reexported.contains(name)) {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    let releasing = fs::read_to_string(root().join("docs/releasing.md")).unwrap();
    let (_, table) = releasing.split_once("| enums |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let documented: BTreeSet<String> = rows.flat_map(|row| quoted(cells(row)[0])).collect();
    assert_eq!(found, documented);
}
