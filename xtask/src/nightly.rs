//! The nightly toolchain, for what rustc keeps behind `-Z`.

use crate::command::command;
use std::path::PathBuf;
use std::process::Command;

/// What is known of it.
pub(crate) struct Nightly {
    /// The machine it compiles for.
    pub(crate) host: String,
    /// The first number of its LLVM's version.
    pub(crate) llvm: String,
    /// What rustc brings for that machine.
    pub(crate) folder: PathBuf,
}

impl Nightly {
    /// Looks for it. It is not installed unasked: that is hundreds of megabytes in the user's home.
    pub(crate) fn find() -> Result<Nightly, String> {
        let about = says(&["-vV"]).ok_or(
            "This needs a nightly Rust beside the stable one: rustup toolchain install nightly --profile minimal",
        )?;
        let field = |name: &str| {
            let found = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.map(ToOwned::to_owned).ok_or(format!("nightly rustc does not tell its {name}"))
        };
        let host = field("host")?;
        let llvm = field("LLVM version")?.split('.').take(1).collect();
        let sysroot = says(&["--print", "sysroot"]).ok_or("nightly rustc does not tell where it is")?;
        let folder = PathBuf::from(sysroot.trim()).join("lib/rustlib").join(&host);
        Ok(Nightly { host, llvm, folder })
    }

    /// Whether the standard library's source is installed beside it.
    pub(crate) fn has_source(&self) -> bool {
        self.folder.with_file_name("src").join("rust/library/std").exists()
    }

    /// Its cargo, for a build folder of its own.
    ///
    /// With a target named, flags are for the code alone and not for build scripts and macros.
    pub(crate) fn cargo(&self, subcommand: &str, flags: &str, folder: &str) -> Command {
        let mut cargo = command("rustup", &["run", "nightly", "cargo", subcommand]);
        cargo.args(["--target", &self.host, "--target-dir", folder]);
        cargo.env("RUSTFLAGS", flags).env("RUSTDOCFLAGS", flags);
        cargo
    }
}

fn says(words: &[&str]) -> Option<String> {
    let output = command("rustup", &["run", "nightly", "rustc"]).args(words).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}
