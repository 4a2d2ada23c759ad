//! Progress bar and interruption of long work.

use crate::error::CliError;
use crate::output::{self, is_in_place};
use crate::signals::StopFlag;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
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
            .map_err(|error| CliError::internal(format!("cannot install signal handlers: {error}")))?;
        let bar = if quiet { ProgressBar::hidden() } else { progress_bar(total) };
        let progress = Progress { stop, bar, total };
        let result = work(&progress);
        progress.bar.finish_and_clear();
        result
    }

    /// Starts a file, as [`output::create_file`]. From a pipe or a device on, a signal ends the process.
    pub(crate) fn create_file(&self, path: &Path, force: bool) -> Result<AtomicFile, CliError> {
        if is_in_place(path) {
            self.end_at_signals()?;
        }
        output::create_file(path, force)
    }

    /// From here on, a signal ends the process: what is written to a pipe or a device cannot be taken back.
    pub(crate) fn end_at_signals(&self) -> Result<(), CliError> {
        self.stop.restore_default();
        // A signal before that has only set the flag.
        self.stop.signal().map_or(Ok(()), |signal| Err(CliError::Interrupted(signal)))
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

/// Terminals of fewer columns show only the bar, the percentage and the time left.
const NARROW: u16 = 70;

/// Before this time, no estimate of the time left is shown: the first chunks say little about the others.
const FIRST_ESTIMATE: Duration = Duration::from_secs(2);

fn progress_bar(total: Total) -> ProgressBar {
    let columns = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0);
    let (length, template) = match total {
        Total::Bytes(bytes) if columns < NARROW => (bytes, "{wide_bar} {percent:>3}%{left}"),
        Total::Bytes(bytes) => {
            (bytes, "{bar:30} {percent:>3}% of {binary_total_bytes}  {binary_bytes_per_sec}{left}")
        }
        Total::Iterations(iterations) => (iterations, "{wide_bar} {percent:>3}%{left}"),
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", write_time_left);
    // Drawn on standard error, and only if that is a terminal.
    ProgressBar::new(length).with_style(style)
}

/// Writes the time left, once there is an estimate.
fn write_time_left(state: &ProgressState, writer: &mut dyn fmt::Write) {
    let text = time_left(state.elapsed(), state.eta());
    let _ = writer.write_str(&text.unwrap_or_default());
}

/// `  12s left`; `None` before there is an estimate.
fn time_left(elapsed: Duration, left: Duration) -> Option<String> {
    (elapsed >= FIRST_ESTIMATE).then(|| format!("  {:#} left", HumanDuration(left)))
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

#[cfg(test)]
mod tests {
    use super::time_left;
    use std::time::Duration;

    #[test]
    fn the_first_estimate_comes_after_two_seconds() {
        let left =
            |elapsed: u64, left: u64| time_left(Duration::from_millis(elapsed), Duration::from_secs(left));
        assert_eq!(left(100, 86_400 * 365), None);
        assert_eq!(left(2000, 40), Some("  40s left".into()));
        // Fits 40 columns with a bar of at least 15.
        assert!(left(2000, 86_400 * 99).is_some_and(|text| text.len() + " 100%".len() <= 25));
    }
}
