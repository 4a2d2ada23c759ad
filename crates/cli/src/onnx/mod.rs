//! `unishape onnx`: models run, explained and rewritten.
//!
//! | module | contents |
//! |---|---|
//! | `args` | command-line arguments and help texts |
//! | `run` | runs a model on arrays in files |
//! | `inputs` | files given for the inputs of a model |
//! | `explain` | broadcasts of a model, as text and JSON |
//! | `html` | broadcasts of a model, as an HTML page with figures |
//! | `rewrite` | makes broadcasts explicit or implicit |

pub(crate) mod args;
mod explain;
mod html;
mod inputs;
mod rewrite;
mod run;

use crate::error::CliError;
use args::{OnnxArgs, OnnxCommand};
use std::path::Path;
use unishape_onnx::Model;

pub(crate) fn run(args: OnnxArgs) -> Result<(), CliError> {
    match args.command {
        OnnxCommand::Run(args) => run::run(&args),
        OnnxCommand::Explain(args) => explain::run(&args),
        OnnxCommand::Explicit(args) => rewrite::run(&args, &rewrite::EXPLICIT),
        OnnxCommand::Implicit(args) => rewrite::run(&args, &rewrite::IMPLICIT),
    }
}

fn open(path: &Path) -> Result<Model, CliError> {
    Model::open(path).map_err(CliError::failed)
}
