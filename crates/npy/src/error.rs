//! What can be wrong with a file, said so that a person sees what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use unishape::notation::shape_text;
use unishape::text::{self, truncate};
use zip::result::ZipError;

/// How much of a text from a file is shown, in characters.
pub(crate) const LONGEST: usize = 80;

/// Why an array could not be read from a file or written to one.
///
/// ```
/// let error = unishape_npy::read_from(&b"PK\x03\x04..."[..]).unwrap_err();
/// assert_eq!(error.to_string(), "this is a zip archive, not an .npy file; read it as .npz");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum NpyError {
    /// The system could not read or write.
    Io(io::Error),
    /// An error in the file at a path.
    InFile {
        /// The path.
        path: PathBuf,
        /// What is wrong there.
        error: Box<NpyError>,
    },
    /// An error in one array of an `.npz` archive.
    InMember {
        /// The array's name.
        name: String,
        /// What is wrong there.
        error: Box<NpyError>,
    },
    /// The file does not begin as every `.npy` file does.
    NotNpy {
        /// It begins as a zip archive does, and so may be an `.npz` file.
        zip: bool,
    },
    /// A version of the format other than 1.0, 2.0 and 3.0.
    Version {
        /// The number before the point.
        major: u8,
        /// The number after it.
        minor: u8,
    },
    /// The file ends inside its header.
    HeaderTruncated,
    /// The header takes more bytes than any honest one, or than the format has room for.
    HeaderTooLong {
        /// How many bytes.
        bytes: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// The header's text is not the UTF-8 that version 3.0 asks for.
    Encoding {
        /// The first byte of the header's text that is not.
        at: usize,
    },
    /// The header's text is not the Python dictionary that it should be.
    Syntax {
        /// The byte of the header's text where reading it failed.
        at: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The header's dictionary lacks a key.
    MissingKey(&'static str),
    /// The header's dictionary has a key twice.
    DuplicateKey(&'static str),
    /// The header's dictionary has a key that is none of its own.
    UnknownKey(String),
    /// An element type that is not known.
    Descr {
        /// The type as the header gives it.
        descr: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The elements are Python objects.
    Objects,
    /// An element type that is known, but that no [`DType`](unishape::DType) is.
    NoTensor {
        /// The type as the header gives it.
        descr: String,
    },
    /// The array has more elements or bytes than this machine can count.
    TooLarge {
        /// Its shape.
        shape: Vec<usize>,
        /// The bytes of an element.
        item_size: usize,
    },
    /// The shape has more dimensions than any honest one.
    TooManyDimensions {
        /// How many are allowed.
        limit: usize,
    },
    /// The data ends too soon.
    Truncated {
        /// The bytes that the header promises.
        promised: u64,
        /// The bytes that there are.
        found: u64,
    },
    /// The data goes on where it should end.
    Surplus {
        /// The bytes that the header promises.
        promised: u64,
    },
    /// An element that cannot be read or written.
    Element {
        /// Its indices.
        index: Vec<usize>,
        /// What is wrong with it.
        problem: String,
    },
    /// The memory for the array was not to be had.
    OutOfMemory {
        /// How much it was, at the least.
        bytes: usize,
    },
    /// The zip archive is damaged, or cannot hold what it was given.
    Archive(String),
}

impl NpyError {
    /// What the zip crate says. (No `From`, since that would make the crate part of the interface.)
    pub(crate) fn archive(error: ZipError) -> NpyError {
        match error {
            ZipError::Io(error) => NpyError::Io(error),
            other => NpyError::Archive(other.to_string()),
        }
    }

    /// The error, named after the file it is in.
    pub(crate) fn in_file(self, path: &Path) -> NpyError {
        NpyError::InFile { path: path.into(), error: Box::new(self) }
    }

    /// The error, named after the array it is in.
    pub(crate) fn in_member(self, name: &str) -> NpyError {
        NpyError::InMember { name: name.into(), error: Box::new(self) }
    }
}

impl fmt::Display for NpyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NpyError::Io(error) => error.fmt(f),
            NpyError::InFile { path, error } => write!(f, "{}: {error}", text::display_path(path)),
            NpyError::InMember { name, error } => write!(f, "array '{}': {error}", truncate(name, LONGEST)),
            NpyError::NotNpy { zip: true } => {
                write!(f, "this is a zip archive, not an .npy file; read it as .npz")
            }
            NpyError::NotNpy { zip: false } => {
                write!(f, "this is no .npy file: it does not begin with \\x93NUMPY")
            }
            NpyError::Version { major, minor } => write!(
                f,
                "version {major}.{minor} of the .npy format is not known; \
                 save the array again as version 1.0, 2.0 or 3.0"
            ),
            NpyError::HeaderTruncated => write!(f, "truncated: the file ends inside its header"),
            NpyError::HeaderTooLong { bytes, limit } => {
                write!(f, "the header takes {bytes} bytes; more than {limit} are refused")
            }
            NpyError::Encoding { at } => write!(f, "byte {at} of the header is not UTF-8"),
            NpyError::Syntax { at, problem } => write!(f, "byte {at} of the header: {problem}"),
            NpyError::MissingKey(key) => write!(f, "the header has no '{key}'"),
            NpyError::DuplicateKey(key) => write!(f, "the header has '{key}' twice"),
            NpyError::UnknownKey(key) => write!(
                f,
                "the header has a key '{}'; only 'descr', 'fortran_order' and 'shape' are known",
                truncate(key, LONGEST)
            ),
            NpyError::Descr { descr, problem } => {
                write!(f, "element type {} is not known: {problem}", truncate(descr, LONGEST))
            }
            NpyError::Objects => write!(
                f,
                "the elements are pickled Python objects, which are not read: \
                 reading them would run code from the file; save them with another element type"
            ),
            NpyError::NoTensor { descr } => write!(
                f,
                "elements of type {} are known by their size alone, not by their values; \
                 convert them to another type first",
                truncate(descr, LONGEST)
            ),
            NpyError::TooLarge { shape, item_size } => write!(
                f,
                "{} with elements of {item_size} bytes is more than this machine can count",
                truncate(&shape_text(shape), LONGEST)
            ),
            NpyError::TooManyDimensions { limit } => {
                write!(f, "the shape has more than {limit} dimensions; no more are read or written")
            }
            NpyError::Truncated { promised, found } => write!(
                f,
                "truncated: the header promises {promised} bytes of data, the file has {found}; \
                 copy or save it again"
            ),
            NpyError::Surplus { promised } => {
                write!(f, "there are more than the {promised} bytes of data that the header promises")
            }
            NpyError::Element { index, problem } => {
                write!(f, "element {}: {problem}", truncate(&format!("{index:?}"), LONGEST))
            }
            NpyError::OutOfMemory { bytes } => write!(f, "cannot allocate {bytes} bytes"),
            NpyError::Archive(problem) => write!(f, "zip archive: {}", text::sanitize(problem)),
        }
    }
}

impl std::error::Error for NpyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NpyError::Io(error) => Some(error),
            // Their text holds the inner error's already, so the chain goes on behind that.
            NpyError::InFile { error, .. } | NpyError::InMember { error, .. } => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for NpyError {
    fn from(error: io::Error) -> NpyError {
        NpyError::Io(error)
    }
}
