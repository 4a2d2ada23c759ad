//! `unishape shape`: the common shape of shapes from the command line or standard input.

use crate::args::ShapeArgs;
use crate::error::CliError;
use crate::output;
use crate::shape_input::{self, ShapeInput};
use indicatif::BinaryBytes;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Read};
use unishape::notation::{parse_shape, shape_text};
use unishape::{CommonShape, Error, Extent, Rules, broadcast_shapes_with, element_count};

pub(crate) fn run(args: ShapeArgs) -> Result<(), CliError> {
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
    match (result, args.json) {
        (Ok((shape, _)), false) => output::print(&(shape_text(&shape) + "\n")),
        (Ok((shape, inputs)), true) => output::print_json(&ShapeJson::new(&shape, inputs)),
        (Err(error), json) => {
            if json {
                output::print_json(&ErrorJson::new(&error))?;
            }
            Err(CliError::failed(error))
        }
    }
}

/// The longest line of standard input, in bytes; much longer than any shape.
const MAX_LINE: u64 = 1 << 24;

/// The common shape and the number of inputs, or the error of the broadcast.
type BroadcastResult = Result<(Vec<Extent>, usize), Error>;

/// Broadcasts shapes from the command line. All are kept, for errors that show them.
fn broadcast_arguments(rules: Rules, words: &[OsString]) -> Result<BroadcastResult, CliError> {
    let inputs = shape_input::read_all(words)?;
    let shapes: Vec<&[Extent]> = inputs.iter().map(|input| &input.shape[..]).collect();
    Ok(broadcast_shapes_with(rules, &shapes)
        .map(|common| (common, shapes.len()))
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
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let read = stdin.by_ref().take(MAX_LINE).read_line(&mut line);
            if read.map_err(|error| CliError::failed(format!("standard input, line {number}: {error}")))? == 0
            {
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
    Ok(common.finish().map(|shape| (shape, inputs)))
}

/// Sizes of a shape, `null` where unknown.
type SizesJson = Vec<Option<usize>>;

#[derive(Serialize)]
struct ShapeJson {
    shape: SizesJson,
    text: String,
    /// The number of inputs.
    inputs: usize,
    /// `null` if the shape has unknown sizes, or too many elements to count.
    elements: Option<usize>,
}

impl ShapeJson {
    fn new(shape: &[Extent], inputs: usize) -> ShapeJson {
        let sizes = sizes(shape);
        let known: Option<Vec<usize>> = sizes.iter().copied().collect();
        let elements = known.and_then(|shape| element_count(&shape).ok());
        ShapeJson { shape: sizes, text: shape_text(shape), inputs, elements }
    }
}

#[derive(Serialize)]
#[serde(tag = "error")]
enum ErrorJson {
    #[serde(rename = "E1")]
    Incompatible {
        dimension: usize,
        inputs: [usize; 2],
        sizes: SizesJson,
        shapes: Vec<InputsJson>,
        message: String,
    },
    #[serde(rename = "unequal rank")]
    UnequalRank { inputs: [usize; 2], ranks: [usize; 2], message: String },
    #[serde(rename = "inputs")]
    Inputs { message: String },
}

/// The common shape of a range of inputs, or the shape of one.
#[derive(Serialize)]
struct InputsJson {
    first: usize,
    last: usize,
    shape: SizesJson,
}

impl ErrorJson {
    fn new(error: &Error) -> ErrorJson {
        let message = error.to_string();
        match error {
            Error::Incompatible(incompatible) => ErrorJson::Incompatible {
                dimension: incompatible.dim(),
                inputs: incompatible.inputs(),
                sizes: sizes(&incompatible.sizes()),
                shapes: incompatible
                    .shapes()
                    .iter()
                    .map(|(inputs, shape)| InputsJson {
                        first: inputs.start,
                        last: inputs.end.saturating_sub(1),
                        shape: sizes(shape),
                    })
                    .collect(),
                message,
            },
            Error::UnequalRank { first, input, rank, .. } => {
                ErrorJson::UnequalRank { inputs: [0, *input], ranks: [*first, *rank], message }
            }
            _ => ErrorJson::Inputs { message },
        }
    }
}

fn sizes(shape: &[Extent]) -> SizesJson {
    let size = |extent: &Extent| match extent {
        Extent::Known(size) => Some(*size),
        Extent::Unknown | Extent::Positive => None,
    };
    shape.iter().map(size).collect()
}
