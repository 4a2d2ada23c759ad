//! `unishape onnx explicit` and `implicit`: models with explicit or implicit broadcasts.

use super::args::RewriteArgs;
use super::report_text::{report_text, summary};
use crate::destination::{
    check_directory_exists, check_free_space, check_target, destination_text, free_space,
};
use crate::error::CliError;
use crate::output::{self, commit, create_file, print_info, write_error};
use crate::paths::{is_stdout, parent_directory};
use std::io::Write;
use std::path::Path;
use unishape::text;
use unishape_atomic_file::resolve_target;
use unishape_onnx::{Error, Model, Rewritten, explain, explicit, implicit};

/// A way to rewrite a model, and how it is reported.
pub(crate) struct Rewrite {
    rewrite: fn(&Model) -> Result<Rewritten, Error>,
    /// What has happened to the Expand nodes.
    done: &'static str,
    /// What `--check` reports about them.
    to_do: &'static str,
    command: &'static str,
}

pub(crate) const EXPLICIT: Rewrite =
    Rewrite { rewrite: explicit, done: "added", to_do: "missing", command: "explicit" };
pub(crate) const IMPLICIT: Rewrite =
    Rewrite { rewrite: implicit, done: "removed", to_do: "unnecessary", command: "implicit" };

pub(crate) fn run(args: &RewriteArgs, rewrite: &Rewrite) -> Result<(), CliError> {
    let model = Model::open(&args.model).map_err(CliError::failed)?;
    let shown = text::display_path(&args.model);
    let rewritten =
        (rewrite.rewrite)(&model).map_err(|error| CliError::failed(format!("{shown}: {error}")))?;
    let report = explain(&model);
    let quiet = args.writing.quiet;
    for skipped in &report.skipped {
        print_info(quiet, &format!("unishape: not analyzed: {skipped}\n"));
    }
    let count = expand_count(rewritten.expands);
    let Some(path) = &args.out else {
        if rewritten.expands == 0 {
            print_info(quiet, &format!("{shown}: {}; nothing to do\n", summary(&model, &report)));
            return Ok(());
        }
        if !quiet && rewrite.command == EXPLICIT.command {
            output::print(&report_text(&model, &report))?;
        }
        let Rewrite { to_do, command, .. } = rewrite;
        let hint = format!("run `unishape onnx {command} {shown} -o FILE.onnx`");
        return Err(CliError::failed(format!("{shown}: {count} {to_do}; {hint}")));
    };
    write(args, &model, &rewritten.model, path, &format!("{count} {}", rewrite.done))
}

fn expand_count(count: usize) -> String {
    match count {
        0 => "no Expand".into(),
        1 => "1 Expand".into(),
        count => format!("{count} Expands"),
    }
}

fn write(args: &RewriteArgs, old: &Model, new: &Model, path: &Path, done: &str) -> Result<(), CliError> {
    if is_stdout(path) {
        return Err(CliError::usage(
            "-o -: cannot write a model to standard output; give a file (./- for one named -)",
        ));
    }
    let directory = parent_directory(path);
    check_directory_exists(directory)?;
    check_target(path, args.writing.force)?;
    if let Some(file) = old.external_files().first()
        && resolve_target(directory) != resolve_target(parent_directory(&args.model))
    {
        return Err(CliError::usage(format!(
            "{}: the model has external data in {}; give a file in the same directory for -o",
            text::display_path(&args.model),
            text::truncate(file, 60)
        )));
    }
    let bytes = new.to_bytes();
    let free = free_space(directory);
    let len = bytes.len() as u64;
    check_free_space("the model needs", len, directory, free)?;
    print_info(args.writing.quiet, &format!("{done}; {}\n", destination_text(len, path, free)));
    if args.writing.dry_run {
        return Ok(());
    }
    let mut file = create_file(path, args.writing.force)?;
    file.file().write_all(&bytes).map_err(|error| write_error(path, &error))?;
    commit(vec![file.finish()], &[path])
}
