//! The diagram as an interactive page: tables of cells, and a script.

use crate::diagram::{BLOCKS, Caption, Diagram, DrawnArray};
use crate::layout::{self, DrawnIndex, Frame, LEVELS, Level};
use crate::palette;
use crate::size::Sizes;
use std::fmt::Write;
use unishape::text::{escape_html, truncate, truncate_front};

/// Maximum number of cells of one array, and of all arrays together.
const MAX_CELLS: usize = 200;
const MAX_TOTAL_CELLS: usize = 800;

/// Maximum number of characters in a cell.
const CELL_LENGTH: usize = 12;

/// The diagram as a standalone HTML page.
pub(crate) fn draw(diagram: &dyn Diagram) -> String {
    let headline = escape_html(&diagram.headline());
    let css = palette::rules(diagram.parts(), |[red, green, blue]| format!("--shade:{red} {green} {blue}"));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{}: {headline}</title>\n<style>\n{}{css}</style>\n</head>\n<body>\n\
         <header>\n<h1>{headline}</h1>\n<p>{}</p>\n<p class=\"soft\">{}</p>\n",
        diagram.subject(),
        include_str!("page.css"),
        escape_html(&diagram.introduction()),
        escape_html(&diagram.summary()),
    );
    let level = level(diagram);
    if let Some(why) = diagram.no_diagram_reason() {
        let _ = writeln!(page, "<p>{why}</p>");
    } else if diagram.has_cells() {
        page.push_str("<p class=\"soft\">");
        if let Some(legend) = diagram.legend() {
            let _ = write!(page, "{} ", legend.colored);
        }
        let _ = writeln!(page, "{}</p>", diagram.hint());
        if diagram.is_shortened(level) {
            let _ = writeln!(page, "<p class=\"soft\">{BLOCKS}</p>");
        }
    }
    page.push_str("</header>\n<main>\n");
    for part in 0..diagram.parts() {
        section(&mut page, diagram, part, level);
    }
    if let Some(more) = diagram.omitted_parts() {
        let _ = writeln!(page, "<p>{more}</p>");
    }
    if let Some(interaction) = diagram.interaction() {
        page.push_str(&interaction.form);
        let _ = writeln!(
            page,
            "<div id=\"answer\" role=\"status\" aria-live=\"polite\"><p>Point at a cell.</p></div>\n</main>\n\
             <script type=\"application/json\" id=\"shapes\">{}</script>\n<script>\n{}{}</script>",
            interaction.data,
            include_str!("page.js"),
            interaction.script,
        );
    } else {
        page.push_str("</main>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// The first level that limits the number of cells.
fn level(diagram: &dyn Diagram) -> Level {
    let fits = |level: &&Level| match Frame::new(diagram.largest_shape(), **level) {
        Some(frame) => frame.count() <= MAX_CELLS && frame.count() * diagram.parts() <= MAX_TOTAL_CELLS,
        None => true,
    };
    *LEVELS.iter().find(fits).unwrap_or(&LEVELS[LEVELS.len() - 1])
}

/// One part: its arrays and their description.
fn section(page: &mut String, diagram: &dyn Diagram, part: usize, level: Level) {
    let name = diagram.name(part).map(|name| format!(" <span class=\"name\">{}</span>", escape_html(name)));
    let _ = writeln!(
        page,
        "<section class=\"input a{part}\" aria-labelledby=\"input{part}\">\n<h2 id=\"input{part}\">{}{}</h2>",
        diagram.heading(part),
        name.unwrap_or_default()
    );
    match diagram.arrays(part, level) {
        Some(arrays) => {
            page.push_str("<div class=\"stages\">\n");
            let steps = diagram.steps(part);
            for (at, (array, caption)) in arrays.iter().zip(diagram.captions(part)).enumerate() {
                if at > 0 {
                    let how = &steps[at - 1];
                    let _ = writeln!(
                        page,
                        "<div class=\"next\">\n<p class=\"step\"><b>step {at}</b><span class=\"arrow\" aria-hidden=\"true\"></span>\
                         <span>{how}</span></p>"
                    );
                }
                Drawn { array }.figure(page, &caption);
                if at > 0 {
                    page.push_str("</div>\n");
                }
            }
            page.push_str("</div>\n<ul class=\"dimensions\">\n");
            for line in diagram.lines(part) {
                let _ = writeln!(page, "<li>{}</li>", escape_html(&line));
            }
            page.push_str("</ul>\n");
        }
        None => table(page, diagram, part),
    }
    let _ = writeln!(
        page,
        "<p class=\"map\">{}</p>\n<p class=\"soft\">{}</p>\n</section>",
        diagram.map(part),
        diagram.reads(part)
    );
}

/// A table of dimensions, where the rank is too large for a diagram.
fn table(page: &mut String, diagram: &dyn Diagram, part: usize) {
    page.push_str("<div class=\"scroll\"><table class=\"sizes\">\n");
    for (at, row) in diagram.table(part).iter().enumerate() {
        let cell = if at == 0 { "th scope=\"col\"" } else { "td" };
        page.push_str("<tr>");
        for text in row {
            let _ = write!(page, "<{cell}>{}</{}>", escape_html(text), &cell[..2]);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

/// One array, to be drawn.
struct Drawn<'a> {
    array: &'a DrawnArray<'a>,
}

impl Drawn<'_> {
    fn figure(&self, page: &mut String, caption: &Caption) {
        let name = &caption.name;
        let _ = write!(page, "<figure class=\"stage\">\n<figcaption>{name} <span class=\"shape\">");
        for (dim, (size, marked)) in caption.sizes.iter().zip(&caption.marked).enumerate() {
            let (times, size) = (if dim > 0 { "×" } else { "" }, escape_html(size));
            let _ = match marked {
                true => write!(page, "{times}<b class=\"added\" title=\"{}\">{size}</b>", caption.mark[1]),
                false => write!(page, "{times}{size}"),
            };
        }
        if caption.sizes.is_empty() {
            page.push_str("()");
        }
        page.push_str("</span></figcaption>\n<div class=\"scroll\">\n");
        if self.array.frame.is_empty() {
            page.push_str("<p class=\"empty\">empty</p>\n");
        }
        let (across, down) = (&self.array.sizes.panels_across, &self.array.sizes.panels_down);
        let wraps = if self.array.frame.panel_rows().len() == 1 { " wraps" } else { "" };
        let is_sized = across.is_some() || down.is_some();
        if is_sized {
            let _ = writeln!(page, "<div class=\"sized{wraps}\">");
            size_lines(page, across, down);
            page.push_str("<div>\n");
        }
        let mut is_first = true;
        for &row in self.array.frame.panel_rows() {
            let DrawnIndex::At(row) = row else {
                page.push_str("<p class=\"gap\" aria-hidden=\"true\">⋮</p>\n");
                continue;
            };
            let _ = writeln!(page, "<div class=\"panels{wraps}\">");
            for (at, &column) in self.array.frame.panel_columns().iter().enumerate() {
                match column {
                    DrawnIndex::At(column) if !self.array.frame.is_empty() => {
                        // The number of rows is written before the first panel.
                        self.sized_panel(
                            page,
                            [row, column],
                            &self.array.sizes.with_down(at == 0),
                            &mut is_first,
                        );
                    }
                    DrawnIndex::At(_) => {}
                    DrawnIndex::Gap => page.push_str("<p class=\"gap\" aria-hidden=\"true\">⋯</p>\n"),
                }
            }
            page.push_str("</div>\n");
        }
        if is_sized {
            page.push_str("</div>\n</div>\n");
        }
        page.push_str("</div>\n</figure>\n");
    }

    /// One panel. A panel that omits cells has a frame and dimension lines.
    fn sized_panel(&self, page: &mut String, place: [usize; 2], sizes: &Sizes, is_first: &mut bool) {
        if !self.array.sizes.is_block() {
            return self.panel(page, place, is_first);
        }
        page.push_str("<div class=\"sized\">\n");
        if let Some(label) = self.array.frame.panel_label(place[0], place[1]) {
            let _ = writeln!(page, "<p class=\"which\" aria-hidden=\"true\">{label}</p>");
        }
        size_lines(page, &sizes.across, &sizes.down);
        self.panel(page, place, is_first);
        page.push_str("</div>\n");
    }

    fn panel(&self, page: &mut String, [row, column]: [usize; 2], is_first: &mut bool) {
        let label = self.array.frame.panel_label(row, column).unwrap_or_default();
        let is_block = self.array.sizes.is_block();
        let frame = if is_block { format!(" frame k{}", layout::SHADES - 1) } else { String::new() };
        let _ = writeln!(
            page,
            "<table role=\"grid\" class=\"panel{frame}\" aria-label=\"{}{label}\">",
            self.array.name
        );
        // The label of a block is above its dimension line.
        if !label.is_empty() && !is_block {
            let _ = writeln!(page, "<caption>{label}</caption>");
        }
        if self.array.frame.has_columns() {
            page.push_str("<tr aria-hidden=\"true\">");
            if self.array.frame.has_rows() {
                page.push_str("<td></td>");
            }
            for &slot in self.array.frame.columns() {
                index_label(page, slot);
            }
            page.push_str("</tr>\n");
        }
        for &down in self.array.frame.rows() {
            page.push_str("<tr>");
            if self.array.frame.has_rows() {
                index_label(page, down);
            }
            for &across in self.array.frame.columns() {
                match (down, across) {
                    (DrawnIndex::At(i), DrawnIndex::At(j)) => self.cell(page, [row, column, i, j], is_first),
                    (DrawnIndex::At(_), DrawnIndex::Gap) => {
                        page.push_str("<td class=\"gap\" aria-hidden=\"true\">⋯</td>")
                    }
                    (DrawnIndex::Gap, DrawnIndex::At(_)) => {
                        page.push_str("<td class=\"gap\" aria-hidden=\"true\">⋮</td>")
                    }
                    (DrawnIndex::Gap, DrawnIndex::Gap) => page.push_str("<td aria-hidden=\"true\"></td>"),
                }
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
    }

    /// One cell. The first of an array is a tab stop; arrow keys reach the others.
    fn cell(&self, page: &mut String, place: [usize; 4], is_first: &mut bool) {
        let cell = self.array.cell(place);
        let index = cell.index.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let name = &self.array.name;
        let _ = write!(
            page,
            "<td role=\"gridcell\" class=\"cell k{}{}\" tabindex=\"{}\" data-of=\"{name}\" \
             data-index=\"{index}\" aria-label=\"{name}[{index}]: {}{}\">{}</td>",
            self.array.shade(&cell),
            if cell.original { "" } else { " again" },
            if std::mem::take(is_first) { "0" } else { "-1" },
            escape_html(&cell.label),
            if cell.original { "" } else { ", repeated" },
            escape_html(&cell_text(self.array, &cell.label)),
        );
    }
}

/// Sizes along shortened axes, hidden from screen readers: the sentences repeat them.
fn size_lines(page: &mut String, across: &Option<String>, down: &Option<String>) {
    for (class, size) in [("across", across), ("down", down)] {
        if let Some(size) = size {
            let _ =
                writeln!(page, "<p class=\"size {class}\" aria-hidden=\"true\">{}</p>", escape_html(size));
        }
    }
}

/// An index label, truncated.
fn index_label(page: &mut String, slot: DrawnIndex) {
    let _ = match slot {
        DrawnIndex::At(index) => write!(
            page,
            "<td class=\"at\" aria-hidden=\"true\">{}</td>",
            truncate_front(&index.to_string(), CELL_LENGTH)
        ),
        DrawnIndex::Gap => write!(page, "<td></td>"),
    };
}

/// A label, truncated to the width of a cell.
fn cell_text(array: &DrawnArray<'_>, label: &str) -> String {
    if array.is_numbered { truncate_front(label, CELL_LENGTH) } else { truncate(label, CELL_LENGTH) }
}
