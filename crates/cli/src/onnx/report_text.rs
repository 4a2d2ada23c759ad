//! The broadcasts of a model as text.

use unishape_onnx::{Model, Report, StretchedInput};

/// A paragraph for each node that broadcasts, and a summary.
pub(crate) fn report_text(model: &Model, report: &Report) -> String {
    let mut text = String::new();
    for broadcast in &report.broadcasts {
        text += &format!("{broadcast}\n\n");
    }
    text += &(summary(model, report) + "\n");
    for skipped in &report.skipped {
        text += &format!("not analyzed: {skipped}\n");
    }
    text
}

/// `3 of 12 nodes broadcast`.
pub(crate) fn summary(model: &Model, report: &Report) -> String {
    let nodes = model.graph().nodes.len();
    let of_nodes = if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
    let is_certain = |stretches: &[StretchedInput]| stretches.iter().any(|stretch| stretch.is_certain);
    let certain = report.broadcasts.iter().filter(|broadcast| is_certain(&broadcast.stretched)).count();
    let possible = report.broadcasts.len() - certain;
    match (certain, possible) {
        (0, 0) => format!("none of {of_nodes} broadcasts"),
        (_, 0) => format!("{certain} of {of_nodes} broadcast"),
        (0, _) => format!("{possible} of {of_nodes} may broadcast"),
        _ => format!("{certain} of {of_nodes} broadcast, and {possible} more may"),
    }
}
