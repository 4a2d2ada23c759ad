//! Finds the shared libraries of CUDA where users have them.
//!
//! In this order: already loaded by the process, as PyTorch does; `nvidia-*` packages of pip; the environment of these
//! packages, as of conda; the CUDA toolkit; wherever the dynamic loader finds libraries.

#![allow(unsafe_code)]

use crate::error::Error;
use libloading::Library;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Names of NVRTC on Linux, with the versions of CUDA that they are of, newest first.
const NVRTC: [(i32, &str); 2] = [(13, "libnvrtc.so.13"), (12, "libnvrtc.so.12")];

/// Folders of NVRTC below the `site-packages` of Python.
const IN_SITE_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// Environment variables with the root folder of a CUDA toolkit, or of an environment with one.
const ROOTS: [&str; 3] = ["CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"];

/// Loads NVRTC. `site_packages` are folders in which Python packages are installed, `driver` is the newest version of
/// CUDA that the driver supports.
///
/// Libraries of newer versions come last: their machine code may be unknown to the driver.
pub(crate) fn load_nvrtc(site_packages: &[PathBuf], driver: Option<i32>) -> Result<Library, Error> {
    let folders = folders(site_packages);
    let mut problems = Vec::new();
    let is_supported = |version: i32| driver.is_none_or(|driver| version <= driver);
    for is_wanted in [true, false] {
        let names = NVRTC.iter().filter(|(version, _)| is_supported(*version) == is_wanted);
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        if let Some(library) = names.iter().find_map(|name| already_loaded(name)) {
            return Ok(library);
        }
        let in_folders = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        let by_name = names.iter().map(PathBuf::from);
        for path in in_folders.filter(|path| path.exists()).chain(by_name) {
            match load(&path) {
                Ok(library) => return Ok(library),
                Err(problem) => problems.push(problem.to_string()),
            }
        }
    }
    // That the system has none is not a problem of a file.
    problems.retain(|problem| !NVRTC.iter().any(|(_, name)| problem.starts_with(name)));
    let package = match driver {
        Some(..13) => "nvidia-cuda-nvrtc-cu12",
        _ => "nvidia-cuda-nvrtc",
    };
    Err(Error::NoLibrary {
        names: NVRTC.map(|(_, name)| name.to_owned()).to_vec(),
        folders: folders.iter().map(|folder| folder.display().to_string()).collect(),
        problems,
        advice: Some(format!("install NVRTC, CUDA's compiler: pip install {package}")),
    })
}

/// Where NVRTC may be, besides the folders of the dynamic loader.
fn folders(site_packages: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        site_packages.iter().flat_map(|folder| IN_SITE_PACKAGES.map(|below| folder.join(below))).collect();
    // The libraries of a conda environment, which need not be activated: `lib/python3.12/site-packages` is below them.
    let above = site_packages.iter().filter_map(|folder| folder.ancestors().nth(2));
    folders.extend(above.filter(|folder| folder.ends_with("lib")).map(Path::to_owned));
    for root in ROOTS.iter().filter_map(std::env::var_os).map(PathBuf::from) {
        folders.extend(["lib64", "lib"].map(|below| root.join(below)));
    }
    folders.push("/usr/local/cuda/lib64".into());
    let mut known = HashSet::new();
    folders.retain(|folder| known.insert(folder.clone()));
    folders
}

/// A library that the process has loaded already.
#[cfg(unix)]
fn already_loaded(name: &str) -> Option<Library> {
    use libloading::os::unix::{Library as Unix, RTLD_LAZY};
    /// Finds libraries that are loaded, and loads none.
    const RTLD_NOLOAD: std::ffi::c_int = 4;
    // Safety: nothing is loaded, so no initializer runs.
    unsafe { Unix::open(Some(name), RTLD_LAZY | RTLD_NOLOAD) }.ok().map(Library::from)
}

#[cfg(not(unix))]
fn already_loaded(_: &str) -> Option<Library> {
    None
}

fn load(path: &Path) -> Result<Library, libloading::Error> {
    // Safety: initializers of NVIDIA's libraries have no preconditions.
    unsafe { Library::new(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_of_wheels_and_environments() {
        let found = folders(&["/env/lib/python3.12/site-packages".into(), "/packages".into()]);
        let expected = [
            "/env/lib/python3.12/site-packages/nvidia/cu13/lib",
            "/env/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib",
            "/packages/nvidia/cu13/lib",
            "/packages/nvidia/cuda_nvrtc/lib",
            "/env/lib",
        ];
        assert_eq!(found[..5], expected.map(PathBuf::from));
        assert!(found.contains(&"/usr/local/cuda/lib64".into()));
    }
}
