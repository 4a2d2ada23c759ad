//! Commands that run in the repository root and print what they do.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

/// A command that runs in the repository root.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo(args: &[&str]) -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
}

/// Runs a command under a heading and prints its duration.
pub(crate) fn run(title: &str, mut command: Command) -> Result<(), String> {
    eprintln!("\n=== {title}");
    let start = Instant::now();
    match command.status() {
        Ok(status) if status.success() => {
            eprintln!("=== {title}: {} s", start.elapsed().as_secs());
            Ok(())
        }
        Ok(status) => Err(format!("\n{title}: failed ({status})")),
        Err(error) => Err(format!("\n{title}: cannot run {}: {error}", command.get_program().display())),
    }
}

/// The standard output of a command; an error if it fails.
pub(crate) fn output(title: &str, mut command: Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{title}: cannot run {}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        return Err(format!("{title}: failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{title}: {error}"))
}

/// Whether a command can be run and succeeds; discards its output.
pub(crate) fn succeeds(mut command: Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
