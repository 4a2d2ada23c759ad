//! `unishape onnx explain`: where a model broadcasts.

use super::args::ExplainArgs;
use super::{open, page};
use crate::failure::Failure;
use crate::out;
use serde_json::{Value, json};
use unishape::text;
use unishape_onnx::{Dim, Model, Problem, Report, StretchedInput, explain};

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let model = open(&args.model)?;
    let report = explain(&model);
    let title = text::display_path(&args.model);
    match &args.html {
        Some(path) => out::write_texts(&[(path, page::render(&title, &model, &report))])?,
        None if args.json => out::print(&format!("{}\n", report_json(&report)))?,
        None => out::print(&text(&model, &report))?,
    }
    match report.conflicts.first() {
        Some((_, error)) => Err(Failure::failed(format!("{title}: {error}"))),
        None => Ok(()),
    }
}

/// A paragraph for each node that broadcasts, and what comes to it all.
pub(crate) fn text(model: &Model, report: &Report) -> String {
    let mut text = String::new();
    for broadcast in &report.broadcasts {
        text += &format!("{broadcast}\n\n");
    }
    text += &(summary(model, report) + "\n");
    for skipped in &report.skipped {
        text += &format!("not looked into: {skipped}\n");
    }
    text
}

/// `3 of 12 nodes broadcast`.
pub(crate) fn summary(model: &Model, report: &Report) -> String {
    let nodes = model.graph().nodes.len();
    let of_nodes = if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
    let is_certain = |stretches: &[StretchedInput]| stretches.iter().any(|stretch| stretch.is_certain);
    let certain = report.broadcasts.iter().filter(|broadcast| is_certain(&broadcast.stretched)).count();
    let perhaps = report.broadcasts.len() - certain;
    match (certain, perhaps) {
        (0, 0) => format!("none of {of_nodes} broadcasts"),
        (_, 0) => format!("{certain} of {of_nodes} broadcast"),
        (0, _) => format!("{perhaps} of {of_nodes} may broadcast"),
        _ => format!("{certain} of {of_nodes} broadcast, and {perhaps} more may"),
    }
}

fn report_json(report: &Report) -> Value {
    let broadcasts: Vec<Value> = report
        .broadcasts
        .iter()
        .map(|broadcast| {
            json!({
                "node": broadcast.node,
                "name": broadcast.name,
                "operator": broadcast.op_type,
                "shape": shape_json(broadcast.shape.as_deref()),
                "inputs": broadcast.inputs.iter().map(|(name, shape)| json!({
                    "name": name,
                    "shape": shape_json(shape.as_deref()),
                })).collect::<Vec<_>>(),
                "stretched": broadcast.stretched.iter().map(stretch_json).collect::<Vec<_>>(),
            })
        })
        .collect();
    let conflicts: Vec<Value> = report
        .conflicts
        .iter()
        .map(|(node, error)| {
            let kind = if matches!(error.problem(), Problem::Shapes(_)) { "E1" } else { "model" };
            json!({ "node": node, "error": kind, "message": error.to_string() })
        })
        .collect();
    json!({ "broadcasts": broadcasts, "conflicts": conflicts, "not_looked_into": report.skipped })
}

fn stretch_json(stretch: &StretchedInput) -> Value {
    json!({
        "input": stretch.input,
        "name": stretch.name,
        "from": shape_json(stretch.from.as_deref()),
        "to": shape_json(stretch.to.as_deref()),
        "certain": stretch.is_certain,
        "times": stretch.times().map(|times| times.parse::<u64>().map_or_else(|_| times.into(), Value::from)),
        "dimensions": stretch.dims.iter().map(|dim| json!({
            "dimension": dim.dim,
            "from": dim.from.as_ref().map(dim_json),
            "to": dim_json(&dim.to),
        })).collect::<Vec<_>>(),
    })
}

/// Sizes as numbers, names as texts; `null` where the rank is not known.
fn shape_json(shape: Option<&[Dim]>) -> Value {
    shape.map_or(Value::Null, |dims| dims.iter().map(dim_json).collect())
}

fn dim_json(dim: &Dim) -> Value {
    match dim {
        Dim::Known(size) => (*size).into(),
        Dim::Unknown(symbols) => symbols.to_string().into(),
    }
}
