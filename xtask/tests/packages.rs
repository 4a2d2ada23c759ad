//! Every published crate has what a registry shows of it, and packages have what they need and no more.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;
use support::{metadata, root};

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
