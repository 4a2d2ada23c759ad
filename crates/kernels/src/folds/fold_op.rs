//! What is folded: sums, products, extremes, and whether any or all are true.

/// An associative operation that reduces many elements to one.
///
/// ```
/// use unishape_kernels::{DType, FoldOp, find_fold};
///
/// assert!(find_fold(FoldOp::Max, DType::I8).is_some());
/// assert!(find_fold(FoldOp::Any, DType::I8).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoldOp {
    /// The sum. Integers wrap.
    Sum,
    /// The product. Integers wrap.
    Product,
    /// The minimum; NaN if there is one.
    ///
    /// Complex numbers are ordered by real part, then by imaginary part.
    Min,
    /// The maximum; NaN if there is one.
    ///
    /// Complex numbers are ordered by real part, then by imaginary part.
    Max,
    /// Whether any element is true.
    Any,
    /// Whether all elements are true.
    All,
    /// The index of the first minimum, or of the first NaN.
    ArgMin,
    /// The index of the first maximum, or of the first NaN.
    ArgMax,
}

impl FoldOp {
    /// All folds.
    ///
    /// ```
    /// # use unishape_kernels::FoldOp;
    /// assert!(FoldOp::ALL.contains(&FoldOp::Sum));
    /// ```
    pub const ALL: &[FoldOp] = &[
        FoldOp::Sum,
        FoldOp::Product,
        FoldOp::Min,
        FoldOp::Max,
        FoldOp::Any,
        FoldOp::All,
        FoldOp::ArgMin,
        FoldOp::ArgMax,
    ];

    /// Whether the result is the index of an element.
    ///
    /// An index is an `int64`. Otherwise the result is an element.
    ///
    /// ```
    /// # use unishape_kernels::FoldOp;
    /// assert!(FoldOp::ArgMin.is_position() && !FoldOp::Min.is_position());
    /// ```
    pub const fn is_position(self) -> bool {
        matches!(self, FoldOp::ArgMin | FoldOp::ArgMax)
    }

    /// The name in NumPy and the array API standard.
    ///
    /// ```
    /// # use unishape_kernels::FoldOp;
    /// assert_eq!(FoldOp::Product.name(), "prod");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            FoldOp::Sum => "sum",
            FoldOp::Product => "prod",
            FoldOp::Min => "min",
            FoldOp::Max => "max",
            FoldOp::Any => "any",
            FoldOp::All => "all",
            FoldOp::ArgMin => "argmin",
            FoldOp::ArgMax => "argmax",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FoldOp;

    #[test]
    fn positions_are_those_of_extremes() {
        let positions = FoldOp::ALL.iter().filter(|fold| fold.is_position());
        assert!(positions.eq(&[FoldOp::ArgMin, FoldOp::ArgMax]));
    }
}
