//! The trait of arrays that are read region by region.

use crate::error::FileError;
use std::ops::Range;
use unishape::Tensor;
use unishape_npy::{Header, RawArray, Region};

/// An array in a file, whose regions are read on demand.
///
/// ```
/// use unishape::Tensor;
/// use unishape_files::ArraySource;
/// use unishape_npy::RawArray;
///
/// let row = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1.5, 2.5, 3.5])))?;
/// let source: &dyn ArraySource = &row;
/// let region = source.region(&[1..3])?;
/// assert_eq!(region.view().to_owned()?, Tensor::from(ndarray::arr1(&[2.5, 3.5])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ArraySource: Send + Sync {
    /// The dtype and shape, as NumPy describes them.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_files::ArraySource;
    /// # use unishape_npy::RawArray;
    /// let row = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1u8, 2, 3])))?;
    /// assert_eq!(ArraySource::header(&row).shape, [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn header(&self) -> &Header;

    /// The elements of a region: in each dimension those of a range of indices.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_files::ArraySource;
    /// # use unishape_npy::RawArray;
    /// let row = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1u8, 2, 3])))?;
    /// assert_eq!(ArraySource::region(&row, &[1..3])?.view().shape(), [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The region cannot be read or decoded, or the elements are not numbers.
    ///
    /// # Panics
    ///
    /// There is not one range for each dimension, or a range exceeds its dimension.
    fn region(&self, ranges: &[Range<usize>]) -> Result<Region<'_>, FileError>;

    /// The array as contiguous bytes, if it is stored so.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_files::ArraySource;
    /// # use unishape_npy::RawArray;
    /// let row = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1u8, 2, 3])))?;
    /// assert_eq!(row.as_raw().map(|raw| raw.data()), Some(&[1, 2, 3][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn as_raw(&self) -> Option<&RawArray> {
        None
    }

    /// The shape of the chunks that are decoded as a whole.
    ///
    /// `None` where any region is read alone.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_files::ArraySource;
    /// # use unishape_npy::RawArray;
    /// let row = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1u8, 2, 3])))?;
    /// assert_eq!(row.chunk_shape(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn chunk_shape(&self) -> Option<&[usize]> {
        None
    }

    /// Whether [`blocks`](ArraySource::blocks) reads regions of a chunk.
    ///
    /// These are regions that are in one chunk, from its first element on.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_files::ArraySource;
    /// # use unishape_npy::RawArray;
    /// assert!(!RawArray::from_tensor("one", &Tensor::from(ndarray::arr0(1)))?.reads_blocks());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn reads_blocks(&self) -> bool {
        false
    }

    /// A reader of a region that decodes it block by block.
    ///
    /// `None` where the region can only be read as a whole.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_files::ArraySource;
    /// # use unishape_npy::RawArray;
    /// let row = RawArray::from_tensor("row", &Tensor::from(ndarray::arr1(&[1u8, 2, 3])))?;
    /// assert!(row.blocks(&[0..3])?.is_none()); // needs no decoding
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The region cannot be read.
    ///
    /// # Panics
    ///
    /// As [`region`](ArraySource::region).
    fn blocks(&self, ranges: &[Range<usize>]) -> Result<Option<Box<dyn BlockReader + '_>>, FileError> {
        let _ = ranges;
        Ok(None)
    }
}

/// A region of an array that is decoded as it is read.
///
/// So it is never in memory as a whole.
///
/// A block has one index in the dimensions before some dimension, a range of that, and all indices of the region in the
/// dimensions after it. Each block begins where the previous one ends, or later, in row-major order.
///
/// ```no_run
/// use unishape_files::{ArraySource, FileError};
///
/// fn first_two_rows(array: &dyn ArraySource) -> Result<(), FileError> {
///     if let Some(mut blocks) = array.blocks(&[0..100, 0..50])? {
///         let (first, second) = (blocks.read(&[0..1, 0..50])?, blocks.read(&[1..2, 0..50])?);
///         assert_eq!((first.shape(), second.shape()), (&[1, 50][..], &[1, 50][..]));
///     }
///     Ok(())
/// }
/// ```
pub trait BlockReader {
    /// Reads a block, given as ranges of indices of the array.
    ///
    /// ```no_run
    /// # use unishape_files::{ArraySource, FileError};
    /// # fn rows(array: &dyn ArraySource) -> Result<(), FileError> {
    /// let Some(mut blocks) = array.blocks(&[0..100, 0..50])? else { return Ok(()) };
    /// for row in 0..100 {
    ///     assert_eq!(blocks.read(&[row..row + 1, 0..50])?.shape(), [1, 50]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The block cannot be read or decoded.
    ///
    /// # Panics
    ///
    /// The ranges are no block of the region, or one before the last block.
    fn read(&mut self, ranges: &[Range<usize>]) -> Result<Tensor, FileError>;
}

impl ArraySource for RawArray {
    fn header(&self) -> &Header {
        RawArray::header(self)
    }

    fn region(&self, ranges: &[Range<usize>]) -> Result<Region<'_>, FileError> {
        Ok(RawArray::region(self, ranges)?)
    }

    fn as_raw(&self) -> Option<&RawArray> {
        Some(self)
    }
}
