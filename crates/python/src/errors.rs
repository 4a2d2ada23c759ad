//! Rust errors as Python exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyNameError, PyOverflowError, PySyntaxError, PyTypeError,
    PyValueError,
};
use unishape::Error;
use unishape::expr::{ExprError, ExprErrorKind};

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
    match error.kind() {
        ExprErrorKind::Shapes(Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        ExprErrorKind::Shapes(_) | ExprErrorKind::OutputShape { .. } => PyValueError::new_err(text),
        ExprErrorKind::UnknownName { .. } | ExprErrorKind::NoSuchFunction(_) => PyNameError::new_err(text),
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
        | ExprErrorKind::OutputType { .. } => PyTypeError::new_err(text),
        _ => PySyntaxError::new_err(text),
    }
}
