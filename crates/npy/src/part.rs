//! Parts of arrays that stay in their files, as values to compute with.

use crate::broadcast_bytes::broadcast_bytes;
use crate::descr::Code;
use crate::element::{Scalar, decode_bools};
use crate::error::NpyError;
use crate::mapped::Mapped;
use crate::mmap::let_go;
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use num_complex::Complex;
use std::ops::{ControlFlow, Range};
use unishape::DType;
use unishape::{Tensor, TensorView};

/// A part of an array in a file: where it lies, or converted to what this machine computes with.
///
/// ```
/// use unishape::Tensor;
/// use unishape_npy::{self as npy, Mapped, Part};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("row.npy");
/// npy::write(&path, ndarray::arr1(&[1.5, 2.5, 3.5]).view())?;
/// let row = Mapped::open(&path)?;
/// let part = row.part(&[1..3])?;
/// assert!(matches!(part, Part::View(_)));
/// assert_eq!(part.view().to_owned()?, Tensor::from(ndarray::arr1(&[2.5, 3.5])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Part<'a> {
    /// The elements in the file itself.
    View(TensorView<'a>),
    /// A copy of them.
    Tensor(Tensor),
}

impl Part<'_> {
    /// The elements, wherever they are.
    ///
    /// ```
    /// use unishape::Tensor;
    /// use unishape_npy::Part;
    ///
    /// let part = Part::Tensor(Tensor::from(ndarray::arr1(&[true, false])));
    /// assert_eq!(part.view().shape(), [2]);
    /// ```
    pub fn view(&self) -> TensorView<'_> {
        match self {
            Part::View(view) => view.reborrow(),
            Part::Tensor(tensor) => tensor.view(),
        }
    }
}

impl Mapped {
    /// The elements as numbers, right where they lie in the file; `None` where they have to be converted:
    /// in the other byte order, not aligned, booleans, whose bytes have to be looked at first, and all that
    /// is no number.
    ///
    /// The file must be left alone as long as it is mapped: if another program writes to it, what is read
    /// may be the old or the new.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// assert_eq!(Mapped::open(&path)?.view().map(|view| view.shape().to_vec()), Some(vec![3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(&self) -> Option<TensorView<'_>> {
        let descr = &self.header().descr;
        let Code::Scalar(dtype) = descr.code() else { return None };
        if descr.big_endian() != cfg!(target_endian = "big") {
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

    /// Some of the elements: in each dimension those of a range of indices. They stay where they are if they
    /// [can](Mapped::view), and are copied and converted otherwise, these alone.
    ///
    /// ```
    /// # use unishape::Tensor;
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("table.npy");
    /// npy::write(&path, ndarray::arr2(&[[true, false], [false, false]]).view())?;
    /// let table = Mapped::open(&path)?;
    /// let column = table.part(&[0..2, 0..1])?;
    /// assert_eq!(column.view().to_owned()?, Tensor::from(ndarray::arr2(&[[true], [false]])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the elements are no numbers, one of them is not valid, or there is no memory for a copy.
    ///
    /// # Panics
    ///
    /// Where there is not one range for each dimension, or one goes beyond it.
    pub fn part(&self, part: &[Range<usize>]) -> Result<Part<'_>, NpyError> {
        self.check_part(part);
        match self.view() {
            Some(view) => Ok(Part::View(view.part(part))),
            None => self.converted(part).map(Part::Tensor).map_err(|error| error.in_file(self.path())),
        }
    }

    fn check_part(&self, part: &[Range<usize>]) {
        let shape = &self.header().shape;
        let fits = |(range, &size): (&Range<usize>, &usize)| range.start <= range.end && range.end <= size;
        assert!(
            part.len() == shape.len() && part.iter().zip(shape).all(fits),
            "no part of {shape:?}: {part:?}"
        );
    }

    fn converted(&self, part: &[Range<usize>]) -> Result<Tensor, NpyError> {
        let (descr, big_endian) = (&self.header().descr, self.header().descr.big_endian());
        macro_rules! read {
            ($type:ty) => {
                self.gathered(part, |bytes, numbers: &mut Vec<$type>| {
                    Scalar::decode(bytes, big_endian, numbers);
                    Ok(())
                })
                .map(Tensor::from)
            };
        }
        match descr.code() {
            Code::Scalar(DType::F16) => read!(f16),
            Code::Scalar(DType::BF16) => read!(bf16),
            Code::Scalar(DType::F32) => read!(f32),
            Code::Scalar(DType::F64) => read!(f64),
            Code::Scalar(DType::I8) => read!(i8),
            Code::Scalar(DType::I16) => read!(i16),
            Code::Scalar(DType::I32) => read!(i32),
            Code::Scalar(DType::I64) => read!(i64),
            Code::Scalar(DType::U8) => read!(u8),
            Code::Scalar(DType::U16) => read!(u16),
            Code::Scalar(DType::U32) => read!(u32),
            Code::Scalar(DType::U64) => read!(u64),
            Code::Scalar(DType::C64) => read!(Complex<f32>),
            Code::Scalar(DType::C128) => read!(Complex<f64>),
            Code::Scalar(DType::Bool) => self.gathered(part, decode_bools).map(Tensor::Bool),
            Code::Scalar(DType::Str) | Code::Unicode | Code::Bytes | Code::Opaque => {
                Err(NpyError::NoTensor { descr: descr.text().into() })
            }
        }
    }

    /// The elements of a part, in the file's order: this is the order in which its pages are read quickly.
    fn gathered<T>(
        &self,
        part: &[Range<usize>],
        decode: impl Fn(&[u8], &mut Vec<T>) -> Result<(), String>,
    ) -> Result<ArrayD<T>, NpyError> {
        let (mut shape, mut strides) = (part.iter().map(Range::len).collect::<Vec<_>>(), self.file_strides());
        let item = self.header().item_size();
        let count: usize = shape.iter().product();
        let first: usize = part.iter().zip(&strides).map(|(range, stride)| range.start * stride).sum();
        if self.header().fortran_order {
            shape.reverse();
            strides.reverse();
        }
        let mut elements = Vec::new();
        let out_of_memory = |_| NpyError::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) };
        elements.try_reserve_exact(count).map_err(out_of_memory)?;
        if count > 0 {
            let read = broadcast_bytes(&self.data()[first * item..], item, &shape, &strides, |bytes| {
                match decode(bytes, &mut elements) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(problem) => ControlFlow::Break(problem),
                }
            });
            if let ControlFlow::Break(problem) = read {
                let index = index_in(part, elements.len(), self.header().fortran_order);
                return Err(NpyError::Element { index, problem });
            }
        }
        let array = ArrayD::from_shape_vec(IxDyn(&shape), elements).map_err(|_| self.header().too_large())?;
        Ok(if self.header().fortran_order { array.reversed_axes() } else { array })
    }

    /// How far apart neighbours are in the file, in elements.
    fn file_strides(&self) -> Vec<usize> {
        self.header().strides().into_iter().map(isize::unsigned_abs).collect()
    }

    /// The bytes of the file that hold a part, if they hold nothing else and there are any.
    fn bytes_of(&self, part: &[Range<usize>]) -> Option<Range<usize>> {
        self.check_part(part);
        let (strides, item) = (self.file_strides(), self.header().item_size());
        let count: usize = part.iter().map(Range::len).product();
        let at = |index: fn(&Range<usize>) -> usize| -> usize {
            part.iter().zip(&strides).map(|(range, stride)| index(range) * stride).sum()
        };
        if count == 0 {
            return None;
        }
        let (first, last) = (at(|range| range.start), at(|range| range.end - 1));
        let start = self.data_start();
        (last - first + 1 == count).then(|| start + first * item..start + (last + 1) * item)
    }

    /// Tells the system that a part is wanted soon, so that it begins to read it. Does nothing where the
    /// part does not lie in one piece in the file.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// Mapped::open(&path)?.will_need(&[1..3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`part`](Mapped::part).
    pub fn will_need(&self, part: &[Range<usize>]) {
        #[cfg(unix)]
        if let (Some(bytes), Some(file)) = (self.bytes_of(part), self.map()) {
            // It is an advice: if it is not taken, the work only takes longer.
            let _ = file.advise_range(memmap2::Advice::WillNeed, bytes.start, bytes.len());
        }
        #[cfg(not(unix))]
        let _ = part;
    }

    /// Tells the system that a part is not wanted any more, so that it no longer counts as memory of this
    /// program. It can be read again. Does nothing where the part does not lie in one piece in the file.
    ///
    /// ```
    /// # use unishape_npy::{self as npy, Mapped};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("row.npy");
    /// npy::write(&path, ndarray::arr1(&[1u8, 2, 3]).view())?;
    /// let row = Mapped::open(&path)?;
    /// row.is_done_with(&[0..3]);
    /// assert_eq!(row.part(&[0..3])?.view().to_owned()?, ndarray::arr1(&[1u8, 2, 3]).into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`part`](Mapped::part).
    pub fn is_done_with(&self, part: &[Range<usize>]) {
        if let (Some(bytes), Some(file)) = (self.bytes_of(part), self.map()) {
            let_go(file, bytes);
        }
    }
}

/// The indices of the element that comes at a place in a part, in C or Fortran order.
fn index_in(part: &[Range<usize>], mut place: usize, fortran_order: bool) -> Vec<usize> {
    let mut index: Vec<usize> = part.iter().map(|range| range.start).collect();
    let mut step = |dim: usize| {
        let size = part[dim].len().max(1);
        index[dim] += place % size;
        place /= size;
    };
    if fortran_order {
        (0..part.len()).for_each(&mut step);
    } else {
        (0..part.len()).rev().for_each(&mut step);
    }
    index
}
