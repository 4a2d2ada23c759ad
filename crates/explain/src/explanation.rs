//! What a diagram shows: the shapes, names and values of inputs, and the cells of each form.

use crate::diagram::Cell;
use crate::layout::{Frame, LEVELS, Level};
use crate::palette::COLORS;
use std::collections::BTreeMap;
use unishape::{Error, Rules, broadcast_shapes_with};
use unishape_core::{padded_dim, source_index};

/// Of more inputs than this …
const MAX_INPUTS: usize = COLORS;
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
    pub(crate) shape: Vec<usize>,
    /// Names of the dimensions of the common shape.
    pub(crate) dim_names: DimNames,
    /// The inputs that are shown.
    pub(crate) inputs: Vec<Input>,
    /// Number of inputs that are not shown.
    pub(crate) omitted: usize,
}

/// The names of the dimensions of a shape, where they have any.
pub(crate) type DimNames = Vec<Option<String>>;

/// One array that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) shape: Vec<usize>,
    pub(crate) name: Option<String>,
    /// Names of its dimensions.
    pub(crate) dim_names: DimNames,
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
        let inputs = shapes[..shown].iter().map(|shape| Input::new(shape.as_ref())).collect();
        Ok(Explanation { shape, dim_names: DimNames::new(), inputs, omitted: shapes.len() - shown })
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
            input.set_name(name);
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
    pub fn values(mut self, input: usize, value: impl FnMut(&[usize]) -> String) -> Self {
        if let Some(input) = self.inputs.get_mut(input) {
            input.set_values(value);
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
}

/// The three forms of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As given.
    X,
    /// With 1s added on the left.
    Y,
    /// Stretched.
    Z,
}

impl Form {
    pub(crate) const ALL: [Form; 3] = [Form::X, Form::Y, Form::Z];

    pub(crate) fn letter(self) -> char {
        match self {
            Form::X => 'X',
            Form::Y => 'Y',
            Form::Z => 'Z',
        }
    }
}

impl Explanation {
    /// The shape of a form of an input.
    pub(crate) fn form_shape(&self, input: &Input, form: Form) -> Vec<usize> {
        match form {
            Form::X => input.shape.clone(),
            Form::Y => {
                (0..self.shape.len()).map(|dim| padded_dim(&input.shape, self.shape.len(), dim)).collect()
            }
            Form::Z => self.shape.clone(),
        }
    }

    /// Number of dimensions that step 1 adds.
    pub(crate) fn added(&self, input: &Input) -> usize {
        self.shape.len() - input.shape.len()
    }

    /// The cell at an index of a form.
    pub(crate) fn cell(&self, input: &Input, form: Form, index: Vec<usize>) -> Cell {
        let added = self.added(input);
        let source = match form {
            Form::X => index.clone(),
            Form::Y => index[added..].to_vec(),
            Form::Z => {
                let mut source = vec![0; input.shape.len()];
                // Cannot fail: only indices within the shape are drawn.
                let _ = source_index(&input.shape, &self.shape, &index, &mut source);
                source
            }
        };
        let original = match form {
            Form::Z => index[..added].iter().all(|&i| i == 0) && index[added..] == source,
            _ => true,
        };
        let label = input.label(&source);
        Cell { index, source, original, label }
    }

    /// The frames of an input's three forms, if the common rank can be drawn.
    pub(crate) fn frames(&self, input: &Input, level: Level) -> Option<[Frame; 3]> {
        let frame = |form| Frame::new(&self.form_shape(input, form), level);
        Some([frame(Form::X)?, frame(Form::Y)?, frame(Form::Z)?])
    }
}

impl Input {
    /// An array without a name and values.
    pub(crate) fn new(shape: &[usize]) -> Input {
        Input { shape: shape.to_vec(), name: None, dim_names: DimNames::new(), values: BTreeMap::new() }
    }

    pub(crate) fn set_name(&mut self, name: &str) {
        self.name = Some(unishape::text::truncate(name, NAME_LENGTH));
    }

    /// Sets the texts of the elements that can be drawn.
    pub(crate) fn set_values(&mut self, mut value: impl FnMut(&[usize]) -> String) {
        let Some(frame) = Frame::new(&self.shape, LEVELS[0]) else { return };
        // Every other level draws a subset of these cells.
        for index in frame.indices() {
            let text = unishape::text::truncate(&value(&index), VALUE_LENGTH);
            self.values.insert(index, text);
        }
    }

    /// Text of an element: its value, or its row-major number.
    pub(crate) fn label(&self, source: &[usize]) -> String {
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
    pub(crate) fn is_numbered(&self) -> bool {
        self.values.is_empty()
    }
}
