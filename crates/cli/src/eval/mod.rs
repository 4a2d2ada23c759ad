//! `unishape eval`: an expression computed from arrays in files to a file.
//!
//! | module | holds |
//! |---|---|
//! | `given` | what is given for the names, as it is written |
//! | `counted`, `listed` | ranges and small arrays on the command line |
//! | `inputs` | files opened, and the parts of them that go into a piece |
//! | `pieces` | a result cut into pieces that follow each other in a file |
//! | `job` | what is to be computed, and how its pieces are |
//! | `write` | the result to a file, piece by piece |
//! | `tell` | what is going to be computed, in words |
//! | `size` | amounts of memory on the command line |

mod counted;
mod given;
mod inputs;
mod job;
mod listed;
mod pieces;
pub(crate) mod size;
mod tell;
mod write;

use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::input::has_ending;
use crate::out::{self, bytes_text, is_stdout};
use crate::print;
use crate::target::{check_folder, check_free_place, check_room, destination_text, folder_of, free_space};
use crate::watch::Watch;
use given::Given;
use inputs::{Input, at_fault};
use job::Job;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use unishape::expr::Expr;

pub(crate) fn run(args: EvalArgs) -> Result<(), Failure> {
    let expr = Expr::parse(&args.expr).map_err(|error| at_fault(&error))?;
    let given: Vec<Given> =
        args.inputs.iter().map(|word| Given::read(word, &expr)).collect::<Result<_, _>>()?;
    let inputs: Vec<Input> = given.into_iter().map(Input::open).collect::<Result<_, _>>()?;
    let job = Job::new(expr, inputs, args.dtype, args.threads)?;
    if args.plan {
        return out::print(&tell::plan_text(&job, &job.pieces(args.memory), args.memory)?);
    }
    match args.out.as_deref() {
        Some(path) if !is_stdout(path) => to_file(&job, path, &args),
        out => to_terminal(&job, out.is_some(), &args),
    }
}

fn to_terminal(job: &Job, is_asked: bool, args: &EvalArgs) -> Result<(), Failure> {
    let what = || {
        let bytes = job.header().data_bytes().map_or_else(|_| "more than can be counted".into(), bytes_text);
        format!("{}, {bytes}", tell::result_text(job))
    };
    if args.writing.dry_run {
        say(args, &format!("{}{}\n", tell::inputs_text(&job.inputs, false), what()));
        return Ok(());
    }
    let is_small = print::is_small(&job.shape);
    if !is_small && !is_asked {
        let problem = "give -o FILE.npy to write it, or -o - to see its edges";
        return Err(Failure::usage(format!("the result is {}, too large to print; {problem}", what())));
    }
    out::print(&print::text(&job.shape, |piece| job.compute(piece))?)?;
    if !is_small {
        say(args, &format!("unishape: these are the edges of {}; give -o FILE.npy to write all\n", what()));
    }
    Ok(())
}

fn to_file(job: &Job, path: &Path, args: &EvalArgs) -> Result<(), Failure> {
    if has_ending(path, "npz") {
        let path = unishape::text::display_path(path);
        return Err(Failure::usage(format!("-o {path}: one array is written; give a file ending in .npy")));
    }
    let header = job.header();
    let of_result = |error| Failure::failed(format!("the result: {error}"));
    let head = header.encoded_len().map_err(of_result)?;
    let bytes = head.saturating_add(header.data_bytes().map_err(of_result)?);
    let folder = folder_of(path);
    // A pipe or a device is written to, not replaced, and has room of its own.
    let is_file = fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir());
    let free = if is_file { free_space(folder) } else { None };
    if is_file {
        check_folder(folder)?;
        check_free_place(path, args.writing.force)?;
        check_room("the result takes", bytes, folder, free)?;
    }
    let inputs = tell::inputs_text(&job.inputs, false);
    say(args, &format!("{inputs}{}, {}\n", tell::result_text(job), destination_text(bytes, path, free)));
    if args.writing.dry_run {
        return Ok(());
    }
    let pieces = job.pieces(args.memory);
    Watch::over(bytes, args.writing.quiet, |watch| write::write(job, &pieces, path, watch))
}

/// Says something on standard error, unless nothing is to be said.
fn say(args: &EvalArgs, text: &str) {
    if !args.writing.quiet {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}
