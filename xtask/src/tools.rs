//! Programs that the tests require besides Rust, installed where they are missing.
//!
//! If a program cannot be installed (no root privileges, no network), the tests that require it are skipped
//! and say so; in CI they fail.

use crate::command::{cargo, command, root, run, succeeds};
use crate::install::apt_install;
use crate::{extract, python};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Executable names of Chromium.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Python packages for the tests.
const PACKAGES: &str = "xtask/python-packages.txt";

/// The programs for the tests.
pub(crate) struct Tools {
    browser: Option<String>,
    python: Option<PathBuf>,
    proven: Option<PathBuf>,
}

impl Tools {
    /// The checks that are skipped because a program is missing.
    pub(crate) fn skipped(&self) -> Vec<&'static str> {
        let browser = self.browser.is_none().then_some("pages in a browser");
        let python = self.python.is_none().then_some("comparison with NumPy");
        let proven = self.proven.is_none().then_some("comparison with the proven programs");
        browser.into_iter().chain(python).chain(proven).collect()
    }

    /// The Python of the environment in `.venv`.
    pub(crate) fn python(&self) -> Option<&Path> {
        self.python.as_deref()
    }

    /// Sets the variables by which the tests find the programs.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        if let Some(browser) = &self.browser {
            command.env("UNISHAPE_BROWSER", browser);
        }
        if let Some(python) = &self.python {
            command.env("UNISHAPE_PYTHON", python);
        }
        if let Some(proven) = &self.proven {
            command.env("UNISHAPE_PROVEN_C", proven);
        }
    }
}

/// Finds or installs the programs for the tests.
pub(crate) fn set_up() -> Result<Tools, String> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let found = || succeeds(cargo(&[subcommand, "--version"]));
        if !found() {
            let add = command("rustup", &["component", "add", component]);
            let _ = run(&format!("installing {component}"), add);
        }
        if !found() {
            return Err(format!("{component} is missing, and rustup cannot add it"));
        }
    }
    Ok(Tools { browser: browser(), python: environment(), proven: extract::set_up()? })
}

/// The executable of a browser, installed if it is missing.
pub(crate) fn browser() -> Option<String> {
    let find = || {
        let chosen = std::env::var("UNISHAPE_BROWSER").ok();
        let known = BROWSERS.iter().map(ToString::to_string);
        chosen.into_iter().chain(known).find(|name| succeeds(command(name, &["--version"])))
    };
    let found =
        find().or_else(|| if apt_install(&["chromium", "fonts-dejavu-core"]) { find() } else { None });
    if found.is_none() {
        eprintln!("no browser: install Chromium to test the pages of explanations");
    }
    found
}

fn environment() -> Option<PathBuf> {
    let folder = root().join(".venv");
    let python = python::interpreter(&folder);
    let create = || succeeds(command("python3", &["-m", "venv", ".venv"]));
    // Debian's python3 lacks venv.
    let found = succeeds(command(&python, &["-m", "pip", "--version"]))
        || create()
        || (apt_install(&["python3", "python3-venv"]) && create());
    if !found {
        eprintln!("no Python environment: install Python 3 with venv to compare with NumPy");
        return None;
    }
    let mut install = python::pip_install(&python);
    install.args(["--requirement", PACKAGES]);
    match run("Python packages", install) {
        Ok(()) => Some(python),
        Err(error) => {
            eprintln!("{error}; the comparison with NumPy is skipped");
            None
        }
    }
}
