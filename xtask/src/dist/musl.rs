//! The command and the wheel for systems with musl, such as Alpine Linux.
//!
//! They are built in a Debian system (`debian`): its Rust has the sources of the standard library, which cargo compiles
//! for musl. That feature of cargo is not stable yet, so it is allowed for these builds only. Zig has musl and links.

use crate::command;
use crate::debian::Debian;
use crate::files::copy_folder;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of these builds.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";

/// Compiles and links: arguments that are for GNU's linker and startup files of its own are left out, and the unwinder
/// is Zig's, which is linked statically.
const COMPILER: &str = r#"#!/bin/bash
arguments=()
for argument in "$@"; do
  case $argument in
    *crt1.o | *crti.o | *crtn.o | *crtbegin*.o | *crtend*.o | --target=* | -lgcc | -lgcc_eh) ;;
    -lgcc_s) arguments+=(-lunwind) ;;
    *) arguments+=("$argument") ;;
  esac
done
exec /opt/ziglang/zig cc -target x86_64-linux-musl "${arguments[@]}"
"#;

/// A Debian system that builds for musl.
pub(crate) struct MuslBuilder {
    debian: Debian,
}

impl MuslBuilder {
    /// Sets the system up, with Zig and maturin of an environment of Python.
    pub(crate) fn set_up(folder: PathBuf, python: &Path) -> Result<MuslBuilder, String> {
        let debian = Debian::set_up(folder.clone())?;
        debian.install(&[], &["ca-certificates", "rustc", "cargo", "gcc", "libc6-dev", "rust-src"])?;
        let zig = "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent)";
        let zig = command::output("the folder of Zig", command::command(python, &["-c", zig]))?;
        let install = || {
            copy_folder(Path::new(zig.trim()), &folder.join("opt/ziglang"))?;
            let programs = folder.join("usr/local/bin");
            fs::copy(python.with_file_name("maturin"), programs.join("maturin"))?;
            let compiler = programs.join("musl-compiler");
            fs::write(&compiler, COMPILER)?;
            fs::set_permissions(&compiler, fs::metadata(programs.join("maturin"))?.permissions())
        };
        install().map_err(|error: io::Error| format!("{}: {error}", folder.display()))?;
        Ok(MuslBuilder { debian })
    }

    /// A program that builds for musl in a folder, with flags for rustc.
    pub(crate) fn command(&self, folder: &Path, flags: &str, program: &[&str]) -> Command {
        let mut command = self.debian.command("RUSTC_BOOTSTRAP=1", &[]);
        command.arg(format!("RUSTFLAGS=-C link-self-contained=no {flags}"));
        command.args([
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=musl-compiler",
            "CC_x86_64_unknown_linux_musl=musl-compiler",
            "ZIG_GLOBAL_CACHE_DIR=/tmp/zig",
            "CARGO_PROFILE_RELEASE_STRIP=symbols",
            "env",
        ]);
        command.arg(format!("--chdir={}", folder.display())).args(program);
        command.args(["-Zbuild-std=std,panic_unwind", "--target", TARGET, "--release", "--locked"]);
        command
    }
}
