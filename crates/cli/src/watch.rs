//! Long work looked after: it shows how far it is, and Ctrl-C stops it.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Looks after the work: shows how far it is, and stops it on Ctrl-C.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
}

impl Watch {
    /// Does some work that writes so many bytes, watched.
    pub(crate) fn over(
        bytes: u64,
        quiet: bool,
        work: impl FnOnce(&Watch) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let handler = Arc::clone(&stop);
        ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
            .map_err(|error| Failure::failed(format!("Ctrl-C could not be provided for: {error}")))?;
        let bar = if quiet { ProgressBar::hidden() } else { progress_bar(bytes) };
        let watch = Watch { stop, bar };
        let result = work(&watch);
        watch.bar.finish_and_clear();
        result
    }

    /// Ctrl-C was pressed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// So many bytes more are done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// A failure after Ctrl-C is Ctrl-C.
    pub(crate) fn judge(&self, failure: Failure) -> Failure {
        if self.is_stopped() { Failure::Interrupted } else { failure }
    }
}

fn progress_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:40} {percent}% of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left",
    );
    // Drawn on standard error, and only where that is a terminal.
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A writer that is watched.
pub(crate) struct Watched<'w, W> {
    inner: W,
    watch: &'w Watch,
}

impl<'w, W: Write> Watched<'w, W> {
    pub(crate) fn new(inner: W, watch: &'w Watch) -> Watched<'w, W> {
        Watched { inner, watch }
    }
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.watch.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        let written = self.inner.write(bytes)?;
        self.watch.advance(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
