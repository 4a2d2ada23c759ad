//! Inputs given as shapes, or as files of arrays that have one.

use crate::dim_names::NamedShape;
use crate::error::CliError;
use crate::sources::{OpenArray, array_header, location_of, open_array};
use std::ffi::{OsStr, OsString};
use unishape::Extent;
use unishape::notation::parse_shape;
use unishape_files::{Location, is_stream};

/// An input with a shape.
pub(crate) struct ShapeInput {
    pub(crate) shape: Vec<Extent>,
    /// The names of its dimensions, if they have any.
    pub(crate) dim_names: Vec<Option<String>>,
    /// The file that the shape was read from.
    pub(crate) file: Option<Location>,
    /// The array itself, where it can be read only once.
    pub(crate) array: Option<OpenArray>,
}

impl ShapeInput {
    /// Parses a shape, or reads the shape of an array in a file.
    ///
    /// A valid shape is never a file name, so that a command means the same in every directory: the file `4`
    /// is written `./4`.
    pub(crate) fn read(word: &OsStr) -> Result<ShapeInput, CliError> {
        // The replacement character for invalid UTF-8 is not part of any shape.
        match parse_shape(&word.to_string_lossy()) {
            Ok(shape) => Ok(ShapeInput::new(shape)),
            Err(error) => match (NamedShape::parse(&word.to_string_lossy()), location_of(word)?) {
                (Some(named), _) => Ok(ShapeInput { dim_names: named.names, ..ShapeInput::new(named.shape) }),
                (None, Some(location)) => ShapeInput::of_file(location),
                (None, None) => Err(CliError::usage(error)),
            },
        }
    }

    fn of_file(location: Location) -> Result<ShapeInput, CliError> {
        let extents = |shape: &[usize]| shape.iter().copied().map(Extent::from).collect();
        if is_stream(&location) {
            let array = open_array(location.clone())?;
            let shape = extents(&array.source.header().shape);
            return Ok(ShapeInput { file: Some(location), array: Some(array), ..ShapeInput::new(shape) });
        }
        let shape = extents(&array_header(&location)?.shape);
        Ok(ShapeInput { file: Some(location), ..ShapeInput::new(shape) })
    }

    /// An input without names or a file.
    fn new(shape: Vec<Extent>) -> ShapeInput {
        ShapeInput { dim_names: vec![None; shape.len()], shape, file: None, array: None }
    }

    /// The shape with its names.
    pub(crate) fn named_shape(&self) -> NamedShape {
        NamedShape { shape: self.shape.clone(), names: self.dim_names.clone() }
    }

    /// The name of the input in figures and errors.
    pub(crate) fn name(&self, index: usize) -> String {
        self.file.as_ref().map_or_else(|| format!("input {index}"), short_name)
    }
}

/// The file name of a location, with the name of an array after it.
pub(crate) fn short_name(location: &Location) -> String {
    let path = location.path().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    match (location, path) {
        (Location::Member { name: Some(name), .. }, Some(path)) => format!("{path}:{name}"),
        (_, Some(path)) => path.into_owned(),
        (location, None) => location.to_string(),
    }
}

pub(crate) fn read_all(words: &[OsString]) -> Result<Vec<ShapeInput>, CliError> {
    words.iter().map(|word| ShapeInput::read(word)).collect()
}

pub(crate) fn names(inputs: &[ShapeInput]) -> Vec<String> {
    inputs.iter().enumerate().map(|(index, input)| input.name(index)).collect()
}
