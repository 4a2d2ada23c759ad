//! `unishape eval`: an expression computed from arrays in files, to a file or the terminal.
//!
//! | module | contents |
//! |---|---|
//! | `binding` | `NAME=VALUE` arguments |
//! | `arange`, `list_literal` | ranges and small arrays on the command line |
//! | `inputs` | opened inputs, and their parts for a chunk of the result |
//! | `chunks` | the result split into chunks that are contiguous in its file |
//! | `job` | the computation: expression, inputs, shape and dtype |
//! | `write` | the result written to a file, chunk by chunk |
//! | `summary` | descriptions of the inputs, the result and the plan |
//! | `memory_size` | memory sizes on the command line |

mod arange;
mod binding;
mod chunks;
mod inputs;
mod job;
mod list_literal;
pub(crate) mod memory_size;
mod summary;
mod write;

use crate::args::EvalArgs;
use crate::array_text;
use crate::destination::{
    check_directory_exists, check_free_space, check_target, destination_text, free_space,
};
use crate::error::CliError;
use crate::output::{self, print_info};
use crate::paths::{has_extension, is_stdout, parent_directory};
use crate::progress::{Progress, Total};
use binding::Binding;
use indicatif::BinaryBytes;
use inputs::{Input, expression_error};
use job::Job;
use std::fs;
use std::path::Path;
use unishape::expr::Expr;
use unishape::text;

pub(crate) fn run(args: EvalArgs) -> Result<(), CliError> {
    let expr = Expr::parse(&args.expr).map_err(|error| expression_error(&error))?;
    let bindings: Vec<Binding> =
        args.inputs.iter().map(|word| Binding::parse(word, &expr)).collect::<Result<_, _>>()?;
    let inputs: Vec<Input> = bindings.into_iter().map(Input::open).collect::<Result<_, _>>()?;
    let job = Job::new(expr, inputs, args.dtype, args.threads)?;
    job.check_memory(args.memory)?;
    if args.plan {
        return output::print(&summary::plan_text(&job, &job.chunks(args.memory), args.memory)?);
    }
    match args.out.as_deref() {
        Some(path) if !is_stdout(path) => write_to_file(&job, path, &args),
        out => print_result(&job, out.is_some(), &args),
    }
}

/// Prints a small result. With `-o -`, prints the edges of a large one.
fn print_result(job: &Job, with_edges: bool, args: &EvalArgs) -> Result<(), CliError> {
    let result = || {
        let size = match job.header().data_bytes() {
            Ok(bytes) => BinaryBytes(bytes).to_string(),
            Err(_) => "more than 2^64 bytes".into(),
        };
        format!("{}, {size}", summary::result_text(job))
    };
    let quiet = args.writing.quiet;
    if args.writing.dry_run {
        print_info(quiet, &format!("{}{}\n", summary::inputs_text(&job.inputs, |_| ""), result()));
        return Ok(());
    }
    let is_small = array_text::is_small(&job.shape);
    if !is_small && !with_edges {
        let hint = "use -o FILE.npy to write it, or -o - to print its edges";
        return Err(CliError::usage(format!("the result is {}, too large to print; {hint}", result())));
    }
    let whole = job.whole_inputs()?;
    let whole = whole.as_ref().map(|inputs| job.bind(inputs)).transpose()?;
    output::print(&array_text::format_array(&job.shape, |region| job.compute(region, whole.as_ref()))?)?;
    if !is_small {
        let note = format!("unishape: printed the edges of {}; use -o FILE.npy to write all\n", result());
        print_info(quiet, &note);
    }
    Ok(())
}

fn write_to_file(job: &Job, path: &Path, args: &EvalArgs) -> Result<(), CliError> {
    if has_extension(path, "npz") {
        let path = text::display_path(path);
        let message = format!("-o {path}: the result is a single array; give a file ending in .npy");
        return Err(CliError::usage(message));
    }
    let header = job.header();
    let result_error = |error| CliError::failed(format!("the result: {error}"));
    let head = header.encoded_len().map_err(result_error)?;
    let bytes = head.saturating_add(header.data_bytes().map_err(result_error)?);
    let directory = parent_directory(path);
    // A pipe or a device is written in place: it is not replaced and takes no space of its directory.
    let is_file = fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir());
    let free = if is_file { free_space(directory) } else { None };
    if is_file {
        check_directory_exists(directory)?;
        check_target(path, args.writing.force)?;
        check_free_space("the result needs", bytes, directory, free)?;
    }
    let inputs = summary::inputs_text(&job.inputs, |_| "");
    let result = summary::result_text(job);
    let quiet = args.writing.quiet;
    print_info(quiet, &format!("{inputs}{result}, {}\n", destination_text(bytes, path, free)));
    if args.writing.dry_run {
        return Ok(());
    }
    let chunks = job.chunks(args.memory);
    let total = job.iterations.map_or(Total::Bytes(bytes), Total::Iterations);
    Progress::run(total, quiet, |progress| write::write(job, &chunks, path, args.writing.force, progress))
}
