//! Opens arrays of every format.
//!
//! Its functions are unsafe because files are memory-mapped.

#![allow(unsafe_code)]

use crate::error::FileError;
use crate::location::{Container, Location};
use crate::number_table::parse_table;
use crate::tensor_file::{TensorEntry, tensors};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use unishape::DType;
use unishape::text::{display_path, truncate};
use unishape_npy::{Descr, Header, NpyError, NpzReader, RawArray};

/// Opens an array of any format but Zarr.
///
/// Files are memory-mapped where their format allows it; pipes are read as [`RawArray::read_from`] does.
///
/// ```
/// use unishape_files::{Location, open};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("table.csv");
/// std::fs::write(&path, "1,2\n3,4\n")?;
/// // Safety: no one else knows the temporary file.
/// let array = unsafe { open(&Location::parse(path.as_os_str())?) }?;
/// assert_eq!(array.header().shape, [2, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Safety
///
/// As [`RawArray::map`]: as long as the array exists, no one modifies or truncates the file.
///
/// # Errors
///
/// The file cannot be read, is damaged, or has no such array; the location is in a Zarr store; or it is a pipe and its
/// format has arrays at any place.
pub unsafe fn open(location: &Location) -> Result<RawArray, FileError> {
    check_seekable(location)?;
    match location {
        Location::Stdin => Ok(RawArray::read_from("standard input", io::stdin().lock())?),
        Location::Npy(path) if is_stream(location) => {
            let file = File::open(path).map_err(|error| FileError::io(&display_path(path), &error))?;
            Ok(RawArray::read_from(path, file)?)
        }
        // Safety: the caller guarantees that the file keeps its bytes and its length.
        Location::Npy(path) => Ok(unsafe { RawArray::map(path) }?),
        Location::Table(path) => {
            let shown = display_path(path);
            let file = File::open(path).map_err(|error| FileError::io(&shown, &error))?;
            let tensor = parse_table(BufReader::new(file)).map_err(|error| match error {
                FileError::Io(message) => FileError::Io(format!("{shown}: {message}")),
                error => FileError::content(&shown, error),
            })?;
            Ok(RawArray::from_tensor(path, &tensor)?)
        }
        Location::Raw { path, description, .. } => {
            let header = raw_header(path, location)?;
            // Safety: the caller guarantees that the file keeps its bytes and its length.
            Ok(unsafe { RawArray::map_at(path, header, description.offset()) }?)
        }
        Location::Member { container: Container::Npz, path, name } => {
            let mut archive = NpzReader::open(path)?;
            let name = one_name(location, name.as_deref(), &archive.names())?;
            match archive.stored(&name)? {
                // Safety: the caller guarantees that the file keeps its bytes and its length.
                Some((header, offset)) => Ok(unsafe { RawArray::map_at(path, header, offset) }?),
                None => Ok(archive.read(&name)?),
            }
        }
        Location::Member { container: Container::SafeTensors, path, name } => {
            // Safety: the caller guarantees that the file keeps its bytes and its length.
            let entry = unsafe { tensor_entry(location, path, name.as_deref()) }?;
            let header = entry.header(&display_path(path))?;
            // Safety: as above.
            Ok(unsafe { RawArray::map_at(path, header, entry.offset) }?)
        }
        Location::Member { container: Container::Zarr, .. } => Err(not_here(location)),
    }
}

/// Reads the dtype and shape of an array of any format but Zarr.
///
/// The elements need not be complete.
///
/// ```
/// use unishape_files::{Location, read_header};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("d.bin");
/// std::fs::write(&path, [0; 24])?;
/// let location = Location::parse(format!("{}:float32:?x2", path.display()).as_ref())?;
/// // Safety: no one else knows the temporary file.
/// assert_eq!(unsafe { read_header(&location) }?.shape, [3, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Safety
///
/// As [`open`], until the function returns.
///
/// # Errors
///
/// As [`open`].
pub unsafe fn read_header(location: &Location) -> Result<Header, FileError> {
    check_seekable(location)?;
    match location {
        Location::Npy(path) => {
            let header = File::open(path).map_err(NpyError::Io).and_then(|mut file| Header::read(&mut file));
            header.map_err(|error| NpyError::InFile { path: path.into(), error: Box::new(error) }.into())
        }
        Location::Raw { path, .. } => raw_header(path, location),
        Location::Member { container: Container::Npz, path, name } => {
            let mut archive = NpzReader::open(path)?;
            let name = one_name(location, name.as_deref(), &archive.names())?;
            Ok(archive.header(&name)?)
        }
        Location::Member { container: Container::SafeTensors, path, name } => {
            // Safety: the caller guarantees that the file keeps its bytes and its length.
            unsafe { tensor_entry(location, path, name.as_deref()) }?.header(&display_path(path))
        }
        // Safety: the caller guarantees that the file keeps its bytes and its length.
        _ => Ok(unsafe { open(location) }?.header().clone()),
    }
}

/// The names of the arrays in an archive or a file of tensors.
///
/// `None` for other files.
///
/// ```
/// use unishape_files::{Location, member_names};
/// use unishape_npy as npy;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("z.npz");
/// npy::write_npz(&path, &[("a", ndarray::arr0(1).view().into())])?;
/// // Safety: no one else knows the temporary file.
/// let names = unsafe { member_names(&Location::parse(path.as_os_str())?) }?;
/// assert_eq!(names, Some(vec!["a".to_string()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Safety
///
/// As [`open`], until the function returns.
///
/// # Errors
///
/// The file cannot be read or is damaged, or the location is in a Zarr store.
pub unsafe fn member_names(location: &Location) -> Result<Option<Vec<String>>, FileError> {
    check_seekable(location)?;
    match location {
        Location::Member { container: Container::Npz, path, .. } => {
            Ok(Some(NpzReader::open(path)?.names().into_iter().map(str::to_owned).collect()))
        }
        Location::Member { container: Container::SafeTensors, path, .. } => {
            // Safety: the caller guarantees that the file keeps its bytes and its length.
            let tensors = unsafe { all_tensors(path) }?;
            Ok(Some(tensors.into_iter().map(|entry| entry.name).collect()))
        }
        Location::Member { container: Container::Zarr, .. } => Err(not_here(location)),
        _ => Ok(None),
    }
}

/// Whether a location can be read only once.
///
/// That is so for standard input, named pipes and devices. [`read_header`] reads it, too: [`open`] such a location
/// instead, and keep the array.
///
/// ```
/// use unishape_files::{Location, is_stream};
///
/// assert!(is_stream(&Location::Stdin));
/// assert!(!is_stream(&Location::parse("missing.npy".as_ref())?));
/// # Ok::<(), unishape_files::FileError>(())
/// ```
pub fn is_stream(location: &Location) -> bool {
    let is_pipe =
        |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    location.path().is_none_or(is_pipe)
}

/// Refuses pipes of formats whose arrays are not read from start to end.
fn check_seekable(location: &Location) -> Result<(), FileError> {
    match location {
        Location::Member { path, .. } | Location::Raw { path, .. } if is_stream(location) => {
            Err(FileError::Usage(format!(
                "{}: only an .npy file or text can be read from a pipe; save it to a file first",
                display_path(path)
            )))
        }
        _ => Ok(()),
    }
}

const NO_ZARR: &str = "this program does not read Zarr stores; use the crate unishape-zarr, or the command with its \
                       feature zarr";

fn not_here(location: &Location) -> FileError {
    FileError::Usage(format!("{location}: {NO_ZARR}"))
}

fn raw_header(path: &Path, location: &Location) -> Result<Header, FileError> {
    let Location::Raw { description, .. } = location else { return Err(not_here(location)) };
    let shown = display_path(path);
    let metadata = std::fs::metadata(path).map_err(|error| FileError::io(&shown, &error))?;
    description.header(metadata.len()).map_err(|problem| FileError::content(&shown, problem))
}

/// # Safety
///
/// As [`open`], until the function returns.
unsafe fn all_tensors(path: &Path) -> Result<Vec<TensorEntry>, FileError> {
    let shown = display_path(path);
    let metadata = std::fs::metadata(path).map_err(|error| FileError::io(&shown, &error))?;
    let len = usize::try_from(metadata.len()).map_err(|_| FileError::content(&shown, "it is too large"))?;
    let bytes = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![len] };
    // Safety: the caller guarantees that the file keeps its bytes and its length.
    let file = unsafe { RawArray::map_at(path, bytes, 0) }?;
    tensors(&shown, file.data())
}

/// # Safety
///
/// As [`open`], until the function returns.
unsafe fn tensor_entry(
    location: &Location,
    path: &Path,
    name: Option<&str>,
) -> Result<TensorEntry, FileError> {
    // Safety: the caller guarantees that the file keeps its bytes and its length.
    let tensors = unsafe { all_tensors(path) }?;
    let names: Vec<&str> = tensors.iter().map(|entry| entry.name.as_str()).collect();
    let name = one_name(location, name, &names)?;
    let entry = tensors.into_iter().find(|entry| entry.name == name);
    entry.ok_or_else(|| no_such_array(location, &[]))
}

/// The name of the array to open: the given one, or the only one.
fn one_name(location: &Location, name: Option<&str>, names: &[&str]) -> Result<String, FileError> {
    match (name, names) {
        (Some(name), names) if names.contains(&name) => Ok(name.into()),
        (None, [only]) => Ok((*only).into()),
        (None, [first, ..]) => Err(FileError::Usage(format!(
            "{location}: name one of its arrays, as in {location}:{}; it has {}",
            truncate(first, 60),
            names_text(names)
        ))),
        (_, names) => Err(no_such_array(location, names)),
    }
}

fn no_such_array(location: &Location, names: &[&str]) -> FileError {
    match names {
        [] => FileError::Usage(format!("{location}: the file has no arrays")),
        names => FileError::Usage(format!(
            "{location}: there is no array of that name; it has {}",
            names_text(names)
        )),
    }
}

/// Up to 10 names.
fn names_text(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| truncate(name, 60)).collect();
    let more = if names.len() > 10 { format!(" and {} more", names.len() - 10) } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::{NO_ZARR, member_names, open, read_header};
    use crate::{ArraySource, FileError, Location};
    use ndarray::{arr0, arr1, arr2};
    use safetensors::{Dtype, tensor::TensorView};
    use std::fs;
    use std::path::{Path, PathBuf};
    use tempfile::TempDir;
    use unishape::Tensor;
    use unishape_npy as npy;

    /// A directory with a file of each format, all with rows 1, 2 and 3, 4.
    fn files() -> (TempDir, impl Fn(&str) -> Location) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let rows = Tensor::from(arr2(&[[1i16, 2], [3, 4]]));
        npy::write(path("a.npy"), &rows).unwrap();
        npy::write_npz(path("one.npz"), &[("a", rows.view())]).unwrap();
        npy::write_npz(path("two.npz"), &[("a", rows.view()), ("b", arr0(7u8).view().into())]).unwrap();
        let names: Vec<String> = (0..12).map(|number| format!("x{number}")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), rows.view())).collect();
        npy::write_npz(path("ten.npz"), &many[..10]).unwrap();
        npy::write_npz(path("many.npz"), &many).unwrap();
        npy::write_npz(path("none.npz"), &many[..0]).unwrap();
        fs::write(path("a.csv"), "1,2\n3,4\n").unwrap();
        let bytes = [1u8, 0, 2, 0, 3, 0, 4, 0];
        fs::write(path("a.bin"), [&[9; 4][..], &bytes].concat()).unwrap();
        let tensor = |dtype, shape: Vec<usize>, data| TensorView::new(dtype, shape, data).unwrap();
        let tensors = [
            ("first", tensor(Dtype::U8, vec![3], &[7, 8, 9][..])),
            ("rows", tensor(Dtype::I16, vec![2, 2], &bytes)),
            ("small", tensor(Dtype::F8_E5M2, vec![1], &[0])),
        ];
        fs::write(path("m.safetensors"), safetensors::serialize(tensors, None).unwrap()).unwrap();
        fs::write(path("bad.safetensors"), "{}").unwrap();
        let parent: PathBuf = folder.path().into();
        (folder, move |name| Location::parse(parent.join(name).as_os_str()).unwrap())
    }

    /// The elements of an array.
    fn read(location: &Location) -> Result<Tensor, FileError> {
        // Safety: no one else knows the temporary files.
        let array = unsafe { open(location) }?;
        let source: &dyn ArraySource = &array;
        assert!(source.as_raw().is_some() && source.chunk_shape().is_none() && !source.reads_blocks());
        let all: Vec<_> = source.header().shape.iter().map(|&size| 0..size).collect();
        assert!(source.blocks(&all)?.is_none());
        Ok(source.region(&all)?.view().to_owned().unwrap())
    }

    /// An error, without the directory of its file.
    fn problem<T>(folder: &Path, result: Result<T, FileError>) -> String {
        let Err(error) = result else { panic!("no error") };
        error.to_string().replace(&format!("{}/", folder.display()), "")
    }

    #[test]
    fn arrays_of_every_format_are_read() {
        let (_folder, at) = files();
        let rows = Tensor::from(arr2(&[[1i16, 2], [3, 4]]));
        for name in [
            "a.npy",
            "one.npz",
            "one.npz:a",
            "two.npz:a",
            "many.npz:x11",
            "a.bin:int16:2x2@4",
            "a.bin:int16:?x2@4",
            "m.safetensors:rows",
        ] {
            assert_eq!(read(&at(name)).unwrap(), rows, "{name}");
            // Safety: no one else knows the temporary files.
            let header = unsafe { read_header(&at(name)) }.unwrap();
            assert_eq!((header.shape, header.descr.item_size()), (vec![2, 2], 2), "{name}");
        }
        assert_eq!(read(&at("a.csv")).unwrap(), arr2(&[[1i64, 2], [3, 4]]).into());
        // Safety: as above.
        assert_eq!(unsafe { read_header(&at("a.csv")) }.unwrap().shape, [2, 2]);
        assert_eq!(read(&at("two.npz:b")).unwrap(), arr0(7u8).into());
        assert_eq!(read(&at("m.safetensors:first")).unwrap(), arr1(&[7u8, 8, 9]).into());
    }

    #[test]
    fn names_of_arrays() {
        let (_folder, at) = files();
        // Safety: no one else knows the temporary files.
        let names = |name: &str| unsafe { member_names(&at(name)) }.unwrap();
        assert_eq!(names("two.npz"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(names("two.npz:a"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(names("a.npy"), None);
        let mut tensors = names("m.safetensors").unwrap();
        tensors.sort();
        assert_eq!(tensors, ["first", "rows", "small"]);
    }

    #[test]
    fn errors_name_the_file_and_its_arrays() {
        let (folder, at) = files();
        let no_zarr = format!("s.zarr: {NO_ZARR}");
        for (name, expected) in [
            ("two.npz", "two.npz: name one of its arrays, as in two.npz:a; it has a, b"),
            ("two.npz:c", "two.npz:c: there is no array of that name; it has a, b"),
            ("none.npz", "none.npz: the file has no arrays"),
            ("none.npz:a", "none.npz:a: the file has no arrays"),
            (
                "ten.npz",
                "ten.npz: name one of its arrays, as in ten.npz:x0; it has x0, x1, x2, x3, x4, x5, x6, x7, x8, x9",
            ),
            (
                "many.npz:y",
                "many.npz:y: there is no array of that name; \
                it has x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 and 2 more",
            ),
            ("a.bin:int16:5@4", "a.bin: the shape needs 10 bytes, the file has 8"),
            (
                "m.safetensors:small",
                "m.safetensors: tensor 'small' has the unsupported dtype F8_E5M2; convert it first",
            ),
            ("s.zarr", no_zarr.as_str()),
        ] {
            assert_eq!(problem(folder.path(), read(&at(name))), expected);
            // Safety: no one else knows the temporary files.
            assert_eq!(problem(folder.path(), unsafe { read_header(&at(name)) }), expected);
        }
        let error = problem(folder.path(), read(&at("bad.safetensors")));
        assert!(error.starts_with("bad.safetensors: not a .safetensors file: "), "{error}");
        // Safety: as above.
        let error = unsafe { member_names(&at("s.zarr")) };
        assert_eq!(problem(folder.path(), error), no_zarr);
    }

    #[test]
    fn kinds_of_errors_are_those_of_exit_codes() {
        let (folder, at) = files();
        for name in ["no.npy", "no.csv", "no.npz", "no.safetensors", "no.bin:int16:3"] {
            assert!(matches!(read(&at(name)), Err(FileError::Io(_))), "{name}");
        }
        fs::write(folder.path().join("bad.npy"), "no array").unwrap();
        fs::write(folder.path().join("bad.csv"), "1\nx\n").unwrap();
        for name in ["bad.npy", "bad.csv", "bad.safetensors", "a.bin:int16:99"] {
            assert!(matches!(read(&at(name)), Err(FileError::Content(_))), "{name}");
        }
        for name in ["two.npz", "two.npz:c", "s.zarr"] {
            assert!(matches!(read(&at(name)), Err(FileError::Usage(_))), "{name}");
        }
    }
}
