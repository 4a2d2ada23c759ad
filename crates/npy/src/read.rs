//! Reading `.npy` files into tensors.

use crate::descr::ElementKind;
use crate::element::{ElementCodec, decode_bools, decode_unicode, decode_utf8};
use crate::error::NpyError;
use crate::header::Header;
use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use num_complex::Complex;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use unishape::DType;
use unishape::Tensor;

/// Size of the buffer that data is read into, in bytes.
const BUFFER_SIZE: usize = 1 << 16;

/// Reads the array of an `.npy` file.
///
/// Every [`DType`] is supported, in either byte order and in C or Fortran order. `U` and `S` become strings
/// without the NULs that NumPy pads them with; `V2` becomes `bfloat16`, which NumPy writes this way. Bytes after
/// the data are ignored, as NumPy does.
///
/// ```
/// use unishape::Tensor;
/// use unishape_npy as npy;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pair.npy");
/// let pair = Tensor::from(ndarray::arr1(&[1.5, 2.5]));
/// npy::write(&path, &pair)?;
/// assert_eq!(npy::read(&path)?, pair);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The file cannot be read, is damaged, or has a dtype without a [`DType`]. A header that promises more data
/// than the file has allocates nothing.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, NpyError> {
    let path = path.as_ref();
    read_file(path).map_err(|error| error.in_file(path))
}

fn read_file(path: &Path) -> Result<Tensor, NpyError> {
    let mut file = File::open(path)?;
    let header = Header::read(&mut file)?;
    let metadata = file.metadata()?;
    // The length of pipes and devices is unknown.
    let available = match metadata.is_file() {
        true => Some(metadata.len().saturating_sub(file.stream_position()?)),
        false => None,
    };
    read_data(&mut file, &header, available)
}

/// Reads the array of an `.npy` file from a reader; see [`read`].
///
/// ```
/// use unishape::Tensor;
/// use unishape_npy as npy;
///
/// let mut file = Vec::new();
/// npy::write_to(&mut file, ndarray::arr1(&[1u8, 2]).view())?;
/// assert_eq!(npy::read_from(&file[..])?, Tensor::from(ndarray::arr1(&[1u8, 2])));
/// # Ok::<(), npy::NpyError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn read_from(mut reader: impl Read) -> Result<Tensor, NpyError> {
    let header = Header::read(&mut reader)?;
    read_data(&mut reader, &header, None)
}

/// Reads elements without a header: those that `header` describes.
///
/// The counterpart of [`write_elements`](crate::write_elements). Memory for all elements is allocated at once, so
/// the header must be the caller's own.
///
/// ```
/// use unishape::{DType, Tensor};
/// use unishape_npy::{self as npy, Descr, Header};
///
/// let header = Header { descr: Descr::of(DType::U16), fortran_order: false, shape: vec![2] };
/// assert_eq!(npy::read_elements(&mut &[1, 0, 2, 0, 3][..], &header)?, Tensor::from(ndarray::arr1(&[1u16, 2])));
/// # Ok::<(), npy::NpyError>(())
/// ```
///
/// # Errors
///
/// The reader fails or ends too early, an element is invalid, or there is no memory.
pub fn read_elements(reader: &mut impl Read, header: &Header) -> Result<Tensor, NpyError> {
    read_data(reader, header, Some(header.data_bytes()?))
}

/// Reads the elements after a header. `available` is their length in bytes, if known.
pub(crate) fn read_data(
    reader: &mut impl Read,
    header: &Header,
    available: Option<u64>,
) -> Result<Tensor, NpyError> {
    let (big_endian, item_size) = (header.descr.big_endian(), header.item_size());
    let data = Data { reader, header, available };
    match header.descr.kind() {
        ElementKind::Scalar(dtype) => data.numbers(dtype, big_endian),
        // Strings of 0 bytes: the header could promise any number of them without any data.
        ElementKind::Unicode | ElementKind::Bytes if item_size == 0 && header.element_count()? > 0 => {
            Err(NpyError::NoTensor { descr: header.descr.text().into() })
        }
        ElementKind::Unicode => data
            .array(|bytes, strings| decode_unicode(bytes, item_size, big_endian, strings))
            .map(Tensor::Str),
        ElementKind::Bytes => {
            data.array(|bytes, strings| decode_utf8(bytes, item_size, strings)).map(Tensor::Str)
        }
        ElementKind::Opaque => Err(NpyError::NoTensor { descr: header.descr.text().into() }),
    }
}

/// The data of a file, after its header.
struct Data<'a, R> {
    reader: &'a mut R,
    header: &'a Header,
    available: Option<u64>,
}

impl<R: Read> Data<'_, R> {
    fn numbers(self, dtype: DType, big_endian: bool) -> Result<Tensor, NpyError> {
        macro_rules! read {
            ($type:ty) => {
                self.array(|bytes, elements: &mut Vec<$type>| {
                    ElementCodec::decode(bytes, big_endian, elements);
                    Ok(())
                })
                .map(Tensor::from)
            };
        }
        match dtype {
            DType::F16 => read!(f16),
            DType::BF16 => read!(bf16),
            DType::F32 => read!(f32),
            DType::F64 => read!(f64),
            DType::I8 => read!(i8),
            DType::I16 => read!(i16),
            DType::I32 => read!(i32),
            DType::I64 => read!(i64),
            DType::U8 => read!(u8),
            DType::U16 => read!(u16),
            DType::U32 => read!(u32),
            DType::U64 => read!(u64),
            DType::C64 => read!(Complex<f32>),
            DType::C128 => read!(Complex<f64>),
            DType::Bool => self.array(decode_bools).map(Tensor::Bool),
            DType::Str => Err(NpyError::NoTensor { descr: self.header.descr.text().into() }),
        }
    }

    /// The elements as an array, in the order of the file.
    fn array<T>(
        self,
        decode: impl Fn(&[u8], &mut Vec<T>) -> Result<(), String>,
    ) -> Result<ArrayD<T>, NpyError> {
        let header = self.header;
        let elements = self.elements(decode)?;
        let shape = IxDyn(&header.shape);
        let shape = if header.fortran_order { shape.f() } else { shape.into_shape_with_order() };
        // The number of elements is right, but ndarray also limits the product of the other sizes where
        // one size is 0.
        ArrayD::from_shape_vec(shape, elements).map_err(|_| header.too_large())
    }

    fn elements<T>(
        self,
        decode: impl Fn(&[u8], &mut Vec<T>) -> Result<(), String>,
    ) -> Result<Vec<T>, NpyError> {
        let promised = self.header.data_bytes()?;
        let mut elements = Vec::new();
        if let Some(found) = self.available {
            if found < promised {
                return Err(NpyError::Truncated { promised, found });
            }
            reserve_exact(&mut elements, self.header.element_count()?)?;
        }
        let item_size = self.header.item_size().max(1);
        let buffer_size = (BUFFER_SIZE / item_size).max(1).saturating_mul(item_size) as u64;
        let (mut buffer, mut found) = (Vec::new(), 0);
        while found < promised {
            let wanted = buffer_size.min(promised - found);
            buffer.clear();
            let got = self.reader.take(wanted).read_to_end(&mut buffer)? as u64;
            found += got;
            if got < wanted {
                return Err(NpyError::Truncated { promised, found });
            }
            reserve(&mut elements, buffer.len() / item_size)?;
            decode(&buffer, &mut elements).map_err(|problem| NpyError::Element {
                index: index_of(elements.len(), self.header),
                problem,
            })?;
        }
        Ok(elements)
    }
}

fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<(), NpyError> {
    elements.try_reserve(more).map_err(|_| out_of_memory(elements, more))
}

/// Reserves memory for exactly `count` elements.
fn reserve_exact<T>(elements: &mut Vec<T>, count: usize) -> Result<(), NpyError> {
    elements.try_reserve_exact(count).map_err(|_| out_of_memory(elements, count))
}

fn out_of_memory<T>(elements: &[T], more: usize) -> NpyError {
    NpyError::OutOfMemory { bytes: elements.len().saturating_add(more).saturating_mul(size_of::<T>()) }
}

/// Index of the `position`-th element in the file.
fn index_of(mut position: usize, header: &Header) -> Vec<usize> {
    let mut index = vec![0; header.shape.len()];
    let mut step = |dim: usize| {
        let size = header.shape[dim].max(1);
        index[dim] = position % size;
        position /= size;
    };
    if header.fortran_order {
        (0..header.shape.len()).for_each(&mut step);
    } else {
        (0..header.shape.len()).rev().for_each(&mut step);
    }
    index
}

/// Whether the reader is at its end, where the zip crate verifies the checksum.
pub(crate) fn at_end(reader: &mut impl Read) -> io::Result<bool> {
    Ok(reader.take(1).read_to_end(&mut Vec::new())? == 0)
}
