//! `cargo xtask test`: every check.

use crate::command::{self, cargo};
use crate::{fuzz, no_std, prove, python, tools};
use std::time::Instant;

/// Zarr in the command, which takes too long to compile to be a default feature.
const ZARR: &str = "unishape-cli/zarr";

pub(crate) fn run() -> Result<(), String> {
    let start = Instant::now();
    let tools = tools::set_up()?;

    command::run("format", cargo(&["fmt", "--all", "--check"]))?;
    // The benchmark is outside the workspace and takes minutes to build: only its format is checked.
    let bench = cargo(&["fmt", "--manifest-path", "bench/Cargo.toml", "--check"]);
    command::run("format of the benchmark", bench)?;
    let mut lints =
        cargo(&["clippy", "--workspace", "--all-targets", "--features", ZARR, "--", "-D", "warnings"]);
    tools.set_environment(&mut lints); // `crates/proven` calls the extracted C only if it exists
    command::run("lints", lints)?;

    // Without default features, and with each of them alone: what users compile who want less.
    for features in ["", "map", "parallel", "expr", "cuda"] {
        let check = ["clippy", "-p", "unishape", "--no-default-features", "--features", features];
        let mut check = cargo(&check);
        check.args(["--", "-D", "warnings"]);
        command::run(&format!("features of unishape: [{features}]"), check)?;
    }

    let tests = cargo(&["test", "-p", "unishape", "--no-default-features", "--tests"]);
    command::run("tests of unishape without its features", tests)?;

    no_std::check()?;
    no_std::check_panics()?;

    let mut docs = cargo(&["doc", "--workspace", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    tools.set_environment(&mut docs);
    command::run("documentation", docs)?;

    let mut tests = cargo(&["test", "--workspace", "--features", ZARR]);
    tools.set_environment(&mut tests);
    command::run("tests and examples in the documentation", tests)?;

    let mut compiled = cargo(&["test", "--workspace", "--features", ZARR, "--test", "it"]);
    compiled.env("UNISHAPE_JIT", "always");
    tools.set_environment(&mut compiled);
    command::run("tests of expressions, with compiled kernels", compiled)?;

    let python = python::test(tools.python())?;
    let fuzzing = fuzz::short()?;
    let proof = prove::replay_if_possible()?;

    let seconds = start.elapsed().as_secs();
    let skipped: Vec<_> = tools.skipped().into_iter().chain(python).chain(fuzzing).chain(proof).collect();
    match skipped[..] {
        [] => eprintln!("\nAll checks passed in {seconds} s."),
        ref skipped => {
            eprintln!("\nChecks passed in {seconds} s, except those skipped: {}.", skipped.join(", "));
        }
    }
    Ok(())
}
