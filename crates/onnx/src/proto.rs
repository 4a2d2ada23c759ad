//! Tensors in files: read from all the places that ONNX lets their elements be in, and written.

use crate::error::{Error, named};
use crate::external;
use crate::file;
use crate::types::ElemType;
use crate::wire::{Message, Piece};
use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::path::Path;
use unishape::notation::short_shape_text;
use unishape::{DType, Tensor, TensorView, element_count};

/// The numbers of a tensor's fields.
mod field {
    pub(super) const DIMS: u32 = 1;
    pub(super) const DATA_TYPE: u32 = 2;
    pub(super) const SEGMENT: u32 = 3;
    pub(super) const FLOAT_DATA: u32 = 4;
    pub(super) const INT32_DATA: u32 = 5;
    pub(super) const STRING_DATA: u32 = 6;
    pub(super) const INT64_DATA: u32 = 7;
    pub(super) const NAME: u32 = 8;
    pub(super) const RAW_DATA: u32 = 9;
    pub(super) const DOUBLE_DATA: u32 = 10;
    pub(super) const UINT64_DATA: u32 = 11;
    pub(super) const EXTERNAL_DATA: u32 = 13;
    pub(super) const DATA_LOCATION: u32 = 14;
}

/// A tensor as it is in a file. Its elements are read only when they are wanted, and may be of types that are
/// not computed with.
#[derive(Clone, Debug)]
pub(crate) struct TensorProto {
    pub(crate) name: String,
    pub(crate) elem: ElemType,
    pub(crate) shape: Vec<usize>,
    message: Message,
}

impl TensorProto {
    pub(crate) fn read(message: Message) -> Result<TensorProto, Error> {
        let name = message.text(field::NAME)?;
        let at = |error: Error| error.at(format!("tensor {}", named(&name)));
        let read = || -> Result<(ElemType, Vec<usize>), Error> {
            let elem = i32::try_from(message.int(field::DATA_TYPE)?);
            let elem = elem.map_err(|_| Error::malformed("its type is a number that no type has"))?;
            let dims = message.ints(field::DIMS)?;
            let shape = dims.into_iter().map(|dim| {
                usize::try_from(dim).map_err(|_| Error::invalid(format!("a dimension has the size {dim}")))
            });
            Ok((ElemType::new(elem), shape.collect::<Result<_, _>>()?))
        };
        let (elem, shape) = read().map_err(at)?;
        Ok(TensorProto { name, elem, shape, message })
    }

    /// Its elements, from the file itself or from another in the folder.
    pub(crate) fn decode(&self, folder: Option<&Path>) -> Result<Tensor, Error> {
        self.elements(folder).map_err(|error| error.at(format!("tensor {}", named(&self.name))))
    }

    fn elements(&self, folder: Option<&Path>) -> Result<Tensor, Error> {
        let Some(dtype) = self.elem.dtype() else {
            let problem = format!("elements of type {} are not computed with, only handed on", self.elem);
            return Err(Error::unsupported(problem));
        };
        if self.message.has(field::SEGMENT) {
            return Err(Error::unsupported("tensors in segments are not put together"));
        }
        let count = element_count(&self.shape).map_err(|_| {
            Error::invalid(format!("it is {}, beyond counting", short_shape_text(&self.shape)))
        })?;
        if dtype == DType::Str {
            return self.strings(count);
        }
        if let Some(entries) = self.external()? {
            let bytes = count.checked_mul(dtype.item_size());
            let bytes = bytes.ok_or_else(|| Error::invalid("it has more bytes than can be counted"))?;
            return self.raw(dtype, count, &external::read(&entries, folder, bytes)?);
        }
        match self.message.last(field::RAW_DATA) {
            Some(raw) => self.raw(dtype, count, &raw.bytes()?),
            None => self.typed(dtype, count),
        }
    }

    /// What is said of its data where that is in another file.
    fn external(&self) -> Result<Option<Vec<(String, String)>>, Error> {
        if self.message.int(field::DATA_LOCATION)? != 1 {
            return Ok(None);
        }
        let entries = self.message.messages(field::EXTERNAL_DATA)?;
        entries.iter().map(|entry| Ok((entry.text(1)?, entry.text(2)?))).collect::<Result<_, _>>().map(Some)
    }

    /// The other file that its data is in.
    pub(crate) fn location(&self) -> Option<String> {
        let entries = self.external().ok()??;
        entries.into_iter().rev().find(|(key, _)| key == "location").map(|(_, location)| location)
    }

    /// From bytes, the lowest first.
    fn raw(&self, dtype: DType, count: usize, bytes: &[u8]) -> Result<Tensor, Error> {
        if count.checked_mul(dtype.item_size()) != Some(bytes.len()) {
            return Err(self.wrong_count(count, &format!("{} bytes", bytes.len())));
        }
        macro_rules! numbers {
            ($type:ty) => {
                array(&self.shape, items(bytes).map(<$type>::from_le_bytes).collect())
            };
        }
        match dtype {
            DType::F16 => numbers!(f16),
            DType::BF16 => numbers!(bf16),
            DType::F32 => numbers!(f32),
            DType::F64 => numbers!(f64),
            DType::I8 => numbers!(i8),
            DType::I16 => numbers!(i16),
            DType::I32 => numbers!(i32),
            DType::I64 => numbers!(i64),
            DType::U8 => numbers!(u8),
            DType::U16 => numbers!(u16),
            DType::U32 => numbers!(u32),
            DType::U64 => numbers!(u64),
            DType::Bool => array(&self.shape, bytes.iter().map(|&byte| byte != 0).collect()),
            DType::C64 => array(&self.shape, complex(items(bytes).map(f32::from_le_bytes))),
            DType::C128 => array(&self.shape, complex(items(bytes).map(f64::from_le_bytes))),
            DType::Str => Err(Error::invalid("strings are not kept as bytes")),
        }
    }

    /// From the field for numbers of its kind.
    fn typed(&self, dtype: DType, count: usize) -> Result<Tensor, Error> {
        let checked = |wanted: usize, len: usize| match wanted == len {
            true => Ok(()),
            false => Err(self.wrong_count(count, &format!("{len} numbers"))),
        };
        macro_rules! ints {
            ($number:ident, $as:ty, $to:ty, $make:expr) => {{
                let ints = self.message.ints(field::$number)?;
                checked(count, ints.len())?;
                let make = $make;
                let of = |int: i64| {
                    let fits = <$to>::try_from(int as $as).map(make);
                    fits.map_err(|_| Error::malformed(format!("{int} is no {dtype}")))
                };
                array(&self.shape, ints.into_iter().map(of).collect::<Result<_, _>>()?)
            }};
        }
        match dtype {
            DType::F32 => {
                let floats = self.message.fixed::<4>(field::FLOAT_DATA)?;
                checked(count, floats.len())?;
                array(&self.shape, floats.into_iter().map(f32::from_le_bytes).collect())
            }
            DType::C64 => {
                let floats = self.message.fixed::<4>(field::FLOAT_DATA)?;
                checked(count.saturating_mul(2), floats.len())?;
                array(&self.shape, complex(floats.into_iter().map(f32::from_le_bytes)))
            }
            DType::F64 => {
                let floats = self.message.fixed::<8>(field::DOUBLE_DATA)?;
                checked(count, floats.len())?;
                array(&self.shape, floats.into_iter().map(f64::from_le_bytes).collect())
            }
            DType::C128 => {
                let floats = self.message.fixed::<8>(field::DOUBLE_DATA)?;
                checked(count.saturating_mul(2), floats.len())?;
                array(&self.shape, complex(floats.into_iter().map(f64::from_le_bytes)))
            }
            DType::I8 => ints!(INT32_DATA, i32, i8, |int: i8| int),
            DType::I16 => ints!(INT32_DATA, i32, i16, |int: i16| int),
            DType::I32 => ints!(INT32_DATA, i32, i32, |int: i32| int),
            DType::U8 => ints!(INT32_DATA, i32, u8, |int: u8| int),
            DType::U16 => ints!(INT32_DATA, i32, u16, |int: u16| int),
            DType::Bool => ints!(INT32_DATA, i32, i32, |int: i32| int != 0),
            DType::F16 => ints!(INT32_DATA, i32, u16, f16::from_bits),
            DType::BF16 => ints!(INT32_DATA, i32, u16, bf16::from_bits),
            DType::I64 => ints!(INT64_DATA, i64, i64, |int: i64| int),
            DType::U32 => ints!(UINT64_DATA, u64, u32, |int: u32| int),
            DType::U64 => ints!(UINT64_DATA, u64, u64, |int: u64| int),
            DType::Str => self.strings(count),
        }
    }

    fn strings(&self, count: usize) -> Result<Tensor, Error> {
        let strings = self.message.texts(field::STRING_DATA)?;
        match strings.len() == count {
            true => array(&self.shape, strings),
            false => Err(self.wrong_count(count, &format!("{} strings", strings.len()))),
        }
    }

    fn wrong_count(&self, count: usize, data: &str) -> Error {
        let (shape, elem) = (short_shape_text(&self.shape), self.elem);
        Error::malformed(format!("it is {shape}, {count} elements of type {elem}, and has {data}"))
    }
}

/// The numbers of so many bytes each that bytes are.
fn items<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// The two parts of each number, one after the other.
fn complex<T>(mut parts: impl Iterator<Item = T>) -> Vec<Complex<T>> {
    let mut numbers = Vec::new();
    while let (Some(re), Some(im)) = (parts.next(), parts.next()) {
        numbers.push(Complex::new(re, im));
    }
    numbers
}

fn array<T>(shape: &[usize], elements: Vec<T>) -> Result<Tensor, Error>
where
    Tensor: From<ArrayD<T>>,
{
    match ArrayD::from_shape_vec(IxDyn(shape), elements) {
        Ok(array) => Ok(array.into()),
        // Only shapes without elements, whose other sizes are beyond counting.
        Err(_) => Err(Error::unsupported(format!("{} is beyond counting", short_shape_text(shape)))),
    }
}

/// Reads a tensor from a file of its own, `.pb` in ONNX's test data: its name, and its elements.
///
/// ```
/// use unishape::Tensor;
/// use unishape_onnx::{read_tensor, tensor_bytes};
///
/// let tensor = Tensor::from(ndarray::arr1(&[1.5f32, 2.5]));
/// assert_eq!(read_tensor(&tensor_bytes("x", &tensor))?, ("x".into(), tensor));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// Where the bytes are no tensor, or one whose type is not computed with.
pub fn read_tensor(bytes: &[u8]) -> Result<(String, Tensor), Error> {
    tensor_in(bytes.to_vec(), None)
}

fn tensor_in(bytes: Vec<u8>, folder: Option<&Path>) -> Result<(String, Tensor), Error> {
    let message = Message::read(&Piece::from(bytes))
        .map_err(|error| Error::malformed(format!("this is no tensor: {error}")))?;
    let proto = TensorProto::read(message)?;
    let tensor = proto.decode(folder)?;
    Ok((proto.name, tensor))
}

/// The same from a file.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("input_0.pb");
/// use unishape_onnx::{open_tensor, tensor_bytes};
///
/// let tensor = unishape::Tensor::from(ndarray::arr1(&["a".to_string()]));
/// std::fs::write(&path, tensor_bytes("names", &tensor)).unwrap();
/// assert_eq!(open_tensor(&path)?.1, tensor);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
///
/// # Errors
///
/// As [`read_tensor`], and where the file cannot be read.
pub fn open_tensor(path: impl AsRef<Path>) -> Result<(String, Tensor), Error> {
    let path = path.as_ref();
    tensor_in(file::read(path)?, Some(file::folder_of(path)))
        .map_err(|error| error.at(unishape::text::display_path(path)))
}

/// A tensor as the bytes of a file of its own.
///
/// ```
/// use unishape_onnx::{read_tensor, tensor_bytes};
///
/// let tensor = unishape::Tensor::from(ndarray::arr2(&[[1i64, 2]]));
/// assert_eq!(read_tensor(&tensor_bytes("", &tensor))?.1, tensor);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn tensor_bytes<'a>(name: &str, tensor: impl Into<TensorView<'a>>) -> Vec<u8> {
    tensor_message(name, &tensor.into()).write()
}

pub(crate) fn tensor_message(name: &str, view: &TensorView<'_>) -> Message {
    let mut message = Message::default();
    for &size in view.shape() {
        message.push_int(field::DIMS, size as i64);
    }
    message.push_int(field::DATA_TYPE, ElemType::of(view.dtype()).number().into());
    if let TensorView::Str(view) = view {
        for text in view {
            message.push_bytes(field::STRING_DATA, text.as_bytes());
        }
    }
    if !name.is_empty() {
        message.push_bytes(field::NAME, name.as_bytes());
    }
    if view.dtype() != DType::Str {
        message.push_bytes(field::RAW_DATA, &raw_bytes(view));
    }
    message
}

/// The elements as bytes, the lowest first.
fn raw_bytes(view: &TensorView<'_>) -> Vec<u8> {
    macro_rules! by_type {
        ($($variant:ident)+) => {
            match view {
                $(TensorView::$variant(view) => view.iter().flat_map(|x| x.to_le_bytes()).collect(),)+
                TensorView::Bool(view) => view.iter().map(|&x| x.into()).collect(),
                TensorView::C64(view) => {
                    view.iter().flat_map(|x| [x.re, x.im]).flat_map(f32::to_le_bytes).collect()
                }
                TensorView::C128(view) => {
                    view.iter().flat_map(|x| [x.re, x.im]).flat_map(f64::to_le_bytes).collect()
                }
                TensorView::Str(_) => Vec::new(),
            }
        };
    }
    by_type!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64)
}
