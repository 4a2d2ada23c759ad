//! Inputs as they are written on the command line: shapes, or files that have one.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use unishape::Extent;
use unishape::notation::parse_shape;
use unishape::npy::Mapped;

/// One input.
pub(crate) struct Input {
    pub(crate) shape: Vec<Extent>,
    /// The file that it is the shape of.
    pub(crate) file: Option<PathBuf>,
}

impl Input {
    /// Reads a shape, or the header of an `.npy` file.
    pub(crate) fn read(word: &str) -> Result<Input, Failure> {
        let path = Path::new(word);
        let looks_like_file = path.extension().is_some_and(|ending| ending == "npy" || ending == "npz");
        if !looks_like_file && !path.is_file() {
            return Ok(Input { shape: parse_shape(word).map_err(Failure::usage)?, file: None });
        }
        let mapped = Mapped::open(path).map_err(Failure::failed)?;
        let shape = mapped.header().shape.iter().map(|&size| size.into()).collect();
        Ok(Input { shape, file: Some(path.into()) })
    }

    /// What it is called in pictures and errors.
    pub(crate) fn name(&self, number: usize) -> String {
        self.file.as_deref().map_or_else(|| format!("input {number}"), file_name)
    }
}

/// Reads all inputs.
pub(crate) fn read_all(words: &[String]) -> Result<Vec<Input>, Failure> {
    words.iter().map(|word| Input::read(word)).collect()
}

/// What inputs are called.
pub(crate) fn names(inputs: &[Input]) -> Vec<String> {
    inputs.iter().enumerate().map(|(number, input)| input.name(number)).collect()
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
