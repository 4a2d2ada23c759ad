//! `unishape explain`: how shapes or arrays are broadcast, drawn.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::input::{self, Input, file_name};
use crate::mapped::map_array;
use crate::out;
use clap::ColorChoice;
use ndarray::IxDyn;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use unishape::{Extent, Tensor, text};
use unishape_atomic_file::resolve_target;
use unishape_explain::Explanation;
use unishape_npy as npy;

/// Arrays with more elements than this are explained by their shape alone.
const MOST_VALUES: usize = 10_000;

/// How much of a word that cannot be drawn is shown, in characters.
const LONGEST_WORD: usize = 60;

pub(crate) fn run(args: ExplainArgs) -> Result<(), Failure> {
    if let (Some(svg), Some(html)) = (&args.svg, &args.html)
        && is_same_file(svg, html)
    {
        return Err(Failure::usage("--svg and --html name the same file; give each its own"));
    }
    let inputs = input::read_all(&args.inputs)?;
    let shapes = args.inputs.iter().zip(&inputs).map(known).collect::<Result<Vec<_>, _>>()?;
    let mut explanation = Explanation::new(args.rules.rules(), &shapes)
        .map_err(|error| Failure::failed(error.named(&input::names(&inputs))))?;
    for (number, input) in inputs.iter().enumerate() {
        if let Some(path) = &input.file {
            explanation = explanation.name(number, &file_name(path));
            if let Some(values) = values(path)? {
                explanation = explanation.values(number, |index| element_text(&values, index));
            }
        }
    }
    if args.svg.is_none() && args.html.is_none() {
        let width = args.width.unwrap_or_else(terminal_width);
        return out::print(&explanation.text(colored(args.color), width));
    }
    let svg = args.svg.as_deref().map(|path| (path, explanation.svg()));
    let html = args.html.as_deref().map(|path| (path, explanation.html()));
    out::write_texts(&svg.into_iter().chain(html).collect::<Vec<_>>())
}

/// Whether two paths are those of one file, however they are written. `-` is no file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match out::is_stdout(one) || out::is_stdout(other) {
        true => one.as_os_str() == other.as_os_str(),
        false => resolve_target(one) == resolve_target(other),
    }
}

/// The shape of an input, which can be drawn only if all its sizes are known.
fn known((word, input): (&OsString, &Input)) -> Result<Vec<usize>, Failure> {
    let known = input.shape.iter().map(|size| match size {
        Extent::Known(size) => Some(*size),
        Extent::Unknown | Extent::Positive => None,
    });
    known.collect::<Option<_>>().ok_or_else(|| {
        Failure::usage(format!(
            "'{}' cannot be drawn: give every size a number (`unishape shape` takes ?)",
            text::truncate(&word.to_string_lossy(), LONGEST_WORD),
        ))
    })
}

/// The elements of a file, if they are few and of a type that can be shown.
fn values(path: &Path) -> Result<Option<Tensor>, Failure> {
    let mapped = map_array(path)?;
    let header = mapped.header();
    let few = header.element_count().is_ok_and(|count| count <= MOST_VALUES);
    match header.descr.dtype() {
        Some(_) if few => npy::read(path).map(Some).map_err(Failure::failed),
        _ => Ok(None),
    }
}

/// An element as people write it.
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

/// Whether to use colours: as told, else in a terminal that wants them.
fn colored(choice: ColorChoice) -> bool {
    let wanted = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            wanted("NO_COLOR")
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
                && io::stdout().is_terminal()
        }
    }
}

/// The terminal's width, or what COLUMNS says, or 80.
fn terminal_width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    let told = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.or_else(told).unwrap_or(80)
}
