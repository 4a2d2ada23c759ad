//! The diagram of a reduction: which axes collapse, and which elements are folded into each result.

use crate::diagram::{Caption, Cell, Diagram, DrawnArray, Interaction, Legend};
use crate::explanation::Input;
use crate::layout::{Frame, Level, MAX_DRAWN_RANK};
use crate::size::{Sizes, grouped};
use crate::words::{END_LINES, LETTERS, MAX_LINES, join, list};
use crate::{html, svg, text};
use unishape::expr::{ExprError, Reduction};
use unishape::notation::short_shape_text;
use unishape_core::element_count;

/// A diagram of how a reduction folds elements, as text, SVG or HTML.
///
/// ```
/// use unishape::expr::{ReduceOp, Reduction};
/// use unishape_explain::ReductionExplanation;
///
/// let rows = ReductionExplanation::new(&Reduction::new(ReduceOp::Sum).axes(1), &[3, 4])?;
/// assert_eq!(rows.shape(), [3]);
/// assert!(rows.text(false, 80).contains("R[i] = Y[i,0] = sum(X[i,:])"));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReductionExplanation {
    op: &'static str,
    keeps: bool,
    /// Whether each dimension of X is reduced.
    reduced: Vec<bool>,
    x: Input,
    /// The shape with reduced dimensions of size 1.
    kept: Vec<usize>,
    result: Input,
}

impl ReductionExplanation {
    /// The diagram of a reduction of an array of this shape.
    ///
    /// ```
    /// use unishape::expr::{ReduceOp, Reduction};
    /// use unishape_explain::ReductionExplanation;
    ///
    /// assert!(ReductionExplanation::new(&Reduction::new(ReduceOp::Sum).axes(2), &[3, 4]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If the array does not have an axis, or an axis is given twice.
    pub fn new(reduction: &Reduction, shape: &[usize]) -> Result<ReductionExplanation, ExprError> {
        let mut reduced = vec![false; shape.len()];
        for dim in reduction.reduced_dims(shape.len())? {
            reduced[dim] = true;
        }
        let sizes = || shape.iter().zip(&reduced);
        let kept: Vec<usize> = sizes().map(|(&size, &reduced)| if reduced { 1 } else { size }).collect();
        let result = match reduction.keep_dims {
            true => kept.clone(),
            false => sizes().filter(|(_, reduced)| !**reduced).map(|(&size, _)| size).collect(),
        };
        Ok(ReductionExplanation {
            op: reduction.op.name(),
            keeps: reduction.keep_dims,
            x: Input::new(shape),
            result: Input::new(&result),
            reduced,
            kept,
        })
    }

    /// Names the array, for example after its file.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// # use unishape_explain::ReductionExplanation;
    /// let sum = ReductionExplanation::new(&Reduction::new(ReduceOp::Sum), &[3])?.name("weights.npy");
    /// assert!(sum.text(false, 80).contains("weights.npy"));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.x.set_name(name);
        self
    }

    /// Shows the elements of the array and of the result instead of their numbers.
    ///
    /// Each function returns the text of the element at an index. They are called only for elements that can be
    /// drawn, at most a few hundred.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// # use unishape_explain::ReductionExplanation;
    /// let x = [1.5, 2.5];
    /// let sum = ReductionExplanation::new(&Reduction::new(ReduceOp::Sum), &[2])?
    ///     .values(|index| x[index[0]].to_string(), |_| "4.0".into());
    /// assert!(sum.text(false, 80).contains("│ 1.5 │ 2.5 │"));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn values(
        mut self,
        element: impl FnMut(&[usize]) -> String,
        result: impl FnMut(&[usize]) -> String,
    ) -> Self {
        self.x.set_values(element);
        self.result.set_values(result);
        self
    }

    /// The shape of the result.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// # use unishape_explain::ReductionExplanation;
    /// let mean = Reduction::new(ReduceOp::Mean).axes([0, -1]).keep_dims(true);
    /// assert_eq!(ReductionExplanation::new(&mean, &[2, 3, 4])?.shape(), [1, 3, 1]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.result.shape
    }

    /// The diagram for a terminal of `width` columns, in ANSI colors if `color`.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// # use unishape_explain::ReductionExplanation;
    /// let sum = ReductionExplanation::new(&Reduction::new(ReduceOp::Sum).axes(0), &[2, 3])?;
    /// assert!(sum.text(false, 80).starts_with("sum of 2x3 along axis 0 gives 3\n"));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn text(&self, color: bool, width: usize) -> String {
        text::draw(self, color, width)
    }

    /// The diagram as a standalone SVG file.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// # use unishape_explain::ReductionExplanation;
    /// let svg = ReductionExplanation::new(&Reduction::new(ReduceOp::Max).axes(0), &[2, 3])?.svg();
    /// assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// The diagram as a standalone HTML page.
    ///
    /// Its cells show what they are folded into.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// # use unishape_explain::ReductionExplanation;
    /// let page = ReductionExplanation::new(&Reduction::new(ReduceOp::Max).axes(0), &[2, 3])?.html();
    /// assert!(page.starts_with("<!DOCTYPE html>"));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn html(&self) -> String {
        html::draw(self)
    }

    /// Numbers of the reduced dimensions.
    fn dims(&self) -> Vec<String> {
        let dims = self.reduced.iter().enumerate().filter(|(_, reduced)| **reduced);
        dims.map(|(dim, _)| dim.to_string()).collect()
    }

    /// `axis 1`, `axes 0 and 2`, `no axis`.
    fn axes(&self) -> String {
        match self.dims().as_slice() {
            [] => "no axis".into(),
            [dim] => format!("axis {dim}"),
            dims => format!("axes {}", join(dims)),
        }
    }

    /// Number of elements that are folded into each result; `None` if it exceeds the machine's integers.
    fn folded(&self) -> Option<usize> {
        let sizes: Vec<usize> = self
            .x
            .shape
            .iter()
            .zip(&self.reduced)
            .filter(|(_, reduced)| **reduced)
            .map(|(&s, _)| s)
            .collect();
        element_count(&sizes).ok()
    }

    /// The index in the result, from one with the rank of X.
    fn without_reduced(&self, index: &[usize]) -> Vec<usize> {
        match self.keeps {
            true => index.to_vec(),
            false => {
                index.iter().zip(&self.reduced).filter(|(_, reduced)| !**reduced).map(|(&i, _)| i).collect()
            }
        }
    }

    /// The index in Y of an index of the result.
    fn with_reduced(&self, index: &[usize]) -> Vec<usize> {
        if self.keeps {
            return index.to_vec();
        }
        let mut rest = index.iter();
        self.reduced
            .iter()
            .map(|&reduced| if reduced { 0 } else { rest.next().copied().unwrap_or(0) })
            .collect()
    }
}

impl ReductionExplanation {
    /// What happens to a dimension.
    fn effect(&self, dim: usize) -> String {
        let size = self.x.shape[dim];
        match (self.reduced[dim], size) {
            (false, _) => format!("{size}, stays"),
            (true, 0) => "0 → 1, there is no element to fold".into(),
            (true, 1) => "1, its only element is the result".into(),
            (true, _) => format!("{size} → 1, its {size} elements are folded into one"),
        }
    }

    /// The cells of an array: `source` is the index in Y, `label` the text.
    fn cell<'a>(
        &'a self,
        source: impl Fn(&[usize]) -> Vec<usize> + 'a,
        label: impl Fn(&[usize]) -> String + 'a,
    ) -> Box<dyn Fn(Vec<usize>) -> Cell + 'a> {
        Box::new(move |index| Cell { source: source(&index), original: true, label: label(&index), index })
    }
}

/// The index of the result that an index of X is folded into, with 0 in reduced dimensions.
fn collapse(index: &[usize], reduced: &[bool]) -> Vec<usize> {
    index.iter().zip(reduced).map(|(&i, &reduced)| if reduced { 0 } else { i }).collect()
}

/// `1 element`, `12 elements`.
fn elements(shape: &[usize]) -> String {
    match element_count(shape) {
        Ok(1) => "1 element".into(),
        Ok(count) => format!("{count} elements"),
        Err(_) => "more elements than can be counted".into(),
    }
}

impl Diagram for ReductionExplanation {
    fn subject(&self) -> &'static str {
        "Reduction"
    }

    fn headline(&self) -> String {
        let (x, result) = (short_shape_text(&self.x.shape), short_shape_text(&self.result.shape));
        format!("{} of {x} along {} gives {result}", self.op, self.axes())
    }

    fn introduction(&self) -> String {
        let second = match self.keeps {
            true => "keepdims=True leaves it, so that the result can be broadcast with X.",
            false => "Step 2 removes it.",
        };
        match self.dims().len() {
            0 => "No axis is reduced, so every element is a result by itself.".into(),
            1 => format!(
                "Step 1 folds all elements along {} into one: that dimension collapses to size 1. {second}",
                self.axes()
            ),
            _ => format!(
                "Step 1 folds all elements along {} into one: each of these dimensions collapses to size 1. {}",
                self.axes(),
                second.replace(" it", " them"),
            ),
        }
    }

    fn summary(&self) -> String {
        let result = match element_count(&self.result.shape) {
            Ok(0) => return "The result is empty: a size of 0 leaves no element.".into(),
            _ => elements(&self.result.shape),
        };
        match self.folded() {
            Some(0) => format!("The result has {result}, each computed from no element."),
            Some(1) => format!("The result has {result}, each computed from one element."),
            Some(count) => format!("The result has {result}, each computed from {count} elements."),
            None => format!("The result has {result}."),
        }
    }

    fn legend(&self) -> Option<Legend> {
        Some(match self.x.is_numbered() {
            true => Legend {
                plain: "Cells show the numbers of elements, not their values.",
                colored: "Cells of one colour are folded into one result. \
                          They show the numbers of elements, not their values.",
            },
            false => Legend {
                plain: "Cells show the values of elements.",
                colored: "Cells of one colour are folded into one result.",
            },
        })
    }

    fn hint(&self) -> &'static str {
        "Point at a cell to see what it is folded into, or tab to one and use the arrow keys."
    }

    fn largest_shape(&self) -> &[usize] {
        &self.x.shape
    }

    fn parts(&self) -> usize {
        1
    }

    fn heading(&self, _part: usize) -> String {
        self.axes().replacen('a', "A", 1).replacen("no A", "No a", 1)
    }

    fn name(&self, _part: usize) -> Option<&str> {
        self.x.name.as_deref()
    }

    fn captions(&self, _part: usize) -> [Caption; 3] {
        let mark = if self.dims().len() == 1 { "collapses" } else { "collapse" };
        let caption = |name: &str, shape: &[usize], marked: Vec<bool>| Caption {
            name: name.into(),
            shape: short_shape_text(shape),
            sizes: shape.iter().map(usize::to_string).collect(),
            marked,
            mark: [mark, "collapses to size 1"],
        };
        [
            caption("X", &self.x.shape, self.reduced.clone()),
            caption("Y", &self.kept, vec![false; self.kept.len()]),
            caption("R", &self.result.shape, vec![false; self.result.shape.len()]),
        ]
    }

    fn arrays(&self, part: usize, level: Level) -> Option<[DrawnArray<'_>; 3]> {
        // Dimensions move to other axes of the frame where step 2 removes some.
        let level = level.uniform();
        let shades = Frame::new(&self.kept, level)?;
        let array = |name: &str, shape: &[usize], of: &Input, cell| {
            let frame = Frame::new(shape, level)?;
            let sizes = Sizes::new(&frame, |dim| grouped(shape[dim]));
            let (is_numbered, shades) = (of.is_numbered(), shades.clone());
            Some(DrawnArray { name: name.into(), part, frame, sizes, is_numbered, shades, cell })
        };
        Some([
            array(
                "X",
                &self.x.shape,
                &self.x,
                self.cell(|x| collapse(x, &self.reduced), |x| self.x.label(x)),
            )?,
            array(
                "Y",
                &self.kept,
                &self.result,
                self.cell(<[usize]>::to_vec, |y| self.result.label(&self.without_reduced(y))),
            )?,
            array(
                "R",
                &self.result.shape,
                &self.result,
                self.cell(|r| self.with_reduced(r), |r| self.result.label(r)),
            )?,
        ])
    }

    fn steps(&self, _part: usize) -> [String; 2] {
        let first = if self.dims().is_empty() { "nothing to fold".into() } else { self.op.to_string() };
        let second = match (self.keeps, self.dims().len()) {
            (_, 0) => "nothing to remove",
            (true, _) => "keepdims=True",
            (false, 1) => "remove the 1",
            (false, _) => "remove the 1s",
        };
        [first, second.into()]
    }

    fn lines(&self, _part: usize) -> Vec<String> {
        let line = |dim: usize| format!("dimension {dim}: {}", self.effect(dim));
        let rank = self.reduced.len();
        if rank <= MAX_LINES {
            return (0..rank).map(line).collect();
        }
        let omitted = format!("⋮ {} more", rank - 2 * END_LINES);
        (0..END_LINES).map(line).chain([omitted]).chain((rank - END_LINES..rank).map(line)).collect()
    }

    fn table(&self, _part: usize) -> Vec<[String; 5]> {
        let head = ["dimension", "X", "Y", "R", ""].map(String::from);
        let row = |dim: usize| {
            let result =
                if self.reduced[dim] && !self.keeps { "–".into() } else { self.kept[dim].to_string() };
            let effect = if self.reduced[dim] { "collapses" } else { "stays" };
            [
                dim.to_string(),
                self.x.shape[dim].to_string(),
                self.kept[dim].to_string(),
                result,
                effect.into(),
            ]
        };
        let rank = self.reduced.len();
        let mut rows = vec![head];
        if rank <= MAX_LINES {
            rows.extend((0..rank).map(row));
        } else {
            rows.extend((0..END_LINES).map(row));
            let dots = || String::from("⋮");
            rows.push([dots(), dots(), dots(), dots(), format!("{} more", rank - 2 * END_LINES)]);
            rows.extend((rank - END_LINES..rank).map(row));
        }
        rows
    }

    fn map(&self, _part: usize) -> String {
        let rank = self.reduced.len();
        let letter = |dim: usize| match LETTERS.get(dim) {
            Some(letter) if rank <= LETTERS.len() => (*letter).into(),
            _ => format!("i{dim}"),
        };
        let index = |reduced: &str| {
            list(0, rank, |dim| if self.reduced[dim] { reduced.to_string() } else { letter(dim) })
        };
        let kept: Vec<usize> = (0..rank).filter(|&dim| self.keeps || !self.reduced[dim]).collect();
        let result =
            list(0, kept.len(), |at| if self.reduced[kept[at]] { "0".into() } else { letter(kept[at]) });
        format!("R[{result}] = Y[{}] = {}(X[{}])", index("0"), self.op, index(":"))
    }

    fn reads(&self, _part: usize) -> String {
        let (x, result) = (elements(&self.x.shape), elements(&self.result.shape));
        let read = if self.x.shape.contains(&0) { "" } else { ": each of X is read once" };
        format!("X has {x}, R has {result}{read}.")
    }

    fn omitted_parts(&self) -> Option<String> {
        None
    }

    fn interaction(&self) -> Option<Interaction> {
        (self.reduced.len() <= MAX_DRAWN_RANK && !self.x.shape.contains(&0)).then(|| Interaction {
            form: String::new(),
            data: format!(
                "{{\"op\":\"{}\",\"keeps\":{},\"reduced\":{:?}}}",
                self.op, self.keeps, self.reduced
            ),
            script: include_str!("reduce.js"),
        })
    }
}
