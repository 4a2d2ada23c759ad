//! Sizes that are written along shortened axes.

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
    /// Sizes along the shortened axes of a frame; `size` is the text of a dimension.
    pub(crate) fn new(frame: &Frame, size: impl Fn(usize) -> String) -> Sizes {
        if frame.is_empty() {
            return Sizes::default();
        }
        let along = |axis: usize| frame.shortened(axis).map(&size);
        let panels = |axis: usize| along(axis).map(|size| format!("{size} panels"));
        Sizes { panels_down: panels(0), panels_across: panels(1), down: along(2), across: along(3) }
    }

    /// Whether panels omit cells, which makes them blocks.
    pub(crate) fn is_block(&self) -> bool {
        self.down.is_some() || self.across.is_some()
    }

    /// The same, with the number of rows only if `shown`: once per row of panels.
    pub(crate) fn with_down(&self, shown: bool) -> Sizes {
        Sizes { down: self.down.clone().filter(|_| shown), ..self.clone() }
    }
}

/// The size in groups of three digits, if it is large.
pub(crate) fn grouped(size: usize) -> String {
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
