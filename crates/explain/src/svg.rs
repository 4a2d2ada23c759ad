//! The diagram as an SVG file.

use crate::diagram::{BLOCKS, Caption, Diagram, DrawnArray};
use crate::layout::{self, DrawnIndex, Frame, LEVELS, Level};
use crate::measure::{width, wrap};
use crate::palette;
use crate::size::Sizes;
use std::fmt::Write;
use unishape::text::{escape_html, truncate, truncate_front};

/// Lengths are in pixels.
const MARGIN: usize = 28;
const CELL_HEIGHT: usize = 30;
/// Space between neighbouring cells.
const SPACE: usize = 3;
/// Length of the gap that stands for omitted cells.
const GAP: usize = 22;
/// Padding within the frame of a block.
const FRAME: usize = 5;
/// Space beside a block for its size.
const SIZE: usize = 18;
/// Space between panels.
const PANEL_SPACE: usize = 20;
/// Height of the name and shape of a form.
const CAPTION: usize = 34;
/// Length of the arrows between forms.
const ARROW_ACROSS: usize = 132;
const ARROW_DOWN: usize = 48;
/// Height of a line of text.
const LINE: usize = 20;

/// Upper bounds on the width of a proportional and of a monospaced character.
const LETTER: usize = 7;
const CHARACTER: usize = 8;

/// Preferred maximum width of the diagram.
const WIDTH: usize = 1100;
/// Minimum width for text.
const MIN_WIDTH: usize = 620;

/// Maximum number of characters in a cell.
const CELL_LENGTH: usize = 8;
/// Maximum number of cells of one array, and of all arrays together.
const MAX_CELLS: usize = 200;
const MAX_TOTAL_CELLS: usize = 800;

/// An SVG group: its content, relative to its upper left corner, and its size.
#[derive(Clone, Default)]
struct SvgGroup {
    svg: String,
    width: usize,
    height: usize,
}

impl SvgGroup {
    /// Adds another group at a position.
    fn place(&mut self, x: usize, y: usize, other: &SvgGroup) {
        let _ = writeln!(self.svg, "<g transform=\"translate({x} {y})\">\n{}</g>", other.svg);
        self.reach(x + other.width, y + other.height);
    }

    /// Extends the size to include a point.
    fn reach(&mut self, x: usize, y: usize) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }

    /// Adds one line of text.
    fn text(&mut self, x: usize, baseline: usize, class: &str, text: &str) {
        let _ = writeln!(
            self.svg,
            "<text x=\"{x}\" y=\"{baseline}\" class=\"{class}\">{}</text>",
            escape_html(text)
        );
    }

    /// Adds a horizontal dimension line with a size in its middle.
    ///
    /// `length` is at least [`size_length`].
    fn size_across(&mut self, x: usize, y: usize, length: usize, size: &str) {
        let (middle, half) = (x + length / 2, width(size) * CHARACTER / 2 + 5);
        let _ = writeln!(
            self.svg,
            "<path class=\"extent\" d=\"M{x} {}v8m0 -4H{}M{} {y}H{}m0 -4v8\"/>",
            y - 4,
            middle - half,
            middle + half,
            x + length,
        );
        self.text(middle, y + 4, "size", size);
        self.reach(x + length + 1, y + SIZE / 2);
    }

    /// Adds a vertical dimension line; the size reads upwards.
    fn size_down(&mut self, x: usize, y: usize, length: usize, size: &str) {
        let (middle, half) = (y + length / 2, width(size) * CHARACTER / 2 + 5);
        let _ = writeln!(
            self.svg,
            "<path class=\"extent\" d=\"M{} {y}h8m-4 0V{}M{x} {}V{}m-4 0h8\"/>\
             <text x=\"{x}\" y=\"{middle}\" dy=\"4\" class=\"size\" transform=\"rotate(-90 {x} {middle})\">{}</text>",
            x - 4,
            middle - half,
            middle + half,
            y + length,
            escape_html(size),
        );
        self.reach(x + SIZE / 2, y + length + 1);
    }

    /// Adds wrapped text below the content.
    fn paragraph(&mut self, class: &str, text: &str, text_width: usize) {
        let letter = if class == "map" { CHARACTER } else { LETTER };
        for line in wrap(text, text_width / letter) {
            self.height += LINE;
            self.text(0, self.height - 5, class, &line);
            self.width = self.width.max(width(&line) * letter);
        }
    }
}

/// The diagram as a standalone SVG file.
pub(crate) fn draw(diagram: &dyn Diagram) -> String {
    let (level, drawings) = drawings(diagram).unzip();
    let widest = drawings.iter().flatten().map(|drawing| drawing.width).max().unwrap_or(0);
    let text_width = widest.max(MIN_WIDTH);

    let mut all = SvgGroup { height: 10, ..SvgGroup::default() };
    for line in wrap(&diagram.headline(), text_width / 13) {
        all.height += 30;
        all.text(0, all.height - 8, "headline", &line);
    }
    all.paragraph("", &diagram.introduction(), text_width);
    all.paragraph("soft", &diagram.summary(), text_width);
    if let Some(why) = diagram.no_diagram_reason() {
        all.paragraph("soft", &why, text_width);
    } else if diagram.has_cells() {
        if let Some(legend) = diagram.legend() {
            all.paragraph("soft", legend.colored, text_width);
        }
        if level.is_some_and(|level| diagram.is_shortened(level)) {
            all.paragraph("soft", BLOCKS, text_width);
        }
    }
    for part in 0..diagram.parts() {
        all.height += 14;
        let _ = writeln!(all.svg, "<path class=\"rule\" d=\"M0 {0}H{text_width}\"/>", all.height);
        all.height += 12;
        if let Some(name) = diagram.name(part) {
            let [first, ..] = diagram.captions(part);
            all.paragraph("soft", &format!("{} is {name}", first.name), text_width);
        }
        let mut group = SvgGroup::default();
        match drawings.as_ref().and_then(|drawings| drawings.get(part)) {
            Some(drawing) => {
                group.place(0, 0, drawing);
                group.height += 10;
                for line in diagram.lines(part) {
                    group.paragraph("", &line, text_width);
                }
            }
            None => table(&mut group, diagram, part),
        }
        group.paragraph("map", &diagram.map(part), text_width);
        group.paragraph("soft", &diagram.reads(part), text_width);
        let mut colored = SvgGroup { width: group.width, height: group.height, ..SvgGroup::default() };
        let _ = writeln!(colored.svg, "<g class=\"a{part}\">\n{}</g>", group.svg);
        let at = all.height;
        all.place(0, at, &colored);
    }
    if let Some(more) = diagram.omitted_parts() {
        all.height += 14;
        all.paragraph("soft", &more, text_width);
    }
    file(diagram, &all, text_width)
}

/// The SVG file with the diagram.
fn file(diagram: &dyn Diagram, all: &SvgGroup, text_width: usize) -> String {
    let (width, height) = (all.width.max(text_width) + 2 * MARGIN, all.height + 2 * MARGIN);
    let mut css =
        palette::rules(diagram.parts(), |[red, green, blue]| format!("fill:#{red:02x}{green:02x}{blue:02x}"));
    if all.svg.contains("class=\"extent\"") {
        css.push_str(include_str!("blocks.css"));
        css.push_str(&palette::frames(diagram.parts()));
    }
    let mut description = diagram.summary();
    for part in 0..diagram.parts() {
        let _ = write!(description, " {}.", diagram.map(part).trim_end_matches('.'));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}: {}</title>\n<desc id=\"desc\">{}</desc>\n\
         <style>\n{}{css}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\">\n{}</g>\n</svg>\n",
        diagram.subject(),
        escape_html(&diagram.headline()),
        escape_html(&description),
        include_str!("svg.css"),
        all.svg,
    )
}

/// A table of dimensions, where the rank is too large for a diagram.
fn table(group: &mut SvgGroup, diagram: &dyn Diagram, part: usize) {
    let rows = diagram.table(part);
    for (down, row) in rows.iter().enumerate() {
        group.height += LINE;
        let mut x = 0;
        for (at, cell) in row.iter().enumerate() {
            let class = if down == 0 { "soft" } else { "" };
            if at < 4 {
                let widest = rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
                x += widest * CHARACTER + 20;
                group.text(x - 20, group.height - 5, &format!("right {class}"), cell);
            } else {
                group.text(x, group.height - 5, class, cell);
                group.reach(x + width(cell) * CHARACTER, 0);
            }
        }
    }
}

/// The drawings of all parts at the first level that limits cells and width.
///
/// `None` where the rank is too large.
fn drawings(diagram: &dyn Diagram) -> Option<(Level, Vec<SvgGroup>)> {
    let last = LEVELS.len() - 1;
    LEVELS.iter().enumerate().find_map(|(at, &level)| {
        let cells = Frame::new(diagram.largest_shape(), level)?.count();
        if at < last && (cells > MAX_CELLS || cells * diagram.parts() > MAX_TOTAL_CELLS) {
            return None;
        }
        let arrays = (0..diagram.parts())
            .map(|part| arrays(diagram, part, level))
            .collect::<Option<Vec<[SvgGroup; 3]>>>()?;
        let drawings = arrange(diagram, &arrays);
        (at == last || drawings.iter().all(|drawing| drawing.width <= WIDTH)).then_some((level, drawings))
    })
}

/// Arranges the three arrays of every part.
///
/// They are side by side, in common columns if that fits; otherwise the last is below, or all are stacked.
fn arrange(diagram: &dyn Diagram, parts: &[[SvgGroup; 3]]) -> Vec<SvgGroup> {
    let column = |at: usize| parts.iter().map(|arrays| arrays[at].width).max().unwrap_or(0);
    let common = [column(0), column(1), column(2)];
    let end = |widths: [usize; 3]| widths.iter().sum::<usize>() + 2 * ARROW_ACROSS;
    parts
        .iter()
        .enumerate()
        .map(|(part, [x, y, z])| {
            let [first, second] = &diagram.steps(part);
            let own = [x.width, y.width, z.width];
            let mut group = x.clone();
            if let Some([x_width, y_width, _]) =
                [common, own].into_iter().find(|&widths| end(widths) <= WIDTH)
            {
                let y_at = x_width + ARROW_ACROSS;
                let z_at = y_at + y_width + ARROW_ACROSS;
                across(&mut group, x.width, "step 1", first, y, y_at);
                across(&mut group, y_at + y.width, "step 2", second, z, z_at);
            } else {
                match x.width + ARROW_ACROSS {
                    y_at if y_at + y.width <= WIDTH => across(&mut group, x.width, "step 1", first, y, y_at),
                    _ => down(&mut group, "step 1", first, y),
                }
                down(&mut group, "step 2", second, z);
            }
            group
        })
        .collect()
}

/// Adds an arrow to the right beside the first row of cells, and the next form.
fn across(group: &mut SvgGroup, from: usize, step: &str, how: &str, next: &SvgGroup, at: usize) {
    let (start, end, y) = (from + 12, at - 14, CAPTION + 30);
    let _ = writeln!(
        group.svg,
        "<path class=\"arrow\" d=\"M{start} {y}H{}\"/><path class=\"head\" d=\"M{end} {y}l-8 -4.5v9z\"/>",
        end - 6
    );
    let middle = (start + end) / 2;
    group.text(middle, y - 8, "step", step);
    group.text(middle, y + 17, "how", how);
    group.place(at, 0, next);
    group.reach(at, y + 20);
}

/// Adds an arrow downwards below the content, and the next form.
fn down(group: &mut SvgGroup, step: &str, how: &str, next: &SvgGroup) {
    let (top, x) = (group.height + 10, 20);
    let _ = writeln!(
        group.svg,
        "<path class=\"arrow\" d=\"M{x} {top}v20\"/><path class=\"head\" d=\"M{x} {}l-4.5 -8h9z\"/>",
        top + 26
    );
    group.text(x + 18, top + 17, "", &format!("{step}: {how}"));
    group.place(0, group.height + ARROW_DOWN, next);
}

/// The three arrays of a part.
fn arrays(diagram: &dyn Diagram, part: usize, level: Level) -> Option<[SvgGroup; 3]> {
    let arrays = diagram.arrays(part, level)?;
    let captions = diagram.captions(part);
    let labels = arrays.iter().flat_map(|array| array.labels().map(|label| width(&cell_text(array, &label))));
    let cell_width = (labels.max().unwrap_or(1) * CHARACTER + 12).max(CELL_HEIGHT);
    Some(std::array::from_fn(|at| {
        let mut group = caption(&captions[at]);
        group.place(0, CAPTION, &Drawn { array: &arrays[at], cell_width }.sized_panels());
        group
    }))
}

/// Name and shape of an array, with marked dimensions.
fn caption(caption: &Caption) -> SvgGroup {
    let (mut sizes, mut columns) = (String::new(), 2 * usize::from(caption.sizes.is_empty()));
    for (dim, (size, marked)) in caption.sizes.iter().zip(&caption.marked).enumerate() {
        columns += width(size) + usize::from(dim > 0);
        let size = escape_html(size);
        let times = if dim > 0 { "×" } else { "" };
        let class = if *marked { " class=\"added\"" } else { "" };
        let _ = write!(sizes, "{times}<tspan{class}>{size}</tspan>");
    }
    if caption.sizes.is_empty() {
        sizes.push_str("()");
    }
    let mut group = SvgGroup::default();
    let _ = writeln!(
        group.svg,
        "<text x=\"0\" y=\"16\" class=\"stage\">{}<tspan class=\"shape\" dx=\"8\">{sizes}</tspan></text>",
        caption.name
    );
    group.reach((columns + 4) * 9, CAPTION);
    group
}

/// One array, to be drawn with cells of this width.
struct Drawn<'a> {
    array: &'a DrawnArray<'a>,
    cell_width: usize,
}

impl Drawn<'_> {
    /// All panels, with dimension lines along shortened axes.
    fn sized_panels(&self) -> SvgGroup {
        let panels = self.panels();
        let (across, down) = (&self.array.sizes.panels_across, &self.array.sizes.panels_down);
        if across.is_none() && down.is_none() {
            return panels;
        }
        let (left, top) =
            (if down.is_some() { SIZE + 4 } else { 0 }, if across.is_some() { SIZE + 4 } else { 0 });
        let mut group = SvgGroup::default();
        if let Some(size) = across {
            group.size_across(left, SIZE / 2, panels.width.max(size_length(size)), size);
        }
        if let Some(size) = down {
            group.size_down(SIZE / 2, top, panels.height.max(size_length(size)), size);
        }
        group.place(left, top, &panels);
        group
    }

    /// All panels. A row of panels is wrapped if it is too wide; a matrix is not.
    fn panels(&self) -> SvgGroup {
        let mut all = SvgGroup::default();
        if self.array.frame.is_empty() {
            let _ = writeln!(
                all.svg,
                "<rect class=\"empty\" x=\"1\" y=\"14\" width=\"72\" height=\"{CELL_HEIGHT}\" rx=\"5\"/>\
                 <text class=\"how\" x=\"37\" y=\"33\">empty</text>"
            );
            all.reach(74, CELL_HEIGHT + 16);
            return all;
        }
        for (at, &row) in self.array.frame.panel_rows().iter().enumerate() {
            let top = if at > 0 { all.height + PANEL_SPACE } else { 0 };
            let DrawnIndex::At(row) = row else {
                all.text(20, top, "dots", "⋮");
                all.reach(0, top);
                continue;
            };
            let (mut line, mut left, mut down) = (SvgGroup::default(), 0, 0);
            for &column in self.array.frame.panel_columns() {
                let DrawnIndex::At(column) = column else {
                    line.text(left + GAP / 2, down + line.height.saturating_sub(down) / 2, "dots", "⋯");
                    left += GAP + PANEL_SPACE / 2;
                    continue;
                };
                // The number of rows is written before the first panel.
                let panel = self.panel(row, column, &self.array.sizes.with_down(left == 0 && down == 0));
                if left > 0 && left + panel.width > WIDTH && self.array.frame.panel_rows().len() == 1 {
                    (left, down) = (0, line.height + PANEL_SPACE / 2);
                }
                line.place(left, down, &panel);
                left += panel.width + PANEL_SPACE;
            }
            all.place(0, top, &line);
        }
        all
    }

    /// One panel: label, indices of rows and columns, cells.
    ///
    /// A panel that omits cells is a block, with a frame and dimension lines.
    fn panel(&self, row: usize, column: usize, sizes: &Sizes) -> SvgGroup {
        let mut group = SvgGroup::default();
        let frame_left = if sizes.down.is_some() { SIZE } else { 0 };
        if let Some(label) = self.array.frame.panel_label(row, column) {
            group.text(frame_left, 10, "soft", &label);
            group.reach(frame_left + width(&label) * CHARACTER, 16);
        }
        let digits = |slots: &[DrawnIndex]| {
            layout::indices(slots).map(|index| short_index(index).chars().count()).max().unwrap_or(0)
        };
        let frame_top = group.height + if sizes.across.is_some() { SIZE } else { 0 };
        let inside = if self.array.sizes.is_block() { FRAME } else { 0 };
        let labels = if self.array.frame.has_rows() { digits(self.array.frame.rows()) * 6 + 8 } else { 0 };
        let left = frame_left + inside + labels;
        let top = frame_top + inside + if self.array.frame.has_columns() { 14 } else { 0 };
        // The frame is at least as long as its dimension line; the gap grows accordingly.
        let (across, down) = (&self.array.sizes.across, &self.array.sizes.down);
        let columns =
            positions(self.array.frame.columns(), left, self.cell_width, frame_left + length(across, inside));
        let rows = positions(self.array.frame.rows(), top, CELL_HEIGHT, frame_top + length(down, inside));
        if self.array.sizes.is_block() {
            let (width, height) = (columns.end + inside - frame_left, rows.end + inside - frame_top);
            let _ = writeln!(
                group.svg,
                "<rect class=\"frame k{}\" x=\"{frame_left}\" y=\"{frame_top}\" width=\"{width}\" \
                 height=\"{height}\" rx=\"8\"/>",
                layout::SHADES - 1
            );
            if let Some(size) = &sizes.across {
                group.size_across(frame_left, frame_top - SIZE / 2, width, size);
            }
            if let Some(size) = &sizes.down {
                group.size_down(frame_left - SIZE / 2, frame_top, height, size);
            }
            group.reach(columns.end + inside + 1, rows.end + inside + 1);
        }
        if self.array.frame.has_columns() {
            for (&slot, &x) in self.array.frame.columns().iter().zip(&columns.starts) {
                if let DrawnIndex::At(index) = slot {
                    group.text(x + self.cell_width / 2, top - 4, "at", &short_index(index));
                }
            }
        }
        for (&down, &y) in self.array.frame.rows().iter().zip(&rows.starts) {
            if let DrawnIndex::At(index) = down
                && self.array.frame.has_rows()
            {
                group.text(left - labels / 2 - 2, y + 19, "at", &short_index(index));
            }
            for (&across, &x) in self.array.frame.columns().iter().zip(&columns.starts) {
                match (down, across) {
                    (DrawnIndex::At(i), DrawnIndex::At(j)) => {
                        self.cell(&mut group, x, y, [row, column, i, j])
                    }
                    (DrawnIndex::At(_), DrawnIndex::Gap) => {
                        group.text(x + columns.gap / 2, y + 19, "dots", "⋯")
                    }
                    (DrawnIndex::Gap, DrawnIndex::At(_)) => {
                        group.text(x + self.cell_width / 2, y + rows.gap / 2 + 4, "dots", "⋮")
                    }
                    (DrawnIndex::Gap, DrawnIndex::Gap) => {}
                }
            }
        }
        group
    }

    fn cell(&self, group: &mut SvgGroup, x: usize, y: usize, place: [usize; 4]) {
        let cell = self.array.cell(place);
        let index: Vec<String> = cell.index.iter().map(usize::to_string).collect();
        let _ = writeln!(
            group.svg,
            "<g class=\"cell{}\" data-of=\"{}\" data-index=\"{}\">\
             <rect class=\"k{}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{CELL_HEIGHT}\" rx=\"5\"/>\
             <text x=\"{}\" y=\"{}\">{}</text></g>",
            if cell.original { "" } else { " again" },
            self.array.name,
            index.join(","),
            self.array.shade(&cell),
            self.cell_width,
            x + self.cell_width / 2,
            y + 20,
            escape_html(&cell_text(self.array, &cell.label)),
        );
        group.reach(x + self.cell_width + 1, y + CELL_HEIGHT + 1);
    }
}

/// Positions along an axis.
struct Positions {
    /// Start of each slot.
    starts: Vec<usize>,
    /// End of the last slot.
    end: usize,
    /// Length of the gap.
    gap: usize,
}

/// Positions along an axis that ends at `min_end` or later.
fn positions(slots: &[DrawnIndex], start: usize, cell: usize, min_end: usize) -> Positions {
    let length = |slot: &DrawnIndex, gap: usize| if *slot == DrawnIndex::Gap { gap } else { cell };
    let end = |gap: usize| {
        let lengths: usize = slots.iter().map(|slot| SPACE + length(slot, gap)).sum();
        start + 1 + lengths.saturating_sub(SPACE)
    };
    let gap = GAP + min_end.saturating_sub(end(GAP));
    let mut at = start + 1;
    let mut starts = Vec::new();
    for slot in slots {
        starts.push(at);
        at += SPACE + length(slot, gap);
    }
    Positions { starts, end: end(gap), gap }
}

/// Minimum length of a frame without its padding `inside`, for its dimension line.
fn length(size: &Option<String>, inside: usize) -> usize {
    size.as_ref().map_or(0, |size| size_length(size).saturating_sub(inside))
}

/// Minimum length of a dimension line.
fn size_length(size: &str) -> usize {
    width(size) * CHARACTER + 28
}

/// An index label, truncated.
fn short_index(index: usize) -> String {
    truncate_front(&index.to_string(), 6)
}

/// A label, truncated to the width of a cell.
fn cell_text(array: &DrawnArray<'_>, label: &str) -> String {
    if array.is_numbered { truncate_front(label, CELL_LENGTH) } else { truncate(label, CELL_LENGTH) }
}
