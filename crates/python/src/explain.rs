//! `explain`: diagrams of broadcasting.

use crate::errors::shape_error;
use crate::gpu;
use crate::input::{as_array, is_array, is_on_gpu};
use crate::memory::NumPy;
use crate::shapes::{parse_known_shape, parse_rules};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unishape::Extent;
use unishape_explain as diagrams;

/// Largest number of elements whose values are shown.
const MAX_VALUES: usize = 10_000;

/// A diagram of a broadcast: SVG in a notebook, text in a terminal.
#[pyclass(frozen, module = "unishape")]
pub(crate) struct Explanation(diagrams::Explanation);

#[pymethods]
impl Explanation {
    /// The common shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The diagram as text.
    ///
    /// Parameters
    /// ----------
    /// color : bool, default False
    ///     Use ANSI colours.
    /// width : int, default 80
    ///     Columns of the terminal.
    #[pyo3(signature = (*, color=false, width=80))]
    fn text(&self, color: bool, width: usize) -> String {
        self.0.text(color, width)
    }

    /// The diagram as SVG.
    fn svg(&self) -> String {
        self.0.svg()
    }

    /// The diagram as an HTML page in which each cell shows its source elements.
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

/// Explains how shapes or arrays broadcast.
///
/// The result displays itself as SVG in a notebook and as text in a terminal. Arrays of up to 10 000 elements
/// are shown with their values.
///
/// Parameters
/// ----------
/// *shapes_or_arrays : tuple of ints, int or array
/// rules : {"standard", "sonnx"}
///     Rule set.
/// strict_rank : bool, default False
///     Require equal ranks.
///
/// Returns
/// -------
/// Explanation
///
/// Examples
/// --------
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
    let rules = parse_rules(rules, strict_rank)?;
    let mut shapes = Vec::new();
    let mut arrays: Vec<Option<NumPy<'_>>> = Vec::new();
    for object in shapes_or_arrays {
        let is_on_gpu = is_on_gpu(&object)?;
        let array = if !is_on_gpu && is_array(&object)? { Some(as_array(&object)?) } else { None };
        shapes.push(match &array {
            Some(array) => array.shape().to_vec(),
            // Values are not copied to the CPU.
            None if is_on_gpu => gpu::describe(&object)?.0,
            None => parse_known_shape(&object)?,
        });
        arrays.push(array);
    }
    let mut explanation = diagrams::Explanation::new(rules, &shapes).map_err(shape_error)?;
    for (number, array) in arrays.iter().enumerate() {
        if let Some(array) = array
            && array.len() <= MAX_VALUES
        {
            explanation = explanation.values(number, |index| element_text(array, index).unwrap_or_default());
        }
    }
    Ok(Explanation(explanation))
}

/// Draws named shapes aligned on the right, as in the error E1.
#[pyfunction]
pub(crate) fn _alignment(rows: Vec<(String, Vec<usize>)>) -> String {
    let rows: Vec<(String, Vec<Extent>)> = rows
        .into_iter()
        .map(|(name, shape)| (name, shape.into_iter().map(Extent::Known).collect()))
        .collect();
    let rows: Vec<_> = rows.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect();
    unishape::alignment(&rows)
}

/// `str` of an element.
fn element_text(array: &NumPy<'_>, index: &[usize]) -> PyResult<String> {
    let element = array.get_item(PyTuple::new(array.py(), index)?)?;
    Ok(element.str()?.to_string())
}
