//! `cargo xtask mutants`: the code is changed in one place after another, and some test has to notice.
//!
//! In the core no change may go unnoticed. Elsewhere those that do are listed in `docs/mutants.md`, each
//! with the reason, and one that is not listed is an error.

use crate::command::{cargo, command, root, run};
use std::fs;
use std::path::PathBuf;

/// The tool and its version: another one makes other changes.
const VERSION: &str = "27.1.0";

/// Where survivors outside the core are listed.
const LIST: &str = "docs/mutants.md";

/// A package, and which of its tests judge its mutants; all of them where none is named.
struct Package {
    name: &'static str,
    tests: &'static [&'static str],
}

const CORE: &str = "unishape-core";

/// The oracle and the chores are not here: they are not what is tested.
const PACKAGES: [Package; 3] = [
    Package { name: CORE, tests: &[] },
    // Without a browser, NumPy, and the examples in the documentation: they take longer than the rest.
    Package {
        name: "unishape",
        tests: &["--lib", "--test=it", "--test=explain", "--test=npy", "--test=whole_file", "--test=memory"],
    },
    Package { name: "unishape-cli", tests: &[] },
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
    fn test(&self, tool: &PathBuf, more: &[String]) -> Result<(), String> {
        let what = format!("mutants of {}", self.name);
        let output = root().join("target/mutants").join(self.name);
        fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let mut mutants = command(tool, &["mutants", "--package", self.name, "--jobs", "2"]);
        // A busy machine is no reason to call a mutant endless.
        mutants.args(["--minimum-test-timeout", "60", "--no-shuffle", "--output"]).arg(&output);
        mutants.args(more).arg("--").args(self.tests);
        eprintln!("\n=== {what}");
        let status = mutants.status().map_err(|error| format!("{what}: {error}"))?;
        // 2 and 3 are its codes for mutants that were missed and for those that ran out of time.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!("{what}: failed ({status})"));
        }
        let found = |name| fs::read_to_string(output.join("mutants.out").join(name)).unwrap_or_default();
        let list = fs::read_to_string(root().join(LIST)).unwrap_or_default();
        let (missed, endless) = (found("missed.txt"), found("timeout.txt"));
        // Nothing in the core runs for long, so that there a mutant that does is not one that was noticed.
        let survivors = missed.lines().chain(endless.lines().filter(|_| self.name == CORE));
        let unlisted: Vec<_> =
            survivors.filter(|line| self.name == CORE || !list.contains(&without_place(line))).collect();
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
}

/// `file.rs:12:5: replace …` as `file.rs: replace …`: lines move, and a list would go stale with them.
fn without_place(mutant: &str) -> String {
    match mutant.splitn(4, ':').collect::<Vec<_>>()[..] {
        [file, _, _, change] => format!("{file}:{change}"),
        _ => mutant.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_place;

    #[test]
    fn the_place_of_a_mutant_is_left_out() {
        let mutant = "crates/core/src/size.rs:18:7: replace == with != in a::b";
        assert_eq!(without_place(mutant), "crates/core/src/size.rs: replace == with != in a::b");
    }
}
