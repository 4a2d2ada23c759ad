//! `unishape onnx`: models run, explained and rewritten.
//!
//! | module | contents |
//! |---|---|
//! | `args` | command-line arguments and help texts |
//! | `run` | runs a model on arrays in files |
//! | `inputs` | files given for the inputs of a model |
//! | `explain` | broadcasts of a model, as JSON, text or a page |
//! | `report_text` | broadcasts of a model, as text |
//! | `html` | broadcasts of a model, as an HTML page with figures |
//! | `rewrite` | makes broadcasts explicit or implicit |

pub(crate) mod args;
mod explain;
mod html;
mod inputs;
mod report_text;
mod rewrite;
mod run;

use crate::error::CliError;
use args::{DimArgs, OnnxArgs, OnnxCommand};
use std::path::Path;
use unishape::text;
use unishape_onnx::{DeclaredDim, FixedSizes, Model};

pub(crate) fn run(args: OnnxArgs) -> Result<(), CliError> {
    match args.command {
        OnnxCommand::Run(args) => run::run(&args),
        OnnxCommand::Explain(args) => explain::run(&args),
        OnnxCommand::Explicit(args) => rewrite::explicit(&args),
        OnnxCommand::Implicit(args) => rewrite::implicit(&args),
    }
}

/// Exit code if a file is missing or unreadable, or is not a model.
const UNREADABLE: u8 = 4;

/// Opens a model that is not run.
fn open(path: &Path) -> Result<Model, CliError> {
    Model::open(path).map_err(|error| CliError::Code(UNREADABLE, error.to_string()))
}

/// Sizes of symbolic dimensions; fails if no input has a dimension of that name.
fn fixed_sizes(args: &DimArgs, model: &Model) -> Result<FixedSizes, CliError> {
    let dims = model.graph().inputs.iter().flat_map(|input| input.shape.iter().flatten());
    let mut names: Vec<&str> = dims
        .filter_map(|dim| match dim {
            DeclaredDim::Symbol(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    for (name, _) in &args.sizes {
        if !names.contains(&name.as_str()) {
            let known = match names.is_empty() {
                true => "the inputs have no symbolic dimensions".into(),
                false => format!("those of the inputs are {}", text::truncate(&names.join(", "), 200)),
            };
            let name = text::truncate(name, 60);
            return Err(CliError::usage(format!("--dim {name}: no such symbolic dimension; {known}")));
        }
    }
    Ok(args.sizes.iter().cloned().collect())
}
