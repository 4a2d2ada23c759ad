//! The command line of `unishape onnx`.

use crate::args::{WritingArgs, threads};
use clap::{Args as ClapArgs, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  unishape onnx run model.onnx x=x.npy y=y.npy -o results  what it computes, one file an output
  unishape onnx explain model.onnx                         every node that stretches an input
  unishape onnx explicit model.onnx -o explicit.onnx       the same model, with an Expand before each of them
  unishape onnx implicit explicit.onnx -o model.onnx       and back

What is in a model and is not known here stays as it is, byte for byte.";

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
    /// Show which nodes broadcast: which inputs, along which dimensions, how much larger they get
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Put an Expand before every input that is stretched, so that no operator broadcasts
    #[command(after_help = EXPLICIT_EXAMPLES)]
    Explicit(RewriteArgs),
    /// Take away Expands that operators do without, since they broadcast
    #[command(after_help = IMPLICIT_EXAMPLES)]
    Implicit(RewriteArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  unishape onnx run model.onnx x=x.npy mask=m.npy -o results  to results/NAME.npy, for each output NAME
  unishape onnx run model.onnx x.npy                          small results are printed
  unishape onnx run model.onnx input_0.pb -o results          a tensor in ONNX's own format

A file alone is for the input that it is called as, and an ONNX tensor for the one whose name is in it.
Element-wise operators that follow each other are computed in one pass, on all cores. All element-wise operators
of ONNX that broadcast are run, those of one input, and those that shapes are made with; any other is named.";

#[derive(ClapArgs)]
pub(crate) struct RunArgs {
    /// The model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// Its inputs: x=x.npy, x=x.pb; a file alone is for the name that it has
    #[arg(value_name = "NAME=FILE|FILE")]
    pub(crate) inputs: Vec<OsString>,
    /// A folder, made if need be, for one .npy file an output. Without this small results are printed
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How many threads compute; all cores unless told
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unishape onnx explain model.onnx
  unishape onnx explain model.onnx --json
  unishape onnx explain model.onnx --html page.html   with pictures, as `unishape explain` draws them

Shapes are inferred from inputs, initializers, and what the model says of values between; sizes that are not
known go by their names. Where shapes are incompatible, the node is named with E1, and the exit code is 1.";

#[derive(ClapArgs)]
pub(crate) struct ExplainArgs {
    /// The model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// Print JSON
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Write a page with pictures to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

const EXPLICIT_EXAMPLES: &str = "\
Examples:
  unishape onnx explicit model.onnx -o explicit.onnx
  unishape onnx explicit model.onnx --check          exit code 1 if any node broadcasts; nothing is written

Where all sizes are known, inputs are expanded to a constant shape; where not, to the shape that the inputs beside
them turn out to have. The result computes the same, bit for bit, and `unishape onnx explain` finds nothing in it.";

const IMPLICIT_EXAMPLES: &str = "\
Examples:
  unishape onnx implicit model.onnx -o smaller.onnx
  unishape onnx implicit model.onnx --check          exit code 1 if any Expand is needless; nothing is written

An Expand goes where all that it feeds broadcasts by itself, to the same shape, whatever the sizes turn out to be;
and with it the constants and shapes that only it needed.";

#[derive(ClapArgs)]
pub(crate) struct RewriteArgs {
    /// The model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// The file that the rewritten model goes to
    #[arg(
        short,
        long,
        value_name = "FILE.onnx",
        required_unless_present = "check",
        conflicts_with = "check"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Only tell what there is to do; exit code 1 if there is anything
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}
