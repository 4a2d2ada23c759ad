//! Errors of the command and their exit codes.

use std::fmt::Display;
use std::io::{self, Write};

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Invalid command line: exit code 2.
    Usage(String),
    /// Invalid inputs, or an error of the system: exit code 1.
    Failed(String),
    /// Another reason, with an exit code of its own.
    Code(u8, String),
    /// Stopped by a signal of this number: exit code 128 + number, as in shells.
    Interrupted(u8),
    /// Standard output was closed by its reader, as by `| head`: not an error.
    BrokenPipe,
}

impl CliError {
    pub(crate) fn usage(message: impl Display) -> CliError {
        CliError::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl Display) -> CliError {
        CliError::Failed(message.to_string())
    }

    /// Prints the message on standard error and returns the exit code.
    pub(crate) fn report(self) -> u8 {
        let (message, code) = match self {
            CliError::Usage(message) => (message, 2),
            CliError::Failed(message) => (message, 1),
            CliError::Code(code, message) => (message, code),
            CliError::Interrupted(signal) => ("stopped; nothing was written".into(), 128 + signal),
            CliError::BrokenPipe => return 0,
        };
        let _ = writeln!(io::stderr(), "unishape: {message}");
        code
    }
}
