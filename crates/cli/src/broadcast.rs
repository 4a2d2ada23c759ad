//! `unishape broadcast`: arrays in files, stretched to their common shape and written to files.

use crate::args::BroadcastArgs;
use crate::columns::{max_width, pad};
use crate::destination::{
    check_directory_exists, check_free_space, check_target, destination_text, free_space, in_directory,
};
use crate::error::CliError;
use crate::mapped::map_array;
use crate::output::{commit, print_info, write_error};
use crate::output_names::output_file_names;
use crate::paths::{file_name, has_extension, is_stdout, parent_directory};
use crate::progress::{Progress, ProgressWriter, Total};
use indicatif::BinaryBytes;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use unishape::notation::short_shape_text;
use unishape::{Rules, broadcast_shapes_with, text};
use unishape_atomic_file::resolve_target;
use unishape_npy::{Header, NpzWriter, RawArray, WriteBroadcastError};

/// Upper bound of the bytes that an archive adds to each array. Only for the check of free space: printed
/// sizes and the progress bar count the arrays alone.
const ARCHIVE_OVERHEAD: u64 = 1024;

pub(crate) fn run(args: BroadcastArgs) -> Result<(), CliError> {
    let plan = WritePlan::new(&args)?;
    print_info(args.writing.quiet, &plan.text());
    if args.writing.dry_run {
        return Ok(());
    }
    Progress::run(Total::Bytes(plan.total), args.writing.quiet, |progress| plan.write(progress))
}

/// Everything that will be written, known before the first byte is.
struct WritePlan {
    rules: Rules,
    shape: Vec<usize>,
    arrays: Vec<PlannedArray>,
    /// The bytes of all results.
    total: u64,
    /// The bytes of disk space that they need.
    needed: u64,
    /// The archive for all arrays; `None` for one file per array.
    archive: Option<PathBuf>,
    /// The directory of the results, and whether it exists.
    directory: PathBuf,
    directory_exists: bool,
    /// Free bytes on the disk of the directory.
    free: Option<u64>,
    /// Whether existing files may be replaced.
    force: bool,
}

/// An array and its result file.
struct PlannedArray {
    input: RawArray,
    header: Header,
    bytes: u64,
    /// The file name of the result, in the directory or in the archive.
    name: OsString,
    /// The path of the result, if it has a file of its own.
    path: PathBuf,
}

impl WritePlan {
    fn new(args: &BroadcastArgs) -> Result<WritePlan, CliError> {
        let rules = args.rules.rules();
        let inputs = args.inputs.iter().map(|path| map_array(path)).collect::<Result<Vec<_>, _>>()?;
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| &input.header().shape[..]).collect();
        let shape = broadcast_shapes_with(rules, &shapes).map_err(|error| {
            let names: Vec<String> = inputs.iter().map(|input| file_name(input.path())).collect();
            CliError::failed(error.named(&names))
        })?;
        let archive = archive_path(&args.out)?;
        let directory = match archive {
            Some(path) => parent_directory(path),
            None => &args.out,
        };
        let arrays = plan_arrays(inputs, &shape, directory, archive.is_some())?;
        let too_large = || CliError::failed("the total size of the results exceeds 2^64 bytes");
        let total = arrays.iter().try_fold(0u64, |total, array| total.checked_add(array.bytes));
        let total = total.ok_or_else(too_large)?;
        let members = if archive.is_some() { arrays.len() as u64 + 1 } else { 0 };
        let needed = members.checked_mul(ARCHIVE_OVERHEAD).and_then(|more| total.checked_add(more));
        let plan = WritePlan {
            rules,
            shape,
            arrays,
            total,
            needed: needed.ok_or_else(too_large)?,
            archive: archive.map(Path::to_path_buf),
            // A dangling symbolic link exists too, and is not a directory.
            directory_exists: fs::symlink_metadata(directory).is_ok(),
            free: free_space(directory),
            directory: directory.into(),
            force: args.writing.force,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Refuses to overwrite files, and results that cannot be written.
    fn check(&self) -> Result<(), CliError> {
        if self.directory_exists && !self.directory.is_dir() {
            return Err(CliError::usage(format!(
                "{} is not a directory; give a directory, or a file ending in .npz",
                text::display_path(&self.directory)
            )));
        }
        if self.archive.is_some() {
            check_directory_exists(&self.directory)?;
        }
        let inputs: HashMap<PathBuf, &Path> = self
            .arrays
            .iter()
            .map(|array| (resolve_target(array.input.path()), array.input.path()))
            .collect();
        let results: Vec<&Path> = match &self.archive {
            Some(archive) => vec![archive],
            None => self.arrays.iter().map(|array| &*array.path).collect(),
        };
        let mut targets = HashSet::new();
        for path in results {
            let target = resolve_target(path);
            if let Some(input) = inputs.get(&target) {
                let is_own =
                    |array: &PlannedArray| array.path == path && resolve_target(array.input.path()) == target;
                let whose = if self.arrays.iter().any(is_own) { "its own" } else { "another" };
                return Err(CliError::usage(format!(
                    "{} would be overwritten by {whose} result; choose another --out",
                    text::display_path(input)
                )));
            }
            check_target(path, self.force)?;
            if !targets.insert(target) {
                let path = text::display_path(path);
                return Err(CliError::failed(format!("{path} is a link to the file of another result")));
            }
        }
        check_free_space("the results need", self.needed, &self.directory, self.free)
    }

    /// A line for each array, and the destination.
    fn text(&self) -> String {
        let from: Vec<String> =
            self.arrays.iter().map(|array| short_shape_text(&array.input.header().shape)).collect();
        let names: Vec<String> = self.arrays.iter().map(PlannedArray::title).collect();
        let (name_width, from_width) = (max_width(&names), max_width(&from));
        let to = short_shape_text(&self.shape);
        let mut text = String::new();
        for ((array, name), from) in self.arrays.iter().zip(&names).zip(&from) {
            let bytes = BinaryBytes(array.bytes);
            let name = pad(name, name_width);
            text += &format!("{name}  {from:>from_width$} → {to}  {bytes}\n");
        }
        let destination = self.archive.as_ref().unwrap_or(&self.directory);
        text + &destination_text(self.total, destination, self.free) + "\n"
    }

    fn write(&self, progress: &Progress) -> Result<(), CliError> {
        in_directory(&self.directory, || match &self.archive {
            Some(archive) => self.write_archive(archive, progress),
            None => self.write_files(progress),
        })
    }

    /// Writes one file per array. They appear when all are complete.
    fn write_files(&self, progress: &Progress) -> Result<(), CliError> {
        let mut pending = Vec::new();
        for array in &self.arrays {
            let mut file = progress.create_file(&array.path, self.force)?;
            let mut writer = ProgressWriter::new(file.file(), progress);
            let header = array.header.write(&mut writer).map_err(|error| write_error(&array.path, &error));
            header
                .and_then(|()| self.write_elements(array, &array.path, &mut writer))
                .map_err(|error| progress.interruption_or(error))?;
            pending.push(file.finish());
        }
        commit(pending, &self.arrays.iter().map(|array| &*array.path).collect::<Vec<_>>())
    }

    fn write_archive(&self, archive: &Path, progress: &Progress) -> Result<(), CliError> {
        let mut file = progress.create_file(archive, self.force)?;
        let mut npz = NpzWriter::new(file.file());
        for array in &self.arrays {
            let member =
                npz.start(&array.member(), &array.header).map_err(|error| write_error(archive, &error));
            let written = member.and_then(|member| {
                progress.advance_bytes(array.header.encoded_len().unwrap_or(0));
                self.write_elements(array, archive, &mut ProgressWriter::new(member, progress))
            });
            written.map_err(|error| progress.interruption_or(error))?;
        }
        npz.finish().map_err(|error| progress.interruption_or(write_error(archive, &error)))?;
        commit(vec![file.finish()], &[archive])
    }

    /// Writes the stretched elements of an array. `result` is the file that is being written, for errors.
    fn write_elements(
        &self,
        array: &PlannedArray,
        result: &Path,
        writer: &mut impl Write,
    ) -> Result<(), CliError> {
        array.input.write_broadcast(self.rules, &self.shape, writer).map_err(|error| match error {
            WriteBroadcastError::Write(error) => write_error(result, &error),
            error => CliError::failed(error),
        })
    }
}

impl PlannedArray {
    /// The path of the input, and the name of the result if it differs.
    fn title(&self) -> String {
        let path = text::display_path(self.input.path());
        let name = text::display_path(Path::new(&self.name));
        // Compared as displayed: in an archive, a name that is not UTF-8 differs but looks the same.
        if text::sanitize(&file_name(self.input.path())) == name {
            path
        } else {
            format!("{path} → {name}")
        }
    }

    /// The name in an archive, to which the writer adds `.npy`.
    fn member(&self) -> String {
        let name = self.name.to_string_lossy();
        name.strip_suffix(".npy").unwrap_or(&name).into()
    }
}

/// The path of the archive, if `--out` names one.
fn archive_path(out: &Path) -> Result<Option<&Path>, CliError> {
    if is_stdout(out) {
        let message = "--out -: cannot write to standard output; \
            give a directory (./- for one named -), or a file ending in .npz";
        return Err(CliError::usage(message));
    }
    if out.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".npz")) {
        let out = text::display_path(out);
        let message = format!("--out {out}: an archive needs a name before its extension, as in z.npz");
        return Err(CliError::usage(message));
    }
    Ok(has_extension(out, "npz").then_some(out))
}

/// Chooses the names, headers and sizes of the results.
fn plan_arrays(
    inputs: Vec<RawArray>,
    shape: &[usize],
    directory: &Path,
    in_archive: bool,
) -> Result<Vec<PlannedArray>, CliError> {
    let names = output_file_names(inputs.iter().map(RawArray::path), in_archive);
    let mut arrays = Vec::new();
    for (input, name) in inputs.into_iter().zip(names) {
        let input_error = |error: &dyn std::fmt::Display| {
            CliError::failed(format!("{}: {error}", text::display_path(input.path())))
        };
        let header = input.broadcast_header(shape);
        let data = header.data_bytes().map_err(|error| input_error(&error))?;
        let head = header.encoded_len().map_err(|error| input_error(&error))?;
        let too_large = || input_error(&"the size of the result exceeds 2^64 bytes");
        let bytes = head.checked_add(data).ok_or_else(too_large)?;
        let path = directory.join(&name);
        arrays.push(PlannedArray { input, header, bytes, name, path });
    }
    Ok(arrays)
}
