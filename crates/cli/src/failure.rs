//! What can go wrong, and the exit code for it.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that cannot be: exit code 2.
    Usage(String),
    /// The inputs are at fault, or the system: exit code 1.
    Failed(String),
    /// Stopped by Ctrl-C: exit code 130, as shells have it.
    Interrupted,
    /// Nobody reads what is printed any more, as with `| head`: no reason to complain.
    NobodyReads,
}

impl Failure {
    pub(crate) fn usage(problem: impl Display) -> Failure {
        Failure::Usage(problem.to_string())
    }

    pub(crate) fn failed(problem: impl Display) -> Failure {
        Failure::Failed(problem.to_string())
    }

    /// Says what is wrong on standard error.
    pub(crate) fn report(self) -> ExitCode {
        let (text, code) = match self {
            Failure::Usage(problem) => (format!("unishape: {problem}"), 2),
            Failure::Failed(problem) => (format!("unishape: {problem}"), 1),
            Failure::Interrupted => ("unishape: stopped; nothing was written".into(), 130),
            Failure::NobodyReads => return ExitCode::SUCCESS,
        };
        let _ = writeln!(io::stderr(), "{text}");
        ExitCode::from(code)
    }
}
