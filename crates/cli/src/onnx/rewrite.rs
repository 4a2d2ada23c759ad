//! `unishape onnx explicit` and `implicit`: the same model, with broadcasting in other words.

use super::args::RewriteArgs;
use super::explain::{summary, text};
use super::{open, say};
use crate::failure::Failure;
use crate::out::{self, in_file, in_result, is_stdout, place};
use crate::target::{check_folder, check_free_place, check_room, destination_text, folder_of, free_space};
use std::io::Write;
use std::path::Path;
use unishape::text;
use unishape_atomic_file::{AtomicFile, resolve_target};
use unishape_onnx::{Error, Model, Rewritten, explain, explicit, implicit};

/// A way to rewrite a model.
pub(crate) struct Way {
    rewrite: fn(&Model) -> Result<Rewritten, Error>,
    /// What is told of so many Expands.
    done: &'static str,
    to_do: &'static str,
    command: &'static str,
}

pub(crate) const EXPLICIT: Way =
    Way { rewrite: explicit, done: "added", to_do: "missing", command: "explicit" };
pub(crate) const IMPLICIT: Way =
    Way { rewrite: implicit, done: "taken away", to_do: "needless", command: "implicit" };

pub(crate) fn run(args: &RewriteArgs, way: &Way) -> Result<(), Failure> {
    let model = open(&args.model)?;
    let shown = text::display_path(&args.model);
    let rewritten = (way.rewrite)(&model).map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let report = explain(&model);
    for skipped in &report.skipped {
        say(args.writing.quiet, &format!("unishape: not looked into: {skipped}\n"));
    }
    let count = expands(rewritten.expands);
    let Some(path) = &args.out else {
        if rewritten.expands == 0 {
            say(args.writing.quiet, &format!("{shown}: {}; nothing to do\n", summary(&model, &report)));
            return Ok(());
        }
        if !args.writing.quiet && way.command == EXPLICIT.command {
            out::print(&text(&model, &report))?;
        }
        let Way { to_do, command, .. } = way;
        let problem = format!("{count} {to_do}; `unishape onnx {command} {shown} -o FILE.onnx` does it");
        return Err(Failure::failed(format!("{shown}: {problem}")));
    };
    write(args, &model, &rewritten.model, path, &format!("{count} {}", way.done))
}

fn expands(count: usize) -> String {
    match count {
        0 => "no Expand".into(),
        1 => "1 Expand".into(),
        count => format!("{count} Expands"),
    }
}

fn write(args: &RewriteArgs, old: &Model, new: &Model, path: &Path, done: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        return Err(Failure::usage(
            "-o -: a model does not go to a terminal; give a file (./- for one of that name)",
        ));
    }
    let folder = folder_of(path);
    check_folder(folder)?;
    check_free_place(path, args.writing.force)?;
    if let Some(file) = old.external_files().first()
        && resolve_target(folder) != resolve_target(folder_of(&args.model))
    {
        let problem = format!(
            "{}: data of the model is in the file {}, beside it; give a -o in the same folder",
            text::display_path(&args.model),
            text::truncate(file, 60)
        );
        return Err(Failure::usage(problem));
    }
    let bytes = new.to_bytes();
    let free = free_space(folder);
    check_room("the model takes", bytes.len() as u64, folder, free)?;
    say(args.writing.quiet, &format!("{done}; {}\n", destination_text(bytes.len() as u64, path, free)));
    if args.writing.dry_run {
        return Ok(());
    }
    let mut file = AtomicFile::create(path).map_err(|error| in_file(path, &error))?;
    file.file().write_all(&bytes).map_err(|error| in_result(path, &error))?;
    place(vec![file.finish()], &[path])
}
