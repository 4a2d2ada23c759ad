//! The header of an `.npy` file.

use crate::descr::Descr;
use crate::error::NpyError;
use crate::python_literal::{LiteralParser, MAX_NPY_RANK};
use std::io::{Read, Write};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header that is read or written, in bytes. NumPy's default is 10 000.
const MAX_LEN: u64 = 1 << 20;

/// Alignment of the data in the file, in bytes, for memory mapping.
const ALIGNMENT: usize = 64;

/// NumPy reserves this many digits for the size of the dimension that can grow.
const GROWTH_DIGITS: usize = 21;

/// The header of an `.npy` file: dtype, order and shape of its array.
///
/// ```
/// use unishape::DType;
/// use unishape_npy::{Descr, Header};
///
/// let header = Header { descr: Descr::of(DType::F64), fortran_order: false, shape: vec![3, 4] };
/// let mut file = Vec::new();
/// header.write(&mut file)?;
/// assert!(file[10..].starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }"));
/// assert_eq!(file.len() as u64, header.encoded_len()?);
/// assert_eq!(Header::read(&mut &file[..])?, header);
/// # Ok::<(), unishape_npy::NpyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The dtype.
    pub descr: Descr,
    /// Column-major (Fortran) order instead of row-major (C) order.
    pub fortran_order: bool,
    /// The shape.
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads a header of any version, up to the first byte of the data.
    ///
    /// ```
    /// use unishape_npy::Header;
    ///
    /// let mut file = b"\x93NUMPY\x01\0\x37\0{'descr': '|u1', 'fortran_order': False, 'shape': (), }\x07".as_slice();
    /// let header = Header::read(&mut file)?;
    /// assert_eq!((header.shape.len(), file), (0, &[7][..]));
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Reading fails, or the file does not begin with a valid header.
    pub fn read(reader: &mut impl Read) -> Result<Header, NpyError> {
        let magic = read_up_to(reader, MAGIC.len() as u64)?;
        if magic != MAGIC {
            return Err(NpyError::NotNpy { zip: magic.starts_with(b"PK") });
        }
        let [major, minor] = read_array(reader)?;
        let length = match (major, minor) {
            (1, 0) => u64::from(u16::from_le_bytes(read_array(reader)?)),
            (2 | 3, 0) => u64::from(u32::from_le_bytes(read_array(reader)?)),
            _ => return Err(NpyError::Version { major, minor }),
        };
        if length > MAX_LEN {
            return Err(NpyError::HeaderTooLong { bytes: length, limit: MAX_LEN });
        }
        let bytes = read_up_to(reader, length)?;
        if bytes.len() as u64 != length {
            return Err(NpyError::HeaderTruncated);
        }
        if major < 3 {
            // NumPy encodes field names beyond ASCII as Latin-1 in the older versions.
            return Header::parse(&bytes.iter().map(|&byte| char::from(byte)).collect::<String>());
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Header::parse(text),
            Err(error) => Err(NpyError::Encoding { at: error.valid_up_to() }),
        }
    }

    /// Parses the text of a header, a Python dictionary.
    fn parse(text: &str) -> Result<Header, NpyError> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut parser = LiteralParser::new(text);
        parser.expect('{')?;
        parser.items('}', |parser| {
            let key = parser.string()?;
            parser.expect(':')?;
            let again = match key.as_str() {
                "descr" => descr.replace(Descr::read(parser)?).map(|_| "descr"),
                "fortran_order" => fortran_order.replace(parser.boolean()?).map(|_| "fortran_order"),
                "shape" => shape.replace(read_shape(parser)?).map(|_| "shape"),
                _ => return Err(NpyError::UnknownKey(key)),
            };
            again.map_or(Ok(()), |key| Err(NpyError::DuplicateKey(key)))
        })?;
        parser.end()?;
        Ok(Header {
            descr: descr.ok_or(NpyError::MissingKey("descr"))?,
            fortran_order: fortran_order.ok_or(NpyError::MissingKey("fortran_order"))?,
            shape: shape.ok_or(NpyError::MissingKey("shape"))?,
        })
    }

    /// Writes the header with the same bytes as NumPy.
    ///
    /// The version is the oldest that can hold it. One exception: field names beyond ASCII require version 3.0 here;
    /// NumPy writes some of them in the older versions, as Latin-1.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header};
    ///
    /// let header = Header { descr: Descr::of(DType::Bool), fortran_order: true, shape: vec![5] };
    /// let mut file = Vec::new();
    /// header.write(&mut file)?;
    /// assert_eq!(file.len(), 128);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The writer fails, or the header exceeds the limits of [`Header::read`] on length or rank.
    pub fn write(&self, writer: &mut impl Write) -> Result<(), NpyError> {
        Ok(writer.write_all(&self.encode()?)?)
    }

    /// Length of the encoded header, in bytes: the offset of the data in the file.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header};
    ///
    /// let header = Header { descr: Descr::of(DType::F32), fortran_order: false, shape: vec![2, 3] };
    /// assert_eq!(header.encoded_len()? + header.data_bytes()?, 128 + 24); // the file's exact size
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The header exceeds the limits of [`Header::read`] on length or rank.
    pub fn encoded_len(&self) -> Result<u64, NpyError> {
        Ok(self.encode()?.len() as u64)
    }

    fn encode(&self) -> Result<Vec<u8>, NpyError> {
        let too_long = |bytes: usize| NpyError::HeaderTooLong { bytes: bytes as u64, limit: MAX_LEN };
        if self.shape.len() > MAX_NPY_RANK {
            return Err(NpyError::TooManyDimensions { limit: MAX_NPY_RANK });
        }
        let order = if self.fortran_order { "True" } else { "False" };
        let shape = shape_tuple(&self.shape);
        let mut text = format!("{{'descr': {}, 'fortran_order': {order}, 'shape': {shape}, }}", self.descr);
        let growing = if self.fortran_order { self.shape.last() } else { self.shape.first() };
        if let Some(size) = growing {
            text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(size.to_string().len())));
        }
        // Without need for padding, NumPy pads by a whole alignment: hence no `next_multiple_of`.
        let padded = |prefix: usize| {
            let unpadded = prefix + text.len() + 1;
            unpadded + ALIGNMENT - unpadded % ALIGNMENT - prefix
        };
        let mut file = MAGIC.to_vec();
        let length = match u16::try_from(padded(10)) {
            Ok(length) if text.is_ascii() => {
                file.extend([1, 0]);
                file.extend(length.to_le_bytes());
                usize::from(length)
            }
            _ => {
                let length = padded(12);
                file.extend([if text.is_ascii() { 2 } else { 3 }, 0]);
                file.extend(u32::try_from(length).map_err(|_| too_long(length))?.to_le_bytes());
                length
            }
        };
        if length as u64 > MAX_LEN {
            return Err(too_long(length));
        }
        let start = file.len();
        file.extend(text.as_bytes());
        file.resize(start + length - 1, b' ');
        file.push(b'\n');
        Ok(file)
    }

    /// The number of elements.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header};
    ///
    /// let header = Header { descr: Descr::of(DType::F32), fortran_order: false, shape: vec![2, 3] };
    /// assert_eq!(header.element_count()?, 6);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The number overflows `usize`.
    pub fn element_count(&self) -> Result<usize, NpyError> {
        unishape_core::element_count(&self.shape).map_err(|_| self.too_large())
    }

    /// Size of an element, in bytes.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header};
    ///
    /// let header = Header { descr: Descr::of(DType::F32), fortran_order: false, shape: vec![2, 3] };
    /// assert_eq!(header.item_size(), 4);
    /// ```
    pub fn item_size(&self) -> usize {
        self.descr.item_size()
    }

    /// Size of all elements, in bytes.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::{Descr, Header};
    ///
    /// let mut header = Header { descr: Descr::of(DType::F32), fortran_order: false, shape: vec![2, 3] };
    /// assert_eq!(header.data_bytes()?, 24);
    /// header.shape = vec![usize::MAX];
    /// assert!(header.data_bytes().is_err());
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The size overflows `u64`, or the number of elements `usize`.
    pub fn data_bytes(&self) -> Result<u64, NpyError> {
        let count = self.element_count()?;
        (count as u64).checked_mul(self.item_size() as u64).ok_or_else(|| self.too_large())
    }

    /// Strides of the array in the file, in elements.
    ///
    /// A size of 0 leaves no element, so strides beyond `isize::MAX` are replaced with 0.
    pub(crate) fn strides(&self) -> Vec<isize> {
        let mut strides = vec![0; self.shape.len()];
        let mut next = 1isize;
        let mut step = |dim: usize| {
            strides[dim] = next;
            let size = isize::try_from(self.shape[dim]).ok();
            next = size.and_then(|size| next.checked_mul(size)).unwrap_or(0);
        };
        if self.fortran_order {
            (0..self.shape.len()).for_each(&mut step);
        } else {
            (0..self.shape.len()).rev().for_each(&mut step);
        }
        strides
    }

    pub(crate) fn too_large(&self) -> NpyError {
        NpyError::TooLarge { shape: self.shape.clone(), item_size: self.item_size() }
    }
}

/// The shape as a Python tuple: `()`, `(3,)`, `(3, 4)`.
fn shape_tuple(shape: &[usize]) -> String {
    match shape {
        [size] => format!("({size},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn read_shape(parser: &mut LiteralParser<'_>) -> Result<Vec<usize>, NpyError> {
    if !parser.take('(') {
        return Err(parser.unexpected("a tuple of sizes, as in (3, 4),"));
    }
    let (shape, comma) = parser.sizes(')', MAX_NPY_RANK)?;
    if shape.len() == 1 && !comma {
        return Err(parser.error(format!("({}) is not a tuple; write ({},)", shape[0], shape[0])));
    }
    Ok(shape)
}

/// Reads at most `limit` bytes; allocates memory as they arrive.
fn read_up_to(reader: &mut impl Read, limit: u64) -> Result<Vec<u8>, NpyError> {
    let mut read = Vec::new();
    reader.take(limit).read_to_end(&mut read)?;
    Ok(read)
}

fn read_array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], NpyError> {
    read_up_to(reader, N as u64)?.try_into().map_err(|_| NpyError::HeaderTruncated)
}
