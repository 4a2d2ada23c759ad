//! A reduction, as a picture.

use crate::request::{Problem, Request};
use crate::shapes::known;
use serde_json::{Value, json};
use unishape::expr::{ReduceOp, Reduction};
use unishape::notation::{parse_shape, shape_text};
use unishape_explain::ReductionExplanation;

pub(crate) fn answer(request: &Request) -> Result<Value, Problem> {
    let name = request.text("op")?.trim();
    let op = ReduceOp::from_name(name).ok_or_else(|| {
        Problem::input(format!("'{name}' is not a reduction; try sum, mean, max or argmax"))
    })?;
    let shape = parse_shape(request.text("shape")?).map_err(|error| Problem::input(error.to_string()))?;
    let shape = known(&shape).ok_or_else(|| Problem::input("every size must be a number for a picture"))?;
    let reduction = Reduction::new(op).axes(axes(request.text("axis")?)?).keep_dims(request.flag("keepdims"));
    let explanation = ReductionExplanation::new(&reduction, &shape)?;
    Ok(json!({"shape": shape_text(explanation.shape()), "svg": explanation.svg()}))
}

/// Axes such as `1` or `0, -1`; all if the text is blank.
fn axes(text: &str) -> Result<Option<Vec<i64>>, Problem> {
    let text = text.trim().trim_start_matches('(').trim_end_matches([')', ',']);
    if text.is_empty() {
        return Ok(None);
    }
    let axis = |word: &str| {
        let word = word.trim();
        word.parse()
            .map_err(|_| Problem::input(format!("'{word}' is not an axis; write a number, such as 0 or -1")))
    };
    text.split(',').map(axis).collect::<Result<_, _>>().map(Some)
}
