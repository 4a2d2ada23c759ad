//! Progress bar and interruption of long work.

use crate::error::CliError;
use crate::output::{self, is_in_place};
use crate::signals::StopFlag;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::path::Path;
use unishape_atomic_file::AtomicFile;

/// What a progress bar counts, and how much of it there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Total {
    /// Bytes that are written.
    Bytes(u64),
    /// Iterations of loops, where much is computed before anything is written.
    Iterations(u64),
}

/// The state of long work: how much of it is done, and whether a signal has stopped it.
pub(crate) struct Progress {
    stop: StopFlag,
    bar: ProgressBar,
    total: Total,
}

impl Progress {
    /// Runs work. Without `quiet`, shows a progress bar.
    pub(crate) fn run(
        total: Total,
        quiet: bool,
        work: impl FnOnce(&Progress) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let stop = StopFlag::install()
            .map_err(|error| CliError::failed(format!("cannot install signal handlers: {error}")))?;
        let bar = if quiet { ProgressBar::hidden() } else { progress_bar(total) };
        let progress = Progress { stop, bar, total };
        let result = work(&progress);
        progress.bar.finish_and_clear();
        result
    }

    /// Starts a file, as [`output::create_file`]. From a pipe or a device on, a signal ends the process.
    pub(crate) fn create_file(&self, path: &Path, force: bool) -> Result<AtomicFile, CliError> {
        if is_in_place(path) {
            self.stop.restore_default();
            // A signal before that has only set the flag.
            if let Some(signal) = self.stop.signal() {
                return Err(CliError::Interrupted(signal));
            }
        }
        output::create_file(path, force)
    }

    /// Whether the command has received a stop signal.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.signal().is_some()
    }

    /// Advances a bar of bytes.
    pub(crate) fn advance_bytes(&self, bytes: u64) {
        if let Total::Bytes(_) = self.total {
            self.bar.inc(bytes);
        }
    }

    /// Advances a bar of iterations.
    pub(crate) fn advance_iterations(&self, iterations: u64) {
        if let Total::Iterations(_) = self.total {
            self.bar.inc(iterations);
        }
    }

    /// Replaces an error by the interruption that caused it.
    pub(crate) fn interruption_or(&self, error: CliError) -> CliError {
        self.stop.signal().map_or(error, CliError::Interrupted)
    }
}

fn progress_bar(total: Total) -> ProgressBar {
    let (length, template) = match total {
        Total::Bytes(bytes) => {
            (bytes, "{bar:40} {percent}% of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left")
        }
        Total::Iterations(iterations) => (iterations, "{bar:40} {percent}%  {eta} left"),
    };
    let style = ProgressStyle::with_template(template);
    // Drawn on standard error, and only if that is a terminal.
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Explains `EFAULT`: a write directly from a truncated memory-mapped input fails without a `SIGBUS`.
fn explain_bad_address(error: io::Error) -> io::Error {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::EFAULT) {
        return io::Error::other("an input file was truncated while it was being read");
    }
    error
}

/// A writer that advances the progress bar and fails after a stop signal.
pub(crate) struct ProgressWriter<'p, W> {
    inner: W,
    progress: &'p Progress,
}

impl<'p, W: Write> ProgressWriter<'p, W> {
    pub(crate) fn new(inner: W, progress: &'p Progress) -> ProgressWriter<'p, W> {
        ProgressWriter { inner, progress }
    }
}

impl<W: Write> Write for ProgressWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.progress.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        let written = self.inner.write(bytes).map_err(explain_bad_address)?;
        self.progress.advance_bytes(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
