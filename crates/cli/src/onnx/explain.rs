//! `unishape onnx explain`: the broadcasts of a model.

use super::args::ExplainArgs;
use super::html;
use super::open::{fixed_sizes, model_error, open};
use super::report_text::report_text;
use crate::error::CliError;
use crate::output;
use serde::Serialize;
use unishape::text;
use unishape_onnx::{BroadcastNode, Dim, ErrorKind, Report, StretchedInput, explain_with};

pub(crate) fn run(args: &ExplainArgs, json: bool) -> Result<(), CliError> {
    let model = open(&args.model)?;
    let mut report = explain_with(&model, &fixed_sizes(&args.dims, &model)?);
    if args.certain_only {
        for broadcast in &mut report.broadcasts {
            broadcast.stretched.retain(|stretched| stretched.is_certain);
        }
        report.broadcasts.retain(|broadcast| !broadcast.stretched.is_empty());
    }
    let title = text::display_path(&args.model);
    match &args.html {
        Some(_) if json => return Err(CliError::usage("--json and --html exclude each other")),
        Some(path) => output::write_text_files(&[(path, html::render(&title, &model, &report))], args.force)?,
        None if json => output::print_json(&ReportJson::new(&report))?,
        None => output::print(&report_text(&model, &report))?,
    }
    match report.conflicts.first() {
        Some((_, error)) => Err(model_error(&title, error).in_result()),
        None => Ok(()),
    }
}

#[derive(Serialize)]
struct ReportJson<'r> {
    broadcasts: Vec<BroadcastJson<'r>>,
    conflicts: Vec<ConflictJson>,
    not_analyzed: &'r [String],
    wrong_declarations: &'r [String],
}

#[derive(Serialize)]
struct BroadcastJson<'r> {
    /// Subgraph or function; empty for the main graph.
    path: &'r str,
    node: usize,
    kind: &'static str,
    certain: bool,
    name: &'r str,
    operator: &'r str,
    shape: Option<Vec<DimJson>>,
    inputs: Vec<InputJson<'r>>,
    stretched: Vec<StretchJson<'r>>,
}

#[derive(Serialize)]
struct InputJson<'r> {
    name: &'r str,
    /// `null` if the rank is unknown.
    shape: Option<Vec<DimJson>>,
}

#[derive(Serialize)]
struct StretchJson<'r> {
    input: usize,
    name: &'r str,
    from: Option<Vec<DimJson>>,
    to: Option<Vec<DimJson>>,
    certain: bool,
    times: Option<DimJson>,
    dimensions: Vec<StretchedDimJson>,
}

#[derive(Serialize)]
struct StretchedDimJson {
    dimension: usize,
    /// `null` if the input does not have the dimension.
    from: Option<DimJson>,
    to: DimJson,
}

/// A size: a number, or the name of an unknown one.
#[derive(Serialize)]
#[serde(untagged)]
enum DimJson {
    Known(u64),
    Unknown(String),
}

#[derive(Serialize)]
struct ConflictJson {
    node: usize,
    error: &'static str,
    message: String,
}

impl ReportJson<'_> {
    fn new(report: &Report) -> ReportJson<'_> {
        let conflicts = report.conflicts.iter().map(|(node, error)| ConflictJson {
            node: *node,
            error: if matches!(error.kind(), ErrorKind::Shapes(_)) { "E1" } else { "model" },
            message: error.to_string(),
        });
        ReportJson {
            broadcasts: report.broadcasts.iter().map(BroadcastJson::new).collect(),
            conflicts: conflicts.collect(),
            not_analyzed: &report.not_analyzed,
            wrong_declarations: &report.declarations,
        }
    }
}

impl BroadcastJson<'_> {
    fn new(broadcast: &BroadcastNode) -> BroadcastJson<'_> {
        BroadcastJson {
            path: &broadcast.path,
            node: broadcast.node,
            kind: broadcast.kind.name(),
            certain: broadcast.is_certain(),
            name: &broadcast.name,
            operator: &broadcast.op_type,
            shape: shape_json(broadcast.shape.as_deref()),
            inputs: broadcast
                .inputs
                .iter()
                .map(|(name, shape)| InputJson { name, shape: shape_json(shape.as_deref()) })
                .collect(),
            stretched: broadcast.stretched.iter().map(StretchJson::new).collect(),
        }
    }
}

impl StretchJson<'_> {
    fn new(stretch: &StretchedInput) -> StretchJson<'_> {
        let dimensions = stretch.dims.iter().map(|dim| StretchedDimJson {
            dimension: dim.dim,
            from: dim.from.as_ref().map(DimJson::new),
            to: DimJson::new(&dim.to),
        });
        let times = |times: String| times.parse().map_or(DimJson::Unknown(times), DimJson::Known);
        StretchJson {
            input: stretch.input,
            name: &stretch.name,
            from: shape_json(stretch.from.as_deref()),
            to: shape_json(stretch.to.as_deref()),
            certain: stretch.is_certain,
            times: stretch.times().map(times),
            dimensions: dimensions.collect(),
        }
    }
}

impl DimJson {
    fn new(dim: &Dim) -> DimJson {
        match dim {
            Dim::Known(size) => DimJson::Known(*size as u64),
            Dim::Unknown(size) => DimJson::Unknown(size.full_text()),
        }
    }
}

/// `null` if the rank is unknown.
fn shape_json(shape: Option<&[Dim]>) -> Option<Vec<DimJson>> {
    shape.map(|dims| dims.iter().map(DimJson::new).collect())
}
