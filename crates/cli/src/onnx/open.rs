//! Opens models that are not run.

use super::args::DimArgs;
use crate::error::CliError;
use std::path::Path;
use unishape::text;
use unishape_onnx::{DeclaredDim, FixedSizes, Model};

/// Exit code if a file is missing or unreadable, or is not a model.
pub(super) const UNREADABLE: u8 = 4;

/// Opens a model that is not run.
pub(super) fn open(path: &Path) -> Result<Model, CliError> {
    Model::open(path).map_err(|error| CliError::Code(UNREADABLE, error.to_string()))
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
