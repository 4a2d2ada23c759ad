//! C types and literals of dtypes.

use unishape_kernels::DType;

/// The C type in which values of a dtype are computed.
pub(crate) fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 | DType::Bool => "u8",
        // Bits: only casts and selections take them.
        DType::U16 | DType::F16 | DType::BF16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::C64 => "c64",
        DType::C128 => "c128",
        // Expressions of strings are refused before there are stages.
        DType::Str => "void",
    }
}

/// The C type of the bits of an element of this many bytes.
pub(crate) fn raw_type(item: usize) -> &'static str {
    match item {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        _ => "bits128",
    }
}

/// A C expression of these bytes as a value of a dtype.
pub(crate) fn literal(bytes: &[u8], dtype: DType) -> String {
    let word = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        format!("0x{:x}ull", u64::from_le_bytes(all))
    };
    match bytes.len() {
        16 => format!("as<{}>(bits128{{{}, {}}})", c_type(dtype), word(&bytes[..8]), word(&bytes[8..])),
        item => format!("as<{}>(({}){})", c_type(dtype), raw_type(item), word(bytes)),
    }
}
