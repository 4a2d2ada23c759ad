//! Arrays of a store, read region by region.

use crate::chunk_format::ChunkFormat;
use crate::chunk_reader::{ChunkElements, ChunkReader};
use crate::element::{dtype_of, read};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unishape::text::{display_path, truncate};
use unishape::{DType, Tensor};
use unishape_files::{ArraySource, BlockReader, FileError};
use unishape_npy::{Descr, Header, Region};
use zarrs::array::{Array, ArrayError, ArrayMetadata, CodecOptions};
use zarrs::filesystem::FilesystemStore;
use zarrs::storage::ReadableStorageTraits;

/// The largest chunk that is decoded, in bytes: metadata may promise any size.
const MAX_CHUNK_BYTES: u64 = 1 << 31;

/// An array of a Zarr store of version 2 or 3.
///
/// Regions are read and decoded on demand; only chunks that they touch are read.
///
/// ```
/// use unishape_zarr::ZarrArray;
///
/// assert!(ZarrArray::open("missing.zarr".as_ref(), None).is_err());
/// ```
pub struct ZarrArray {
    array: Array<dyn ReadableStorageTraits>,
    /// The directory of the store.
    directory: PathBuf,
    header: Header,
    dtype: DType,
    chunk_shape: Vec<usize>,
    /// The format of chunks, if they can be decoded block by block.
    chunk_format: Option<ChunkFormat>,
    /// The store and the array, for errors.
    name: String,
    threads: Option<usize>,
}

impl ZarrArray {
    /// Opens an array of a store.
    ///
    /// Without a name, the store itself is the array, or has a single one.
    ///
    /// ```
    /// use unishape_zarr::ZarrArray;
    ///
    /// let error = ZarrArray::open("missing.zarr".as_ref(), Some("a")).err().expect("no store");
    /// assert!(error.to_string().starts_with("missing.zarr: "));
    /// ```
    ///
    /// # Errors
    ///
    /// The store cannot be read, has no such array, or its dtype, a codec or its chunks are not supported.
    pub fn open(path: &Path, name: Option<&str>) -> Result<ZarrArray, FileError> {
        let shown = display_path(path);
        fs::read_dir(path).map_err(|error| FileError::io(&shown, &error))?;
        let name = match name {
            Some(name) => name.trim_matches('/').to_owned(),
            None if is_array(path) => String::new(),
            None => only_array(path, &shown)?,
        };
        if !is_array(&path.join(&name)) {
            let names = names_text(&array_names(path)?);
            let problem = format!("{shown}: there is no array '{}'; it has {names}", truncate(&name, 60));
            return Err(FileError::Usage(problem));
        }
        let label = if name.is_empty() { shown } else { format!("{shown}:{name}") };
        let store = FilesystemStore::new(path).map_err(|error| FileError::content(&label, error))?;
        let storage: Arc<dyn ReadableStorageTraits> = Arc::new(store);
        let node = format!("/{name}");
        let array = match complex_without_fill_value(&path.join(&name)) {
            Some(metadata) => Array::new_with_metadata(storage, &node, metadata),
            None => Array::open(storage, &node),
        };
        ZarrArray::new(array.map_err(|error| FileError::content(&label, error))?, path, label)
    }

    fn new(
        array: Array<dyn ReadableStorageTraits>,
        directory: &Path,
        name: String,
    ) -> Result<ZarrArray, FileError> {
        let dtype = dtype_of(array.data_type()).ok_or_else(|| {
            let problem = format!("the dtype {:?} is not supported", array.data_type());
            FileError::content(&name, truncate(&problem, 200))
        })?;
        let size =
            |size: &u64| usize::try_from(*size).map_err(|_| FileError::content(&name, "it is too large"));
        let shape: Vec<usize> = array.shape().iter().map(size).collect::<Result<_, _>>()?;
        let origin = vec![0; shape.len()];
        let chunk_shape = match shape.contains(&0) {
            true => vec![1; shape.len()],
            false => array.chunk_shape_usize(&origin).map_err(|error| FileError::content(&name, error))?,
        };
        let item = dtype.item_size() as u64;
        let bytes = chunk_shape.iter().try_fold(item, |bytes, &size| bytes.checked_mul(size as u64));
        if bytes.is_none_or(|bytes| bytes > MAX_CHUNK_BYTES) {
            let problem = format!("chunks of {chunk_shape:?} are larger than 2 GiB; use smaller chunks");
            return Err(FileError::content(&name, problem));
        }
        let header = Header { descr: Descr::of(dtype), fortran_order: false, shape };
        let metadata = serde_json::to_value(array.metadata()).unwrap_or_default();
        let chunk_format = ChunkFormat::of(&metadata, dtype);
        let directory = directory.to_path_buf();
        Ok(ZarrArray { array, directory, header, dtype, chunk_shape, chunk_format, name, threads: None })
    }

    /// Sets how many threads decode a region, at least 1.
    ///
    /// Default: `unishape::num_threads()` where the region is read. Several are those of rayon's global pool.
    ///
    /// ```no_run
    /// use unishape_zarr::ZarrArray;
    ///
    /// let array = ZarrArray::open("store.zarr".as_ref(), None)?.with_threads(1);
    /// # Ok::<(), unishape_files::FileError>(())
    /// ```
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> ZarrArray {
        self.threads = Some(threads.max(1));
        self
    }

    fn check_ranges(&self, ranges: &[Range<usize>]) {
        let shape = &self.header.shape;
        let fits = |(range, &size): (&Range<usize>, &usize)| range.start <= range.end && range.end <= size;
        assert!(
            ranges.len() == shape.len() && ranges.iter().zip(shape).all(fits),
            "the array of shape {shape:?} has no region {ranges:?}"
        );
    }

    fn read(&self, ranges: &[Range<usize>]) -> Result<Tensor, FileError> {
        let threads = self.threads.unwrap_or_else(unishape::num_threads);
        // By default at least four chunks are decoded at a time, on however few threads.
        let options = CodecOptions::default()
            .with_concurrent_target(threads)
            .with_chunk_concurrent_minimum(threads.min(4));
        let tensor = read(&self.array, self.dtype, ranges, &options);
        let tensor = tensor.map_err(|error| self.error(&error))?;
        tensor.ok_or_else(|| FileError::content(&self.name, "a chunk has a wrong number of elements"))
    }

    /// One element, of the rank of the array.
    fn element(&self, index: &[usize]) -> Result<Tensor, FileError> {
        self.read(&index.iter().map(|&at| at..at + 1).collect::<Vec<_>>())
    }

    fn error(&self, error: &ArrayError) -> FileError {
        match error {
            ArrayError::StorageError(error) => FileError::Io(format!("{}: {error}", self.name)),
            error => FileError::content(&self.name, error),
        }
    }
}

impl ArraySource for ZarrArray {
    fn header(&self) -> &Header {
        &self.header
    }

    fn region(&self, ranges: &[Range<usize>]) -> Result<Region<'_>, FileError> {
        self.check_ranges(ranges);
        self.read(ranges).map(Region::Tensor)
    }

    fn chunk_shape(&self) -> Option<&[usize]> {
        Some(&self.chunk_shape)
    }

    fn reads_blocks(&self) -> bool {
        self.chunk_format.is_some()
    }

    fn blocks(&self, ranges: &[Range<usize>]) -> Result<Option<Box<dyn BlockReader + '_>>, FileError> {
        self.check_ranges(ranges);
        let Some(format) = &self.chunk_format else { return Ok(None) };
        // A region in one chunk, from its first element on.
        let is_start =
            |(range, &size): (&Range<usize>, &usize)| range.start % size == 0 && range.len() <= size;
        if !ranges.iter().zip(&self.chunk_shape).all(is_start) {
            return Ok(None);
        }
        let index: Vec<u64> =
            ranges.iter().zip(&self.chunk_shape).map(|(range, &size)| (range.start / size) as u64).collect();
        let path = self.directory.join(self.array.chunk_key(&index).as_str());
        let origin: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        let elements = match format.open(&path).map_err(|error| FileError::io(&self.name, &error))? {
            Some(decoder) => ChunkElements::Encoded { decoder, descr: format.descr.clone() },
            // A chunk without a file has the fill value.
            None => ChunkElements::Fill(self.element(&origin)?),
        };
        Ok(Some(Box::new(ChunkReader::new(elements, origin, &self.chunk_shape, &self.name))))
    }
}

/// Whether a directory is an array of version 2 or 3.
fn is_array(path: &Path) -> bool {
    path.join(".zarray").is_file()
        || fs::read(path.join("zarr.json")).is_ok_and(|bytes| {
            let metadata: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
            metadata.is_some_and(|metadata| metadata["node_type"] == "array")
        })
}

/// The metadata of an array of complex numbers of version 2 without a fill value, with one: `zarrs` reads such arrays of
/// other dtypes only. Missing chunks are zeros, as for these.
fn complex_without_fill_value(directory: &Path) -> Option<ArrayMetadata> {
    let bytes = fs::read(directory.join(".zarray")).ok()?;
    let mut metadata: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let is_complex = metadata["dtype"].as_str().is_some_and(|dtype| dtype.as_bytes().get(1) == Some(&b'c'));
    if !is_complex || !metadata["fill_value"].is_null() {
        return None;
    }
    metadata["fill_value"] = serde_json::json!([0.0, 0.0]);
    serde_json::from_value(metadata).ok()
}

/// The names of all arrays in a store, sorted.
///
/// ```
/// assert!(unishape_zarr::array_names("missing.zarr".as_ref()).is_err());
/// ```
///
/// # Errors
///
/// The directory of the store cannot be read.
pub fn array_names(path: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    let mut groups = vec![String::new()];
    while let Some(group) = groups.pop() {
        let entries = fs::read_dir(path.join(&group));
        let entries = entries.map_err(|error| FileError::io(&display_path(path), &error))?;
        for entry in entries.flatten() {
            let Ok(own) = entry.file_name().into_string() else { continue };
            // Chunks of version 3 are below `c`; a hidden directory is no node. Links are not followed.
            if own.starts_with('.') || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = if group.is_empty() { own } else { format!("{group}/{own}") };
            if is_array(&entry.path()) {
                names.push(name);
            } else if entry.path().join("zarr.json").is_file() || entry.path().join(".zgroup").is_file() {
                groups.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}

fn only_array(path: &Path, shown: &str) -> Result<String, FileError> {
    let names = array_names(path)?;
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(FileError::content(shown, "this directory is no Zarr store, or has no arrays")),
        [first, ..] => Err(FileError::Usage(format!(
            "{shown}: name one of its arrays, as in {shown}:{}; it has {}",
            truncate(first, 60),
            names_text(&names)
        ))),
    }
}

fn names_text(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|name| truncate(name, 60)).collect();
    match names.len() {
        0 => "no arrays".into(),
        1..=10 => shown.join(", "),
        count => format!("{} and {} more", shown.join(", "), count - 10),
    }
}
