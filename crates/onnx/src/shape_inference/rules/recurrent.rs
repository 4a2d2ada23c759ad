//! LSTM, GRU and RNN.

use super::Call;
use crate::shape_inference::inferred_value::InferredValue;
use crate::shape_inference::symbolic::Dim;

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    if !call.is(&["LSTM", "GRU", "RNN"]) {
        return None;
    }
    let [first, second, _] = call.dims(0)? else { return None };
    // Weights: directions, gates times hidden size, hidden size.
    let hidden = match call.node.attribute("hidden_size") {
        Some(size) => usize::try_from(size.int().ok()?).ok().map(Dim::Known),
        None => call.dims(2).and_then(|dims| dims.get(2).cloned()),
    };
    let directions = Dim::Known(match call.string("direction", "forward")?.as_str() {
        "bidirectional" => 2,
        _ => 1,
    });
    let is_batch_first = call.int("layout", 0)? != 0;
    let (steps, batch) = if is_batch_first { (second, first) } else { (first, second) };
    let dims = match (call.output, is_batch_first) {
        (0, false) => vec![steps.clone(), directions, batch.clone(), call.or_anonymous(hidden, 3)],
        (0, true) => vec![batch.clone(), steps.clone(), directions, call.or_anonymous(hidden, 3)],
        (1 | 2, false) => vec![directions, batch.clone(), call.or_anonymous(hidden, 2)],
        (1 | 2, true) => vec![batch.clone(), directions, call.or_anonymous(hidden, 2)],
        _ => return None,
    };
    Some(InferredValue::new(call.elem(0), dims))
}
