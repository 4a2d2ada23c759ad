//! The nightly toolchain, for coverage of branches and for sanitizers.

use crate::command;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// An installed nightly toolchain.
pub(crate) struct Nightly {
    /// The target triple that it compiles for.
    pub(crate) host: String,
    /// The major version of its LLVM.
    pub(crate) llvm: String,
    /// The folder of its files for that target.
    pub(crate) folder: PathBuf,
}

impl Nightly {
    /// Finds the toolchain. Does not install it: that is hundreds of megabytes in the user's home.
    pub(crate) fn find() -> Result<Nightly, String> {
        let version = rustc(&["-vV"]).ok_or(
            "This requires nightly Rust beside the stable one: rustup toolchain install nightly --profile minimal",
        )?;
        let field = |name: &str| {
            let found = version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.map(ToOwned::to_owned).ok_or(format!("nightly rustc -vV has no line '{name}'"))
        };
        let host = field("host")?;
        let llvm = field("LLVM version")?.split('.').take(1).collect();
        let sysroot = rustc(&["--print", "sysroot"]).ok_or("nightly rustc prints no sysroot")?;
        let folder = PathBuf::from(sysroot.trim()).join("lib/rustlib").join(&host);
        Ok(Nightly { host, llvm, folder })
    }

    /// Whether the source of the standard library is installed.
    pub(crate) fn has_source(&self) -> bool {
        self.folder.with_file_name("src").join("rust/library/std").exists()
    }

    /// Its cargo with flags for rustc, and a target folder of its own.
    ///
    /// `--target` keeps the flags from build scripts and procedural macros.
    pub(crate) fn cargo(&self, subcommand: &str, flags: &str, folder: &str) -> Command {
        let mut cargo = command("cargo");
        cargo.args([subcommand, "--target", &self.host, "--target-dir", folder]);
        cargo.env("RUSTFLAGS", flags).env("RUSTDOCFLAGS", flags);
        cargo
    }
}

/// A command that uses the nightly toolchain.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = command::command("rustup", &["run", "nightly"]);
    // The stable cargo that runs this program sets `CARGO` to itself.
    command.arg(program).env_remove("CARGO");
    command
}

fn rustc(args: &[&str]) -> Option<String> {
    let output = command("rustc").args(args).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}
