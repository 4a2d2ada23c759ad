//! Errors of opening and reading arrays.

use std::error::Error;
use std::fmt;
use std::io;
use unishape::text;
use unishape_npy::NpyError;

/// Why an array could not be opened or read.
///
/// The kinds are those of exit codes: the text is wrong, the system failed, or the contents are wrong.
///
/// ```
/// use unishape_files::{FileError, Location};
///
/// let error = Location::parse("d.bin:float33:3".as_ref()).unwrap_err();
/// assert!(matches!(error, FileError::Usage(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The text does not name an array, or names one that the file does not have.
    Usage(String),
    /// The system could not open or read a file.
    Io(String),
    /// The contents of a file are invalid or not supported.
    Content(String),
}

impl FileError {
    /// Adds the name of the file to an error of the system.
    ///
    /// ```
    /// use unishape_files::FileError;
    ///
    /// let error = FileError::io("a.npy", &std::io::Error::other("no access"));
    /// assert_eq!(error.to_string(), "a.npy: no access");
    /// ```
    pub fn io(name: &str, error: &io::Error) -> FileError {
        FileError::Io(format!("{}: {error}", text::sanitize(name)))
    }

    /// Adds the name of the file to a problem with its contents.
    ///
    /// ```
    /// use unishape_files::FileError;
    ///
    /// assert_eq!(FileError::content("a.csv", "it is empty").to_string(), "a.csv: it is empty");
    /// ```
    pub fn content(name: &str, problem: impl fmt::Display) -> FileError {
        FileError::Content(format!("{}: {}", text::sanitize(name), text::sanitize(&problem.to_string())))
    }
}

impl From<NpyError> for FileError {
    fn from(error: NpyError) -> FileError {
        let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        // Others are of a decoder: a wrong checksum, or compressed bytes that are damaged.
        let is_of_system = io.is_some_and(|error| error.raw_os_error().is_some());
        let message = error.to_string();
        if is_of_system { FileError::Io(message) } else { FileError::Content(message) }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Usage(message) | FileError::Io(message) | FileError::Content(message) => {
                f.write_str(message)
            }
        }
    }
}

impl Error for FileError {}
