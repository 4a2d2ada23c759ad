//! The header of an `.npy` file.

use crate::descr::Descr;
use crate::error::NpyError;
use crate::literal::Literals;
use std::io::{Read, Write};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read or written. NumPy itself refuses more than 10 000 bytes unless
/// it is told to trust the file.
const LONGEST: u64 = 1 << 20;

/// The most dimensions that are read or written. NumPy stops at 64.
pub(crate) const MOST_DIMENSIONS: usize = 1024;

/// The data begins at a multiple of this, so that it can be mapped.
const ALIGNMENT: usize = 64;

/// NumPy leaves room for the size of the dimension that a file can grow in to become this long.
const GROWTH_DIGITS: usize = 21;

/// The header of an `.npy` file: all there is to know about its array but the elements.
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
    /// The type of the elements.
    pub descr: Descr,
    /// The first index moves fastest, rather than the last.
    pub fortran_order: bool,
    /// The sizes of the dimensions.
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads a header, of any version. The reader then stands at the first byte of the data.
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
    /// Where the file does not begin with a header that is right in every respect.
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
        if length > LONGEST {
            return Err(NpyError::HeaderTooLong { bytes: length, limit: LONGEST });
        }
        let bytes = read_up_to(reader, length)?;
        if bytes.len() as u64 != length {
            return Err(NpyError::HeaderTruncated);
        }
        if major < 3 {
            // NumPy puts field names beyond ASCII into the older versions as Latin-1.
            return Header::parse(&bytes.iter().map(|&byte| char::from(byte)).collect::<String>());
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Header::parse(text),
            Err(error) => Err(NpyError::Encoding { at: error.valid_up_to() }),
        }
    }

    /// Reads the dictionary that is the text of a header.
    fn parse(text: &str) -> Result<Header, NpyError> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut literals = Literals::new(text);
        literals.expect('{')?;
        literals.items('}', |literals| {
            let key = literals.string()?;
            literals.expect(':')?;
            let again = match key.as_str() {
                "descr" => descr.replace(Descr::read(literals)?).map(|_| "descr"),
                "fortran_order" => fortran_order.replace(literals.boolean()?).map(|_| "fortran_order"),
                "shape" => shape.replace(read_shape(literals)?).map(|_| "shape"),
                _ => return Err(NpyError::UnknownKey(key)),
            };
            again.map_or(Ok(()), |key| Err(NpyError::DuplicateKey(key)))
        })?;
        literals.end()?;
        Ok(Header {
            descr: descr.ok_or(NpyError::MissingKey("descr"))?,
            fortran_order: fortran_order.ok_or(NpyError::MissingKey("fortran_order"))?,
            shape: shape.ok_or(NpyError::MissingKey("shape"))?,
        })
    }

    /// Writes the header as NumPy does, to the byte, in the oldest version of the format that can
    /// hold it. (Field names beyond ASCII are an exception: NumPy puts some of them into the older
    /// versions, as Latin-1; here they make it version 3.0.)
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
    /// Where the writer fails, or [`Header::read`] would refuse the header for its length or its rank.
    pub fn write(&self, writer: &mut impl Write) -> Result<(), NpyError> {
        Ok(writer.write_all(&self.encode()?)?)
    }

    /// The bytes from the start of the file to the data.
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
    /// Where [`Header::read`] would refuse the header for its length or its rank.
    pub fn encoded_len(&self) -> Result<u64, NpyError> {
        Ok(self.encode()?.len() as u64)
    }

    fn encode(&self) -> Result<Vec<u8>, NpyError> {
        let too_long = |bytes: usize| NpyError::HeaderTooLong { bytes: bytes as u64, limit: LONGEST };
        if self.shape.len() > MOST_DIMENSIONS {
            return Err(NpyError::TooManyDimensions { limit: MOST_DIMENSIONS });
        }
        let order = if self.fortran_order { "True" } else { "False" };
        let shape = shape_tuple(&self.shape);
        let mut text = format!("{{'descr': {}, 'fortran_order': {order}, 'shape': {shape}, }}", self.descr);
        let grows = if self.fortran_order { self.shape.last() } else { self.shape.first() };
        if let Some(size) = grows {
            text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(size.to_string().len())));
        }
        // Where nothing is to be padded, NumPy pads a whole line: hence no `next_multiple_of`.
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
        if length as u64 > LONGEST {
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
    /// Where it does not fit a `usize`.
    pub fn element_count(&self) -> Result<usize, NpyError> {
        unishape_core::element_count(&self.shape).map_err(|_| self.too_large())
    }

    /// The bytes of one element.
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

    /// The bytes of all elements.
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
    /// Where they cannot be counted.
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

/// A shape as Python writes it: `()`, `(3,)`, `(3, 4)`.
fn shape_tuple(shape: &[usize]) -> String {
    match shape {
        [size] => format!("({size},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn read_shape(literals: &mut Literals<'_>) -> Result<Vec<usize>, NpyError> {
    if !literals.take('(') {
        return Err(literals.unexpected("a tuple of sizes, as in (3, 4),"));
    }
    let (shape, comma) = literals.sizes(')', MOST_DIMENSIONS)?;
    if shape.len() == 1 && !comma {
        return Err(literals.error(format!("({}) is no tuple; write ({},)", shape[0], shape[0])));
    }
    Ok(shape)
}

/// So many bytes, or as many as there are; memory is taken as they come.
fn read_up_to(reader: &mut impl Read, bytes: u64) -> Result<Vec<u8>, NpyError> {
    let mut read = Vec::new();
    reader.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}

fn read_array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], NpyError> {
    read_up_to(reader, N as u64)?.try_into().map_err(|_| NpyError::HeaderTruncated)
}
