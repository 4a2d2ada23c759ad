//! `cargo xtask bench`: unishape compared with other libraries, in Rust, in Python and on ONNX models.
//!
//! `bench/` is a workspace of its own, so that only this task builds the other libraries.

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
    command::run("the benchmark", bench)
}

/// Runs a Python benchmark in a virtual environment that has the package, built in release mode, and the other
/// libraries. With `--redraw` nothing is measured, and any Python will do.
fn in_python(program: &str, args: &[String]) -> Result<(), String> {
    if args.iter().any(|arg| arg == "--redraw") {
        let mut redraw = command("python3", &[program]);
        redraw.args(args);
        return run("tables and charts, from the results file", redraw);
    }
    let folder = command::root().join("target/bench/python");
    let python = python::within(&folder);
    if !succeeds(command(&python, &["-m", "pip", "--version"])) {
        run("a virtual environment", command("python3", &["-m", "venv", "target/bench/python"]))?;
    }
    let mut libraries = python::pip_install(&python);
    libraries.args(["--requirement", "bench/python/packages.txt"]);
    if args.iter().any(|arg| arg == "--torch") {
        libraries.arg("torch");
    }
    run("the other libraries, installed", libraries)?;
    run("the package, installed", python::install(&python)?)?;
    let mut bench = command(&python, &[program]);
    bench.args(args);
    run("the benchmark in Python", bench)
}
