//! Shapes written under each other, lined up on the right as broadcasting reads them.

use std::ops::Range;
use unishape_core::{Extent, padded_dim};

/// A picture whose shapes are wider than this leaves columns out.
const WIDTH: usize = 88;

/// One line of the picture.
pub(crate) enum Row<'a> {
    /// A shape and what it is called.
    Shape(String, &'a [Extent]),
    /// Words in the place of rows that are left out.
    Words(String),
}

/// Draws the rows, with a `^` under each marked dimension; `marked` is as long as the largest rank.
/// Where columns must be left out, the one at `focus` stays.
pub(crate) fn line_up(rows: &[Row<'_>], marked: &[bool], focus: usize) -> String {
    let rank = marked.len();
    let mut table: Vec<Vec<String>> = rows.iter().map(|row| cells(row, rank)).collect();
    table.push(marked.iter().map(|&marked| if marked { "^".into() } else { String::new() }).collect());
    let shown = columns(&table, rank, focus);
    if shown.len() < rank {
        for (row, line) in rows.iter().zip(&mut table) {
            abridge(row, line, rank, &shown);
        }
        if let Some(marks) = table.last_mut() {
            *marks = marks[shown.clone()].to_vec();
            marks.insert(0, String::new());
            marks.push(String::new());
        }
    }
    let labels: Vec<&str> = rows.iter().map(label).chain([""]).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> =
        (0..table.iter().map(Vec::len).max().unwrap_or(0)).map(|at| width(&table, at)).collect();
    let mut picture = String::new();
    for (at, (cells, label)) in table.iter().zip(labels).enumerate() {
        let mut line = format!("  {label:label_width$}  ");
        if let Some(Row::Words(words)) = rows.get(at) {
            line.push_str(words);
        }
        let is_shape = matches!(rows.get(at), Some(Row::Shape(..)));
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                let joined = is_shape && !cell.is_empty() && !cells[at - 1].is_empty();
                line.push_str(if joined { " x " } else { "   " });
            }
            line.push_str(&format!("{cell:>0$}", widths[at]));
        }
        if !line.trim().is_empty() {
            picture.push_str(line.trim_end());
            picture.push('\n');
        }
    }
    picture
}

fn label<'a>(row: &'a Row<'_>) -> &'a str {
    match row {
        Row::Shape(label, _) => label,
        Row::Words(_) => "",
    }
}

/// One text a dimension, empty where the shape has no such dimension. Rank 0 is written `()`, in
/// the last column.
fn cells(row: &Row<'_>, rank: usize) -> Vec<String> {
    match row {
        Row::Words(_) => Vec::new(),
        Row::Shape(_, []) => {
            let mut cells = vec![String::new(); rank.max(1)];
            if let Some(last) = cells.last_mut() {
                "()".clone_into(last);
            }
            cells
        }
        Row::Shape(_, shape) => (0..rank)
            .map(|dim| match dim + shape.len() >= rank {
                true => padded_dim(shape, rank, dim).to_string(),
                false => String::new(),
            })
            .collect(),
    }
}

/// The width of a column.
fn width(table: &[Vec<String>], at: usize) -> usize {
    table.iter().filter_map(|cells| cells.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// The columns around `focus` that fit the width.
fn columns(table: &[Vec<String>], rank: usize, focus: usize) -> Range<usize> {
    let widths: Vec<usize> = (0..rank).map(|at| width(table, at) + 3).collect();
    let (mut start, mut end) = (focus.min(rank), (focus + 1).min(rank));
    let mut used: usize = widths[start..end].iter().sum();
    loop {
        let before = (start, end);
        if end < rank && used + widths[end] <= WIDTH {
            used += widths[end];
            end += 1;
        }
        if start > 0 && used + widths[start - 1] <= WIDTH {
            start -= 1;
            used += widths[start];
        }
        if (start, end) == before {
            return start..end;
        }
    }
}

/// Keeps the shown columns of a row, with `…` on the sides where sizes are left out.
fn abridge(row: &Row<'_>, cells: &mut Vec<String>, rank: usize, shown: &Range<usize>) {
    let Row::Shape(_, shape) = row else { return };
    let dots = |more: bool| if more { "…".to_string() } else { String::new() };
    let left = dots(rank - shape.len() < shown.start);
    let right = dots(shown.end < rank && !shape.is_empty());
    *cells = cells[shown.clone()].to_vec();
    cells.insert(0, left);
    cells.push(right);
    if shape.is_empty()
        && shown.end < rank
        && let Some(last) = cells.last_mut()
    {
        "()".clone_into(last); // its own place is among the columns left out
    }
}
