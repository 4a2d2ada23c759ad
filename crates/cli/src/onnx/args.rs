//! Command-line arguments and help texts of `unishape onnx`.

use crate::shared_args::{WritingArgs, threads};
use clap::{Args as ClapArgs, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  unishape onnx run model.onnx x=x.npy y=y.npy -o results  run a model, one file per output
  unishape onnx explain model.onnx                         show every node that stretches an input
  unishape onnx explicit model.onnx -o explicit.onnx       insert an Expand before each of them
  unishape onnx implicit explicit.onnx -o model.onnx       remove the Expands again

Unknown parts of a model are preserved, byte for byte.";

#[derive(ClapArgs)]
pub(crate) struct OnnxArgs {
    #[command(subcommand)]
    pub(crate) command: OnnxCommand,
}

#[derive(Subcommand)]
pub(crate) enum OnnxCommand {
    /// Run a model on arrays in files
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Show which nodes broadcast: which inputs, along which dimensions, by what factor
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Insert an Expand before every stretched input, so that no operator broadcasts
    #[command(after_help = EXPLICIT_EXAMPLES)]
    Explicit(RewriteArgs),
    /// Remove Expands that are unnecessary because operators broadcast
    #[command(after_help = IMPLICIT_EXAMPLES)]
    Implicit(RewriteArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  unishape onnx run model.onnx x=x.npy mask=m.npy -o results  write results/OUTPUT.npy
  unishape onnx run model.onnx x.npy                          print small outputs
  unishape onnx run model.onnx input_0.pb -o results          read a tensor in ONNX's own format

A file alone is for the input of its name; an ONNX tensor file is for the input whose name it contains. \
Consecutive element-wise operators, reductions and normalizations are computed in one pass, on all cores. \
Supported are all element-wise operators of ONNX, Reduce…, ArgMax, ArgMin, softmax, the normalizations by mean and \
variance, and operators that compute shapes; any other is an error that names it.";

#[derive(ClapArgs)]
pub(crate) struct RunArgs {
    /// Model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// Inputs: x=x.npy, x=x.pb; a file alone is for the input of its name
    #[arg(value_name = "NAME=FILE|FILE")]
    pub(crate) inputs: Vec<OsString>,
    /// Directory for one .npy file per output, created if necessary. Default: small outputs are printed
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of threads. Default: one per core
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unishape onnx explain model.onnx
  unishape onnx explain model.onnx --json
  unishape onnx explain model.onnx --html page.html   with figures, as of `unishape explain`

Shapes are inferred from inputs, initializers and the value information of the model; unknown sizes keep their \
names. Incompatible shapes are reported with their node, as the error E1 of the SONNX profile (safety-related ONNX), \
with exit code 1.";

#[derive(ClapArgs)]
pub(crate) struct ExplainArgs {
    /// Model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// Print JSON
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Write an HTML page with figures to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}

const EXPLICIT_EXAMPLES: &str = "\
Examples:
  unishape onnx explicit model.onnx -o explicit.onnx
  unishape onnx explicit model.onnx --check          exit code 1 if any node broadcasts

Where all sizes are known, inputs are expanded to a constant shape; elsewhere to a shape that is computed when \
the model runs. The new model gives the same results, bit for bit, and has no broadcasts.";

const IMPLICIT_EXAMPLES: &str = "\
Examples:
  unishape onnx implicit model.onnx -o smaller.onnx
  unishape onnx implicit model.onnx --check          exit code 1 if any Expand is unnecessary

An Expand is removed if all its consumers broadcast to the same shape by themselves, for any values of the unknown \
sizes; so are the constants and shape computations that only it used.";

#[derive(ClapArgs)]
pub(crate) struct RewriteArgs {
    /// Model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// File for the rewritten model
    #[arg(
        short,
        long,
        value_name = "FILE.onnx",
        required_unless_present = "check",
        conflicts_with = "check"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Only check, and write nothing: exit code 1 if the model would change
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}
