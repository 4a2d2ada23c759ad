//! `unishape broadcast`: arrays in files, stretched to their common shape, written to files.

use crate::args::BroadcastArgs;
use crate::failure::Failure;
use crate::input::{file_name, has_ending};
use crate::mapped::map_array;
use crate::naming::result_names;
use crate::out::{bytes_text, in_file, in_result, is_stdout, place};
use crate::target::{
    check_folder, check_free_place, check_room, destination_text, folder_of, free_space, in_folder,
};
use crate::watch::{Watch, Watched};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use unishape::notation::short_shape_text;
use unishape::{Rules, broadcast_shapes_with, text};
use unishape_atomic_file::{AtomicFile, resolve_target};
use unishape_npy::{Header, NpzWriter, RawArray, WriteBroadcastError};

/// Room that an archive takes for each array beside its bytes, and some to spare. Only for the question
/// whether there is room: told and counted is what the arrays take.
const ARCHIVE_OVERHEAD: u64 = 1024;

pub(crate) fn run(args: BroadcastArgs) -> Result<(), Failure> {
    let plan = Plan::new(&args)?;
    if !args.writing.quiet {
        plan.tell();
    }
    if args.writing.dry_run {
        return Ok(());
    }
    Watch::over(plan.total, args.writing.quiet, |watch| plan.write(watch))
}

/// All that will be written, known before anything is.
struct Plan {
    rules: Rules,
    shape: Vec<usize>,
    arrays: Vec<Planned>,
    /// The bytes of all results.
    total: u64,
    /// The room that they need on the disk.
    needed: u64,
    /// The archive for all arrays; without one, each has a file of its own.
    archive: Option<PathBuf>,
    /// The folder that the files go to, and whether it is there already.
    folder: PathBuf,
    folder_exists: bool,
    free: Option<u64>,
}

/// One array and where it goes.
struct Planned {
    input: RawArray,
    header: Header,
    bytes: u64,
    /// The name of its file, in the folder or in the archive.
    name: OsString,
    /// Its own file, where there is no archive.
    path: PathBuf,
}

impl Plan {
    fn new(args: &BroadcastArgs) -> Result<Plan, Failure> {
        let rules = args.rules.rules();
        let inputs = args.inputs.iter().map(|path| map_array(path)).collect::<Result<Vec<_>, _>>()?;
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| &input.header().shape[..]).collect();
        let shape = broadcast_shapes_with(rules, &shapes).map_err(|error| {
            let names: Vec<String> = inputs.iter().map(|input| file_name(input.path())).collect();
            Failure::failed(error.named(&names))
        })?;
        let archive = archive(&args.out)?;
        let folder = match archive {
            Some(path) => folder_of(path),
            None => &args.out,
        };
        let arrays = plan_arrays(inputs, &shape, folder, archive.is_some())?;
        let too_large = || Failure::failed("the results together are larger than any disk");
        let total = arrays.iter().try_fold(0u64, |total, array| total.checked_add(array.bytes));
        let total = total.ok_or_else(too_large)?;
        let members = if archive.is_some() { arrays.len() as u64 + 1 } else { 0 };
        let needed = members.checked_mul(ARCHIVE_OVERHEAD).and_then(|more| total.checked_add(more));
        let plan = Plan {
            rules,
            shape,
            arrays,
            total,
            needed: needed.ok_or_else(too_large)?,
            archive: archive.map(Path::to_path_buf),
            // A link that leads nowhere is there too, and no folder.
            folder_exists: fs::symlink_metadata(folder).is_ok(),
            free: free_space(folder),
            folder: folder.into(),
        };
        plan.check(args.writing.force)?;
        Ok(plan)
    }

    /// Refuses what would destroy something or cannot succeed.
    fn check(&self, force: bool) -> Result<(), Failure> {
        if self.folder_exists && !self.folder.is_dir() {
            let problem = format!(
                "{} is no folder; give a folder, or a file ending in .npz",
                text::display_path(&self.folder)
            );
            return Err(Failure::usage(problem));
        }
        if self.archive.is_some() {
            check_folder(&self.folder)?;
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
        let mut places = HashSet::new();
        for path in results {
            let place = resolve_target(path);
            if let Some(input) = inputs.get(&place) {
                let is_own =
                    |array: &Planned| array.path == path && resolve_target(array.input.path()) == place;
                let whose = if self.arrays.iter().any(is_own) { "its own" } else { "a" };
                let problem = format!(
                    "{} would be overwritten by {whose} result; choose another --out",
                    text::display_path(input)
                );
                return Err(Failure::usage(problem));
            }
            check_free_place(path, force)?;
            if !places.insert(place) {
                let problem = format!("{} is a link to where another result goes", text::display_path(path));
                return Err(Failure::failed(problem));
            }
        }
        check_room("the results take", self.needed, &self.folder, self.free)
    }

    /// What will be written, on standard error.
    fn tell(&self) {
        let from: Vec<String> =
            self.arrays.iter().map(|array| short_shape_text(&array.input.header().shape)).collect();
        let names: Vec<String> = self.arrays.iter().map(Planned::title).collect();
        let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let (name_width, from_width) = (width(&names), width(&from));
        let to = short_shape_text(&self.shape);
        let mut text = String::new();
        for ((array, name), from) in self.arrays.iter().zip(&names).zip(&from) {
            let bytes = bytes_text(array.bytes);
            text += &format!("{name:name_width$}  {from:>from_width$} → {to}  {bytes}\n");
        }
        let place = self.archive.as_ref().unwrap_or(&self.folder);
        text += &(destination_text(self.total, place, self.free) + "\n");
        let _ = io::stderr().write_all(text.as_bytes());
    }

    fn write(&self, watch: &Watch) -> Result<(), Failure> {
        in_folder(&self.folder, || match &self.archive {
            Some(archive) => self.write_archive(archive, watch),
            None => self.write_files(watch),
        })
    }

    /// One file an array. They get their names when all are complete.
    fn write_files(&self, watch: &Watch) -> Result<(), Failure> {
        let mut complete = Vec::new();
        for array in &self.arrays {
            let mut file = AtomicFile::create(&array.path).map_err(|error| in_file(&array.path, &error))?;
            let mut writer = Watched::new(file.file(), watch);
            let header = array.header.write(&mut writer).map_err(|error| in_result(&array.path, &error));
            header
                .and_then(|()| self.write_elements(array, &array.path, &mut writer))
                .map_err(|failure| watch.judge(failure))?;
            complete.push(file.finish());
        }
        place(complete, &self.arrays.iter().map(|array| &*array.path).collect::<Vec<_>>())
    }

    fn write_archive(&self, archive: &Path, watch: &Watch) -> Result<(), Failure> {
        let mut file = AtomicFile::create(archive).map_err(|error| in_file(archive, &error))?;
        let mut npz = NpzWriter::new(file.file());
        for array in &self.arrays {
            let member =
                npz.start(&array.member(), &array.header).map_err(|error| in_result(archive, &error));
            let written = member.and_then(|member| {
                watch.advance(array.header.encoded_len().unwrap_or(0));
                self.write_elements(array, archive, &mut Watched::new(member, watch))
            });
            written.map_err(|failure| watch.judge(failure))?;
        }
        npz.finish().map_err(|error| watch.judge(in_result(archive, &error)))?;
        place(vec![file.finish()], &[archive])
    }

    /// Writes the elements of an array to the file of a result.
    fn write_elements(&self, array: &Planned, result: &Path, writer: &mut impl Write) -> Result<(), Failure> {
        array.input.write_broadcast(self.rules, &self.shape, writer).map_err(|error| match error {
            WriteBroadcastError::Write(error) => in_result(result, &error),
            error => Failure::failed(error),
        })
    }
}

impl Planned {
    /// Its path, and what the result is called if that is something else.
    fn title(&self) -> String {
        let path = text::display_path(self.input.path());
        let name = text::display_path(Path::new(&self.name));
        // As they are shown: a name that is no text is another in an archive, and looks the same.
        if text::sanitize(&file_name(self.input.path())) == name {
            path
        } else {
            format!("{path} → {name}")
        }
    }

    /// Its name in the archive, where every file ends in .npy.
    fn member(&self) -> String {
        let name = self.name.to_string_lossy();
        name.strip_suffix(".npy").unwrap_or(&name).into()
    }
}

/// The archive that `--out` asks for, if it asks for one.
fn archive(out: &Path) -> Result<Option<&Path>, Failure> {
    if is_stdout(out) {
        let problem = "--out -: results do not go to standard output; \
            give a folder (./- for one of that name), or a file ending in .npz";
        return Err(Failure::usage(problem));
    }
    if out.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".npz")) {
        let problem = format!(
            "--out {}: an archive needs a name before its ending, z.npz say",
            text::display_path(out)
        );
        return Err(Failure::usage(problem));
    }
    Ok(has_ending(out, "npz").then_some(out))
}

/// Names and headers of the results.
fn plan_arrays(
    inputs: Vec<RawArray>,
    shape: &[usize],
    folder: &Path,
    in_archive: bool,
) -> Result<Vec<Planned>, Failure> {
    let names = result_names(inputs.iter().map(RawArray::path), in_archive);
    let mut arrays = Vec::new();
    for (input, name) in inputs.into_iter().zip(names) {
        let of_input = |error: &dyn std::fmt::Display| {
            Failure::failed(format!("{}: {error}", text::display_path(input.path())))
        };
        let header = input.broadcast_header(shape);
        let data = header.data_bytes().map_err(|error| of_input(&error))?;
        let head = header.encoded_len().map_err(|error| of_input(&error))?;
        let bytes = head.checked_add(data).ok_or_else(|| of_input(&"the result is larger than any disk"))?;
        let path = folder.join(&name);
        arrays.push(Planned { input, header, bytes, name, path });
    }
    Ok(arrays)
}
