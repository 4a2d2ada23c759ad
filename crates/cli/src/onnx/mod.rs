//! `unishape onnx`: models run, explained and rewritten.
//!
//! | module | holds |
//! |---|---|
//! | `args` | the command line |
//! | `run` | a model run on files |
//! | `inputs` | the files that are given for its inputs |
//! | `explain` | where a model broadcasts, as text and as JSON |
//! | `page` | the same as a page with pictures |
//! | `rewrite` | broadcasting made explicit, and implicit again |

pub(crate) mod args;
mod explain;
mod inputs;
mod page;
mod rewrite;
mod run;

use crate::failure::Failure;
use args::{OnnxArgs, OnnxCommand};
use std::io::{self, Write};
use std::path::Path;
use unishape_onnx::Model;

pub(crate) fn run(args: OnnxArgs) -> Result<(), Failure> {
    match args.command {
        OnnxCommand::Run(args) => run::run(&args),
        OnnxCommand::Explain(args) => explain::run(&args),
        OnnxCommand::Explicit(args) => rewrite::run(&args, &rewrite::EXPLICIT),
        OnnxCommand::Implicit(args) => rewrite::run(&args, &rewrite::IMPLICIT),
    }
}

fn open(path: &Path) -> Result<Model, Failure> {
    Model::open(path).map_err(Failure::failed)
}

/// Says something on standard error, unless nothing is to be said.
fn say(quiet: bool, text: &str) {
    if !quiet {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}
