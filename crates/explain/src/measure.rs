//! Terminal columns of text, and paragraphs wrapped to a width.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// Terminal columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Lines of at most `limit` columns. A word wider than a line is split.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let options = Options::new(limit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(Into::into).collect()
}
