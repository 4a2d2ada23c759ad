//! Finds the shared libraries of CUDA where users have them.
//!
//! In this order: already loaded by the process, as PyTorch does; `nvidia-*` packages of pip; conda; the CUDA toolkit;
//! wherever the dynamic loader finds libraries.

#![allow(unsafe_code)]

use crate::error::Error;
use libloading::Library;
use std::path::{Path, PathBuf};

/// Names of NVRTC on Linux, newest first.
const NVRTC: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Folders of NVRTC below the `site-packages` of Python.
const IN_SITE_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// Environment variables with the root folder of a CUDA toolkit, or of an environment with one.
const ROOTS: [&str; 3] = ["CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"];

/// Loads NVRTC. `site_packages` are folders in which Python packages are installed.
pub(crate) fn load_nvrtc(site_packages: &[PathBuf]) -> Result<Library, Error> {
    if let Some(library) = NVRTC.iter().find_map(|name| already_loaded(name)) {
        return Ok(library);
    }
    let mut folders: Vec<PathBuf> =
        site_packages.iter().flat_map(|folder| IN_SITE_PACKAGES.map(|below| folder.join(below))).collect();
    for root in ROOTS.iter().filter_map(std::env::var_os).map(PathBuf::from) {
        folders.extend(["lib64", "lib"].map(|below| root.join(below)));
    }
    folders.push("/usr/local/cuda/lib64".into());
    let in_folders = folders.iter().flat_map(|folder| NVRTC.map(|name| folder.join(name)));
    let by_name = NVRTC.iter().map(PathBuf::from);
    let mut problems = Vec::new();
    for path in in_folders.filter(|path| path.exists()).chain(by_name) {
        match load(&path) {
            Ok(library) => return Ok(library),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    let folders = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(Error::NoLibrary { names: NVRTC.map(str::to_owned).to_vec(), folders, problems })
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
