//! What is folded: sums, products, extremes, and whether any or all are true.

/// An associative operation that reduces many elements to one.
///
/// ```
/// use unishape_kernels::{DType, Fold, find_fold};
///
/// assert!(find_fold(Fold::Max, DType::I8).is_some());
/// assert!(find_fold(Fold::Any, DType::I8).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The sum. Integers wrap.
    Sum,
    /// The product. Integers wrap.
    Product,
    /// The minimum; NaN if there is one. Complex numbers are ordered by real part, then by imaginary part.
    Min,
    /// The maximum; NaN if there is one. Complex numbers are ordered by real part, then by imaginary part.
    Max,
    /// Whether any element is true.
    Any,
    /// Whether all elements are true.
    All,
}

impl Fold {
    /// All folds.
    ///
    /// ```
    /// # use unishape_kernels::Fold;
    /// assert!(Fold::ALL.contains(&Fold::Sum));
    /// ```
    pub const ALL: &[Fold] = &[Fold::Sum, Fold::Product, Fold::Min, Fold::Max, Fold::Any, Fold::All];

    /// The name in NumPy and the array API standard.
    ///
    /// ```
    /// # use unishape_kernels::Fold;
    /// assert_eq!(Fold::Product.name(), "prod");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Fold::Sum => "sum",
            Fold::Product => "prod",
            Fold::Min => "min",
            Fold::Max => "max",
            Fold::Any => "any",
            Fold::All => "all",
        }
    }
}
