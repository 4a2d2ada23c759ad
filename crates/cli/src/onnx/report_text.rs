//! The broadcasts of a model as text.

use unishape_onnx::{BroadcastKind, Model, Report};

/// A paragraph for each node that broadcasts, and a summary.
pub(crate) fn report_text(model: &Model, report: &Report) -> String {
    let mut text = String::new();
    for broadcast in &report.broadcasts {
        text += &format!("{broadcast}\n\n");
    }
    text += &(summary(model, report) + "\n");
    for unknown in &report.not_analyzed {
        text += &format!("not analyzed: {unknown}\n");
    }
    for wrong in &report.declarations {
        text += &format!("wrong declaration: {wrong}\n");
    }
    text
}

/// A line about the broadcasts that are not made explicit; empty if there are none.
pub(crate) fn left_text(report: &Report, kinds: &[BroadcastKind]) -> String {
    let left: Vec<String> = BroadcastKind::ALL
        .into_iter()
        .filter(|kind| !kinds.contains(kind))
        .filter_map(|kind| {
            let count = report.broadcasts.iter().filter(|broadcast| broadcast.kind == kind).count();
            (count > 0).then(|| format!("{count} of kind {kind}"))
        })
        .collect();
    if left.is_empty() { String::new() } else { format!("unishape: left as they are: {}\n", left.join(", ")) }
}

/// `3 of 12 nodes broadcast`.
pub(crate) fn summary(model: &Model, report: &Report) -> String {
    let nodes = report.nodes.max(model.graph().nodes.len());
    let of_nodes = if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
    let certain = report.broadcasts.iter().filter(|broadcast| broadcast.is_certain()).count();
    let possible = report.broadcasts.len() - certain;
    match (certain, possible) {
        (0, 0) => format!("none of {of_nodes} broadcasts"),
        (_, 0) => format!("{certain} of {of_nodes} broadcast"),
        (0, _) => format!("{possible} of {of_nodes} may broadcast"),
        _ => format!("{certain} of {of_nodes} broadcast, and {possible} more may"),
    }
}
