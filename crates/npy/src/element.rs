//! Elements decoded from and encoded to the bytes of a file.

use half::{bf16, f16};
use num_complex::Complex;

/// An element of fixed size for which all bytes are valid.
pub(crate) trait ElementCodec: Sized {
    /// Decodes the bytes of any number of elements and appends them.
    fn decode(bytes: &[u8], big_endian: bool, elements: &mut Vec<Self>);

    /// Appends the bytes of the element, little-endian.
    fn encode(&self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ident)+) => {$(
        impl ElementCodec for $type {
            fn decode(bytes: &[u8], big_endian: bool, elements: &mut Vec<Self>) {
                let (items, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                if big_endian {
                    elements.extend(items.iter().map(|item| $type::from_be_bytes(*item)));
                } else {
                    elements.extend(items.iter().map(|item| $type::from_le_bytes(*item)));
                }
            }

            fn encode(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )+};
}
numbers!(f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! complex_numbers {
    ($($part:ident)+) => {$(
        impl ElementCodec for Complex<$part> {
            fn decode(bytes: &[u8], big_endian: bool, elements: &mut Vec<Self>) {
                let (parts, _) = bytes.as_chunks::<{ size_of::<$part>() }>();
                let (items, _) = parts.as_chunks::<2>();
                if big_endian {
                    elements.extend(items.iter().map(|item| complex(item.map($part::from_be_bytes))));
                } else {
                    elements.extend(items.iter().map(|item| complex(item.map($part::from_le_bytes))));
                }
            }

            fn encode(&self, bytes: &mut Vec<u8>) {
                self.re.encode(bytes);
                self.im.encode(bytes);
            }
        }
    )+};
}
complex_numbers!(f32 f64);

fn complex<T>([re, im]: [T; 2]) -> Complex<T> {
    Complex { re, im }
}

/// Decodes booleans and appends them, up to the first invalid byte.
pub(crate) fn decode_bools(bytes: &[u8], bools: &mut Vec<bool>) -> Result<(), String> {
    for &byte in bytes {
        match byte {
            0 => bools.push(false),
            1 => bools.push(true),
            _ => return Err(format!("a bool is 0 or 1, not {byte}")),
        }
    }
    Ok(())
}

/// Decodes strings of code points and appends them, up to the first invalid one.
pub(crate) fn decode_unicode(
    bytes: &[u8],
    item_size: usize,
    big_endian: bool,
    strings: &mut Vec<String>,
) -> Result<(), String> {
    for item in bytes.chunks_exact(item_size) {
        let (points, _) = item.as_chunks::<4>();
        // NumPy pads with NULs, so NULs at the end of a string are indistinguishable from padding.
        let length = points.iter().rposition(|point| *point != [0; 4]).map_or(0, |last| last + 1);
        let decode = if big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        let characters = points[..length].iter().map(|point| {
            let point = decode(*point);
            char::from_u32(point).ok_or_else(|| format!("code point {point:#x} is not a Unicode character"))
        });
        strings.push(characters.collect::<Result<_, _>>()?);
    }
    Ok(())
}

/// Decodes UTF-8 strings and appends them, up to the first invalid one.
pub(crate) fn decode_utf8(bytes: &[u8], item_size: usize, strings: &mut Vec<String>) -> Result<(), String> {
    for item in bytes.chunks_exact(item_size) {
        let length = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        match std::str::from_utf8(&item[..length]) {
            Ok(string) => strings.push(string.into()),
            Err(error) => {
                return Err(format!("invalid UTF-8 from byte {}", error.valid_up_to()));
            }
        }
    }
    Ok(())
}

/// Appends the string's code points, padded with NULs to the size of an item.
pub(crate) fn encode_unicode(string: &str, item_size: usize, bytes: &mut Vec<u8>) {
    let end = bytes.len() + item_size;
    for character in string.chars() {
        bytes.extend_from_slice(&u32::from(character).to_le_bytes());
    }
    bytes.resize(end, 0);
}
