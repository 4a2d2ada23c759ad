//! Tensors in files: `TensorProto` decoded from all its data fields, and encoded.

use crate::elem_type::ElemType;
use crate::error::{Error, display_name};
use crate::external_data;
use crate::field_numbers::{entry, tensor as field};
use crate::file;
use crate::wire::{Message, SharedBytes};
use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::path::Path;
use unishape::notation::short_shape_text;
use unishape::{DType, Tensor, TensorView, element_count};

/// Value of `DataLocation` for tensors with external data.
const LOCATION_EXTERNAL: i64 = 1;

/// Tensor in a file: name, element type and shape, with its elements still encoded.
#[derive(Clone, Debug)]
pub(crate) struct TensorProto {
    pub(crate) name: String,
    pub(crate) elem: ElemType,
    pub(crate) shape: Vec<usize>,
    message: Message,
}

impl TensorProto {
    pub(crate) fn from_message(message: Message) -> Result<TensorProto, Error> {
        let name = message.string(field::NAME)?;
        let parse = || -> Result<(ElemType, Vec<usize>), Error> {
            let elem = i32::try_from(message.int(field::DATA_TYPE)?);
            let elem = elem.map_err(|_| Error::malformed("data_type is out of range"))?;
            let dims = message.ints(field::DIMS)?;
            let shape = dims.into_iter().map(|dim| {
                usize::try_from(dim).map_err(|_| Error::invalid(format!("a dimension has size {dim}")))
            });
            Ok((ElemType::new(elem), shape.collect::<Result<_, _>>()?))
        };
        let (elem, shape) =
            parse().map_err(|error| error.with_context(format!("tensor {}", display_name(&name))))?;
        Ok(TensorProto { name, elem, shape, message })
    }

    /// Decodes the elements; `base_dir` is the directory of external data files.
    pub(crate) fn decode(&self, base_dir: Option<&Path>) -> Result<Tensor, Error> {
        self.elements(base_dir)
            .map_err(|error| error.with_context(format!("tensor {}", display_name(&self.name))))
    }

    fn elements(&self, base_dir: Option<&Path>) -> Result<Tensor, Error> {
        let Some(dtype) = self.elem.dtype() else {
            let problem = format!("element type {} is not supported", self.elem);
            return Err(Error::unsupported(problem));
        };
        if self.message.has(field::SEGMENT) {
            return Err(Error::unsupported("segmented tensors are not supported"));
        }
        let count = element_count(&self.shape).map_err(|_| {
            Error::invalid(format!("shape {} has too many elements", short_shape_text(&self.shape)))
        })?;
        if dtype == DType::Str {
            return self.strings(count);
        }
        if let Some(entries) = self.external_entries()? {
            let bytes = count.checked_mul(dtype.item_size());
            let bytes = bytes.ok_or_else(|| Error::invalid("its size in bytes overflows"))?;
            return self.raw(dtype, count, &external_data::read(&entries, base_dir, bytes)?);
        }
        match self.message.last(field::RAW_DATA) {
            Some(raw) => self.raw(dtype, count, &raw.bytes()?),
            None => self.typed(dtype, count),
        }
    }

    /// Keys and values of `external_data`; `None` if the elements are in the model file.
    fn external_entries(&self) -> Result<Option<Vec<(String, String)>>, Error> {
        if self.message.int(field::DATA_LOCATION)? != LOCATION_EXTERNAL {
            return Ok(None);
        }
        let entries = self.message.messages(field::EXTERNAL_DATA)?;
        let key_value = |message: &Message| Ok((message.string(entry::KEY)?, message.string(entry::VALUE)?));
        entries.iter().map(key_value).collect::<Result<_, _>>().map(Some)
    }

    /// Location of the external data file, if there is one.
    pub(crate) fn external_location(&self) -> Option<String> {
        let entries = self.external_entries().ok()??;
        entries.into_iter().rev().find(|(key, _)| key == "location").map(|(_, location)| location)
    }

    /// Decodes little-endian bytes.
    fn raw(&self, dtype: DType, count: usize, bytes: &[u8]) -> Result<Tensor, Error> {
        if count.checked_mul(dtype.item_size()) != Some(bytes.len()) {
            return Err(self.wrong_count(count, &format!("{} bytes", bytes.len())));
        }
        macro_rules! numbers {
            ($type:ty) => {
                tensor(&self.shape, chunks(bytes).map(<$type>::from_le_bytes).collect())
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
            DType::Bool => tensor(&self.shape, bytes.iter().map(|&byte| byte != 0).collect()),
            DType::C64 => tensor(&self.shape, complex(chunks(bytes).map(f32::from_le_bytes))),
            DType::C128 => tensor(&self.shape, complex(chunks(bytes).map(f64::from_le_bytes))),
            DType::Str => Err(Error::invalid("raw_data cannot hold strings")),
        }
    }

    /// Decodes the typed field of this dtype, such as `float_data`.
    fn typed(&self, dtype: DType, count: usize) -> Result<Tensor, Error> {
        let check_len = |expected: usize, len: usize| match expected == len {
            true => Ok(()),
            false => Err(self.wrong_count(count, &format!("{len} numbers"))),
        };
        macro_rules! ints {
            ($number:ident, $as:ty, $to:ty, $make:expr) => {{
                let ints = self.message.ints(field::$number)?;
                check_len(count, ints.len())?;
                let make = $make;
                let convert = |int: i64| {
                    let converted = <$to>::try_from(int as $as).map(make);
                    converted.map_err(|_| Error::malformed(format!("{int} is out of range for {dtype}")))
                };
                tensor(&self.shape, ints.into_iter().map(convert).collect::<Result<_, _>>()?)
            }};
        }
        match dtype {
            DType::F32 => {
                let floats = self.message.fixed::<4>(field::FLOAT_DATA)?;
                check_len(count, floats.len())?;
                tensor(&self.shape, floats.into_iter().map(f32::from_le_bytes).collect())
            }
            DType::C64 => {
                let floats = self.message.fixed::<4>(field::FLOAT_DATA)?;
                check_len(count.saturating_mul(2), floats.len())?;
                tensor(&self.shape, complex(floats.into_iter().map(f32::from_le_bytes)))
            }
            DType::F64 => {
                let floats = self.message.fixed::<8>(field::DOUBLE_DATA)?;
                check_len(count, floats.len())?;
                tensor(&self.shape, floats.into_iter().map(f64::from_le_bytes).collect())
            }
            DType::C128 => {
                let floats = self.message.fixed::<8>(field::DOUBLE_DATA)?;
                check_len(count.saturating_mul(2), floats.len())?;
                tensor(&self.shape, complex(floats.into_iter().map(f64::from_le_bytes)))
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
        let strings = self.message.strings(field::STRING_DATA)?;
        match strings.len() == count {
            true => tensor(&self.shape, strings),
            false => Err(self.wrong_count(count, &format!("{} strings", strings.len()))),
        }
    }

    fn wrong_count(&self, count: usize, data: &str) -> Error {
        let (shape, elem) = (short_shape_text(&self.shape), self.elem);
        Error::malformed(format!(
            "shape {shape} needs {count} elements of type {elem}, but the data has {data}"
        ))
    }
}

/// Splits bytes into chunks of `N` bytes; a remainder is dropped.
fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// Pairs alternating real and imaginary parts.
fn complex<T>(mut parts: impl Iterator<Item = T>) -> Vec<Complex<T>> {
    let mut numbers = Vec::new();
    while let (Some(re), Some(im)) = (parts.next(), parts.next()) {
        numbers.push(Complex::new(re, im));
    }
    numbers
}

fn tensor<T>(shape: &[usize], elements: Vec<T>) -> Result<Tensor, Error>
where
    Tensor: From<ArrayD<T>>,
{
    match ArrayD::from_shape_vec(IxDyn(shape), elements) {
        Ok(array) => Ok(array.into()),
        // Reached only if a size is 0 and the product of the other sizes overflows.
        Err(_) => Err(Error::unsupported(format!("shape {} is too large", short_shape_text(shape)))),
    }
}

/// Decodes a serialized `TensorProto` into its name and its elements.
///
/// ONNX test data stores tensors this way, in `.pb` files.
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
/// If the bytes are not a tensor, or its element type has no [`DType`], or its data is external.
pub fn read_tensor(bytes: &[u8]) -> Result<(String, Tensor), Error> {
    decode_tensor(bytes.to_vec(), None)
}

fn decode_tensor(bytes: Vec<u8>, base_dir: Option<&Path>) -> Result<(String, Tensor), Error> {
    let message = Message::decode(&SharedBytes::from(bytes))
        .map_err(|error| Error::malformed(format!("not an ONNX tensor: {error}")))?;
    let proto = TensorProto::from_message(message)?;
    let tensor = proto.decode(base_dir)?;
    Ok((proto.name, tensor))
}

/// Reads a tensor from a file; see [`read_tensor`].
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("input_0.pb");
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
/// As [`read_tensor`], and if the file or an external data file cannot be read.
pub fn open_tensor(path: impl AsRef<Path>) -> Result<(String, Tensor), Error> {
    let path = path.as_ref();
    decode_tensor(file::read(path)?, Some(file::parent_dir(path)))
        .map_err(|error| error.with_context(unishape::text::display_path(path)))
}

/// Serializes a tensor as a `TensorProto`.
///
/// ```
/// use unishape_onnx::{read_tensor, tensor_bytes};
///
/// let tensor = unishape::Tensor::from(ndarray::arr2(&[[1i64, 2]]));
/// assert_eq!(read_tensor(&tensor_bytes("", &tensor))?.1, tensor);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
pub fn tensor_bytes<'a>(name: &str, tensor: impl Into<TensorView<'a>>) -> Vec<u8> {
    tensor_message(name, &tensor.into()).encode()
}

/// `TensorProto` of a tensor, with its elements in `raw_data` or `string_data`.
pub(crate) fn tensor_message(name: &str, view: &TensorView<'_>) -> Message {
    let mut message = Message::default();
    for &size in view.shape() {
        message.push_int(field::DIMS, size as i64);
    }
    message.push_int(field::DATA_TYPE, ElemType::of(view.dtype()).number().into());
    if let TensorView::Str(view) = view {
        for string in view {
            message.push_bytes(field::STRING_DATA, string.as_bytes());
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

/// Elements as little-endian bytes in row-major order; empty for strings.
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
