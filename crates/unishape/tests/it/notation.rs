//! Parsing and formatting of shapes.

use unishape::Extent::{Known, Unknown};
use unishape::notation::{parse_shape, shape_text, short_shape_text};

#[test]
fn all_notations_are_parsed() {
    let shape = vec![Known(8), Known(1), Known(6)];
    for text in ["8x1x6", "8,1,6", "8 1 6", "(8, 1, 6)", "[8, 1, 6]", " 8x1x6 ", "(8,1,6,)"] {
        assert_eq!(parse_shape(text).unwrap(), shape, "{text}");
    }
    for text in ["?x3", "None, 3", "(-1, 3)"] {
        assert_eq!(parse_shape(text).unwrap(), [Unknown, Known(3)], "{text}");
    }
    assert_eq!(parse_shape("()").unwrap(), []);
    assert_eq!(parse_shape(&usize::MAX.to_string()).unwrap(), [Known(usize::MAX)]);
}

#[test]
fn invalid_shapes_are_explained() {
    for (text, problem) in [
        ("8x1y", "'1y' is no size"),
        ("8x", "a size is missing"),
        ("8x-2", "'-2' is no size"),
        ("8x+2", "'+2' is no size"),
        ("2.5", "'2.5' is no size"),
        ("٣", "'٣' is no size"),
        ("18446744073709551616", "18446744073709551616"),
    ] {
        let error = parse_shape(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("'{text}' is no shape: ")) && error.contains(problem), "{error}");
    }
    assert!(parse_shape("").is_err());
}

#[test]
fn long_shapes_are_abbreviated() {
    assert_eq!(short_shape_text(&[2; 16]), shape_text(&[2; 16]));
    assert_eq!(short_shape_text(&[2; 17]), "2x2x2x2x…x2x2x2x2 (17 dimensions)");
}
