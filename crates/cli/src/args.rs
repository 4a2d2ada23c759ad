//! Command-line arguments and help texts.

use crate::eval::memory_size;
use crate::onnx::args::OnnxArgs;
use crate::shared_args::{RuleArgs, WritingArgs, threads};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use unishape::DType;

/// Broadcast any number of arrays to one shape
#[derive(Parser)]
#[command(name = "unishape", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  unishape shape 8x1x6x1 7x1x5           the common shape: 8x7x6x5
  unishape explain 3x1 4                 a figure of the broadcast, in the terminal
  unishape explain 3x1 4 --html p.html   the same as an interactive page
  unishape broadcast a.npy b.npy --out z the arrays, stretched, as files
  unishape eval 'a * b' a.npy b.npy      their product, printed
  unishape onnx explain model.onnx       the nodes of a model that broadcast

Exit codes: 0 success; 1 incompatible shapes, or an error with a file; 2 invalid command line; \
130, 143, 129 stopped by Ctrl-C, SIGTERM, SIGHUP.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the common shape of several shapes
    #[command(after_help = SHAPE_EXAMPLES)]
    Shape(ShapeArgs),
    /// Draw how shapes or arrays are broadcast, step by step
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Stretch arrays to their common shape and write them to files
    #[command(after_help = BROADCAST_EXAMPLES)]
    Broadcast(BroadcastArgs),
    /// Compute an expression of arrays in files
    #[command(after_help = EVAL_EXAMPLES)]
    Eval(EvalArgs),
    /// Run an ONNX model, and show or rewrite its broadcasts
    #[command(after_help = crate::onnx::args::EXAMPLES)]
    Onnx(OnnxArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

const SHAPE_EXAMPLES: &str = "\
Examples:
  unishape shape 8x1x6x1 7x1x5         8x7x6x5
  unishape shape '(8, 1, 6, 1)' 7,1,5  the same
  unishape shape '?x3' 5x1             5x3; ? is an unknown size
  unishape shape - < shapes.txt        from standard input, one per line, in constant memory
  unishape shape --json 2x1 8x4x3      the error as JSON

An argument that is a valid shape is never a file name: write ./4 for the file 4.
Without arguments, shapes are read from standard input, unless it is a terminal. # starts a comment.";

#[derive(ClapArgs)]
pub(crate) struct ShapeArgs {
    /// Shapes: 8x1x6, 8,1,6 or '(8, 1, 6)'; ? for an unknown size; '()' for rank 0; an .npy file for its shape; - for
    /// standard input, one per line
    #[arg(value_name = "SHAPE")]
    pub(crate) shapes: Vec<OsString>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unishape explain 3x1 4
  unishape explain 8x1x6x1 7x1x5 --svg figure.svg
  unishape explain prices.npy names.npy --html page.html";

#[derive(ClapArgs)]
pub(crate) struct ExplainArgs {
    /// Shapes, or .npy files, whose elements are shown
    #[arg(value_name = "SHAPE|FILE", required = true)]
    pub(crate) inputs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Write an SVG figure to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write an interactive HTML page to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Replace existing files
    #[arg(short, long)]
    pub(crate) force: bool,
    /// When to use colors; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Width of the figure in columns. Default: that of the terminal, or 80
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) width: Option<usize>,
}

const BROADCAST_EXAMPLES: &str = "\
Examples:
  unishape broadcast a.npy b.npy --out stretched       to stretched/a.npy and stretched/b.npy
  unishape broadcast a.npy b.npy --out stretched.npz   to one archive
  unishape broadcast a.npy b.npy --out z --dry-run     print what would be written

Results are named after their inputs; duplicate names are numbered: a.npy, a-1.npy and so on. \
Elements of any dtype are copied bit for bit. Arrays may be larger than memory: files are memory-mapped \
and streamed. Nothing is written if the command fails or is stopped.";

#[derive(ClapArgs)]
pub(crate) struct BroadcastArgs {
    /// Arrays
    #[arg(value_name = "FILE.npy", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Directory for one .npy file per array, created if necessary; or a file ending in .npz for all of them
    #[arg(short, long, value_name = "DIR|FILE.npz")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  unishape eval 'a * b + c' a=x.npy b=y.npy c=z.npy -o out.npy
  unishape eval '(x - mean) / sqrt(var + eps)' x.npy mean.npy var.npy eps=1e-5 -o out.npy
  unishape eval 'where(a > k, a, 0)' a.npy k=2.5 --dtype float32 -o out.npy
  unishape eval 'i * j' i=1:10x1 j=1:10        the multiplication table, printed
  unishape eval 'mean(x, axis=0)' x.npy         the mean of each column
  unishape eval 'softmax(x[:, None] - y)' x.npy y.npy -o out.npy
  unishape eval 'sqrt(x)' 'x=[[1, 4], [9, 16]]'

Values of variables:
  a=FILE.npy     an array of numbers of any dtype, in either byte order, row-major or column-major
  FILE.npy       the same, for the variable that the file is named after
  a=2.5          a number, which takes the dtype of the arrays: -3, 1e-3, 2j, true, pi
  a=0:10         a range, as in Python: from 0 to 9; 0:1:0.1 with a step; 0:10x1 as a column
  a=[1,2,3]      a small array; nested lists are rows
A valid number, range or list is never a file name: write ./4 for the file 4.

Operators are those of Python: + - * / // % **, < <= == != >= >, & | ^ ~ << >>, and or not; functions those of \
NumPy: sqrt, exp, where, minimum, clip, …; float32(x) casts. Dtypes are promoted as in NumPy 2.
Axes and reductions are those of NumPy, too: x[:, None], x[1:, ::-1], x.T, transpose(x, (2, 0, 1)); sum, mean, max, \
argmax, std, norm, … with axis=, keepdims= and where=; softmax, layer_norm.

The result is computed in one pass, chunk by chunk; one chunk is computed while another is written. Files may \
be larger than memory, and must not change meanwhile. Chunks of column-major files are as large as --memory \
allows: more memory makes them faster. With axes or reductions, ranges and files in another byte order are loaded \
whole, and must fit --memory. With --force, the result may replace one of the inputs. \
Nothing is written if the command fails or is stopped.";

#[derive(ClapArgs)]
pub(crate) struct EvalArgs {
    /// Expression, such as 'a * b + c'
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub(crate) expr: String,
    /// Values of its variables: a=a.npy, k=2.5, i=0:10; a file alone is for the variable of its name
    #[arg(value_name = "NAME=VALUE|FILE.npy")]
    pub(crate) inputs: Vec<OsString>,
    /// File for the result; - prints it. Default: small results are printed
    #[arg(short, long, value_name = "FILE.npy")]
    pub(crate) out: Option<PathBuf>,
    /// Dtype of the result. Default: that of the expression
    #[arg(long, value_name = "TYPE", value_parser = dtypes())]
    pub(crate) dtype: Option<DType>,
    /// Memory limit for chunks of the result and for inputs that are generated or converted. Memory-mapped files,
    /// results of inner reductions, contiguous copies of strided inputs that reductions read many times, and the
    /// program itself (a few megabytes) do not count
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = memory_size::parse)]
    pub(crate) memory: u64,
    /// Number of threads. Default: one per core
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Print how the result would be computed, and compute nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

/// Parses the dtype of numbers.
fn dtypes() -> impl TypedValueParser<Value = DType> {
    let names = DType::ALL.iter().filter(|&&dtype| dtype != DType::Str).map(|dtype| dtype.name());
    PossibleValuesParser::new(names).try_map(|name| DType::from_name(&name).ok_or("unknown dtype"))
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  unishape completions bash > ~/.local/share/bash-completion/completions/unishape
  unishape completions zsh > ~/.zfunc/_unishape
  unishape completions fish > ~/.config/fish/completions/unishape.fish";
