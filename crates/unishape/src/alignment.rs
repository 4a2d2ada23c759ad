//! Alignment diagrams for messages: shapes in rows, aligned on the right as in broadcasting.

use std::ops::Range;
use unishape_core::{Extent, padded_dim};

/// Largest width of a diagram's shapes, in characters. Columns that do not fit are left out.
const MAX_WIDTH: usize = 88;

/// A row of a diagram.
pub(crate) enum DiagramRow<'a> {
    /// A label and a shape.
    Shape(String, &'a [Extent]),
    /// Text in place of rows that are left out.
    Text(String),
}

/// Draws named shapes aligned on the right.
///
/// A `^` is under each dimension in which their sizes differ.
///
/// Names are [sanitized](crate::text::sanitize). The diagram is that of the error E1, for compatible shapes too.
///
/// ```
/// use unishape::{Extent, alignment};
///
/// let shapes = [vec![64, 1], vec![64], vec![64, 64]].map(|shape| shape.into_iter().map(Extent::Known).collect());
/// let [pred, y, result]: [Vec<_>; 3] = shapes;
/// let diagram = alignment(&[("pred", &pred), ("y", &y), ("result", &result)]);
/// let expected = "
///   pred    64 x  1
///   y            64
///   result  64 x 64
///            ^    ^
/// ";
/// assert_eq!(diagram, expected[1..]);
/// ```
pub fn alignment(rows: &[(&str, &[Extent])]) -> String {
    let rank = rows.iter().map(|(_, shape)| shape.len()).max().unwrap_or(0);
    let differs = |dim| {
        let mut sizes = rows.iter().map(|(_, shape)| padded_dim(shape, rank, dim));
        let first = sizes.next();
        sizes.any(|size| Some(size) != first)
    };
    let marked: Vec<bool> = (0..rank).map(differs).collect();
    let focus = marked.iter().position(|&marked| marked).unwrap_or(0);
    let rows: Vec<_> =
        rows.iter().map(|(name, shape)| DiagramRow::Shape(crate::text::sanitize(name), shape)).collect();
    alignment_diagram(&rows, &marked, focus)
}

/// Draws an alignment diagram of shapes, with a `^` under each marked dimension.
///
/// `marked` is as long as the largest rank. Where columns are left out, those around `focus` stay.
pub(crate) fn alignment_diagram(rows: &[DiagramRow<'_>], marked: &[bool], focus: usize) -> String {
    let rank = marked.len();
    let mut table: Vec<Vec<String>> = rows.iter().map(|row| cells(row, rank)).collect();
    table.push(marked.iter().map(|&marked| if marked { "^".into() } else { String::new() }).collect());
    let shown = visible_columns(&table, rank, focus);
    if shown.len() < rank {
        for (row, line) in rows.iter().zip(&mut table) {
            truncate_row(row, line, rank, &shown);
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
    let mut diagram = String::new();
    for (at, (cells, label)) in table.iter().zip(labels).enumerate() {
        let mut line = format!("  {label:label_width$}  ");
        if let Some(DiagramRow::Text(text)) = rows.get(at) {
            line.push_str(text);
        }
        let is_shape = matches!(rows.get(at), Some(DiagramRow::Shape(..)));
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                let joined = is_shape && !cell.is_empty() && !cells[at - 1].is_empty();
                line.push_str(if joined { " x " } else { "   " });
            }
            line.push_str(&format!("{cell:>0$}", widths[at]));
        }
        if !line.trim().is_empty() {
            diagram.push_str(line.trim_end());
            diagram.push('\n');
        }
    }
    diagram
}

fn label<'a>(row: &'a DiagramRow<'_>) -> &'a str {
    match row {
        DiagramRow::Shape(label, _) => label,
        DiagramRow::Text(_) => "",
    }
}

/// Text of each dimension; empty where the shape has fewer dimensions. Rank 0 is `()` in the last column.
fn cells(row: &DiagramRow<'_>, rank: usize) -> Vec<String> {
    match row {
        DiagramRow::Text(_) => Vec::new(),
        DiagramRow::Shape(_, []) => {
            let mut cells = vec![String::new(); rank.max(1)];
            if let Some(last) = cells.last_mut() {
                "()".clone_into(last);
            }
            cells
        }
        DiagramRow::Shape(_, shape) => (0..rank)
            .map(|dim| match dim + shape.len() >= rank {
                true => padded_dim(shape, rank, dim).to_string(),
                false => String::new(),
            })
            .collect(),
    }
}

/// Width of a column, in characters.
fn width(table: &[Vec<String>], at: usize) -> usize {
    table.iter().filter_map(|cells| cells.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// The columns around `focus` that fit [`MAX_WIDTH`].
fn visible_columns(table: &[Vec<String>], rank: usize, focus: usize) -> Range<usize> {
    let widths: Vec<usize> = (0..rank).map(|at| width(table, at) + 3).collect();
    let (mut start, mut end) = (focus.min(rank), (focus + 1).min(rank));
    let mut used: usize = widths[start..end].iter().sum();
    loop {
        let before = (start, end);
        if end < rank && used + widths[end] <= MAX_WIDTH {
            used += widths[end];
            end += 1;
        }
        if start > 0 && used + widths[start - 1] <= MAX_WIDTH {
            start -= 1;
            used += widths[start];
        }
        if (start, end) == before {
            return start..end;
        }
    }
}

/// Keeps the visible columns of a row, with `…` where sizes are left out.
fn truncate_row(row: &DiagramRow<'_>, cells: &mut Vec<String>, rank: usize, shown: &Range<usize>) {
    let DiagramRow::Shape(_, shape) = row else { return };
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
        "()".clone_into(last); // the last column is not visible
    }
}
