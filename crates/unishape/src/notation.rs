//! Text form of shapes: formatting and parsing.

use crate::text::truncate;
use std::fmt;
use unishape_core::{Extent, Size};

/// Characters of an invalid text that an error message quotes, at most.
const MAX_QUOTED: usize = 60;

/// Largest rank that [`short_shape_text`] writes in full.
const MAX_FULL_RANK: usize = 16;

/// Formats a shape: `8x1x6`, with `?` for an unknown size; `()` for rank 0.
///
/// ```
/// use unishape::{Extent::{Known, Unknown}, notation::shape_text};
///
/// assert_eq!(shape_text(&[8, 7, 6, 5]), "8x7x6x5");
/// assert_eq!(shape_text(&[Unknown, Known(3)]), "?x3");
/// assert_eq!(shape_text::<usize>(&[]), "()");
/// ```
pub fn shape_text<S: Size>(shape: &[S]) -> String {
    if shape.is_empty() {
        return "()".into();
    }
    shape.iter().map(S::to_string).collect::<Vec<_>>().join("x")
}

/// Formats a shape, abbreviating shapes of more than 16 dimensions.
///
/// ```
/// use unishape::notation::{shape_text, short_shape_text};
///
/// assert_eq!(short_shape_text(&[8, 7, 6, 5]), "8x7x6x5");
/// assert_eq!(short_shape_text(&[2; 1000]), "2x2x2x2x…x2x2x2x2 (1000 dimensions)");
/// ```
pub fn short_shape_text<S: Size>(shape: &[S]) -> String {
    match (shape.first_chunk::<4>(), shape.last_chunk::<4>()) {
        (Some(first), Some(last)) if shape.len() > MAX_FULL_RANK => {
            format!("{}x…x{} ({} dimensions)", shape_text(first), shape_text(last), shape.len())
        }
        _ => shape_text(shape),
    }
}

/// Parses a shape.
///
/// Forms: `8x1x6`, `8,1,6`, `8 1 6`, `(8, 1, 6)`, `[8, 1, 6]`, and `()` for rank 0. A size is an integer, or
/// `?`, `None` or `-1` where it is unknown.
///
/// ```
/// use unishape::{Extent::{Known, Unknown}, notation::parse_shape};
///
/// assert_eq!(parse_shape("8x1x6")?, [Known(8), Known(1), Known(6)]);
/// assert_eq!(parse_shape("(8, ?)")?, [Known(8), Unknown]);
/// assert_eq!(parse_shape("()")?, []);
/// assert_eq!(
///     parse_shape("8x1y").unwrap_err().to_string(),
///     "'8x1y' is no shape: '1y' is no size; write 8x1x6, (8, 1, 6) or ?x3, and () for rank 0",
/// );
/// # Ok::<(), unishape::notation::NotationError>(())
/// ```
///
/// # Errors
///
/// [`NotationError`] where the text is not a shape; its message names the invalid part.
///
/// # Panics
///
/// Never.
pub fn parse_shape(text: &str) -> Result<Vec<Extent>, NotationError> {
    let error = |problem: String| NotationError { text: truncate(text, MAX_QUOTED), problem };
    let trimmed = text.trim();
    let brackets = [('(', ')'), ('[', ']')];
    let (inner, bracketed) = match brackets.iter().find(|(open, _)| trimmed.starts_with(*open)) {
        Some((open, close)) => match trimmed.strip_prefix(*open).and_then(|rest| rest.strip_suffix(*close)) {
            Some(inner) => (inner.trim(), true),
            None => return Err(error(format!("there is no '{close}' at its end"))),
        },
        None => (trimmed, false),
    };
    if inner.is_empty() {
        return if bracketed { Ok(Vec::new()) } else { Err(error("it is empty".into())) };
    }
    let sizes = inner.strip_suffix(',').unwrap_or(inner).trim_end(); // Python's (3,)
    let separator = [',', 'x', '×', '*'].into_iter().find(|&sign| sizes.contains(sign));
    let parts: Vec<&str> = match separator {
        Some(sign) => sizes.split(sign).collect(),
        None => sizes.split_whitespace().collect(),
    };
    parts.into_iter().map(|part| parse_size(part.trim()).map_err(error)).collect()
}

fn parse_size(part: &str) -> Result<Extent, String> {
    if matches!(part, "?" | "None" | "-1") {
        return Ok(Extent::Unknown);
    }
    let digits = part.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(if part.is_empty() {
            "a size is missing".into()
        } else {
            format!("'{}' is no size", truncate(part, MAX_QUOTED))
        });
    }
    match digits.parse() {
        Ok(size) => Ok(Extent::Known(size)),
        Err(_) => {
            Err(format!("{} is more than {}, the largest size", truncate(part, MAX_QUOTED), usize::MAX))
        }
    }
}

/// Error of [`parse_shape`]: the text is not a shape.
///
/// ```
/// let error = unishape::notation::parse_shape("").unwrap_err();
/// assert!(error.to_string().contains("it is empty"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationError {
    text: String,
    problem: String,
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotationError { text, problem } = self;
        write!(f, "'{text}' is no shape: {problem}; write 8x1x6, (8, 1, 6) or ?x3, and () for rank 0")
    }
}

impl std::error::Error for NotationError {}
