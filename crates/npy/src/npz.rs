//! `.npz` files: zip archives of `.npy` files.

use crate::discard_after_error::DiscardAfterError;
use crate::error::NpyError;
use crate::header::Header;
use crate::read::{at_end, read_data};
use crate::write::{write_atomically, write_data};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::Path;
use unishape::{Tensor, TensorView};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Reads all arrays of an `.npz` file, with their names, in the order of the file.
///
/// Members may be compressed. A name that looks like a path is not used as one.
///
/// ```
/// use unishape::Tensor;
/// use unishape_npy as npy;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("arrays.npz");
/// let (ones, two) = (Tensor::from(ndarray::arr1(&[1, 1])), Tensor::from(ndarray::arr0(2.5f32)));
/// npy::write_npz(&path, &[("ones", ones.view()), ("two", two.view())])?;
/// assert_eq!(npy::read_npz(&path)?, [("ones".to_string(), ones), ("two".to_string(), two)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`read`](crate::read()) for each array. Also: the archive is damaged, has two arrays of the same name or
/// arrays that share bytes, or an array has more data than its header promises.
pub fn read_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, NpyError> {
    let path = path.as_ref();
    read_archive(path).map_err(|error| error.in_file(path))
}

fn read_archive(path: &Path) -> Result<Vec<(String, Tensor)>, NpyError> {
    let mut archive = ZipArchive::new(BufReader::new(File::open(path)?)).map_err(NpyError::archive)?;
    if archive.has_duplicate_names() {
        return Err(NpyError::Archive("it has two arrays of the same name".into()));
    }
    // Many arrays that share a few bytes would fill the memory.
    if archive.has_overlapping_entries().map_err(NpyError::archive)? {
        return Err(NpyError::Archive("its arrays overlap".into()));
    }
    let mut arrays = Vec::new();
    for number in 0..archive.len() {
        let mut member = archive.by_index(number).map_err(NpyError::archive)?;
        let name = member.name().map_err(NpyError::archive)?.into_owned();
        if member.is_dir() {
            continue;
        }
        let name = name.strip_suffix(".npy").unwrap_or(&name);
        let mut read = || {
            let header = Header::read(&mut member)?;
            let tensor = read_data(&mut member, &header, None)?;
            match at_end(&mut member)? {
                true => Ok(tensor),
                false => Err(NpyError::Surplus { promised: header.data_bytes()? }),
            }
        };
        let tensor = read().map_err(|error: NpyError| error.in_member(name))?;
        arrays.push((name.to_string(), tensor));
    }
    Ok(arrays)
}

/// Writes named arrays to an `.npz` file, uncompressed, as `numpy.savez` does.
///
/// The file is replaced atomically when it is complete, as by [`write`](crate::write()).
///
/// ```
/// # use unishape::Tensor;
/// # use unishape_npy as npy;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("arrays.npz");
/// let ones = Tensor::from(ndarray::arr1(&[1, 1]));
/// npy::write_npz(&path, &[("a", ones.view()), ("b", ones.view().broadcast_to(&[4, 2])?)])?;
/// assert_eq!(npy::read_npz(&path)?[1].1.shape(), [4, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`write`](crate::write()) for each array. Also: two arrays have the same name.
pub fn write_npz<N: AsRef<str>>(
    path: impl AsRef<Path>,
    arrays: &[(N, TensorView<'_>)],
) -> Result<(), NpyError> {
    write_atomically(path.as_ref(), |file| {
        let mut npz = NpzWriter::new(BufWriter::new(file));
        for (name, view) in arrays {
            let name = name.as_ref();
            let header = Header::of(view).map_err(|error| error.in_member(name))?;
            write_data(&mut npz.start(name, &header)?, view, &header)?;
        }
        npz.finish()?.flush()?;
        Ok(())
    })
}

/// Writes an `.npz` file array by array, and each array in parts.
///
/// ```
/// use std::io::{Cursor, Write};
/// use unishape::DType;
/// use unishape_npy::{Descr, Header, NpzWriter};
///
/// let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![4] };
/// let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
/// let mut array = npz.start("bytes", &header)?;
/// array.write_all(&[1, 2])?;
/// array.write_all(&[3, 4])?;
/// npz.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<DiscardAfterError<W>>,
    /// Name of the array being written.
    name: String,
    /// Size of its data by its header, and the rest that is not written yet, in bytes.
    promised: u64,
    remaining: u64,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// A writer of an archive without arrays.
    ///
    /// ```
    /// use unishape_npy::NpzWriter;
    ///
    /// NpzWriter::new(std::io::Cursor::new(Vec::new())).finish()?;
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    pub fn new(writer: W) -> NpzWriter<W> {
        NpzWriter {
            zip: ZipWriter::new(DiscardAfterError::new(writer)),
            name: String::new(),
            promised: 0,
            remaining: 0,
        }
    }

    /// Begins an array; returns a writer for exactly its [data](Header::data_bytes).
    ///
    /// ```
    /// use std::io::{Cursor, Write};
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header, NpzWriter};
    ///
    /// let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![4] };
    /// let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
    /// npz.start("bytes", &header)?.write_all(&[1, 2, 3, 4])?;
    /// assert!(npz.start("bytes", &header).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is an array of that name, the last one is not complete, or writing fails.
    pub fn start(&mut self, name: &str, header: &Header) -> Result<NpzMember<'_, W>, NpyError> {
        self.check_complete()?;
        self.check_writer()?;
        let error = |error: NpyError| error.in_member(name);
        let promised = header.data_bytes().map_err(error)?;
        let size = header.encoded_len().map_err(error)?.saturating_add(promised);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            // The same arrays make the same file at any time.
            .last_modified_time(DateTime::DEFAULT)
            // zip64 only where it is needed: not every reader supports it.
            .large_file(size >= u64::from(u32::MAX));
        self.zip.start_file(format!("{name}.npy"), options).map_err(|zip| error(NpyError::archive(zip)))?;
        header.write(&mut self.zip).map_err(error)?;
        (self.name, self.promised, self.remaining) = (name.into(), promised, promised);
        Ok(NpzMember { npz: self })
    }

    /// Completes the archive; returns the inner writer.
    ///
    /// ```
    /// use unishape_npy::NpzWriter;
    ///
    /// let archive = NpzWriter::new(std::io::Cursor::new(Vec::new())).finish()?.into_inner();
    /// assert!(archive.starts_with(b"PK"));
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The last array is not complete, or writing fails.
    pub fn finish(self) -> Result<W, NpyError> {
        self.check_complete()?;
        Ok(self.zip.finish().map_err(NpyError::archive)?.into_inner()?)
    }

    /// An error if a write failed before.
    fn check_writer(&self) -> io::Result<()> {
        self.zip.get_ref().map_or(Ok(()), DiscardAfterError::check)
    }

    fn check_complete(&self) -> Result<(), NpyError> {
        match self.remaining {
            0 => Ok(()),
            remaining => {
                let (promised, found) = (self.promised, self.promised - remaining);
                Err(NpyError::Truncated { promised, found }.in_member(&self.name))
            }
        }
    }
}

/// A writer of the data of one array.
///
/// It accepts no more than the array's header promises.
///
/// ```
/// use std::io::{Cursor, Write};
/// use unishape::DType;
/// use unishape_npy::{Descr, Header, NpzWriter};
///
/// let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![1] };
/// let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
/// assert!(npz.start("byte", &header)?.write_all(&[1, 2]).is_err());
/// # Ok::<(), unishape_npy::NpyError>(())
/// ```
pub struct NpzMember<'a, W: Write + Seek> {
    npz: &'a mut NpzWriter<W>,
}

impl<W: Write + Seek> Write for NpzMember<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.npz.remaining {
            let surplus = NpyError::Surplus { promised: self.npz.promised }.in_member(&self.npz.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, surplus));
        }
        self.npz.check_writer()?;
        let written = self.npz.zip.write(bytes)?;
        self.npz.remaining -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.npz.zip.flush()
    }
}
