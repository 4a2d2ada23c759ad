//! The command, for `python -m unishape`.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these arguments, the first of which is its name, and returns the exit code.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
pub(crate) fn _run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| unishape_cli::run(arguments))
}
