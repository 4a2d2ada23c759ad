//! Runs the command in a folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_unishape");

/// A folder to run the command in, gone with the test.
pub(crate) struct Folder(TempDir);

/// What a run of the command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        fs::write(path, bytes).expect("a file in the folder");
    }

    pub(crate) fn bytes(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Everything in it, hidden files and folders too.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.0.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            // A temporary file may go between the listing and the look at it.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
                let path = entry.path();
                let name = path.strip_prefix(self.0.path()).expect("it is in the folder");
                names.push(name.to_string_lossy().into_owned());
            }
        }
        names.sort();
        names
    }

    /// The command, not run yet. Its surroundings say nothing about terminals.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        self.program(BINARY, words)
    }

    /// Any program, run in the folder.
    pub(crate) fn program<S: AsRef<OsStr>>(
        &self,
        program: &str,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.0.path()).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&mut self.command(words))
    }

    pub(crate) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ran {
        let mut child = start(self.command(words).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().expect("it is piped");
        // Beside the reading of what comes back, or both could wait for each other. The command
        // need not read everything.
        thread::scope(|scope| {
            let writing = scope.spawn(move || stdin.write_all(input));
            let ran = Ran::new(child.wait_with_output().expect("the command runs"));
            // By its handle: that is an order which ThreadSanitizer sees, the end of a scope is not.
            let _ = writing.join().expect("writing does not panic");
            ran
        })
    }

    /// The command behind shell words that limit it: `ulimit -f 10`.
    #[cfg(unix)]
    pub(crate) fn limited(&self, limit: &str, words: &[&str]) -> Command {
        let script = format!("{limit} && exec \"$0\" \"$@\"");
        self.program("sh", ["-c", &script, BINARY].iter().chain(words))
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        Ran::new(command.output().expect("the command runs"))
    }

    pub(crate) fn new(output: Output) -> Ran {
        Ran {
            stdout: String::from_utf8(output.stdout).expect("its output is text"),
            stderr: String::from_utf8(output.stderr).expect("its errors are text"),
            // Killed by a signal: no code of ours.
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// What it printed, all being well.
    #[track_caller]
    pub(crate) fn printed(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        self.stdout
    }

    /// What it said was wrong, and nothing printed.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{self:?}");
        self.said()
    }

    /// What it said on standard error: signed, complete, fit for a terminal, and no panic.
    #[track_caller]
    pub(crate) fn said(self) -> String {
        assert!(self.stderr.ends_with('\n'), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        assert!(!self.stderr.chars().any(|c| c.is_control() && c != '\n'), "{self:?}");
        self.stderr
    }
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Whether memory is the command's own: a sanitizer takes many times as much, and the chore that runs
/// tests under one sets the variable.
#[cfg(target_os = "linux")]
pub(crate) fn memory_can_be_measured() -> bool {
    std::env::var_os("UNISHAPE_SANITIZED").is_none()
}

/// The most memory that a running process has had, in KiB.
#[cfg(target_os = "linux")]
pub(crate) fn peak_memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it is running");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has memory");
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// What a terminal shows of a shell command; `None` where `script`, which makes one, is missing.
#[cfg(target_os = "linux")]
pub(crate) fn at_terminal(folder: &Folder, line: &str, surroundings: &[(&str, &str)]) -> Option<String> {
    let mut script = folder.program("script", ["-q", "-c", line, "/dev/null"]);
    script.envs(surroundings.iter().copied()).stdin(Stdio::piped());
    let mut child = script.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    // Kept open: the end of its own input would be the end of the terminal's.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("the command runs");
    drop(stdin);
    Some(String::from_utf8(output.stdout).expect("it shows text"))
}
