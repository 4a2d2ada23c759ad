//! The packages of the workspace, as `cargo metadata` reports them.

use crate::command::{cargo, output};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The root of the workspace.
    pub(crate) workspace: PathBuf,
    /// The folder of its manifest.
    pub(crate) folder: PathBuf,
    /// The root file of its library, or of its program if it has no library.
    pub(crate) root_file: PathBuf,
    /// Whether it is published; internal packages (test oracles, fuzz targets, this program) are not.
    pub(crate) published: bool,
}

impl Package {
    /// The path of a file or folder of the package below the root of the workspace.
    pub(crate) fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.workspace).unwrap_or(path)
    }
}

/// All packages of the workspace, in order of their names.
pub(crate) fn packages() -> Result<Vec<Package>, String> {
    let metadata = output("cargo metadata", cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let workspace = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut packages: Vec<Package> = packages.filter_map(|of| package(of, workspace)).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// The package of this name.
pub(crate) fn package_named(name: &str) -> Result<Package, String> {
    packages()?
        .into_iter()
        .find(|package| package.name == name)
        .ok_or_else(|| format!("the workspace has no package '{name}'"))
}

fn package(of: &Value, workspace: &Path) -> Option<Package> {
    let targets = of["targets"].as_array()?;
    let of_kind = |kind: &str| targets.iter().find(|target| target["kind"][0] == kind);
    let target = of_kind("lib").or_else(|| of_kind("cdylib")).or_else(|| of_kind("bin"))?;
    Some(Package {
        name: of["name"].as_str()?.to_owned(),
        version: of["version"].as_str()?.to_owned(),
        workspace: workspace.to_owned(),
        folder: PathBuf::from(of["manifest_path"].as_str()?).parent()?.to_owned(),
        root_file: target["src_path"].as_str()?.into(),
        // `publish = false` is an empty list of registries.
        published: of["publish"].is_null(),
    })
}

#[cfg(test)]
mod tests {
    use super::{package_named, packages};

    #[test]
    fn packages_of_the_workspace_are_listed() {
        let core = package_named("unishape-core").unwrap();
        assert!(core.published && core.root_file.starts_with(&core.folder) && core.root_file.is_file());
        assert_eq!(core.relative(&core.root_file), "crates/core/src/lib.rs");
        let internal = packages().unwrap();
        assert!(internal.iter().any(|package| package.name == "xtask" && !package.published));
        assert!(package_named("no-such-package").is_err());
    }
}
