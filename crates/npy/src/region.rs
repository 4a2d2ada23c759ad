//! Regions of arrays, as numbers to compute with.

use crate::broadcast_bytes::broadcast_bytes;
use crate::descr::ElementKind;
use crate::element::{ElementCodec, decode_bools};
use crate::error::NpyError;
use crate::raw_array::RawArray;
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use num_complex::Complex;
use std::ops::{ControlFlow, Range};
use unishape::{DType, Tensor, TensorView};

/// The elements of a region: a view of the file's bytes, or a converted copy.
///
/// ```
/// use unishape::Tensor;
/// use unishape_npy::{self as npy, RawArray, Region};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("row.npy");
/// npy::write(&path, ndarray::arr1(&[1.5, 2.5, 3.5]).view())?;
/// let row = RawArray::read(&path)?;
/// let region = row.region(&[1..3])?;
/// assert!(matches!(region, Region::View(_)));
/// assert_eq!(region.view().to_owned()?, Tensor::from(ndarray::arr1(&[2.5, 3.5])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Region<'a> {
    /// The elements in place.
    View(TensorView<'a>),
    /// A converted copy of them.
    Tensor(Tensor),
}

impl Region<'_> {
    /// A view of the elements, in place or converted.
    ///
    /// ```
    /// use unishape::Tensor;
    /// use unishape_npy::Region;
    ///
    /// let region = Region::Tensor(Tensor::from(ndarray::arr1(&[true, false])));
    /// assert_eq!(region.view().shape(), [2]);
    /// ```
    pub fn view(&self) -> TensorView<'_> {
        match self {
            Region::View(view) => view.reborrow(),
            Region::Tensor(tensor) => tensor.view(),
        }
    }
}

impl RawArray {
    /// All elements as numbers, in place; `None` where they have to be converted.
    ///
    /// Converted are elements in the other byte order, unaligned ones, and booleans, whose bytes have to be
    /// checked. Strings, dates and structures are not numbers.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// assert_eq!(RawArray::read(&path)?.view().map(|view| view.shape().to_vec()), Some(vec![3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(&self) -> Option<TensorView<'_>> {
        let descr = &self.header().descr;
        let ElementKind::Scalar(dtype) = descr.kind() else { return None };
        if !descr.is_native() {
            return None;
        }
        Some(match dtype {
            DType::F16 => self.typed::<f16>()?.into(),
            DType::BF16 => self.typed::<bf16>()?.into(),
            DType::F32 => self.typed::<f32>()?.into(),
            DType::F64 => self.typed::<f64>()?.into(),
            DType::I8 => self.typed::<i8>()?.into(),
            DType::I16 => self.typed::<i16>()?.into(),
            DType::I32 => self.typed::<i32>()?.into(),
            DType::I64 => self.typed::<i64>()?.into(),
            DType::U8 => self.typed::<u8>()?.into(),
            DType::U16 => self.typed::<u16>()?.into(),
            DType::U32 => self.typed::<u32>()?.into(),
            DType::U64 => self.typed::<u64>()?.into(),
            DType::C64 => self.typed::<Complex<f32>>()?.into(),
            DType::C128 => self.typed::<Complex<f64>>()?.into(),
            DType::Bool | DType::Str => return None,
        })
    }

    fn typed<T: bytemuck::Pod>(&self) -> Option<ArrayViewD<'_, T>> {
        let elements: &[T] = bytemuck::try_cast_slice(self.data()).ok()?;
        let shape = IxDyn(&self.header().shape);
        let shape = if self.header().fortran_order { shape.f() } else { shape.into_shape_with_order() };
        ArrayViewD::from_shape(shape, elements).ok()
    }

    /// The elements of a region: in each dimension those of a range of indices.
    ///
    /// They stay in place if they [can](RawArray::view); otherwise those of the region are converted.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("table.npy");
    /// npy::write(&path, ndarray::arr2(&[[true, false], [false, false]]).view())?;
    /// let table = RawArray::read(&path)?;
    /// let column = table.region(&[0..2, 0..1])?;
    /// assert_eq!(column.view().to_owned()?, Tensor::from(ndarray::arr2(&[[true], [false]])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The elements are not numbers, one of them is invalid, or there is no memory for a copy.
    ///
    /// # Panics
    ///
    /// There is not one range for each dimension, or a range exceeds its dimension.
    pub fn region(&self, ranges: &[Range<usize>]) -> Result<Region<'_>, NpyError> {
        self.check_ranges(ranges);
        match self.view() {
            Some(view) => Ok(Region::View(view.slice(ranges))),
            None => self.converted(ranges).map(Region::Tensor).map_err(|error| error.in_file(self.path())),
        }
    }

    fn check_ranges(&self, ranges: &[Range<usize>]) {
        let shape = &self.header().shape;
        let fits = |(range, &size): (&Range<usize>, &usize)| range.start <= range.end && range.end <= size;
        assert!(
            ranges.len() == shape.len() && ranges.iter().zip(shape).all(fits),
            "the array of shape {shape:?} has no region {ranges:?}"
        );
    }

    fn converted(&self, ranges: &[Range<usize>]) -> Result<Tensor, NpyError> {
        let (descr, big_endian) = (&self.header().descr, self.header().descr.big_endian());
        macro_rules! read {
            ($type:ty) => {
                self.gathered(ranges, |bytes, elements: &mut Vec<$type>| {
                    ElementCodec::decode(bytes, big_endian, elements);
                    Ok(())
                })
                .map(Tensor::from)
            };
        }
        match descr.kind() {
            ElementKind::Scalar(DType::F16) => read!(f16),
            ElementKind::Scalar(DType::BF16) => read!(bf16),
            ElementKind::Scalar(DType::F32) => read!(f32),
            ElementKind::Scalar(DType::F64) => read!(f64),
            ElementKind::Scalar(DType::I8) => read!(i8),
            ElementKind::Scalar(DType::I16) => read!(i16),
            ElementKind::Scalar(DType::I32) => read!(i32),
            ElementKind::Scalar(DType::I64) => read!(i64),
            ElementKind::Scalar(DType::U8) => read!(u8),
            ElementKind::Scalar(DType::U16) => read!(u16),
            ElementKind::Scalar(DType::U32) => read!(u32),
            ElementKind::Scalar(DType::U64) => read!(u64),
            ElementKind::Scalar(DType::C64) => read!(Complex<f32>),
            ElementKind::Scalar(DType::C128) => read!(Complex<f64>),
            ElementKind::Scalar(DType::Bool) => self.gathered(ranges, decode_bools).map(Tensor::Bool),
            ElementKind::Scalar(DType::Str)
            | ElementKind::Unicode
            | ElementKind::Bytes
            | ElementKind::Opaque => Err(NpyError::NoTensor { descr: descr.text().into() }),
        }
    }

    /// Decodes the elements of a region in the order of the file, for sequential reads.
    fn gathered<T>(
        &self,
        ranges: &[Range<usize>],
        decode: impl Fn(&[u8], &mut Vec<T>) -> Result<(), String>,
    ) -> Result<ArrayD<T>, NpyError> {
        let mut shape: Vec<usize> = ranges.iter().map(Range::len).collect();
        let mut strides = self.element_strides();
        let item_size = self.header().item_size();
        let count: usize = shape.iter().product();
        let first: usize = ranges.iter().zip(&strides).map(|(range, stride)| range.start * stride).sum();
        if self.header().fortran_order {
            shape.reverse();
            strides.reverse();
        }
        let mut elements = Vec::new();
        let out_of_memory = |_| NpyError::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) };
        elements.try_reserve_exact(count).map_err(out_of_memory)?;
        if count > 0 {
            let data = &self.data()[first * item_size..];
            let decoded = broadcast_bytes(data, item_size, &shape, &strides, |bytes| {
                match decode(bytes, &mut elements) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(problem) => ControlFlow::Break(problem),
                }
            });
            if let ControlFlow::Break(problem) = decoded {
                let index = index_in(ranges, elements.len(), self.header().fortran_order);
                return Err(NpyError::Element { index, problem });
            }
        }
        let array = ArrayD::from_shape_vec(IxDyn(&shape), elements).map_err(|_| self.header().too_large())?;
        Ok(if self.header().fortran_order { array.reversed_axes() } else { array })
    }

    /// Strides of the array in the file, in elements. They are not negative.
    fn element_strides(&self) -> Vec<usize> {
        self.header().strides().into_iter().map(isize::unsigned_abs).collect()
    }

    /// The bytes of a region within the data, if they are contiguous and not empty.
    fn contiguous_bytes(&self, ranges: &[Range<usize>]) -> Option<Range<usize>> {
        self.check_ranges(ranges);
        let (strides, item_size) = (self.element_strides(), self.header().item_size());
        let count: usize = ranges.iter().map(Range::len).product();
        let position = |index: fn(&Range<usize>) -> usize| -> usize {
            ranges.iter().zip(&strides).map(|(range, stride)| index(range) * stride).sum()
        };
        if count == 0 {
            return None;
        }
        let (first, last) = (position(|range| range.start), position(|range| range.end - 1));
        (last - first + 1 == count).then(|| first * item_size..(last + 1) * item_size)
    }

    /// Advises the system to read a region of a memory-mapped file soon.
    ///
    /// Does nothing where the region is not contiguous in the file, or the array is in memory.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// // Safety: no one else knows the temporary file.
    /// let row = unsafe { RawArray::map(&path)? };
    /// row.prefetch(&[1..3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`region`](RawArray::region).
    pub fn prefetch(&self, ranges: &[Range<usize>]) {
        if let (Some(bytes), Some((mapping, start))) = (self.contiguous_bytes(ranges), self.mapping()) {
            mapping.prefetch(start + bytes.start..start + bytes.end);
        }
    }

    /// Drops a region of a memory-mapped file from this process's memory.
    ///
    /// The next access reads it from the file again, so views of it stay valid. Does nothing where the region
    /// is not contiguous in the file, or the array is in memory.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, RawArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// // Safety: no one else knows the temporary file.
    /// let row = unsafe { RawArray::map(&path)? };
    /// row.release(&[0..3]);
    /// assert_eq!(row.region(&[0..3])?.view().to_owned()?, ndarray::arr1(&[1u8, 2, 3]).into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`region`](RawArray::region).
    pub fn release(&self, ranges: &[Range<usize>]) {
        if let (Some(bytes), Some((mapping, start))) = (self.contiguous_bytes(ranges), self.mapping()) {
            mapping.release(start + bytes.start..start + bytes.end);
        }
    }
}

/// Index in the array of the `position`-th element of a region.
fn index_in(ranges: &[Range<usize>], mut position: usize, fortran_order: bool) -> Vec<usize> {
    let mut index: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    let mut step = |dim: usize| {
        let size = ranges[dim].len().max(1);
        index[dim] += position % size;
        position /= size;
    };
    if fortran_order {
        (0..ranges.len()).for_each(&mut step);
    } else {
        (0..ranges.len()).rev().for_each(&mut step);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::RawArray;
    use crate::{Descr, Header};
    use std::ops::Range;
    use unishape::DType;

    #[test]
    fn contiguous_regions_are_ranges_of_bytes() {
        let bytes = |fortran_order, ranges: &[Range<usize>]| {
            let header = Header { descr: Descr::of(DType::U16), fortran_order, shape: vec![4, 3, 5] };
            RawArray::of_mapping("array".as_ref(), header, None).contiguous_bytes(ranges)
        };
        assert_eq!(bytes(false, &[0..4, 0..3, 0..5]), Some(0..120));
        assert_eq!(bytes(false, &[1..3, 0..3, 0..5]), Some(30..90));
        assert_eq!(bytes(false, &[2..3, 1..2, 3..5]), Some(76..80));
        assert_eq!(bytes(true, &[0..4, 1..2, 2..3]), Some(56..64));
        assert_eq!(bytes(true, &[0..4, 0..3, 3..5]), Some(72..120));
        // With gaps, or empty.
        assert_eq!(bytes(false, &[0..2, 0..3, 0..4]), None);
        assert_eq!(bytes(true, &[1..3, 0..3, 0..5]), None);
        assert_eq!(bytes(false, &[0..4, 1..1, 0..5]), None);
    }
}
