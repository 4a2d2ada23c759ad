//! Casts between the dtype of a function's argument and the wider one that the function is computed in.

use unishape_kernels::{DType, DTypeKind};

/// A cast to a floating-point dtype that depends on the dtype of another value.
///
/// Functions that consist of several operations, such as a softmax, compute integers as floating-point numbers and half
/// precision in single precision. The dtypes are not known when a text is parsed.
///
/// ```
/// use unishape::expr::FloatCast;
///
/// assert_eq!(FloatCast::from_name("to_exp"), Some(FloatCast::ToExp));
/// assert_eq!(FloatCast::WidenToExp.name(), "widen_to_exp");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FloatCast {
    /// To the dtype of `exp` of the value, or `float32` where that has half precision.
    WidenToExp,
    /// Back, to the dtype of `exp` of the value.
    ToExp,
    /// To the dtype of the mean of the value, or `float32` where that has half precision.
    WidenToMean,
    /// Back, to the dtype of the mean of the value.
    ToMean,
}

impl FloatCast {
    const ALL: [FloatCast; 4] =
        [FloatCast::WidenToExp, FloatCast::ToExp, FloatCast::WidenToMean, FloatCast::ToMean];

    /// The cast with a name.
    ///
    /// ```
    /// # use unishape::expr::FloatCast;
    /// assert_eq!(FloatCast::from_name("to_mean"), Some(FloatCast::ToMean));
    /// ```
    pub fn from_name(name: &str) -> Option<FloatCast> {
        FloatCast::ALL.into_iter().find(|cast| cast.name() == name)
    }

    /// Its name, which no function has.
    ///
    /// ```
    /// # use unishape::expr::FloatCast;
    /// assert_eq!(FloatCast::WidenToMean.name(), "widen_to_mean");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            FloatCast::WidenToExp => "widen_to_exp",
            FloatCast::ToExp => "to_exp",
            FloatCast::WidenToMean => "widen_to_mean",
            FloatCast::ToMean => "to_mean",
        }
    }

    /// The dtype that is cast to, for a value of dtype `like`; `None` where nothing is cast.
    pub(crate) fn target(self, like: DType) -> Option<DType> {
        let result = match self {
            FloatCast::WidenToExp | FloatCast::ToExp => like.float_dtype(),
            FloatCast::WidenToMean | FloatCast::ToMean => mean_dtype(like),
        };
        let computed = wide(result);
        match self {
            FloatCast::WidenToExp | FloatCast::WidenToMean => (computed != like).then_some(computed),
            FloatCast::ToExp | FloatCast::ToMean => (computed != result).then_some(result),
        }
    }
}

/// The dtype of a mean.
pub(crate) fn mean_dtype(dtype: DType) -> DType {
    if dtype.kind() < DTypeKind::Float { DType::F64 } else { dtype }
}

/// The dtype that half precision is accumulated in; others are their own.
pub(crate) fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        dtype => dtype,
    }
}
