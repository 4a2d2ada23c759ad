//! `cargo xtask bench`: unishape compared with other libraries, in Rust, in Python, by size, on reductions and on ONNX
//! models.
//!
//! `bench/` is a workspace of its own, so that only this task builds the other libraries.

use crate::command::{cargo, command, root, run as run_command, succeeds};
use crate::install::apt_install;
use crate::python;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((first, rest)) if first == "python" => {
            let torch = rest.iter().any(|arg| arg == "--torch");
            return run_python("bench/python", rest, if torch { &["torch"] } else { &[] });
        }
        Some((first, rest)) if first == "sweep" => {
            return run_python("bench/python/sweep.py", rest, &["torch"]);
        }
        Some((first, rest)) if first == "reduce" => {
            return run_python("bench/python/reduce.py", rest, &["torch", "pykeops"]);
        }
        Some((first, rest)) if first == "onnx" => {
            return run_python("bench/python/onnx_graphs.py", rest, &[]);
        }
        _ => {}
    }
    let mut bench = cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml"]);
    bench.args(["--target-dir", "target/bench", "--", "--into", "docs/benchmarks.md"]).args(args);
    run_command("the benchmark", bench)
}

/// Runs a Python benchmark in a virtual environment that has the package, built in release mode, and the other
/// libraries, with `more` of them. With `--redraw` nothing is measured, and any Python will do. With `--package` the
/// benchmark uses a package that is already built.
fn run_python(program: &str, args: &[String], more: &[&str]) -> Result<(), String> {
    if args.iter().any(|arg| arg == "--redraw") {
        let mut redraw = command("python3", &[program]);
        redraw.args(args);
        return run_command("tables and charts, from the results file", redraw);
    }
    let folder = root().join("target/bench/python");
    let python = python::interpreter(&folder);
    if !succeeds(command(&python, &["-m", "pip", "--version"])) {
        run_command("a virtual environment", command("python3", &["-m", "venv", "target/bench/python"]))?;
    }
    let mut libraries = python::pip_install(&python);
    libraries.args(["--requirement", "bench/python/packages.txt"]).args(more);
    if !more.is_empty() {
        // torch.compile and KeOps compile C++. Without a compiler they report an error, and the others are measured.
        if !succeeds(command("g++", &["--version"])) && !apt_install(&["g++"]) {
            eprintln!("no g++: install it to measure torch.compile and KeOps");
        }
    }
    run_command("the other libraries, installed", libraries)?;
    if !args.iter().any(|arg| arg.starts_with("--package")) {
        run_command("the package, installed", python::install(&python)?)?;
    }
    let mut bench = command(&python, &[program]);
    bench.args(args);
    run_command("the benchmark in Python", bench)
}
