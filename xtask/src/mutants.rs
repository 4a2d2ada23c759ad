//! `cargo xtask mutants`: the code is changed in one place after another, and some test has to notice.
//!
//! In the core no change may go unnoticed. Elsewhere those that do are listed in `docs/mutants.md`, each
//! with the reason, and one that is not listed is an error.
//!
//! The core's mutants are compiled one by one, which is beyond doubt. Elsewhere they are too many for that:
//! all of them go into one program ([`at_once`]). With options of cargo-mutants, they are compiled one by one
//! there too.

mod at_once;

use crate::command::{cargo, command, root, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tool and its version: another one makes other changes.
const VERSION: &str = "27.1.0";

/// Where survivors outside the core are listed.
const LIST: &str = "docs/mutants.md";

/// A package, and which of its tests judge its mutants.
struct Package {
    name: &'static str,
    /// In `crates`.
    folder: &'static str,
    /// Files, and the tests that know them best and are quick. They go first; the globs leave no file out.
    nearest: &'static [(&'static str, &'static [&'static str])],
    /// What has the last word on a mutant that those let through: all tests, where none is named.
    tests: &'static [&'static str],
}

const CORE: &str = "unishape-core";

/// Seconds without optimisation, where most mutants have been noticed long before.
const SLOW: [&str; 14] = [
    "bc4_bc10_rank_a_thousand",
    "bytes_are_those_of_the_view",
    "sizes_are_written_along_shortened_axes",
    "nothing_is_unbounded",
    "text_fits_the_width",
    "damaged_files_are_read_or_refused",
    "promises_cost_nothing",
    "bc14_sums_of_arrays_too_large_to_copy",
    "large_arrays",
    // The command's.
    "bc1_a_million_shapes_take_no_more_memory_than_a_few",
    "bc5_to_bc9_any_files_are_broadcast_as_specified",
    "bc10_results_larger_than_memory_are_streamed",
    "bc8_long_rows_come_through_bit_for_bit",
    "a_write_that_fails_in_the_middle_leaves_nothing",
];

/// The oracle and the chores are not here: they are not what is tested.
const PACKAGES: [Package; 6] = [
    Package { name: CORE, folder: "core", nearest: &[], tests: &[] },
    Package {
        name: "unishape",
        folder: "unishape",
        // A mutant costs the linking of its tests more than anything else.
        nearest: &[
            ("crates/unishape/src/loops/*.rs", &["--lib", "--test=it"]),
            ("crates/unishape/src/*.rs", &["--test=it"]),
        ],
        // Without NumPy and the examples in the documentation: they take longer than the rest.
        tests: &["--lib", "--test=it", "--test=memory"],
    },
    Package {
        name: "unishape-npy",
        folder: "npy",
        nearest: &[("crates/npy/src/*.rs", &["--lib", "--test=files"])],
        // Without NumPy and the examples in the documentation.
        tests: &["--lib", "--test=files", "--test=regions", "--test=memory"],
    },
    Package {
        name: "unishape-explain",
        folder: "explain",
        nearest: &[],
        // Without a browser and the examples in the documentation.
        tests: &["--test=explain"],
    },
    Package { name: "unishape-atomic-file", folder: "atomic-file", nearest: &[], tests: &[] },
    Package { name: "unishape-cli", folder: "cli", nearest: &[], tests: &[] },
];

pub(crate) fn run_with(options: &[String]) -> Result<(), String> {
    let (chosen, more): (Vec<&Package>, &[String]) = match options {
        [] => (PACKAGES.iter().filter(|package| package.name == CORE).collect(), &[]),
        [all] if all == "--all" => (PACKAGES.iter().collect(), &[]),
        [name, more @ ..] => (PACKAGES.iter().filter(|package| package.name == name).collect(), more),
    };
    if chosen.is_empty() {
        let names = PACKAGES.map(|package| package.name).join(" | ");
        return Err(format!(
            "Usage: cargo xtask mutants [--all | PACKAGE [OPTION OF CARGO-MUTANTS...]]\n\nPACKAGE: {names}"
        ));
    }
    let tool = tool()?;
    for package in chosen {
        package.test(&tool, more)?;
    }
    Ok(())
}

/// cargo-mutants, installed for this project alone.
fn tool() -> Result<PathBuf, String> {
    let tool = root().join("target/tools/bin/cargo-mutants");
    let version = command(&tool, &["mutants", "--version"]).output();
    let is_right = version.is_ok_and(|output| output.stdout.trim_ascii().ends_with(VERSION.as_bytes()));
    if !is_right {
        let mut install =
            cargo(&["install", "cargo-mutants", "--locked", "--force", "--root", "target/tools"]);
        install.args(["--version", VERSION]);
        run("installing cargo-mutants", install)?;
    }
    Ok(tool)
}

impl Package {
    fn test(&self, tool: &Path, more: &[String]) -> Result<(), String> {
        let what = format!("mutants of {}", self.name);
        let output = root().join("target/mutants").join(self.name);
        // Each run leaves out what those before it noticed, but not what the code of another day was judged by.
        if output.exists() {
            fs::remove_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        }
        fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let survivors = if self.name == CORE || !more.is_empty() {
            self.one_by_one(tool, &output, more)?
        } else {
            eprintln!("\n=== {what}");
            let mut judged = at_once::judge(self, tool, &output)?;
            if !judged.left.is_empty() {
                let mut left = Vec::new();
                for name in &judged.left {
                    left.extend(["--re".into(), format!("^{}$", literal(name))]);
                }
                judged.survivors.extend(self.one_by_one(tool, &output, &left)?);
            }
            judged.survivors
        };
        let list = fs::read_to_string(root().join(LIST)).unwrap_or_default();
        let unlisted: Vec<_> = survivors
            .into_iter()
            .filter(|line| self.name == CORE || !list.contains(&without_place(line)))
            .collect();
        if unlisted.is_empty() {
            return Ok(());
        }
        let wish = if self.name == CORE {
            "write the missing tests"
        } else {
            "write tests, or list them in docs/mutants.md"
        };
        Err(format!("{what}: no test notices these; {wish}:\n{}", unlisted.join("\n")))
    }

    /// Compiles and judges each mutant for itself, and gives the survivors.
    fn one_by_one(&self, tool: &Path, output: &Path, more: &[String]) -> Result<Vec<String>, String> {
        let what = format!("mutants of {}", self.name);
        for (files, tests) in self.nearest {
            let others = self.nearest.iter().map(|(other, _)| other).filter(|other| *other != files);
            let mut mutants = self.mutants(tool, output, more);
            mutants.args(others.flat_map(|other| ["--exclude", other])).arg("--").args(*tests);
            mutants.arg("--").args(SLOW.iter().flat_map(|slow| ["--skip", slow]));
            finished(&format!("{what}: {files}"), mutants)?;
        }
        let mut mutants = self.mutants(tool, output, more);
        mutants.arg("--").args(self.tests);
        finished(&what, mutants)?;
        let found = |name| fs::read_to_string(output.join("mutants.out").join(name)).unwrap_or_default();
        let (missed, endless) = (found("missed.txt"), found("timeout.txt"));
        // Nothing in the core runs for long, so that there a mutant that does is not one that was noticed.
        let survivors = missed.lines().chain(endless.lines().filter(|_| self.name == CORE));
        Ok(survivors.map(str::to_owned).collect())
    }

    /// cargo-mutants with all but the tests.
    fn mutants(&self, tool: &Path, output: &Path, more: &[String]) -> Command {
        let mut mutants = command(tool, &["mutants", "--package", self.name, "--profile", "mutated"]);
        if !more.iter().any(|option| option == "--jobs" || option == "--in-place") {
            mutants.args(["--jobs", "2"]);
        }
        // A busy machine is no reason to call a mutant endless.
        mutants.args(["--minimum-test-timeout", "60", "--no-shuffle", "--iterate", "--output"]).arg(output);
        // That a case fails is enough, it need not be the smallest, nor be kept.
        mutants.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        mutants.args(more);
        mutants
    }
}

fn finished(what: &str, mut mutants: Command) -> Result<(), String> {
    eprintln!("\n=== {what}");
    let status = mutants.status().map_err(|error| format!("{what}: {error}"))?;
    // 2 and 3 are its codes for mutants that were missed and for those that ran out of time.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("{what}: failed ({status})"));
    }
    Ok(())
}

/// `file.rs:12:5: replace …` as `file.rs: replace …`: lines move, and a list would go stale with them.
fn without_place(mutant: &str) -> String {
    match mutant.splitn(4, ':').collect::<Vec<_>>()[..] {
        [file, _, _, change] => format!("{file}:{change}"),
        _ => mutant.to_owned(),
    }
}

/// A regular expression for this text.
fn literal(text: &str) -> String {
    let is_special = |c: char| r"\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| [Some('\\').filter(|_| is_special(c)), Some(c)]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::{literal, without_place};

    #[test]
    fn a_name_is_found_as_it_is() {
        assert_eq!(literal("a.rs:1:2: << with [T; 2]?"), r"a\.rs:1:2: << with \[T; 2\]\?");
    }

    #[test]
    fn the_place_of_a_mutant_is_left_out() {
        let mutant = "crates/core/src/size.rs:18:7: replace == with != in a::b";
        assert_eq!(without_place(mutant), "crates/core/src/size.rs: replace == with != in a::b");
    }
}
