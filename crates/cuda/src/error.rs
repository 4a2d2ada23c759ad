//! Errors.

use std::fmt;
use unishape_kernels::DType;

/// Why an expression cannot be computed on a GPU.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The expression does not fit its values.
    Expr(Box<dyn std::error::Error + Send + Sync>),
    /// The loops have more iterations than a grid has threads.
    TooLarge,
    /// The program has more operations or arrays than a kernel can take.
    TooLong {
        /// Words of the kernel's argument, or operations.
        count: usize,
        /// The largest number.
        most: usize,
    },
    /// An array's address is not a multiple of its element size.
    Unaligned,
    /// The output has another shape than the result.
    OutputShape {
        /// Shape of the result.
        result: Vec<usize>,
        /// Shape of the output.
        output: Vec<usize>,
    },
    /// The output has another dtype than the result.
    OutputType {
        /// Dtype of the result.
        result: DType,
        /// Dtype of the output.
        output: DType,
    },
    /// A library was not found.
    NoLibrary {
        /// Names of its versions.
        names: Vec<String>,
        /// Folders where it was looked for, besides those of the dynamic loader.
        folders: Vec<String>,
        /// Why files with these names could not be loaded.
        problems: Vec<String>,
        /// How to get it.
        advice: Option<String>,
    },
    /// A library was found, but cannot be used.
    Library(String),
    /// A kernel was not compiled.
    Compile(String),
    /// The driver failed.
    Driver(String),
    /// An array is on another device than the others, or than the one that computes.
    OtherDevice,
    /// An address is not in the memory of a device.
    NotOnDevice,
    /// An array has another dtype than the elements that are copied.
    ElementType {
        /// Dtype of the array.
        array: DType,
        /// Dtype of the elements.
        elements: DType,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Expr(error) => error.fmt(f),
            Error::TooLarge => f.write_str("the arrays are too large for one kernel: compute them in parts"),
            Error::TooLong { count, most } => write!(
                f,
                "the expression is too long for one kernel ({count} of at most {most}): split it into several"
            ),
            Error::Unaligned => {
                f.write_str("an array's address is not a multiple of its element size: copy the array first")
            }
            Error::OutputShape { result, output } => {
                write!(f, "the output has shape {output:?}, but the result has shape {result:?}")
            }
            Error::OutputType { result, output } => {
                write!(f, "the output has dtype {output}, but the result has dtype {result}")
            }
            Error::NoLibrary { names, folders, problems, advice } => {
                write!(f, "{} not found", names.join(" or "))?;
                if !folders.is_empty() {
                    write!(f, " in {}, nor where the system looks for libraries", folders.join(", "))?;
                }
                if !problems.is_empty() {
                    write!(f, " ({})", problems.join("; "))?;
                }
                advice.iter().try_for_each(|advice| write!(f, "; {advice}"))
            }
            Error::Library(problem) => write!(f, "a CUDA library cannot be used: {problem}"),
            Error::NotOnDevice => {
                f.write_str("the address is of no GPU: arrays of the CPU have to be copied to one")
            }
            Error::OtherDevice => f.write_str("arrays are on different devices: copy them to one of them"),
            Error::ElementType { array, elements } => {
                write!(f, "the array has dtype {array}, not {elements}")
            }
            Error::Driver(problem) => write!(f, "CUDA: {problem}"),
            Error::Compile(problem) => write!(f, "a kernel cannot be compiled: {problem}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Expr(error) => Some(&**error),
            _ => None,
        }
    }
}
