//! The diagram of broadcasting: X, Y and Z of every input, and the three formats.

use crate::diagram::{Caption, Diagram, DrawnArray, Interaction, Legend};
use crate::explanation::{Explanation, Form, Input};
use crate::layout::{Frame, Level};
use crate::size::{Sizes, grouped};
use crate::words::{Line, STEPS};
use crate::{html, svg, text};
use std::fmt::Write;

/// Largest rank for which the page has a form for an index.
const MAX_FIELDS: usize = 64;

impl Explanation {
    /// The diagram for a terminal of `width` columns, in ANSI colors if `color`.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let explanation = Explanation::new(Rules::STANDARD, &[[2, 1], [1, 3]])?;
    /// assert!(explanation.text(false, 80).contains("│ 1 │ 1 ┊ 1 ┊"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    pub fn text(&self, color: bool, width: usize) -> String {
        text::draw(self, color, width)
    }

    /// The diagram as a standalone SVG file.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let svg = Explanation::new(Rules::STANDARD, &[[2, 1], [1, 3]])?.svg();
    /// assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

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
        html::draw(self)
    }
}

impl Diagram for Explanation {
    fn subject(&self) -> &'static str {
        "Broadcasting"
    }

    fn headline(&self) -> String {
        Explanation::headline(self)
    }

    fn introduction(&self) -> String {
        STEPS.into()
    }

    fn summary(&self) -> String {
        Explanation::summary(self)
    }

    fn legend(&self) -> Option<Legend> {
        self.repeats().then_some(Legend {
            plain: "Dashed cells repeat an element that stands elsewhere.",
            colored: "One colour is one element. Pale, dashed cells repeat an element that stands elsewhere.",
        })
    }

    fn hint(&self) -> &'static str {
        "Point at a cell to see where it comes from, or tab to one and use the arrow keys."
    }

    fn largest_shape(&self) -> &[usize] {
        &self.shape
    }

    fn parts(&self) -> usize {
        self.inputs.len()
    }

    fn heading(&self, part: usize) -> String {
        format!("Input {part}")
    }

    fn name(&self, part: usize) -> Option<&str> {
        self.inputs[part].name.as_deref()
    }

    fn captions(&self, part: usize) -> [Caption; 3] {
        let input = &self.inputs[part];
        Form::ALL.map(|form| {
            let (shape, sizes) = (self.form_text(input, form), self.form_sizes(input, form));
            let added = if form == Form::Y { self.added(input) } else { 0 };
            let marked = (0..sizes.len()).map(|dim| dim < added).collect();
            Caption { name: name(form, part), shape, sizes, marked, mark: ["added", "added by step 1"] }
        })
    }

    fn arrays(&self, part: usize, level: Level) -> Option<[DrawnArray<'_>; 3]> {
        let input = &self.inputs[part];
        let frames = self.frames(input, level)?;
        let shades = frames[0].clone();
        let forms = Form::ALL.into_iter().zip(frames).map(|(form, frame)| DrawnArray {
            name: name(form, part),
            part,
            sizes: self.sizes(input, form, &frame),
            frame,
            is_numbered: input.is_numbered(),
            shades: shades.clone(),
            cell: Box::new(move |index| self.cell(input, form, index)),
        });
        forms.collect::<Vec<_>>().try_into().ok()
    }

    fn steps(&self, part: usize) -> [String; 2] {
        Explanation::steps(self, &self.inputs[part]).map(Into::into)
    }

    fn lines(&self, part: usize) -> Vec<String> {
        let text = |line: Line| match line {
            Line::Dimension(dimension) => format!("dimension {}: {}", dimension.dim, dimension.description()),
            Line::More(more) => format!("⋮ {more} more"),
        };
        Explanation::lines(self, part).into_iter().map(text).collect()
    }

    fn table(&self, part: usize) -> Vec<[String; 5]> {
        Explanation::table(self, part)
    }

    fn map(&self, part: usize) -> String {
        Explanation::map(self, part)
    }

    fn reads(&self, part: usize) -> String {
        Explanation::reads(self, part)
    }

    fn omitted_parts(&self) -> Option<String> {
        self.omitted_inputs()
    }

    fn interaction(&self) -> Option<Interaction> {
        let has_form = self.shape.len() <= MAX_FIELDS && !self.inputs.is_empty();
        (has_form && !self.shape.contains(&0)).then(|| Interaction {
            form: index_form(&self.shape),
            data: shapes_json(self),
            script: include_str!("broadcast.js"),
        })
    }
}

/// `X0`, `Y0`, `Z0`.
fn name(form: Form, part: usize) -> String {
    format!("{}{part}", form.letter())
}

impl Explanation {
    /// Sizes along shortened axes: `500`, or `1 → 500` where a 1 is stretched.
    fn sizes(&self, input: &Input, form: Form, frame: &Frame) -> Sizes {
        let before = self.form_shape(input, Form::Y);
        let shape = self.form_shape(input, form);
        Sizes::new(frame, |dim| {
            let size = self.size_or_name(input, form, dim, || grouped(shape[dim]));
            // Only Z has stretched dimensions; it has the rank of Y.
            let is_stretched = form == Form::Z && before[dim] != shape[dim];
            if is_stretched { format!("1 → {size}") } else { size }
        })
    }
}

/// The form for an index.
fn index_form(shape: &[usize]) -> String {
    let mut form =
        String::from("<form id=\"ask\" autocomplete=\"off\">\n<h2>Where does an element come from?</h2>\n");
    if shape.is_empty() {
        form.push_str("<p>There is but one element, and its index is empty.</p>\n");
    }
    form.push_str("<div class=\"fields\">\n");
    for (dim, &size) in shape.iter().enumerate() {
        let _ = writeln!(
            form,
            "<label>dimension {dim}<input inputmode=\"numeric\" value=\"0\" size=\"{}\" data-dim=\"{dim}\">\
             <small>0 to {}</small></label>",
            size.to_string().len().max(4),
            size.saturating_sub(1),
        );
    }
    form.push_str("<button>Show</button>\n</div>\n</form>\n");
    form
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
