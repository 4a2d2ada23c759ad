//! The `unishape` command.
//!
//! | module | holds |
//! |---|---|
//! | `args` | the command line: what can be asked for, and the help texts |
//! | `failure` | what can go wrong, and the exit code for it |
//! | `input` | shapes as they are written, or files that have one |
//! | `mapped` | memory-mapped input files |
//! | `naming` | what the results of `broadcast` are called |
//! | `out` | text to the terminal, files all at once or not at all |
//! | `print` | arrays as text |
//! | `target` | places that results go to: what is there already, and how much room there is |
//! | `watch` | long work looked after: progress, and Ctrl-C |
//! | `shape`, `explain`, `broadcast`, `eval`, `onnx` | one subcommand each |

mod args;
mod broadcast;
mod eval;
mod explain;
mod failure;
mod input;
mod mapped;
mod naming;
mod onnx;
mod out;
mod print;
mod shape;
mod target;
mod watch;

use args::{Args, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
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
        Err(failure) => failure.report(),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "unishape", &mut script);
    out::print(&String::from_utf8_lossy(&script))
}
