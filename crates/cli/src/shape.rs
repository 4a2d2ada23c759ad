//! `unishape shape`: the common shape of shapes on the command line or from standard input.

use crate::args::ShapeArgs;
use crate::failure::Failure;
use crate::input::{self, Input};
use crate::out::{self, bytes_text};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Read};
use unishape::notation::{parse_shape, shape_text};
use unishape::{CommonShape, Error, Extent, Rules, broadcast_shapes_with, element_count};

pub(crate) fn run(args: ShapeArgs) -> Result<(), Failure> {
    let rules = args.rules.rules();
    let mut words = args.shapes;
    if words.is_empty() {
        if io::stdin().is_terminal() {
            return Err(Failure::usage("no shapes given; try `unishape shape 8x1x6x1 7x1x5`, or --help"));
        }
        words.push("-".into());
    }
    let resolved = match words.iter().filter(|word| *word == "-").count() {
        0 => all_at_once(rules, &words)?,
        1 => one_by_one(rules, &words)?,
        _ => return Err(Failure::usage("standard input (-) can be read only once")),
    };
    match (resolved, args.json) {
        (Ok((shape, _)), false) => out::print(&(shape_text(&shape) + "\n")),
        (Ok((shape, inputs)), true) => out::print(&format!("{}\n", shape_json(&shape, inputs))),
        (Err(error), json) => {
            if json {
                out::print(&format!("{}\n", error_json(&error)))?;
            }
            Err(Failure::failed(error))
        }
    }
}

/// A line of standard input as long as this, which none with a shape on it is, is not kept.
const LONGEST_LINE: u64 = 1 << 24;

/// The common shape and the number of inputs, or why there is none.
type Resolved = Result<(Vec<Extent>, usize), Error>;

/// Shapes from the command line: kept, so that an error can show them all.
fn all_at_once(rules: Rules, words: &[OsString]) -> Result<Resolved, Failure> {
    let inputs = input::read_all(words)?;
    let shapes: Vec<&[Extent]> = inputs.iter().map(|input| &input.shape[..]).collect();
    Ok(broadcast_shapes_with(rules, &shapes)
        .map(|common| (common, shapes.len()))
        .map_err(|error| error.named(&input::names(&inputs))))
}

/// Shapes from the command line and, in the place of `-`, from standard input: not kept.
fn one_by_one(rules: Rules, words: &[OsString]) -> Result<Resolved, Failure> {
    let mut common = CommonShape::new(rules);
    // Of the inputs before standard input: those after it are told by their number.
    let mut names = Vec::new();
    for word in words {
        if word != "-" {
            let input = Input::read(word)?;
            if names.len() == common.inputs() {
                names.push(input.name(names.len()));
            }
            if let Err(error) = common.push(&input.shape) {
                return Ok(Err(error.named(&names)));
            }
            continue;
        }
        let mut lines = io::stdin().lock();
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let read = lines.by_ref().take(LONGEST_LINE).read_line(&mut line);
            if read.map_err(|error| Failure::failed(format!("standard input, line {number}: {error}")))? == 0
            {
                break;
            }
            if line.len() as u64 == LONGEST_LINE {
                let limit = bytes_text(LONGEST_LINE);
                return Err(Failure::usage(format!("standard input, line {number} is longer than {limit}")));
            }
            let text = line.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let shape = parse_shape(text)
                .map_err(|error| Failure::usage(format!("standard input, line {number}: {error}")))?;
            if let Err(error) = common.push(&shape) {
                return Ok(Err(error.named(&names)));
            }
        }
    }
    let inputs = common.inputs();
    Ok(common.finish().map(|shape| (shape, inputs)))
}

fn shape_json(shape: &[Extent], inputs: usize) -> Value {
    let known: Option<Vec<usize>> = shape.iter().map(|&size| known(size)).collect();
    let elements = known.and_then(|shape| element_count(&shape).ok());
    json!({ "shape": sizes_json(shape), "text": shape_text(shape), "inputs": inputs, "elements": elements })
}

fn error_json(error: &Error) -> Value {
    let message = error.to_string();
    match error {
        Error::Incompatible(e1) => json!({
            "error": "E1",
            "dimension": e1.dim(),
            "inputs": e1.inputs(),
            "sizes": sizes_json(&e1.sizes()),
            "shapes": e1.shapes().iter().map(|(inputs, shape)| json!({
                "first": inputs.start,
                "last": inputs.end.saturating_sub(1),
                "shape": sizes_json(shape),
            })).collect::<Vec<_>>(),
            "message": message,
        }),
        Error::UnequalRank { first, input, rank, .. } => json!({
            "error": "unequal rank",
            "inputs": [0, input],
            "ranks": [first, rank],
            "message": message,
        }),
        _ => json!({ "error": "inputs", "message": message }),
    }
}

/// Sizes as numbers, `null` where unknown.
fn sizes_json(sizes: &[Extent]) -> Vec<Option<usize>> {
    sizes.iter().map(|&size| known(size)).collect()
}

fn known(size: Extent) -> Option<usize> {
    match size {
        Extent::Known(size) => Some(size),
        Extent::Unknown | Extent::Positive => None,
    }
}
