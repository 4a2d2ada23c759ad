//! Opens models that are not run.

use super::args::DimArgs;
use crate::error::CliError;
use std::path::Path;
use unishape::text;
use unishape_onnx::{DeclaredDim, Error, ErrorKind, FixedSizes, Model};

/// Opens a model that is not run. A file that is not a model has the exit code of one that cannot be read.
pub(super) fn open(path: &Path) -> Result<Model, CliError> {
    Model::open_lazily(path).map_err(CliError::io)
}

/// The error of a model, with the name of its file.
pub(super) fn model_error(file: &str, error: &Error) -> CliError {
    let message = format!("{file}: {error}");
    match error.kind() {
        ErrorKind::Shapes(shapes) => CliError::broadcast(shapes, message),
        ErrorKind::File(_) => CliError::io(message),
        _ => CliError::input(message),
    }
}

/// Sizes of symbolic dimensions; fails if no input has a dimension of that name.
pub(super) fn fixed_sizes(args: &DimArgs, model: &Model) -> Result<FixedSizes, CliError> {
    let dims = model.graph().inputs.iter().flat_map(|input| input.shape.iter().flatten());
    let mut names: Vec<&str> = dims
        .filter_map(|dim| match dim {
            DeclaredDim::Symbol(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    for (name, _) in &args.sizes {
        if !names.contains(&name.as_str()) {
            let known = match names.is_empty() {
                true => "the inputs have no symbolic dimensions".into(),
                false => format!("those of the inputs are {}", text::truncate(&names.join(", "), 200)),
            };
            let name = text::truncate(name, 60);
            return Err(CliError::usage(format!("--dim {name}: no such symbolic dimension; {known}")));
        }
    }
    Ok(args.sizes.iter().cloned().collect())
}
