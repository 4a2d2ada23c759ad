//! Command-line arguments and help texts of `unishape onnx`.

use crate::shared_args::{WritingArgs, dim, threads};
use clap::{Args as ClapArgs, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use unishape_onnx::BroadcastKind;

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
    Explicit(ExplicitArgs),
    /// Remove the Expands that `explicit` inserted
    #[command(after_help = IMPLICIT_EXAMPLES)]
    Implicit(ImplicitArgs),
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
    /// Number of threads. Default: UNISHAPE_NUM_THREADS, or one per usable CPU
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unishape onnx explain model.onnx
  unishape onnx explain model.onnx --json
  unishape onnx explain model.onnx --dim batch=1,height=320   with sizes for symbolic dimensions
  unishape onnx explain model.onnx --html page.html           with a graph of the model and figures

Shapes are inferred from inputs and initializers; sizes that depend on unknown ones are expressions of their names, \
such as floor((H+1)/2). Shapes that the model declares for other values are not used; wrong ones are reported. \
Subgraphs and functions are analyzed as the main graph. A broadcast is certain if it happens whatever the unknown \
sizes are; other ones are marked 'perhaps'.

Exit codes:
  0  the model was analyzed
  1  inputs of a node are incompatible: the error E1 of the SONNX profile (safety-related ONNX)
  2  invalid command line
  4  a file is missing or unreadable, or is not a model";

#[derive(ClapArgs)]
pub(crate) struct ExplainArgs {
    /// Model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Report only inputs that are stretched whatever the unknown sizes are
    #[arg(long)]
    pub(crate) certain_only: bool,
    /// Write an HTML page with figures to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Replace an existing file
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Sizes of symbolic dimensions.
#[derive(ClapArgs)]
pub(crate) struct DimArgs {
    /// Sizes of symbolic dimensions of the inputs: batch=1,height=320
    #[arg(long = "dim", value_name = "NAME=SIZE", value_delimiter = ',', value_parser = dim)]
    pub(crate) sizes: Vec<(String, usize)>,
}

const EXPLICIT_EXAMPLES: &str = "\
Examples:
  unishape onnx explicit model.onnx -o explicit.onnx
  unishape onnx explicit model.onnx --dim batch=1 -o explicit.onnx   for this batch size only
  unishape onnx explicit model.onnx --check                          a gate: nothing may broadcast
  unishape onnx explicit model.onnx --check --ignore matmul,normalization

Where all sizes are known, inputs are expanded to a constant shape; elsewhere to the shape of another input, computed \
when the model runs. Inputs of element-wise operators and C of Gemm are expanded, in subgraphs and functions, too. In \
ONNX Runtime without optimizations the new model gives the same results, bit for bit. To keep that, a single exponent \
of Pow is not expanded (--expand-pow), and to save memory, batch dimensions of matrix products are not \
(--expand-matmul). Normalizations, quantization along an axis, attention, Einsum and the bias of BiasGelu and alike \
broadcast by definition.

Kinds of broadcasting for --ignore: element-wise, pow, gemm, matmul, normalization, quantization, attention, einsum, bias.

Exit codes of --check:
  0  no operator broadcasts
  1  an operator broadcasts, or inputs are incompatible (E1)
  2  invalid command line
  3  could not tell: sizes are unknown, or operators not analyzed (0 with --allow-unknown)
  4  a file is missing or unreadable, or is not a model";

#[derive(ClapArgs)]
pub(crate) struct ExplicitArgs {
    #[command(flatten)]
    pub(crate) files: RewriteArgs,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Expand only inputs that are stretched whatever the unknown sizes are
    #[arg(long, conflicts_with = "check")]
    pub(crate) certain_only: bool,
    /// Expand a single exponent of Pow, too: ONNX Runtime may round its result differently
    #[arg(long, conflicts_with = "check")]
    pub(crate) expand_pow: bool,
    /// Expand batch dimensions of matrix products, too: needs more memory
    #[arg(long, conflicts_with = "check")]
    pub(crate) expand_matmul: bool,
    /// Kinds of broadcasting that --check accepts
    #[arg(long, value_name = "KIND", value_delimiter = ',', requires = "check")]
    pub(crate) ignore: Vec<BroadcastKind>,
    /// With --check: accept what may broadcast, and operators that are not analyzed
    #[arg(long, requires = "check")]
    pub(crate) allow_unknown: bool,
}

const IMPLICIT_EXAMPLES: &str = "\
Examples:
  unishape onnx implicit model.onnx -o smaller.onnx
  unishape onnx implicit model.onnx --all -o smaller.onnx    also those of the model's author
  unishape onnx implicit model.onnx --check                  exit code 1 if an Expand is redundant

An Expand is removed if all its consumers broadcast to the same shape by themselves, for any values of the unknown \
sizes; so are the constants and shape computations that only it used.

Exit codes:
  0  done; with --check: nothing to remove
  1  with --check: an Expand would be removed; inputs of a node are incompatible (E1)
  2  invalid command line
  4  a file is missing or unreadable, or is not a model";

#[derive(ClapArgs)]
pub(crate) struct ImplicitArgs {
    #[command(flatten)]
    pub(crate) files: RewriteArgs,
    /// Remove all redundant Expands, also those that the model's author wrote
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(ClapArgs)]
pub(crate) struct RewriteArgs {
    /// Model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// File for the rewritten model; external data is copied to its directory
    #[arg(
        short,
        long,
        value_name = "FILE.onnx",
        required_unless_present = "check",
        conflicts_with = "check"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Only check, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}
