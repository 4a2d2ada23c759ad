//! Helpers of the tests of documents and sources.
#![allow(dead_code, reason = "each test uses a part")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The texts in backticks.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The cells of a table row in Markdown.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(str::trim).collect()
}

/// All Rust files below a folder, without build outputs.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The root file of its library, or of its program if it has no library.
    pub(crate) root: PathBuf,
    pub(crate) is_library: bool,
    pub(crate) is_published: bool,
    /// The folders of the workspace packages that it depends on, except for tests.
    pub(crate) dependencies: Vec<PathBuf>,
}

/// What cargo knows of the packages of the workspace.
pub(crate) fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&metadata.stdout).unwrap()
}

/// All packages of the workspace.
pub(crate) fn packages() -> Vec<Package> {
    metadata()["packages"].as_array().unwrap().iter().map(package).collect()
}

fn package(metadata: &Value) -> Package {
    let path = |value: &Value| PathBuf::from(value.as_str().unwrap());
    let targets = metadata["targets"].as_array().unwrap();
    let of_kind = |kind: &str| targets.iter().find(|target| target["kind"][0] == kind);
    let library = of_kind("lib").or_else(|| of_kind("cdylib"));
    let dependencies = metadata["dependencies"].as_array().unwrap().iter();
    Package {
        name: metadata["name"].as_str().unwrap().to_owned(),
        folder: path(&metadata["manifest_path"]).parent().unwrap().to_owned(),
        root: path(&library.or_else(|| of_kind("bin")).unwrap()["src_path"]),
        is_library: library.is_some(),
        is_published: metadata["publish"].is_null(),
        dependencies: dependencies
            .filter(|dependency| dependency["kind"] != "dev" && dependency["path"].is_string())
            .map(|dependency| path(&dependency["path"]))
            .collect(),
    }
}
