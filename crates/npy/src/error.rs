//! Errors of reading and writing files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use unishape::notation::shape_text;
use unishape::text::{self, truncate};
use zip::result::ZipError;

/// Text from a file is truncated to this many characters in messages.
pub(crate) const MAX_SHOWN: usize = 80;

/// Why an array could not be read from a file or written to one.
///
/// ```
/// let error = unishape_npy::read_from(&b"PK\x03\x04..."[..]).unwrap_err();
/// assert_eq!(error.to_string(), "this is a zip archive, not an .npy file; read it as .npz");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum NpyError {
    /// Reading or writing failed.
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
    /// The file does not begin with the magic bytes of `.npy` files.
    NotNpy {
        /// It begins as a zip archive does, as `.npz` files do.
        zip: bool,
    },
    /// The version of the format is not 1.0, 2.0 or 3.0.
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The file ends inside its header.
    HeaderTruncated,
    /// The header exceeds the limit of this crate or of the format.
    HeaderTooLong {
        /// Length of the header, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The header of version 3.0 is not UTF-8.
    Encoding {
        /// Offset of the first invalid byte in the header's text.
        at: usize,
    },
    /// The header's text is not a Python dictionary of the expected form.
    Syntax {
        /// Offset in the header's text, in bytes.
        at: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The header's dictionary lacks a key.
    MissingKey(&'static str),
    /// The header's dictionary has a key twice.
    DuplicateKey(&'static str),
    /// The header's dictionary has an unknown key.
    UnknownKey(String),
    /// The dtype is unknown.
    Descr {
        /// Its description in the header.
        descr: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The elements are Python objects.
    Objects,
    /// The dtype has no [`DType`](unishape::DType): elements can only be copied.
    NoTensor {
        /// Its description in the header.
        descr: String,
    },
    /// The array has more elements or bytes than this machine can address.
    TooLarge {
        /// Its shape.
        shape: Vec<usize>,
        /// Size of an element, in bytes.
        item_size: usize,
    },
    /// The shape has more dimensions than the limit.
    TooManyDimensions {
        /// The limit.
        limit: usize,
    },
    /// The file has less data than its header promises.
    Truncated {
        /// Size of the data by the header, in bytes.
        promised: u64,
        /// Size of the data in the file, in bytes.
        found: u64,
    },
    /// There is more data than the header promises.
    Surplus {
        /// Size of the data by the header, in bytes.
        promised: u64,
    },
    /// An element cannot be read or written.
    Element {
        /// Its index.
        index: Vec<usize>,
        /// What is wrong with it.
        problem: String,
    },
    /// The memory for the array could not be allocated.
    OutOfMemory {
        /// Minimum size of the allocation, in bytes.
        bytes: usize,
    },
    /// The zip archive is damaged, or cannot hold an array.
    Archive(String),
}

impl NpyError {
    /// Converts an error of the zip crate.
    ///
    /// `From` would make that crate part of the public API.
    pub(crate) fn archive(error: ZipError) -> NpyError {
        match error {
            ZipError::Io(error) => NpyError::Io(error),
            other => NpyError::Archive(other.to_string()),
        }
    }

    /// Adds the path of the file.
    pub(crate) fn in_file(self, path: &Path) -> NpyError {
        NpyError::InFile { path: path.into(), error: Box::new(self) }
    }

    /// Adds the name of the array in the archive.
    pub(crate) fn in_member(self, name: &str) -> NpyError {
        NpyError::InMember { name: name.into(), error: Box::new(self) }
    }
}

impl fmt::Display for NpyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NpyError::Io(error) => error.fmt(f),
            NpyError::InFile { path, error } => write!(f, "{}: {error}", text::display_path(path)),
            NpyError::InMember { name, error } => write!(f, "array '{}': {error}", truncate(name, MAX_SHOWN)),
            NpyError::NotNpy { zip: true } => {
                write!(f, "this is a zip archive, not an .npy file; read it as .npz")
            }
            NpyError::NotNpy { zip: false } => {
                write!(f, "this is not an .npy file: it does not begin with \\x93NUMPY")
            }
            NpyError::Version { major, minor } => write!(
                f,
                "unsupported version {major}.{minor} of the .npy format; \
                 save the array again as version 1.0, 2.0 or 3.0"
            ),
            NpyError::HeaderTruncated => write!(f, "truncated: the file ends inside its header"),
            NpyError::HeaderTooLong { bytes, limit } => {
                write!(f, "the header has {bytes} bytes; the limit is {limit}")
            }
            NpyError::Encoding { at } => write!(f, "byte {at} of the header is not UTF-8"),
            NpyError::Syntax { at, problem } => write!(f, "byte {at} of the header: {problem}"),
            NpyError::MissingKey(key) => write!(f, "the header has no '{key}'"),
            NpyError::DuplicateKey(key) => write!(f, "the header has '{key}' twice"),
            NpyError::UnknownKey(key) => write!(
                f,
                "the header has an unknown key '{}'; its keys are 'descr', 'fortran_order' and 'shape'",
                truncate(key, MAX_SHOWN)
            ),
            NpyError::Descr { descr, problem } => {
                write!(f, "unsupported dtype {}: {problem}", truncate(descr, MAX_SHOWN))
            }
            NpyError::Objects => write!(
                f,
                "the elements are pickled Python objects; \
                 reading them would run code from the file; save them with another dtype"
            ),
            NpyError::NoTensor { descr } => write!(
                f,
                "elements of dtype {} can be copied, but not read as values; \
                 convert them to another dtype first",
                truncate(descr, MAX_SHOWN)
            ),
            NpyError::TooLarge { shape, item_size } => write!(
                f,
                "{} with elements of {item_size} bytes is larger than this machine can address",
                truncate(&shape_text(shape), MAX_SHOWN)
            ),
            NpyError::TooManyDimensions { limit } => {
                write!(f, "the shape has more than {limit} dimensions")
            }
            NpyError::Truncated { promised, found } => write!(
                f,
                "truncated: the header promises {promised} bytes of data, the file has {found}; \
                 copy or save it again"
            ),
            NpyError::Surplus { promised } => {
                write!(f, "the data is longer than the {promised} bytes that the header promises")
            }
            NpyError::Element { index, problem } => {
                write!(f, "element {}: {problem}", truncate(&format!("{index:?}"), MAX_SHOWN))
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
            // Their text includes the inner error's, so the chain continues with its source.
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
