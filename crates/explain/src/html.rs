//! The diagram as an interactive page: tables of cells, and a script.

use crate::explanation::{Explanation, Form, Input};
use crate::layout::{self, DrawnIndex, Frame, LEVELS, Level};
use crate::palette;
use crate::size::Sizes;
use crate::words::{BLOCKS, Line, STEPS};
use std::fmt::Write;
use unishape::text::{escape_html, truncate, truncate_front};

/// Maximum number of cells of one array, and of all arrays together.
const MAX_CELLS: usize = 200;
const MAX_TOTAL_CELLS: usize = 800;

/// Maximum number of characters in a cell.
const CELL_LENGTH: usize = 12;

/// Largest rank for which the page has a form for an index.
const MAX_FIELDS: usize = 64;

impl Explanation {
    /// The diagram as a standalone HTML page whose cells show their source.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let page = Explanation::new(Rules::STANDARD, &[[2, 1], [1, 3]])?.html();
    /// assert!(page.starts_with("<!DOCTYPE html>"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    pub fn html(&self) -> String {
        let headline = escape_html(&self.headline());
        let css =
            palette::rules(self.inputs.len(), |[red, green, blue]| format!("--shade:{red} {green} {blue}"));
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>Broadcasting: {headline}</title>\n<style>\n{}{css}</style>\n</head>\n<body>\n\
             <header>\n<h1>{headline}</h1>\n<p>{STEPS}</p>\n<p class=\"soft\">{}</p>\n",
            include_str!("page.css"),
            escape_html(&self.summary()),
        );
        let level = level(self);
        if let Some(why) = self.no_diagram_reason() {
            let _ = writeln!(page, "<p>{why}</p>");
        } else if !self.inputs.is_empty() && !self.shape.contains(&0) {
            page.push_str("<p class=\"soft\">");
            if self.repeats() {
                page.push_str(
                    "One colour is one element; pale, dashed cells repeat an element that stands elsewhere. ",
                );
            }
            page.push_str(
                "Point at a cell to see where it comes from, or tab to one and use the arrow keys.</p>\n",
            );
            if self.is_shortened(level) {
                let _ = writeln!(page, "<p class=\"soft\">{BLOCKS}</p>");
            }
        }
        page.push_str("</header>\n<main>\n");
        for m in 0..self.inputs.len() {
            input_section(&mut page, self, m, level);
        }
        if let Some(more) = self.omitted_inputs() {
            let _ = writeln!(page, "<p>{more}</p>");
        }
        let has_form = self.shape.len() <= MAX_FIELDS && !self.inputs.is_empty();
        if has_form && !self.shape.contains(&0) {
            index_form(&mut page, self);
            page.push_str("</main>\n");
            let _ = writeln!(
                page,
                "<script type=\"application/json\" id=\"shapes\">{}</script>\n<script>\n{}</script>",
                shapes_json(self),
                include_str!("page.js"),
            );
        } else {
            page.push_str("</main>\n");
        }
        page.push_str("</body>\n</html>\n");
        page
    }
}

/// The first level that limits the number of cells.
fn level(explanation: &Explanation) -> Level {
    let fits = |level: &&Level| match Frame::new(&explanation.shape, **level) {
        Some(frame) => {
            frame.count() <= MAX_CELLS && frame.count() * explanation.inputs.len() <= MAX_TOTAL_CELLS
        }
        None => true,
    };
    *LEVELS.iter().find(fits).unwrap_or(&LEVELS[LEVELS.len() - 1])
}

/// One input: its forms and their description.
fn input_section(page: &mut String, explanation: &Explanation, m: usize, level: Level) {
    let input = &explanation.inputs[m];
    let name =
        input.name.as_deref().map(|name| format!(" <span class=\"name\">{}</span>", escape_html(name)));
    let _ = writeln!(
        page,
        "<section class=\"input a{m}\" aria-labelledby=\"input{m}\">\n<h2 id=\"input{m}\">Input {m}{}</h2>",
        name.unwrap_or_default()
    );
    match explanation.frames(input, level) {
        Some(frames) => {
            page.push_str("<div class=\"stages\">\n");
            let [first, second] = explanation.steps(input);
            for (at, form) in Form::ALL.into_iter().enumerate() {
                if at > 0 {
                    let how = if at == 1 { first } else { second };
                    let _ = writeln!(
                        page,
                        "<div class=\"next\">\n<p class=\"step\"><b>step {at}</b><span class=\"arrow\" aria-hidden=\"true\"></span>\
                         <span>{how}</span></p>"
                    );
                }
                let sizes = explanation.sizes(input, form, &frames[at]);
                Drawn { explanation, m, form, frame: &frames[at], x: &frames[0], sizes }.figure(page);
                if at > 0 {
                    page.push_str("</div>\n");
                }
            }
            page.push_str("</div>\n<ul class=\"dimensions\">\n");
            for line in explanation.lines(m) {
                if let Line::Dimension(dimension) = line {
                    let _ =
                        writeln!(page, "<li>dimension {}: {}</li>", dimension.dim, dimension.description());
                }
            }
            page.push_str("</ul>\n");
        }
        None => table(page, explanation, m),
    }
    let _ = writeln!(
        page,
        "<p class=\"map\">{}</p>\n<p class=\"soft\">{}</p>\n</section>",
        explanation.map(m),
        explanation.reads(m)
    );
}

/// A table of dimensions, where the rank is too large for a diagram.
fn table(page: &mut String, explanation: &Explanation, m: usize) {
    page.push_str("<div class=\"scroll\"><table class=\"sizes\">\n");
    for (at, row) in explanation.table(m).iter().enumerate() {
        let cell = if at == 0 { "th scope=\"col\"" } else { "td" };
        page.push_str("<tr>");
        for text in row {
            let _ = write!(page, "<{cell}>{text}</{}>", &cell[..2]);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

/// The form for an index, and the element that shows the answer.
fn index_form(page: &mut String, explanation: &Explanation) {
    page.push_str("<form id=\"ask\" autocomplete=\"off\">\n<h2>Where does an element come from?</h2>\n");
    if explanation.shape.is_empty() {
        page.push_str("<p>There is but one element, and its index is empty.</p>\n");
    }
    page.push_str("<div class=\"fields\">\n");
    for (dim, &size) in explanation.shape.iter().enumerate() {
        let _ = writeln!(
            page,
            "<label>dimension {dim}<input inputmode=\"numeric\" value=\"0\" size=\"{}\" data-dim=\"{dim}\">\
             <small>0 to {}</small></label>",
            size.to_string().len().max(4),
            size.saturating_sub(1),
        );
    }
    page.push_str(
        "<button>Show</button>\n</div>\n</form>\n\
         <div id=\"answer\" role=\"status\" aria-live=\"polite\"><p>Point at a cell.</p></div>\n",
    );
}

/// The shapes as JSON.
///
/// Sizes are strings, since JavaScript numbers are exact only up to 2⁵³.
fn shapes_json(explanation: &Explanation) -> String {
    let list = |shape: &[usize]| {
        let sizes: Vec<String> = shape.iter().map(|size| format!("\"{size}\"")).collect();
        format!("[{}]", sizes.join(","))
    };
    let inputs: Vec<String> = explanation.inputs.iter().map(|input| list(&input.shape)).collect();
    format!("{{\"z\":{},\"x\":[{}]}}", list(&explanation.shape), inputs.join(","))
}

/// One form of an input, to be drawn.
struct Drawn<'a> {
    explanation: &'a Explanation,
    m: usize,
    form: Form,
    frame: &'a Frame,
    /// The frame of X, which determines the shades.
    x: &'a Frame,
    sizes: Sizes,
}

impl Drawn<'_> {
    fn figure(&self, page: &mut String) {
        let (letter, m) = (self.form.letter(), self.m);
        let _ = write!(page, "<figure class=\"stage\">\n<figcaption>{letter}{m} <span class=\"shape\">");
        let input = &self.explanation.inputs[m];
        let shape = self.explanation.form_shape(input, self.form);
        let added = if self.form == Form::Y { self.explanation.added(input) } else { 0 };
        for (dim, size) in shape.iter().enumerate() {
            let times = if dim > 0 { "×" } else { "" };
            let _ = match dim < added {
                true => write!(page, "{times}<b class=\"added\" title=\"added by step 1\">{size}</b>"),
                false => write!(page, "{times}{size}"),
            };
        }
        if shape.is_empty() {
            page.push_str("()");
        }
        page.push_str("</span></figcaption>\n<div class=\"scroll\">\n");
        if self.frame.is_empty() {
            page.push_str("<p class=\"empty\">empty</p>\n");
        }
        let (across, down) = (&self.sizes.panels_across, &self.sizes.panels_down);
        let wraps = if self.frame.panel_rows().len() == 1 { " wraps" } else { "" };
        let is_sized = across.is_some() || down.is_some();
        if is_sized {
            let _ = writeln!(page, "<div class=\"sized{wraps}\">");
            size_lines(page, across, down);
            page.push_str("<div>\n");
        }
        let mut is_first = true;
        for &row in self.frame.panel_rows() {
            let DrawnIndex::At(row) = row else {
                page.push_str("<p class=\"gap\" aria-hidden=\"true\">⋮</p>\n");
                continue;
            };
            let _ = writeln!(page, "<div class=\"panels{wraps}\">");
            for (at, &column) in self.frame.panel_columns().iter().enumerate() {
                match column {
                    DrawnIndex::At(column) if !self.frame.is_empty() => {
                        // The number of rows is written before the first panel.
                        self.sized_panel(page, [row, column], &self.sizes.with_down(at == 0), &mut is_first);
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
        if !self.sizes.is_block() {
            return self.panel(page, place, is_first);
        }
        page.push_str("<div class=\"sized\">\n");
        if let Some(label) = self.frame.panel_label(place[0], place[1]) {
            let _ = writeln!(page, "<p class=\"which\" aria-hidden=\"true\">{label}</p>");
        }
        size_lines(page, &sizes.across, &sizes.down);
        self.panel(page, place, is_first);
        page.push_str("</div>\n");
    }

    fn panel(&self, page: &mut String, [row, column]: [usize; 2], is_first: &mut bool) {
        let label = self.frame.panel_label(row, column).unwrap_or_default();
        let is_block = self.sizes.is_block();
        let frame = if is_block { format!(" frame k{}", layout::SHADES - 1) } else { String::new() };
        let _ = writeln!(
            page,
            "<table role=\"grid\" class=\"panel{frame}\" aria-label=\"{}{}{label}\">",
            self.form.letter(),
            self.m
        );
        // The label of a block is above its dimension line.
        if !label.is_empty() && !is_block {
            let _ = writeln!(page, "<caption>{label}</caption>");
        }
        if self.frame.has_columns() {
            page.push_str("<tr aria-hidden=\"true\">");
            if self.frame.has_rows() {
                page.push_str("<td></td>");
            }
            for &slot in self.frame.columns() {
                index_label(page, slot);
            }
            page.push_str("</tr>\n");
        }
        for &down in self.frame.rows() {
            page.push_str("<tr>");
            if self.frame.has_rows() {
                index_label(page, down);
            }
            for &across in self.frame.columns() {
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
        let input = &self.explanation.inputs[self.m];
        let cell = self.explanation.cell(input, self.form, self.frame.index(place));
        let index = cell.index.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let (letter, m) = (self.form.letter(), self.m);
        let _ = write!(
            page,
            "<td role=\"gridcell\" class=\"cell k{}{}\" tabindex=\"{}\" data-of=\"{letter}{m}\" \
             data-index=\"{index}\" aria-label=\"{letter}{m}[{index}]: {}{}\">{}</td>",
            layout::shade(self.x, &cell.source),
            if cell.original { "" } else { " again" },
            if std::mem::take(is_first) { "0" } else { "-1" },
            escape_html(&cell.label),
            if cell.original { "" } else { ", repeated" },
            escape_html(&cell_text(input, &cell.label)),
        );
    }
}

/// Sizes along shortened axes, hidden from screen readers: the sentences repeat them.
fn size_lines(page: &mut String, across: &Option<String>, down: &Option<String>) {
    for (class, size) in [("across", across), ("down", down)] {
        if let Some(size) = size {
            let _ = writeln!(page, "<p class=\"size {class}\" aria-hidden=\"true\">{size}</p>");
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
fn cell_text(input: &Input, label: &str) -> String {
    if input.is_numbered() { truncate_front(label, CELL_LENGTH) } else { truncate(label, CELL_LENGTH) }
}
