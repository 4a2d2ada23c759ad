//! `unishape eval`: an expression computed from arrays in files, to a file or the terminal.
//!
//! | module | contents |
//! |---|---|
//! | `binding` | `NAME=VALUE` arguments |
//! | `inputs` | opened inputs, and their parts for a chunk of the result |
//! | `block_parts` | the same, block by block of a chunk of a Zarr array |
//! | `decode` | arrays in chunks, decoded to temporary files |
//! | `job` | the computation: expression, inputs, shape and dtype |
//! | `write`, `write_zarr` | the result written to a file or a Zarr store, chunk by chunk |
//! | `summary` | descriptions of the inputs, the result and the plan |
//! | `memory_size` | memory sizes on the command line |

mod binding;
#[cfg(feature = "zarr")]
mod block_parts;
#[cfg(feature = "zarr")]
mod decode;
mod inputs;
mod job;
pub(crate) mod memory_size;
mod summary;
mod write;
#[cfg(feature = "zarr")]
mod write_zarr;

use crate::args::{EvalArgs, OutputArgs, SumToArgs};
use crate::array_json::array_json;
use crate::destination::{
    check_directory_exists, check_free_space, check_target, destination_text, free_space,
};
use crate::error::CliError;
use crate::output::{self, print_info};
use crate::paths::{has_extension, is_other_format, is_stdout, parent_directory};
use crate::progress::{Progress, Total};
use binding::Binding;
use indicatif::BinaryBytes;
use inputs::Input;
pub(crate) use inputs::expression_error;
use job::Job;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use unishape::expr::Expr;
use unishape::notation::shape_text;
use unishape::{Error, text};
use unishape_array_text::IndexRanges;
#[cfg(feature = "zarr")]
use unishape_atomic_file::resolve_target;
use unishape_core::check_broadcast_to;
use unishape_files::{Container, Location};

pub(crate) fn run(args: EvalArgs, json: bool) -> Result<(), CliError> {
    check_stdin_once(&args.inputs)?;
    let expr = Expr::parse(&args.expr).map_err(|error| expression_error(&error))?;
    let mut inputs: Vec<Input> = Vec::new();
    for word in &args.inputs {
        let bindings = Binding::parse(word, &expr)?;
        inputs.extend(bindings.into_iter().map(Input::open).collect::<Result<Vec<_>, _>>()?);
    }
    let job = Job::new(expr, inputs, args.dtype)?;
    job.check_rules(args.rules.rules())?;
    execute(&job, args.plan, &args.output, json)
}

/// `unishape sum-to`: sums an array over the dimensions that broadcasting would stretch.
pub(crate) fn sum_to(args: SumToArgs, json: bool) -> Result<(), CliError> {
    let input = Input::open(Binding::of_file("x", Location::parse(&args.input)?))?;
    let shape = input.shape().unwrap_or_default();
    if let Err(reason) = check_broadcast_to(args.rules.rules(), &args.shape, shape) {
        let error = Error::not_broadcastable(&args.shape, shape, reason);
        let message = format!("cannot sum {} to {}: {error}", input.text, shape_text(&args.shape));
        return Err(CliError::broadcast(&error, message));
    }
    let expr = sum_expression(shape, &args.shape);
    let expr = Expr::parse(&expr).map_err(|error| expression_error(&error))?;
    let job = Job::new(expr, vec![input], None)?;
    execute(&job, false, &args.output, json)
}

/// The expression that sums an array `x` of one shape to another shape, with the dtype of NumPy's `sum`.
fn sum_expression(from: &[usize], to: &[usize]) -> String {
    let more = from.len() - to.len();
    let is_summed = |&dim: &usize| dim < more || to[dim - more] != from[dim];
    let axes: String = (0..from.len()).filter(is_summed).map(|dim| format!("{dim},")).collect();
    let index = if more == 0 { String::new() } else { format!("[{}]", vec!["0"; more].join(", ")) };
    format!("sum(x, axis=({axes}), keepdims=True){index}")
}

/// Refuses to read standard input for more than one variable.
fn check_stdin_once(words: &[OsString]) -> Result<(), CliError> {
    let is_stdin = |word: &&OsString| word.as_encoded_bytes().ends_with(b"=-");
    match words.iter().filter(is_stdin).count() {
        0 | 1 => Ok(()),
        _ => Err(CliError::usage("standard input (-) can be read only once")),
    }
}

/// Computes the result and prints it or writes it to a file; with `plan`, prints only how.
fn execute(job: &Job, plan: bool, args: &OutputArgs, json: bool) -> Result<(), CliError> {
    job.check_memory(args.memory)?;
    if plan {
        let text = summary::plan_text(job, &job.chunks(args.memory), args.memory)?;
        return match json {
            true => output::print_json(&json!({"shape": job.shape, "dtype": job.dtype.name(), "plan": text})),
            false => output::print(&text),
        };
    }
    let write_or_print = || match args.out.as_deref() {
        Some(path) if !is_stdout(path) => write_to_file(job, path, args, json),
        Some(_) if !json && !io::stdout().is_terminal() => write_to_stdout(job, args),
        out => print_result(job, out.is_some(), args, json),
    };
    match args.threads {
        Some(threads) => unishape::with_num_threads(threads, write_or_print),
        None => write_or_print(),
    }
}

/// Prints a small result. With `-o -` on a terminal, prints the edges of a large one.
fn print_result(job: &Job, with_edges: bool, args: &OutputArgs, json: bool) -> Result<(), CliError> {
    let result = || {
        let size = match job.header().data_bytes() {
            Ok(bytes) => BinaryBytes(bytes).to_string(),
            Err(_) => "more than 2^64 bytes".into(),
        };
        format!("{}, {size}", summary::result_text(job))
    };
    let quiet = args.writing.quiet;
    if args.writing.dry_run {
        if json {
            return output::print_json(&summary::result_json(job));
        }
        print_info(quiet, &format!("{}{}\n", summary::inputs_text(&job.inputs, |_| ""), result()));
        return Ok(());
    }
    let is_small = unishape_array_text::is_small(&job.shape);
    if !is_small && (!with_edges || json) {
        let hint = match (json, io::stdout().is_terminal()) {
            (true, _) => "use -o FILE.npy to write it",
            (false, true) => "use -o FILE.npy to write it, or -o - to print its edges",
            (false, false) => "use -o FILE.npy to write it, or -o - to write an .npy file to standard output",
        };
        return Err(CliError::usage(format!("the result is {}, too large to print; {hint}", result())));
    }
    let whole = job.whole_inputs(&|| false)?;
    let whole = whole.as_ref().map(|inputs| job.bind(inputs)).transpose()?;
    if json {
        let all: IndexRanges = job.shape.iter().map(|&size| 0..size).collect();
        let mut object = summary::result_json(job);
        object["data"] = array_json(&job.compute(&all, whole.as_ref())?);
        return output::print_json(&object);
    }
    output::print(&output::array_text(&job.shape, |region| job.compute(region, whole.as_ref()))?)?;
    if !is_small {
        let note = format!("unishape: printed the edges of {}; use -o FILE.npy to write all\n", result());
        print_info(quiet, &note);
    }
    Ok(())
}

/// The bytes of the result as an `.npy` file.
fn file_bytes(job: &Job) -> Result<u64, CliError> {
    let header = job.header();
    let result_error = |error| CliError::input(format!("the result: {error}"));
    let head = header.encoded_len().map_err(result_error)?;
    Ok(head.saturating_add(header.data_bytes().map_err(result_error)?))
}

/// Writes the result as an `.npy` file to standard output, which is not a terminal.
fn write_to_stdout(job: &Job, args: &OutputArgs) -> Result<(), CliError> {
    let bytes = file_bytes(job)?;
    let quiet = args.writing.quiet;
    let inputs = summary::inputs_text(&job.inputs, |_| "");
    let result = summary::result_text(job);
    print_info(quiet, &format!("{inputs}{result}, {} to standard output\n", BinaryBytes(bytes)));
    if args.writing.dry_run {
        return Ok(());
    }
    let total = job.iterations.map_or(Total::Bytes(bytes), Total::Iterations);
    Progress::run(total, quiet, |progress| write::write_to_stdout(job, &job.chunks(args.memory), progress))
}

/// Writes the result to a Zarr store, as its array `name` or `result`.
#[cfg(feature = "zarr")]
fn write_to_store(job: &Job, out: &Location, args: &OutputArgs, json: bool) -> Result<(), CliError> {
    let Location::Member { path, name, .. } = out else { return Err(CliError::internal("no store")) };
    let name = name.as_deref().unwrap_or("result");
    if name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        return Err(CliError::usage(format!(
            "-o {out}: '{}' is no name of an array",
            text::truncate(name, 60)
        )));
    }
    check_directory_exists(parent_directory(path))?;
    if fs::symlink_metadata(path).is_ok() && !args.writing.force {
        return Err(output::already_exists(path));
    }
    let is_input =
        |input: &Input| input.path().is_some_and(|own| resolve_target(own) == resolve_target(path));
    if let Some(input) = job.inputs.iter().find(|input| is_input(input)) {
        let message = format!("{} would be overwritten by the result; choose another -o", input.text);
        return Err(CliError::usage(message));
    }
    let bytes = job.header().data_bytes()?;
    let grid = write_zarr::chunk_grid(job, &args.zarr)?;
    let quiet = args.writing.quiet || json;
    let inputs = summary::inputs_text(&job.inputs, |_| "");
    let (result, chunk) = (summary::result_text(job), shape_text(&grid.chunk));
    let size = BinaryBytes(bytes);
    print_info(
        quiet,
        &format!("{inputs}{result}, {size} before compression, in chunks of {chunk} to {out}\n"),
    );
    if !args.writing.dry_run {
        let target = write_zarr::ZarrTarget { path, name, args: &args.zarr, force: args.writing.force };
        Progress::run(Total::Bytes(bytes), quiet, |progress| {
            write_zarr::write(job, &grid, &target, args.memory, progress)
        })?;
    }
    if !json {
        return Ok(());
    }
    let mut object = summary::result_json(job);
    object["path"] = out.to_string().into();
    object["chunks"] = grid.chunk.clone().into();
    object["written"] = (!args.writing.dry_run).into();
    output::print_json(&object)
}

#[cfg(not(feature = "zarr"))]
fn write_to_store(_: &Job, out: &Location, _: &OutputArgs, _: bool) -> Result<(), CliError> {
    Err(crate::sources::without_zarr(out.path().unwrap_or(Path::new("-"))))
}

fn write_to_file(job: &Job, path: &Path, args: &OutputArgs, json: bool) -> Result<(), CliError> {
    let location = Location::parse(path.as_os_str())?;
    if let Location::Member { container: Container::Zarr, .. } = location {
        return write_to_store(job, &location, args, json);
    }
    if has_extension(path, "npz") {
        let path = text::display_path(path);
        let message = format!("-o {path}: the result is a single array; give a file ending in .npy");
        return Err(CliError::usage(message));
    }
    let bytes = file_bytes(job)?;
    let directory = parent_directory(path);
    // A pipe or a device is written in place: it is not replaced and takes no space of its directory.
    let is_file = fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir());
    let free = if is_file { free_space(directory) } else { None };
    if is_file && is_other_format(path) {
        let path = text::display_path(path);
        let message = format!("-o {path}: cannot write this format; give a file ending in .npy or .zarr");
        return Err(CliError::usage(message));
    }
    if is_file {
        check_directory_exists(directory)?;
        check_target(path, args.writing.force)?;
        check_free_space("the result needs", bytes, directory, free)?;
    }
    let inputs = summary::inputs_text(&job.inputs, |_| "");
    let result = summary::result_text(job);
    let quiet = args.writing.quiet || json;
    print_info(quiet, &format!("{inputs}{result}, {}\n", destination_text(bytes, path, free)));
    if !args.writing.dry_run {
        let chunks = job.chunks(args.memory);
        let total = job.iterations.map_or(Total::Bytes(bytes), Total::Iterations);
        Progress::run(total, quiet, |progress| {
            write::write(job, &chunks, path, args.writing.force, progress)
        })?;
    }
    if !json {
        return Ok(());
    }
    let mut object = summary::result_json(job);
    object["path"] = text::display_path(path).into();
    object["bytes"] = bytes.into();
    object["written"] = (!args.writing.dry_run).into();
    output::print_json(&object)
}

#[cfg(test)]
mod tests {
    use super::sum_expression;

    #[test]
    fn all_stretched_dimensions_are_summed() {
        assert_eq!(sum_expression(&[2, 3], &[2, 3]), "sum(x, axis=(), keepdims=True)");
        assert_eq!(sum_expression(&[2, 3], &[2, 1]), "sum(x, axis=(1,), keepdims=True)");
        assert_eq!(sum_expression(&[5, 2, 3], &[1]), "sum(x, axis=(0,1,2,), keepdims=True)[0, 0]");
        assert_eq!(sum_expression(&[4], &[]), "sum(x, axis=(0,), keepdims=True)[0]");
    }
}
