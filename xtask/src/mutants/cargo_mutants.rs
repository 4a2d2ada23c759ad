//! cargo-mutants: generates mutants, and tests them one by one.

use crate::command::{command, output};
use crate::install::CargoTool;
use crate::workspace::Package;
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The version is fixed because another one generates other mutants.
pub(super) const TOOL: CargoTool = CargoTool { name: "mutants", version: "27.1.0" };

/// Environment of the tests of mutants: any failing case will do, neither minimal nor saved, without a
/// backtrace, which takes longer than most tests; code without optimisation needs larger stacks; and a twentieth of
/// the arguments in the accuracy tests of `unishape-vecmath` detects nearly as much.
pub(super) const ENVIRONMENT: [(&str, &str); 5] = [
    ("RUST_BACKTRACE", "0"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
    ("RUST_MIN_STACK", "134217728"),
    ("UNISHAPE_ACCURACY", "0.05"),
];

/// A change to the code.
pub(super) struct Mutant {
    pub(super) name: String,
    pub(super) file: String,
    /// The code that is replaced.
    pub(super) span: Range<Position>,
    pub(super) replacement: String,
}

/// A line and a column in characters, both counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(pub(super) usize, pub(super) usize);

/// The mutants that cargo-mutants generates with these options.
pub(super) fn list(package: &Package, options: &[String]) -> Result<Vec<Mutant>, String> {
    let mut list = command(TOOL.program(), &["mutants", "--list", "--json", "--package", &package.name]);
    list.args(options);
    let list: Value = serde_json::from_str(&output("cargo-mutants --list", list)?)
        .map_err(|error| format!("cargo-mutants --list: {error}"))?;
    let position = |of: &Value| {
        let number = |key: &str| of[key].as_u64().unwrap_or(0) as usize;
        Position(number("line"), number("column"))
    };
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let mutant = |of: &Value| Mutant {
        name: text(&of["name"]),
        file: text(&of["file"]),
        span: position(&of["span"]["start"])..position(&of["span"]["end"]),
        replacement: text(&of["replacement"]),
    };
    Ok(list.as_array().into_iter().flatten().map(mutant).collect())
}

/// Runs cargo-mutants, which compiles each mutant separately, and returns the survivors. The core has
/// no long loops: there, a mutant that times out is not detected.
pub(super) fn run(
    package: &Package,
    output: &Path,
    options: &[String],
    timeouts_survive: bool,
) -> Result<Vec<String>, String> {
    let mut mutants = command(TOOL.program(), &["mutants", "--package", &package.name]);
    mutants.args(["--no-shuffle", "--output"]).arg(output).args(options).envs(ENVIRONMENT);
    if !options.iter().any(|option| option == "--jobs" || option == "--in-place") {
        mutants.args(["--jobs", "2"]);
    }
    let status = mutants.status().map_err(|error| format!("cargo-mutants: {error}"))?;
    // Exit status 2: some mutants survive; 3: some time out.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo-mutants: failed ({status})"));
    }
    let list = |name| fs::read_to_string(output.join("mutants.out").join(name)).unwrap_or_default();
    let (missed, timeouts) = (list("missed.txt"), list("timeout.txt"));
    let survivors = missed.lines().chain(timeouts.lines().filter(|_| timeouts_survive));
    Ok(survivors.map(str::to_owned).collect())
}

/// `file.rs:12:5: replace …` as `file.rs: replace …`: positions change with every edit.
pub(super) fn without_position(mutant: &str) -> String {
    match mutant.splitn(4, ':').collect::<Vec<_>>()[..] {
        [file, _, _, change] => format!("{file}:{change}"),
        _ => mutant.to_owned(),
    }
}
