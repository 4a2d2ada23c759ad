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
    /// Test only mutants whose name matches this regular expression; may be repeated.
    #[arg(long = "re", value_name = "REGEX")]
    names: Vec<String>,
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
        test(&package, options)?;
    }
    Ok(())
}

/// Tests the mutants of a package; an error lists the survivors without a reason.
fn test(package: &Package, options: &Options) -> Result<(), String> {
    let title = format!("mutants of {}", package.name);
    eprintln!("\n=== {title}");
    let folder = root().join("target/mutants");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_core = package.name == CORE;
    let files = options.files.iter().flat_map(|file| ["--file", file]);
    let names = options.names.iter().flat_map(|name| ["--re", name]);
    let mut selected: Vec<String> = files.chain(names).map(str::to_owned).collect();
    let survivors = if is_core || !options.options.is_empty() {
        selected.extend_from_slice(&options.options);
        cargo_mutants::run(package, &folder, &selected, is_core)?
    } else {
        schemata::run(package, &folder, &selected)?
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

#[cfg(test)]
mod tests {
    use super::without_position;

    #[test]
    fn position_of_a_mutant_is_removed() {
        let mutant = "crates/core/src/size.rs:18:7: replace == with != in a::b";
        assert_eq!(without_position(mutant), "crates/core/src/size.rs: replace == with != in a::b");
    }
}
