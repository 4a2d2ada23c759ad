//! The error type of this crate.

use crate::wire::WireError;
use std::fmt;
use std::path::Path;
use unishape::text;

/// Length in characters to which names from files are truncated in messages.
const MAX_NAME_CHARS: usize = 60;

/// Error of an ONNX model or of its inputs, with its context.
///
/// ```
/// use unishape_onnx::{Model, ErrorKind};
///
/// let error = Model::read(b"not a model").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Malformed(_)));
/// assert!(error.to_string().starts_with("not an ONNX model: "));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Outermost first: a file, a node, an attribute.
    context: Vec<String>,
    kind: ErrorKind,
}

/// Kind of an error, with its message.
///
/// ```
/// use unishape_onnx::{Model, ErrorKind};
///
/// assert!(matches!(Model::open("missing.onnx").unwrap_err().kind(), ErrorKind::File(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read.
    File(String),
    /// The bytes are not the expected protobuf message.
    Malformed(String),
    /// The model violates the ONNX specification.
    Invalid(String),
    /// The model is valid ONNX, but uses a feature that this crate does not support.
    Unsupported(String),
    /// An input is missing, unknown, or does not match the model.
    Input(String),
    /// Shapes are incompatible, or a result is too large.
    Shapes(unishape::Error),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Error {
        Error { context: Vec::new(), kind }
    }

    pub(crate) fn malformed(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Malformed(message.to_string()))
    }

    pub(crate) fn invalid(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Invalid(message.to_string()))
    }

    pub(crate) fn unsupported(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Unsupported(message.to_string()))
    }

    pub(crate) fn input(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Input(message.to_string()))
    }

    pub(crate) fn missing_input(index: usize) -> Error {
        Error::invalid(format!("input {index} is missing"))
    }

    pub(crate) fn file(path: &Path, message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::File(message.to_string())).with_context(text::display_path(path))
    }

    /// Adds an outermost context.
    pub(crate) fn with_context(mut self, context: impl Into<String>) -> Error {
        self.context.insert(0, context.into());
        self
    }

    /// Kind of the error, with its message.
    ///
    /// ```
    /// use unishape_onnx::{Model, ErrorKind};
    ///
    /// let error = Model::read(&[0xff]).unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Malformed(_)));
    /// ```
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Where the error is, outermost first: a file, a node, an attribute.
    ///
    /// ```
    /// let error = unishape_onnx::Model::open("missing.onnx").unwrap_err();
    /// assert_eq!(error.context(), ["missing.onnx"]);
    /// ```
    pub fn context(&self) -> &[String] {
        &self.context
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for context in &self.context {
            write!(f, "{context}: ")?;
        }
        match &self.kind {
            ErrorKind::File(message)
            | ErrorKind::Malformed(message)
            | ErrorKind::Invalid(message)
            | ErrorKind::Unsupported(message)
            | ErrorKind::Input(message) => f.write_str(message),
            ErrorKind::Shapes(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<WireError> for Error {
    fn from(error: WireError) -> Error {
        Error::malformed(error)
    }
}

impl From<unishape::Error> for Error {
    fn from(error: unishape::Error) -> Error {
        Error::new(ErrorKind::Shapes(error))
    }
}

/// Sanitizes and truncates a name from a file for use in a message.
pub(crate) fn display_name(name: &str) -> String {
    text::truncate(name, MAX_NAME_CHARS)
}
