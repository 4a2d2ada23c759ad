//! File names, extensions and directories of paths.

use std::path::Path;

/// The last component of a path, as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Whether a file has this extension, in lower or upper case.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Whether a path names a format of arrays that is read, but not written: tables and files of tensors.
pub(crate) fn is_other_format(path: &Path) -> bool {
    ["csv", "tsv", "txt", "safetensors"].iter().any(|extension| has_extension(path, extension))
}

/// The directory of a file, which need not exist.
pub(crate) fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a path stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}
