//! Dtypes: element types known at run time.

use std::fmt;

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
            (C64, C64) => C64,
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
        let (min, max) = match self {
            DType::I8 => (i8::MIN as i128, i8::MAX as i128),
            DType::I16 => (i16::MIN as i128, i16::MAX as i128),
            DType::I32 => (i32::MIN as i128, i32::MAX as i128),
            DType::I64 => (i64::MIN as i128, i64::MAX as i128),
            DType::U8 => (0, u8::MAX as i128),
            DType::U16 => (0, u16::MAX as i128),
            DType::U32 => (0, u32::MAX as i128),
            DType::U64 => (0, u64::MAX as i128),
            DType::Bool => (0, 1),
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 | DType::Str => {
                (i128::MIN, i128::MAX)
            }
        };
        (min..=max).contains(&int)
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
