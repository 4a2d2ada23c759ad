//! `cargo xtask sanitize`: all Rust tests under AddressSanitizer and under ThreadSanitizer.
//!
//! AddressSanitizer reports accesses out of bounds and after free, double frees and leaks; ThreadSanitizer
//! reports data races. No cargo subcommand runs tests under them, so this file sets the flags of rustc.
//!
//! The standard library of a toolchain is not instrumented. AddressSanitizer does not require that.
//! ThreadSanitizer does not see the synchronisation inside locks and channels and reports false races. If the
//! source of the library is installed (`rustup component add rust-src --toolchain nightly`), this task
//! therefore builds it.
//!
//! Otherwise, a list suppresses the known false reports, and tests run one at a time. Races between our
//! threads are still detected, but threads that are synchronised only by the end of a `thread::scope` count
//! as racing.

use crate::command::{root, run as run_command};
use crate::nightly::Nightly;
use crate::tools;
use std::fs;
use std::process::Command;
use std::time::Instant;

struct Sanitizer {
    name: &'static str,
    /// Part of the file name of its runtime library.
    runtime: &'static str,
    /// The value of `-Zsanitizer`.
    option: &'static str,
    /// The environment variable for options of its runtime.
    variable: &'static str,
    /// Whether the standard library has to be instrumented.
    requires_std: bool,
    /// Packages with slow tests in which it can detect nothing.
    excluded: &'static [&'static str],
}

/// Options of both runtimes.
///
/// The exit status is one that the command `unishape` does not use: AddressSanitizer's default, 1, is an
/// invalid input there. A test requests more memory than any machine has and expects an error.
const OPTIONS: &str = "exitcode=99:allocator_may_return_null=1";

const ADDRESS: Sanitizer = Sanitizer {
    name: "AddressSanitizer",
    runtime: "asan",
    option: "address",
    variable: "ASAN_OPTIONS",
    requires_std: false,
    excluded: &[],
};

const THREAD: Sanitizer = Sanitizer {
    name: "ThreadSanitizer",
    runtime: "tsan",
    option: "thread",
    variable: "TSAN_OPTIONS",
    requires_std: true,
    // Millions of cases on one thread, half of the work in C that is not instrumented.
    excluded: &["unishape-proven"],
};

/// False reports of ThreadSanitizer without an instrumented standard library.
const SUPPRESSIONS: &str = "xtask/thread-sanitizer.txt";

/// Arguments of `cargo xtask sanitize`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One sanitizer; both if omitted.
    sanitizer: Option<Kind>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    Address,
    Thread,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let sanitizers = match options.sanitizer {
        None => &[ADDRESS, THREAD][..],
        Some(Kind::Address) => &[ADDRESS],
        Some(Kind::Thread) => &[THREAD],
    };
    let start = Instant::now();
    let nightly = Nightly::find()?;
    let tools = tools::set_up()?;
    for sanitizer in sanitizers {
        if !sanitizer.is_available(&nightly) {
            return Err(format!("nightly Rust has no {} for {}", sanitizer.name, nightly.host));
        }
        let mut tests = sanitizer.tests(&nightly);
        tools.set_environment(&mut tests);
        run_command(&format!("tests under {}", sanitizer.name), tests)?;
    }
    eprintln!("\nNo errors found in {} s.", start.elapsed().as_secs());
    Ok(())
}

impl Sanitizer {
    fn tests(&self, nightly: &Nightly) -> Command {
        let mut flags = format!("-Zsanitizer={}", self.option);
        let mut options = OPTIONS.to_owned();
        let build_std = self.requires_std && nightly.has_source();
        let suppress = self.requires_std && !build_std;
        if self.requires_std {
            // By default, a program that exits while a thread runs waits for a second. The command `unishape`
            // has a thread that waits for signals, and tests start it hundreds of times.
            options += ":atexit_sleep_ms=0";
        }
        if suppress {
            flags += " -Cunsafe-allow-abi-mismatch=sanitizer";
            // An absolute path: each test program runs in the folder of its package.
            options += &format!(":suppressions={}", root().join(SUPPRESSIONS).display());
        }
        let mut tests = nightly.cargo("test", &flags, &format!("target/{}", self.runtime));
        tests.args(["--workspace", "--no-fail-fast"]);
        if build_std {
            tests.arg("-Zbuild-std");
        }
        for package in self.excluded {
            tests.args(["--exclude", package]);
        }
        tests.env(self.variable, options);
        if suppress {
            tests.env("RUST_TEST_THREADS", "1");
        }
        // Tests that measure the memory of a process skip that: most of it is the sanitizer's.
        tests.env("UNISHAPE_SANITIZED", self.name);
        tests
    }

    /// Whether the toolchain has the runtime library; it exists for some targets only.
    fn is_available(&self, nightly: &Nightly) -> bool {
        let name = format!("_rt.{}", self.runtime);
        fs::read_dir(nightly.folder.join("lib"))
            .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().contains(&name)))
    }
}
