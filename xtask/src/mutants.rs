//! `cargo xtask mutants`: changes the code in one place at a time; some test has to fail.
//!
//! In the core no mutant may survive. In other packages, survivors are listed in `docs/mutants.md` with
//! reasons; a survivor that is not listed is an error.
//!
//! cargo-mutants generates the mutants, and runs those of the core. In the other packages there are
//! thousands, and [`schemata`] builds all of them into one program.

mod cargo_mutants;
mod schemata;

use crate::command::root;
use crate::workspace::{Package, packages};
use std::fs;

/// Survivors outside the core, with reasons.
const SURVIVORS: &str = "docs/mutants.md";

const CORE: &str = "unishape-core";

/// Arguments of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Test every published package.
    #[arg(long, conflicts_with = "package")]
    all: bool,
    /// The package to test.
    #[arg(default_value = CORE)]
    package: String,
    /// Test only files that match this pattern, from the root of the repository; may be repeated.
    #[arg(long = "file", value_name = "GLOB")]
    files: Vec<String>,
    /// Options of cargo-mutants, which then runs the mutants itself.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, requires = "package")]
    options: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let published = packages()?.into_iter().filter(|package| package.published);
    let chosen: Vec<Package> =
        published.filter(|package| options.all || package.name == options.package).collect();
    if chosen.is_empty() {
        return Err(format!("no published package is named '{}'", options.package));
    }
    cargo_mutants::TOOL.install()?;
    for package in chosen {
        test(&package, &options.files, &options.options)?;
    }
    Ok(())
}

/// Tests the mutants of a package; an error lists the survivors without a reason.
fn test(package: &Package, files: &[String], options: &[String]) -> Result<(), String> {
    let title = format!("mutants of {}", package.name);
    eprintln!("\n=== {title}");
    let output = root().join("target/mutants").join(&package.name);
    fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let is_core = package.name == CORE;
    let of_files = files.iter().flat_map(|file| ["--file".to_owned(), file.clone()]).collect::<Vec<_>>();
    let survivors = if is_core || !options.is_empty() {
        cargo_mutants::run(package, &output, &[&of_files, options].concat(), is_core)?
    } else {
        let mut results = schemata::run(package, &output, &of_files)?;
        if !results.unsupported.is_empty() {
            let names = results.unsupported.iter();
            let only: Vec<String> =
                names.flat_map(|name| ["--re".into(), format!("^{}$", escape(name))]).collect();
            results.survivors.extend(cargo_mutants::run(package, &output, &only, is_core)?);
        }
        results.survivors
    };
    let list = fs::read_to_string(root().join(SURVIVORS)).unwrap_or_default();
    let is_listed = |mutant: &String| !is_core && list.contains(&without_position(mutant));
    let unlisted: Vec<_> = survivors.into_iter().filter(|mutant| !is_listed(mutant)).collect();
    if unlisted.is_empty() {
        return Ok(());
    }
    let advice = match is_core {
        true => "write tests",
        false => "write tests, or list them in docs/mutants.md",
    };
    Err(format!("{title}: no test detects these; {advice}:\n{}", unlisted.join("\n")))
}

/// `file.rs:12:5: replace …` as `file.rs: replace …`: positions change with every edit.
fn without_position(mutant: &str) -> String {
    match mutant.splitn(4, ':').collect::<Vec<_>>()[..] {
        [file, _, _, change] => format!("{file}:{change}"),
        _ => mutant.to_owned(),
    }
}

/// A regular expression that matches this text.
fn escape(text: &str) -> String {
    let is_special = |c: char| r"\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| [Some('\\').filter(|_| is_special(c)), Some(c)]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::{escape, without_position};

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(escape("a.rs:1:2: << with [T; 2]?"), r"a\.rs:1:2: << with \[T; 2\]\?");
    }

    #[test]
    fn position_of_a_mutant_is_removed() {
        let mutant = "crates/core/src/size.rs:18:7: replace == with != in a::b";
        assert_eq!(without_position(mutant), "crates/core/src/size.rs: replace == with != in a::b");
    }
}
