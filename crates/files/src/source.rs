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
    fn header(&self) -> &Header;

    /// The elements of a region: in each dimension those of a range of indices.
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
    fn as_raw(&self) -> Option<&RawArray> {
        None
    }

    /// The shape of the chunks that are decoded as a whole; `None` where any region is read alone.
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
