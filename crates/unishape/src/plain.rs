//! Text that is not ours, made fit to be shown.
//!
//! Public for the command, which shows such text too and is to show it alike; hidden since it has
//! nothing to do with broadcasting, and may change with every version.

use std::path::Path;

/// The text with everything that would disturb its surroundings replaced.
///
/// ```
/// assert_eq!(unishape::plain::text("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
/// ```
pub fn text(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// A path, in full: a part of it would lead nowhere.
///
/// ```
/// assert_eq!(unishape::plain::path("x/a\n.npy".as_ref()), "x/a\u{fffd}.npy");
/// ```
pub fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// The text with everything that would disturb its surroundings replaced, cut to `length` characters.
///
/// ```
/// assert_eq!(unishape::plain::abridged("\tabcdef", 4), "\u{fffd}ab…");
/// ```
pub fn abridged(text: &str, length: usize) -> String {
    let mut plain: String = text.chars().take(length + 1).map(shown).collect();
    if let Some((end, _)) = plain.char_indices().nth(length) {
        plain.truncate(end);
        plain.pop();
        plain.push('…');
    }
    plain
}

/// Cut at the front, for numbers: neighbours differ at the end.
pub(crate) fn abridged_front(text: &str, length: usize) -> String {
    let count = text.chars().count();
    if count <= length {
        return text.into();
    }
    "…".chars().chain(text.chars().skip(count + 1 - length)).collect()
}

/// The character, or a replacement for what moves the cursor, has no width of its own, turns the
/// direction of writing or is no character of XML.
fn shown(c: char) -> char {
    let disturbs = c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}');
    if disturbs { '\u{fffd}' } else { c }
}

/// The columns that a character takes in a terminal.
pub(crate) fn columns(c: char) -> usize {
    let wide = matches!(c as u32,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd);
    if wide { 2 } else { 1 }
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The text in lines of at most `limit` columns. A word that is longer than a line is cut.
pub(crate) fn wrapped(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut line = lines.pop().unwrap_or_default();
        if !line.is_empty() && width(&line) + 1 + width(word) > limit {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if width(&line) + columns(c) > limit {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
        lines.push(line);
    }
    lines
}

/// Escaped for SVG and HTML, in text and in attributes.
///
/// ```
/// assert_eq!(unishape::plain::escaped("a < b"), "a &lt; b");
/// ```
pub fn escaped(text: &str) -> String {
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
