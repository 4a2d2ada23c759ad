//! Shapes that are broadcast, as a picture.

use crate::request::{Problem, Request};
use serde_json::{Value, json};
use unishape::notation::{parse_shape, shape_text};
use unishape::{Extent, Rules, broadcast_shapes};
use unishape_explain::Explanation;

/// The most inputs of one request.
const MAX_INPUTS: usize = 64;

pub(crate) fn answer(request: &Request) -> Result<Value, Problem> {
    let words = split(request.text("shapes")?);
    if words.is_empty() {
        return Err(Problem::input("Type shapes, such as 3x1 and 4."));
    }
    if words.len() > MAX_INPUTS {
        return Err(Problem::input(format!("{} shapes; the playground takes {MAX_INPUTS}", words.len())));
    }
    let shapes = words.iter().map(|word| parse_shape(word));
    let shapes: Vec<Vec<Extent>> =
        shapes.collect::<Result<_, _>>().map_err(|error| Problem::input(error.to_string()))?;
    let common = broadcast_shapes(&shapes)?;
    let known: Option<Vec<Vec<usize>>> = shapes.iter().map(|shape| known(shape)).collect();
    let svg = match known {
        Some(shapes) => Value::from(Explanation::new(Rules::STANDARD, &shapes)?.svg()),
        // Sizes that are not known cannot be drawn.
        None => Value::Null,
    };
    Ok(json!({"shape": shape_text(&common), "svg": svg}))
}

/// The sizes of a shape, if all are known.
pub(crate) fn known(shape: &[Extent]) -> Option<Vec<usize>> {
    let size = |extent: &Extent| match extent {
        Extent::Known(size) => Some(*size),
        Extent::Unknown | Extent::Positive => None,
    };
    shape.iter().map(size).collect()
}

/// Splits text into shapes, at line ends, semicolons, and blanks that are not within a shape.
///
/// `3x1 4`, `(3, 1), (4,)` and `3, 1; 4` are the same two shapes.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut depth, mut last) = (0usize, ' ');
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = match c {
            ';' | '\n' => true,
            ',' => depth == 0 && matches!(last, ')' | ']'),
            c => c.is_whitespace() && depth == 0 && last != ',',
        };
        if is_end {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
        if !c.is_whitespace() {
            last = c;
        }
    }
    words.into_iter().map(|word| word.trim().to_string()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn shapes_are_separated_in_every_usual_way() {
        for text in ["3x1 4", "3x1\n4", " 3x1;4 ", "3x1  ; 4\n\n", "3x1\r\n4"] {
            assert_eq!(split(text), ["3x1", "4"], "{text:?}");
        }
        assert_eq!(split("(3, 1), (4,)"), ["(3, 1)", "(4,)"]);
        assert_eq!(split("(3, 1) ()"), ["(3, 1)", "()"]);
        assert_eq!(split("3, 1; 4"), ["3, 1", "4"]);
        assert_eq!(split(" \n"), Vec::<String>::new());
    }
}
