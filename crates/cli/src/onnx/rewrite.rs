//! `unishape onnx explicit` and `implicit`: models with explicit or implicit broadcasts.

use super::args::{ExplicitArgs, ImplicitArgs, RewriteArgs};
use super::open::{fixed_sizes, model_error, open};
use super::report_text::{left_text, report_text, summary};
use crate::destination::{
    check_directory_exists, check_free_space, check_target, destination_text, free_space,
};
use crate::error::CliError;
use crate::output::{self, commit, create_file, print_info, write_error};
use crate::paths::{is_stdout, parent_directory};
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use unishape::text;
use unishape_atomic_file::resolve_target;
use unishape_onnx::{
    BroadcastKind, ExplicitOptions, Model, Report, Rewritten, Verdict, explain_with, explicit_with,
    implicit as remove_inserted, implicit_all,
};

pub(crate) fn explicit(args: &ExplicitArgs, json: bool) -> Result<(), CliError> {
    let model = open(&args.files.model)?;
    let sizes = fixed_sizes(&args.dims, &model)?;
    let shown = text::display_path(&args.files.model);
    let report = explain_with(&model, &sizes);
    let quiet = args.files.writing.quiet || json;
    let Some(path) = &args.files.out else {
        check(args, &model, report, quiet)?;
        return if json { output::print_json(&json!({"check": "explicit"})) } else { Ok(()) };
    };
    let mut options =
        ExplicitOptions { sizes, certain_only: args.certain_only, ..ExplicitOptions::default() };
    options.kinds.extend(args.expand_pow.then_some(BroadcastKind::ScalarExponent));
    options.kinds.extend(args.expand_matmul.then_some(BroadcastKind::MatMul));
    let rewritten = explicit_with(&model, &options).map_err(|error| model_error(&shown, &error))?;
    for unknown in &report.not_analyzed {
        print_info(quiet, &format!("unishape: not analyzed: {unknown}\n"));
    }
    for wrong in &report.declarations {
        print_info(quiet, &format!("unishape: wrong declaration: {wrong}\n"));
    }
    print_info(quiet, &left_text(&report, &options.kinds));
    let done = format!("{} added", expand_count(rewritten.expands));
    write(&args.files, &model, &rewritten, path, &done, json)
}

/// The gate: fails if a node broadcasts, or if that is not known.
fn check(args: &ExplicitArgs, model: &Model, report: Report, quiet: bool) -> Result<(), CliError> {
    let shown = text::display_path(&args.files.model);
    let kinds: Vec<BroadcastKind> =
        BroadcastKind::ALL.into_iter().filter(|kind| !args.ignore.contains(kind)).collect();
    let report = report.of_kinds(&kinds);
    let verdict = report.verdict();
    if let Some((_, error)) = report.conflicts.first() {
        return Err(model_error(&shown, error));
    }
    if verdict != Verdict::Explicit && !quiet {
        output::print(&report_text(model, &report))?;
    }
    let result = summary(model, &report);
    match verdict {
        Verdict::Broadcasts => {
            Err(CliError::finding(format!("{shown}: {result}; {}", advice(&shown, &report))))
        }
        Verdict::Unknown if !args.allow_unknown => {
            let unknown = match report.not_analyzed.len() {
                0 => String::new(),
                1 => "; 1 operator was not analyzed".into(),
                count => format!("; {count} operators were not analyzed"),
            };
            Err(CliError::could_not_tell(format!("{shown}: could not tell: {result}{unknown}")))
        }
        _ => {
            print_info(quiet, &format!("{shown}: {result}\n"));
            Ok(())
        }
    }
}

/// What to do about the broadcasts of a model: `explicit` does not expand all kinds.
fn advice(shown: &str, report: &Report) -> String {
    let expanded = ExplicitOptions::default().kinds;
    let found = |kind: &BroadcastKind| report.broadcasts.iter().any(|broadcast| broadcast.kind == *kind);
    let mut advice = Vec::new();
    if expanded.iter().any(found) {
        advice.push(format!("run `unishape onnx explicit {shown} -o FILE.onnx`"));
    }
    let kept: Vec<BroadcastKind> =
        BroadcastKind::ALL.into_iter().filter(|kind| !expanded.contains(kind) && found(kind)).collect();
    if !kept.is_empty() {
        let kinds: Vec<String> = kept.iter().map(ToString::to_string).collect();
        let kinds = kinds.join(",");
        let mut text = format!("`explicit` keeps {kinds}: accept that with --ignore {kinds}");
        let flags =
            [(BroadcastKind::ScalarExponent, "--expand-pow"), (BroadcastKind::MatMul, "--expand-matmul")];
        for (_, flag) in flags.iter().filter(|(kind, _)| kept.contains(kind)) {
            text += &format!(", or expand with {flag}");
        }
        advice.push(text);
    }
    advice.join("; ")
}

pub(crate) fn implicit(args: &ImplicitArgs, json: bool) -> Result<(), CliError> {
    let model = open(&args.files.model)?;
    let shown = text::display_path(&args.files.model);
    let rewritten = if args.all { implicit_all(&model) } else { remove_inserted(&model) };
    let rewritten = rewritten.map_err(|error| model_error(&shown, &error))?;
    let count = expand_count(rewritten.expands);
    let Some(path) = &args.files.out else {
        if rewritten.expands == 0 {
            print_info(args.files.writing.quiet || json, &format!("{shown}: nothing to do\n"));
            return if json { output::print_json(&json!({"check": "implicit"})) } else { Ok(()) };
        }
        let all = if args.all { " --all" } else { "" };
        let hint = format!("run `unishape onnx implicit {shown}{all} -o FILE.onnx`");
        return Err(CliError::finding(format!("{shown}: {count} unnecessary; {hint}")));
    };
    write(&args.files, &model, &rewritten, path, &format!("{count} removed"), json)
}

fn expand_count(count: usize) -> String {
    match count {
        0 => "no Expand".into(),
        1 => "1 Expand".into(),
        count => format!("{count} Expands"),
    }
}

fn write(
    args: &RewriteArgs,
    old: &Model,
    rewritten: &Rewritten,
    path: &Path,
    done: &str,
    json: bool,
) -> Result<(), CliError> {
    let new = &rewritten.model;
    let quiet = args.writing.quiet || json;
    if is_stdout(path) {
        return Err(CliError::usage(
            "-o -: cannot write a model to standard output; give a file (./- for one named -)",
        ));
    }
    let directory = parent_directory(path);
    check_directory_exists(directory)?;
    check_target(path, args.writing.force)?;
    let copies = external_copies(args, old, directory)?;
    let len = new.serialized_len() as u64;
    let copied: u64 =
        copies.iter().map(|(from, _)| fs::metadata(from).map_or(0, |metadata| metadata.len())).sum();
    let free = free_space(directory);
    check_free_space("the model needs", len + copied, directory, free)?;
    print_info(quiet, &format!("{done}; {}\n", destination_text(len, path, free)));
    if let Some(note) = size_note(len) {
        print_info(quiet, &format!("unishape: {}: {note}\n", text::display_path(path)));
    }
    for (from, to) in &copies {
        let (from, to) = (text::display_path(from), text::display_path(to));
        print_info(quiet, &format!("external data: {from} to {to}\n"));
    }
    let result = json!({
        "expands": rewritten.expands,
        "path": text::display_path(path),
        "bytes": len,
        "written": !args.writing.dry_run,
    });
    let print_result = || if json { output::print_json(&result) } else { Ok(()) };
    if args.writing.dry_run {
        return print_result();
    }
    let mut pending = Vec::new();
    let mut paths: Vec<&Path> = Vec::new();
    for (from, to) in &copies {
        let directory = parent_directory(to);
        fs::create_dir_all(directory).map_err(|error| write_error(directory, &error))?;
        let mut file = create_file(to, args.writing.force)?;
        let mut source = File::open(from).map_err(|error| write_error(from, &error))?;
        io::copy(&mut source, file.file()).map_err(|error| write_error(to, &error))?;
        pending.push(file.finish());
        paths.push(to);
    }
    let mut file = create_file(path, args.writing.force)?;
    let mut writer = BufWriter::new(file.file());
    new.write_to(&mut writer).and_then(|()| writer.flush()).map_err(|error| write_error(path, &error))?;
    drop(writer);
    pending.push(file.finish());
    paths.push(path);
    commit(pending, &paths)?;
    print_result()
}

/// Size from which on other readers of protobuf reject a file.
const PROTOBUF_LIMIT: u64 = 1 << 31;

/// What to do about a model that other programs cannot read.
fn size_note(bytes: u64) -> Option<&'static str> {
    (bytes >= PROTOBUF_LIMIT).then_some(
        "the model takes 2 GiB or more, which ONNX Runtime and other readers of protobuf reject; \
         store its weights as external data (onnx.save with save_as_external_data)",
    )
}

/// Files of external data, with the paths that a model in another directory finds them at.
fn external_copies(
    args: &RewriteArgs,
    model: &Model,
    to: &Path,
) -> Result<Vec<(PathBuf, PathBuf)>, CliError> {
    let from = parent_directory(&args.model);
    if resolve_target(to) == resolve_target(from) {
        return Ok(Vec::new());
    }
    let mut copies = Vec::new();
    for location in model.external_files() {
        let relative = Path::new(&location);
        let is_inside =
            |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
        if location.is_empty() || !relative.components().all(is_inside) {
            return Err(CliError::input(format!(
                "{}: the external data '{}' is outside of the model's directory",
                text::display_path(&args.model),
                text::truncate(&location, 60)
            )));
        }
        let (source, target) = (from.join(relative), to.join(relative));
        if !source.is_file() {
            let message = format!("{}: external data of the model is missing", text::display_path(&source));
            return Err(CliError::io(message));
        }
        check_target(&target, args.writing.force)?;
        copies.push((source, target));
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::size_note;

    #[test]
    fn models_that_others_cannot_read_are_noted() {
        assert_eq!(size_note((1 << 31) - 1), None);
        assert!(size_note(1 << 31).is_some_and(|note| note.contains("external data")));
    }
}
