//! Dtypes: element types known at run time.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Calls a macro with every dtype (BC-3): its variant, Rust type, name and description.
///
/// ```
/// macro_rules! count {
///     ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $description:literal;)+) => {
///         [$($name),+].len()
///     };
/// }
/// assert_eq!(unishape_kernels::for_each_dtype!(count), 16);
/// ```
#[macro_export]
macro_rules! for_each_dtype {
    ($macro:ident) => {
        $macro! {
            F16 f16 "float16" "IEEE 754 half precision.";
            BF16 bf16 "bfloat16" "The upper 16 bits of a `float32`.";
            F32 f32 "float32" "Single precision; `float` in ONNX.";
            F64 f64 "float64" "Double precision; `double` in ONNX.";
            I8 i8 "int8" "Signed, 8 bits.";
            I16 i16 "int16" "Signed, 16 bits.";
            I32 i32 "int32" "Signed, 32 bits.";
            I64 i64 "int64" "Signed, 64 bits.";
            U8 u8 "uint8" "Unsigned, 8 bits.";
            U16 u16 "uint16" "Unsigned, 16 bits.";
            U32 u32 "uint32" "Unsigned, 32 bits.";
            U64 u64 "uint64" "Unsigned, 64 bits.";
            Bool bool "bool" "True or false.";
            Str String "string" "Text.";
            C64 Complex<f32> "complex64" "Complex number of two `float32`.";
            C128 Complex<f64> "complex128" "Complex number of two `float64`.";
        }
    };
}

macro_rules! define {
    ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $description:literal;)+) => {
        /// An element type of arrays, as in ONNX and NumPy.
        ///
        /// They include all types that requirement BC-3 (`docs/traceability.md`) names.
        ///
        /// ```
        /// # use unishape_kernels::DType;
        /// assert_eq!(DType::BF16.to_string(), "bfloat16");
        /// assert_eq!(DType::ALL.len(), 16);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $(#[doc = $description] $variant,)+
        }

        impl DType {
            /// All dtypes.
            ///
            /// ```
            /// # use unishape_kernels::DType;
            /// assert!(DType::ALL.contains(&DType::Str));
            /// ```
            pub const ALL: &[DType] = &[$(DType::$variant),+];

            /// The name in NumPy and the array API standard.
            ///
            /// ```
            /// # use unishape_kernels::DType;
            /// assert_eq!(DType::C64.name(), "complex64");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)+
                }
            }
        }
    };
}
for_each_dtype!(define);

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses the name of a dtype, as [`DType::from_name`].
///
/// ```
/// # use unishape_kernels::DType;
/// assert_eq!("uint8".parse(), Ok(DType::U8));
/// assert_eq!(
///     "f64".parse::<DType>().unwrap_err().to_string(),
///     "unknown dtype \"f64\": dtypes are float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, \
///      uint16, uint32, uint64, bool, string, complex64 and complex128"
/// );
/// ```
impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(name: &str) -> Result<DType, UnknownDType> {
        DType::from_name(name).ok_or_else(|| UnknownDType { name: name.into() })
    }
}

/// A text that is not the name of a dtype.
///
/// ```
/// # use unishape_kernels::DType;
/// assert_eq!("int7".parse::<DType>().unwrap_err().name(), "int7");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDType {
    name: String,
}

impl UnknownDType {
    /// The text.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!("".parse::<DType>().unwrap_err().name(), "");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        let name: String = self.name.chars().take(LONGEST).collect();
        let dots = if name.len() < self.name.len() { "…" } else { "" };
        write!(f, "unknown dtype {:?}: dtypes are ", name + dots)?;
        for (n, dtype) in DType::ALL.iter().enumerate() {
            let separator = match DType::ALL.len() - n {
                1 => "",
                2 => " and ",
                _ => ", ",
            };
            write!(f, "{dtype}{separator}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownDType {}

/// The kind of a dtype, ordered as in type promotion.
///
/// ```
/// use unishape_kernels::{DType, DTypeKind};
///
/// assert_eq!(DType::U16.kind(), DTypeKind::Unsigned);
/// assert!(DTypeKind::Signed < DTypeKind::Float);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DTypeKind {
    /// Booleans.
    Bool,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
    /// Real floating-point numbers.
    Float,
    /// Complex floating-point numbers.
    Complex,
    /// Text.
    Str,
}

impl DType {
    /// The dtype with this name.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!(DType::from_name("int8"), Some(DType::I8));
    /// assert_eq!(DType::from_name("int7"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// Its kind.
    ///
    /// ```
    /// # use unishape_kernels::{DType, DTypeKind};
    /// assert_eq!(DType::BF16.kind(), DTypeKind::Float);
    /// ```
    pub const fn kind(self) -> DTypeKind {
        match self {
            DType::Bool => DTypeKind::Bool,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => DTypeKind::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => DTypeKind::Signed,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => DTypeKind::Float,
            DType::C64 | DType::C128 => DTypeKind::Complex,
            DType::Str => DTypeKind::Str,
        }
    }

    /// Whether it is a signed or unsigned integer dtype.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert!(DType::U8.is_integer() && !DType::Bool.is_integer());
    /// ```
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), DTypeKind::Unsigned | DTypeKind::Signed)
    }

    /// Whether it is a complex dtype.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert!(DType::C64.is_complex());
    /// ```
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), DTypeKind::Complex)
    }

    /// The floating-point dtype in which NumPy computes functions of this dtype.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!(DType::I16.float_dtype(), DType::F32);
    /// assert_eq!(DType::C64.float_dtype(), DType::C64);
    /// ```
    pub const fn float_dtype(self) -> DType {
        match self {
            DType::Bool | DType::I8 | DType::U8 => DType::F16,
            DType::I16 | DType::U16 => DType::F32,
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => DType::F64,
            other => other,
        }
    }

    /// The dtype of the real part.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!(DType::C128.real_dtype(), DType::F64);
    /// assert_eq!(DType::I8.real_dtype(), DType::I8);
    /// ```
    pub const fn real_dtype(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The smallest dtype that holds the values of both, as in NumPy.
    ///
    /// `None` for text and numbers.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!(DType::U8.promoted_with(DType::I8), Some(DType::I16));
    /// assert_eq!(DType::I32.promoted_with(DType::F32), Some(DType::F64));
    /// assert_eq!(DType::I32.promoted_with(DType::Str), None);
    /// ```
    pub const fn promoted_with(self, other: DType) -> Option<DType> {
        use DType::*;
        let (small, large) =
            if self.kind() as u8 <= other.kind() as u8 { (self, other) } else { (other, self) };
        Some(match (small, large) {
            (Str, Str) => Str,
            (Str, _) | (_, Str) => return None,
            (Bool, other) => other,
            (C64, C128) | (C128, _) => C128,
            (other, C64) => match other.float_dtype() {
                F64 => C128,
                _ => C64,
            },
            (_, C128) => C128,
            (F16, F16) => F16,
            (BF16, BF16) => BF16,
            (F64, _) | (_, F64) => F64,
            (F16 | BF16 | F32, F16 | BF16 | F32) => F32,
            // An integer and a floating-point dtype: the wider one of what each needs.
            (integer, F16 | BF16) => match integer.float_dtype() {
                F16 => large,
                wider => wider,
            },
            (integer, F32) => match integer.float_dtype() {
                F64 => F64,
                _ => F32,
            },
            (U8, U8) => U8,
            (U8 | U16, U8 | U16) => U16,
            (U8 | U16 | U32, U8 | U16 | U32) => U32,
            (U8 | U16 | U32 | U64, U8 | U16 | U32 | U64) => U64,
            (I8, I8) => I8,
            (I8 | I16, I8 | I16) | (U8, I8 | I16) => I16,
            (I8 | I16 | I32, I8 | I16 | I32) | (U8 | U16, I8 | I16 | I32) => I32,
            (U64, _) => F64,
            _ => I64,
        })
    }

    /// Whether an integer is in the range of this dtype.
    ///
    /// Always true if it is neither an integer dtype nor `bool`.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert!(DType::U8.can_hold(255) && !DType::U8.can_hold(-1));
    /// ```
    pub fn can_hold(self, int: i128) -> bool {
        self.int_range().is_none_or(|range| range.contains(&int))
    }

    /// The integers that it can represent exactly.
    ///
    /// `None` for floating-point numbers and text.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!(DType::I8.int_range(), Some(-128..=127));
    /// assert_eq!(DType::F32.int_range(), None);
    /// ```
    pub fn int_range(self) -> Option<RangeInclusive<i128>> {
        Some(match self {
            DType::I8 => i8::MIN.into()..=i8::MAX.into(),
            DType::I16 => i16::MIN.into()..=i16::MAX.into(),
            DType::I32 => i32::MIN.into()..=i32::MAX.into(),
            DType::I64 => i64::MIN.into()..=i64::MAX.into(),
            DType::U8 => 0..=u8::MAX.into(),
            DType::U16 => 0..=u16::MAX.into(),
            DType::U32 => 0..=u32::MAX.into(),
            DType::U64 => 0..=u64::MAX.into(),
            DType::Bool => 0..=1,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 | DType::Str => {
                return None;
            }
        })
    }

    /// Size of an element, in bytes; 0 for text, which has no fixed size.
    ///
    /// ```
    /// # use unishape_kernels::DType;
    /// assert_eq!(DType::C64.item_size(), 8);
    /// ```
    pub const fn item_size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 | DType::C64 => 8,
            DType::C128 => 16,
            DType::Str => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DType::{self, *};
    use super::DTypeKind;
    use half::{bf16, f16};
    use num_complex::Complex;

    #[test]
    fn errors_quote_unknown_names() {
        let (forty, more) = ("é".repeat(40), "é".repeat(41));
        for (name, quoted) in
            [("f64", "f64".to_owned()), (&forty, forty.clone()), (&more, format!("{forty}…"))]
        {
            let error = name.parse::<DType>().unwrap_err();
            assert_eq!(error.name(), name);
            let expected = format!(
                "unknown dtype \"{quoted}\": dtypes are float16, bfloat16, float32, float64, int8, int16, int32, int64, \
                 uint8, uint16, uint32, uint64, bool, string, complex64 and complex128"
            );
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn dtypes_are_found_by_name() {
        for &dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
            assert_eq!(format!("{dtype:>12}"), format!("{:>12}", dtype.name()));
        }
        assert_eq!(DType::from_name("float"), None);
    }

    #[test]
    fn kinds() {
        let of_kind =
            |kind| DType::ALL.iter().copied().filter(|dtype| dtype.kind() == kind).collect::<Vec<_>>();
        assert_eq!(of_kind(DTypeKind::Bool), [Bool]);
        assert_eq!(of_kind(DTypeKind::Unsigned), [U8, U16, U32, U64]);
        assert_eq!(of_kind(DTypeKind::Signed), [I8, I16, I32, I64]);
        assert_eq!(of_kind(DTypeKind::Float), [F16, BF16, F32, F64]);
        assert_eq!(of_kind(DTypeKind::Complex), [C64, C128]);
        assert_eq!(of_kind(DTypeKind::Str), [Str]);
        for &dtype in DType::ALL {
            assert_eq!(dtype.is_complex(), [C64, C128].contains(&dtype), "{dtype}");
            let is_integer = [I8, I16, I32, I64, U8, U16, U32, U64].contains(&dtype);
            assert_eq!(dtype.is_integer(), is_integer, "{dtype}");
        }
    }

    #[test]
    fn dtypes_of_functions_and_parts() {
        let float = |dtypes: &[DType]| dtypes.iter().map(|dtype| dtype.float_dtype()).collect::<Vec<_>>();
        assert_eq!(float(&[Bool, I8, U8, I16, U16, F16]), [F16, F16, F16, F32, F32, F16]);
        assert_eq!(float(&[I32, U32, I64, U64, F64, C64]), [F64, F64, F64, F64, F64, C64]);
        assert_eq!([C64, C128, I16].map(DType::real_dtype), [F32, F64, I16]);
    }

    /// The rows and columns of NumPy's `promote_types`, without bfloat16.
    const ORDER: [DType; 14] = [Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, F32, F64, C64, C128];
    const PROMOTED: [[DType; 14]; 14] = [
        [Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, F32, F64, C64, C128],
        [U8, U8, U16, U32, U64, I16, I16, I32, I64, F16, F32, F64, C64, C128],
        [U16, U16, U16, U32, U64, I32, I32, I32, I64, F32, F32, F64, C64, C128],
        [U32, U32, U32, U32, U64, I64, I64, I64, I64, F64, F64, F64, C128, C128],
        [U64, U64, U64, U64, U64, F64, F64, F64, F64, F64, F64, F64, C128, C128],
        [I8, I16, I32, I64, F64, I8, I16, I32, I64, F16, F32, F64, C64, C128],
        [I16, I16, I32, I64, F64, I16, I16, I32, I64, F32, F32, F64, C64, C128],
        [I32, I32, I32, I64, F64, I32, I32, I32, I64, F64, F64, F64, C128, C128],
        [I64, I64, I64, I64, F64, I64, I64, I64, I64, F64, F64, F64, C128, C128],
        [F16, F16, F32, F64, F64, F16, F32, F64, F64, F16, F32, F64, C64, C128],
        [F32, F32, F32, F64, F64, F32, F32, F64, F64, F32, F32, F64, C64, C128],
        [F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, C128, C128],
        [C64, C64, C64, C128, C128, C64, C64, C128, C128, C64, C64, C128, C64, C128],
        [C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128],
    ];

    #[test]
    fn promotion_is_that_of_numpy() {
        for (a, row) in ORDER.into_iter().zip(PROMOTED) {
            for (b, promoted) in ORDER.into_iter().zip(row) {
                assert_eq!(a.promoted_with(b), Some(promoted), "{a} and {b}");
            }
            assert_eq!((a.promoted_with(Str), Str.promoted_with(a)), (None, None), "{a}");
            // bfloat16 has the range of float32, and is promoted as float16 is, except with float16.
            let expected = match a.promoted_with(F16) {
                Some(F16) if a != F16 => Some(BF16),
                Some(F16) => Some(F32),
                other => other,
            };
            assert_eq!((a.promoted_with(BF16), BF16.promoted_with(a)), (expected, expected), "{a}");
        }
        assert_eq!((Str.promoted_with(Str), BF16.promoted_with(BF16)), (Some(Str), Some(BF16)));
    }

    #[test]
    fn ranges_of_integers() {
        for (dtype, min, max) in [
            (Bool, 0, 1),
            (I8, -128, 127),
            (I16, -32768, 32767),
            (I32, i32::MIN.into(), i32::MAX.into()),
            (I64, i64::MIN.into(), i64::MAX.into()),
            (U8, 0, 255),
            (U16, 0, 65535),
            (U32, 0, u32::MAX.into()),
            (U64, 0, u64::MAX.into()),
        ] {
            let held = [min - 1, min, max, max + 1].map(|int| dtype.can_hold(int));
            assert_eq!(held, [false, true, true, false], "{dtype}");
        }
        assert!(F16.can_hold(i128::MAX) && C64.can_hold(i128::MIN));
    }

    #[test]
    fn item_sizes() {
        macro_rules! check {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $description:literal;)+) => {
                $(
                    let size = if DType::$variant == Str { 0 } else { size_of::<$type $(<$part>)?>() };
                    assert_eq!(DType::$variant.item_size(), size, $name);
                )+
            };
        }
        for_each_dtype!(check);
    }
}
