//! Rust errors as Python exceptions.

use pyo3::exceptions::{
    PyAttributeError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyNameError, PyOverflowError,
    PySyntaxError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
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
        ExprErrorKind::TooManyIndices { .. } | ExprErrorKind::IndexOutOfBounds { .. } => {
            PyIndexError::new_err(text)
        }
        ExprErrorKind::RepeatedAxis(_)
        | ExprErrorKind::Permutation { .. }
        | ExprErrorKind::Squeeze { .. }
        | ExprErrorKind::EmptyReduction(_)
        | ExprErrorKind::NeedsInitial(_) => PyValueError::new_err(text),
        ExprErrorKind::ReductionType { .. } | ExprErrorKind::NamedDims(_) | ExprErrorKind::NotElementWise => {
            PyTypeError::new_err(text)
        }
        ExprErrorKind::Shapes(Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        ExprErrorKind::Shapes(_) | ExprErrorKind::OutputShape { .. } => PyValueError::new_err(text),
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
        _ => PySyntaxError::new_err(text),
    }
}
