//! The Python package: installs it with pip and runs its tests.

use crate::command::{command, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Test modules that compare results with NumPy's and ONNX Runtime's.
const COMPILED: [&str; 7] = [
    "test_evaluate",
    "test_lazy",
    "test_reductions",
    "test_numpy_suite",
    "test_small_arrays",
    "test_onnx_backend",
    "test_onnx_corpus",
];

/// Installs the package into `.venv` and runs its tests. Without Python, returns what was skipped; in CI that
/// is an error.
pub(crate) fn test(python: Option<&Path>) -> Result<Option<&'static str>, String> {
    let Some(python) = python else {
        return match std::env::var_os("CI") {
            Some(_) => Err("the Python package cannot be tested without Python 3 and its packages".into()),
            None => Ok(Some("the Python package")),
        };
    };
    let mut install = install(python)?;
    // With the settings of the test profile, most crates are already built. maturin cannot select that
    // profile: it calls `cargo rustc`, where `--profile test` builds unit tests.
    install.env("MATURIN_PEP517_ARGS", "--profile dev").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    run("installation of the Python package", install)?;
    run("tests of the Python package", command(python, &["-m", "pytest", "--quiet"]))?;
    // Small arrays too, and in the first call: otherwise few tests would reach compiled kernels.
    let mut compiled = command(python, &["-m", "pytest", "--quiet"]);
    compiled.env("UNISHAPE_JIT", "always").args(COMPILED.map(|name| format!("python/tests/{name}.py")));
    run("tests of the Python package, with compiled kernels", compiled)?;
    let report = command(python, &["-m", "unittest", "discover", "--quiet", "-s", "bench/python"]);
    run("tests of the benchmark's report", report)?;
    Ok(None)
}

/// The interpreter of the environment in a folder.
pub(crate) fn interpreter(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// `pip install` for an environment.
pub(crate) fn pip_install(python: &Path) -> Command {
    command(python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
}

/// Installs the package into an environment that has its build requirements.
pub(crate) fn install(python: &Path) -> Result<Command, String> {
    let mut install = pip_install(python);
    install.args(["--no-build-isolation", "--no-deps", "--force-reinstall", "."]);
    if let Some(folder) = python.parent() {
        // The folder of maturin.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        install.env("PATH", std::env::join_paths(folders).map_err(|error| error.to_string())?);
    }
    Ok(install)
}
