//! A chunk that is encoded as it is written.

use crate::metadata::{Format, ZSTD_LEVEL};
use crate::padded_block::PaddedBlock;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::PathBuf;
use unishape::{DType, TensorView};
use unishape_files::FileError;
use unishape_npy::{NpyError, write_elements};
use zstd::stream::write::Encoder;

/// Writes a chunk front to back, block by block.
///
/// Its elements are compressed as they come, so that neither the chunk nor its encoding is in memory as a whole.
///
/// ```
/// use unishape::{DType, Tensor};
/// use unishape_files::ArraySource;
/// use unishape_zarr::{Format, StoreWriter, ZarrArray};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("s.zarr");
/// let mut store = StoreWriter::create(&path, Format::V3)?;
/// let array = store.add_array("a", DType::U8, &[3, 2], &[2, 2])?;
/// let mut chunk = array.chunk(&[0, 0]);
/// chunk.write(&[0..1, 0..2], &Tensor::from(ndarray::arr2(&[[1u8, 2]])))?;
/// chunk.write(&[1..2, 0..2], &Tensor::from(ndarray::arr2(&[[3u8, 4]])))?;
/// chunk.finish()?;
/// store.commit(false)?;
/// let rows = ZarrArray::open(&path, None)?.region(&[0..3, 0..2])?.view().to_owned()?;
/// assert_eq!(rows, Tensor::from(ndarray::arr2(&[[1u8, 2], [3, 4], [0, 0]])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChunkWriter<'w> {
    file: ChunkFile,
    format: Format,
    chunk_shape: &'w [usize],
    dtype: DType,
    /// The number of elements that have been written.
    position: usize,
    /// The store, for errors.
    name: &'w str,
}

impl<'w> ChunkWriter<'w> {
    pub(crate) fn new(
        path: PathBuf,
        format: Format,
        chunk_shape: &'w [usize],
        dtype: DType,
        name: &'w str,
    ) -> Self {
        let item_size = dtype.item_size() as u64;
        let bytes = chunk_shape.iter().fold(item_size, |bytes, &size| bytes.saturating_mul(size as u64));
        let file = ChunkFile { path, bytes, zeros: 0, encoder: None };
        ChunkWriter { file, format, chunk_shape, dtype, position: 0, name }
    }

    /// Writes a block.
    ///
    /// That is one index of the chunk in the dimensions before some dimension, a range of that, and indices from 0 on
    /// in those after it. What is left out between blocks is 0.
    ///
    /// ```
    /// # use unishape::{DType, Tensor};
    /// # use unishape_zarr::{Format, StoreWriter};
    /// # let folder = tempfile::tempdir()?;
    /// # let mut store = StoreWriter::create(&folder.path().join("s.zarr"), Format::V3)?;
    /// # let array = store.add_array("a", DType::U8, &[2, 2], &[2, 2])?;
    /// let mut chunk = array.chunk(&[0, 0]);
    /// chunk.write(&[1..2, 0..2], &Tensor::from(ndarray::arr2(&[[3u8, 4]])))?;
    /// chunk.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The elements cannot be written, or have another dtype than the array.
    ///
    /// # Panics
    ///
    /// The ranges are no block, one before the last block, or have another shape than the elements.
    pub fn write<'a>(
        &mut self,
        ranges: &[Range<usize>],
        elements: impl Into<TensorView<'a>>,
    ) -> Result<(), FileError> {
        let view = elements.into();
        if view.dtype() != self.dtype {
            let problem = format!("elements of {} for an array of {}", view.dtype(), self.dtype);
            return Err(FileError::content(self.name, problem));
        }
        let (span, item_size) = (PaddedBlock::new(self.chunk_shape, ranges), self.dtype.item_size());
        assert!(span.start >= self.position, "{ranges:?} is before the last block");
        assert!(ranges.iter().map(Range::len).eq(view.shape().iter().copied()), "{:?}", view.shape());
        let padding = ((span.start - self.position) * item_size) as u64;
        self.position = span.start + span.len();
        let written = self.file.pad(padding).map_err(NpyError::Io);
        let written = written.and_then(|()| write_padded(&mut self.file, view, &span.shape, 0, item_size));
        written.map_err(|error| self.error(&error))
    }

    /// Completes the chunk.
    ///
    /// One whose elements are all 0 has no file where the fill value is 0: in version 3.
    ///
    /// ```
    /// # use unishape::DType;
    /// # use unishape_zarr::{Format, StoreWriter};
    /// # let folder = tempfile::tempdir()?;
    /// # let mut store = StoreWriter::create(&folder.path().join("s.zarr"), Format::V3)?;
    /// store.add_array("a", DType::U8, &[2], &[2])?.chunk(&[0]).finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The elements cannot be written.
    pub fn finish(mut self) -> Result<(), FileError> {
        let elements: usize = self.chunk_shape.iter().product();
        let padding = ((elements - self.position) * self.dtype.item_size()) as u64;
        let is_omitted = self.file.encoder.is_none() && self.format.omits_zeros();
        let finished = if is_omitted { Ok(()) } else { self.file.finish(padding) };
        finished.map_err(|error| self.error(&NpyError::Io(error)))
    }

    fn error(&self, error: &NpyError) -> FileError {
        match error {
            NpyError::Io(error) => FileError::io(self.name, error),
            error => FileError::content(self.name, error),
        }
    }
}

/// Writes a block and, after each of its rows, the padding up to a shape.
fn write_padded(
    file: &mut ChunkFile,
    view: TensorView<'_>,
    shape: &[usize],
    dim: usize,
    item_size: usize,
) -> Result<(), NpyError> {
    if view.shape()[dim..] == shape[dim..] {
        return write_elements(file, view);
    }
    for index in 0..view.shape()[dim] {
        let ranges = view.shape().iter().enumerate();
        let ranges: Vec<Range<usize>> =
            ranges.map(|(own, &size)| if own == dim { index..index + 1 } else { 0..size }).collect();
        write_padded(file, view.reborrow().slice(&ranges), shape, dim + 1, item_size)?;
    }
    let inner: usize = shape[dim + 1..].iter().product();
    file.pad(((shape[dim] - view.shape()[dim]) * inner * item_size) as u64)?;
    Ok(())
}

/// The file of a chunk, which begins to exist with the first byte that is not 0.
struct ChunkFile {
    path: PathBuf,
    /// The bytes of the chunk before compression.
    bytes: u64,
    /// The number of zeros that were written before the file exists.
    zeros: u64,
    encoder: Option<Encoder<'static, File>>,
}

impl ChunkFile {
    fn encoder(&mut self) -> io::Result<&mut Encoder<'static, File>> {
        if self.encoder.is_none() {
            let file = match File::create(&self.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir_all(self.path.parent().unwrap_or(&self.path))?;
                    File::create(&self.path)?
                }
                file => file?,
            };
            let mut encoder = Encoder::new(file, ZSTD_LEVEL)?;
            // Readers allocate by the size in the frame, which some of them need.
            encoder.set_pledged_src_size(Some(self.bytes))?;
            io::copy(&mut io::Read::take(io::repeat(0), self.zeros), &mut encoder)?;
            self.encoder = Some(encoder);
        }
        self.encoder.as_mut().ok_or_else(|| io::Error::other("no file"))
    }

    /// Writes zeros, and completes the file.
    fn finish(&mut self, padding: u64) -> io::Result<()> {
        self.encoder()?;
        self.pad(padding)?;
        self.encoder.take().map_or(Ok(()), |encoder| encoder.finish().map(drop))
    }

    /// Writes zeros.
    fn pad(&mut self, count: u64) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(0), count), self).map(drop)
    }
}

impl Write for ChunkFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.encoder.is_none() && bytes.iter().all(|&byte| byte == 0) {
            self.zeros += bytes.len() as u64;
            return Ok(bytes.len());
        }
        self.encoder()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
