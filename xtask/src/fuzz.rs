//! `cargo xtask fuzz`: bytes at random, led by what code they reach, into the targets of `fuzz/`.
//!
//! The fuzzer is LLVM's libFuzzer, built from source, and the instrumentation is rustc's: stable Rust
//! and a C++ compiler suffice.

use crate::command::{command, root, run, succeeds};
use crate::tools::apt_install;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

const USAGE: &str = "\
Usage: cargo xtask fuzz [TARGET] [--seconds N] [--keep] [--asan]
       cargo xtask fuzz TARGET --input FILE

  TARGET        one of the folders in fuzz/corpus; all of them if none is given
  --seconds N   how long each target is fuzzed (300)
  --keep        what reaches code that no kept input does is put into fuzz/corpus
  --asan        with AddressSanitizer, which wants a nightly Rust
  --input FILE  this one input, to see what is wrong with it";

const CORPUS: &str = "fuzz/corpus";
const CRASHES: &str = "fuzz/crashes";
/// What is found and not kept, by target, and the logs.
const WORK: &str = "target/fuzzing";

/// Counters for the code reached and hooks for what is compared, as libFuzzer wants them.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg=fuzzing -Dwarnings";

/// For every run. The limit on single allocations holds with a sanitizer only; without one, the targets
/// count for themselves.
const LIMITS: [&str; 5] = [
    "-max_len=1024",
    "-timeout=30",
    "-rss_limit_mb=2048",
    "-malloc_limit_mb=512",
    "-dict=fuzz/dictionary.txt",
];

/// For `cargo xtask test`: the same inputs on every machine, some seconds a target.
const SHORT: [&str; 2] = ["-runs=8000", "-seed=1"];

/// What is asked for on the command line.
struct Options {
    target: Option<String>,
    seconds: u64,
    keep: bool,
    asan: bool,
    input: Option<String>,
}

pub(crate) fn run_with(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    let targets = match &options.target {
        Some(target) => vec![target.clone()],
        None => targets()?,
    };
    if !can_build() {
        return Err("there is no C++ compiler; install g++".into());
    }
    let program = build(options.asan)?;
    if let (Some(target), Some(input)) = (&options.target, &options.input) {
        let mut once = fuzzer(&program, target);
        // Where the user is, rather than where the chores run.
        once.arg(fs::canonicalize(input).map_err(|error| format!("{input}: {error}"))?);
        return run(&format!("{target} with {input}"), once);
    }
    let time = format!("-max_total_time={}", options.seconds);
    let found = root().join(WORK).join("found");
    fuzz_all(&program, &targets, &found, &["-print_final_stats=1", &time])?;
    if options.keep {
        for target in &targets {
            keep(&program, target, &found)?;
        }
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options { target: None, seconds: 300, keep: false, asan: false, input: None };
    let mut args = args.iter();
    let wrong = |problem: String| format!("{problem}\n\n{USAGE}");
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| wrong(format!("{arg} wants a value")));
        match arg.as_str() {
            "--seconds" => {
                let number = value()?;
                options.seconds =
                    number.parse().map_err(|_| wrong(format!("'{number}' is no number of seconds")))?;
            }
            "--input" => options.input = Some(value()?.clone()),
            "--help" | "-h" => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            "--keep" => options.keep = true,
            "--asan" => options.asan = true,
            flag if flag.starts_with('-') => return Err(wrong(format!("'{flag}' is not known"))),
            target if options.target.is_none() => {
                let known = targets()?;
                if !known.iter().any(|name| name == target) {
                    return Err(wrong(format!("there is no target '{target}', but {}", known.join(", "))));
                }
                options.target = Some(target.into());
            }
            more => return Err(wrong(format!("one target or all of them, but not '{more}' too"))),
        }
    }
    if options.input.is_some() && options.target.is_none() {
        return Err(wrong("--input wants a target to put it into".into()));
    }
    Ok(options)
}

/// For `cargo xtask test`: a short run of each target. Gives what was skipped, if it was.
pub(crate) fn short() -> Result<Option<&'static str>, String> {
    if !can_build() {
        if std::env::var_os("CI").is_some() {
            return Err("fuzzing: there is no C++ compiler, and it could not be installed".into());
        }
        eprintln!("no C++ compiler: install g++ to have more than the kept inputs fuzzed");
        return Ok(Some("fuzzing"));
    }
    let program = build(false)?;
    // From the kept inputs alone, every time.
    let found = root().join(WORK).join("short");
    let _ = fs::remove_dir_all(&found);
    fuzz_all(&program, &targets()?, &found, &SHORT)?;
    Ok(None)
}

/// The targets are what there are inputs for; a test sees to it that these are all.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join(CORPUS);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Whether libFuzzer can be built here; a compiler is installed where it is missing and may be.
fn can_build() -> bool {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let there = || succeeds(command(&compiler, &["--version"]));
    cfg!(unix) && (there() || (apt_install(&["g++"]) && there()))
}

/// Builds the program with all targets in it.
fn build(asan: bool) -> Result<PathBuf, String> {
    let (toolchain, folder, sanitizer) = match asan {
        true => (Some("nightly"), "target/asan", " -Zsanitizer=address"),
        false => (None, "target", ""),
    };
    let tool = |name: &str| match toolchain {
        Some(toolchain) => command("rustup", &["run", toolchain, name]),
        None if name == "cargo" => crate::command::cargo(&[]),
        None => command(std::env::var_os("RUSTC").unwrap_or_else(|| name.into()), &[]),
    };
    let version = tool("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc does not say what it builds for; is the toolchain installed?")?;
    let mut build = tool("cargo");
    build.args(["build", "--package", "unishape-fuzz", "--features", "libfuzzer", "--target-dir", folder]);
    // With a target given, macros and build scripts are left alone, and shared with other builds.
    build.args(["--target", host]).env("RUSTFLAGS", format!("{INSTRUMENTATION}{sanitizer}"));
    run("the fuzzer", build)?;
    Ok(root().join(folder).join(host).join("debug/unishape-fuzz"))
}

/// The program, about to run one target.
fn fuzzer(program: &Path, target: &str) -> Command {
    let mut fuzzer = command(program, &LIMITS);
    fuzzer.env("FUZZ_TARGET", target).arg(format!("-artifact_prefix={CRASHES}/{target}-"));
    if Path::new("/dev/shm").is_dir() {
        fuzzer.env("TMPDIR", "/dev/shm"); // a file for each input, and none of them worth a disk's while
    }
    fuzzer
}

/// Fuzzes the targets, as many at once as there are cores. New inputs go to `found`.
fn fuzz_all(program: &Path, targets: &[String], found: &Path, limits: &[&str]) -> Result<(), String> {
    eprintln!("\n=== fuzzing {}", targets.join(", "));
    for folder in [root().join(CRASHES), root().join(WORK).join("log")] {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let (waiting, problems) = (Mutex::new(targets.iter()), Mutex::new(Vec::new()));
    let next = || waiting.lock().ok()?.next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(target) = next() {
                    match fuzz(program, target, found, limits) {
                        Ok(figures) => eprintln!("{target}: {figures}"),
                        Err(problem) => problems.lock().expect("no thread panics").push(problem),
                    }
                }
            });
        }
    });
    match problems.into_inner().expect("no thread panics")[..] {
        [] => Ok(()),
        ref problems => Err(problems.join("\n\n")),
    }
}

/// Fuzzes one target and gives its figures, or what is wrong and what to do.
fn fuzz(program: &Path, target: &str, found: &Path, limits: &[&str]) -> Result<String, String> {
    let path = root().join(WORK).join("log").join(target);
    let failed = |error: std::io::Error| format!("{target}: {error}");
    fs::create_dir_all(found.join(target)).map_err(failed)?;
    let mut fuzzer = fuzzer(program, target);
    // New inputs go to the first folder.
    fuzzer.args(limits).arg(found.join(target)).arg(format!("{CORPUS}/{target}"));
    fuzzer.stderr(File::create(&path).map_err(failed)?);
    let status = fuzzer.status().map_err(failed)?;
    let log = String::from_utf8_lossy(&fs::read(&path).map_err(failed)?).into_owned();
    if status.success() {
        return Ok(figures(&log));
    }
    let lines: Vec<&str> = log.lines().collect();
    // What the panic says, or else what the fuzzer does; the rest is in the log.
    let said = lines.iter().position(|line| line.contains("panicked at"));
    let from = said.unwrap_or_else(|| lines.len().saturating_sub(12));
    let mut problem = lines[from..].iter().take(12).copied().collect::<Vec<_>>().join("\n");
    problem += &format!("\n(all of it: {WORK}/log/{target})");
    if let Some(input) = log.lines().find_map(|line| line.split_once("Test unit written to ")) {
        let input = input.1;
        problem += &format!(
            "\n\nfuzzing {target}: something is wrong with the input {input}\n  \
             see it again:  cargo xtask fuzz {target} --input {input}\n  \
             then write a test for it in the crate at fault, mend that, and keep the input:\n  \
             mv {input} {CORPUS}/{target}/A_TELLING_NAME"
        );
    } else {
        problem += &format!("\n\nfuzzing {target}: failed ({status})");
    }
    Err(problem)
}

/// What libFuzzer has to say at the end: how many inputs, how much code.
fn figures(log: &str) -> String {
    let last = |sign: &str| log.lines().rfind(|line| line.contains(sign)).unwrap_or_default().trim();
    let covered = last("cov:").split_once("cov:").map_or("", |(_, figures)| figures);
    let covered = covered.split(" lim:").next().unwrap_or_default().trim();
    let covered = covered.split(" exec/s").next().unwrap_or_default();
    format!("{}; code, features, inputs: {covered}", last("Done "))
}

/// Copies into the kept inputs what reaches code that they do not. How often it is reached does not
/// count: that would be hundreds of inputs.
fn keep(program: &Path, target: &str, found: &Path) -> Result<(), String> {
    let mut merge = fuzzer(program, target);
    merge.args(["-set_cover_merge=1", "-use_counters=0", "-verbosity=0"]);
    merge.arg(format!("{CORPUS}/{target}")).arg(found.join(target));
    run(&format!("keeping inputs for {target}"), merge)
}
