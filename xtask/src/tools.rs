//! What the tests need beside Rust, set up where it is missing: a browser, a Python with NumPy, and the
//! proven programs in C.
//!
//! Where something cannot be had (no root to install a browser, no network), the tests that need it
//! say that they are skipped; in CI they fail.

use crate::command::{cargo, command, root, run, succeeds};
use crate::{extract, python};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names that Chromium goes by.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Python packages for the tests: the peers whose files and answers ours are compared with.
const PACKAGES: &str = "xtask/python-packages.txt";

/// What was found or set up.
pub(crate) struct Tools {
    browser: Option<String>,
    python: Option<PathBuf>,
    proven: Option<PathBuf>,
}

impl Tools {
    /// What could not be tested for want of them.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let browser = self.browser.is_none().then_some("the page in a browser");
        let python = self.python.is_none().then_some("files exchanged with NumPy");
        let proven = self.proven.is_none().then_some("the core beside the proven programs");
        browser.into_iter().chain(python).chain(proven).collect()
    }

    /// The Python of the project's own environment.
    pub(crate) fn python(&self) -> Option<&Path> {
        self.python.as_deref()
    }

    /// Tells a command where they are.
    pub(crate) fn hand_to(&self, command: &mut Command) {
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

/// Finds or installs everything.
pub(crate) fn set_up() -> Result<Tools, String> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let there = || succeeds(cargo(&[subcommand, "--version"]));
        if !there() {
            let add = command("rustup", &["component", "add", component]);
            let _ = run(&format!("installing {component}"), add);
        }
        if !there() {
            return Err(format!("{component} is missing, and rustup could not add it"));
        }
    }
    Ok(Tools { browser: browser(), python: environment(), proven: extract::set_up()? })
}

/// Debian packages, if this is a machine where we may install them.
pub(crate) fn apt_install(packages: &[&str]) -> bool {
    let root = command("id", &["-u"]).output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    if !root || !succeeds(command("apt-get", &["--version"])) {
        return false;
    }
    let what = format!("installing {}", packages.join(", "));
    let mut install = command("apt-get", &["install", "--yes", "--quiet", "--no-install-recommends"]);
    install.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    run("what can be installed", command("apt-get", &["update", "--quiet"]))
        .and_then(|()| run(&what, install))
        .is_ok()
}

fn browser() -> Option<String> {
    let find = || {
        let told = std::env::var("UNISHAPE_BROWSER").ok();
        let known = BROWSERS.iter().map(ToString::to_string);
        told.into_iter().chain(known).find(|name| succeeds(command(name, &["--version"])))
    };
    let found =
        find().or_else(|| if apt_install(&["chromium", "fonts-dejavu-core"]) { find() } else { None });
    if found.is_none() {
        eprintln!("no browser: install Chromium to have the explanations' pages tested");
    }
    found
}

fn environment() -> Option<PathBuf> {
    let folder = root().join(".venv");
    let python = python::within(&folder);
    let create = || succeeds(command("python3", &["-m", "venv", ".venv"]));
    // Debian's Python leaves out the part that makes environments.
    let there = succeeds(command(&python, &["-m", "pip", "--version"]))
        || create()
        || (apt_install(&["python3", "python3-venv"]) && create());
    if !there {
        eprintln!("no Python environment: install Python 3 with venv to have files compared with NumPy's");
        return None;
    }
    let mut install = python::pip_install(&python);
    install.args(["--requirement", PACKAGES]);
    match run("Python packages", install) {
        Ok(()) => Some(python),
        Err(problem) => {
            eprintln!("{problem}; files are not compared with NumPy's");
            None
        }
    }
}
