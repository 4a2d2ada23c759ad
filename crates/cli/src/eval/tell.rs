//! What is going to be computed, in words.

use super::inputs::{Input, Parts};
use super::job::Job;
use super::pieces::Pieces;
use crate::failure::Failure;
use crate::out::bytes_text;
use unishape::notation::short_shape_text;
use unishape::text;

/// `4000x3000 float32`.
pub(crate) fn result_text(job: &Job) -> String {
    let shape = if job.shape.is_empty() { "a single".into() } else { short_shape_text(&job.shape) };
    format!("{shape} {}", job.dtype)
}

/// A line for each input: its name, what was given, its shape and its type.
pub(crate) fn inputs_text(inputs: &[Input], with_ways: bool) -> String {
    let row = |input: &Input| {
        let shape =
            input.shape().map(|shape| if shape.is_empty() { "()".into() } else { short_shape_text(shape) });
        let dtype = input.dtype().map(|dtype| dtype.name().to_owned());
        let (shape, dtype) = (shape.unwrap_or_default(), dtype.unwrap_or_default());
        let way = if with_ways { input.way().to_owned() } else { String::new() };
        [text::truncate(&input.name, 40), text::truncate(&input.text, 60), shape, dtype, way]
    };
    let rows: Vec<[String; 5]> = inputs.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for [name, given, shape, dtype, way] in &rows {
        let [a, b, c, d] = widths;
        let line = format!("{name:a$}  {given:b$}  {shape:>c$}  {dtype:d$}  {way}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// All that is known before the work begins.
pub(crate) fn plan_text(job: &Job, pieces: &Pieces, memory: u64) -> Result<String, Failure> {
    let item = job.header().item_size() as u64;
    let most = pieces.largest() as u64;
    let bytes = job.header().data_bytes().map_err(Failure::failed)?;
    let mut text = inputs_text(&job.inputs, true);
    text += &format!("result: {}, {}\n", result_text(job), bytes_text(bytes));
    let Some(first) = pieces.iter().next() else {
        return Ok(text + "pieces: none, there are no elements\n");
    };
    let (size, taken) = (bytes_text(most * item), bytes_text(most * job.bytes_an_element() as u64));
    let memory = format!("{taken} of memory at a time, of {} allowed", bytes_text(memory));
    text += &match pieces.count() {
        1 => format!("pieces: 1 of {size}, {memory}\n"),
        count => format!("pieces: {count} of up to {size}, {memory}; in each of them\n"),
    };
    // The others have the same loops.
    let mut parts = Parts::new(&job.inputs);
    parts.go_to(&first, None)?;
    Ok(text + &job.bind(&parts)?.plan())
}
