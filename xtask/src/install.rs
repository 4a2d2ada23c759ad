//! Installs Debian packages and subcommands of cargo.

use crate::command::{cargo, command, root, run, succeeds};
use std::path::PathBuf;

/// Installs Debian packages if this runs as root.
pub(crate) fn apt_install(packages: &[&str]) -> bool {
    let root = command("id", &["-u"]).output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    if !root || !succeeds(command("apt-get", &["--version"])) {
        return false;
    }
    let title = format!("installing {}", packages.join(", "));
    let mut install = command("apt-get", &["install", "--yes", "--quiet", "--no-install-recommends"]);
    install.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    run("updating the package lists", command("apt-get", &["update", "--quiet"]))
        .and_then(|()| run(&title, install))
        .is_ok()
}

/// A subcommand of cargo from another project, installed into `target/tools`.
pub(crate) struct CargoTool {
    /// The subcommand; the package is `cargo-NAME`.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl CargoTool {
    /// The executable. Its first argument is the name of the subcommand.
    pub(crate) fn program(&self) -> PathBuf {
        root().join("target/tools/bin").join(format!("cargo-{}", self.name))
    }

    /// Installs this version unless it is installed; compiling takes one to three minutes of CPU time.
    pub(crate) fn install(&self) -> Result<(), String> {
        let version = command(self.program(), &[self.name, "--version"]).output();
        if version.is_ok_and(|output| output.stdout.trim_ascii().ends_with(self.version.as_bytes())) {
            return Ok(());
        }
        let package = format!("cargo-{}", self.name);
        let mut install = cargo(&["install", &package, "--version", self.version]);
        install.args(["--locked", "--quiet", "--force", "--root", "target/tools"]);
        run(&format!("installing {package} {} into target/tools", self.version), install)
    }
}
