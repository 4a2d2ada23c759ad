//! A store that is written, and appears complete or not at all.

use crate::chunk_writer::ChunkWriter;
use crate::metadata::{Format, array_files, group_files, root_files};
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use unishape::text::display_path;
use unishape::{DType, TensorView};
use unishape_files::FileError;

/// A store of arrays that is being written.
///
/// It is in a temporary directory beside its target.
///
/// ```
/// use unishape_zarr::{Format, StoreWriter};
///
/// let folder = tempfile::tempdir()?;
/// drop(StoreWriter::create(&folder.path().join("s.zarr"), Format::V3)?);
/// assert_eq!(std::fs::read_dir(&folder)?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StoreWriter {
    target: PathBuf,
    directory: TempDir,
    format: Format,
    /// Names and metadata of arrays and of the groups that they are in.
    nodes: Vec<(String, Vec<(&'static str, Value)>)>,
}

impl StoreWriter {
    /// Starts a store.
    ///
    /// ```
    /// use unishape_zarr::{Format, StoreWriter};
    ///
    /// assert!(StoreWriter::create("missing/s.zarr".as_ref(), Format::V2).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// No directory can be created beside the target.
    pub fn create(target: &Path, format: Format) -> Result<StoreWriter, FileError> {
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = tempfile::Builder::new()
            .prefix(".unishape-")
            .tempdir_in(parent.unwrap_or(Path::new(".")))
            .map_err(|error| FileError::io(&display_path(target), &error))?;
        Ok(StoreWriter { target: target.into(), directory, format, nodes: Vec::new() })
    }

    /// Adds an array, whose name may have groups (`a/b`).
    ///
    /// Its chunks are written by the returned writer, in any order and from any thread.
    ///
    /// Chunks that are not written are 0.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_zarr::{Format, StoreWriter};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut store = StoreWriter::create(&folder.path().join("s.zarr"), Format::V2)?;
    /// store.add_array("zeros", DType::I16, &[4, 4], &[2, 4])?;
    /// assert!(store.add_array("text", DType::Str, &[4], &[4]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Zarr does not have the dtype, or the metadata cannot be written.
    ///
    /// # Panics
    ///
    /// Where `chunks` has not one size for each dimension, or a size of 0.
    pub fn add_array(
        &mut self,
        name: &str,
        dtype: DType,
        shape: &[usize],
        chunks: &[usize],
    ) -> Result<ArrayWriter, FileError> {
        assert!(chunks.len() == shape.len() && !chunks.contains(&0), "chunks {chunks:?} of {shape:?}");
        let shown = display_path(&self.target);
        let files = array_files(self.format, dtype, shape, chunks).ok_or_else(|| {
            FileError::content(&shown, format!("Zarr has no dtype {dtype}; convert the array to float32"))
        })?;
        let io_error = |error: io::Error| FileError::io(&shown, &error);
        for (end, _) in name.match_indices('/') {
            self.add_node(&name[..end], group_files(self.format)).map_err(io_error)?;
        }
        self.add_node(name, files).map_err(io_error)?;
        Ok(ArrayWriter {
            directory: self.directory.path().join(name),
            format: self.format,
            dtype,
            chunk_shape: chunks.to_vec(),
            name: shown,
        })
    }

    /// Writes the metadata of an array or a group, unless they have been written.
    fn add_node(&mut self, name: &str, files: Vec<(&'static str, Value)>) -> io::Result<()> {
        if self.nodes.iter().all(|(own, _)| own != name) {
            write_files(&self.directory.path().join(name), &files)?;
            self.nodes.push((name.into(), files));
        }
        Ok(())
    }

    /// Completes the store: it appears under its name.
    ///
    /// With `replace`, in the place of what has that name.
    ///
    /// ```
    /// use unishape_zarr::{Format, StoreWriter};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("s.zarr");
    /// StoreWriter::create(&path, Format::V3)?.commit(false)?;
    /// assert!(StoreWriter::create(&path, Format::V3)?.commit(false).is_err());
    /// StoreWriter::create(&path, Format::V3)?.commit(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The metadata cannot be written, or the name is taken and `replace` is not set. Nothing is left then.
    pub fn commit(self, replace: bool) -> Result<(), FileError> {
        let shown = display_path(&self.target);
        let io_error = |error: io::Error| FileError::io(&shown, &error);
        write_files(self.directory.path(), &root_files(self.format, &self.nodes)).map_err(io_error)?;
        set_permissions(self.directory.path()).map_err(io_error)?;
        if fs::symlink_metadata(&self.target).is_err() {
            fs::rename(self.directory.path(), &self.target).map_err(io_error)?;
            // Renamed: there is nothing to remove.
            let _ = self.directory.keep();
            return Ok(());
        }
        if !replace {
            return Err(io_error(ErrorKind::AlreadyExists.into()));
        }
        // The old store moves into a temporary directory of its own, which is removed at the end.
        let parent = self.directory.path().parent().unwrap_or(Path::new("."));
        let old = tempfile::Builder::new().prefix(".unishape-").tempdir_in(parent).map_err(io_error)?;
        let backup = old.path().join("old");
        fs::rename(&self.target, &backup).map_err(io_error)?;
        if let Err(error) = fs::rename(self.directory.path(), &self.target) {
            let restored = fs::rename(&backup, &self.target);
            if restored.is_err() {
                let kept = old.keep();
                let kept = display_path(&kept);
                return Err(FileError::Io(format!("{shown}: {error}; the previous store is in {kept}")));
            }
            return Err(io_error(error));
        }
        let _ = self.directory.keep();
        Ok(())
    }
}

/// Writes chunks of one array.
///
/// ```
/// use unishape::{DType, Tensor};
/// use unishape_zarr::{Format, StoreWriter};
///
/// let folder = tempfile::tempdir()?;
/// let mut store = StoreWriter::create(&folder.path().join("s.zarr"), Format::V3)?;
/// let array = store.add_array("a", DType::U8, &[2], &[2])?;
/// array.write_chunk(&[0], &Tensor::from(ndarray::arr1(&[1u8, 2])))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArrayWriter {
    directory: PathBuf,
    format: Format,
    dtype: DType,
    chunk_shape: Vec<usize>,
    /// The store, for errors.
    name: String,
}

impl ArrayWriter {
    /// Starts the chunk of an index, which is written block by block.
    ///
    /// ```
    /// # use unishape::{DType, Tensor};
    /// # use unishape_zarr::{Format, StoreWriter};
    /// # let folder = tempfile::tempdir()?;
    /// # let mut store = StoreWriter::create(&folder.path().join("s.zarr"), Format::V3)?;
    /// let array = store.add_array("a", DType::U8, &[4], &[4])?;
    /// let mut chunk = array.chunk(&[0]);
    /// chunk.write(&[0..2], &Tensor::from(ndarray::arr1(&[1u8, 2])))?;
    /// chunk.write(&[2..4], &Tensor::from(ndarray::arr1(&[3u8, 4])))?;
    /// chunk.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunk(&self, index: &[u64]) -> ChunkWriter<'_> {
        let path = self.directory.join(self.format.chunk_path(index));
        ChunkWriter::new(path, self.format, &self.chunk_shape, self.dtype, &self.name)
    }

    /// Encodes and writes the chunk of an index, on the calling thread.
    ///
    /// ```
    /// # use unishape::{DType, Tensor};
    /// # use unishape_zarr::{Format, StoreWriter};
    /// # let folder = tempfile::tempdir()?;
    /// # let mut store = StoreWriter::create(&folder.path().join("s.zarr"), Format::V3)?;
    /// let array = store.add_array("a", DType::U8, &[3], &[2])?;
    /// array.write_chunk(&[1], &Tensor::from(ndarray::arr1(&[3u8])))?; // the last one is smaller
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The chunk cannot be encoded or written, or has another dtype than the array.
    ///
    /// # Panics
    ///
    /// Where the elements have another rank than the array, or more elements than a chunk along a dimension.
    pub fn write_chunk<'a>(
        &self,
        index: &[u64],
        elements: impl Into<TensorView<'a>>,
    ) -> Result<(), FileError> {
        let view = elements.into();
        let fits = view.shape().iter().zip(&self.chunk_shape).all(|(size, chunk)| size <= chunk);
        assert!(view.shape().len() == self.chunk_shape.len() && fits, "a chunk of {:?}", view.shape());
        let ranges: Vec<Range<usize>> = view.shape().iter().map(|&size| 0..size).collect();
        let mut chunk = self.chunk(index);
        chunk.write(&ranges, view)?;
        chunk.finish()
    }
}

fn write_files(directory: &Path, files: &[(&'static str, Value)]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    files.iter().try_for_each(|(name, value)| fs::write(directory.join(name), format!("{value:#}")))
}

/// Gives the store the permissions of a new directory: a temporary one is private.
fn set_permissions(directory: &Path) -> io::Result<()> {
    let sample = directory.join(".permissions");
    fs::create_dir(&sample)?;
    let permissions = fs::metadata(&sample)?.permissions();
    fs::remove_dir(&sample)?;
    fs::set_permissions(directory, permissions)
}
