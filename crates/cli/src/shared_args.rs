//! Options of several subcommands.

use clap::{Args as ClapArgs, ValueEnum};
use unishape::Rules;

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

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("expected a number from 1 to 1024".into()),
    }
}
