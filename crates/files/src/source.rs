//! The trait of arrays that are read region by region.

use crate::error::FileError;
use std::ops::Range;
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

    /// The array as bytes in one piece, if it is stored so.
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

    /// The shape of the chunks that are decoded as a whole; `None` where any region is read alone.
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
