//! Element types, by the numbers of `TensorProto.DataType`.

use std::fmt;
use unishape::DType;

/// Element type of a tensor: a number of `TensorProto.DataType`.
///
/// Includes types without a [`DType`], which models may contain but [`CompiledModel`](crate::CompiledModel) does not
/// compute with.
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

/// ONNX names of the types, indexed by number.
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

/// Types with a [`DType`]; index `i` holds number `i + 1`.
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
    /// Type with this number, even if ONNX defines no such type.
    ///
    /// ```
    /// assert_eq!(unishape_onnx::ElemType::new(7).to_string(), "int64");
    /// ```
    pub fn new(number: i32) -> ElemType {
        ElemType(number)
    }

    /// ONNX type of a [`DType`].
    ///
    /// ```
    /// use unishape_onnx::ElemType;
    ///
    /// assert_eq!(ElemType::of(unishape::DType::F32).number(), 1);
    /// ```
    pub fn of(dtype: DType) -> ElemType {
        let index = DTYPES.iter().position(|&known| known == dtype).unwrap_or(0);
        ElemType(index as i32 + 1)
    }

    /// Number in `TensorProto.DataType`.
    ///
    /// ```
    /// assert_eq!(unishape_onnx::ElemType::new(7).number(), 7);
    /// ```
    pub fn number(self) -> i32 {
        self.0
    }

    /// The [`DType`], if the type has one.
    ///
    /// ```
    /// use unishape_onnx::ElemType;
    ///
    /// assert_eq!(ElemType::new(10).dtype(), Some(unishape::DType::F16));
    /// assert_eq!(ElemType::new(22).dtype(), None);
    /// ```
    pub fn dtype(self) -> Option<DType> {
        let index = usize::try_from(self.0).ok()?.checked_sub(1)?;
        DTYPES.get(index).copied()
    }
}

/// The ONNX name, such as `float`; `type 99` for an unknown number.
impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0).ok().and_then(|index| NAMES.get(index)) {
            Some(name) => f.pad(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

/// Set of [`DType`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeSet(u32);

impl TypeSet {
    pub(crate) const fn of(dtype: DType) -> TypeSet {
        TypeSet(1 << dtype as u32)
    }

    pub(crate) const fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    pub(crate) const fn contains(self, dtype: DType) -> bool {
        self.0 & 1 << dtype as u32 != 0
    }

    /// Members in order of their ONNX numbers.
    pub(crate) fn iter(self) -> impl Iterator<Item = ElemType> {
        let all = (1..=DTYPES.len() as i32).map(ElemType::new);
        all.filter(move |elem| elem.dtype().is_some_and(|dtype| self.contains(dtype)))
    }

    /// float16, float and double.
    pub(crate) const FLOATS: TypeSet =
        TypeSet::of(DType::F16).union(TypeSet::of(DType::F32)).union(TypeSet::of(DType::F64));
    /// [`FLOATS`](Self::FLOATS) and bfloat16.
    pub(crate) const ALL_FLOATS: TypeSet = TypeSet::FLOATS.union(TypeSet::of(DType::BF16));
    pub(crate) const SIGNED: TypeSet = TypeSet::of(DType::I8)
        .union(TypeSet::of(DType::I16))
        .union(TypeSet::of(DType::I32))
        .union(TypeSet::of(DType::I64));
    pub(crate) const UNSIGNED: TypeSet = TypeSet::of(DType::U8)
        .union(TypeSet::of(DType::U16))
        .union(TypeSet::of(DType::U32))
        .union(TypeSet::of(DType::U64));
    pub(crate) const INTEGERS: TypeSet = TypeSet::SIGNED.union(TypeSet::UNSIGNED);
    pub(crate) const BOOL: TypeSet = TypeSet::of(DType::Bool);
    pub(crate) const STRING: TypeSet = TypeSet::of(DType::Str);
    /// int32 and int64.
    pub(crate) const WIDE: TypeSet = TypeSet::of(DType::I32).union(TypeSet::of(DType::I64));
    /// int32, int64, uint32 and uint64.
    pub(crate) const WIDE_INTEGERS: TypeSet =
        TypeSet::WIDE.union(TypeSet::of(DType::U32)).union(TypeSet::of(DType::U64));
    pub(crate) const ALL: TypeSet = TypeSet(u16::MAX as u32);
    /// All but bfloat16, which ONNX added later.
    pub(crate) const BEFORE_BFLOAT16: TypeSet = TypeSet(u16::MAX as u32 & !(1 << DType::BF16 as u32));
    /// Integers and floating-point types, not complex.
    pub(crate) const REAL: TypeSet = TypeSet::ALL_FLOATS.union(TypeSet::INTEGERS);
    pub(crate) const REAL_BEFORE_BFLOAT16: TypeSet = TypeSet::FLOATS.union(TypeSet::INTEGERS);
}

/// `float16, float or double`.
impl fmt::Display for TypeSet {
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
    fn sets_of_types() {
        let set = TypeSet::of(DType::F32).union(TypeSet::of(DType::C128)).union(TypeSet::of(DType::F32));
        for &dtype in DType::ALL {
            assert_eq!(set.contains(dtype), [DType::F32, DType::C128].contains(&dtype), "{dtype}");
        }
    }

    #[test]
    fn dtypes_map_to_numbers_and_back() {
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
    fn sets_display_as_a_list_of_names() {
        assert_eq!(TypeSet::FLOATS.to_string(), "float, float16 or double");
        assert_eq!(TypeSet::BOOL.to_string(), "bool");
        assert!(DType::ALL.iter().all(|&dtype| TypeSet::ALL.contains(dtype)));
        assert!(
            !TypeSet::BEFORE_BFLOAT16.contains(DType::BF16) && TypeSet::BEFORE_BFLOAT16.contains(DType::C128)
        );
    }
}
