//! Memory-mapped input files.

use crate::error::CliError;
use std::path::Path;
use unishape_npy::RawArray;

/// Maps the array of an `.npy` file.
#[allow(unsafe_code)]
pub(crate) fn map_array(path: &Path) -> Result<RawArray, CliError> {
    // Safety: the command does not write to its inputs. Results go to temporary files that are renamed when
    // complete; a rename keeps the mapped file. No other code in this process has a handle of the file. Only
    // another process could break the contract, by modifying an input while the command reads it: the
    // same race would give a wrong result with `read`, and the mapped bytes are only copied or read as numbers.
    // A truncated input is reported by `signals`.
    unsafe { RawArray::map(path) }.map_err(CliError::failed)
}
