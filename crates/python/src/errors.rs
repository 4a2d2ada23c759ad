//! Rust errors as Python exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyNameError, PyOverflowError, PySyntaxError, PyTypeError,
    PyValueError,
};
use unishape::Error;
use unishape::expr::{ExprError, Problem};

/// Converts an error about shapes.
pub(crate) fn shape_error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The error for a shape with more elements than an array can have.
pub(crate) fn too_large(shape: &[usize]) -> PyErr {
    shape_error(Error::TooLarge { shape: shape.into(), element: None })
}

/// Converts an error about an expression.
pub(crate) fn expression_error(error: ExprError) -> PyErr {
    let text = error.to_string();
    match error.problem() {
        Problem::Shapes(Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        Problem::Shapes(_) | Problem::OutputShape { .. } => PyValueError::new_err(text),
        Problem::UnknownName { .. } | Problem::NoSuchFunction(_) => PyNameError::new_err(text),
        Problem::DoesNotFit { .. } => PyOverflowError::new_err(text),
        Problem::Stopped => PyKeyboardInterrupt::new_err(text),
        Problem::UnusedName { .. }
        | Problem::GivenTwice(_)
        | Problem::Arguments { .. }
        | Problem::WrongType { .. }
        | Problem::NoCommonType(_)
        | Problem::DifferentTypes(_)
        | Problem::NoCast { .. }
        | Problem::Strings
        | Problem::NoSuchType(_)
        | Problem::OutputType { .. } => PyTypeError::new_err(text),
        _ => PySyntaxError::new_err(text),
    }
}
