//! Broadcasting drawn.

use crate::failure::of_shapes;
use crate::input::{array, is_array};
use crate::memory::NumPy;
use crate::shapes::{known_sizes, rules};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unishape_explain as drawn;

/// Arrays with more elements than this are explained by their shape alone.
const MOST_VALUES: usize = 10_000;

/// How some shapes are broadcast: a picture in a notebook, text in a terminal.
#[pyclass(frozen, module = "unishape")]
pub(crate) struct Explanation(drawn::Explanation);

#[pymethods]
impl Explanation {
    /// The common shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// As text for so many columns, in colours if asked for.
    #[pyo3(signature = (*, color=false, width=80))]
    fn text(&self, color: bool, width: usize) -> String {
        self.0.text(color, width)
    }

    /// As an SVG picture, in a string.
    fn svg(&self) -> String {
        self.0.svg()
    }

    /// As a page of its own whose cells tell where they come from, in a string.
    fn html(&self) -> String {
        self.0.html()
    }

    fn _repr_svg_(&self) -> String {
        self.0.svg()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let size = py.import("shutil")?.call_method0("get_terminal_size")?;
        let width = size.getattr("columns")?.extract().unwrap_or(80);
        Ok(self.0.text(false, width).trim_end().to_owned())
    }
}

/// Explains how shapes or arrays are broadcast. The result shows itself: as a picture in a notebook, as text in
/// a terminal. Arrays that are not large are shown with their elements.
///
/// >>> import unishape
/// >>> unishape.explain((8, 1, 6, 1), (7, 1, 5)).shape
/// (8, 7, 6, 5)
#[pyfunction]
#[pyo3(signature = (*shapes_or_arrays, rules="standard", strict_rank=false))]
pub(crate) fn explain(
    shapes_or_arrays: &Bound<'_, PyTuple>,
    rules: &str,
    strict_rank: bool,
) -> PyResult<Explanation> {
    let rules = self::rules(rules, strict_rank)?;
    let mut shapes = Vec::new();
    let mut arrays: Vec<Option<NumPy<'_>>> = Vec::new();
    for object in shapes_or_arrays {
        let array = if is_array(&object)? { Some(array(&object)?) } else { None };
        shapes.push(match &array {
            Some(array) => array.shape().to_vec(),
            None => known_sizes(&object)?,
        });
        arrays.push(array);
    }
    let mut explanation = drawn::Explanation::new(rules, &shapes).map_err(of_shapes)?;
    for (number, array) in arrays.iter().enumerate() {
        if let Some(array) = array
            && array.len() <= MOST_VALUES
        {
            explanation = explanation.values(number, |index| element_text(array, index).unwrap_or_default());
        }
    }
    Ok(Explanation(explanation))
}

/// An element as Python writes it.
fn element_text(array: &NumPy<'_>, index: &[usize]) -> PyResult<String> {
    let element = array.get_item(PyTuple::new(array.py(), index)?)?;
    Ok(element.str()?.to_string())
}
