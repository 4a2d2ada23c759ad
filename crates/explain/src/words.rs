//! Sentences of the diagrams, the same in every format.

use crate::explanation::{Explanation, Form, Input};
use unishape_core::{element_count, index_map};

/// Of more dimensions than this …
pub(crate) const MAX_LINES: usize = 16;
/// … only this many at each end are written.
pub(crate) const END_LINES: usize = 6;

/// Letters of indices; larger ranks use `i0`, `i1`, ….
pub(crate) const LETTERS: [&str; 4] = ["i", "j", "k", "l"];

/// Broadcasting in two sentences.
pub(crate) const STEPS: &str = "Step 1 lines the shapes up on the right and completes the shorter ones \
    with 1s on the left. Step 2 stretches a 1 to the size that the others have there: all its indices \
    read the same element.";

/// How one dimension of an input is broadcast.
pub(crate) struct Dimension {
    /// Its number in the common shape.
    pub(crate) dim: usize,
    /// Its size in X, if X has it.
    pub(crate) x: Option<usize>,
    /// Its size in Y.
    pub(crate) y: usize,
    /// Its size in Z.
    pub(crate) z: usize,
    /// Its size or name in Y and in Z.
    pub(crate) texts: [String; 2],
}

impl Dimension {
    /// The size in X as text.
    pub(crate) fn x_text(&self) -> String {
        if self.x.is_some() { self.texts[0].clone() } else { "–".into() }
    }

    /// Which index of the input is read.
    fn effect(&self) -> &'static str {
        match (self.y, self.z) {
            (_, 0) => "there is no index",
            (1, 1) => "the only index reads 0",
            (y, z) if y == z => "every index reads itself",
            _ => "every index reads 0",
        }
    }

    /// Description for a table that has the sizes.
    pub(crate) fn description_without_sizes(&self) -> String {
        let added = if self.x.is_none() { "added by step 1, " } else { "" };
        format!("{added}{}", self.effect())
    }

    /// Description with sizes.
    pub(crate) fn description(&self) -> String {
        let added = if self.x.is_none() { "added by step 1: " } else { "" };
        let effect = self.effect();
        let [y, z] = &self.texts;
        match self.y == self.z {
            true => format!("{added}{y}, {effect}"),
            false => format!("{added}{y} → {z}, {effect}"),
        }
    }
}

/// A line about dimensions.
pub(crate) enum Line {
    /// One dimension.
    Dimension(Dimension),
    /// Number of omitted dimensions.
    More(usize),
}

impl Explanation {
    /// Whether an output reads an element more than once.
    pub(crate) fn repeats(&self) -> bool {
        let rank = self.shape.len();
        let stretched =
            |input: &Input, dim: usize| unishape_core::padded_dim(&input.shape, rank, dim) != self.shape[dim];
        let wide = (0..rank).filter(|&dim| self.shape[dim] > 1);
        !self.shape.contains(&0)
            && wide.into_iter().any(|dim| self.inputs.iter().any(|input| stretched(input, dim)))
    }

    /// `3x1 with 4 gives 3x4`.
    pub(crate) fn headline(&self) -> String {
        let mut shapes: Vec<String> =
            self.inputs.iter().map(|input| self.form_text(input, Form::X)).collect();
        if self.omitted > 0 {
            shapes.push(format!("{} more", self.omitted));
        }
        let common = self.result_text();
        match shapes.as_slice() {
            [] => format!("no input gives {common}"),
            [only] => format!("{only} alone gives {common}"),
            [first, rest @ ..] => format!("{first} with {} gives {common}", join(rest)),
        }
    }

    /// Number of elements of the outputs.
    pub(crate) fn summary(&self) -> String {
        if self.inputs.is_empty() {
            return "With no input there is no output.".into();
        }
        let count = match element_count(&self.shape) {
            Ok(0) => "Every output is empty: a size of 0 leaves no element.".into(),
            Ok(1) => "Every output has 1 element.".into(),
            Ok(count) => format!("Every output has {count} elements."),
            Err(_) => "Every output has more elements than this machine can count.".into(),
        };
        let drawn = self.drawn_sizes().map(|sizes| format!("{sizes} ")).unwrap_or_default();
        format!("{drawn}{count} No element is copied: an output is another way to read its input.")
    }

    /// How often an output reads the elements of its input.
    pub(crate) fn reads(&self, m: usize) -> String {
        let input = &self.inputs[m];
        let y = self.form_shape(input, Form::Y);
        let stretched: Vec<usize> =
            self.shape.iter().zip(y).filter(|&(&z, y)| z != y).map(|(&z, _)| z).collect();
        let elements = |shape: &[usize]| match element_count(shape) {
            Ok(1) => "1 element".into(),
            Ok(count) => format!("{count} elements"),
            Err(_) => "more elements than can be counted".to_string(),
        };
        let (x, z) = (elements(&input.shape), elements(&self.shape));
        match element_count(&stretched) {
            _ if self.shape.contains(&0) => format!("X{m} has {x}, Z{m} has none."),
            Ok(1) => format!("X{m} has {x}, Z{m} as many: each is read once."),
            Ok(times) => format!("X{m} has {x}, Z{m} has {z}: each of X{m} is read {times} times."),
            Err(_) => format!("X{m} has {x}, Z{m} has {z}."),
        }
    }

    /// How the dimensions of an input are broadcast.
    pub(crate) fn lines(&self, m: usize) -> Vec<Line> {
        let input = &self.inputs[m];
        let (rank, added) = (self.shape.len(), self.added(input));
        let y = self.form_shape(input, Form::Y);
        let line = |dim: usize| {
            let x = (dim >= added).then(|| y[dim]);
            let (y, z) = (y[dim], self.shape[dim]);
            let text = |form, size: usize| self.size_or_name(input, form, dim, || size.to_string());
            Line::Dimension(Dimension { dim, x, y, z, texts: [text(Form::Y, y), text(Form::Z, z)] })
        };
        if rank <= MAX_LINES {
            return (0..rank).map(line).collect();
        }
        let mut lines: Vec<Line> = (0..END_LINES).map(line).collect();
        lines.push(Line::More(rank - 2 * END_LINES));
        lines.extend((rank - END_LINES..rank).map(line));
        lines
    }

    /// Rows of a table of the dimensions of an input, its header first.
    pub(crate) fn table(&self, m: usize) -> Vec<[String; 5]> {
        let head = ["dimension".into(), format!("X{m}"), format!("Y{m}"), format!("Z{m}"), String::new()];
        let row = |line: Line| match line {
            Line::Dimension(d) => [
                d.dim.to_string(),
                d.x_text(),
                d.texts[0].clone(),
                d.texts[1].clone(),
                d.description_without_sizes(),
            ],
            Line::More(more) => ["⋮".into(), "⋮".into(), "⋮".into(), "⋮".into(), format!("{more} more")],
        };
        [head].into_iter().chain(self.lines(m).into_iter().map(row)).collect()
    }

    /// `Z0[i,j] = Y0[i,0] = X0[i,0]`.
    pub(crate) fn map(&self, m: usize) -> String {
        let input = &self.inputs[m];
        let (rank, added) = (self.shape.len(), self.added(input));
        if self.shape.contains(&0) {
            return format!("Z{m} has no element, so nothing is read.");
        }
        let y = self.form_shape(input, Form::Y);
        let z_index = |dim: usize| match LETTERS.get(dim) {
            Some(letter) if rank <= LETTERS.len() => (*letter).into(),
            _ => format!("i{dim}"),
        };
        // f(1, B, C) is 1 where the dimension keeps its index and 0 where it does not.
        let y_index = |dim: usize| match index_map(1, y[dim], self.shape[dim]) {
            1 if y[dim] != 1 => z_index(dim),
            _ => "0".into(),
        };
        format!(
            "Z{m}[{}] = Y{m}[{}] = X{m}[{}]",
            list(0, rank, z_index),
            list(0, rank, y_index),
            list(added, rank, y_index),
        )
    }

    /// Short descriptions of the two steps for an input.
    pub(crate) fn steps(&self, input: &Input) -> [&'static str; 2] {
        let first = if self.added(input) > 0 { "1s on the left" } else { "nothing to add" };
        let is_same = self.form_shape(input, Form::Y) == self.shape;
        [first, if is_same { "nothing to stretch" } else { "stretch the 1s" }]
    }

    /// The sentence about inputs that are not shown.
    pub(crate) fn omitted_inputs(&self) -> Option<String> {
        match self.omitted {
            0 => None,
            1 => Some("One more input goes the same way.".into()),
            more => Some(format!("{more} more inputs go the same way.")),
        }
    }
}

/// `a, b and c`.
pub(crate) fn join(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Indices joined by commas; the middle of a long list is omitted.
pub(crate) fn list(start: usize, end: usize, index: impl Fn(usize) -> String) -> String {
    let part = |range: std::ops::Range<usize>| range.map(&index).collect::<Vec<_>>().join(",");
    if end - start <= MAX_LINES {
        return part(start..end);
    }
    format!("{},…,{}", part(start..start + END_LINES), part(end - END_LINES..end))
}
