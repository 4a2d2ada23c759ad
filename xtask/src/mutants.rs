//! `cargo xtask mutants`: changes the code in one place at a time; some test has to fail.
//!
//! In the core no mutant may survive. In other packages, survivors are listed in `docs/mutants.md` with
//! reasons; a survivor that is not listed is an error, and so is an entry that matches no mutant.
//!
//! cargo-mutants generates the mutants, and runs those of the core. In the other packages there are
//! thousands, and [`schemata`] builds all of them into one program.

mod cargo_mutants;
mod schemata;

use crate::command::root;
use crate::workspace::{Package, packages};
use cargo_mutants::without_position;
use schemata::{Mode, Phase};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::time::Duration;

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
    /// Test only every N-th mutant of a package other than the core.
    #[arg(long, value_name = "N", default_value = "1")]
    sample: NonZeroUsize,
    /// On each mutant, run only the first tests that take this CPU time together; one that passes them survives.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Skip mutants that an earlier run has decided, except survivors, unless their function has changed.
    #[arg(long)]
    resume: bool,
    /// Build the mutants and measure the tests, but run none.
    #[arg(long, conflicts_with = "prepared")]
    prepare: bool,
    /// Run the mutants that the last `--prepare` of the package has built, except those that an earlier run has decided.
    #[arg(long)]
    prepared: bool,
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
        let phase = match (options.prepare, options.prepared) {
            (true, _) => Phase::Prepare,
            (_, true) => Phase::Run,
            _ => Phase::All,
        };
        let limit = options.limit.map_or(Duration::MAX, Duration::from_secs);
        let mode = Mode { sample: options.sample.get(), limit, resume: options.resume, phase };
        schemata::run(package, &folder, &selected, mode)?
    };
    let list = match is_core {
        true => BTreeMap::new(),
        false => listed(&fs::read_to_string(root().join(SURVIVORS)).unwrap_or_default()),
    };
    let mut places = list.clone();
    let is_unlisted = |mutant: &String| match places.get_mut(&without_position(mutant)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let unlisted: Vec<_> = survivors.into_iter().filter(is_unlisted).collect();
    let mut errors = Vec::new();
    if !unlisted.is_empty() {
        let advice = match is_core {
            true => "write tests",
            false => "write tests, or list them in docs/mutants.md",
        };
        errors.push(format!("{title}: no test detects these; {advice}:\n{}", unlisted.join("\n")));
    }
    let outdated = outdated(package, &list)?;
    if !outdated.is_empty() {
        errors.push(format!("{SURVIVORS} lists more mutants than there are:\n{}", outdated.join("\n")));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// The survivors in a list, without positions, and in how many places each survives.
fn listed(list: &str) -> BTreeMap<String, usize> {
    let mut listed = BTreeMap::new();
    for line in list.lines() {
        let entry = line.trim_start().strip_prefix("- `").and_then(|line| line.rsplit_once('`'));
        let Some((mutant, rest)) = entry.filter(|(mutant, _)| mutant.contains(".rs: ")) else { continue };
        let places = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(" places)"));
        let places = places.and_then(|number| number.parse().ok()).unwrap_or(1);
        *listed.entry(mutant.to_owned()).or_default() += places;
    }
    listed
}

/// The entries of the list that name a file of this package and more mutants than cargo-mutants generates now.
fn outdated(package: &Package, list: &BTreeMap<String, usize>) -> Result<Vec<String>, String> {
    let folder = package.relative(&package.folder).to_string_lossy().into_owned() + "/";
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    if list.keys().any(|mutant| mutant.starts_with(&folder)) {
        for mutant in cargo_mutants::list(package, &[])? {
            *places.entry(without_position(&mutant.name)).or_default() += 1;
        }
    }
    let of_package = list.iter().filter(|(mutant, _)| mutant.starts_with(&folder));
    let found = |mutant| places.get(mutant).copied().unwrap_or(0);
    Ok(of_package
        .filter(|&(mutant, &listed)| listed > found(mutant))
        .map(|(mutant, listed)| format!("{mutant} ({listed} listed, {} found)", found(mutant)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::cargo_mutants::without_position;
    use super::listed;

    #[test]
    fn position_of_a_mutant_is_removed() {
        let mutant = "crates/core/src/size.rs:18:7: replace == with != in a::b";
        assert_eq!(without_position(mutant), "crates/core/src/size.rs: replace == with != in a::b");
    }

    #[test]
    fn entries_of_the_list_are_counted() {
        let list = "- Reason, with `a.rs` in it:\n  - `a.rs: replace | with ^ in b` (2 places)\n\
            - `a.rs: replace c -> &'d `e` with \"\"`\n| `a.rs` | 1 |\n";
        let expected = [("a.rs: replace c -> &'d `e` with \"\"", 1), ("a.rs: replace | with ^ in b", 2)];
        assert_eq!(listed(list), expected.map(|(name, places)| (name.to_owned(), places)).into());
    }
}
