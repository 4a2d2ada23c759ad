//! Text in terminal columns: East Asian characters and emoji take two.

use unicode_width::UnicodeWidthStr;

/// Terminal columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Terminal columns of the widest text.
pub(crate) fn max_width<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    texts.into_iter().map(|text| width(text)).max().unwrap_or(0)
}

/// Pads a text on the right to a number of columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}
