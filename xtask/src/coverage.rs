//! `cargo xtask coverage`: lines, regions and branches of the core that its tests run.
//!
//! cargo-llvm-cov builds the tests, runs them and merges the counts. This file adds what it lacks: LLVM's
//! tools where rustup cannot install them, a failure on uncovered branches, and the union over the instances
//! of a generic function. For an uncovered `else` in `f::<usize>`, its report ignores that `f::<Extent>`
//! covers it.
//!
//! A region is code that runs as a whole, such as an arm of a `match` or the early return of a `?`. A branch
//! is one outcome of a condition; each operand of `&&` has its own. Examples in the documentation do not
//! count.

use crate::command::{command, output, root, run as run_command};
use crate::install::CargoTool;
use crate::nightly::{self, Nightly};
use crate::workspace::package_named;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CARGO_LLVM_COV: CargoTool = CargoTool { name: "llvm-cov", version: "0.9.1" };

/// The package that is measured.
const PACKAGE: &str = "unishape-core";

pub(crate) fn run() -> Result<(), String> {
    let nightly = Nightly::find()?;
    let llvm = Llvm::find(&nightly)?;
    CARGO_LLVM_COV.install()?;
    eprintln!("\n=== tests of {PACKAGE} with coverage");
    let mut measure = nightly::command(CARGO_LLVM_COV.program());
    measure.args(["llvm-cov", "--package", PACKAGE, "--tests", "--branch", "--json", "--quiet"]);
    // Optimised, one function has different counters in different test programs, which cannot be merged.
    measure.env("CARGO_PROFILE_TEST_OPT_LEVEL", "0");
    llvm.set_environment(&mut measure);
    let report = output("coverage", measure)?;
    // The output of the tests precedes the report.
    let report = report.lines().rfind(|line| line.starts_with('{')).unwrap_or_default();
    let report: Value = serde_json::from_str(report).map_err(|error| format!("cargo-llvm-cov: {error}"))?;
    let sources = package_named(PACKAGE)?.folder.join("src");
    Coverage::read(&report["data"][0], &sources).check(&sources)
}

/// LLVM's tools that read counts. Their version must be that of rustc's LLVM.
struct Llvm {
    tools: PathBuf,
    /// The folder of their shared library, unless they find it themselves.
    library: Option<PathBuf>,
}

impl Llvm {
    /// The component `llvm-tools`, an installed LLVM, or Debian's packages unpacked into `target/tools`.
    fn find(nightly: &Nightly) -> Result<Llvm, String> {
        let installed = [nightly.folder.join("bin"), format!("/usr/lib/llvm-{}/bin", nightly.llvm).into()];
        if let Some(tools) = installed.into_iter().find(|folder| folder.join("llvm-cov").exists()) {
            return Ok(Llvm { tools, library: None });
        }
        let folder = root().join("target/tools").join(format!("llvm-{}", nightly.llvm));
        let tools = folder.join(format!("usr/lib/llvm-{}/bin", nightly.llvm));
        if !tools.join("llvm-cov").exists() {
            unpack_debian_packages(&nightly.llvm, &folder).map_err(|error| {
                format!("{error}\nllvm-cov is missing: rustup component add llvm-tools --toolchain nightly")
            })?;
        }
        let library = folder.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        Ok(Llvm { tools, library: Some(library) })
    }

    fn set_environment(&self, command: &mut std::process::Command) {
        command.env("LLVM_COV", self.tools.join("llvm-cov"));
        command.env("LLVM_PROFDATA", self.tools.join("llvm-profdata"));
        if let Some(library) = &self.library {
            command.env("LD_LIBRARY_PATH", library);
        }
    }
}

/// Downloads and unpacks the packages; this requires no root privileges.
fn unpack_debian_packages(version: &str, folder: &Path) -> Result<(), String> {
    let error = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(error)?;
    let mut download = command("apt-get", &["download", "--quiet"]);
    download.args([format!("llvm-{version}"), format!("libllvm{version}")]).current_dir(folder);
    run_command(&format!("downloading LLVM {version}"), download)?;
    for entry in fs::read_dir(folder).map_err(error)? {
        let package = entry.map_err(error)?.path();
        if package.extension().is_some_and(|extension| extension == "deb") {
            let mut unpack = command("dpkg-deb", &["--extract"]);
            unpack.arg(&package).arg(folder);
            run_command(&format!("unpacking {}", package.display()), unpack)?;
            fs::remove_file(&package).map_err(error)?;
        }
    }
    Ok(())
}

/// The first and the last position of code: line, column, line, column.
type CodeRange = [u64; 4];

/// The parts of the source, and whether a test covers them in some instance of a generic function.
#[derive(Default)]
struct Coverage {
    /// Covered lines and all lines, by file.
    lines: BTreeMap<String, (u64, u64)>,
    regions: BTreeMap<(String, CodeRange), bool>,
    /// By condition and outcome.
    branches: BTreeMap<(String, CodeRange, bool), bool>,
}

impl Coverage {
    /// Reads LLVM's JSON: figures per file, and arrays of numbers per function.
    fn read(report: &Value, sources: &Path) -> Coverage {
        let mut coverage = Coverage::default();
        let name = |path: &Value| {
            let path = Path::new(path.as_str()?).strip_prefix(sources).ok()?;
            Some(path.display().to_string())
        };
        for file in array(&report["files"]) {
            let lines = &file["summary"]["lines"];
            if let (Some(name), Some(covered), Some(all)) =
                (name(&file["filename"]), lines["covered"].as_u64(), lines["count"].as_u64())
            {
                coverage.lines.insert(name, (covered, all));
            }
        }
        for function in array(&report["functions"]) {
            // The core's macros expand within one file, so the first file of a function is its only one.
            let Some(file) = name(&function["filenames"][0]) else { continue };
            for numbers in array(&function["regions"]).map(numbers) {
                if let [a, b, c, d, count, _, _, CODE] = numbers[..] {
                    *coverage.regions.entry((file.clone(), [a, b, c, d])).or_default() |= count > 0;
                }
            }
            for numbers in array(&function["branches"]).map(numbers) {
                if let [a, b, c, d, holds, fails, ..] = numbers[..] {
                    for (outcome, count) in [(true, holds), (false, fails)] {
                        let key = (file.clone(), [a, b, c, d], outcome);
                        *coverage.branches.entry(key).or_default() |= count > 0;
                    }
                }
            }
        }
        coverage
    }

    /// Prints a table by file; an error lists what is not covered.
    fn check(&self, sources: &Path) -> Result<(), String> {
        let regions = || self.regions.iter().map(|((file, _), &covered)| (file, covered));
        let branches = || self.branches.iter().map(|((file, ..), &covered)| (file, covered));
        println!("\n{:14}{:>11}{:>11}{:>11}", "file", "lines", "regions", "branches");
        for (file, lines) in &self.lines {
            let columns = [*lines, count(regions(), file), count(branches(), file)];
            let [l, r, b] = columns.map(|(covered, all)| format!("{covered}/{all}"));
            println!("{file:14}{l:>11}{r:>11}{b:>11}");
        }
        if self.lines.is_empty() || self.regions.is_empty() || self.branches.is_empty() {
            return Err("coverage: the report is empty".into());
        }
        let mut uncovered: Vec<String> = Vec::new();
        let place = |file: &str, [line, column, ..]: CodeRange| {
            format!("{}:{line}:{column}", sources.join(file).display())
        };
        for ((file, span), _) in self.regions.iter().filter(|entry| !entry.1) {
            uncovered.push(format!("{}: no test runs this", place(file, *span)));
        }
        for ((file, span, outcome), _) in self.branches.iter().filter(|entry| !entry.1) {
            uncovered.push(format!("{}: this is never {outcome}", place(file, *span)));
        }
        for (file, (covered, all)) in self.lines.iter().filter(|(_, (covered, all))| covered < all) {
            uncovered.push(format!("{}: no test runs {} lines", sources.join(file).display(), all - covered));
        }
        if uncovered.is_empty() { Ok(()) } else { Err(uncovered.join("\n")) }
    }
}

/// LLVM's number for regions that are code.
const CODE: u64 = 0;

/// Covered items and all items of a file.
fn count<'f>(items: impl Iterator<Item = (&'f String, bool)>, file: &str) -> (u64, u64) {
    let of_file = items.filter(|(name, _)| *name == file);
    of_file.fold((0, 0), |(covered, all), (_, is_covered)| (covered + u64::from(is_covered), all + 1))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn numbers(row: &Value) -> Vec<u64> {
    array(row).filter_map(Value::as_u64).collect()
}

#[cfg(test)]
mod tests {
    use super::Coverage;
    use serde_json::json;
    use std::path::Path;

    /// A report on a generic function with one branch: true in one instance, `fails` times false in the
    /// other.
    fn check(fails: u64) -> Result<(), String> {
        let function = |regions: [u64; 2], branch: [u64; 2]| {
            json!({
                "filenames": ["/core/src/a.rs"],
                "regions": [[1, 1, 9, 2, regions[0], 0, 0, 0], [5, 9, 6, 2, regions[1], 0, 0, 0]],
                "branches": [[4, 8, 4, 20, branch[0], branch[1], 0, 0, 4]],
            })
        };
        let report = json!({
            "files": [{ "filename": "/core/src/a.rs", "summary": { "lines": { "count": 9, "covered": 9 } } }],
            "functions": [function([3, 0], [3, 0]), function([2, fails], [0, fails])],
        });
        let sources = Path::new("/core/src");
        Coverage::read(&report, sources).check(sources)
    }

    #[test]
    fn instances_of_a_generic_function_are_united() {
        assert_eq!(check(2), Ok(()));
        let missing = "/core/src/a.rs:5:9: no test runs this\n/core/src/a.rs:4:8: this is never false";
        assert_eq!(check(0), Err(missing.into()));
        let empty = Coverage::default().check(Path::new(""));
        assert_eq!(empty, Err("coverage: the report is empty".into()));
    }
}
