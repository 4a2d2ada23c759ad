//! The `unishape` command, as a function: for the program itself, and for `python -m unishape`.
//!
//! | module | contents |
//! |---|---|
//! | `args` | command-line arguments and help texts |
//! | `shared_args` | options of several subcommands |
//! | `error` | errors and their exit codes |
//! | `shape_input` | shapes given as text or as files of arrays |
//! | `dim_names` | shapes with names of dimensions |
//! | `sources` | arrays in files of every format |
//! | `chunks`, `chunk_grid` | shapes split into chunks of a file and of a Zarr array |
//! | `paths` | file names, extensions and directories |
//! | `destination` | checks of the paths that results are written to |
//! | `output` | standard output and atomically written files |
//! | `output_names` | unique file names of results |
//! | `array_json` | arrays formatted as JSON |
//! | `columns` | widths of text in terminal columns |
//! | `progress` | progress bar and interruption of long work |
//! | `signals` | signal handlers |
//! | `shape`, `explain`, `broadcast`, `eval`, `onnx`, `man` | one subcommand each |

mod args;
mod array_json;
mod broadcast;
#[cfg(feature = "zarr")]
mod chunk_grid;
mod chunks;
mod columns;
mod destination;
mod dim_names;
mod error;
mod eval;
mod explain;
mod man;
mod onnx;
mod output;
mod output_names;
mod paths;
mod progress;
mod shape;
mod shape_input;
mod shared_args;
mod signals;
mod sources;

use args::{Args, Command};
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use error::CliError;
use std::ffi::OsString;
use std::panic;

/// Runs the command and returns its exit code.
///
/// The first argument is the name of the command.
///
/// Prints to standard output and standard error, and installs signal handlers: it is the last that a process does.
///
/// ```
/// assert_eq!(unishape_cli::run(["unishape", "shape", "3x1", "4"]), 0);
/// assert_eq!(unishape_cli::run(["unishape", "shape", "--unknown"]), 2);
/// ```
pub fn run<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> u8 {
    #[cfg(target_os = "linux")]
    signals::report_truncated_inputs();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let args = match Args::try_parse_from(&arguments) {
        Ok(args) => args,
        Err(error) => return report_parse_error(&with_near_names(error), &arguments),
    };
    let (json, site) = (args.json, args.link.clone());
    let result = panic::catch_unwind(|| run_subcommand(args)).unwrap_or_else(|_| {
        // The panic hook has printed the reason and the place.
        Err(CliError::internal("the command panicked"))
    });
    match result {
        Ok(()) => 0,
        Err(error) => error.report(json, site.as_deref()),
    }
}

fn run_subcommand(args: Args) -> Result<(), CliError> {
    let json = args.json;
    match args.command {
        Command::Shape(args) => shape::run(args, json),
        Command::Explain(args) => explain::run(args, json),
        Command::Broadcast(args) => broadcast::run(args, json),
        Command::SumTo(args) => eval::sum_to(args, json),
        Command::Eval(args) => eval::run(args, json),
        Command::Onnx(args) => onnx::run(args, json),
        Command::Completions { shell } => completions(shell, json),
        Command::Man { dir, force } => man::run(Args::command(), &dir, force, json),
    }
}

/// Removes suggestions that are not near what was written: clap suggests `help` for `exlpain`.
fn with_near_names(mut error: clap::Error) -> clap::Error {
    for (invalid, suggested) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(written)) = error.get(invalid) else { continue };
        let is_near = |name: &String| is_near(written, name);
        let near = match error.get(suggested) {
            Some(ContextValue::String(name)) if is_near(name) => continue,
            Some(ContextValue::Strings(names)) => {
                names.iter().filter(|name| is_near(name)).cloned().collect()
            }
            Some(ContextValue::String(_)) => Vec::new(),
            _ => continue,
        };
        match near.is_empty() {
            true => error.remove(suggested),
            false => error.insert(suggested, ContextValue::Strings(near)),
        };
    }
    error
}

/// Whether a name begins with what was written, or at most a third of the characters differ.
fn is_near(written: &str, name: &str) -> bool {
    let distance = strsim::osa_distance(written, name);
    name.starts_with(written) || 3 * distance <= written.chars().count().max(name.chars().count())
}

/// Prints help, the version, or what is wrong with the command line, which has no arguments yet.
fn report_parse_error(error: &clap::Error, arguments: &[OsString]) -> u8 {
    let is_json = arguments.iter().skip(1).any(|word| word == "--json");
    if is_json && error.use_stderr() {
        let message = error.to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message).trim_end();
        let _ = output::print_json(&serde_json::json!({"error": "usage", "message": message}));
    }
    let _ = error.print();
    if error.use_stderr() { 2 } else { 0 }
}

fn completions(shell: clap_complete::Shell, json: bool) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "unishape", &mut script);
    let script = String::from_utf8_lossy(&script);
    if json { output::print_json(&serde_json::json!({ "script": script })) } else { output::print(&script) }
}
