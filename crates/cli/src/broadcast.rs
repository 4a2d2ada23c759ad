//! `unishape broadcast`: arrays in files, stretched to their common shape, written to files.

use crate::args::BroadcastArgs;
use crate::failure::Failure;
use crate::input::file_name;
use crate::out::{bytes_text, file_beside, keep};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use unishape::notation::shape_text;
use unishape::npy::{Header, Mapped, NpzWriter, StretchedError};
use unishape::{Rules, broadcast_shapes_with, plain};

/// Room that an archive takes for each array beside its bytes, and some to spare.
const ARCHIVE_OVERHEAD: u64 = 1024;

pub(crate) fn run(args: BroadcastArgs) -> Result<(), Failure> {
    let plan = Plan::new(&args)?;
    if !args.quiet {
        plan.tell();
    }
    if args.dry_run {
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::failed(format!("Ctrl-C could not be provided for: {error}")))?;
    let bar = if args.quiet { ProgressBar::hidden() } else { progress_bar(plan.total) };
    let result = plan.write(&Watch { stop, bar: bar.clone() });
    bar.finish_and_clear();
    result
}

/// All that will be written, known before anything is.
struct Plan {
    rules: Rules,
    shape: Vec<usize>,
    arrays: Vec<Planned>,
    total: u64,
    /// The archive for all arrays; without one, each has a file of its own.
    archive: Option<PathBuf>,
    /// The folder that the files go to, and whether it is there already.
    folder: PathBuf,
    folder_exists: bool,
    free: Option<u64>,
}

/// One array and where it goes.
struct Planned {
    input: Mapped,
    header: Header,
    bytes: u64,
    /// Its name in the archive.
    name: String,
    /// Its own file, where there is no archive.
    path: PathBuf,
}

impl Plan {
    fn new(args: &BroadcastArgs) -> Result<Plan, Failure> {
        let rules = args.rules.rules();
        let inputs =
            args.inputs.iter().map(Mapped::open).collect::<Result<Vec<_>, _>>().map_err(Failure::failed)?;
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| &input.header().shape[..]).collect();
        let shape = broadcast_shapes_with(rules, &shapes).map_err(|error| {
            let names: Vec<String> = inputs.iter().map(|input| file_name(input.path())).collect();
            Failure::failed(error.named(&names))
        })?;
        let is_archive = args.out.extension().is_some_and(|ending| ending == "npz");
        let archive = is_archive.then(|| args.out.clone());
        let folder = match &archive {
            Some(path) => {
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).into()
            }
            None => args.out.clone(),
        };
        let arrays = plan_arrays(inputs, &shape, &folder)?;
        let overhead = if is_archive { ARCHIVE_OVERHEAD } else { 0 };
        let total = arrays
            .iter()
            .try_fold(overhead, |total, array| total.checked_add(array.bytes)?.checked_add(overhead))
            .ok_or_else(|| Failure::failed("the results together are larger than any disk"))?;
        let plan = Plan {
            rules,
            shape,
            arrays,
            total,
            archive,
            folder_exists: folder.exists(),
            free: free_space(&folder),
            folder,
        };
        plan.check(args.force)?;
        Ok(plan)
    }

    /// Refuses what would destroy something or cannot succeed.
    fn check(&self, force: bool) -> Result<(), Failure> {
        if self.folder_exists && !self.folder.is_dir() {
            let problem = format!(
                "{} is no folder; give a folder, or a file ending in .npz",
                plain::path(&self.folder)
            );
            return Err(Failure::usage(problem));
        }
        if self.archive.is_some() && !self.folder_exists {
            return Err(Failure::failed(format!("{}: there is no such folder", plain::path(&self.folder))));
        }
        let mut inputs = HashMap::new();
        for array in &self.arrays {
            if let Ok(path) = fs::canonicalize(array.input.path()) {
                inputs.insert(path, array.input.path());
            }
        }
        let results = match &self.archive {
            Some(archive) => vec![archive],
            None => self.arrays.iter().map(|array| &array.path).collect(),
        };
        for path in results {
            if let Some(input) = fs::canonicalize(path).ok().and_then(|path| inputs.get(&path).copied()) {
                let problem = format!(
                    "{} would be overwritten by its own result; choose another --out",
                    plain::path(input)
                );
                return Err(Failure::usage(problem));
            }
            if path.is_dir() {
                return Err(Failure::failed(format!("{} is a folder", plain::path(path))));
            }
            if !force && path.exists() {
                let problem = format!("{} is there already; add --force to replace it", plain::path(path));
                return Err(Failure::failed(problem));
            }
        }
        if let Some(free) = self.free
            && free < self.total
        {
            return Err(Failure::failed(format!(
                "the results take {}, and {} has room for {}; nothing was written",
                bytes_text(self.total),
                plain::path(&self.folder),
                bytes_text(free),
            )));
        }
        Ok(())
    }

    /// What will be written, on standard error.
    fn tell(&self) {
        let from: Vec<String> =
            self.arrays.iter().map(|array| shape_text(&array.input.header().shape)).collect();
        let names: Vec<String> = self.arrays.iter().map(|array| plain::path(array.input.path())).collect();
        let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let (name_width, from_width) = (width(&names), width(&from));
        let mut text = String::new();
        for ((array, name), from) in self.arrays.iter().zip(&names).zip(&from) {
            text += &format!(
                "{name:name_width$}  {from:>from_width$} → {}  {}\n",
                shape_text(&self.shape),
                bytes_text(array.bytes),
            );
        }
        let place = plain::path(self.archive.as_ref().unwrap_or(&self.folder));
        let free = self.free.map_or(String::new(), |free| format!(", {} free there", bytes_text(free)));
        text += &format!("{} to {place}{free}\n", bytes_text(self.total));
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Writes everything; folders made for it do not outlive a failure.
    fn write(&self, watch: &Watch) -> Result<(), Failure> {
        // Those that are not there yet, innermost first.
        let to_make: Vec<&Path> = self
            .folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .collect();
        let made = fs::create_dir_all(&self.folder)
            .map_err(|error| Failure::failed(format!("{}: {error}", plain::path(&self.folder))));
        let written = made.and_then(|()| match &self.archive {
            Some(archive) => self.write_archive(archive, watch),
            None => self.write_files(watch),
        });
        if written.is_err() {
            for folder in to_make {
                // One that somebody else has put something into stays.
                let _ = fs::remove_dir(folder);
            }
        }
        written
    }

    /// One file an array. They get their names when all are complete.
    fn write_files(&self, watch: &Watch) -> Result<(), Failure> {
        let mut complete = Vec::new();
        for array in &self.arrays {
            let mut file = file_beside(&array.path)?;
            let mut writer = Watched { inner: file.as_file_mut(), watch };
            let header = array.header.write(&mut writer).map_err(|error| in_result(&array.path, &error));
            header
                .and_then(|()| self.write_elements(array, &array.path, &mut writer))
                .map_err(|failure| watch.judge(failure))?;
            complete.push((file.into_temp_path(), &array.path));
        }
        for (file, path) in complete {
            file.persist(path)
                .map_err(|error| Failure::failed(format!("{}: {}", plain::path(path), error.error)))?;
        }
        Ok(())
    }

    fn write_archive(&self, archive: &Path, watch: &Watch) -> Result<(), Failure> {
        let mut file = file_beside(archive)?;
        let mut npz = NpzWriter::new(file.as_file_mut());
        for array in &self.arrays {
            let member = npz.start(&array.name, &array.header).map_err(|error| in_result(archive, &error));
            let written = member.and_then(|member| {
                self.write_elements(array, archive, &mut Watched { inner: member, watch })
            });
            written.map_err(|failure| watch.judge(failure))?;
        }
        npz.finish().map_err(|error| watch.judge(in_result(archive, &error)))?;
        keep(file, archive)
    }

    /// Writes the elements of an array to the file of a result.
    fn write_elements(&self, array: &Planned, result: &Path, writer: &mut impl Write) -> Result<(), Failure> {
        array.input.write_stretched(self.rules, &self.shape, writer).map_err(|error| match error {
            StretchedError::Write(error) => in_result(result, &error),
            error => Failure::failed(error),
        })
    }
}

/// What went wrong, named after the file that does not come to be, not the temporary one.
fn in_result(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::failed(format!("{}: {error}; nothing was written", plain::path(path)))
}

/// Names and headers of the results.
fn plan_arrays(inputs: Vec<Mapped>, shape: &[usize], folder: &Path) -> Result<Vec<Planned>, Failure> {
    let mut taken: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut arrays = Vec::new();
    for input in inputs {
        let of_input = |error: &dyn std::fmt::Display| {
            Failure::failed(format!("{}: {error}", plain::path(input.path())))
        };
        // Only .npy is an ending of ours: data.v1 and data.v2 stay two names.
        let (whole, stem) = (input.path().file_name(), input.path().file_stem());
        let has_ending = input.path().extension().is_some_and(|ending| ending == "npy");
        let stem = if has_ending { stem } else { whole }.unwrap_or(input.path().as_os_str());
        // To the byte the input's name, also where it is no text.
        let mut file = stem.to_os_string();
        file.push(".npy");
        let path = folder.join(file);
        let name = stem.to_string_lossy().into_owned();
        if let Some(other) = taken.insert(path.clone(), input.path().into()) {
            return Err(Failure::usage(format!(
                "{} and {} would both be written as {}; rename one of them",
                plain::path(&other),
                plain::path(input.path()),
                plain::path(Path::new(&file_name(&path))),
            )));
        }
        let header = input.stretched_header(shape);
        let data = header.data_bytes().map_err(|error| of_input(&error))?;
        let head = header.encoded_len().map_err(|error| of_input(&error))?;
        let bytes = head.checked_add(data).ok_or_else(|| of_input(&"the result is larger than any disk"))?;
        arrays.push(Planned { input, header, bytes, name, path });
    }
    Ok(arrays)
}

/// The room on the disk that a folder is on, or will be.
fn free_space(folder: &Path) -> Option<u64> {
    let folder = std::path::absolute(folder).ok()?;
    let exists = folder.ancestors().find(|ancestor| ancestor.exists())?;
    fs4::available_space(exists).ok()
}

fn progress_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:40} {percent}% of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left",
    );
    // Drawn on standard error, and only where that is a terminal.
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Looks after the work: shows how far it is, and stops it on Ctrl-C.
struct Watch {
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
}

impl Watch {
    /// A failure after Ctrl-C is Ctrl-C.
    fn judge(&self, failure: Failure) -> Failure {
        if self.stop.load(Ordering::Relaxed) { Failure::Interrupted } else { failure }
    }
}

/// A writer that is watched.
struct Watched<'w, W> {
    inner: W,
    watch: &'w Watch,
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.watch.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        let written = self.inner.write(bytes)?;
        self.watch.bar.inc(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
