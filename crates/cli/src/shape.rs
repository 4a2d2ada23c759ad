//! `unishape shape`: the common shape of shapes from the command line or standard input.

use crate::args::ShapeArgs;
use crate::dim_names::{common_names, named_text};
use crate::error::{CliError, sizes_json};
use crate::output;
use crate::shape_input::{self, ShapeInput};
use indicatif::BinaryBytes;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read};
use unishape::notation::parse_shape;
use unishape::{CommonShape, Error, Extent, Rules, broadcast_shapes_with, element_count};
use unishape_files::FileError;
use unishape_npy::Header;

pub(crate) fn run(args: ShapeArgs, json: bool) -> Result<(), CliError> {
    let rules = args.rules.rules();
    let mut words = args.shapes;
    if words.is_empty() {
        if io::stdin().is_terminal() {
            return Err(CliError::usage("no shapes given; try `unishape shape 8x1x6x1 7x1x5`, or --help"));
        }
        words.push("-".into());
    }
    let result = match words.iter().filter(|word| *word == "-").count() {
        0 => broadcast_arguments(rules, &words)?,
        1 => broadcast_stream(rules, &words)?,
        _ => return Err(CliError::usage("standard input (-) can be read only once")),
    };
    let common = result?;
    let text = named_text(&common.shape, &common.names);
    match json {
        false => output::print(&(text + "\n")),
        true => output::print_json(&ShapeJson::new(&common, text)),
    }
}

/// The longest line of standard input, in bytes; much longer than any shape.
const MAX_LINE: u64 = 1 << 24;

/// The common shape, or the error of the broadcast.
type BroadcastResult = Result<CommonInputs, Error>;

/// The common shape of some inputs.
struct CommonInputs {
    shape: Vec<Extent>,
    /// The names of its dimensions.
    names: Vec<Option<String>>,
    /// The number of inputs.
    inputs: usize,
}

/// Broadcasts shapes from the command line. All are kept, for errors that show them.
fn broadcast_arguments(rules: Rules, words: &[OsString]) -> Result<BroadcastResult, CliError> {
    let inputs = shape_input::read_all(words)?;
    let shapes: Vec<&[Extent]> = inputs.iter().map(|input| &input.shape[..]).collect();
    Ok(broadcast_shapes_with(rules, &shapes)
        .map(|shape| {
            let inputs: Vec<_> =
                inputs.iter().map(|input| (&input.shape[..], &input.dim_names[..])).collect();
            CommonInputs { names: common_names(&shape, &inputs), inputs: inputs.len(), shape }
        })
        .map_err(|error| error.named(&shape_input::names(&inputs))))
}

/// Broadcasts shapes from the command line and, in the place of `-`, from standard input, in constant memory.
fn broadcast_stream(rules: Rules, words: &[OsString]) -> Result<BroadcastResult, CliError> {
    let mut common = CommonShape::new(rules);
    // Of the inputs before standard input only; later ones are named by their index.
    let mut names = Vec::new();
    for word in words {
        if word != "-" {
            let input = ShapeInput::read(word)?;
            if names.len() == common.inputs() {
                names.push(input.name(names.len()));
            }
            if let Err(error) = common.push(&input.shape) {
                return Ok(Err(error.named(&names)));
            }
            continue;
        }
        let mut stdin = io::stdin().lock();
        let start = stdin.fill_buf().map_err(|error| CliError::io(format!("standard input: {error}")))?;
        if start.starts_with(b"\x93NUMPY") {
            let header = Header::read(&mut stdin).map_err(FileError::from)?;
            let shape: Vec<Extent> = header.shape.into_iter().map(Extent::from).collect();
            if names.len() == common.inputs() {
                names.push("-".into());
            }
            if let Err(error) = common.push(&shape) {
                return Ok(Err(error.named(&names)));
            }
            continue;
        }
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let read = stdin.by_ref().take(MAX_LINE).read_line(&mut line);
            let read = read.map_err(|error| {
                let message = format!("standard input, line {number}: {error}");
                // Bytes that are not UTF-8 are no shape, as in an argument.
                if error.kind() == ErrorKind::InvalidData {
                    CliError::usage(message)
                } else {
                    CliError::io(message)
                }
            })?;
            if read == 0 {
                break;
            }
            if line.len() as u64 == MAX_LINE {
                let limit = BinaryBytes(MAX_LINE);
                return Err(CliError::usage(format!("standard input, line {number} is longer than {limit}")));
            }
            let text = line.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let shape = parse_shape(text)
                .map_err(|error| CliError::usage(format!("standard input, line {number}: {error}")))?;
            if let Err(error) = common.push(&shape) {
                return Ok(Err(error.named(&names)));
            }
        }
    }
    let inputs = common.inputs();
    Ok(common.finish().map(|shape| CommonInputs { names: vec![None; shape.len()], inputs, shape }))
}

#[derive(Serialize)]
struct ShapeJson {
    /// `null` where a size is unknown, a string where it has a name.
    shape: serde_json::Value,
    text: String,
    /// The number of inputs.
    inputs: usize,
    /// `null` if the shape has unknown sizes, or too many elements to count.
    elements: Option<usize>,
}

impl ShapeJson {
    fn new(common: &CommonInputs, text: String) -> ShapeJson {
        let CommonInputs { shape, names, inputs } = common;
        let known = shape.iter().map(|extent| match extent {
            Extent::Known(size) => Some(*size),
            Extent::Unknown | Extent::Positive => None,
        });
        let known: Option<Vec<usize>> = known.collect();
        let elements = known.and_then(|shape| element_count(&shape).ok());
        let mut sizes = sizes_json(shape);
        for (dim, name) in names.iter().enumerate() {
            if let Some(name) = name {
                sizes[dim] = name.as_str().into();
            }
        }
        ShapeJson { shape: sizes, text, inputs: *inputs, elements }
    }
}
