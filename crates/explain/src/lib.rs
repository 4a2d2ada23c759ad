//! Diagrams of broadcasting, as text, SVG and interactive HTML.
//!
//! Each input X is drawn in three stages: as it is, with 1s added on the left (Y), and stretched (Z). Colors show
//! which cell of Z reads which element of X.
//!
//! ```
//! use unishape::Rules;
//! use unishape_explain::Explanation;
//!
//! let explanation = Explanation::new(Rules::STANDARD, &[&[3, 1][..], &[4]])?;
//! assert_eq!(explanation.shape(), [3, 4]);
//! println!("{}", explanation.text(true, 80));
//! # Ok::<(), unishape::Error>(())
//! ```
//!
//! The size of a diagram is bounded. A long dimension is drawn by its first and last indices, with its size
//! written along it. More than four dimensions become a table, and of many inputs the first few are shown.
//!
//! | module | contents |
//! |---|---|
//! | `layout` | which cells of a shape are drawn, and where |
//! | `size` | sizes written along shortened axes |
//! | `words` | sentences, the same in every format |
//! | `text`, `svg`, `html` | the three formats |
//! | `palette` | colors of the SVG file and the page |
//! | `measure` | terminal columns, wrapped paragraphs |

mod html;
mod layout;
mod measure;
mod palette;
mod size;
mod svg;
mod text;
mod words;

use layout::{Frame, LEVELS};
use std::collections::BTreeMap;
use unishape::{Error, Rules, broadcast_shapes_with};
use unishape_core::{padded_dim, source_index};

/// Of more inputs than this …
const MAX_INPUTS: usize = 6;
/// … only this many are shown.
const SHOWN_INPUTS: usize = 4;

/// Maximum length of names and values, in characters.
const NAME_LENGTH: usize = 60;
const VALUE_LENGTH: usize = 24;

/// A diagram of how shapes are broadcast, as text, SVG or HTML.
///
/// ```
/// use unishape::Rules;
/// use unishape_explain::Explanation;
///
/// let explanation = Explanation::new(Rules::STANDARD, &[[3], [1]])?;
/// assert!(explanation.text(false, 80).contains("Z1[i] = Y1[0] = X1[0]"));
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    shape: Vec<usize>,
    /// The inputs that are shown.
    inputs: Vec<Input>,
    /// Number of inputs that are not shown.
    omitted: usize,
}

/// One input that is shown.
#[derive(Clone, Debug)]
struct Input {
    shape: Vec<usize>,
    name: Option<String>,
    /// Texts of the elements that can be drawn, by index.
    values: BTreeMap<Vec<usize>, String>,
}

impl Explanation {
    /// The diagram of these shapes.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// assert!(Explanation::new(Rules::STANDARD, &[[3], [4]]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// As [`broadcast_shapes_with`].
    pub fn new<T: AsRef<[usize]>>(rules: Rules, shapes: &[T]) -> Result<Explanation, Error> {
        let shape = broadcast_shapes_with(rules, shapes)?;
        let shown = if shapes.len() > MAX_INPUTS { SHOWN_INPUTS } else { shapes.len() };
        let inputs = shapes[..shown]
            .iter()
            .map(|shape| Input { shape: shape.as_ref().to_vec(), name: None, values: BTreeMap::new() })
            .collect();
        Ok(Explanation { shape, inputs, omitted: shapes.len() - shown })
    }

    /// Names an input, for example after its file.
    ///
    /// Does nothing for an input that does not exist or is not shown.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let explanation = Explanation::new(Rules::STANDARD, &[[3]])?.name(0, "weights.npy");
    /// assert!(explanation.text(false, 80).contains("weights.npy"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    #[must_use]
    pub fn name(mut self, input: usize, name: &str) -> Self {
        if let Some(input) = self.inputs.get_mut(input) {
            input.name = Some(unishape::text::truncate(name, NAME_LENGTH));
        }
        self
    }

    /// Shows the elements of an input instead of their numbers.
    ///
    /// `value` returns the text of the element at an index. It is called only for elements that can be drawn, at
    /// most a few hundred.
    ///
    /// ```
    /// use ndarray::{IxDyn, arr1};
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let x = arr1(&["red", "blue"]).into_dyn();
    /// let explanation = Explanation::new(Rules::STANDARD, &[x.shape(), &[2, 1]])?
    ///     .values(0, |index| x[IxDyn(index)].to_string());
    /// assert!(explanation.text(false, 80).contains("│ red  │ blue │"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    #[must_use]
    pub fn values(mut self, input: usize, mut value: impl FnMut(&[usize]) -> String) -> Self {
        if let Some(input) = self.inputs.get_mut(input)
            && let Some(frame) = Frame::new(&input.shape, LEVELS[0])
        {
            // Every other level draws a subset of these cells.
            for index in frame.indices() {
                let text = unishape::text::truncate(&value(&index), VALUE_LENGTH);
                input.values.insert(index, text);
            }
        }
        self
    }

    /// The common shape.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let explanation = Explanation::new(Rules::STANDARD, &[&[8, 1, 6, 1][..], &[7, 1, 5]])?;
    /// assert_eq!(explanation.shape(), [8, 7, 6, 5]);
    /// # Ok::<(), unishape::Error>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

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
        text::render(self, color, width)
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
        svg::render(self)
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
        html::render(self)
    }
}

/// The three stages of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// As given.
    X,
    /// With 1s added on the left.
    Y,
    /// Stretched.
    Z,
}

impl Stage {
    const ALL: [Stage; 3] = [Stage::X, Stage::Y, Stage::Z];

    fn letter(self) -> char {
        match self {
            Stage::X => 'X',
            Stage::Y => 'Y',
            Stage::Z => 'Z',
        }
    }
}

/// One cell of a diagram.
struct Cell {
    /// Index in its stage.
    index: Vec<usize>,
    /// Index of the element of X that it shows.
    source: Vec<usize>,
    /// Not a repetition: its indices in Z and in Y are equal.
    original: bool,
    /// Text of the cell.
    label: String,
}

impl Explanation {
    /// The shape of an input at a stage.
    fn stage_shape(&self, input: &Input, stage: Stage) -> Vec<usize> {
        match stage {
            Stage::X => input.shape.clone(),
            Stage::Y => {
                (0..self.shape.len()).map(|dim| padded_dim(&input.shape, self.shape.len(), dim)).collect()
            }
            Stage::Z => self.shape.clone(),
        }
    }

    /// Number of dimensions that step 1 adds.
    fn added(&self, input: &Input) -> usize {
        self.shape.len() - input.shape.len()
    }

    /// The cell at an index of a stage.
    fn cell(&self, input: &Input, stage: Stage, index: Vec<usize>) -> Cell {
        let added = self.added(input);
        let source = match stage {
            Stage::X => index.clone(),
            Stage::Y => index[added..].to_vec(),
            Stage::Z => {
                let mut source = vec![0; input.shape.len()];
                // Cannot fail: only indices within the shape are drawn.
                let _ = source_index(&input.shape, &self.shape, &index, &mut source);
                source
            }
        };
        let original = match stage {
            Stage::Z => index[..added].iter().all(|&i| i == 0) && index[added..] == source,
            _ => true,
        };
        let label = input.label(&source);
        Cell { index, source, original, label }
    }

    /// The frames of an input's three stages, if the common rank can be drawn.
    fn frames(&self, input: &Input, level: layout::Level) -> Option<[Frame; 3]> {
        let frame = |stage| Frame::new(&self.stage_shape(input, stage), level);
        Some([frame(Stage::X)?, frame(Stage::Y)?, frame(Stage::Z)?])
    }
}

impl Input {
    /// Text of an element: its value, or its row-major number.
    fn label(&self, source: &[usize]) -> String {
        if let Some(value) = self.values.get(source) {
            return value.clone();
        }
        let mut number = Some(0u128);
        for (&size, &at) in self.shape.iter().zip(source) {
            number = number.and_then(|n| n.checked_mul(size as u128)?.checked_add(at as u128));
        }
        number.map_or_else(|| "…".into(), |number| number.to_string())
    }

    /// Whether cells show numbers of elements, whose last digits matter most.
    fn is_numbered(&self) -> bool {
        self.values.is_empty()
    }
}
