//! Arrays as the bytes of their file.

use crate::broadcast_bytes::broadcast_bytes;
use crate::error::NpyError;
use crate::header::Header;
use crate::mmap::FileMapping;
use crate::write::write_data;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use unishape::{Error, Tensor};
use unishape_core::{Rules, broadcast_strides, check_broadcast_to};

/// The array of an `.npy` file as bytes, in memory or in the memory-mapped file.
///
/// The elements have any dtype that NumPy writes except Python objects. They can be written broadcast to
/// another shape, and read as numbers where they lie ([`view`](RawArray::view), [`region`](RawArray::region)).
///
/// ```
/// use unishape::Rules;
/// use unishape_npy::{self as npy, RawArray};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("row.npy");
/// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
///
/// let row = RawArray::read(&path)?;
/// assert_eq!(row.header().shape, [3]);
/// let mut bytes = Vec::new();
/// row.write_broadcast(Rules::STANDARD, &[2, 3], &mut bytes)?;
/// assert_eq!(bytes, [1, 2, 3, 1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RawArray {
    path: PathBuf,
    header: Header,
    storage: Storage,
}

/// Where the bytes are.
#[derive(Debug)]
enum Storage {
    /// A copy of `len` bytes. Words of 16 bytes are aligned for every dtype.
    Memory { words: Vec<u128>, len: usize },
    /// The data is this range of the memory-mapped file.
    File { mapping: FileMapping, data: Range<usize> },
}

/// Arrays from streams up to this size are kept in memory, larger ones in a temporary file. In bytes.
const MAX_STREAM_MEMORY: u64 = 64 << 20;

impl Storage {
    /// A copy of bytes, aligned for every dtype.
    fn of_bytes(bytes: &[u8]) -> Result<Storage, NpyError> {
        let mut storage = Storage::zeroed(bytes.len())?;
        if let Storage::Memory { words, len } = &mut storage {
            bytemuck::cast_slice_mut(words)[..*len].copy_from_slice(bytes);
        }
        Ok(storage)
    }

    /// Memory for this many bytes.
    fn zeroed(len: usize) -> Result<Storage, NpyError> {
        let mut words: Vec<u128> = Vec::new();
        let count = len.div_ceil(size_of::<u128>());
        words.try_reserve_exact(count).map_err(|_| NpyError::OutOfMemory { bytes: len })?;
        words.resize(count, 0);
        Ok(Storage::Memory { words, len })
    }
}

impl RawArray {
    /// Reads an array into memory.
    ///
    /// ```
    /// use unishape_npy::RawArray;
    ///
    /// assert!(RawArray::read("missing.npy").unwrap_err().to_string().starts_with("missing.npy: "));
    /// ```
    ///
    /// # Errors
    ///
    /// The file cannot be read, its header is invalid, or it has less data than its header promises. A
    /// header that promises more data than the file has allocates nothing.
    pub fn read(path: impl AsRef<Path>) -> Result<RawArray, NpyError> {
        let path = path.as_ref();
        RawArray::read_file(path).map_err(|error| error.in_file(path))
    }

    fn read_file(path: &Path) -> Result<RawArray, NpyError> {
        let (mut file, header, data) = open(path)?;
        let len = data.len();
        let mut storage = Storage::zeroed(len)?;
        if let Storage::Memory { words, .. } = &mut storage {
            let found = read_fully(&mut file, &mut bytemuck::cast_slice_mut(words)[..len])?;
            if found < len {
                return Err(NpyError::Truncated { promised: len as u64, found: found as u64 });
            }
        }
        Ok(RawArray { path: path.into(), header, storage })
    }

    /// Maps the file of an array into memory.
    ///
    /// The array can be larger than memory: the system reads the pages in use.
    ///
    /// Safe code cannot map a file, since it cannot keep others from changing it;
    /// [`read`](RawArray::read) is the safe alternative.
    ///
    /// ```compile_fail,E0133
    /// let array = unishape_npy::RawArray::map("array.npy");
    /// ```
    ///
    /// # Safety
    ///
    /// As long as the `RawArray` exists, no one modifies or truncates the file: neither this process, through
    /// another handle or mapping, nor another process. Replacing the file by a rename is allowed, since the
    /// mapping keeps the old one.
    ///
    /// A modified byte would change behind a shared reference, which is undefined behavior. Access beyond the
    /// end of a truncated file ends the process with SIGBUS.
    ///
    /// ```
    /// use unishape_npy::{self as npy, RawArray};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// // Safety: no one else knows the temporary file.
    /// let row = unsafe { RawArray::map(&path)? };
    /// assert_eq!(row.header().shape, [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](RawArray::read).
    #[allow(unsafe_code)]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<RawArray, NpyError> {
        let path = path.as_ref();
        // Safety: the caller guarantees that the file keeps its bytes and its length.
        unsafe { RawArray::map_file(path) }.map_err(|error| error.in_file(path))
    }

    /// # Safety
    ///
    /// As [`map`](RawArray::map).
    #[allow(unsafe_code)]
    unsafe fn map_file(path: &Path) -> Result<RawArray, NpyError> {
        let (file, header, data) = open(path)?;
        // Safety: the caller guarantees that the file keeps its bytes and its length.
        unsafe { RawArray::map_range(path, &file, header, data) }
    }

    /// Maps an array in any file.
    ///
    /// `header` describes it, and its elements begin at a byte offset.
    ///
    /// For files of raw elements, and for other formats whose arrays are contiguous.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header, RawArray};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("sensor.bin");
    /// std::fs::write(&path, [255, 1, 0, 2, 0])?;
    /// let header = Header { descr: Descr::of(DType::I16), fortran_order: false, shape: vec![2] };
    /// // Safety: no one else knows the temporary file.
    /// let array = unsafe { RawArray::map_at(&path, header, 1)? };
    /// let numbers = array.region(&[0..2])?;
    /// assert_eq!(numbers.view().to_owned()?, ndarray::arr1(&[1i16, 2]).into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As [`map`](RawArray::map).
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has less data than the header promises.
    #[allow(unsafe_code)]
    pub unsafe fn map_at(path: impl AsRef<Path>, header: Header, offset: u64) -> Result<RawArray, NpyError> {
        let path = path.as_ref();
        let mapped = || {
            let file = File::open(path)?;
            let data = data_range(&file, &header, offset)?;
            // Safety: the caller guarantees that the file keeps its bytes and its length.
            unsafe { RawArray::map_range(path, &file, header, data) }
        };
        mapped().map_err(|error: NpyError| error.in_file(path))
    }

    /// # Safety
    ///
    /// As [`map`](RawArray::map).
    #[allow(unsafe_code)]
    unsafe fn map_range(
        path: &Path,
        file: &File,
        header: Header,
        data: Range<usize>,
    ) -> Result<RawArray, NpyError> {
        if data.is_empty() {
            // Empty files cannot be mapped on every system.
            let storage = Storage::Memory { words: Vec::new(), len: 0 };
            return Ok(RawArray { path: path.into(), header, storage });
        }
        // Safety: the caller guarantees that the file keeps its bytes and its length.
        let mapping = unsafe { FileMapping::new(file) }?;
        // The length of the mapping is what counts: the file may have been longer when it was checked.
        if data.end > mapping.bytes().len() {
            let found = mapping.bytes().len().saturating_sub(data.start);
            return Err(NpyError::Truncated { promised: data.len() as u64, found: found as u64 });
        }
        Ok(RawArray { path: path.into(), header, storage: Storage::File { mapping, data } })
    }

    /// Reads an `.npy` file from a stream, such as a pipe. `name` stands for its path.
    ///
    /// Up to 64 MiB are kept in memory. A larger array goes to a temporary file without a name, which is mapped.
    ///
    /// ```
    /// use unishape_npy::{self as npy, RawArray};
    ///
    /// let mut file = Vec::new();
    /// npy::write_to(&mut file, ndarray::arr1(&[1u8, 2]).view())?;
    /// let array = RawArray::read_from("standard input", &file[..])?;
    /// assert_eq!((array.header().shape.as_slice(), array.data()), (&[2][..], &[1, 2][..]));
    /// # Ok::<(), npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](RawArray::read), or no temporary file can be written. Memory is allocated as data arrives.
    pub fn read_from(name: impl AsRef<Path>, mut reader: impl Read) -> Result<RawArray, NpyError> {
        let name = name.as_ref();
        let mut read = || {
            let header = Header::read(&mut reader)?;
            RawArray::read_stream(name, header, &mut reader)
        };
        read().map_err(|error: NpyError| error.in_file(name))
    }

    /// An array whose elements are all bytes of a mapping; `None` for an array without elements.
    pub(crate) fn of_mapping(name: &Path, header: Header, mapping: Option<FileMapping>) -> RawArray {
        let storage = match mapping {
            Some(mapping) => Storage::File { data: 0..mapping.bytes().len(), mapping },
            None => Storage::Memory { words: Vec::new(), len: 0 },
        };
        RawArray { path: name.into(), header, storage }
    }

    /// Reads the elements after a header, as [`read_from`](RawArray::read_from).
    pub(crate) fn read_stream(
        name: &Path,
        header: Header,
        reader: &mut impl Read,
    ) -> Result<RawArray, NpyError> {
        let promised = header.data_bytes()?;
        let truncated = |found: u64| NpyError::Truncated { promised, found };
        if promised > MAX_STREAM_MEMORY {
            let (mapping, found) = FileMapping::of_stream(&mut reader.take(promised))?;
            return match mapping {
                Some(mapping) if found == promised => Ok(RawArray::of_mapping(name, header, Some(mapping))),
                _ => Err(truncated(found)),
            };
        }
        let mut bytes = Vec::new();
        reader.take(promised).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < promised {
            return Err(truncated(bytes.len() as u64));
        }
        Ok(RawArray { path: name.into(), header, storage: Storage::of_bytes(&bytes)? })
    }

    /// The elements of a tensor, as the bytes of an `.npy` file.
    ///
    /// `name` stands for its path.
    ///
    /// ```
    /// use unishape::Tensor;
    /// use unishape_npy::RawArray;
    ///
    /// let array = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1u16, 2])))?;
    /// assert_eq!(array.data(), [1, 0, 2, 0]);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Header::of`], or there is no memory for the copy.
    pub fn from_tensor(name: impl AsRef<Path>, tensor: &Tensor) -> Result<RawArray, NpyError> {
        let header = Header::of(&tensor.view())?;
        let mut bytes = Vec::new();
        write_data(&mut bytes, &tensor.view(), &header)?;
        Ok(RawArray { path: name.as_ref().into(), header, storage: Storage::of_bytes(&bytes)? })
    }

    /// The header of the file.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// assert_eq!(RawArray::read(&path)?.header().shape, [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The path of the file, as it was given.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// assert_eq!(RawArray::read(&path)?.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of all elements, in the order of the file.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u16, 2]).view())?;
    /// assert_eq!(RawArray::read(&path)?.data(), [1, 0, 2, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data(&self) -> &[u8] {
        match &self.storage {
            Storage::Memory { words, len } => &bytemuck::cast_slice(words)[..*len],
            Storage::File { mapping, data } => &mapping.bytes()[data.clone()],
        }
    }

    /// The memory mapping, if there is one, and the offset of the data in it.
    pub(crate) fn mapping(&self) -> Option<(&FileMapping, usize)> {
        match &self.storage {
            Storage::Memory { .. } => None,
            Storage::File { mapping, data } => Some((mapping, data.start)),
        }
    }

    /// The header of this array broadcast to a shape: same dtype, in C order.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u16, 2]).view())?;
    /// assert_eq!(RawArray::read(&path)?.broadcast_header(&[5, 2]).data_bytes()?, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn broadcast_header(&self, shape: &[usize]) -> Header {
        Header { descr: self.header.descr.clone(), fortran_order: false, shape: shape.to_vec() }
    }

    /// Writes the elements broadcast to a shape, bit for bit (BC-8).
    ///
    /// They are written in C order and without a header, in memory independent of the shape.
    ///
    /// ```
    /// # use unishape::Rules;
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("column.npy");
    /// npy::write(&path, ndarray::arr2(&[[1u8], [2]]).view())?;
    /// let mut bytes = Vec::new();
    /// RawArray::read(&path)?.write_broadcast(Rules::STANDARD, &[2, 3], &mut bytes)?;
    /// assert_eq!(bytes, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The array cannot be broadcast to the shape (BC-12), the shape is too large (BC-14), or the writer fails.
    pub fn write_broadcast(
        &self,
        rules: Rules,
        shape: &[usize],
        writer: &mut impl Write,
    ) -> Result<(), WriteBroadcastError> {
        let from = &self.header.shape;
        check_broadcast_to(rules, from, shape)
            .map_err(|reason| Error::not_broadcastable(from, shape, reason))?;
        let item_size = self.header.item_size();
        let too_large = || Error::TooLarge { shape: shape.to_vec(), element: Some(item_size) };
        self.broadcast_header(shape).data_bytes().map_err(|_| too_large())?;
        let mut strides = vec![0; shape.len()];
        broadcast_strides(rules, from, &self.header.strides(), shape, &mut strides)
            .map_err(|_| too_large())?;
        // The file's strides are not negative, so these are not either.
        let strides: Vec<usize> = strides.into_iter().map(isize::unsigned_abs).collect();
        let written =
            broadcast_bytes(self.data(), item_size, shape, &strides, |bytes| match writer.write_all(bytes) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            });
        match written {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(WriteBroadcastError::Write(error)),
        }
    }
}

/// Opens a file, reads its header, and checks the length of the data.
///
/// Returns the range of the data; the file is at its start.
fn open(path: &Path) -> Result<(File, Header, Range<usize>), NpyError> {
    let mut file = File::open(path)?;
    let header = Header::read(&mut file)?;
    let start = file.stream_position()?;
    let data = data_range(&file, &header, start)?;
    Ok((file, header, data))
}

/// The range of the data that begins at an offset of a file, which must be long enough.
fn data_range(file: &File, header: &Header, start: u64) -> Result<Range<usize>, NpyError> {
    let promised = header.data_bytes()?;
    let found = file.metadata()?.len().saturating_sub(start);
    if promised > found {
        return Err(NpyError::Truncated { promised, found });
    }
    let address = |at: u64| usize::try_from(at).map_err(|_| header.too_large());
    Ok(address(start)?..address(start.saturating_add(promised))?)
}

/// Fills the buffer as far as possible; returns the number of bytes.
fn read_fully(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < buffer.len() {
        match reader.read(&mut buffer[found..]) {
            Ok(0) => break,
            Ok(count) => found += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Why a broadcast array could not be written.
///
/// ```
/// use unishape_npy::WriteBroadcastError;
///
/// let error = WriteBroadcastError::Write(std::io::Error::other("the disk is full"));
/// assert_eq!(error.to_string(), "the disk is full");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteBroadcastError {
    /// The array cannot be broadcast to the shape, or the shape is too large.
    Shape(Error),
    /// The writer failed.
    Write(io::Error),
}

impl From<Error> for WriteBroadcastError {
    fn from(error: Error) -> WriteBroadcastError {
        WriteBroadcastError::Shape(error)
    }
}

impl std::fmt::Display for WriteBroadcastError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteBroadcastError::Shape(error) => error.fmt(f),
            WriteBroadcastError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WriteBroadcastError {}

#[cfg(test)]
mod tests {
    use super::{RawArray, Storage, read_fully};
    use crate::{Descr, Header, NpyError};
    use std::io::{self, ErrorKind, Read};
    use unishape::DType;

    /// Reads an array of `promised` bytes from a stream of `found` bytes, all of them 7.
    fn read(promised: u64, found: u64) -> Result<RawArray, NpyError> {
        let header =
            Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![promised as usize] };
        RawArray::read_stream("pipe".as_ref(), header, &mut io::repeat(7).take(found))
    }

    /// Returns one byte at a time, interrupted before each; fails after the last one.
    struct Interrupted {
        left: u8,
        was_interrupted: bool,
    }

    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.was_interrupted = !self.was_interrupted;
            if self.was_interrupted {
                return Err(ErrorKind::Interrupted.into());
            }
            self.left = self.left.checked_sub(1).ok_or(ErrorKind::TimedOut)?;
            buffer[0] = self.left;
            Ok(1)
        }
    }

    #[test]
    fn only_interrupted_reads_are_repeated() {
        let mut reader = Interrupted { left: 4, was_interrupted: false };
        let mut buffer = [0; 3];
        assert_eq!((read_fully(&mut reader, &mut buffer).unwrap(), buffer), (3, [3, 2, 1]));
        assert_eq!(read_fully(&mut reader, &mut buffer).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(read_fully(&mut &b"ab"[..], &mut buffer).unwrap(), 2);
    }

    #[test]
    fn streams_of_more_than_64_mib_go_to_a_temporary_file() {
        const LIMIT: u64 = 64 << 20;
        let small = read(LIMIT, LIMIT).unwrap();
        assert!(matches!(small.storage, Storage::Memory { .. }));
        let more = LIMIT + 1;
        let large = read(more, more).unwrap();
        assert!(matches!(large.storage, Storage::File { .. }));
        assert_eq!((large.data().len() as u64, large.data().last()), (more, Some(&7)));
        for (promised, found) in [(more, LIMIT), (more, 0), (5, 4)] {
            let error = read(promised, found).unwrap_err();
            assert!(
                matches!(error, NpyError::Truncated { promised: a, found: b } if (a, b) == (promised, found)),
                "{error}"
            );
        }
    }
}
