//! `cargo xtask test`: every check there is.

use crate::command::{self, cargo};
use crate::{fuzz, no_std, prove, python, tools};
use std::time::Instant;

pub(crate) fn run() -> Result<(), String> {
    let start = Instant::now();
    let tools = tools::set_up()?;

    command::run("format", cargo(&["fmt", "--all", "--check"]))?;
    // The benchmark is outside the workspace, and its rivals take minutes to build: only its format is looked at.
    let bench = cargo(&["fmt", "--manifest-path", "bench/Cargo.toml", "--check"]);
    command::run("format of the benchmark", bench)?;
    let mut lints = cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    tools.hand_to(&mut lints); // what calls the proven programs is there only together with them
    command::run("lints", lints)?;

    no_std::build()?;
    no_std::cannot_panic()?;

    let mut docs = cargo(&["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    tools.hand_to(&mut docs);
    command::run("documentation", docs)?;

    let mut tests = cargo(&["test", "--workspace"]);
    tools.hand_to(&mut tests);
    command::run("tests and examples in the documentation", tests)?;

    let not_in_python = python::test(&tools)?;
    let not_fuzzed = fuzz::short()?;
    let not_proven = prove::in_test()?;

    let seconds = start.elapsed().as_secs();
    let missing: Vec<_> =
        tools.missing().into_iter().chain(not_in_python).chain(not_fuzzed).chain(not_proven).collect();
    match missing[..] {
        [] => eprintln!("\nAll is well, after {seconds} seconds."),
        ref missing => {
            eprintln!("\nWell but for what was skipped ({}), after {seconds} seconds.", missing.join(", "))
        }
    }
    Ok(())
}
