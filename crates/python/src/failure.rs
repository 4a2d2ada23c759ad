//! What goes wrong, as Python's exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyNameError, PyOverflowError, PySyntaxError, PyTypeError,
    PyValueError,
};
use unishape::Error;
use unishape::expr::{ExprError, Problem};

/// Of shapes.
pub(crate) fn of_shapes(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// A shape that no array can have.
pub(crate) fn too_large(shape: &[usize]) -> PyErr {
    of_shapes(Error::TooLarge { shape: shape.into(), element: None })
}

/// Of expressions.
pub(crate) fn of_expression(error: ExprError) -> PyErr {
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
