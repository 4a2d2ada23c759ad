//! NumPy's descriptions of element types.

use crate::error::NpyError;
use crate::header::MOST_DIMENSIONS;
use crate::literal::Literals;
use std::fmt;
use unishape::DType;
use unishape_core::element_count;

/// NumPy's description of an element type: its text as the header of a file has it, kept to the
/// letter, and the size it gives an element.
///
/// Types that no [`DType`] is (structures, dates, long doubles, opaque bytes) have a size and so can
/// be copied. Python objects are refused.
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
    simple: Simple,
}

/// What a description says about the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Simple {
    code: Code,
    item_size: usize,
    big_endian: bool,
}

/// How the bytes of an element are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// As a number or a `bool`.
    Scalar(DType),
    /// As code points of four bytes, NULs after them.
    Unicode,
    /// As UTF-8, NULs after it.
    Bytes,
    /// Not at all.
    Opaque,
}

impl Descr {
    /// Reads a description as it stands in a header: a type in quotes, or a list of fields.
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
    /// Where the text is no description, its type is not known, or it holds Python objects.
    pub fn parse(text: &str) -> Result<Descr, NpyError> {
        let mut literals = Literals::new(text);
        let descr = Descr::read(&mut literals)?;
        literals.end()?;
        Ok(descr)
    }

    pub(crate) fn read(literals: &mut Literals<'_>) -> Result<Descr, NpyError> {
        let (simple, text) = literals.verbatim(any_type)?;
        Ok(Descr { text: text.into(), simple })
    }

    /// The description that elements of a type are written with: little-endian, strings of one
    /// character (for longer ones see [`Descr::unicode`]), and `bfloat16` as the `<V2` that
    /// NumPy makes of it.
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
        let reading = if dtype == DType::Str { Code::Unicode } else { Code::Scalar(dtype) };
        let simple = Simple { code: reading, item_size, big_endian: false };
        Descr { text: format!("'{code}'"), simple }
    }

    /// The description of strings of up to so many characters.
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
    /// Where the bytes of such a string cannot be counted.
    pub fn unicode(characters: usize) -> Result<Descr, NpyError> {
        Descr::parse(&format!("'<U{characters}'"))
    }

    /// The description as a header has it.
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

    /// The bytes of one element.
    ///
    /// ```
    /// use unishape_npy::Descr;
    ///
    /// assert_eq!(Descr::parse("'<c16'")?.item_size(), 16);
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    pub fn item_size(&self) -> usize {
        self.simple.item_size
    }

    /// The element type of the tensor that such elements are read into, if there is one.
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
        match self.simple.code {
            Code::Scalar(dtype) => Some(dtype),
            Code::Unicode | Code::Bytes => Some(DType::Str),
            Code::Opaque => None,
        }
    }

    pub(crate) fn code(&self) -> Code {
        self.simple.code
    }

    pub(crate) fn big_endian(&self) -> bool {
        self.simple.big_endian
    }
}

impl fmt::Display for Descr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Bytes that are only counted.
fn opaque(item_size: usize) -> Simple {
    Simple { code: Code::Opaque, item_size, big_endian: false }
}

/// A type: `'<f4'`, `[field, …]`, or `(type, shape)`.
fn any_type(literals: &mut Literals<'_>) -> Result<Simple, NpyError> {
    if literals.take('[') {
        let mut size = 0usize;
        literals.items(']', |literals| {
            let field = field(literals)?;
            size = size.checked_add(field).ok_or_else(|| literals.error(TOO_LARGE))?;
            Ok(())
        })?;
        Ok(opaque(size))
    } else if literals.take('(') {
        let (mut parts, mut size) = (0, 0);
        let comma = literals.items(')', |literals| {
            match parts {
                0 => size = any_type(literals)?.item_size,
                1 => size = times_shape(literals, size)?,
                _ => return Err(literals.error("')' is expected after a type and its shape")),
            }
            parts += 1;
            Ok(())
        })?;
        if parts == 2 && comma { Ok(opaque(size)) } else { Err(literals.error(NO_TYPE)) }
    } else if matches!(literals.peek(), Some('\'' | '"' | 'u' | 'U')) {
        simple_type(&literals.string()?)
    } else {
        Err(literals.unexpected("an element type: a string like '<f8' or a list of fields"))
    }
}

const TOO_LARGE: &str = "the element is larger than this machine can count";
const NO_TYPE: &str = "before this there should be a type and its shape";

/// A field: `(name, type)` or `(name, type, shape)`; gives its size.
fn field(literals: &mut Literals<'_>) -> Result<usize, NpyError> {
    literals.expect('(')?;
    let (mut parts, mut size) = (0, 0);
    literals.items(')', |literals| {
        match parts {
            0 => field_name(literals)?,
            1 => size = any_type(literals)?.item_size,
            2 => size = times_shape(literals, size)?,
            _ => return Err(literals.error("')' is expected after a field's name, type and shape")),
        }
        parts += 1;
        Ok(())
    })?;
    if parts >= 2 { Ok(size) } else { Err(literals.error("before this there should be a name and a type")) }
}

/// A field's name: `'x'`, or `('title', 'x')`.
fn field_name(literals: &mut Literals<'_>) -> Result<(), NpyError> {
    if !literals.take('(') {
        return literals.string().map(drop);
    }
    let mut parts = 0;
    literals.items(')', |literals| {
        parts += 1;
        literals.string().map(drop)
    })?;
    if parts == 2 { Ok(()) } else { Err(literals.error("before this there should be a title and a name")) }
}

/// The size of a field with a shape of its own, `3` or `(3, 4)`.
fn times_shape(literals: &mut Literals<'_>, size: usize) -> Result<usize, NpyError> {
    let shape = if literals.take('(') {
        literals.sizes(')', MOST_DIMENSIONS)?.0
    } else if literals.take('[') {
        literals.sizes(']', MOST_DIMENSIONS)?.0
    } else {
        vec![literals.size()?]
    };
    let count = element_count(&shape).ok().and_then(|count| count.checked_mul(size));
    count.ok_or_else(|| literals.error(TOO_LARGE))
}

/// A type in quotes: byte order, kind, size.
fn simple_type(descr: &str) -> Result<Simple, NpyError> {
    let error = |problem: &str| NpyError::Descr { descr: format!("'{descr}'"), problem: problem.to_string() };
    let native = cfg!(target_endian = "big");
    let (big_endian, rest) = match descr.strip_prefix(['<', '>', '=', '|']) {
        Some(rest) => (if descr.starts_with(['=', '|']) { native } else { descr.starts_with('>') }, rest),
        None => (native, descr),
    };
    let mut rest = rest.chars();
    let kind = rest.next().ok_or_else(|| error("it is empty"))?;
    let (digits, unit) = match rest.as_str().split_once('[') {
        Some((digits, unit)) => (digits, Some(unit)),
        None => (rest.as_str(), None),
    };
    if kind == 'O' {
        return Err(NpyError::Objects);
    }
    if unit.is_some_and(|unit| !matches!(kind, 'M' | 'm') || !unit.ends_with(']')) {
        return Err(error("only dates and time spans (M8, m8) have a unit in brackets"));
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error("write a byte order, a kind and a size, as in '<f8'"));
    }
    let size: usize = digits.parse().map_err(|_| error(TOO_LARGE))?;
    let code = match (kind, size) {
        ('b', 1) => Code::Scalar(DType::Bool),
        ('f', 2) => Code::Scalar(DType::F16),
        ('f', 4) => Code::Scalar(DType::F32),
        ('f', 8) => Code::Scalar(DType::F64),
        ('i', 1) => Code::Scalar(DType::I8),
        ('i', 2) => Code::Scalar(DType::I16),
        ('i', 4) => Code::Scalar(DType::I32),
        ('i', 8) => Code::Scalar(DType::I64),
        ('u', 1) => Code::Scalar(DType::U8),
        ('u', 2) => Code::Scalar(DType::U16),
        ('u', 4) => Code::Scalar(DType::U32),
        ('u', 8) => Code::Scalar(DType::U64),
        ('c', 8) => Code::Scalar(DType::C64),
        ('c', 16) => Code::Scalar(DType::C128),
        ('U', _) => Code::Unicode,
        ('S' | 'a', _) => Code::Bytes,
        // What NumPy calls the bfloat16 of ml_dtypes.
        ('V', 2) => Code::Scalar(DType::BF16),
        // C's long double: its format depends on the machine, its size does not.
        ('f', 10 | 12 | 16) | ('c', 20 | 24 | 32) | ('V', _) | ('M' | 'm', 8) => Code::Opaque,
        ('b' | 'f' | 'i' | 'u' | 'c' | 'M' | 'm', _) => return Err(error("its kind has no such size")),
        _ => return Err(error("its kind is none of NumPy's")),
    };
    let per_unit = if code == Code::Unicode { 4 } else { 1 };
    let item_size = size.checked_mul(per_unit).ok_or_else(|| error(TOO_LARGE))?;
    Ok(Simple { code, item_size, big_endian })
}
