//! `unishape broadcast`: arrays in files, stretched to their common shape and written to files.

use crate::args::BroadcastArgs;
use crate::chunks::{Chunks, input_region};
use crate::columns::{max_width, pad};
use crate::destination::{
    check_directory_exists, check_free_space, check_target, destination_text, free_space, in_directory,
};
use crate::error::CliError;
use crate::output::{STDOUT, commit, print_info, print_json, write_error};
use crate::output_names::output_file_names;
use crate::paths::{has_extension, is_other_format, is_stdout, parent_directory};
use crate::progress::{Progress, ProgressWriter, Total};
use crate::shape_input::short_name;
use crate::sources::{OpenArray, check_stdin, open_array};
use indicatif::BinaryBytes;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use unishape::notation::short_shape_text;
use unishape::{Error, Rules, broadcast_shapes_with, text};
use unishape_atomic_file::resolve_target;
use unishape_core::check_broadcast_to;
use unishape_files::Location;
use unishape_npy::{self as npy, Header, NpzWriter, WriteBroadcastError};

/// Upper bound of the bytes that an archive adds to each array. Only for the check of free space: printed
/// sizes and the progress bar count the arrays alone.
const ARCHIVE_OVERHEAD: u64 = 1024;

/// The most arrays that have a line of their own in the output.
const MAX_LINES: usize = 20;

/// Elements of arrays that are decoded chunk by chunk, at a time.
const CHUNK_ELEMENTS: usize = 1 << 20;

pub(crate) fn run(args: BroadcastArgs, json: bool) -> Result<(), CliError> {
    if has_extension(&args.out, "zarr") {
        return run_to_store(&args, json);
    }
    if is_stdout(&args.out) {
        return run_to_stdout(&args, json);
    }
    let plan = WritePlan::new(&args)?;
    let quiet = args.writing.quiet || json;
    print_info(quiet, &plan.text());
    if !args.writing.dry_run {
        Progress::run(Total::Bytes(plan.total), quiet, |progress| plan.write(progress))?;
    }
    if json { print_json(&plan.json(!args.writing.dry_run)) } else { Ok(()) }
}

/// Writes one array as an `.npy` file to standard output, which is not a terminal.
fn run_to_stdout(args: &BroadcastArgs, json: bool) -> Result<(), CliError> {
    let hint = "give a directory (./- for one named -), or a file ending in .npz";
    let problem = match args.inputs.len() {
        1 if json => "cannot write an array and JSON to standard output",
        1 if io::stdout().is_terminal() => "cannot write an .npy file to a terminal",
        1 => "",
        _ => "cannot write several arrays to standard output",
    };
    if !problem.is_empty() {
        return Err(CliError::usage(format!("--out -: {problem}; {hint}")));
    }
    let (rules, shape, inputs) = open_inputs(args)?;
    let arrays = plan_arrays(inputs, &shape, Path::new("."), false)?;
    let Some(array) = arrays.first() else { return Err(CliError::internal("no array")) };
    let (quiet, bytes) = (args.writing.quiet, array.bytes);
    let from = short_shape_text(&array.input.source.header().shape);
    let (location, to, size) = (&array.input.location, short_shape_text(&shape), BinaryBytes(bytes));
    print_info(quiet, &format!("{location}  {from} → {to}\n{size} to standard output\n"));
    if args.writing.dry_run {
        return Ok(());
    }
    Progress::run(Total::Bytes(bytes), quiet, |progress| {
        progress.end_at_signals()?;
        let path = Path::new(STDOUT);
        let mut stdout = PipeWriter { inner: io::stdout(), is_closed: false };
        let mut writer = ProgressWriter::new(&mut stdout, progress);
        let header = array.header.write(&mut writer).map_err(|error| write_error(path, &error));
        let written = header
            .and_then(|()| write_elements(array, rules, &shape, path, &mut writer))
            .and_then(|()| writer.flush().map_err(|error| write_error(path, &error)));
        if stdout.is_closed { Err(CliError::BrokenPipe) } else { written }
    })
}

/// Standard output, which its reader may close, as `| head` does.
struct PipeWriter<W> {
    inner: W,
    is_closed: bool,
}

impl<W> PipeWriter<W> {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for PipeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.watch(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.watch(result)
    }
}

#[cfg(not(feature = "zarr"))]
fn run_to_store(args: &BroadcastArgs, _: bool) -> Result<(), CliError> {
    Err(crate::sources::without_zarr(&args.out))
}

/// Writes all arrays to a Zarr store, chunk by chunk on all cores.
#[cfg(feature = "zarr")]
fn run_to_store(args: &BroadcastArgs, json: bool) -> Result<(), CliError> {
    use crate::chunk_grid::ChunkGrid;
    use unishape_zarr::{Format, StoreWriter};
    let (_, shape, inputs) = open_inputs(args)?;
    let (path, force) = (args.out.as_path(), args.writing.force);
    check_directory_exists(parent_directory(path))?;
    if fs::symlink_metadata(path).is_ok() && !force {
        return Err(crate::output::already_exists(path));
    }
    let is_target = |input: &OpenArray| {
        input.location.path().is_some_and(|own| resolve_target(own) == resolve_target(path))
    };
    if let Some(input) = inputs.iter().find(|input| is_target(input)) {
        let message =
            format!("{} would be overwritten by its own result; choose another --out", input.location);
        return Err(CliError::usage(message));
    }
    let names = output_file_names(inputs.iter().map(|input| input.location.stem()), true);
    let names: Vec<String> =
        names.iter().map(|name| name.to_string_lossy().trim_end_matches(".npy").to_owned()).collect();
    let (mut total, mut results, mut lines) = (0u64, Vec::new(), String::new());
    for input in &inputs {
        let header = input.source.header();
        let dtype = header.descr.dtype().ok_or_else(|| {
            CliError::input(format!("{}: Zarr has no dtype {}", input.location, header.descr.text()))
        })?;
        let result = Header { descr: header.descr.clone(), fortran_order: false, shape: shape.clone() };
        let bytes =
            result.data_bytes().map_err(|error| CliError::input(format!("{}: {error}", input.location)))?;
        total = total.saturating_add(bytes);
        lines += &format!(
            "{}  {} → {}\n",
            input.location,
            short_shape_text(&header.shape),
            short_shape_text(&shape)
        );
        results.push((dtype, bytes));
    }
    if inputs.len() > MAX_LINES {
        lines = format!("{} arrays → {}\n", inputs.len(), short_shape_text(&shape));
    }
    let quiet = args.writing.quiet || json;
    let destination = text::display_path(path);
    print_info(quiet, &format!("{lines}{} before compression to {destination}\n", BinaryBytes(total)));
    if !args.writing.dry_run {
        Progress::run(Total::Bytes(total), quiet, |progress| {
            let format = if args.zarr.zarr_format == 2 { Format::V2 } else { Format::V3 };
            let mut store = StoreWriter::create(path, format)?;
            for ((input, name), (dtype, _)) in inputs.iter().zip(&names).zip(&results) {
                let source = &*input.source;
                let from = &source.header().shape;
                let grid = match &args.zarr.chunks {
                    Some(chunk) => ChunkGrid::new(&shape, chunk)?,
                    None => {
                        let own = std::iter::once((&from[..], source.chunk_shape()));
                        ChunkGrid::like(&shape, dtype.item_size(), own)
                    }
                };
                let array = store.add_array(name, *dtype, &shape, &grid.chunk)?;
                grid.for_each(unishape::num_threads(), |index, ranges| {
                    if progress.is_stopped() {
                        return Err(progress.interruption_or(CliError::internal("stopped")));
                    }
                    let region = source.region(&input_region(from, ranges))?;
                    let chunk: Vec<usize> = ranges.iter().map(std::ops::Range::len).collect();
                    array.write_chunk(index, region.view().broadcast_to(&chunk)?)?;
                    progress.advance_bytes((chunk.iter().product::<usize>() * dtype.item_size()) as u64);
                    Ok(())
                })?;
            }
            if progress.is_stopped() {
                return Err(progress.interruption_or(CliError::internal("stopped")));
            }
            Ok(store.commit(force)?)
        })?;
    }
    if !json {
        return Ok(());
    }
    let arrays = inputs.iter().zip(&names).zip(&results).map(|((input, name), (dtype, bytes))| {
        let from = &input.source.header().shape;
        json!({"input": input.location.to_string(), "from": from, "dtype": dtype.name(), "name": name, "bytes": bytes})
    });
    let arrays: Vec<Value> = arrays.collect();
    let written = !args.writing.dry_run;
    print_json(
        &json!({"shape": shape, "results": arrays, "bytes": total, "path": destination, "written": written}),
    )
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
    /// The file of the only array, if that is given; `None` for a directory or an archive.
    file: Option<PathBuf>,
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
    input: OpenArray,
    header: Header,
    bytes: u64,
    /// The file name of the result, in the directory or in the archive.
    name: OsString,
    /// The path of the result, if it has a file of its own.
    path: PathBuf,
}

impl WritePlan {
    fn new(args: &BroadcastArgs) -> Result<WritePlan, CliError> {
        let (rules, shape, inputs) = open_inputs(args)?;
        let archive = archive_path(&args.out)?;
        let file = single_file(&args.out, inputs.len())?;
        let directory = match archive.or(file) {
            Some(path) => parent_directory(path),
            None => &args.out,
        };
        let mut arrays = plan_arrays(inputs, &shape, directory, archive.is_some())?;
        if let (Some(path), [array]) = (file, &mut arrays[..]) {
            array.name = path.file_name().unwrap_or_default().into();
            array.path = path.into();
        }
        let too_large = || CliError::input("the total size of the results exceeds 2^64 bytes");
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
            file: file.map(Path::to_path_buf),
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
        if self.archive.is_some() || self.file.is_some() {
            check_directory_exists(&self.directory)?;
        }
        let paths = self.arrays.iter().filter_map(|array| array.input.location.path());
        let inputs: HashMap<PathBuf, &Path> = paths.map(|path| (resolve_target(path), path)).collect();
        let results: Vec<&Path> = match &self.archive {
            Some(archive) => vec![archive],
            None => self.arrays.iter().map(|array| &*array.path).collect(),
        };
        let mut targets = HashSet::new();
        for path in results {
            let target = resolve_target(path);
            if let Some(input) = inputs.get(&target) {
                let is_own = |array: &PlannedArray| {
                    array.path == path
                        && array.input.location.path().map(resolve_target).as_ref() == Some(&target)
                };
                let whose = if self.arrays.iter().any(is_own) { "its own" } else { "another" };
                return Err(CliError::usage(format!(
                    "{} would be overwritten by {whose} result; choose another --out",
                    text::display_path(input)
                )));
            }
            check_target(path, self.force)?;
            if !targets.insert(target) {
                let path = text::display_path(path);
                return Err(CliError::io(format!("{path} is a link to the file of another result")));
            }
        }
        check_free_space("the results need", self.needed, &self.directory, self.free)
    }

    /// The archive, the file or the directory that is written.
    fn destination(&self) -> &Path {
        self.archive.as_ref().or(self.file.as_ref()).unwrap_or(&self.directory)
    }

    /// What is written where.
    fn json(&self, written: bool) -> Value {
        let array = |array: &PlannedArray| {
            json!({
                "input": array.input.location.to_string(),
                "from": array.input.source.header().shape,
                "dtype": array.input.source.header().descr.dtype().map(|dtype| dtype.name()),
                "name": text::display_path(Path::new(&array.name)),
                "bytes": array.bytes,
            })
        };
        json!({
            "shape": self.shape,
            "results": self.arrays.iter().map(array).collect::<Vec<_>>(),
            "bytes": self.total,
            "path": text::display_path(self.destination()),
            "written": written,
        })
    }

    /// A line for each array, or for each shape of many arrays, and the destination.
    fn text(&self) -> String {
        let lines = if self.arrays.len() > MAX_LINES { self.summary() } else { self.lines() };
        lines + &destination_text(self.total, self.destination(), self.free) + "\n"
    }

    /// A line for each shape of the inputs: how many arrays have it.
    fn summary(&self) -> String {
        let mut groups: BTreeMap<&[usize], (usize, u64)> = BTreeMap::new();
        for array in &self.arrays {
            let group = groups.entry(&array.input.source.header().shape).or_default();
            *group = (group.0 + 1, group.1 + array.bytes);
        }
        let to = short_shape_text(&self.shape);
        let mut groups: Vec<(&[usize], (usize, u64))> = groups.into_iter().collect();
        // The most frequent shapes first.
        groups.sort_by_key(|(_, (count, _))| Reverse(*count));
        let mut text = format!("{} arrays → {to}\n", self.arrays.len());
        for (shape, (count, bytes)) in groups.iter().take(MAX_LINES) {
            text += &format!("  {count} of {}  {}\n", short_shape_text(shape), BinaryBytes(*bytes));
        }
        if let Some(rest) = groups.get(MAX_LINES..).filter(|rest| !rest.is_empty()) {
            let count: usize = rest.iter().map(|(_, (count, _))| count).sum();
            text += &format!("  {count} of {} other shapes\n", rest.len());
        }
        text
    }

    /// A line for each array.
    fn lines(&self) -> String {
        let from: Vec<String> =
            self.arrays.iter().map(|array| short_shape_text(&array.input.source.header().shape)).collect();
        let names: Vec<String> = self.arrays.iter().map(PlannedArray::title).collect();
        let (name_width, from_width) = (max_width(&names), max_width(&from));
        let to = short_shape_text(&self.shape);
        let mut text = String::new();
        for ((array, name), from) in self.arrays.iter().zip(&names).zip(&from) {
            let bytes = BinaryBytes(array.bytes);
            let name = pad(name, name_width);
            text += &format!("{name}  {from:>from_width$} → {to}  {bytes}\n");
        }
        text
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
                .and_then(|()| write_elements(array, self.rules, &self.shape, &array.path, &mut writer))
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
                write_elements(
                    array,
                    self.rules,
                    &self.shape,
                    archive,
                    &mut ProgressWriter::new(member, progress),
                )
            });
            written.map_err(|error| progress.interruption_or(error))?;
        }
        npz.finish().map_err(|error| progress.interruption_or(write_error(archive, &error)))?;
        commit(vec![file.finish()], &[archive])
    }
}

/// Writes the stretched elements of an array. `result` is the file that is being written, for errors.
fn write_elements(
    array: &PlannedArray,
    rules: Rules,
    to: &[usize],
    result: &Path,
    writer: &mut impl Write,
) -> Result<(), CliError> {
    let source = &*array.input.source;
    if let Some(raw) = source.as_raw() {
        return raw.write_broadcast(rules, to, writer).map_err(|error| match error {
            WriteBroadcastError::Write(error) => write_error(result, &error),
            WriteBroadcastError::Shape(error) => error.into(),
            error => CliError::internal(error),
        });
    }
    let from = &source.header().shape;
    for chunk in Chunks::new(to, CHUNK_ELEMENTS).iter() {
        let region = source.region(&input_region(from, &chunk))?;
        let shape: Vec<usize> = chunk.iter().map(std::ops::Range::len).collect();
        let stretched = region.view().broadcast_to(&shape)?;
        npy::write_elements(&mut *writer, stretched).map_err(|error| write_error(result, &error))?;
    }
    Ok(())
}

impl PlannedArray {
    /// The path of the input, and the name of the result if it differs.
    fn title(&self) -> String {
        let location = self.input.location.to_string();
        let name = text::display_path(Path::new(&self.name));
        // Compared as displayed: in an archive, a name that is not UTF-8 differs but looks the same.
        if text::sanitize(&short_name(&self.input.location)) == name {
            location
        } else {
            format!("{location} → {name}")
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
    if out.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".npz")) {
        let out = text::display_path(out);
        let message = format!("--out {out}: an archive needs a name before its extension, as in z.npz");
        return Err(CliError::usage(message));
    }
    Ok(has_extension(out, "npz").then_some(out))
}

/// The file of a single array: a path that ends in `.npy` and is not a directory.
///
/// Names that mean another format are errors, too: a directory of that name would be a surprise.
fn single_file(out: &Path, inputs: usize) -> Result<Option<&Path>, CliError> {
    let shown = text::display_path(out);
    if out.is_dir() {
        return Ok(None);
    }
    if has_extension(out, "npy") {
        return match inputs {
            1 => Ok(Some(out)),
            _ => Err(CliError::usage(format!(
                "--out {shown}: one file for {inputs} arrays; give a directory, or a file ending in .npz"
            ))),
        };
    }
    match is_other_format(out) {
        true => Err(CliError::usage(format!(
            "--out {shown}: cannot write this format; give a directory, or a file ending in .npy or .npz"
        ))),
        false => Ok(None),
    }
}

/// The rules, the common shape and all inputs.
fn open_inputs(args: &BroadcastArgs) -> Result<(Rules, Vec<usize>, Vec<OpenArray>), CliError> {
    let rules = args.rules.rules();
    check_stdin(&args.inputs)?;
    let open = |word: &OsString| open_array(Location::parse(word)?);
    let inputs = args.inputs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let shape = common_shape(&inputs, rules, args.to.as_deref())?;
    Ok((rules, shape, inputs))
}

/// The common shape of all inputs, or the shape that each of them is broadcast to.
fn common_shape(inputs: &[OpenArray], rules: Rules, to: Option<&[usize]>) -> Result<Vec<usize>, CliError> {
    let shapes: Vec<&[usize]> = inputs.iter().map(|input| &input.source.header().shape[..]).collect();
    let Some(to) = to else {
        return broadcast_shapes_with(rules, &shapes).map_err(|error| {
            let names: Vec<String> = inputs.iter().map(|input| short_name(&input.location)).collect();
            error.named(&names).into()
        });
    };
    for (input, shape) in inputs.iter().zip(shapes) {
        if let Err(reason) = check_broadcast_to(rules, shape, to) {
            let error = Error::not_broadcastable(shape, to, reason);
            return Err(CliError::broadcast(&error, format!("{}: {error}", input.location)));
        }
    }
    Ok(to.to_vec())
}

/// Chooses the names, headers and sizes of the results.
fn plan_arrays(
    inputs: Vec<OpenArray>,
    shape: &[usize],
    directory: &Path,
    in_archive: bool,
) -> Result<Vec<PlannedArray>, CliError> {
    let names = output_file_names(inputs.iter().map(|input| input.location.stem()), in_archive);
    let mut arrays = Vec::new();
    for (input, name) in inputs.into_iter().zip(names) {
        let input_error =
            |error: &dyn std::fmt::Display| CliError::input(format!("{}: {error}", input.location));
        let descr = input.source.header().descr.clone();
        let header = Header { descr, fortran_order: false, shape: shape.to_vec() };
        let data = header.data_bytes().map_err(|error| input_error(&error))?;
        let head = header.encoded_len().map_err(|error| input_error(&error))?;
        let too_large = || input_error(&"the size of the result exceeds 2^64 bytes");
        let bytes = head.checked_add(data).ok_or_else(too_large)?;
        let path = directory.join(&name);
        arrays.push(PlannedArray { input, header, bytes, name, path });
    }
    Ok(arrays)
}
