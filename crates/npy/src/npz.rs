//! `.npz` files: zip archives of `.npy` files.

use crate::discard_after_error::DiscardAfterError;
use crate::error::NpyError;
use crate::header::Header;
use crate::raw_array::RawArray;
use crate::read::{at_end, read_data};
use crate::write::{write_atomically, write_data};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use unishape::{Tensor, TensorView};
use zip::read::ZipFile;
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

/// An open `.npz` file, whose arrays are opened one by one.
///
/// ```
/// use unishape_npy::{self as npy, NpzReader};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("arrays.npz");
/// npy::write_npz(&path, &[("a", ndarray::arr1(&[1, 2]).view().into())])?;
/// let mut npz = NpzReader::open(&path)?;
/// assert_eq!(npz.names(), ["a"]);
/// assert_eq!(npz.header("a")?.shape, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzReader {
    path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
    /// Names without `.npy`, and indices in the archive.
    members: Vec<(String, usize)>,
}

impl NpzReader {
    /// Opens an archive and reads its directory.
    ///
    /// ```
    /// use unishape_npy::NpzReader;
    ///
    /// assert!(NpzReader::open("missing.npz").unwrap_err().to_string().starts_with("missing.npz: "));
    /// ```
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no archive, or has two arrays of the same name.
    pub fn open(path: impl AsRef<Path>) -> Result<NpzReader, NpyError> {
        let path = path.as_ref();
        NpzReader::open_file(path).map_err(|error| error.in_file(path))
    }

    fn open_file(path: &Path) -> Result<NpzReader, NpyError> {
        let archive = ZipArchive::new(BufReader::new(File::open(path)?)).map_err(NpyError::archive)?;
        if archive.has_duplicate_names() {
            return Err(NpyError::Archive("it has two arrays of the same name".into()));
        }
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let Some(name) = archive.name_for_index(index) else { continue };
            let name = name.map_err(NpyError::archive)?;
            if !name.ends_with('/') {
                members.push((name.strip_suffix(".npy").unwrap_or(&name).to_owned(), index));
            }
        }
        Ok(NpzReader { path: path.into(), archive, members })
    }

    /// The names of the arrays, in the order of the file.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, NpzReader};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// npy::write_npz(&path, &[("b", ndarray::arr0(1).view().into()), ("a", ndarray::arr0(2).view().into())])?;
    /// assert_eq!(NpzReader::open(&path)?.names(), ["b", "a"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self) -> Vec<&str> {
        self.members.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The header of an array; its data need not be complete.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, NpzReader};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// npy::write_npz(&path, &[("a", ndarray::arr1(&[1, 2]).view().into())])?;
    /// assert_eq!(NpzReader::open(&path)?.header("a")?.shape, [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no array of that name, or its header is invalid.
    pub fn header(&mut self, name: &str) -> Result<Header, NpyError> {
        let header = self.member(name).and_then(|mut member| Header::read(&mut member));
        header.map_err(|error| error.in_member(name).in_file(&self.path))
    }

    /// Reads an array.
    ///
    /// Up to 64 MiB are read into memory, a larger array into a temporary file, which is mapped.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, NpzReader};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// npy::write_npz(&path, &[("a", ndarray::arr1(&[1u8, 2]).view().into())])?;
    /// assert_eq!(NpzReader::open(&path)?.read("a")?.data(), [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`header`](NpzReader::header), and where the data is damaged, too short or too long.
    pub fn read(&mut self, name: &str) -> Result<RawArray, NpyError> {
        let path = self.path.clone();
        let read = |mut member: ZipFile<'_, BufReader<File>>| {
            let header = Header::read(&mut member)?;
            let promised = header.data_bytes()?;
            let array = RawArray::read_stream(&path, header, &mut member)?;
            match at_end(&mut member)? {
                true => Ok(array),
                false => Err(NpyError::Surplus { promised }),
            }
        };
        self.member(name).and_then(read).map_err(|error| error.in_member(name).in_file(&path))
    }

    /// The header of an array that is not compressed, and where its data is.
    ///
    /// The second value is the offset of the data in the file.
    ///
    /// For [`RawArray::map_at`]. The checksum of the archive is not verified.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, NpzReader};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// npy::write_npz(&path, &[("a", ndarray::arr1(&[7u8, 8]).view().into())])?;
    /// let (header, offset) = NpzReader::open(&path)?.stored("a")?.expect("not compressed");
    /// assert_eq!((header.shape, std::fs::read(&path)?[offset as usize]), (vec![2], 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`header`](NpzReader::header), and where the size of the data is not that of the header.
    pub fn stored(&mut self, name: &str) -> Result<Option<(Header, u64)>, NpyError> {
        let stored = |mut member: ZipFile<'_, BufReader<File>>| {
            let Some(start) = member.data_start() else { return Ok(None) };
            if member.compression() != CompressionMethod::Stored || member.encrypted() {
                return Ok(None);
            }
            let size = member.size();
            let mut counted = CountingReader { inner: &mut member, count: 0 };
            let header = Header::read(&mut counted)?;
            let (promised, found) = (header.data_bytes()?, size.saturating_sub(counted.count));
            match promised.cmp(&found) {
                Ordering::Equal => Ok(Some((header, start.saturating_add(counted.count)))),
                Ordering::Less => Err(NpyError::Surplus { promised }),
                Ordering::Greater => Err(NpyError::Truncated { promised, found }),
            }
        };
        self.member(name).and_then(stored).map_err(|error| error.in_member(name).in_file(&self.path))
    }

    fn member(&mut self, name: &str) -> Result<ZipFile<'_, BufReader<File>>, NpyError> {
        let index = self.members.iter().find(|(own, _)| own == name).map(|(_, index)| *index);
        let index = index.ok_or_else(|| NpyError::Archive("there is no array of that name".into()))?;
        self.archive.by_index(index).map_err(NpyError::archive)
    }
}

/// Counts the bytes that are read.
struct CountingReader<'r, R> {
    inner: &'r mut R,
    count: u64,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
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
