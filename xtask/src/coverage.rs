//! `cargo xtask coverage`: which lines, regions and branches of the core its tests run through.
//!
//! rustc counts, and LLVM's own tools read the counts; their version has to be that of rustc's LLVM.
//! A region is what runs as a whole: an arm of a `match`, the way out of a `?`. A branch is one outcome
//! of a condition, each part of an `&&` for itself.
//!
//! The tests of the core alone count, and not the examples in its documentation: those are there to be
//! read, and what only they run is not tested.

use crate::command::{command, root, run};
use crate::nightly::Nightly;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where everything is made.
const WORK: &str = "target/coverage";

/// What is looked at.
const SOURCES: &str = "crates/core/src/";

pub(crate) fn measure() -> Result<(), String> {
    let nightly = Nightly::find()?;
    let tools = Tools::find(&nightly)?;
    let tests = tests(&nightly)?;
    let mut covered = Covered::default();
    // One after another: the same function has other counters in another program, and LLVM leaves out
    // what does not match.
    for (number, test) in tests.iter().enumerate() {
        let base = root().join(WORK).join(number.to_string());
        let (raw, data) = (base.with_extension("profraw"), base.with_extension("profdata"));
        let mut count = command(test, &["--quiet"]);
        count.current_dir(root().join("crates/core")).env("LLVM_PROFILE_FILE", &raw);
        run(&format!("counting in {}", test.display()), count)?;
        let mut merge = tools.run("llvm-profdata", &["merge"]);
        merge.arg(&raw).arg("--output").arg(&data);
        run("the counts", merge)?;
        covered.add_lines(&tools.export(test, &data, "lcov")?);
        covered.add_functions(&tools.export(test, &data, "text")?)?;
    }
    covered.report()
}

/// Builds the tests of the core so that they count, and says where they are.
fn tests(nightly: &Nightly) -> Result<Vec<PathBuf>, String> {
    let what = "the core's tests, made to count";
    eprintln!("\n=== {what}");
    let flags = "-Cinstrument-coverage -Zcoverage-options=branch";
    let mut build = nightly.cargo("test", flags, WORK);
    build.args([
        "--package",
        "unishape-core",
        "--tests",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    // What is built counts, what builds it does not.
    build.env("LLVM_PROFILE_FILE", "/dev/null").stderr(std::process::Stdio::inherit());
    let output = build.output().map_err(|error| format!("{what}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{what}: failed ({})", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let programs = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    let programs: Vec<_> = programs.collect();
    if programs.is_empty() { Err(format!("{what}: cargo names no program")) } else { Ok(programs) }
}

/// LLVM's tools for reading counts.
struct Tools {
    folder: PathBuf,
    /// Where their library is, if they do not know.
    library: Option<PathBuf>,
}

impl Tools {
    /// Rust's own, where somebody has added them; otherwise Debian's, unpacked for this project alone.
    fn find(nightly: &Nightly) -> Result<Tools, String> {
        let known = [nightly.folder.join("bin"), format!("/usr/lib/llvm-{}/bin", nightly.llvm).into()];
        if let Some(folder) = known.into_iter().find(|folder| folder.join("llvm-cov").exists()) {
            return Ok(Tools { folder, library: None });
        }
        let place = root().join("target/tools").join(format!("llvm-{}", nightly.llvm));
        let folder = place.join(format!("usr/lib/llvm-{}/bin", nightly.llvm));
        if !folder.join("llvm-cov").exists() {
            unpack_debians(&nightly.llvm, &place).map_err(|problem| {
                format!("{problem}\nllvm-cov is missing: rustup component add llvm-tools --toolchain nightly")
            })?;
        }
        let library = place.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        Ok(Tools { folder, library: Some(library) })
    }

    fn run(&self, name: &str, args: &[&str]) -> std::process::Command {
        let mut tool = command(self.folder.join(name), args);
        if let Some(library) = &self.library {
            tool.env("LD_LIBRARY_PATH", library);
        }
        tool
    }

    /// What a test program has covered of the core.
    fn export(&self, test: &Path, data: &Path, format: &str) -> Result<String, String> {
        let mut export = self.run("llvm-cov", &["export", "--format", format, "--instr-profile"]);
        export.arg(data).arg(test).args(["--sources", SOURCES]);
        let output = export.output().map_err(|error| format!("llvm-cov: {error}"))?;
        let problems = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !problems.trim().is_empty() {
            return Err(format!("llvm-cov: {problems}"));
        }
        String::from_utf8(output.stdout).map_err(|error| format!("llvm-cov: {error}"))
    }
}

/// Needs no root: the packages are fetched and unpacked, not installed.
fn unpack_debians(version: &str, place: &Path) -> Result<(), String> {
    let error = |error| format!("{}: {error}", place.display());
    fs::create_dir_all(place).map_err(error)?;
    let mut fetch = command("apt-get", &["download", "--quiet"]);
    fetch.args([format!("llvm-{version}"), format!("libllvm{version}")]).current_dir(place);
    run(&format!("fetching LLVM {version}'s tools"), fetch)?;
    for entry in fs::read_dir(place).map_err(error)? {
        let package = entry.map_err(error)?.path();
        if package.extension().is_some_and(|ending| ending == "deb") {
            let mut unpack = command("dpkg-deb", &["--extract"]);
            unpack.arg(&package).arg(place);
            run(&format!("unpacking {}", package.display()), unpack)?;
            fs::remove_file(&package).map_err(error)?;
        }
    }
    Ok(())
}

/// What can be covered, and whether some test does. A generic function is covered where one of its
/// instances is.
#[derive(Default)]
struct Covered {
    /// By file and line.
    lines: BTreeMap<(String, u64), bool>,
    /// By file, and line and column where they begin and end.
    regions: BTreeMap<(String, [u64; 4]), bool>,
    /// As for regions, and the outcome.
    branches: BTreeMap<(String, [u64; 4], bool), bool>,
}

impl Covered {
    /// From lcov's format: `SF:file`, then `DA:line,count` for each line with code.
    fn add_lines(&mut self, text: &str) {
        let mut file = None;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("SF:") {
                file = of_the_core(path);
            } else if let (Some(file), Some(counted)) = (&file, line.strip_prefix("DA:"))
                && let Some((number, count)) = counted.split_once(',')
                && let Ok(number) = number.parse()
            {
                *self.lines.entry((file.clone(), number)).or_default() |= count != "0";
            }
        }
    }

    /// From LLVM's own format: for each function its regions and branches, as rows of numbers.
    fn add_functions(&mut self, text: &str) -> Result<(), String> {
        let all: Value = serde_json::from_str(text).map_err(|error| format!("llvm-cov: {error}"))?;
        for function in all["data"][0]["functions"].as_array().into_iter().flatten() {
            // No macro of ours has code in another file, so a function's first file is its only one.
            let Some(file) = function["filenames"][0].as_str().and_then(of_the_core) else { continue };
            for row in rows(&function["regions"]) {
                if let [a, b, c, d, count, _, _, CODE] = row[..] {
                    *self.regions.entry((file.clone(), [a, b, c, d])).or_default() |= count > 0;
                }
            }
            for row in rows(&function["branches"]) {
                if let [a, b, c, d, holds, fails, ..] = row[..] {
                    for (outcome, count) in [(true, holds), (false, fails)] {
                        let key = (file.clone(), [a, b, c, d], outcome);
                        *self.branches.entry(key).or_default() |= count > 0;
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells it by file; what is not covered is an error.
    fn report(&self) -> Result<(), String> {
        let lines = || self.lines.iter().map(|((file, _), &covered)| (file, covered));
        let regions = || self.regions.iter().map(|((file, _), &covered)| (file, covered));
        let branches = || self.branches.iter().map(|((file, ..), &covered)| (file, covered));
        let mut files: Vec<_> = lines().map(|(file, _)| file).collect();
        files.dedup();
        println!("\n{:14}{:>11}{:>11}{:>11}", "core", "lines", "regions", "branches");
        for file in files.iter().map(|&file| Some(file)).chain([None]) {
            let columns = [tally(lines(), file), tally(regions(), file), tally(branches(), file)];
            let [l, r, b] = columns.map(|(covered, all)| format!("{covered}/{all}"));
            println!("{:14}{l:>11}{r:>11}{b:>11}", file.map_or("all", |name| name.as_str()));
        }
        // A report without anything in it is a broken one.
        if [lines().count(), regions().count(), branches().count()].contains(&0) {
            return Err("coverage: nothing was counted".into());
        }
        let mut missed: Vec<String> = Vec::new();
        let place = |file: &str, line: u64| format!("{SOURCES}{file}:{line}");
        for ((file, line), _) in self.lines.iter().filter(|entry| !entry.1) {
            missed.push(format!("{}: no test runs this line", place(file, *line)));
        }
        for ((file, [line, column, ..]), _) in self.regions.iter().filter(|entry| !entry.1) {
            missed.push(format!("{}:{column}: no test runs this", place(file, *line)));
        }
        for ((file, [line, column, ..], outcome), _) in self.branches.iter().filter(|entry| !entry.1) {
            missed.push(format!("{}:{column}: this is never {outcome}", place(file, *line)));
        }
        if missed.is_empty() { Ok(()) } else { Err(missed.join("\n")) }
    }
}

/// The kind of region that is code, among LLVM's.
const CODE: u64 = 0;

/// How many are covered, of how many; in one file or in all.
fn tally<'f>(all: impl Iterator<Item = (&'f String, bool)>, file: Option<&String>) -> (usize, usize) {
    let here = all.filter(|(name, _)| file.is_none_or(|file| file == *name));
    here.fold((0, 0), |(covered, all), (_, is_covered)| (covered + usize::from(is_covered), all + 1))
}

/// The name within the core, if a file is of the core.
fn of_the_core(path: &str) -> Option<String> {
    Some(path.split_once(SOURCES)?.1.to_owned())
}

fn rows(value: &Value) -> impl Iterator<Item = Vec<u64>> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| row.as_array().into_iter().flatten().filter_map(Value::as_u64).collect())
}
