//! The Python package: installed as its users install it, then tested by its own tests.

use crate::command::{command, run};
use crate::tools::Tools;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs the package into the project's own environment and runs its tests. Gives what was left out for want
/// of Python; in CI that is a failure.
pub(crate) fn test(tools: &Tools) -> Result<Option<&'static str>, String> {
    let what = "the Python package";
    let Some(python) = tools.python() else {
        return match std::env::var_os("CI") {
            Some(_) => Err(format!("{what} cannot be tested without Python 3 and its packages")),
            None => Ok(Some(what)),
        };
    };
    let mut install = install(python)?;
    // Most of what it is built of is there from the other tests.
    install.env("MATURIN_PEP517_ARGS", "--profile dev");
    run("the Python package, installed", install)?;
    run("the Python package, tested", command(python, &["-m", "pytest", "--quiet"]))?;
    Ok(None)
}

/// The interpreter of an environment in a folder.
pub(crate) fn within(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Installs something into an environment.
pub(crate) fn pip_install(python: &Path) -> Command {
    command(python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
}

/// Installs the package into an environment that has what it is built with.
pub(crate) fn install(python: &Path) -> Result<Command, String> {
    let mut install = pip_install(python);
    install.args(["--no-build-isolation", "--no-deps", "--force-reinstall", "."]);
    if let Some(folder) = python.parent() {
        // Where maturin is.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        install.env("PATH", std::env::join_paths(folders).map_err(|error| error.to_string())?);
    }
    Ok(install)
}
