//! Rust errors as Python exceptions.

use pyo3::exceptions::{
    PyAttributeError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyNameError, PyOverflowError,
    PySyntaxError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use unishape::expr::{ExprError, ExprErrorKind};
use unishape::{Error, Extent, Incompatible, StretchError};

pyo3::create_exception!(
    unishape,
    BroadcastError,
    PyValueError,
    "Shapes that cannot be broadcast.

The message names the inputs and the axis. A note (PEP 678), which tracebacks show, has the aligned shapes.

Attributes
----------
axis : int or None
    The incompatible axis of the common shape, counted from the left; None where ranks are incompatible.
inputs : tuple of two ints
    Numbers of the two incompatible inputs, which are positions in shapes and names.
shapes : tuple of tuples
    Shape of each input; None is an unknown size. Of broadcast_to and sum_to: the two shapes.
names : tuple of str
    Name of each input.

Examples
--------
>>> import numpy as np, unishape
>>> try:
...     unishape.evaluate('a + b', a=np.ones((2, 3)), b=np.ones(4))
... except unishape.BroadcastError as error:
...     print(error, error.axis, error.inputs, error.shapes, error.names, sep='\\n')
E1: incompatible shapes in dimension 1: a has 3, b has 4
1
(0, 1)
((2, 3), (4,))
('a', 'b')
"
);

/// Adds the exceptions to a module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().get_type::<BroadcastError>();
    // Those that others raise have the attributes, too.
    class.setattr("axis", module.py().None())?;
    for name in ["inputs", "shapes", "names"] {
        class.setattr(name, PyTuple::empty(module.py()))?;
    }
    module.add("BroadcastError", class)
}

/// Converts an error about shapes.
pub(crate) fn shape_error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        error => broadcast_error(&error, text),
    }
}

/// A `BroadcastError` for shapes that are incompatible, or else a `ValueError`.
fn broadcast_error(error: &Error, text: String) -> PyErr {
    match Attributes::new(error) {
        Some(attributes) => {
            Python::attach(|py| attributes.into_error(py, &text).unwrap_or_else(|error| error))
        }
        None => PyValueError::new_err(text),
    }
}

/// Attributes of a `BroadcastError`.
struct Attributes {
    axis: Option<usize>,
    inputs: [usize; 2],
    shapes: Vec<Vec<Option<usize>>>,
    names: Vec<String>,
}

impl Attributes {
    fn new(error: &Error) -> Option<Attributes> {
        match error {
            Error::Incompatible(e1) => Some(Attributes::of_incompatible(e1)),
            Error::UnequalRank { input, names, .. } => Some(Attributes {
                axis: None,
                inputs: [0, *input],
                shapes: Vec::new(),
                names: names.as_deref().map_or_else(Vec::new, |names| names.to_vec()),
            }),
            Error::CannotStretch(cannot) => {
                let axis = match cannot.reason() {
                    StretchError::Size { dim, .. } => Some(dim),
                    _ => None,
                };
                let known = |shape: &[usize]| shape.iter().copied().map(Some).collect();
                let shapes = vec![known(cannot.shape()), known(cannot.target())];
                Some(Attributes { axis, inputs: [0, 1], shapes, names: vec!["x".into(), "shape".into()] })
            }
            _ => None,
        }
    }

    fn of_incompatible(e1: &Incompatible) -> Attributes {
        let known = |size: &Extent| match size {
            Extent::Known(size) => Some(*size),
            _ => None,
        };
        Attributes {
            axis: Some(e1.dim()),
            inputs: e1.inputs(),
            shapes: e1.shapes().iter().map(|(_, shape)| shape.iter().map(known).collect()).collect(),
            names: e1.shapes().iter().map(|(inputs, _)| e1.name(inputs.start)).collect(),
        }
    }

    /// The first line of the text is the message, the others are a note.
    fn into_error(self, py: Python<'_>, text: &str) -> PyResult<PyErr> {
        let (message, note) = text.split_once('\n').unwrap_or((text, ""));
        let error = BroadcastError::new_err(message.to_owned());
        let value = error.value(py);
        value.setattr("axis", self.axis)?;
        value.setattr("inputs", PyTuple::new(py, self.inputs)?)?;
        let shapes = self.shapes.iter().map(|shape| PyTuple::new(py, shape)).collect::<PyResult<Vec<_>>>()?;
        value.setattr("shapes", PyTuple::new(py, shapes)?)?;
        value.setattr("names", PyTuple::new(py, self.names)?)?;
        if !note.is_empty() {
            value.call_method1("add_note", (note,))?;
        }
        Ok(error)
    }
}

/// A `SyntaxError` that has the line of the expression and the position in it, which tracebacks show.
fn syntax_error(error: &ExprError) -> PyErr {
    let (Some(text), Some(span)) = (error.text(), error.span()) else {
        return PySyntaxError::new_err(error.to_string());
    };
    let start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[span.start..].find('\n').map_or(text.len(), |newline| span.start + newline);
    let column = |at: usize| text[start..at.min(end)].chars().count() + 1;
    let number = text[..start].matches('\n').count() + 1;
    // Tracebacks mark one character more at the end of a line.
    let (from, to) = (column(span.start), column(span.end).max(column(span.start) + 1));
    // Tracebacks print the line as it is.
    let line = text[start..end].replace(|sign: char| sign.is_control() && sign != '\t', "\u{fffd}");
    let place = ("<expression>", number, from, line, number, to);
    PySyntaxError::new_err((error.kind().to_string(), place))
}

/// The error for a shape with more elements than an array can have.
pub(crate) fn too_large(shape: &[usize]) -> PyErr {
    shape_error(Error::TooLarge { shape: shape.into(), element: None })
}

/// NumPy's `AxisError`, which is both a `ValueError` and an `IndexError`.
fn axis_error(text: String) -> PyErr {
    Python::attach(|py| {
        let class = py.import("numpy.exceptions").and_then(|module| module.getattr("AxisError"));
        class.and_then(|class| class.call1((text,))).map_or_else(|error| error, PyErr::from_value)
    })
}

/// Converts an error about an expression.
pub(crate) fn expression_error(error: ExprError) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ExprErrorKind::Axis { .. } => axis_error(text),
        ExprErrorKind::TooManyIndices { .. }
        | ExprErrorKind::IndexOutOfBounds { .. }
        | ExprErrorKind::IndexTooLarge(_) => PyIndexError::new_err(text),
        ExprErrorKind::RepeatedAxis(_)
        | ExprErrorKind::Permutation { .. }
        | ExprErrorKind::Squeeze { .. }
        | ExprErrorKind::EmptyReduction(_)
        | ExprErrorKind::NeedsInitial(_) => PyValueError::new_err(text),
        ExprErrorKind::ReductionType { .. }
        | ExprErrorKind::MaskType(_)
        | ExprErrorKind::NamedDims(_)
        | ExprErrorKind::NotElementWise => PyTypeError::new_err(text),
        ExprErrorKind::Shapes(Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        ExprErrorKind::Shapes(shapes) => broadcast_error(shapes, text),
        ExprErrorKind::OutputShape { .. } => PyValueError::new_err(text),
        ExprErrorKind::UnknownName { .. } | ExprErrorKind::NoSuchFunction(_) => PyNameError::new_err(text),
        ExprErrorKind::NoSuchAttribute(_) => PyAttributeError::new_err(text),
        ExprErrorKind::UnsupportedIndex(_) | ExprErrorKind::TwoEllipses => PyIndexError::new_err(text),
        ExprErrorKind::ZeroStep => PyValueError::new_err(text),
        ExprErrorKind::DoesNotFit { .. } => PyOverflowError::new_err(text),
        ExprErrorKind::Stopped => PyKeyboardInterrupt::new_err(text),
        ExprErrorKind::UnusedName { .. }
        | ExprErrorKind::GivenTwice(_)
        | ExprErrorKind::Arguments { .. }
        | ExprErrorKind::WrongType { .. }
        | ExprErrorKind::NoCommonType(_)
        | ExprErrorKind::DifferentTypes(_)
        | ExprErrorKind::NoCast { .. }
        | ExprErrorKind::Strings
        | ExprErrorKind::NoSuchType(_)
        | ExprErrorKind::MissingArgument { .. }
        | ExprErrorKind::TooManyArguments { .. }
        | ExprErrorKind::NoSuchKeyword { .. }
        | ExprErrorKind::InvalidArgument { .. }
        | ExprErrorKind::MethodNotCalled(_)
        | ExprErrorKind::NoneAsValue
        | ExprErrorKind::OutputType { .. } => PyTypeError::new_err(text),
        _ => syntax_error(&error),
    }
}
