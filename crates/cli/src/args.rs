//! The command line: what can be asked for, and the help texts.

use crate::eval::size;
use crate::onnx::args::OnnxArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unishape::{DType, Rules};

/// Broadcasting: any number of arrays brought to one shape.
#[derive(Parser)]
#[command(name = "unishape", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  unishape shape 8x1x6x1 7x1x5           the common shape: 8x7x6x5
  unishape explain 3x1 4                 how it comes about, drawn in the terminal
  unishape explain 3x1 4 --html p.html   the same as a page to point at
  unishape broadcast a.npy b.npy --out z the arrays, stretched, as files
  unishape eval 'a * b' a.npy b.npy      their product, printed
  unishape onnx explain model.onnx       where a model broadcasts

Exit codes: 0 all is well; 1 the shapes are incompatible, or a file is at fault; 2 bad usage; 130 stopped
by Ctrl-C.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the common shape of several shapes
    #[command(after_help = SHAPE_EXAMPLES)]
    Shape(ShapeArgs),
    /// Draw how shapes or arrays are broadcast, step by step
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Write arrays, stretched to their common shape, to files
    #[command(after_help = BROADCAST_EXAMPLES)]
    Broadcast(BroadcastArgs),
    /// Compute an expression of arrays, from files to a file
    #[command(after_help = EVAL_EXAMPLES)]
    Eval(EvalArgs),
    /// Run an ONNX model, and show or change where it broadcasts
    #[command(after_help = crate::onnx::args::EXAMPLES)]
    Onnx(OnnxArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
}

/// The rule set, for every subcommand.
#[derive(ClapArgs, Clone, Copy)]
pub(crate) struct RuleArgs {
    /// Which rules hold where a size is 0
    #[arg(long, value_enum, default_value = "standard")]
    rules: RuleSet,
    /// Refuse shapes of unequal rank, so that 3x1 with 3 is no silent 3x3
    #[arg(long)]
    strict_rank: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum RuleSet {
    /// NumPy's, the Array API's and ONNX's: 1 stretches to 0
    Standard,
    /// The SONNX text to the letter: 0 goes with 0 alone, and there is at least one input
    Sonnx,
}

impl RuleArgs {
    pub(crate) fn rules(self) -> Rules {
        let rules = match self.rules {
            RuleSet::Standard => Rules::STANDARD,
            RuleSet::Sonnx => Rules::SONNX,
        };
        if self.strict_rank { rules.strict_rank() } else { rules }
    }
}

/// For every subcommand that writes arrays to files.
#[derive(ClapArgs)]
pub(crate) struct WritingArgs {
    /// Replace files that are there already
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Tell what would be written, and write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Say nothing but what goes wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const SHAPE_EXAMPLES: &str = "\
Examples:
  unishape shape 8x1x6x1 7x1x5         8x7x6x5
  unishape shape '(8, 1, 6, 1)' 7,1,5  the same
  unishape shape '?x3' 5x1             5x3; ? is a size not known yet
  unishape shape - < shapes.txt        from a file, one a line, a million if need be
  unishape shape --json 2x1 8x4x3      what is wrong, for programs to read

A word that is a shape is one even if there is a file of that name; ./4 is the file.
Without arguments, standard input is read if it is no terminal. There # begins a comment.";

#[derive(ClapArgs)]
pub(crate) struct ShapeArgs {
    /// Shapes: 8x1x6, 8,1,6 or '(8, 1, 6)'; ? for an unknown size, '()' for rank 0; an .npy file for its shape; - reads standard input, one a line
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
  unishape explain 8x1x6x1 7x1x5 --svg picture.svg
  unishape explain prices.npy names.npy --html page.html";

#[derive(ClapArgs)]
pub(crate) struct ExplainArgs {
    /// Shapes, or .npy files, whose elements are then shown
    #[arg(value_name = "SHAPE|FILE", required = true)]
    pub(crate) inputs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Draw an SVG picture to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a page to this file: point at a cell to see where it comes from; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// When to use colours in the terminal; NO_COLOR turns them off too
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// How many columns to draw in; the terminal's, or 80, unless told
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) width: Option<usize>,
}

const BROADCAST_EXAMPLES: &str = "\
Examples:
  unishape broadcast a.npy b.npy --out stretched       to stretched/a.npy and stretched/b.npy
  unishape broadcast a.npy b.npy --out stretched.npz   to one archive
  unishape broadcast a.npy b.npy --out z --dry-run     only tell what would be written

Results are called as their inputs; where that would be twice the same, a.npy, a-1.npy and so on.
Elements of any type are copied bit for bit. Arrays larger than memory are no problem: files are
mapped and streamed. Nothing is left behind if the work fails or is stopped.";

#[derive(ClapArgs)]
pub(crate) struct BroadcastArgs {
    /// The arrays
    #[arg(value_name = "FILE.npy", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// A folder, made if need be, for one .npy file an array; or a file ending in .npz for all of them
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
  unishape eval 'sqrt(x)' 'x=[[1, 4], [9, 16]]'

What can be given for a name:
  a=FILE.npy     an array of numbers of any type, in either byte order, in C or Fortran order
  FILE.npy       the same for the name that the file has
  a=2.5          a number, which takes the type of the arrays it meets: -3, 1e-3, 2j, true, pi
  a=0:10         a range, as Python's: from 0 on, before 10; 0:1:0.1 in steps; 0:10x1 as a column
  a=[1,2,3]      a small array; lists within lists are rows
What is a number, a range or a list is one even if there is a file of that name; ./4 is the file.

Operators are Python's: + - * / // % **, < <= == != >= >, & | ^ ~ << >>, and or not; functions are called as
in NumPy: sqrt, exp, where, minimum, clip, …; float32(x) changes the type. Types are those of NumPy 2.

The result is computed in one pass, piece by piece: one piece while another is written. Files may be larger
than memory; they must be left alone meanwhile. Of files in Fortran order pieces are as large as --memory
allows, and more of it helps. The result may replace one of the inputs, with --force.
Nothing is left behind if the work fails or is stopped.";

#[derive(ClapArgs)]
pub(crate) struct EvalArgs {
    /// What is computed: 'a * b + c'
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub(crate) expr: String,
    /// What its names are: a=a.npy, k=2.5, i=0:10; a file alone is for the name that it has
    #[arg(value_name = "NAME=VALUE|FILE.npy")]
    pub(crate) inputs: Vec<OsString>,
    /// The file that the result goes to; - prints it. Without this a small result is printed
    #[arg(short, long, value_name = "FILE.npy")]
    pub(crate) out: Option<PathBuf>,
    /// The type of the result's elements, rather than its own
    #[arg(long, value_name = "TYPE", value_parser = dtypes())]
    pub(crate) dtype: Option<DType>,
    /// How much memory pieces of the result and of inputs that are copied may take; mapped files do not count, as the system takes their memory back when it needs it, nor do a few megabytes of the program itself
    #[arg(long, value_name = "AMOUNT", default_value = "256M", value_parser = size::parse)]
    pub(crate) memory: u64,
    /// How many threads compute; all cores unless told
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Tell how it would be computed, and compute nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

/// The types that numbers have, by name.
fn dtypes() -> impl TypedValueParser<Value = DType> {
    let names = DType::ALL.iter().filter(|&&dtype| dtype != DType::Str).map(|dtype| dtype.name());
    PossibleValuesParser::new(names).try_map(|name| DType::from_name(&name).ok_or("there is no such type"))
}

pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("write a number from 1 to 1024".into()),
    }
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  unishape completions bash > ~/.local/share/bash-completion/completions/unishape
  unishape completions zsh > ~/.zfunc/_unishape
  unishape completions fish > ~/.config/fish/completions/unishape.fish";
