//! `cargo xtask bench`: the benchmarks, beside their rivals. They are a crate of their own in `bench/`, outside
//! the workspace, so that only this chore builds the rivals; and a program in Python, for Python's.

use crate::command::{self, cargo, command, run, succeeds};
use crate::python;

pub(crate) fn run_with(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((first, rest)) if first == "python" => return in_python("bench/python", rest),
        Some((first, rest)) if first == "onnx" => return in_python("bench/python/onnx_graphs.py", rest),
        _ => {}
    }
    let mut bench = cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml"]);
    bench.args(["--target-dir", "target/bench", "--", "--into", "docs/benchmarks.md"]).args(args);
    command::run("unishape beside its rivals", bench)
}

/// In an environment of its own: the package as users install it, and its rivals.
fn in_python(program: &str, args: &[String]) -> Result<(), String> {
    let folder = command::root().join("target/bench/python");
    let python = python::within(&folder);
    if !succeeds(command(&python, &["-m", "pip", "--version"])) {
        run("an environment for Python", command("python3", &["-m", "venv", "target/bench/python"]))?;
    }
    let mut rivals = python::pip_install(&python);
    rivals.args(["--requirement", "bench/python/packages.txt"]);
    if args.iter().any(|arg| arg == "--torch") {
        rivals.arg("torch");
    }
    run("the rivals", rivals)?;
    run("the package", python::install(&python)?)?;
    let mut bench = command(&python, &[program, "--into", "docs/benchmarks.md"]);
    bench.args(args);
    run("unishape beside its rivals in Python", bench)
}
