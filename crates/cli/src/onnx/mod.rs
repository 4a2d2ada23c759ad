//! `unishape onnx`: models run, explained and rewritten.
//!
//! | module | contents |
//! |---|---|
//! | `args` | command-line arguments and help texts |
//! | `run` | runs a model on arrays in files |
//! | `inputs` | files given for the inputs of a model |
//! | `open` | opens a model that is not run, and checks `--dim` |
//! | `explain` | broadcasts of a model, as JSON, text or a page |
//! | `report_text` | broadcasts of a model, as text |
//! | `html` | broadcasts of a model, as an HTML page with figures |
//! | `rewrite` | makes broadcasts explicit or implicit |

pub(crate) mod args;
mod explain;
mod html;
mod inputs;
mod open;
mod report_text;
mod rewrite;
mod run;

use crate::error::CliError;
use args::{OnnxArgs, OnnxCommand};

pub(crate) fn run(args: OnnxArgs, json: bool) -> Result<(), CliError> {
    match args.command {
        OnnxCommand::Run(args) => run::run(&args, json),
        OnnxCommand::Explain(args) => explain::run(&args, json),
        OnnxCommand::Explicit(args) => rewrite::explicit(&args, json),
        OnnxCommand::Implicit(args) => rewrite::implicit(&args, json),
    }
}
