//! Sanitizing of untrusted text: names and paths from files, models and the command line.
//!
//! Error messages and diagrams show text that a file or a user supplied. Control characters, bidirectional
//! overrides and zero-width characters in it would corrupt a terminal or a page; they become U+FFFD.

use std::path::Path;

/// Replaces control, zero-width and bidirectional characters with U+FFFD.
///
/// ```
/// assert_eq!(unishape::text::sanitize("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
/// ```
pub fn sanitize(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// Sanitizes the text of a path.
///
/// ```
/// assert_eq!(unishape::text::display_path("x/a\n.npy".as_ref()), "x/a\u{fffd}.npy");
/// ```
pub fn display_path(path: &Path) -> String {
    sanitize(&path.to_string_lossy())
}

/// Sanitizes text and truncates it at its end to `length` characters.
///
/// ```
/// assert_eq!(unishape::text::truncate("\tabcdef", 4), "\u{fffd}ab…");
/// ```
pub fn truncate(text: &str, length: usize) -> String {
    let mut plain: String = text.chars().take(length + 1).map(printable).collect();
    if let Some((end, _)) = plain.char_indices().nth(length) {
        plain.truncate(end);
        plain.pop();
        plain.push('…');
    }
    plain
}

/// Truncates text at its front to `length` characters.
///
/// For text whose end matters most, such as the context before an error, or the last digits of a number.
///
/// ```
/// assert_eq!(unishape::text::truncate_front("12345", 3), "…45");
/// ```
pub fn truncate_front(text: &str, length: usize) -> String {
    let count = text.chars().count();
    if count <= length {
        return text.into();
    }
    "…".chars().chain(text.chars().skip(count + 1 - length)).collect()
}

/// The character, or U+FFFD for one that moves the cursor, has no width, changes the writing direction or is
/// invalid in XML.
fn printable(c: char) -> char {
    let is_unsafe = c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}');
    if is_unsafe { '\u{fffd}' } else { c }
}

/// Width of a text in terminal columns.
#[cfg(feature = "expr")]
pub(crate) fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Escapes text for SVG and HTML content and attributes.
///
/// ```
/// assert_eq!(unishape::text::escape_html("a < b"), "a &lt; b");
/// ```
pub fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{display_path, escape_html, sanitize, truncate, truncate_front};

    #[test]
    fn characters_that_corrupt_a_terminal_are_replaced() {
        assert_eq!(sanitize("a\u{1b}[31mß\n"), "a\u{fffd}[31mß\u{fffd}");
        assert_eq!(sanitize("\u{200b}\u{202e}\u{301}"), "\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(display_path("x/a\n.npy".as_ref()), "x/a\u{fffd}.npy");
    }

    #[test]
    fn text_is_truncated_to_a_number_of_characters() {
        assert_eq!(
            ["äbcd", "äbcde", "\tbcdef"].map(|text| truncate(text, 4)),
            ["äbcd", "äbc…", "\u{fffd}bc…"]
        );
        assert_eq!(["abcd", "abcde"].map(|text| truncate_front(text, 4)), ["abcd", "…cde"]);
    }

    #[test]
    fn characters_with_a_meaning_in_html_are_escaped() {
        assert_eq!(escape_html("a < 'b' & \"c\" > d"), "a &lt; &#39;b&#39; &amp; &quot;c&quot; &gt; d");
    }
}
