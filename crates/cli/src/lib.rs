//! The `unishape` command, as a function: for the program itself, and for `python -m unishape`.
//!
//! | module | contents |
//! |---|---|
//! | `args` | command-line arguments and help texts |
//! | `shared_args` | options of several subcommands |
//! | `error` | errors and their exit codes |
//! | `shape_input` | shapes given as text or as `.npy` files |
//! | `mapped` | memory-mapped input files |
//! | `paths` | file names, extensions and directories |
//! | `destination` | checks of the paths that results are written to |
//! | `output` | standard output and atomically written files |
//! | `output_names` | unique file names of results |
//! | `array_text` | arrays formatted as text |
//! | `columns` | widths of text in terminal columns |
//! | `progress` | progress bar and interruption of long work |
//! | `signals` | signal handlers |
//! | `shape`, `explain`, `broadcast`, `eval`, `onnx` | one subcommand each |

mod args;
mod array_text;
mod broadcast;
mod columns;
mod destination;
mod error;
mod eval;
mod explain;
mod mapped;
mod onnx;
mod output;
mod output_names;
mod paths;
mod progress;
mod shape;
mod shape_input;
mod shared_args;
mod signals;

use args::{Args, Command};
use clap::{CommandFactory, Parser};
use error::CliError;
use std::ffi::OsString;

/// Runs the command with these arguments, the first of which is its name, and returns the exit code.
///
/// Prints to standard output and standard error, and installs signal handlers: it is the last that a process does.
///
/// ```
/// assert_eq!(unishape_cli::run(["unishape", "shape", "3x1", "4"]), 0);
/// assert_eq!(unishape_cli::run(["unishape", "shape", "--unknown"]), 2);
/// ```
pub fn run<A: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = A>) -> u8 {
    #[cfg(target_os = "linux")]
    signals::report_truncated_inputs();
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // Fails only where nobody reads it.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let result = match args.command {
        Command::Shape(args) => shape::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Broadcast(args) => broadcast::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Onnx(args) => onnx::run(args),
        Command::Completions { shell } => completions(shell),
    };
    match result {
        Ok(()) => 0,
        Err(error) => error.report(),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "unishape", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
