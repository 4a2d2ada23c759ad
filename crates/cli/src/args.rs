//! Command-line arguments and help texts.

use crate::error::EXIT_CODES;
use crate::eval::memory_size;
use crate::onnx::args::OnnxArgs;
use crate::shared_args::{RuleArgs, WritingArgs, ZarrArgs, dim, known_shape, threads};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use unishape::DType;
use unishape::expr::ReduceOp;

/// Broadcast any number of arrays to one shape
#[derive(Parser)]
#[command(name = "unishape", version, arg_required_else_help = true, after_help = [EXAMPLES, EXIT_CODES].concat())]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print results and errors as JSON on standard output, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Below an error E1, print a link that draws the shapes in the playground of the site at this address
    #[arg(long, global = true, value_name = "SITE")]
    pub(crate) link: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  unishape shape 8x1x6x1 7x1x5           the common shape: 8x7x6x5
  unishape explain 3x1 4                 a figure of the broadcast, in the terminal
  unishape explain 3x1 4 --html p.html   the same as an interactive page
  unishape broadcast a.npy b.npy --out z the arrays, stretched, as files
  unishape eval 'a * b' a.npy b.npy      their product, printed
  unishape onnx explain model.onnx       the nodes of a model that broadcast
  unishape sum-to 3 gradient.npy         the adjoint of broadcasting

";

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
    /// Sum an array to a shape that is broadcast to its own
    #[command(after_help = SUM_TO_EXAMPLES)]
    SumTo(SumToArgs),
    /// Run an ONNX model, and show or rewrite its broadcasts
    #[command(after_help = crate::onnx::args::EXAMPLES)]
    Onnx(OnnxArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each subcommand
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Directory of the pages; created if it does not exist
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Replace existing files
        #[arg(long, short)]
        force: bool,
    },
}

const SHAPE_EXAMPLES: &str = "\
Examples:
  unishape shape 8x1x6x1 7x1x5         8x7x6x5
  unishape shape '(8, 1, 6, 1)' 7,1,5  the same
  unishape shape '?x3' 5x1             5x3; ? is an unknown size
  unishape shape N,3,H,W 3,1,1         Nx3xHxW; names stand for unknown sizes
  unishape shape - < shapes.txt        from standard input, one per line
  unishape shape --json 2x1 8x4x3      the error as JSON

An argument that is a valid shape is never a file name: write ./4 for the file 4.

Without arguments, shapes are read from standard input, unless it is a terminal. # starts a comment.";

#[derive(ClapArgs)]
pub(crate) struct ShapeArgs {
    /// Shapes: 8x1x6, 8,1,6 or '(8, 1, 6)'; ? for an unknown size; '()' for rank 0; a file for the shape of its
    /// array; - for standard input: one per line, or an .npy file
    #[arg(value_name = "SHAPE")]
    pub(crate) shapes: Vec<OsString>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unishape explain 3x1 4
  unishape explain 8x1x6x1 7x1x5 --svg figure.svg
  unishape explain N,3,H,W 3,1,1 --dim N=2
  unishape explain prices.npy names.npy --html page.html
  unishape explain 3x4 --reduce sum --axis 1         which axis collapses
  unishape explain x.npy --reduce mean --axis 0,2 --keepdims";

#[derive(ClapArgs)]
pub(crate) struct ExplainArgs {
    /// Shapes, or arrays in files, whose elements are shown
    #[arg(value_name = "SHAPE|FILE", required = true)]
    pub(crate) inputs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Draw a reduction of one shape or array instead: sum, mean, max, argmax, …
    #[arg(long, value_name = "FUNCTION", value_parser = reduction)]
    pub(crate) reduce: Option<ReduceOp>,
    /// Axes that are reduced, counted from the end if negative. Default: all
    #[arg(
        long,
        value_name = "AXIS",
        value_delimiter = ',',
        num_args = 1,
        allow_hyphen_values = true,
        requires = "reduce"
    )]
    pub(crate) axis: Option<Vec<i64>>,
    /// Keep reduced axes, with size 1
    #[arg(long, requires = "reduce")]
    pub(crate) keepdims: bool,
    /// Sizes of named dimensions in the figure: N=2,H=4. Default: small ones
    #[arg(long = "dim", value_name = "NAME=SIZE", value_delimiter = ',', value_parser = dim)]
    pub(crate) sizes: Vec<(String, usize)>,
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
  unishape broadcast a.npy --to 3x4 --out b.npy        a single array to one file
  unishape broadcast a.npy b.npy --out z --dry-run     print what would be written

Results are named after their inputs; duplicate names are numbered: a.npy, a-1.npy and so on. \
Elements of any dtype are copied bit for bit. Arrays may be larger than memory: files are memory-mapped \
and streamed. Nothing is written if the command fails or is stopped.";

#[derive(ClapArgs)]
pub(crate) struct BroadcastArgs {
    /// Arrays: a.npy, z.npz:a, m.safetensors:w, s.zarr:a, d.bin:float32:3x4, t.csv; - for an .npy file on standard
    /// input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) inputs: Vec<OsString>,
    /// Broadcast each array to this shape, instead of their common shape
    #[arg(long, value_name = "SHAPE", value_parser = known_shape)]
    pub(crate) to: Option<std::vec::Vec<usize>>,
    /// Directory for one .npy file per array, created if necessary; or a file ending in .npz or a Zarr store ending
    /// in .zarr for all of them. For a single array also a file ending in .npy, or - for standard output
    #[arg(short, long, value_name = "DIR|FILE.npz|STORE.zarr")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) zarr: ZarrArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  unishape eval 'a * b + c' a=x.npy b=y.npy c=z.npy -o out.npy
  unishape eval '(x - mean) / sqrt(var + k)' x.npy mean.npy var.npy k=1e-5
  unishape eval 'where(a > k, a, 0)' a.npy k=2.5 --dtype float32 -o out.npy
  unishape eval 'i * j' i=1:10x1 j=1:10        the multiplication table, printed
  unishape eval 'mean(x, axis=0)' x.npy         the mean of each column
  unishape eval 'softmax(x[:, None] - y)' x.npy y.npy -o out.npy
  unishape eval 'sqrt(x)' 'x=[[1, 4], [9, 16]]'

Values of variables:
  a=FILE.npy            an array of numbers of any dtype
  a=z.npz:b             of an archive; z.npz alone: arrays named like variables
  a=m.safetensors:b     a tensor of a file of tensors
  a=s.zarr:b            of a Zarr store, decoded chunk by chunk
  a=d.bin:float32:3x4   raw elements; 3x4@16 from byte 16 on, ?x4 all of them
  a=t.csv               a table of numbers; also .tsv and .txt
  a=-                   an .npy file from standard input
  FILE                  the same, for the variable that the file is named after
  a=2.5                 a number, which takes the dtype of the arrays: 2j, true, pi
  a=0:10                a range: from 0 to 9; 0:1:0.1 with a step; 0:10x1 a column
  a=[1,2,3]             a small array; nested lists are rows

A valid number, range or list is never a file name: write ./4 for the file 4. \
Operators are those of Python: + - * / // % **, < <= == != >= >, & | ^ ~ << >>, and or not; functions those of \
NumPy: sqrt, exp, where, minimum, clip, …; float32(x) casts. Dtypes are promoted as in NumPy 2. \
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
    #[arg(value_name = "NAME=VALUE|FILE")]
    pub(crate) inputs: Vec<OsString>,
    /// Dtype of the result. Default: that of the expression
    #[arg(long, value_name = "TYPE", value_parser = dtypes())]
    pub(crate) dtype: Option<DType>,
    /// Print how the result would be computed, and compute nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options of the subcommands that compute one array.
#[derive(ClapArgs)]
pub(crate) struct OutputArgs {
    /// File for the result, or a Zarr store ending in .zarr; - for standard output: an .npy file, or text on a
    /// terminal. Default: small results are printed
    #[arg(short, long, value_name = "FILE.npy|STORE.zarr")]
    pub(crate) out: Option<PathBuf>,
    /// Memory limit for chunks of the result and for inputs that are generated or converted. Memory-mapped files,
    /// results of inner reductions, contiguous copies of strided inputs that reductions read many times, and the
    /// program itself (a few megabytes) do not count
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = memory_size::parse)]
    pub(crate) memory: u64,
    /// Number of threads. Default: UNISHAPE_NUM_THREADS, or one per usable CPU
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) zarr: ZarrArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

const SUM_TO_EXAMPLES: &str = "\
Examples:
  unishape sum-to 3 gradient.npy                 sum a 2x3 array to 3, and print it
  unishape sum-to 2x1 gradient.npy -o sums.npy

The adjoint of broadcasting, and so its gradient: the shape must be one that can be broadcast to that of the \
array. Booleans and small integers are added as int64 or uint64, as numpy.sum does; other dtypes stay.";

#[derive(ClapArgs)]
pub(crate) struct SumToArgs {
    /// Shape of the result
    #[arg(value_name = "SHAPE", value_parser = known_shape)]
    pub(crate) shape: std::vec::Vec<usize>,
    /// Array: a.npy, z.npz:a, m.safetensors:w, s.zarr:a, d.bin:float32:3x4, t.csv; - for an .npy file on standard
    /// input
    #[arg(value_name = "FILE")]
    pub(crate) input: OsString,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Parses the name of a reduction.
fn reduction(name: &str) -> Result<ReduceOp, String> {
    ReduceOp::from_name(name).ok_or_else(|| "not a reduction; write sum, mean, max, argmax, …".into())
}

/// Parses the dtype of numbers.
fn dtypes() -> impl TypedValueParser<Value = DType> {
    let names = DType::ALL.iter().filter(|&&dtype| dtype != DType::Str).map(|dtype| dtype.name());
    PossibleValuesParser::new(names).try_map(|name| DType::from_name(&name).ok_or("unknown dtype"))
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  unishape completions bash > /etc/bash_completion.d/unishape
  unishape completions zsh > ~/.zfunc/_unishape
  unishape completions fish > ~/.config/fish/completions/unishape.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  unishape man ~/.local/share/man/man1
  unishape man pages --force";

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::CommandFactory;

    /// Lines that are laid out by hand fit 100 columns, the width that clap wraps at. Paragraphs are single lines.
    fn check(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = help.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let is_laid_out = line.starts_with("  ") || line.ends_with(':');
            let width = unicode_width::UnicodeWidthStr::width(*line);
            assert!(!is_laid_out || width <= 100, "{}: {width} columns: {line}", command.get_name());
            let next = lines.get(at + 1).copied().unwrap_or_default();
            let is_alone = next.is_empty() || next.starts_with("  ");
            assert!(
                is_laid_out || line.is_empty() || is_alone,
                "{}: wrapped by hand: {line}",
                command.get_name()
            );
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn help_texts_are_wrapped_once() {
        check(&Args::command());
    }
}
