//! `unishape onnx run`: a model run on arrays in files.

use super::args::RunArgs;
use super::inputs::Input;
use super::{open, say};
use crate::failure::Failure;
use crate::naming::result_names;
use crate::out::{self, bytes_text, in_file, in_result, is_stdout, place};
use crate::print;
use crate::target::{check_free_place, check_room, destination_text, free_space, in_folder};
use crate::watch::{Watch, Watched};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use unishape::notation::short_shape_text;
use unishape::{Tensor, text};
use unishape_atomic_file::{AtomicFile, resolve_target};
use unishape_npy::{self as npy, Header};
use unishape_onnx::Program;

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let model = open(&args.model)?;
    let of_model = |error| Failure::failed(format!("{}: {error}", text::display_path(&args.model)));
    let mut program = Program::new(&model).map_err(of_model)?;
    if let Some(threads) = args.threads {
        program = program.threads(threads);
    }
    let names: Vec<&str> = model.graph().inputs.iter().map(|input| input.name.as_str()).collect();
    let inputs: Vec<Input> =
        args.inputs.iter().map(|word| Input::read(word, &names)).collect::<Result<_, _>>()?;
    let folder = args.out.as_deref().map(folder).transpose()?;
    let mut given = Vec::with_capacity(inputs.len());
    for input in &inputs {
        given.push((input.name.as_str(), input.view()?));
    }
    let outputs = program.run(given).map_err(of_model)?;
    match folder {
        Some(folder) => to_files(&outputs, folder, &inputs, args),
        None => to_terminal(&outputs, args),
    }
}

fn folder(path: &Path) -> Result<&Path, Failure> {
    if is_stdout(path) {
        return Err(Failure::usage(
            "-o -: give a folder (./- for one of that name); small results are printed without -o",
        ));
    }
    if path.exists() && !path.is_dir() {
        return Err(Failure::usage(format!(
            "{} is no folder; give a folder for the results",
            text::display_path(path)
        )));
    }
    Ok(path)
}

/// `3x4 float32`.
fn what(tensor: &Tensor) -> String {
    let shape = if tensor.shape().is_empty() { "a single".into() } else { short_shape_text(tensor.shape()) };
    format!("{shape} {}", tensor.dtype())
}

fn to_terminal(outputs: &[(String, Tensor)], args: &RunArgs) -> Result<(), Failure> {
    if let Some((name, tensor)) = outputs.iter().find(|(_, tensor)| !print::is_small(tensor.shape())) {
        let (name, what) = (text::truncate(name, 60), what(tensor));
        let problem = format!("the output {name} is {what}, too large to print; give -o DIR to write it");
        return Err(Failure::usage(problem));
    }
    let mut text = String::new();
    for (name, tensor) in outputs {
        let title = format!("{}: {}", text::truncate(name, 60), what(tensor));
        if args.writing.dry_run {
            say(args.writing.quiet, &format!("{title}\n"));
            continue;
        }
        let part =
            |part: &Vec<std::ops::Range<usize>>| tensor.view().part(part).to_owned().map_err(Failure::failed);
        text += &format!("{title}\n{}", print::text(tensor.shape(), part)?);
    }
    out::print(&text)
}

/// One output and where it goes.
struct Planned<'o> {
    tensor: &'o Tensor,
    header: Header,
    path: PathBuf,
}

fn to_files(
    outputs: &[(String, Tensor)],
    folder: &Path,
    inputs: &[Input],
    args: &RunArgs,
) -> Result<(), Failure> {
    let stems: Vec<PathBuf> = outputs.iter().map(|(name, _)| safe(name).into()).collect();
    let names = result_names(stems.iter().map(PathBuf::as_path), false);
    let mut planned = Vec::new();
    let (mut total, mut lines) = (0u64, String::new());
    let taken: HashSet<PathBuf> = inputs.iter().map(|input| resolve_target(&input.path)).collect();
    for ((name, tensor), file) in outputs.iter().zip(names) {
        let path = folder.join(file);
        let of_output = |error| Failure::failed(format!("the output {}: {error}", text::truncate(name, 60)));
        let header = Header::of(&tensor.view()).map_err(of_output)?;
        let head = header.encoded_len().map_err(of_output)?;
        let bytes = head.saturating_add(header.data_bytes().map_err(of_output)?);
        if taken.contains(&resolve_target(&path)) {
            let shown = text::display_path(&path);
            return Err(Failure::usage(format!(
                "{shown} would be overwritten, and is an input; give another -o"
            )));
        }
        check_free_place(&path, args.writing.force)?;
        total = total.saturating_add(bytes);
        lines += &format!(
            "{}  {}  {} to {}\n",
            text::truncate(name, 60),
            what(tensor),
            bytes_text(bytes),
            text::display_path(&path)
        );
        planned.push(Planned { tensor, header, path });
    }
    let free = free_space(folder);
    check_room("the results take", total, folder, free)?;
    say(args.writing.quiet, &format!("{lines}{}\n", destination_text(total, folder, free)));
    if args.writing.dry_run {
        return Ok(());
    }
    Watch::over(total, args.writing.quiet, |watch| in_folder(folder, || write(&planned, watch)))
}

/// All files, or none.
fn write(planned: &[Planned<'_>], watch: &Watch) -> Result<(), Failure> {
    let mut complete = Vec::new();
    for Planned { tensor, header, path } in planned {
        let mut file = AtomicFile::create(path).map_err(|error| in_file(path, &error))?;
        let mut writer = Watched::new(std::io::BufWriter::new(file.file()), watch);
        header
            .write(&mut writer)
            .and_then(|()| npy::write_elements(&mut writer, *tensor))
            .and_then(|()| std::io::Write::flush(&mut writer).map_err(npy::NpyError::Io))
            .map_err(|error| watch.judge(in_result(path, &error)))?;
        drop(writer);
        complete.push(file.finish());
    }
    place(complete, &planned.iter().map(|planned| &*planned.path).collect::<Vec<_>>())
}

/// A name that every system takes for a file, and that leads nowhere else: models' names have any signs in them.
fn safe(name: &str) -> String {
    const LONGEST: usize = 100;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    let safe: String = name.chars().take(LONGEST).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let safe = safe.trim_start_matches(['.', '-']);
    if safe.is_empty() { "output".into() } else { safe.into() }
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn names_of_values_become_names_of_files() {
        let names =
            ["z", "/block/Add_output_0", "x:0", "../../etc/passwd", "", "...", "größe", "-rf"].map(safe);
        let expected =
            ["z", "_block_Add_output_0", "x_0", "_.._etc_passwd", "output", "output", "größe", "rf"];
        assert_eq!(names, expected);
        assert_eq!(safe(&"n".repeat(1000)).len(), 100);
    }
}
