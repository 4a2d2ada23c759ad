//! The Python package: installed as its users install it, then tested by its own tests.

use crate::command::{command, run};
use crate::tools::Tools;

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
    let mut install = command(python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // What it builds with is there already; so is most of what it is built of, from the other tests.
    install.args(["--no-build-isolation", "--no-deps", "--force-reinstall", "."]);
    install.env("MATURIN_PEP517_ARGS", "--profile dev");
    if let Some(folder) = python.parent() {
        // Where maturin is.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        install.env("PATH", std::env::join_paths(folders).map_err(|error| error.to_string())?);
    }
    run("the Python package, installed", install)?;
    run("the Python package, tested", command(python, &["-m", "pytest", "--quiet"]))?;
    Ok(None)
}
