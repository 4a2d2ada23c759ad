//! `cargo xtask fuzz`: runs the targets of `fuzz/` under cargo-fuzz.
//!
//! cargo-fuzz builds, runs, reproduces and merges. This file adds what it has no settings for: one command
//! for all targets, the limits and the dictionary of every run, and new inputs outside the repository until
//! `--keep` reduces them to those that reach new code. Without a sanitizer, stable Rust and a C++ compiler
//! suffice.

use crate::command::{self, command, root, succeeds};
use crate::install::{CargoTool, apt_install};
use crate::nightly;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CARGO_FUZZ: CargoTool = CargoTool { name: "fuzz", version: "0.13.2" };

/// Inputs under version control, one folder per target.
const CORPUS: &str = "fuzz/corpus";

/// Limits of every run. `-malloc_limit_mb` works only with a sanitizer; without one, the targets themselves
/// count allocated bytes.
const LIMITS: [&str; 5] = [
    "-max_len=1024",
    "-timeout=30",
    "-rss_limit_mb=2048",
    "-malloc_limit_mb=512",
    "-dict=fuzz/dictionary.txt",
];

/// The part of `cargo xtask test`: the same inputs on every machine, a second per target.
const SHORT: [&str; 3] = ["-runs=8000", "-seed=1", "-verbosity=0"];

/// Arguments of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A folder of fuzz/corpus; all targets if omitted.
    target: Option<String>,
    /// Duration per target, in seconds.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Add inputs that reach new code to fuzz/corpus.
    #[arg(long)]
    keep: bool,
    /// Use AddressSanitizer; requires nightly Rust.
    #[arg(long)]
    asan: bool,
    /// Run one input instead of fuzzing.
    #[arg(long, value_name = "FILE", requires = "target", conflicts_with_all = ["seconds", "keep"])]
    input: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let all = targets()?;
    let targets = match &options.target {
        None => all,
        Some(target) if all.contains(target) => vec![target.clone()],
        Some(target) => return Err(format!("no target '{target}'; targets: {}", all.join(", "))),
    };
    if !can_build() {
        return Err("no C++ compiler: install g++".into());
    }
    let fuzzer = Fuzzer::build(options.asan)?;
    if let Some(input) = &options.input {
        // cargo-fuzz runs in the repository root, the user may not.
        let path = fs::canonicalize(input).map_err(|error| format!("{}: {error}", input.display()))?;
        return command::run("one input", fuzzer.run(&targets[0], &[&path], &[]));
    }
    let time = format!("-max_total_time={}", options.seconds);
    let found = root().join("target/fuzzing/found");
    fuzzer.fuzz(&targets, &found, &["-print_final_stats=1", &time])?;
    if options.keep {
        for target in &targets {
            // Inputs that only reach known code more often would be hundreds: no counters.
            let merge = ["-set_cover_merge=1", "-use_counters=0", "-verbosity=0"];
            let folders = [Path::new(CORPUS).join(target), found.join(target)];
            let merge = fuzzer.run(target, &[&folders[0], &folders[1]], &merge);
            command::run(&format!("new inputs for {target}"), merge)?;
        }
    }
    Ok(())
}

/// The part of `cargo xtask test`: a short run of every target. Returns what was skipped.
pub(crate) fn short() -> Result<Option<&'static str>, String> {
    if !can_build() {
        if std::env::var_os("CI").is_some() {
            return Err("fuzzing: no C++ compiler, and g++ cannot be installed".into());
        }
        eprintln!("no C++ compiler: install g++ to fuzz beyond the inputs in {CORPUS}");
        return Ok(Some("fuzzing"));
    }
    let fuzzer = Fuzzer::build(false)?;
    // Each run starts from the corpus alone.
    let found = root().join("target/fuzzing/short");
    let _ = fs::remove_dir_all(&found);
    fuzzer.fuzz(&targets()?, &found, &SHORT)?;
    Ok(None)
}

/// The targets: a test of `fuzz/` ensures that each has a folder of inputs.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join(CORPUS);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Whether libFuzzer can be built; installs g++ if there is no C++ compiler.
fn can_build() -> bool {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let found = || succeeds(command(&compiler, &["--version"]));
    cfg!(unix) && (found() || (apt_install(&["g++"]) && found()))
}

/// cargo-fuzz with the targets built.
struct Fuzzer {
    asan: bool,
}

impl Fuzzer {
    fn build(asan: bool) -> Result<Fuzzer, String> {
        CARGO_FUZZ.install()?;
        let fuzzer = Fuzzer { asan };
        command::run("fuzz targets", fuzzer.cargo_fuzz("build"))?;
        Ok(fuzzer)
    }

    fn cargo_fuzz(&self, subcommand: &str) -> Command {
        let mut fuzz = match self.asan {
            true => nightly::command(CARGO_FUZZ.program()),
            false => command(CARGO_FUZZ.program(), &[]),
        };
        // The dev profile, for overflow checks and a quick build, with the optimisation of the test profile.
        fuzz.args(["fuzz", subcommand, "--dev", "--features", "libfuzzer"]);
        fuzz.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        match self.asan {
            true => fuzz.args(["--target-dir", "target/asan"]),
            // On stable Rust, and so without warnings.
            false => fuzz.args(["--sanitizer", "none"]).env("RUSTFLAGS", "-Dwarnings"),
        };
        fuzz
    }

    /// One target, on folders of inputs or on single inputs.
    fn run(&self, target: &str, inputs: &[&Path], arguments: &[&str]) -> Command {
        let mut run = self.cargo_fuzz("run");
        run.arg(target).args(inputs).arg("--").args(LIMITS).args(arguments);
        if Path::new("/dev/shm").is_dir() {
            run.env("TMPDIR", "/dev/shm"); // the readers' targets write every input to a file
        }
        run
    }

    /// Fuzzes the targets one after another. New inputs go to folders below `found`.
    fn fuzz(&self, targets: &[String], found: &Path, arguments: &[&str]) -> Result<(), String> {
        let mut errors = Vec::new();
        for target in targets {
            let (new, kept) = (found.join(target), Path::new(CORPUS).join(target));
            fs::create_dir_all(&new).map_err(|error| format!("{}: {error}", new.display()))?;
            // libFuzzer writes new inputs to the first folder.
            let fuzz = self.run(target, &[&new, &kept], arguments);
            if let Err(error) = command::run(&format!("fuzzing {target}"), fuzz) {
                errors.push(format!(
                    "{error}\nThe input is in fuzz/artifacts/{target}. To reproduce the failure:\n  \
                     cargo xtask fuzz {target} --input fuzz/artifacts/{target}/FILE\n\
                     Write a test in the crate at fault, fix it, and move the input to {CORPUS}/{target}."
                ));
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
    }
}
