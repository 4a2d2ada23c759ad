//! Runs the command in a temporary directory.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_unishape");

/// A directory to run the command in, removed at the end of the test.
pub(crate) struct TestDir(TempDir);

/// The output and the exit code of a process.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl TestDir {
    pub(crate) fn new() -> TestDir {
        TestDir(TempDir::new().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and creates its directory.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The paths of all files and directories, hidden ones too, sorted.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut directories = vec![self.0.path().to_path_buf()];
        while let Some(directory) = directories.pop() {
            // A temporary file may be removed meanwhile.
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(entry.path());
                }
                let path = entry.path();
                let name = path.strip_prefix(self.0.path()).expect("a path in the directory");
                names.push(name.to_string_lossy().into_owned());
            }
        }
        names.sort();
        names
    }

    /// The command, in an environment without settings for terminals.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        self.program(BINARY, args)
    }

    /// Any program, run in the directory.
    pub(crate) fn program<S: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> RunOutput {
        RunOutput::of(&mut self.command(args))
    }

    pub(crate) fn run_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> RunOutput {
        let mut child = start(self.command(args).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().expect("a pipe");
        // Writes while the output is read, to avoid a deadlock. The command need not read everything.
        thread::scope(|scope| {
            let writing = scope.spawn(move || stdin.write_all(input));
            let output = RunOutput::new(child.wait_with_output().expect("the command runs"));
            // Joined by its handle: ThreadSanitizer does not see the synchronization at the end of a scope.
            let _ = writing.join().expect("no panic");
            output
        })
    }

    /// The command after a shell command that sets its limits: `ulimit -f 10`.
    #[cfg(unix)]
    pub(crate) fn limited(&self, limit: &str, args: &[&str]) -> Command {
        let script = format!("{limit} && exec \"$0\" \"$@\"");
        let mut command = self.program("sh", ["-c", &script, BINARY].iter().chain(args));
        // Stacks count as data: the size that a test run sets may exceed the limit.
        command.env_remove("RUST_MIN_STACK");
        command
    }
}

impl RunOutput {
    pub(crate) fn of(command: &mut Command) -> RunOutput {
        RunOutput::new(command.output().expect("the command runs"))
    }

    pub(crate) fn new(output: Output) -> RunOutput {
        RunOutput {
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
            // Without a code, it was killed by a signal.
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Standard output, after exit code 0 and without messages.
    #[track_caller]
    pub(crate) fn expect_success(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        self.stdout
    }

    /// The error message, after this exit code and without output.
    #[track_caller]
    pub(crate) fn expect_error(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{self:?}");
        self.message()
    }

    /// Standard error: complete lines without control characters, and no panic.
    #[track_caller]
    pub(crate) fn message(self) -> String {
        assert!(self.stderr.ends_with('\n'), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        assert!(!self.stderr.chars().any(|c| c.is_control() && c != '\n'), "{self:?}");
        self.stderr
    }
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Whether limits on memory make sense: a sanitizer, under which this variable is set, needs much more.
#[cfg(target_os = "linux")]
pub(crate) fn can_measure_memory() -> bool {
    std::env::var_os("UNISHAPE_SANITIZED").is_none()
}

/// The peak memory of a running process, in KiB.
#[cfg(target_os = "linux")]
pub(crate) fn peak_memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a running process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The output of a shell command on a terminal; `None` if the program `script`, which emulates one, is missing.
#[cfg(target_os = "linux")]
pub(crate) fn on_terminal(dir: &TestDir, line: &str, environment: &[(&str, &str)]) -> Option<String> {
    let mut script = dir.program("script", ["-q", "-c", line, "/dev/null"]);
    script.envs(environment.iter().copied()).stdin(Stdio::piped());
    let mut child = script.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    // Kept open: its end would close the terminal.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("the command runs");
    drop(stdin);
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}
