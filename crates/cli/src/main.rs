//! The `unishape` command.
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
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    signals::report_truncated_inputs();
    let args = Args::parse();
    let result = match args.command {
        Command::Shape(args) => shape::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Broadcast(args) => broadcast::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Onnx(args) => onnx::run(args),
        Command::Completions { shell } => completions(shell),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "unishape", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
