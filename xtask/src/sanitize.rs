//! `cargo xtask sanitize`: all Rust tests once more, under AddressSanitizer and under ThreadSanitizer.
//!
//! The one sees reads and writes out of bounds, after free and twice freed, and memory that leaks; the
//! other sees two threads at one place without order between them. Each sees what really happened in a
//! test, in unsafe code or below it, where the result alone may look right.
//!
//! The standard library that rustc brings is not instrumented. AddressSanitizer is content with that, and
//! sees all accesses of our code and of the library's generic code. ThreadSanitizer does not see the order
//! that locks and channels keep, and takes some of their uses for races. Where the library's source is
//! installed (`rustup component add rust-src --toolchain nightly`), it is therefore built with the rest.
//! Where it is not, what is known to be right is left out by a list, and the harness runs one test at a
//! time, in which our own threads are watched all the same: they count as ordered by atomics of ours and
//! by being joined by their handles, but not by the mere end of a `thread::scope`.

use crate::command::{root, run};
use crate::nightly::Nightly;
use crate::tools;
use std::fs;
use std::process::Command;
use std::time::Instant;

struct Sanitizer {
    name: &'static str,
    /// As rustc's runtime library for it is called.
    runtime: &'static str,
    /// As rustc's option names it.
    word: &'static str,
    /// The variable that its runtime reads its options from.
    variable: &'static str,
    /// Whether rustc wants the standard library to be instrumented too.
    wants_std: bool,
    /// Packages whose tests have nothing for it to see, and take long.
    without: &'static [&'static str],
}

/// A report ends the program with this code. The usual one is for AddressSanitizer 1, which from our
/// command means that an input is at fault.
///
/// A test asks for more memory than any machine has, and wants to be told.
const OPTIONS: &str = "exitcode=99:allocator_may_return_null=1";

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer {
        name: "AddressSanitizer",
        runtime: "asan",
        word: "address",
        variable: "ASAN_OPTIONS",
        wants_std: false,
        without: &[],
    },
    Sanitizer {
        name: "ThreadSanitizer",
        runtime: "tsan",
        word: "thread",
        variable: "TSAN_OPTIONS",
        wants_std: true,
        // Millions of cases on one thread, half of each in C that is not instrumented.
        without: &["unishape-proven"],
    },
];

/// What ThreadSanitizer leaves out where the standard library is not instrumented.
const LEFT_OUT: &str = "xtask/thread-sanitizer.txt";

pub(crate) fn run_with(options: &[String]) -> Result<(), String> {
    let chosen: Vec<_> = match options {
        [] => SANITIZERS.iter().collect(),
        [one] => SANITIZERS.iter().filter(|sanitizer| sanitizer.word == one).collect(),
        _ => Vec::new(),
    };
    if chosen.is_empty() {
        return Err("Usage: cargo xtask sanitize [address | thread]".into());
    }
    let start = Instant::now();
    let nightly = Nightly::find()?;
    let tools = tools::set_up()?;
    for sanitizer in chosen {
        if !sanitizer.is_in(&nightly) {
            return Err(format!("nightly Rust has no {} for {}", sanitizer.name, nightly.host));
        }
        let mut tests = sanitizer.tests(&nightly);
        tools.hand_to(&mut tests);
        run(&format!("tests under {}", sanitizer.name), tests)?;
    }
    eprintln!("\nNothing was found, after {} seconds.", start.elapsed().as_secs());
    Ok(())
}

impl Sanitizer {
    fn tests(&self, nightly: &Nightly) -> Command {
        let mut flags = format!("-Zsanitizer={}", self.word);
        let mut options = OPTIONS.to_owned();
        let mut more = [].as_slice();
        let mut threads = None;
        if self.wants_std {
            if nightly.has_source() {
                more = &["-Zbuild-std"];
            } else {
                flags += " -Cunsafe-allow-abi-mismatch=sanitizer";
                // The runtime takes a relative path from the folder of each test.
                options += &format!(":suppressions={}", root().join(LEFT_OUT).display());
                threads = Some("1");
            }
            // A program that ends while a thread of its still runs is held back for a second, to see more
            // of that thread. Our command has one that waits for signals, and tests start it by the hundred.
            options += ":atexit_sleep_ms=0";
        }
        let mut tests = nightly.cargo("test", &flags, &format!("target/{}", self.runtime));
        tests.args(["--workspace", "--no-fail-fast"]).args(more);
        for package in self.without {
            tests.args(["--exclude", package]);
        }
        tests.env(self.variable, options);
        if let Some(threads) = threads {
            tests.env("RUST_TEST_THREADS", threads);
        }
        // Tests that measure the memory of a whole process would measure the sanitizer's.
        tests.env("UNISHAPE_SANITIZED", self.name);
        tests
    }

    /// Whether the toolchain has its runtime: not every machine's does.
    fn is_in(&self, nightly: &Nightly) -> bool {
        let name = format!("_rt.{}", self.runtime);
        fs::read_dir(nightly.folder.join("lib"))
            .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().contains(&name)))
    }
}
