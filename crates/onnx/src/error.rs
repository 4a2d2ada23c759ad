//! What can be wrong with a model, or with what it is given.

use crate::wire::WireError;
use std::fmt;
use std::path::Path;
use unishape::text;

/// Names longer than this are cut where they are told, in characters.
const NAME_LENGTH: usize = 60;

/// What is wrong, and where.
///
/// ```
/// use unishape_onnx::{Model, Problem};
///
/// let error = Model::read(b"no model").unwrap_err();
/// assert!(matches!(error.problem(), Problem::Malformed(_)));
/// assert!(error.to_string().starts_with("this is no ONNX model: "));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// From the outermost to the innermost: a node, an attribute of it.
    places: Vec<String>,
    problem: Problem,
}

/// What is wrong.
///
/// ```
/// use unishape_onnx::{Model, Problem};
///
/// assert!(matches!(Model::open("nowhere.onnx").unwrap_err().problem(), Problem::File(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// A file cannot be read.
    File(String),
    /// Bytes are not what they should be.
    Malformed(String),
    /// The model is not what ONNX allows.
    Invalid(String),
    /// What is not done here, though ONNX has it.
    Unsupported(String),
    /// What was given does not go with the model.
    Given(String),
    /// Shapes are incompatible, or a result is too large.
    Shapes(unishape::Error),
}

impl Error {
    pub(crate) fn new(problem: Problem) -> Error {
        Error { places: Vec::new(), problem }
    }

    pub(crate) fn malformed(problem: impl fmt::Display) -> Error {
        Error::new(Problem::Malformed(problem.to_string()))
    }

    pub(crate) fn invalid(problem: impl fmt::Display) -> Error {
        Error::new(Problem::Invalid(problem.to_string()))
    }

    pub(crate) fn unsupported(problem: impl fmt::Display) -> Error {
        Error::new(Problem::Unsupported(problem.to_string()))
    }

    pub(crate) fn given(problem: impl fmt::Display) -> Error {
        Error::new(Problem::Given(problem.to_string()))
    }

    pub(crate) fn file(path: &Path, problem: impl fmt::Display) -> Error {
        Error::new(Problem::File(problem.to_string())).at(text::display_path(path))
    }

    /// The same, with a place around those that are known.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Error {
        self.places.insert(0, place.into());
        self
    }

    /// What is wrong.
    ///
    /// ```
    /// use unishape_onnx::{Model, Problem};
    ///
    /// let error = Model::read(&[0xff]).unwrap_err();
    /// assert!(matches!(error.problem(), Problem::Malformed(_)));
    /// ```
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Where it is wrong, from the outermost place to the innermost: a node, an attribute of it.
    ///
    /// ```
    /// let error = unishape_onnx::Model::open("nowhere.onnx").unwrap_err();
    /// assert_eq!(error.places(), ["nowhere.onnx"]);
    /// ```
    pub fn places(&self) -> &[String] {
        &self.places
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in &self.places {
            write!(f, "{place}: ")?;
        }
        match &self.problem {
            Problem::File(problem)
            | Problem::Malformed(problem)
            | Problem::Invalid(problem)
            | Problem::Unsupported(problem)
            | Problem::Given(problem) => f.write_str(problem),
            Problem::Shapes(error) => error.fmt(f),
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
        Error::new(Problem::Shapes(error))
    }
}

/// A name from a file, as it is told.
pub(crate) fn named(name: &str) -> String {
    text::truncate(name, NAME_LENGTH)
}
