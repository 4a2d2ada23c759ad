//! `unishape onnx run`: runs a model on arrays in files.

use super::args::RunArgs;
use super::inputs::Input;
use super::open::{model_error, open};
use crate::array_json::array_json;
use crate::destination::{check_free_space, check_target, destination_text, free_space, in_directory};
use crate::error::CliError;
use crate::output::{self, commit, print_info, write_error};
use crate::output_names::output_file_names;
use crate::paths::is_stdout;
use crate::progress::{Progress, ProgressWriter, Total};
use indicatif::BinaryBytes;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unishape::notation::short_shape_text;
use unishape::{Tensor, text};
use unishape_atomic_file::resolve_target;
use unishape_npy::{self as npy, Header, NpyError};
use unishape_onnx::CompiledModel;

pub(crate) fn run(args: &RunArgs, json: bool) -> Result<(), CliError> {
    let model = open(&args.model)?;
    let shown = text::display_path(&args.model);
    let model_error = |error| model_error(&shown, &error);
    let mut compiled = CompiledModel::new(&model).map_err(model_error)?;
    if let Some(threads) = args.threads {
        compiled = compiled.threads(threads);
    }
    let names: Vec<&str> = model.graph().inputs.iter().map(|input| input.name.as_str()).collect();
    let inputs: Vec<Input> =
        args.inputs.iter().map(|word| Input::open(word, &names)).collect::<Result<_, _>>()?;
    let directory = args.out.as_deref().map(check_out).transpose()?;
    let mut values = Vec::with_capacity(inputs.len());
    for input in &inputs {
        values.push((input.name.as_str(), input.view()?));
    }
    let outputs = compiled.run(values).map_err(model_error)?;
    match directory {
        Some(directory) => write_outputs(&outputs, directory, &inputs, args, json),
        None => print_outputs(&outputs, args, json),
    }
}

/// Checks that `-o` names a directory.
fn check_out(path: &Path) -> Result<&Path, CliError> {
    if is_stdout(path) {
        return Err(CliError::usage(
            "-o -: give a directory (./- for one named -); small outputs are printed without -o",
        ));
    }
    if path.exists() && !path.is_dir() {
        let path = text::display_path(path);
        return Err(CliError::usage(format!("{path} is not a directory; give a directory for the outputs")));
    }
    Ok(path)
}

/// `3x4 float32`.
fn type_text(tensor: &Tensor) -> String {
    let shape = if tensor.shape().is_empty() { "a single".into() } else { short_shape_text(tensor.shape()) };
    format!("{shape} {}", tensor.dtype())
}

fn print_outputs(outputs: &[(String, Tensor)], args: &RunArgs, json: bool) -> Result<(), CliError> {
    if let Some((name, tensor)) =
        outputs.iter().find(|(_, tensor)| !unishape_array_text::is_small(tensor.shape()))
    {
        let (name, output) = (text::truncate(name, 60), type_text(tensor));
        let message = format!("the output {name} is {output}, too large to print; use -o DIR to write it");
        return Err(CliError::usage(message));
    }
    if json {
        let output = |(name, tensor): &(String, Tensor)| {
            let mut object = output_json(name, tensor);
            if !args.writing.dry_run {
                object["data"] = array_json(tensor);
            }
            object
        };
        let objects: Vec<Value> = outputs.iter().map(output).collect();
        return output::print_json(&json!({ "outputs": objects }));
    }
    let mut text = String::new();
    for (name, tensor) in outputs {
        let title = format!("{}: {}", text::truncate(name, 60), type_text(tensor));
        if args.writing.dry_run {
            print_info(args.writing.quiet, &format!("{title}\n"));
            continue;
        }
        let region =
            |region: &Vec<Range<usize>>| tensor.view().slice(region).to_owned().map_err(CliError::from);
        text += &format!("{title}\n{}", output::array_text(tensor.shape(), region)?);
    }
    output::print(&text)
}

fn output_json(name: &str, tensor: &Tensor) -> Value {
    json!({"name": name, "shape": tensor.shape(), "dtype": tensor.dtype().name()})
}

/// An output and its file.
struct PlannedOutput<'o> {
    tensor: &'o Tensor,
    header: Header,
    path: PathBuf,
}

fn write_outputs(
    outputs: &[(String, Tensor)],
    directory: &Path,
    inputs: &[Input],
    args: &RunArgs,
    json: bool,
) -> Result<(), CliError> {
    let names = output_file_names(outputs.iter().map(|(name, _)| safe_file_name(name).into()), false);
    let mut planned = Vec::new();
    let (mut total, mut lines) = (0u64, String::new());
    let input_targets: HashSet<PathBuf> =
        inputs.iter().filter_map(|input| input.path()).map(resolve_target).collect();
    for ((name, tensor), file) in outputs.iter().zip(names) {
        let path = directory.join(file);
        let shown = text::display_path(&path);
        let output_error =
            |error| CliError::input(format!("the output {}: {error}", text::truncate(name, 60)));
        let header = Header::of(&tensor.view()).map_err(output_error)?;
        let head = header.encoded_len().map_err(output_error)?;
        let bytes = head.saturating_add(header.data_bytes().map_err(output_error)?);
        if input_targets.contains(&resolve_target(&path)) {
            let message = format!("{shown} is an input and would be overwritten; choose another -o");
            return Err(CliError::usage(message));
        }
        check_target(&path, args.writing.force)?;
        total = total.saturating_add(bytes);
        let (name, output) = (text::truncate(name, 60), type_text(tensor));
        lines += &format!("{name}  {output}  {} to {shown}\n", BinaryBytes(bytes));
        planned.push(PlannedOutput { tensor, header, path });
    }
    let free = free_space(directory);
    check_free_space("the outputs need", total, directory, free)?;
    let quiet = args.writing.quiet || json;
    print_info(quiet, &format!("{lines}{}\n", destination_text(total, directory, free)));
    if !args.writing.dry_run {
        Progress::run(Total::Bytes(total), quiet, |progress| {
            in_directory(directory, || write_files(&planned, args.writing.force, progress))
        })?;
    }
    if !json {
        return Ok(());
    }
    let objects = outputs.iter().zip(&planned).map(|((name, tensor), planned)| {
        let mut object = output_json(name, tensor);
        object["path"] = text::display_path(&planned.path).into();
        object
    });
    let objects: Vec<Value> = objects.collect();
    output::print_json(&json!({"outputs": objects, "bytes": total, "written": !args.writing.dry_run}))
}

/// Writes all files, or none.
fn write_files(planned: &[PlannedOutput<'_>], force: bool, progress: &Progress) -> Result<(), CliError> {
    let mut pending = Vec::new();
    for PlannedOutput { tensor, header, path } in planned {
        let mut file = progress.create_file(path, force)?;
        let mut writer = ProgressWriter::new(BufWriter::new(file.file()), progress);
        header
            .write(&mut writer)
            .and_then(|()| npy::write_elements(&mut writer, *tensor))
            .and_then(|()| writer.flush().map_err(NpyError::Io))
            .map_err(|error| progress.interruption_or(write_error(path, &error)))?;
        drop(writer);
        pending.push(file.finish());
    }
    commit(pending, &planned.iter().map(|planned| &*planned.path).collect::<Vec<_>>())
}

/// A file name that is valid on every system and in the directory itself: names in models are arbitrary.
fn safe_file_name(name: &str) -> String {
    const MAX_CHARS: usize = 100;
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    let safe: String = name.chars().take(MAX_CHARS).map(|c| if is_safe(c) { c } else { '_' }).collect();
    let safe = safe.trim_start_matches(['.', '-']);
    if safe.is_empty() { "output".into() } else { safe.into() }
}

#[cfg(test)]
mod tests {
    use super::safe_file_name;

    #[test]
    fn names_of_values_become_safe_file_names() {
        let names = ["z", "/block/Add_output_0", "x:0", "../../etc/passwd", "", "...", "größe", "-rf"]
            .map(safe_file_name);
        let expected =
            ["z", "_block_Add_output_0", "x_0", "_.._etc_passwd", "output", "output", "größe", "rf"];
        assert_eq!(names, expected);
        assert_eq!(safe_file_name(&"n".repeat(1000)).len(), 100);
    }
}
