//! Inputs given as shapes, or as `.npy` files that have one.

use crate::error::CliError;
use crate::paths::{file_name, has_extension};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use unishape::Extent;
use unishape::notation::parse_shape;
use unishape_npy::{Header, NpyError};

/// An input with a shape.
pub(crate) struct ShapeInput {
    pub(crate) shape: Vec<Extent>,
    /// The file that the shape was read from.
    pub(crate) file: Option<PathBuf>,
}

impl ShapeInput {
    /// Parses a shape, or reads the header of an `.npy` file.
    ///
    /// A valid shape is never a file name, so that a command means the same in every directory: the file `4`
    /// is written `./4`.
    pub(crate) fn read(word: &OsStr) -> Result<ShapeInput, CliError> {
        let path = Path::new(word);
        let looks_like_file = has_extension(path, "npy") || has_extension(path, "npz");
        // The replacement character for invalid UTF-8 is not part of any shape.
        match parse_shape(&word.to_string_lossy()) {
            Ok(shape) => Ok(ShapeInput { shape, file: None }),
            Err(error) if !looks_like_file && !path.is_file() => Err(CliError::usage(error)),
            Err(_) => {
                // The elements are not needed, so the file may be truncated after its header.
                let header =
                    File::open(path).map_err(NpyError::Io).and_then(|mut file| Header::read(&mut file));
                let header = header.map_err(|error| {
                    CliError::failed(NpyError::InFile { path: path.into(), error: Box::new(error) })
                })?;
                let shape = header.shape.into_iter().map(Extent::from).collect();
                Ok(ShapeInput { shape, file: Some(path.into()) })
            }
        }
    }

    /// The name of the input in figures and errors.
    pub(crate) fn name(&self, index: usize) -> String {
        self.file.as_deref().map_or_else(|| format!("input {index}"), file_name)
    }
}

pub(crate) fn read_all(words: &[OsString]) -> Result<Vec<ShapeInput>, CliError> {
    words.iter().map(|word| ShapeInput::read(word)).collect()
}

pub(crate) fn names(inputs: &[ShapeInput]) -> Vec<String> {
    inputs.iter().enumerate().map(|(index, input)| input.name(index)).collect()
}
