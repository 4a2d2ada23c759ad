//! Reading `.npy` files into tensors.

use crate::descr::Code;
use crate::element::{Scalar, decode_bools, decode_unicode, decode_utf8};
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

/// Data is read in pieces of about this many bytes.
const PIECE: usize = 1 << 16;

/// Reads the array of an `.npy` file.
///
/// Every [`DType`] is read, in either byte order and in C or Fortran order. `U` and `S` become
/// strings, without the NULs that NumPy fills them up with; `V2` is taken for `bfloat16`, since
/// that is what NumPy writes for it. Bytes after the data are ignored, as NumPy does.
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
/// Where the file cannot be read, is damaged, or holds elements of another type. A header that
/// promises more data than there is costs no memory.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, NpyError> {
    let path = path.as_ref();
    read_file(path).map_err(|error| error.in_file(path))
}

fn read_file(path: &Path) -> Result<Tensor, NpyError> {
    let mut file = File::open(path)?;
    let header = Header::read(&mut file)?;
    let metadata = file.metadata()?;
    // Of pipes and devices nothing is known beforehand.
    let available = match metadata.is_file() {
        true => Some(metadata.len().saturating_sub(file.stream_position()?)),
        false => None,
    };
    read_data(&mut file, &header, available)
}

/// Reads the array of an `.npy` file from anything: [`read`].
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

/// Reads the elements behind a header. `available` is how many bytes there are, where that is known.
pub(crate) fn read_data(
    reader: &mut impl Read,
    header: &Header,
    available: Option<u64>,
) -> Result<Tensor, NpyError> {
    let (big_endian, item_size) = (header.descr.big_endian(), header.item_size());
    let data = Data { reader, header, available };
    match header.descr.code() {
        Code::Scalar(dtype) => data.numbers(dtype, big_endian),
        // Strings of no bytes: as many as the header likes to promise would cost it nothing.
        Code::Unicode | Code::Bytes if item_size == 0 && header.element_count()? > 0 => {
            Err(NpyError::NoTensor { descr: header.descr.text().into() })
        }
        Code::Unicode => data
            .array(|bytes, strings| decode_unicode(bytes, item_size, big_endian, strings))
            .map(Tensor::Str),
        Code::Bytes => data.array(|bytes, strings| decode_utf8(bytes, item_size, strings)).map(Tensor::Str),
        Code::Opaque => Err(NpyError::NoTensor { descr: header.descr.text().into() }),
    }
}

/// The part of a file behind its header.
struct Data<'a, R> {
    reader: &'a mut R,
    header: &'a Header,
    available: Option<u64>,
}

impl<R: Read> Data<'_, R> {
    fn numbers(self, dtype: DType, big_endian: bool) -> Result<Tensor, NpyError> {
        macro_rules! read {
            ($type:ty) => {
                self.array(|bytes, numbers: &mut Vec<$type>| {
                    Scalar::decode(bytes, big_endian, numbers);
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

    /// All elements, in the order of the file.
    fn array<T>(
        self,
        decode: impl Fn(&[u8], &mut Vec<T>) -> Result<(), String>,
    ) -> Result<ArrayD<T>, NpyError> {
        let header = self.header;
        let elements = self.elements(decode)?;
        let shape = IxDyn(&header.shape);
        let shape = if header.fortran_order { shape.f() } else { shape.into_shape_with_order() };
        // It has as many elements as were promised, but ndarray wants the other sizes to be
        // countable even beside a size of 0.
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
            reserve_all(&mut elements, self.header.element_count()?)?;
        }
        let item_size = self.header.item_size().max(1);
        let piece_size = (PIECE / item_size).max(1).saturating_mul(item_size) as u64;
        let (mut piece, mut found) = (Vec::new(), 0);
        while found < promised {
            let wanted = piece_size.min(promised - found);
            piece.clear();
            let got = self.reader.take(wanted).read_to_end(&mut piece)? as u64;
            found += got;
            if got < wanted {
                return Err(NpyError::Truncated { promised, found });
            }
            reserve(&mut elements, piece.len() / item_size)?;
            decode(&piece, &mut elements).map_err(|problem| NpyError::Element {
                index: index_of(elements.len(), self.header),
                problem,
            })?;
        }
        Ok(elements)
    }
}

fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<(), NpyError> {
    elements.try_reserve(more).map_err(|_| no_memory(elements, more))
}

/// Memory for exactly so many: none is left over, and nothing moves while they come.
fn reserve_all<T>(elements: &mut Vec<T>, count: usize) -> Result<(), NpyError> {
    elements.try_reserve_exact(count).map_err(|_| no_memory(elements, count))
}

fn no_memory<T>(elements: &[T], more: usize) -> NpyError {
    NpyError::OutOfMemory { bytes: elements.len().saturating_add(more).saturating_mul(size_of::<T>()) }
}

/// The indices of the element that stands at a place in the file.
fn index_of(mut place: usize, header: &Header) -> Vec<usize> {
    let mut index = vec![0; header.shape.len()];
    let mut step = |dim: usize| {
        let size = header.shape[dim].max(1);
        index[dim] = place % size;
        place /= size;
    };
    if header.fortran_order {
        (0..header.shape.len()).for_each(&mut step);
    } else {
        (0..header.shape.len()).rev().for_each(&mut step);
    }
    index
}

/// Whether nothing is left to read. Reading on at the end makes a zip archive check its sum.
pub(crate) fn at_end(reader: &mut impl Read) -> io::Result<bool> {
    Ok(reader.take(1).read_to_end(&mut Vec::new())? == 0)
}
