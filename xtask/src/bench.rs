//! `cargo xtask bench`: the benchmarks, beside their rivals. They are a crate of their own in `bench/`, outside
//! the workspace, so that only this chore builds the rivals.

use crate::command::{self, cargo};

pub(crate) fn run_with(args: &[String]) -> Result<(), String> {
    let mut bench = cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml"]);
    bench.args(["--target-dir", "target/bench", "--", "--into", "docs/benchmarks.md"]).args(args);
    command::run("unishape beside its rivals", bench)
}
