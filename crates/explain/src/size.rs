//! Sizes that are written along shortened axes.

use crate::explanation::{Explanation, Form, Input};
use crate::layout::Frame;

/// Smallest size whose digits are grouped.
const MIN_GROUPED: usize = 10_000;

/// Separator of digit groups: narrow no-break space.
pub(crate) const THIN_SPACE: char = '\u{202f}';

/// The size along each axis; `None` where every index is drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// Along the rows of panels.
    pub(crate) panels_down: Option<String>,
    /// Along the panels of a row.
    pub(crate) panels_across: Option<String>,
    /// Along the rows of a panel.
    pub(crate) down: Option<String>,
    /// Along the cells of a row.
    pub(crate) across: Option<String>,
}

impl Sizes {
    /// Whether panels omit cells, which makes them blocks.
    pub(crate) fn is_block(&self) -> bool {
        self.down.is_some() || self.across.is_some()
    }

    /// The same, with the number of rows only if `shown`: once per row of panels.
    pub(crate) fn with_down(&self, shown: bool) -> Sizes {
        Sizes { down: self.down.clone().filter(|_| shown), ..self.clone() }
    }
}

impl Explanation {
    /// Sizes along shortened axes: `500`, or `1 → 500` where a 1 is stretched.
    pub(crate) fn sizes(&self, input: &Input, form: Form, frame: &Frame) -> Sizes {
        if frame.is_empty() {
            return Sizes::default();
        }
        let before = self.form_shape(input, Form::Y);
        let shape = self.form_shape(input, form);
        let size = |axis: usize| {
            let dim = frame.shortened(axis)?;
            let size = grouped(*shape.get(dim)?);
            // Only Z has stretched dimensions; it has the rank of Y.
            let is_stretched = form == Form::Z && before.get(dim) != shape.get(dim);
            Some(if is_stretched { format!("1 → {size}") } else { size })
        };
        let panels = |axis: usize| size(axis).map(|size| format!("{size} panels"));
        Sizes { panels_down: panels(0), panels_across: panels(1), down: size(2), across: size(3) }
    }

    /// Whether the diagram omits cells at a level.
    pub(crate) fn is_shortened(&self, level: crate::layout::Level) -> bool {
        Frame::new(&self.shape, level).is_some_and(|frame| (0..4).any(|axis| frame.shortened(axis).is_some()))
    }
}

/// The size in groups of three digits, if it is large.
fn grouped(size: usize) -> String {
    let digits = size.to_string();
    if size < MIN_GROUPED {
        return digits;
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(THIN_SPACE);
        }
        text.push(digit);
    }
    text
}
