//! Options of several subcommands.

use clap::{Args as ClapArgs, ValueEnum};
use unishape::notation::parse_shape;
use unishape::{Extent, Rules};

/// The broadcasting rules, for several subcommands.
#[derive(ClapArgs, Clone, Copy)]
pub(crate) struct RuleArgs {
    /// Rules for sizes of 0
    #[arg(long, value_enum, default_value = "standard")]
    rules: RuleSet,
    /// Reject shapes of different rank, such as 3x1 and 3, which would give 3x3
    #[arg(long)]
    strict_rank: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum RuleSet {
    /// NumPy, Array API and ONNX: 1 is stretched to 0
    Standard,
    /// SONNX, the safety-related profile of ONNX: 0 is compatible with 0 only; at least one input is required
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

/// Options of the subcommands that write results to files.
#[derive(ClapArgs)]
pub(crate) struct WritingArgs {
    /// Replace existing files
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print what would be written, and write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Options of results that are Zarr stores.
#[derive(ClapArgs)]
pub(crate) struct ZarrArgs {
    /// Shape of the chunks of a Zarr store. Default: that of the inputs, or about 8 MiB
    #[arg(long, value_name = "SHAPE", value_parser = known_shape)]
    #[cfg_attr(not(feature = "zarr"), allow(dead_code))]
    pub(crate) chunks: Option<std::vec::Vec<usize>>,
    /// Version of the Zarr format to write
    #[arg(long, value_name = "VERSION", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
    #[cfg_attr(not(feature = "zarr"), allow(dead_code))]
    pub(crate) zarr_format: u8,
}

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("expected a number from 1 to 1024".into()),
    }
}

/// Parses a shape whose sizes are all known.
pub(crate) fn known_shape(text: &str) -> Result<Vec<usize>, String> {
    let shape = parse_shape(text).map_err(|error| error.to_string())?;
    let size = |extent: &Extent| match extent {
        Extent::Known(size) => Ok(*size),
        Extent::Unknown | Extent::Positive => Err("every size must be known".to_owned()),
    };
    shape.iter().map(size).collect()
}

/// Parses `NAME=SIZE`.
pub(crate) fn dim(text: &str) -> Result<(String, usize), String> {
    // A name may contain any character.
    let (name, size) = text.rsplit_once('=').ok_or("expected NAME=SIZE")?;
    let size = size.trim().parse().map_err(|_| format!("'{size}' is not a size"))?;
    Ok((name.into(), size))
}
