//! Dtype, shape and offset of raw elements: `float32:3x4@128`.

use unishape::DType;
use unishape::Extent;
use unishape::notation::parse_shape;
use unishape::text::truncate;
use unishape_npy::{Descr, Header};

/// The description of a file of raw elements.
///
/// `DTYPE:SHAPE` or `DTYPE:SHAPE@OFFSET`.
///
/// The dtype is a name (`float32`, little-endian) or NumPy's code (`>f4` for big-endian). One size of the shape
/// may be `?`; it follows from the length of the file.
///
/// ```
/// use unishape_files::RawDescription;
///
/// let description = RawDescription::parse("float32", "?x4@8")?;
/// assert_eq!(description.header(8 + 48)?.shape, [3, 4]);
/// assert_eq!(description.offset(), 8);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawDescription {
    descr: Descr,
    shape: Vec<Extent>,
    offset: u64,
}

impl RawDescription {
    /// Parses a dtype, and a shape with an optional offset.
    ///
    /// ```
    /// use unishape_files::RawDescription;
    ///
    /// assert_eq!(RawDescription::parse(">i2", "5")?.header(10)?.descr.text(), "'>i2'");
    /// assert!(RawDescription::parse("int7", "5").is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A message that names the invalid part.
    pub fn parse(dtype: &str, shape: &str) -> Result<RawDescription, String> {
        let descr = parse_dtype(dtype).ok_or_else(|| {
            let dtype = truncate(dtype, 40);
            format!("'{dtype}' is no dtype; write a name like float32 or NumPy's code like >f4")
        })?;
        let (shape, offset) = match shape.split_once('@') {
            Some((shape, offset)) => {
                let number = offset.trim().parse();
                let error = |_| format!("'{}' is no offset in bytes", truncate(offset, 40));
                (shape, number.map_err(error)?)
            }
            None => (shape, 0),
        };
        let shape = parse_shape(shape).map_err(|error| error.to_string())?;
        if shape.iter().filter(|size| !matches!(size, Extent::Known(_))).count() > 1 {
            return Err("only one size of a raw file can be unknown".into());
        }
        Ok(RawDescription { descr, shape, offset })
    }

    /// Whether a text is a dtype, so that a path before it ends there.
    pub(crate) fn is_dtype(text: &str) -> bool {
        parse_dtype(text).is_some()
    }

    /// Offset of the first element, in bytes.
    ///
    /// ```
    /// # use unishape_files::RawDescription;
    /// assert_eq!(RawDescription::parse("uint8", "2@100")?.offset(), 100);
    /// # Ok::<(), String>(())
    /// ```
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The header of an array in a file of this many bytes.
    ///
    /// ```
    /// # use unishape_files::RawDescription;
    /// let description = RawDescription::parse("int16", "?x3")?;
    /// assert_eq!(description.header(12)?.shape, [2, 3]);
    /// assert!(description.header(13).is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The unknown size does not follow from the length, or the elements do not fit into the file.
    pub fn header(&self, file_bytes: u64) -> Result<Header, String> {
        let item = self.descr.item_size() as u64;
        let available = file_bytes.checked_sub(self.offset).ok_or_else(|| {
            format!("the offset {} is beyond the end of the file, which has {file_bytes} bytes", self.offset)
        })?;
        let known = self.shape.iter().try_fold(item, |bytes, size| match size {
            Extent::Known(size) => bytes.checked_mul(*size as u64),
            Extent::Unknown | Extent::Positive => Some(bytes),
        });
        let known = known.ok_or("the shape has more bytes than this machine can address")?;
        let is_open = self.shape.iter().any(|size| !matches!(size, Extent::Known(_)));
        let unknown = match is_open {
            false => 0,
            true if known == 0 => return Err("the unknown size is ambiguous: another size is 0".into()),
            true if available % known != 0 => {
                return Err(format!("{available} bytes are not a multiple of {known} bytes; give all sizes"));
            }
            true => usize::try_from(available / known).map_err(|_| "the file is too large")?,
        };
        let needed = if is_open { available } else { known };
        if needed > available {
            return Err(format!("the shape needs {needed} bytes, the file has {available}"));
        }
        let size = |extent: &Extent| match extent {
            Extent::Known(size) => *size,
            Extent::Unknown | Extent::Positive => unknown,
        };
        let shape = self.shape.iter().map(size).collect();
        Ok(Header { descr: self.descr.clone(), fortran_order: false, shape })
    }
}

fn parse_dtype(text: &str) -> Option<Descr> {
    if let Some(dtype) = DType::from_name(text).filter(|dtype| *dtype != DType::Str) {
        return Some(Descr::of(dtype));
    }
    let is_code = |text: &str| {
        let code = text.strip_prefix(['<', '>', '=', '|']).unwrap_or(text);
        let mut rest = code.chars();
        rest.next().is_some_and(|kind| "fiucbVUSMm".contains(kind)) && rest.as_str().parse::<u32>().is_ok()
    };
    is_code(text).then(|| Descr::parse(&format!("'{text}'")).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::RawDescription;
    use unishape_npy::Descr;

    #[test]
    fn descriptions_that_do_not_fit_the_file_are_errors() {
        let header = |shape: &str, bytes: u64| RawDescription::parse("float32", shape)?.header(bytes);
        assert!(header("3", 11).is_err_and(|error| error.contains("needs 12 bytes, the file has 11")));
        assert!(header("3@4", 12).is_err());
        assert!(header("1@20", 12).is_err_and(|error| error.contains("beyond the end")));
        assert!(header("0x?", 12).is_err_and(|error| error.contains("ambiguous")));
        assert!(header("9999999999999x9999999999", 12).is_err());
        assert_eq!(header("?", 0).map(|header| header.shape), Ok(vec![0]));
        assert_eq!(header("()", 4).map(|header| header.shape), Ok(vec![]));
    }

    #[test]
    fn one_unknown_size_follows_from_the_length() {
        let shape = |dtype, shape, bytes| {
            RawDescription::parse(dtype, shape)?.header(bytes).map(|header| header.shape)
        };
        assert_eq!(shape("int16", "?x3", 12), Ok(vec![2, 3]));
        assert_eq!(shape("int16", "3x?@4", 4 + 30), Ok(vec![3, 5]));
        assert_eq!(shape("uint8", "2x3", 6), Ok(vec![2, 3]));
        // A file may be longer, unless a size follows from its length.
        assert_eq!(shape("uint8", "2x3", 7), Ok(vec![2, 3]));
        let problem = "13 bytes are not a multiple of 6 bytes; give all sizes";
        assert_eq!(shape("int16", "?x3", 13), Err(problem.into()));
        assert_eq!(RawDescription::parse("uint8", "2@100").map(|raw| raw.offset()), Ok(100));
        assert_eq!(RawDescription::parse("uint8", "2").map(|raw| raw.offset()), Ok(0));
    }

    #[test]
    fn dtypes_are_names_or_codes_of_numpy() {
        for (text, descr) in
            [("float32", "'<f4'"), ("f4", "'f4'"), (">i2", "'>i2'"), ("bool", "'|b1'"), ("|u1", "'|u1'")]
        {
            let header = RawDescription::parse(text, "1").expect(text).header(8).expect(text);
            assert_eq!(header.descr.item_size(), Descr::parse(descr).expect(descr).item_size(), "{text}");
            assert!(RawDescription::is_dtype(text), "{text}");
        }
        for text in ["str", "f", "4", "x4", "fx", "", "O8", "a5"] {
            assert!(!RawDescription::is_dtype(text), "{text}");
        }
    }

    #[test]
    fn invalid_descriptions_name_the_part() {
        for (dtype, shape, problem) in [
            ("float33", "3", "'float33' is no dtype"),
            ("str", "3", "is no dtype"),
            ("O8", "3", "is no dtype"),
            ("<f4", "3y", "'3y' is no s"),
            ("f4", "?x?", "only one size"),
            ("f4", "3@x", "'x' is no offset"),
            ("f4", "3@-1", "'-1' is no offset"),
        ] {
            let error = RawDescription::parse(dtype, shape).expect_err(dtype);
            assert!(error.contains(problem), "{error}");
        }
    }
}
