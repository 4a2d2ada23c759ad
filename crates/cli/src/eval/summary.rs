//! Descriptions of the inputs, the result and the plan of a computation.

use super::inputs::{Input, InputParts};
use super::job::Job;
use crate::chunks::Chunks;
use crate::columns::{max_width, pad};
use crate::error::CliError;
use indicatif::BinaryBytes;
use serde_json::{Value, json};
use unishape::notation::short_shape_text;
use unishape::text;

/// `4000x3000 float32`.
pub(crate) fn result_text(job: &Job) -> String {
    let shape = if job.shape.is_empty() { "a single".into() } else { short_shape_text(&job.shape) };
    format!("{shape} {}", job.dtype)
}

/// The shape and dtype as JSON.
pub(crate) fn result_json(job: &Job) -> Value {
    json!({"shape": job.shape, "dtype": job.dtype.name()})
}

/// A line for each input: name, value, shape, dtype and, unless empty, how it is read.
pub(crate) fn inputs_text(inputs: &[Input], access: impl Fn(&Input) -> &'static str) -> String {
    let row = |input: &Input| {
        let shape =
            input.shape().map(|shape| if shape.is_empty() { "()".into() } else { short_shape_text(shape) });
        let dtype = input.dtype().map(|dtype| dtype.name().to_owned());
        let (shape, dtype) = (shape.unwrap_or_default(), dtype.unwrap_or_default());
        let access = access(input);
        [text::truncate(&input.name, 40), text::truncate(&input.text, 60), shape, dtype, access.to_owned()]
    };
    let rows: Vec<[String; 5]> = inputs.iter().map(row).collect();
    let widths = [0, 1, 2, 3].map(|column: usize| max_width(rows.iter().map(|row| &row[column])));
    let mut text = String::new();
    for [name, value, shape, dtype, access] in &rows {
        let [a, b, c, d] = widths;
        let (name, value) = (pad(name, a), pad(value, b));
        let line = format!("{name}  {value}  {shape:>c$}  {dtype:d$}  {access}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The text of `--plan`: inputs, result, chunks, and the loops of a chunk or the stages.
pub(crate) fn plan_text(job: &Job, chunks: &Chunks, memory: u64) -> Result<String, CliError> {
    let item = job.header().item_size() as u64;
    let largest = chunks.largest() as u64;
    let bytes = job.header().data_bytes().map_err(CliError::from)?;
    let is_element_wise = job.is_element_wise();
    let mut text =
        inputs_text(&job.inputs, if is_element_wise { Input::access } else { Input::whole_access });
    text += &format!("result: {}, {}\n", result_text(job), BinaryBytes(bytes));
    let Some(first) = chunks.iter().next() else {
        return Ok(text + "chunks: none, the result has no elements\n");
    };
    let size = BinaryBytes(largest * item);
    let used = BinaryBytes(job.used_bytes(chunks.largest()) as u64);
    let memory = format!("using {used} of {} memory", BinaryBytes(memory));
    text += &match chunks.count() {
        1 => format!("chunks: 1 of {size}, {memory}\n"),
        count if !is_element_wise => format!("chunks: {count} of up to {size}, {memory}\n"),
        count => format!("chunks: {count} of up to {size}, {memory}; in each chunk:\n"),
    };
    if !is_element_wise {
        return Ok(text + &job.stages_text()?);
    }
    // All chunks have the same loops.
    let mut parts = InputParts::new(&job.inputs);
    parts.load(&first, None)?;
    Ok(text + &job.bind(&parts)?.plan())
}
