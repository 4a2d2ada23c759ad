//! How many threads share large work.

/// As many as were asked for, or one for each core that this process may use.
pub(crate) fn number(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
