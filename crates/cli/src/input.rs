//! Inputs as they are written on the command line: shapes, or files that have one.

use crate::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use unishape::Extent;
use unishape::notation::parse_shape;
use unishape_npy::{Header, NpyError};

/// One input.
pub(crate) struct Input {
    pub(crate) shape: Vec<Extent>,
    /// The file that it is the shape of.
    pub(crate) file: Option<PathBuf>,
}

impl Input {
    /// Reads a shape, or the header of an `.npy` file.
    ///
    /// What is a shape is one whatever files there are, so that a command means the same in every
    /// folder: a file called `4` is `./4`.
    pub(crate) fn read(word: &OsStr) -> Result<Input, Failure> {
        let path = Path::new(word);
        let looks_like_file = has_ending(path, "npy") || has_ending(path, "npz");
        // Where it is no text, the replacement for that is no part of a shape either.
        match parse_shape(&word.to_string_lossy()) {
            Ok(shape) => Ok(Input { shape, file: None }),
            Err(error) if !looks_like_file && !path.is_file() => Err(Failure::usage(error)),
            Err(_) => {
                // The elements are not needed, nor need they all be there.
                let header =
                    File::open(path).map_err(NpyError::Io).and_then(|mut file| Header::read(&mut file));
                let header = header.map_err(|error| {
                    Failure::failed(NpyError::InFile { path: path.into(), error: Box::new(error) })
                })?;
                let shape = header.shape.into_iter().map(Extent::from).collect();
                Ok(Input { shape, file: Some(path.into()) })
            }
        }
    }

    /// What it is called in pictures and errors.
    pub(crate) fn name(&self, number: usize) -> String {
        self.file.as_deref().map_or_else(|| format!("input {number}"), file_name)
    }
}

/// Reads all inputs.
pub(crate) fn read_all(words: &[OsString]) -> Result<Vec<Input>, Failure> {
    words.iter().map(|word| Input::read(word)).collect()
}

/// What inputs are called.
pub(crate) fn names(inputs: &[Input]) -> Vec<String> {
    inputs.iter().enumerate().map(|(number, input)| input.name(number)).collect()
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Whether a file has this ending, which may be written in capitals.
pub(crate) fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|its| its.eq_ignore_ascii_case(ending))
}
