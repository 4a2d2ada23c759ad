//! Commands run in the project's folder, told before they run.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The project's folder.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A command in the project's folder.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// The cargo that runs this chore.
pub(crate) fn cargo(args: &[&str]) -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
}

/// Runs a command, and says so, and how long it took.
pub(crate) fn run(what: &str, mut command: Command) -> Result<(), String> {
    eprintln!("\n=== {what}");
    let begin = Instant::now();
    match command.status() {
        Ok(status) if status.success() => {
            eprintln!("=== {what}: {} s", begin.elapsed().as_secs());
            Ok(())
        }
        Ok(status) => Err(format!("\n{what}: failed ({status})")),
        Err(error) => Err(format!("\n{what}: {} could not be run: {error}", command.get_program().display())),
    }
}

/// Whether a command can be run and succeeds, without a word.
pub(crate) fn succeeds(mut command: Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
