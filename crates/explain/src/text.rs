//! The diagram as text for a terminal.

use crate::diagram::{BLOCKS, Caption, Diagram, DrawnArray};
use crate::layout::{self, DrawnIndex, Frame, LEVELS, Level, SHADES};
use crate::measure::{width, wrap};
use crate::palette;
use crate::size::THIN_SPACE;
use unishape::text::{truncate, truncate_front};

/// Maximum width of the text in a cell, in columns.
const CELL_WIDTH: usize = 8;

/// Maximum number of cells of one array: about two screens.
const MAX_CELLS: usize = 100;

/// Width is clamped to this range, in columns.
const MIN_WIDTH: usize = 24;
const MAX_WIDTH: usize = 160;

/// Style of a character, if colors are enabled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Bold,
    /// Lines and remarks.
    Faint,
    /// A cell of a part: its shade, and whether it is original or a repetition.
    Cell(usize, usize, bool),
}

/// Background colors of each part, of the 256 ANSI colors, for black text.
///
/// They differ in lightness too, for color blindness.
const COLORS: [[u8; 4]; palette::COLORS] = [
    [117, 75, 39, 33],
    [222, 215, 208, 202],
    [121, 78, 35, 36],
    [219, 213, 177, 170],
    [228, 221, 184, 178],
    [252, 250, 247, 245],
];

/// Text color of repetitions of each part, readable on black and on white.
const REPETITION_COLORS: [u8; palette::COLORS] = [32, 166, 29, 169, 136, 244];

impl Style {
    fn start(self) -> String {
        match self {
            Style::Plain => String::new(),
            Style::Bold => "\x1b[1m".into(),
            Style::Faint => "\x1b[2m".into(),
            Style::Cell(part, shade, true) => {
                format!("\x1b[1;38;5;16;48;5;{}m", COLORS[part % COLORS.len()][shade * 4 / SHADES])
            }
            Style::Cell(part, _, false) => {
                format!("\x1b[38;5;{}m", REPETITION_COLORS[part % REPETITION_COLORS.len()])
            }
        }
    }
}

/// A rectangle of terminal columns.
#[derive(Clone, Default)]
struct Canvas {
    rows: Vec<Vec<Column>>,
}

/// One terminal column: a character with combining marks; empty after a wide one.
#[derive(Clone, PartialEq, Eq)]
struct Column {
    text: String,
    style: Style,
}

impl Column {
    fn blank() -> Column {
        Column { text: " ".into(), style: Style::Plain }
    }
}

impl Canvas {
    fn line(text: &str, style: Style) -> Canvas {
        let mut canvas = Canvas::default();
        canvas.put(0, 0, text, style);
        canvas
    }

    fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn height(&self) -> usize {
        self.rows.len()
    }

    fn row(&mut self, y: usize, end: usize) -> &mut Vec<Column> {
        if self.rows.len() <= y {
            self.rows.resize(y + 1, Vec::new());
        }
        let row = &mut self.rows[y];
        if row.len() < end {
            row.resize(end, Column::blank());
        }
        row
    }

    fn put(&mut self, x: usize, y: usize, text: &str, style: Style) {
        let row = self.row(y, x + width(text));
        let (mut start, mut written) = (0, 0);
        for (at, c) in text.char_indices() {
            // Widths of prefixes: some characters have a width only together with the one before.
            let end = width(&text[..at + c.len_utf8()]);
            if end > written {
                start = written;
                for column in &mut row[x + written..x + end] {
                    *column = Column { text: String::new(), style };
                }
                written = end;
            }
            if let Some(column) = row.get_mut(x + start) {
                column.text.push(c);
            }
        }
    }

    fn place(&mut self, x: usize, y: usize, other: &Canvas) {
        for (down, from) in other.rows.iter().enumerate() {
            self.row(y + down, x + from.len())[x..x + from.len()].clone_from_slice(from);
        }
    }

    fn below(&mut self, other: &Canvas) {
        self.place(0, self.height(), other);
    }

    fn write(&self, color: bool, out: &mut String) {
        for row in &self.rows {
            let blank = Column::blank();
            let end = row.iter().rposition(|column| *column != blank).map_or(0, |at| at + 1);
            let mut style = Style::Plain;
            for Column { text, style: next } in row[..end].iter().filter(|column| !column.text.is_empty()) {
                if color && *next != style {
                    out.push_str("\x1b[0m");
                    out.push_str(&next.start());
                }
                style = *next;
                out.push_str(text);
            }
            if color && style != Style::Plain {
                out.push_str("\x1b[0m");
            }
            // Trailing blanks of a style are visible only in color.
            if !color {
                out.truncate(out.trim_end_matches(' ').len());
            }
            out.push('\n');
        }
    }
}

/// The diagram for a terminal of `width` columns, in ANSI colors if `color`.
pub(crate) fn draw(diagram: &dyn Diagram, color: bool, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let mut canvas = Canvas::default();
    paragraph(&mut canvas, &diagram.headline(), 0, width, Style::Bold);
    canvas.below(&Canvas::line("", Style::Plain));
    paragraph(&mut canvas, &diagram.introduction(), 0, width, Style::Plain);
    paragraph(&mut canvas, &diagram.summary(), 0, width, Style::Plain);
    let drawn = drawings(diagram, width);
    if let Some((level, _)) = &drawn
        && diagram.has_cells()
    {
        if let Some(legend) = diagram.legend() {
            paragraph(&mut canvas, legend.plain, 0, width, Style::Faint);
        }
        if diagram.is_shortened(*level) {
            paragraph(&mut canvas, BLOCKS, 0, width, Style::Faint);
        }
    }
    if let Some(why) = diagram.no_diagram_reason() {
        paragraph(&mut canvas, &why, 0, width, Style::Plain);
    }
    for part in 0..diagram.parts() {
        canvas.below(&Canvas::line("", Style::Plain));
        let title = truncate(&diagram.title(part), width - 6);
        let mut heading = Canvas::line(&format!("── {title} "), Style::Bold);
        heading.put(heading.width(), 0, &"─".repeat(width - heading.width()), Style::Faint);
        canvas.below(&heading);
        canvas.below(&Canvas::line("", Style::Plain));
        if let Some(drawing) = drawn.as_ref().and_then(|(_, drawn)| drawn.get(part)) {
            canvas.below(drawing);
            canvas.below(&Canvas::line("", Style::Plain));
            sentences(&mut canvas, diagram, part, width);
        } else {
            for Caption { name, shape, .. } in diagram.captions(part) {
                let text = format!("{name}  {shape}");
                paragraph(&mut canvas, &text, 2, width, Style::Plain);
            }
            canvas.below(&Canvas::line("", Style::Plain));
            table(&mut canvas, diagram, part, width);
        }
        paragraph(&mut canvas, &diagram.map(part), 2, width, Style::Bold);
        paragraph(&mut canvas, &diagram.reads(part), 2, width, Style::Plain);
    }
    if let Some(more) = diagram.omitted_parts() {
        canvas.below(&Canvas::line("", Style::Plain));
        paragraph(&mut canvas, &more, 0, width, Style::Plain);
    }
    let mut out = String::new();
    canvas.write(color, &mut out);
    out
}

/// Adds wrapped text below the content.
fn paragraph(canvas: &mut Canvas, text: &str, indent: usize, limit: usize, style: Style) {
    for line in wrap(text, limit - indent) {
        canvas.put(indent, canvas.height(), &line, style);
    }
}

/// One sentence per dimension.
fn sentences(canvas: &mut Canvas, diagram: &dyn Diagram, part: usize, limit: usize) {
    for line in diagram.lines(part) {
        paragraph(canvas, &line, 2, limit, Style::Plain);
    }
}

/// A table of dimensions, where the rank is too large for a diagram.
fn table(canvas: &mut Canvas, diagram: &dyn Diagram, part: usize, limit: usize) {
    let rows = diagram.table(part);
    let widths: [usize; 4] =
        std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0));
    let text = |row: &[String; 5]| {
        let sizes = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  "));
        format!("{}{}", sizes.collect::<String>(), row[4])
    };
    if rows.iter().any(|row| width(&text(row)) + 2 > limit) {
        return sentences(canvas, diagram, part, limit);
    }
    for (at, row) in rows.iter().enumerate() {
        let style = if at == 0 { Style::Faint } else { Style::Plain };
        canvas.put(2, canvas.height(), text(row).trim_end(), style);
    }
}

/// The drawings of all parts at the first level that fits; `None` if none does.
fn drawings(diagram: &dyn Diagram, limit: usize) -> Option<(Level, Vec<Canvas>)> {
    let small_enough = |level: &&Level| {
        Frame::new(diagram.largest_shape(), **level).is_some_and(|frame| frame.count() <= MAX_CELLS)
    };
    LEVELS.iter().filter(small_enough).find_map(|&level| {
        let drawn: Option<Vec<Canvas>> =
            (0..diagram.parts()).map(|part| drawing(diagram, part, level, limit)).collect();
        Some((level, drawn?))
    })
}

/// The three arrays of a part, side by side if they fit.
fn drawing(diagram: &dyn Diagram, part: usize, level: Level, limit: usize) -> Option<Canvas> {
    let arrays = diagram.arrays(part, level)?;
    let mut canvases = Vec::new();
    for (array, caption) in arrays.iter().zip(diagram.captions(part)) {
        canvases.push(array_canvas(array, &caption, limit)?);
    }
    let [x, y, z] = canvases.try_into().ok()?;
    let across = |left: &Canvas, step: &str, right: &Canvas| {
        let arrow = format!("{}▶", "─".repeat(step.len()));
        let mut canvas = left.clone();
        let middle = 1 + left.height().min(right.height()) / 2;
        let at = left.width() + 2;
        canvas.put(at, middle - 1, step, Style::Bold);
        canvas.put(at, middle, &arrow, Style::Faint);
        canvas.place(at + width(&arrow) + 2, 0, right);
        canvas
    };
    let down = |above: &Canvas, step: &str, below: &Canvas| {
        let mut canvas = above.clone();
        canvas.put(2, above.height(), "│", Style::Faint);
        canvas.put(4, above.height(), step, Style::Bold);
        canvas.put(2, above.height() + 1, "▼", Style::Faint);
        canvas.below(below);
        canvas
    };
    let xy = match across(&x, "step 1", &y) {
        xy if xy.width() <= limit => xy,
        _ => down(&x, "step 1", &y),
    };
    match across(&xy, "step 2", &z) {
        all if all.width() <= limit => Some(all),
        _ => Some(down(&xy, "step 2", &z)),
    }
}

/// One array: name, shape, marks below its sizes, cells; `None` if it does not fit.
fn array_canvas(array: &DrawnArray<'_>, caption: &Caption, limit: usize) -> Option<Canvas> {
    let name = format!("{}  ", caption.name);
    let mut canvas = Canvas::line(&name, Style::Bold);
    canvas.put(name.len(), 0, &caption.shape, Style::Bold);
    // Every array has a line for the marks, so that all grids start at the same height.
    canvas.put(0, 1, "", Style::Plain);
    if caption.marked.contains(&true) {
        let marks = caption.sizes.iter().zip(&caption.marked).map(|(size, marked)| {
            let mark = if *marked { "^" } else { " " };
            mark.repeat(width(size))
        });
        let marks = marks.collect::<Vec<_>>().join(" ");
        canvas.put(name.len(), 1, &format!("{} {}", marks.trim_end(), caption.mark[0]), Style::Faint);
    }
    let frame = &array.frame;
    let cells = if frame.is_empty() {
        let mut empty = Canvas::line("┌───────┐", Style::Faint);
        empty.put(0, 1, "│ empty │", Style::Faint);
        empty.put(0, 2, "└───────┘", Style::Faint);
        empty
    } else {
        panels(array, limit)?
    };
    canvas.below(&cells);
    (canvas.width() <= limit).then_some(canvas)
}

/// All panels of an array. A row of panels is wrapped if too wide; a matrix is not.
fn panels(array: &DrawnArray<'_>, limit: usize) -> Option<Canvas> {
    let (frame, sizes) = (&array.frame, &array.sizes);
    // Columns for the number of panel rows.
    let limit = limit.checked_sub(sizes.panels_down.as_ref().map_or(0, |size| 2 + width(size)))?;
    let mut all = Canvas::default();
    for &row in frame.panel_rows() {
        let DrawnIndex::At(row) = row else {
            all.put(3, all.height(), "⋮", Style::Faint);
            continue;
        };
        let mut line = Canvas::default();
        for (at, &column) in frame.panel_columns().iter().enumerate() {
            let part = match column {
                DrawnIndex::Gap => {
                    let mut gap = Canvas::default();
                    gap.put(0, line.height() / 2, "⋯", Style::Faint);
                    gap
                }
                DrawnIndex::At(column) => {
                    let mut panel = Canvas::default();
                    if let Some(label) = frame.panel_label(row, column) {
                        panel.put(0, 0, &label, Style::Faint);
                    }
                    // The number of rows is written after the last panel.
                    let sizes = sizes.with_down(at + 1 == frame.panel_columns().len());
                    let min_width = sizes.across.as_ref().map_or(0, |size| size_length(size));
                    let grid = grid(array, [row, column], min_width);
                    panel.below(&sized(&grid, sizes.across.as_deref(), sizes.down.as_deref()));
                    panel
                }
            };
            if line.height() > 0 && line.width() + 2 + part.width() > limit {
                if frame.panel_rows().len() > 1 {
                    return None;
                }
                all.below(&line);
                line = Canvas::default();
            }
            let at = if line.height() > 0 { line.width() + 2 } else { 0 };
            line.place(at, 0, &part);
        }
        all.below(&line);
    }
    Some(sized(&all, sizes.panels_across.as_deref(), sizes.panels_down.as_deref()))
}

/// A canvas with dimension lines above and on its right.
fn sized(part: &Canvas, across: Option<&str>, down: Option<&str>) -> Canvas {
    let mut canvas = Canvas::default();
    if let Some(size) = across {
        let size = without_thin_spaces(size);
        let length = part.width().max(size_length(&size));
        let lines = length - size_length(&size) + 2;
        let (left, right) = ("─".repeat(lines / 2 - 1), "─".repeat(lines - lines / 2 - 1));
        canvas.put(0, 0, &format!("├{left} {size} {right}┤"), Style::Faint);
    }
    let top = canvas.height();
    canvas.below(part);
    if let Some(size) = down {
        let (x, bottom) = (part.width() + 1, canvas.height() - 1);
        for y in top..=bottom {
            let sign = if y == top {
                "┬"
            } else if y == bottom {
                "┴"
            } else {
                "│"
            };
            canvas.put(x, y, sign, Style::Faint);
        }
        canvas.put(x, (top + bottom) / 2, &without_thin_spaces(size), Style::Faint);
    }
    canvas
}

/// A size with ordinary spaces: terminals have no narrow ones.
fn without_thin_spaces(size: &str) -> String {
    size.replace(THIN_SPACE, " ")
}

/// Minimum length of a dimension line.
fn size_length(size: &str) -> usize {
    width(size) + 4
}

/// Directions of the lines at a position, as bits.
const UP: u8 = 1;
const RIGHT: u8 = 2;
const DOWN: u8 = 4;
const LEFT: u8 = 8;

/// One panel. Its gap is widened so that it has at least `min_width` columns.
fn grid(array: &DrawnArray<'_>, panel: [usize; 2], min_width: usize) -> Canvas {
    let frame = &array.frame;
    let content = array.labels().map(|label| width(&cell_text(array, &label))).max().unwrap_or(1);
    let (across, down) = (content + 3, 2);
    let gap = 4 + min_width.saturating_sub(layout::indices(frame.columns()).count() * across + 4 + 1);
    let (lefts, tops) = (positions(frame.columns(), across, gap), positions(frame.rows(), down, 2));

    // Lines at each position, and whether an original cell drew any of them.
    let end = |starts: &[usize], step: usize| starts.last().map_or(0, |last| last + step + 1);
    let mut edges = vec![vec![(0u8, false); end(&lefts, across)]; end(&tops, down)];
    let mut canvas = Canvas::default();
    for (&row, &top) in frame.rows().iter().zip(&tops) {
        for (&column, &left) in frame.columns().iter().zip(&lefts) {
            let (DrawnIndex::At(i), DrawnIndex::At(j)) = (row, column) else {
                let (x, y) = match (row, column) {
                    (DrawnIndex::At(_), _) => (left + gap / 2, top + 1),
                    (_, DrawnIndex::At(_)) => (left + across / 2, top + 1),
                    _ => continue,
                };
                canvas.put(x, y, if row == DrawnIndex::Gap { "⋮" } else { "⋯" }, Style::Faint);
                continue;
            };
            let cell = array.cell([panel[0], panel[1], i, j]);
            let style = Style::Cell(array.part, array.shade(&cell), cell.original);
            let text = cell_text(array, &cell.label);
            let blank = " ".repeat(content - width(&text));
            let is_number = text.trim_start_matches('…').parse::<f64>().is_ok();
            let text = if is_number { format!(" {blank}{text} ") } else { format!(" {text}{blank} ") };
            canvas.put(left + 1, top + 1, &text, style);
            let mut draw = |x: usize, y: usize, lines: u8| {
                edges[y][x].0 |= lines;
                edges[y][x].1 |= cell.original;
            };
            for x in left..left + across {
                for y in [top, top + down] {
                    draw(x, y, RIGHT);
                    draw(x + 1, y, LEFT);
                }
            }
            for y in top..top + down {
                for x in [left, left + across] {
                    draw(x, y, DOWN);
                    draw(x, y + 1, UP);
                }
            }
        }
    }
    for (y, row) in edges.iter().enumerate() {
        for (x, &(lines, original)) in row.iter().enumerate() {
            if lines > 0 {
                canvas.put(x, y, box_character(lines, original), Style::Faint);
            }
        }
    }
    canvas
}

/// Start of each slot along an axis. Neighbouring cells share a line.
fn positions(slots: &[DrawnIndex], cell: usize, gap: usize) -> Vec<usize> {
    let mut at = 0;
    slots
        .iter()
        .map(|slot| {
            let place = at;
            at += if *slot == DrawnIndex::Gap { gap } else { cell };
            place
        })
        .collect()
}

/// The box-drawing character of these lines, dashed if only repetitions drew them.
fn box_character(lines: u8, original: bool) -> &'static str {
    const HORIZONTAL: u8 = LEFT | RIGHT;
    const VERTICAL: u8 = UP | DOWN;
    match lines {
        HORIZONTAL if original => "─",
        HORIZONTAL => "╌",
        VERTICAL if original => "│",
        VERTICAL => "┊",
        l if l == RIGHT | DOWN => "┌",
        l if l == LEFT | DOWN => "┐",
        l if l == RIGHT | UP => "└",
        l if l == LEFT | UP => "┘",
        l if l == VERTICAL | RIGHT => "├",
        l if l == VERTICAL | LEFT => "┤",
        l if l == HORIZONTAL | DOWN => "┬",
        l if l == HORIZONTAL | UP => "┴",
        _ => "┼",
    }
}

/// A label, truncated to the width of a cell.
fn cell_text(array: &DrawnArray<'_>, label: &str) -> String {
    if array.is_numbered {
        return truncate_front(label, CELL_WIDTH);
    }
    let mut text = truncate(label, CELL_WIDTH);
    while width(&text) > CELL_WIDTH {
        text.pop();
    }
    text
}
