//! `unishape explain`: figures of how shapes or arrays are broadcast.

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::mapped::map_array;
use crate::output;
use crate::paths::{file_name, is_stdout};
use crate::shape_input::{self, ShapeInput};
use clap::ColorChoice;
use ndarray::IxDyn;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use unishape::{Extent, Tensor, text};
use unishape_atomic_file::resolve_target;
use unishape_explain::Explanation;
use unishape_npy as npy;

/// Arrays with more elements than this are drawn without their values.
const MAX_VALUES: usize = 10_000;

/// How much of an argument an error message shows, in characters.
const MAX_SHOWN: usize = 60;

pub(crate) fn run(args: ExplainArgs) -> Result<(), CliError> {
    if let (Some(svg), Some(html)) = (&args.svg, &args.html)
        && is_same_file(svg, html)
    {
        return Err(CliError::usage("--svg and --html name the same file; give two different files"));
    }
    let inputs = shape_input::read_all(&args.inputs)?;
    let shapes = args.inputs.iter().zip(&inputs).map(known_shape).collect::<Result<Vec<_>, _>>()?;
    let mut explanation = Explanation::new(args.rules.rules(), &shapes)
        .map_err(|error| CliError::failed(error.named(&shape_input::names(&inputs))))?;
    for (index, input) in inputs.iter().enumerate() {
        if let Some(path) = &input.file {
            explanation = explanation.name(index, &file_name(path));
            if let Some(values) = values(path)? {
                explanation = explanation.values(index, |element| element_text(&values, element));
            }
        }
    }
    if args.svg.is_none() && args.html.is_none() {
        let width = args.width.unwrap_or_else(terminal_width);
        return output::print(&explanation.text(use_color(args.color), width));
    }
    let svg = args.svg.as_deref().map(|path| (path, explanation.svg()));
    let html = args.html.as_deref().map(|path| (path, explanation.html()));
    output::write_text_files(&svg.into_iter().chain(html).collect::<Vec<_>>(), args.force)
}

/// Whether two paths lead to the same file. `-` is standard output.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match is_stdout(one) || is_stdout(other) {
        true => one.as_os_str() == other.as_os_str(),
        false => resolve_target(one) == resolve_target(other),
    }
}

/// The shape of an input, whose sizes must all be known.
fn known_shape((word, input): (&OsString, &ShapeInput)) -> Result<Vec<usize>, CliError> {
    let known = input.shape.iter().map(|size| match size {
        Extent::Known(size) => Some(*size),
        Extent::Unknown | Extent::Positive => None,
    });
    known.collect::<Option<_>>().ok_or_else(|| {
        CliError::usage(format!(
            "'{}' cannot be drawn: every size must be a number (`unishape shape` accepts ?)",
            text::truncate(&word.to_string_lossy(), MAX_SHOWN),
        ))
    })
}

/// The elements of a file, if they are few and of a supported dtype.
fn values(path: &Path) -> Result<Option<Tensor>, CliError> {
    let mapped = map_array(path)?;
    let header = mapped.header();
    let are_few = header.element_count().is_ok_and(|count| count <= MAX_VALUES);
    match header.descr.dtype() {
        Some(_) if are_few => npy::read(path).map(Some).map_err(CliError::failed),
        _ => Ok(None),
    }
}

fn element_text(tensor: &Tensor, index: &[usize]) -> String {
    let index = IxDyn(index);
    macro_rules! text {
        ($($variant:ident)+) => {
            match tensor {
                $(Tensor::$variant(array) => array.get(index).map(ToString::to_string),)+
            }
        };
    }
    text!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128).unwrap_or_default()
}

/// Whether to use colors. `auto`: on a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
fn use_color(choice: ColorChoice) -> bool {
    let is_unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            is_unset("NO_COLOR")
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
                && io::stdout().is_terminal()
        }
    }
}

/// The width of the terminal, else the value of `COLUMNS`, else 80.
fn terminal_width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    let variable = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.or_else(variable).unwrap_or(80)
}
