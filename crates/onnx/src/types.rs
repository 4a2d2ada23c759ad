//! Element types by the numbers that ONNX gives them.

use std::fmt;
use unishape::DType;

/// An element type as ONNX numbers them: those that are computed with, and those that are only handed on.
///
/// ```
/// use unishape::DType;
/// use unishape_onnx::ElemType;
///
/// assert_eq!(ElemType::of(DType::BF16).number(), 16);
/// assert_eq!(ElemType::new(1).dtype(), Some(DType::F32));
/// assert_eq!((ElemType::new(17).to_string(), ElemType::new(17).dtype()), ("float8e4m3fn".into(), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElemType(i32);

/// What ONNX calls the types, by number.
const NAMES: [&str; 29] = [
    "undefined",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
    "float6e2m3",
    "float6e3m2",
];

/// Those that are computed with, at their numbers less 1.
const DTYPES: [DType; 16] = [
    DType::F32,
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::Str,
    DType::Bool,
    DType::F16,
    DType::F64,
    DType::U32,
    DType::U64,
    DType::C64,
    DType::C128,
    DType::BF16,
];

impl ElemType {
    /// The one with this number, whether or not there is such a type.
    ///
    /// ```
    /// assert_eq!(unishape_onnx::ElemType::new(7).to_string(), "int64");
    /// ```
    pub fn new(number: i32) -> ElemType {
        ElemType(number)
    }

    /// The number of a type of ours.
    ///
    /// ```
    /// use unishape_onnx::ElemType;
    ///
    /// assert_eq!(ElemType::of(unishape::DType::F32).number(), 1);
    /// ```
    pub fn of(dtype: DType) -> ElemType {
        let at = DTYPES.iter().position(|&one| one == dtype).unwrap_or(0);
        ElemType(at as i32 + 1)
    }

    /// Its number.
    ///
    /// ```
    /// assert_eq!(unishape_onnx::ElemType::new(7).number(), 7);
    /// ```
    pub fn number(self) -> i32 {
        self.0
    }

    /// The type of ours, if it is one that is computed with.
    ///
    /// ```
    /// use unishape_onnx::ElemType;
    ///
    /// assert_eq!(ElemType::new(10).dtype(), Some(unishape::DType::F16));
    /// assert_eq!(ElemType::new(22).dtype(), None);
    /// ```
    pub fn dtype(self) -> Option<DType> {
        let at = usize::try_from(self.0).ok()?.checked_sub(1)?;
        DTYPES.get(at).copied()
    }
}

/// What ONNX calls it.
impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0).ok().and_then(|at| NAMES.get(at)) {
            Some(name) => f.pad(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

/// A set of the types that are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u32);

impl Types {
    pub(crate) const fn of(dtype: DType) -> Types {
        Types(1 << dtype as u32)
    }

    pub(crate) const fn and(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(crate) const fn has(self, dtype: DType) -> bool {
        self.0 & 1 << dtype as u32 != 0
    }

    /// Those in it, by their numbers.
    pub(crate) fn iter(self) -> impl Iterator<Item = ElemType> {
        let all = (1..=DTYPES.len() as i32).map(ElemType::new);
        all.filter(move |elem| elem.dtype().is_some_and(|dtype| self.has(dtype)))
    }

    /// float16, float and double: those that operators had first.
    pub(crate) const FLOATS: Types =
        Types::of(DType::F16).and(Types::of(DType::F32)).and(Types::of(DType::F64));
    /// And bfloat16.
    pub(crate) const ALL_FLOATS: Types = Types::FLOATS.and(Types::of(DType::BF16));
    pub(crate) const SIGNED: Types =
        Types::of(DType::I8).and(Types::of(DType::I16)).and(Types::of(DType::I32)).and(Types::of(DType::I64));
    pub(crate) const UNSIGNED: Types =
        Types::of(DType::U8).and(Types::of(DType::U16)).and(Types::of(DType::U32)).and(Types::of(DType::U64));
    pub(crate) const INTEGERS: Types = Types::SIGNED.and(Types::UNSIGNED);
    pub(crate) const BOOL: Types = Types::of(DType::Bool);
    pub(crate) const STRING: Types = Types::of(DType::Str);
    pub(crate) const WIDE: Types = Types::of(DType::I32).and(Types::of(DType::I64));
    pub(crate) const WIDE_INTEGERS: Types = Types::WIDE.and(Types::of(DType::U32)).and(Types::of(DType::U64));
    pub(crate) const ALL: Types = Types(u16::MAX as u32);
    /// All but bfloat16, which came later.
    pub(crate) const BEFORE_BFLOAT16: Types = Types(u16::MAX as u32 & !(1 << DType::BF16 as u32));
    /// Numbers that are not complex.
    pub(crate) const REAL: Types = Types::ALL_FLOATS.and(Types::INTEGERS);
    pub(crate) const REAL_BEFORE_BFLOAT16: Types = Types::FLOATS.and(Types::INTEGERS);
}

/// `float16, float or double`.
impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|elem| elem.to_string()).collect();
        match names.split_last() {
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
            None => f.write_str("nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_number() {
        for &dtype in DType::ALL {
            assert_eq!(ElemType::of(dtype).dtype(), Some(dtype));
        }
        for number in [i32::MIN, -1, 0, 17, 28, 29, i32::MAX] {
            assert_eq!(ElemType::new(number).dtype(), None, "{number}");
        }
        assert_eq!(ElemType::new(28).to_string(), "float6e3m2");
        assert_eq!(ElemType::new(-3).to_string(), "type -3");
    }

    #[test]
    fn sets_are_told_in_words() {
        assert_eq!(Types::FLOATS.to_string(), "float, float16 or double");
        assert_eq!(Types::BOOL.to_string(), "bool");
        assert!(DType::ALL.iter().all(|&dtype| Types::ALL.has(dtype)));
        assert!(!Types::BEFORE_BFLOAT16.has(DType::BF16) && Types::BEFORE_BFLOAT16.has(DType::C128));
    }
}
