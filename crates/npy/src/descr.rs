//! NumPy's descriptions of dtypes.

use crate::error::NpyError;
use crate::python_literal::{LiteralParser, MAX_NPY_RANK};
use std::fmt;
use unishape::DType;
use unishape_core::element_count;

/// NumPy's description of a dtype, such as `'<f8'`, and the size of an element.
///
/// The text of the description is kept verbatim.
/// Elements of a dtype without a [`DType`] (structures, dates, long doubles, opaque bytes) can be copied, since
/// their size is known. Python objects are an error.
///
/// ```
/// use unishape::DType;
/// use unishape_npy::Descr;
///
/// let float = Descr::parse("'>f4'")?;
/// assert_eq!((float.text(), float.item_size(), float.dtype()), ("'>f4'", 4, Some(DType::F32)));
///
/// let structure = Descr::parse("[('x', '<f4'), ('y', '<i2', (3,)), ('', '|V2')]")?;
/// assert_eq!((structure.item_size(), structure.dtype()), (12, None));
/// # Ok::<(), unishape_npy::NpyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Descr {
    text: String,
    format: ElementFormat,
}

/// Format of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ElementFormat {
    kind: ElementKind,
    item_size: usize,
    big_endian: bool,
}

/// How to decode the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ElementKind {
    /// A number or a `bool`.
    Scalar(DType),
    /// Code points of four bytes each, padded with NULs.
    Unicode,
    /// UTF-8, padded with NULs.
    Bytes,
    /// Cannot be decoded, only copied.
    Opaque,
}

impl Descr {
    /// Parses a description in a header's syntax: a quoted type, or a list of fields.
    ///
    /// ```
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::parse("'<U5'")?.item_size(), 20);
    /// assert!(Descr::parse("'|O'").unwrap_err().to_string().contains("pickled Python objects"));
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is not a description, its type is unknown, or it contains Python objects.
    pub fn parse(text: &str) -> Result<Descr, NpyError> {
        let mut parser = LiteralParser::new(text);
        let descr = Descr::read(&mut parser)?;
        parser.end()?;
        Ok(descr)
    }

    pub(crate) fn read(parser: &mut LiteralParser<'_>) -> Result<Descr, NpyError> {
        let (format, text) = parser.verbatim(any_type)?;
        Ok(Descr { text: text.into(), format })
    }

    /// The description that a dtype is written with, little-endian.
    ///
    /// Strings have one character (see [`Descr::unicode`] for longer ones); `bfloat16` is `<V2`, as NumPy
    /// writes it.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::of(DType::F64).text(), "'<f8'");
    /// assert_eq!(Descr::of(DType::BF16).text(), "'<V2'");
    /// ```
    pub fn of(dtype: DType) -> Descr {
        let (code, item_size) = match dtype {
            DType::F16 => ("<f2", 2),
            DType::BF16 => ("<V2", 2),
            DType::F32 => ("<f4", 4),
            DType::F64 => ("<f8", 8),
            DType::I8 => ("|i1", 1),
            DType::I16 => ("<i2", 2),
            DType::I32 => ("<i4", 4),
            DType::I64 => ("<i8", 8),
            DType::U8 => ("|u1", 1),
            DType::U16 => ("<u2", 2),
            DType::U32 => ("<u4", 4),
            DType::U64 => ("<u8", 8),
            DType::Bool => ("|b1", 1),
            DType::Str => ("<U1", 4),
            DType::C64 => ("<c8", 8),
            DType::C128 => ("<c16", 16),
        };
        let kind = if dtype == DType::Str { ElementKind::Unicode } else { ElementKind::Scalar(dtype) };
        let format = ElementFormat { kind, item_size, big_endian: false };
        Descr { text: format!("'{code}'"), format }
    }

    /// The description of strings of at most `characters` characters.
    ///
    /// ```
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::unicode(5)?.text(), "'<U5'");
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The size of a string in bytes overflows `usize`.
    pub fn unicode(characters: usize) -> Result<Descr, NpyError> {
        Descr::parse(&format!("'<U{characters}'"))
    }

    /// The text of the description, verbatim.
    ///
    /// ```
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::parse(" [ ('t','<M8[ns]') ]")?.text(), "[ ('t','<M8[ns]') ]");
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Size of an element, in bytes.
    ///
    /// ```
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::parse("'<c16'")?.item_size(), 16);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    pub fn item_size(&self) -> usize {
        self.format.item_size
    }

    /// The dtype that the elements are read as; `None` if they can only be copied.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::parse("'|S3'")?.dtype(), Some(DType::Str));
    /// assert_eq!(Descr::parse("'<f16'")?.dtype(), None);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    pub fn dtype(&self) -> Option<DType> {
        match self.format.kind {
            ElementKind::Scalar(dtype) => Some(dtype),
            ElementKind::Unicode | ElementKind::Bytes => Some(DType::Str),
            ElementKind::Opaque => None,
        }
    }

    pub(crate) fn kind(&self) -> ElementKind {
        self.format.kind
    }

    pub(crate) fn big_endian(&self) -> bool {
        self.format.big_endian
    }

    /// Whether elements have the byte order of this machine. A single byte has every order.
    pub(crate) fn is_native(&self) -> bool {
        self.format.item_size == 1 || self.format.big_endian == cfg!(target_endian = "big")
    }
}

impl fmt::Display for Descr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The format of elements that are only copied.
fn opaque(item_size: usize) -> ElementFormat {
    ElementFormat { kind: ElementKind::Opaque, item_size, big_endian: false }
}

/// Parses a type: `'<f4'`, `[field, …]`, or `(type, shape)`.
fn any_type(parser: &mut LiteralParser<'_>) -> Result<ElementFormat, NpyError> {
    if parser.take('[') {
        let mut size = 0usize;
        parser.items(']', |parser| {
            let field = field(parser)?;
            size = size.checked_add(field).ok_or_else(|| parser.error(TOO_LARGE))?;
            Ok(())
        })?;
        Ok(opaque(size))
    } else if parser.take('(') {
        let (mut items, mut size) = (0, 0);
        let comma = parser.items(')', |parser| {
            match items {
                0 => size = any_type(parser)?.item_size,
                1 => size = times_shape(parser, size)?,
                _ => return Err(parser.error("')' is expected after a type and its shape")),
            }
            items += 1;
            Ok(())
        })?;
        if items == 2 && comma { Ok(opaque(size)) } else { Err(parser.error(MISSING_TYPE)) }
    } else if matches!(parser.peek(), Some('\'' | '"' | 'u' | 'U')) {
        simple_type(&parser.string()?)
    } else {
        Err(parser.unexpected("a dtype: a string like '<f8' or a list of fields"))
    }
}

const TOO_LARGE: &str = "the element is larger than this machine can address";
const MISSING_TYPE: &str = "a type and its shape are expected before this";

/// Size in bytes of a field, `(name, type)` or `(name, type, shape)`.
fn field(parser: &mut LiteralParser<'_>) -> Result<usize, NpyError> {
    parser.expect('(')?;
    let (mut items, mut size) = (0, 0);
    parser.items(')', |parser| {
        match items {
            0 => field_name(parser)?,
            1 => size = any_type(parser)?.item_size,
            2 => size = times_shape(parser, size)?,
            _ => return Err(parser.error("')' is expected after a field's name, type and shape")),
        }
        items += 1;
        Ok(())
    })?;
    if items >= 2 { Ok(size) } else { Err(parser.error("a name and a type are expected before this")) }
}

/// Parses a field's name: `'x'`, or `('title', 'x')`.
fn field_name(parser: &mut LiteralParser<'_>) -> Result<(), NpyError> {
    if !parser.take('(') {
        return parser.string().map(drop);
    }
    let mut items = 0;
    parser.items(')', |parser| {
        items += 1;
        parser.string().map(drop)
    })?;
    if items == 2 { Ok(()) } else { Err(parser.error("a title and a name are expected before this")) }
}

/// Size in bytes of a field with a shape, `3` or `(3, 4)`.
fn times_shape(parser: &mut LiteralParser<'_>, size: usize) -> Result<usize, NpyError> {
    let shape = if parser.take('(') {
        parser.sizes(')', MAX_NPY_RANK)?.0
    } else if parser.take('[') {
        parser.sizes(']', MAX_NPY_RANK)?.0
    } else {
        vec![parser.size()?]
    };
    let count = element_count(&shape).ok().and_then(|count| count.checked_mul(size));
    count.ok_or_else(|| parser.error(TOO_LARGE))
}

/// Parses a quoted type: byte order, kind, size.
fn simple_type(descr: &str) -> Result<ElementFormat, NpyError> {
    let error = |problem: &str| NpyError::Descr { descr: format!("'{descr}'"), problem: problem.to_string() };
    let native = cfg!(target_endian = "big");
    let (big_endian, rest) = match descr.strip_prefix(['<', '>', '=', '|']) {
        Some(rest) => (if descr.starts_with(['=', '|']) { native } else { descr.starts_with('>') }, rest),
        None => (native, descr),
    };
    let mut rest = rest.chars();
    let letter = rest.next().ok_or_else(|| error("it is empty"))?;
    let (digits, unit) = match rest.as_str().split_once('[') {
        Some((digits, unit)) => (digits, Some(unit)),
        None => (rest.as_str(), None),
    };
    if letter == 'O' {
        return Err(NpyError::Objects);
    }
    if unit.is_some_and(|unit| !matches!(letter, 'M' | 'm') || !unit.ends_with(']')) {
        return Err(error("only dates and time spans (M8, m8) have a unit in brackets"));
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error("write a byte order, a kind and a size, as in '<f8'"));
    }
    let size: usize = digits.parse().map_err(|_| error(TOO_LARGE))?;
    let kind = match (letter, size) {
        ('b', 1) => ElementKind::Scalar(DType::Bool),
        ('f', 2) => ElementKind::Scalar(DType::F16),
        ('f', 4) => ElementKind::Scalar(DType::F32),
        ('f', 8) => ElementKind::Scalar(DType::F64),
        ('i', 1) => ElementKind::Scalar(DType::I8),
        ('i', 2) => ElementKind::Scalar(DType::I16),
        ('i', 4) => ElementKind::Scalar(DType::I32),
        ('i', 8) => ElementKind::Scalar(DType::I64),
        ('u', 1) => ElementKind::Scalar(DType::U8),
        ('u', 2) => ElementKind::Scalar(DType::U16),
        ('u', 4) => ElementKind::Scalar(DType::U32),
        ('u', 8) => ElementKind::Scalar(DType::U64),
        ('c', 8) => ElementKind::Scalar(DType::C64),
        ('c', 16) => ElementKind::Scalar(DType::C128),
        ('U', _) => ElementKind::Unicode,
        ('S' | 'a', _) => ElementKind::Bytes,
        // NumPy's name for the bfloat16 of ml_dtypes.
        ('V', 2) => ElementKind::Scalar(DType::BF16),
        // C's long double: its format depends on the machine.
        ('f', 10 | 12 | 16) | ('c', 20 | 24 | 32) | ('V', _) | ('M' | 'm', 8) => ElementKind::Opaque,
        ('b' | 'f' | 'i' | 'u' | 'c' | 'M' | 'm', _) => {
            return Err(error("NumPy has no such size of this kind"));
        }
        _ => return Err(error("NumPy has no such kind")),
    };
    let per_unit = if kind == ElementKind::Unicode { 4 } else { 1 };
    let item_size = size.checked_mul(per_unit).ok_or_else(|| error(TOO_LARGE))?;
    // A single byte has no order. bfloat16 without one was written by NumPy on a little-endian machine, as nearly all are.
    let big_endian = big_endian && item_size > 1 && !descr.starts_with("|V");
    Ok(ElementFormat { kind, item_size, big_endian })
}
