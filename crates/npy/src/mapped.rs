//! Arrays that stay in their files.

use crate::broadcast_bytes::broadcast_bytes;
use crate::error::NpyError;
use crate::header::Header;
use crate::mmap::map_file;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use unishape::Error;
use unishape_core::{Rules, broadcast_strides, check_broadcast_to};

/// An `.npy` file mapped into memory: its elements are bytes that stay where they are, of any type
/// that NumPy writes but Python objects, and of any number.
///
/// The file must be left alone while it is mapped: if another program cuts it short, reading it
/// ends this one.
///
/// ```
/// use unishape::Rules;
/// use unishape_npy::{self as npy, Mapped};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("row.npy");
/// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
///
/// let row = Mapped::open(&path)?;
/// assert_eq!(row.header().shape, [3]);
/// let mut file = Vec::new();
/// row.write_stretched(Rules::STANDARD, &[2, 3], &mut file)?;
/// assert_eq!(file, [1, 2, 3, 1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Mapped {
    path: PathBuf,
    header: Header,
    /// The whole file; `None` for an array without elements, which needs none of it.
    file: Option<Mmap>,
    /// Where in the file the data is.
    data: std::ops::Range<usize>,
}

impl Mapped {
    /// Opens a file, reads its header, and maps the rest.
    ///
    /// ```
    /// use unishape_npy::Mapped;
    ///
    /// assert!(Mapped::open("nowhere.npy").unwrap_err().to_string().starts_with("nowhere.npy: "));
    /// ```
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, its header is not right, or it is shorter than its header
    /// promises.
    pub fn open(path: impl AsRef<Path>) -> Result<Mapped, NpyError> {
        let path = path.as_ref();
        Mapped::open_file(path).map_err(|error| error.in_file(path))
    }

    fn open_file(path: &Path) -> Result<Mapped, NpyError> {
        let mut file = File::open(path)?;
        let header = Header::read(&mut file)?;
        let start = file.stream_position()?;
        let promised = header.data_bytes()?;
        let found = file.metadata()?.len().saturating_sub(start);
        if promised > found {
            return Err(NpyError::Truncated { promised, found });
        }
        let mapped = if promised == 0 { None } else { Some(map_file(&file)?) };
        // The file's length was enough a moment ago; the mapping's is what counts.
        let end = start.saturating_add(promised);
        let length = mapped.as_ref().map_or(0, |mapped| mapped.len() as u64);
        if promised > 0 && end > length {
            return Err(NpyError::Truncated { promised, found: length.saturating_sub(start) });
        }
        let data = if promised == 0 { 0..0 } else { start as usize..end as usize };
        Ok(Mapped { path: path.into(), header, file: mapped, data })
    }

    /// What the file says about its array.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// assert_eq!(Mapped::open(&path)?.header().shape, [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The path it was opened with.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// assert_eq!(Mapped::open(&path)?.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of all elements, in the file's own order. Not for everyone: they change if somebody
    /// writes to the file, which a slice must not. Here they are copied, or read as numbers, which any bytes
    /// are.
    pub(crate) fn data(&self) -> &[u8] {
        self.file.as_ref().and_then(|file| file.get(self.data.clone())).unwrap_or_default()
    }

    /// Where in the file the data begins.
    pub(crate) fn data_start(&self) -> usize {
        self.data.start
    }

    /// The whole file; `None` for an array without elements.
    pub(crate) fn map(&self) -> Option<&Mmap> {
        self.file.as_ref()
    }

    /// The header of this array stretched to a shape: elements of the same type, in C order.
    ///
    /// ```
    /// # use unishape::Rules;
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u16, 2]).view())?;
    /// assert_eq!(Mapped::open(&path)?.stretched_header(&[5, 2]).data_bytes()?, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stretched_header(&self, shape: &[usize]) -> Header {
        Header { descr: self.header.descr.clone(), fortran_order: false, shape: shape.to_vec() }
    }

    /// Writes the elements stretched to a shape, bit for bit (BC-8), in C order, in memory that does
    /// not depend on their number. The header is not written.
    ///
    /// ```
    /// # use unishape::Rules;
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("column.npy");
    /// npy::write(&path, ndarray::arr2(&[[1u8], [2]]).view())?;
    /// let mut bytes = Vec::new();
    /// Mapped::open(&path)?.write_stretched(Rules::STANDARD, &[2, 3], &mut bytes)?;
    /// assert_eq!(bytes, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the array cannot be stretched to the shape (BC-12), the shape is too large to count
    /// (BC-14), or the writer fails.
    pub fn write_stretched(
        &self,
        rules: Rules,
        shape: &[usize],
        writer: &mut impl Write,
    ) -> Result<(), StretchedError> {
        let from = &self.header.shape;
        check_broadcast_to(rules, from, shape)
            .map_err(|reason| Error::not_broadcastable(from, shape, reason))?;
        let too_large = || Error::TooLarge { shape: shape.to_vec(), element: Some(self.header.item_size()) };
        self.stretched_header(shape).data_bytes().map_err(|_| too_large())?;
        let strides = self.header.strides();
        let mut stretched = vec![0; shape.len()];
        broadcast_strides(rules, from, &strides, shape, &mut stretched).map_err(|_| too_large())?;
        // None is negative, since the file's are not.
        let stretched: Vec<usize> = stretched.into_iter().map(isize::unsigned_abs).collect();
        let written = broadcast_bytes(self.data(), self.header.item_size(), shape, &stretched, |bytes| {
            match writer.write_all(bytes) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        match written {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(StretchedError::Write(error)),
        }
    }
}

/// Why a stretched array could not be written.
///
/// ```
/// use unishape_npy::StretchedError;
///
/// let error = StretchedError::Write(std::io::Error::other("the disk is full"));
/// assert_eq!(error.to_string(), "the disk is full");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StretchedError {
    /// The array cannot be stretched to the shape, or the shape is too large.
    Shape(Error),
    /// The writer failed.
    Write(io::Error),
}

impl From<Error> for StretchedError {
    fn from(error: Error) -> StretchedError {
        StretchedError::Shape(error)
    }
}

impl std::fmt::Display for StretchedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StretchedError::Shape(error) => error.fmt(f),
            StretchedError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StretchedError {}
