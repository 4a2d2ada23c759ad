//! Parses shapes: the text survives a round trip, in every notation.

use crate::file::check_message;
use unishape::Extent;
use unishape::notation::{parse_shape, shape_text, short_shape_text};

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let shape = match parse_shape(&text) {
        Ok(shape) => shape,
        Err(error) => return check_message(&error),
    };
    assert!(!shape.contains(&Extent::Positive), "no notation for positive extents");
    assert!(shape.len() <= text.len());
    let written = shape_text(&shape);
    assert_eq!(parse_shape(&written).as_ref(), Ok(&shape), "{text:?} is written {written}");
    for (separator, open, close) in [(", ", "(", ")"), (",", "[", "]"), (" ", "[", "]"), ("×", "", "")] {
        let other = format!("{open}{}{close}", written.trim_matches(['(', ')']).replace('x', separator));
        if !shape.is_empty() || !open.is_empty() {
            assert_eq!(parse_shape(&other).as_ref(), Ok(&shape), "{other}");
        }
    }
    assert!(short_shape_text(&shape).len() < 16 * 21 + 40);
}
