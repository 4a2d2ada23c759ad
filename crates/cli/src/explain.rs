//! `unishape explain`: figures of how shapes or arrays are broadcast.

use crate::args::ExplainArgs;
use crate::dim_names::{NamedShape, choose_sizes, common_names, named_text};
use crate::error::CliError;
use crate::eval::expression_error;
use crate::output;
use crate::paths::is_stdout;
use crate::shape_input::{self, ShapeInput};
use crate::sources::{OpenArray, check_stdin, open_array};
use clap::ColorChoice;
use ndarray::IxDyn;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use unishape::expr::{ExprErrorKind, ReduceOp, Reduction, lazy};
use unishape::{DType, Extent, Tensor, broadcast_shapes_with, text};
use unishape_atomic_file::resolve_target;
use unishape_explain::{Explanation, ReductionExplanation};
use unishape_files::{Location, is_stream};
use unishape_npy as npy;

/// Arrays with more elements than this are drawn without their values.
const MAX_VALUES: usize = 10_000;

/// How much of an argument an error message shows, in characters.
const MAX_SHOWN: usize = 60;

pub(crate) fn run(args: ExplainArgs, json: bool) -> Result<(), CliError> {
    if let (Some(svg), Some(html)) = (&args.svg, &args.html)
        && is_same_file(svg, html)
    {
        return Err(CliError::usage("--svg and --html name the same file; give two different files"));
    }
    check_stdin(&args.inputs)?;
    let inputs = shape_input::read_all(&args.inputs)?;
    let mut sizes: BTreeMap<String, usize> = args.sizes.iter().cloned().collect();
    let named: Vec<NamedShape> = inputs.iter().map(ShapeInput::named_shape).collect();
    check_dim_names(&named, &args.sizes)?;
    choose_sizes(&named, &mut sizes);
    let shapes = args.inputs.iter().zip(&named).map(|(word, shape)| known_shape(word, shape, &sizes));
    let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
    let figure = match args.reduce {
        Some(op) => reduction_figure(&args, op, &inputs, &shapes)?,
        None => broadcast_figure(&args, &inputs, &shapes)?,
    };
    if args.svg.is_none() && args.html.is_none() && json {
        let inputs: Vec<_> = shapes
            .iter()
            .zip(shape_input::names(&inputs))
            .map(|(shape, name)| json!({"name": name, "shape": shape}))
            .collect();
        let text = figure.text(false, args.width.unwrap_or(80));
        let shape = figure.shape();
        return output::print_json(
            &json!({"shape": shape, "inputs": inputs, "sizes": sizes, "figure": text}),
        );
    }
    if args.svg.is_none() && args.html.is_none() {
        let width = args.width.unwrap_or_else(terminal_width);
        return output::print(&figure.text(use_color(args.color), width));
    }
    let svg = args.svg.as_deref().map(|path| (path, figure.svg()));
    let html = args.html.as_deref().map(|path| (path, figure.html()));
    let files: Vec<(&Path, String)> = svg.into_iter().chain(html).collect();
    if json && files.iter().any(|(path, _)| is_stdout(path)) {
        return Err(CliError::usage("with --json, standard output has the JSON; write the figure to a file"));
    }
    output::write_text_files(&files, args.force)?;
    let paths: Vec<String> = files.iter().map(|(path, _)| text::display_path(path)).collect();
    if json { output::print_json(&json!({"shape": figure.shape(), "files": paths})) } else { Ok(()) }
}

/// Refuses sizes of dimensions that no input has.
fn check_dim_names(inputs: &[NamedShape], sizes: &[(String, usize)]) -> Result<(), CliError> {
    let mut names: Vec<&str> = Vec::new();
    for name in inputs.iter().flat_map(|input| &input.names).flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let Some((unknown, _)) = sizes.iter().find(|(name, _)| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let unknown = text::truncate(unknown, MAX_SHOWN);
    let known = match names[..] {
        [] => String::new(),
        _ => format!("; they have {}", text::truncate(&names.join(", "), MAX_SHOWN)),
    };
    Err(CliError::usage(format!("--dim {unknown}: no input has a dimension of that name{known}")))
}

/// A figure of broadcasting or of a reduction.
enum Figure {
    Broadcast(Explanation),
    Reduction(ReductionExplanation),
}

impl Figure {
    fn shape(&self) -> &[usize] {
        match self {
            Figure::Broadcast(explanation) => explanation.shape(),
            Figure::Reduction(explanation) => explanation.shape(),
        }
    }

    fn text(&self, color: bool, width: usize) -> String {
        match self {
            Figure::Broadcast(explanation) => explanation.text(color, width),
            Figure::Reduction(explanation) => explanation.text(color, width),
        }
    }

    fn svg(&self) -> String {
        match self {
            Figure::Broadcast(explanation) => explanation.svg(),
            Figure::Reduction(explanation) => explanation.svg(),
        }
    }

    fn html(&self) -> String {
        match self {
            Figure::Broadcast(explanation) => explanation.html(),
            Figure::Reduction(explanation) => explanation.html(),
        }
    }
}

/// The figure of how inputs are broadcast, with the elements of those in files.
fn broadcast_figure(
    args: &ExplainArgs,
    inputs: &[ShapeInput],
    shapes: &[Vec<usize>],
) -> Result<Figure, CliError> {
    // First, without the sizes that are only drawn: an error is about those that are given.
    let names = result_names(inputs, args)?;
    let mut explanation = Explanation::new(args.rules.rules(), shapes)
        .map_err(|error| CliError::from(error.named(&shape_input::names(inputs))))?;
    explanation = explanation.result_dim_names(&borrowed(&names));
    for (index, input) in inputs.iter().enumerate() {
        explanation = explanation.dim_names(index, &borrowed(&input.dim_names));
        if input.file.is_some() {
            explanation = explanation.name(index, &input.name(index));
        }
        if let Some(values) = input_values(input)? {
            explanation = explanation.values(index, |element| element_text(&values, element));
        }
    }
    Ok(Figure::Broadcast(explanation))
}

/// The figure of a reduction, with the elements and the result of an array in a file.
fn reduction_figure(
    args: &ExplainArgs,
    op: ReduceOp,
    inputs: &[ShapeInput],
    shapes: &[Vec<usize>],
) -> Result<Figure, CliError> {
    let ([input], [shape]) = (inputs, shapes) else {
        return Err(CliError::usage("--reduce takes one shape or file"));
    };
    if matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax)
        && args.axis.as_ref().is_some_and(|axes| axes.len() > 1)
    {
        let message = format!("{} takes a single axis, or none for the index among all elements", op.name());
        return Err(CliError::usage(message));
    }
    let reduction = Reduction::new(op).axes(args.axis.clone()).keep_dims(args.keepdims);
    let mut explanation =
        ReductionExplanation::new(&reduction, shape).map_err(|error| expression_error(&error))?;
    if input.file.is_some() {
        explanation = explanation.name(&input.name(0));
    } else if input.dim_names.iter().any(Option::is_some) {
        explanation = explanation.name(&named_text(&input.shape, &input.dim_names));
    }
    // Strings are drawn by their numbers: no reduction takes them.
    if let Some(values) = input_values(input)?.filter(|values| values.dtype() != DType::Str) {
        let result = lazy(&values).reduce(reduction).compute().map_err(|error| match error.kind() {
            // Without its advice: there is no option for a value to start with.
            ExprErrorKind::EmptyReduction(_) => CliError::input(format!(
                "{} of no elements is not defined: an axis that is reduced has size 0",
                op.name()
            )),
            _ => expression_error(&error),
        })?;
        explanation = explanation
            .values(|element| element_text(&values, element), |element| element_text(&result, element));
    }
    Ok(Figure::Reduction(explanation))
}

/// The elements of an input in a file, if they are few and of a supported dtype.
fn input_values(input: &ShapeInput) -> Result<Option<Tensor>, CliError> {
    let Some(location) = &input.file else { return Ok(None) };
    let opened = if input.array.is_none() { Some(open_array(location.clone())?) } else { None };
    input.array.as_ref().or(opened.as_ref()).map_or(Ok(None), values)
}

/// Whether two paths lead to the same file. `-` is standard output.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match is_stdout(one) || is_stdout(other) {
        true => one.as_os_str() == other.as_os_str(),
        false => resolve_target(one) == resolve_target(other),
    }
}

/// The names of the dimensions of the common shape, where they have any.
fn result_names(inputs: &[ShapeInput], args: &ExplainArgs) -> Result<Vec<Option<String>>, CliError> {
    let shapes: Vec<&[Extent]> = inputs.iter().map(|input| &input.shape[..]).collect();
    let common = broadcast_shapes_with(args.rules.rules(), &shapes)
        .map_err(|error| error.named(&shape_input::names(inputs)))?;
    let named: Vec<_> = inputs.iter().map(|input| (&input.shape[..], &input.dim_names[..])).collect();
    Ok(common_names(&common, &named))
}

fn borrowed(names: &[Option<String>]) -> Vec<Option<&str>> {
    names.iter().map(Option::as_deref).collect()
}

/// The shape of an input, whose sizes must all be known, or have names.
fn known_shape(
    word: &OsString,
    shape: &NamedShape,
    sizes: &BTreeMap<String, usize>,
) -> Result<Vec<usize>, CliError> {
    let shape = shape.sized(sizes);
    let known = shape.iter().map(|size| match size {
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

/// The elements of an array, if they are few and of a supported dtype.
fn values(array: &OpenArray) -> Result<Option<Tensor>, CliError> {
    let header = array.source.header();
    let are_few = header.element_count().is_ok_and(|count| count <= MAX_VALUES);
    match (header.descr.dtype(), &array.location) {
        (None, _) => Ok(None),
        _ if !are_few => Ok(None),
        // Strings cannot be read region by region.
        (Some(DType::Str), Location::Npy(path)) if !is_stream(&array.location) => Ok(Some(npy::read(path)?)),
        (Some(DType::Str), _) => Ok(None),
        (Some(_), _) => {
            let whole: Vec<_> = header.shape.iter().map(|&size| 0..size).collect();
            Ok(Some(array.source.region(&whole)?.view().to_owned()?))
        }
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
