//! Arrays that are written to a temporary file in any order, and then memory-mapped.

use crate::error::NpyError;
use crate::header::Header;
use crate::mmap::TemporaryFile;
use crate::raw_array::RawArray;
use crate::write::write_elements;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use unishape::TensorView;

/// An array in a temporary file without a name, written region by region.
///
/// For arrays that are larger than memory and have to be decoded or computed before they are read.
///
/// ```
/// use unishape::{DType, Tensor};
/// use unishape_npy::{Descr, Header, TemporaryArray};
///
/// let header = Header { descr: Descr::of(DType::I16), fortran_order: false, shape: vec![2, 2] };
/// let array = TemporaryArray::create(header)?;
/// array.write_region(&[0..2, 1..2], ndarray::arr2(&[[1i16], [2]]).view())?;
/// let array = array.finish("columns")?;
/// assert_eq!(array.region(&[0..2, 0..2])?.view().to_owned()?, Tensor::from(ndarray::arr2(&[[0i16, 1], [0, 2]])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TemporaryArray {
    header: Header,
    file: Mutex<TemporaryFile>,
}

impl TemporaryArray {
    /// Creates an array of zeros.
    ///
    /// The system may give it disk space only as it is written.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header, TemporaryArray};
    ///
    /// let header = Header { descr: Descr::of(DType::F32), fortran_order: false, shape: vec![3] };
    /// assert_eq!(TemporaryArray::create(header)?.finish("zeros")?.data(), [0; 12]);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The file cannot be created, or its size overflows.
    pub fn create(header: Header) -> Result<TemporaryArray, NpyError> {
        let mut file = TemporaryFile::create()?;
        file.set_len(header.data_bytes()?)?;
        let header = Header { fortran_order: false, ..header };
        Ok(TemporaryArray { header, file: Mutex::new(file) })
    }

    /// Writes the elements of a region, from any thread.
    ///
    /// ```
    /// # use unishape::DType;
    /// # use unishape_npy::{Descr, Header, TemporaryArray};
    /// let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![4] };
    /// let array = TemporaryArray::create(header)?;
    /// array.write_region(&[1..3], ndarray::arr1(&[7u8, 8]).view())?;
    /// assert_eq!(array.finish("a")?.data(), [0, 7, 8, 0]);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The elements cannot be written, because the disk is full for example.
    ///
    /// # Panics
    ///
    /// The ranges exceed the array, or the elements have another shape or dtype.
    pub fn write_region<'a>(
        &self,
        ranges: &[Range<usize>],
        elements: impl Into<TensorView<'a>>,
    ) -> Result<(), NpyError> {
        let (view, shape) = (elements.into(), &self.header.shape);
        let fits =
            ranges.len() == shape.len() && ranges.iter().zip(shape).all(|(range, &size)| range.end <= size);
        let is_same = ranges.iter().map(Range::len).eq(view.shape().iter().copied());
        let dtype = self.header.descr.dtype();
        assert!(
            fits && is_same && Some(view.dtype()) == dtype,
            "{:?} for {ranges:?} of {shape:?}",
            view.shape()
        );
        if view.shape().contains(&0) {
            return Ok(());
        }
        // The elements from dimension `split` on are contiguous in the file.
        let is_whole = |dim: &usize| ranges[*dim].len() == shape[*dim];
        let split = (0..shape.len()).rev().find(|dim| !is_whole(dim)).unwrap_or(0);
        for index in ndarray::indices(&view.shape()[..split]) {
            let run =
                |dim: usize| if dim < split { index[dim]..index[dim] + 1 } else { 0..ranges[dim].len() };
            let run: Vec<Range<usize>> = (0..shape.len()).map(run).collect();
            let position = ranges.iter().zip(&run).zip(shape);
            let position = position.fold(0, |at, ((range, run), size)| at * size + range.start + run.start);
            let position = position as u64 * self.header.item_size() as u64;
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek_to(position)?;
            write_elements(&mut *file, view.reborrow().slice(&run))?;
        }
        Ok(())
    }

    /// Maps the array. `name` stands for its path in errors.
    ///
    /// ```
    /// # use unishape::DType;
    /// # use unishape_npy::{Descr, Header, TemporaryArray};
    /// let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![0] };
    /// assert!(TemporaryArray::create(header)?.finish("empty")?.data().is_empty());
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The file cannot be mapped.
    pub fn finish(self, name: impl AsRef<Path>) -> Result<RawArray, NpyError> {
        let file = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(RawArray::of_mapping(name.as_ref(), self.header, file.map()?))
    }
}

#[cfg(test)]
mod tests {
    use super::TemporaryArray;
    use crate::{Descr, Header};
    use ndarray::{ArrayD, IxDyn};
    use unishape::{DType, Tensor};

    #[test]
    fn regions_arrive_in_their_places() {
        let shape = [3, 4, 5];
        let all =
            ArrayD::from_shape_fn(IxDyn(&shape), |index| (index[0] * 100 + index[1] * 10 + index[2]) as f32);
        let all = Tensor::from(all);
        for [a, b, c] in [[1, 1, 1], [2, 3, 2], [3, 4, 5], [1, 4, 5], [3, 1, 5], [2, 4, 3]] {
            let header = Header { descr: Descr::of(DType::F32), fortran_order: false, shape: shape.to_vec() };
            let array = TemporaryArray::create(header).expect("a file");
            for i in (0..3).step_by(a) {
                for j in (0..4).step_by(b) {
                    for k in (0..5).step_by(c) {
                        let ranges = [i..(i + a).min(3), j..(j + b).min(4), k..(k + c).min(5)];
                        array.write_region(&ranges, all.view().slice(&ranges)).expect("written");
                    }
                }
            }
            let array = array.finish("array").expect("a mapping");
            let whole = array.region(&[0..3, 0..4, 0..5]).expect("elements");
            assert_eq!(whole.view().to_owned().expect("memory"), all, "{a}x{b}x{c}");
        }
    }

    #[test]
    fn elements_that_are_not_written_are_0() {
        for fortran_order in [false, true] {
            let header = Header { descr: Descr::of(DType::U8), fortran_order, shape: vec![2, 3] };
            let array = TemporaryArray::create(header).expect("a file");
            array.write_region(&[0..1, 1..3], ndarray::arr2(&[[7u8, 8]]).view()).expect("written");
            // In C order, whatever the header says.
            let array = array.finish("array").expect("a mapping");
            assert_eq!((array.data(), array.header().fortran_order), (&[0, 7, 8, 0, 0, 0][..], false));
        }
    }

    #[test]
    fn rank_0_and_wrong_regions() {
        let scalar = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![] };
        let array = TemporaryArray::create(scalar).expect("a file");
        array.write_region(&[], ndarray::arr0(7u8).view()).expect("written");
        assert_eq!(array.finish("scalar").expect("a mapping").data(), [7]);
        let row = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![2] };
        let array = TemporaryArray::create(row).expect("a file");
        let write = |range, view: ndarray::ArrayView1<'_, u8>| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| array.write_region(&[range], view)))
        };
        assert!(write(1..3, ndarray::arr1(&[1, 2]).view()).is_err());
        assert!(write(0..1, ndarray::arr1(&[1, 2]).view()).is_err());
        assert!(write(0..2, ndarray::arr1(&[1, 2]).view()).is_ok());
    }
}
