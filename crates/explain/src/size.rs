//! The sizes that are written along what is not drawn whole.

use crate::layout::Frame;
use crate::{Explanation, Input, Stage};

/// Sizes of fewer digits are written in one.
const LEAST_GROUPED: usize = 10_000;

/// Between groups of digits: narrow, and no place to break a line.
pub(crate) const THIN_SPACE: char = '\u{202f}';

/// What stands along each axis; nothing along an axis of which every index is drawn.
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
    /// Whether panels leave cells out and are blocks therefore.
    pub(crate) fn is_block(&self) -> bool {
        self.down.is_some() || self.across.is_some()
    }

    /// The same for a panel that does not stand at the end of its row where the size of the rows is
    /// written: once a row is enough.
    pub(crate) fn at_end(&self, is_end: bool) -> Sizes {
        Sizes { down: self.down.clone().filter(|_| is_end), ..self.clone() }
    }
}

impl Explanation {
    /// The sizes along what a frame does not draw whole: `500`, or `1 → 500` where a 1 is stretched.
    pub(crate) fn sizes(&self, input: &Input, stage: Stage, frame: &Frame) -> Sizes {
        if frame.is_empty() {
            return Sizes::default();
        }
        let before = self.stage_shape(input, Stage::Y);
        let shape = self.stage_shape(input, stage);
        let size = |axis: usize| {
            let dim = frame.shortened(axis)?;
            let size = grouped(*shape.get(dim)?);
            // Only Z has dimensions that were stretched, and Y as many.
            let is_stretched = stage == Stage::Z && before.get(dim) != shape.get(dim);
            Some(if is_stretched { format!("1 → {size}") } else { size })
        };
        let panels = |axis: usize| size(axis).map(|size| format!("{size} panels"));
        Sizes { panels_down: panels(0), panels_across: panels(1), down: size(2), across: size(3) }
    }

    /// Whether an output is drawn in part only.
    pub(crate) fn is_shortened(&self, level: crate::layout::Level) -> bool {
        Frame::new(&self.shape, level).is_some_and(|frame| (0..4).any(|axis| frame.shortened(axis).is_some()))
    }
}

/// A size in groups of three digits, if it is long.
fn grouped(size: usize) -> String {
    let digits = size.to_string();
    if size < LEAST_GROUPED {
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
