//! Text descriptions of stages.

use super::axes::Shape;
use super::group::StageGroup;
use super::lower::StagedExpr;
use super::stage::{Stage, StageSource};
use super::value::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use unishape_kernels::DType;

/// Describes how an expression is computed: its stages, what each computes, and how much memory is read and written.
///
/// `others` has the number of other expressions' results that are computed together with a stage.
pub(crate) fn describe(
    expr: &StagedExpr,
    values: &[Value<'_>],
    others: &dyn Fn(usize) -> Option<usize>,
) -> String {
    let mut text = String::new();
    let (mut read, mut kept, mut local) = (0usize, 0usize, 0usize);
    for group in &expr.groups {
        let stages = || group.members.iter().map(|&(number, dim)| (number, dim, &*expr.stages[number]));
        let variables: BTreeSet<usize> = stages()
            .flat_map(|(_, _, stage)| &stage.inputs)
            .filter_map(|input| match input.source {
                StageSource::Variable(variable) => Some(variable),
                _ => None,
            })
            .collect();
        read = variables
            .iter()
            .fold(read, |read, &variable| read.saturating_add(value_bytes(&values[variable])));
        let is_grouped = group.members.len() > 1;
        if is_grouped {
            write_rows(&mut text, expr, group);
        }
        let indent = if is_grouped { "  " } else { "" };
        for (number, dim, stage) in stages() {
            write_stage(&mut text, indent, number, stage);
            let _ = match others(number) {
                None => Ok(()),
                Some(1) => writeln!(text, "{indent}  in one pass with 1 result of other expressions"),
                Some(count) => {
                    writeln!(text, "{indent}  in one pass with {count} results of other expressions")
                }
            };
            let is_last = number + 1 == expr.stages.len();
            if number == group.last() && !is_last {
                kept = kept.saturating_add(result_bytes(stage, &stage.output_shape()));
            } else if is_grouped && !is_last {
                let mut shape = stage.output_shape();
                shape[dim] = group.rows_per_chunk(&expr.stages, shape[dim]);
                local = local.saturating_add(result_bytes(stage, &shape));
            }
        }
    }
    let written = bytes(&expr.shape, expr.dtype.item_size());
    let _ = write!(text, "reads {}, writes {}", bytes_text(read), bytes_text(written));
    match (kept, local) {
        (0, 0) => {}
        (_, 0) => _ = write!(text, "; intermediate results take {}", bytes_text(kept)),
        (0, _) => _ = write!(text, "; intermediate results take {} for each thread", bytes_text(local)),
        _ => {
            let (kept, local) = (bytes_text(kept), bytes_text(local));
            _ = write!(text, "; intermediate results take {kept}, and {local} for each thread");
        }
    }
    text.push('\n');
    text
}

/// The heading of stages that run row by row.
fn write_rows(text: &mut String, expr: &StagedExpr, group: &StageGroup) {
    let last = &expr.stages[group.last()];
    let rows = last.shape[group.row_dim()];
    let at_a_time = group.rows_per_chunk(&expr.stages, rows);
    let _ = writeln!(
        text,
        "{} stages together, {at_a_time} of {rows} rows (axis {} of stage {}) at a time:",
        group.members.len(),
        group.row_dim(),
        group.last() + 1
    );
}

/// A stage: its loops, steps and reduction.
fn write_stage(text: &mut String, indent: &str, number: usize, stage: &Stage) {
    let sizes: Vec<String> = stage.shape.iter().map(usize::to_string).collect();
    let elements = match sizes.len() {
        0 => "1 element".into(),
        _ => format!("{} elements", sizes.join(" x ")),
    };
    let dtypes: Vec<String> = stage.dtypes.iter().map(DType::to_string).collect();
    let _ = writeln!(text, "{indent}stage {}: {elements} of {}", number + 1, dtypes.join(", "));
    let (steps, results) = stage.program.listing(&stage.names, &stage.constants);
    for step in steps {
        let _ = writeln!(text, "{indent}  {step}");
    }
    if stage.folds.is_empty() {
        let _ = writeln!(text, "{indent}  write {}", results.join(", "));
    }
    let axes: Vec<String> = stage.reduced.iter().map(usize::to_string).collect();
    let plural = if axes.len() == 1 { "axis" } else { "axes" };
    for (number, (fold, result)) in stage.folds.iter().zip(results).enumerate() {
        let label = if stage.folds.len() > 1 { format!("result {}: ", number + 1) } else { String::new() };
        let (fold, axes) = (fold.name(), axes.join(", "));
        let _ = writeln!(text, "{indent}  {label}{fold} of {result} along {plural} {axes}");
    }
}

/// Bytes of a stage's results, each of this shape.
fn result_bytes(stage: &Stage, shape: &Shape) -> usize {
    stage.dtypes.iter().fold(0, |sum, dtype| sum.saturating_add(bytes(shape, dtype.item_size())))
}

fn bytes(shape: &Shape, item: usize) -> usize {
    shape.iter().fold(item, |bytes, &size| bytes.saturating_mul(size))
}

fn value_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::Array(view) => bytes(&Shape::from_slice(view.shape()), view.dtype().item_size()),
        Value::Scalar(_) => 0,
    }
}

/// `12 bytes`, `3.4 MB`.
fn bytes_text(bytes: usize) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
    }
    let mut size = bytes as f64 / 1000.0;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(size < 99.95);
    format!("{size:.decimals$} {}", UNITS[unit])
}
