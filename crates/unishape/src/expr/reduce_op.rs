//! The reductions of expressions.

/// A reduction.
///
/// ```
/// use unishape::expr::ReduceOp;
///
/// assert_eq!(ReduceOp::from_name("amax"), Some(ReduceOp::Max));
/// assert_eq!(ReduceOp::LogSumExp.name(), "logsumexp");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Minimum; NaN where an element is NaN.
    Min,
    /// Maximum; NaN where an element is NaN.
    Max,
    /// Arithmetic mean.
    Mean,
    /// Variance.
    Var,
    /// Standard deviation.
    Std,
    /// Whether any element is true.
    Any,
    /// Whether all elements are true.
    All,
    /// Number of elements that are not zero.
    CountNonzero,
    /// Index of the first minimum.
    ArgMin,
    /// Index of the first maximum.
    ArgMax,
    /// Logarithm of the sum of exponentials.
    LogSumExp,
    /// Sum of absolute values.
    Norm1,
    /// Square root of the sum of squared absolute values.
    Norm2,
    /// Largest absolute value.
    NormInf,
}

/// Names of the reductions; the first one of each is its name in messages.
const NAMES: &[(ReduceOp, &[&str])] = &[
    (ReduceOp::Sum, &["sum"]),
    (ReduceOp::Prod, &["prod"]),
    (ReduceOp::Min, &["min", "amin"]),
    (ReduceOp::Max, &["max", "amax"]),
    (ReduceOp::Mean, &["mean"]),
    (ReduceOp::Var, &["var"]),
    (ReduceOp::Std, &["std"]),
    (ReduceOp::Any, &["any"]),
    (ReduceOp::All, &["all"]),
    (ReduceOp::CountNonzero, &["count_nonzero"]),
    (ReduceOp::ArgMin, &["argmin"]),
    (ReduceOp::ArgMax, &["argmax"]),
    (ReduceOp::LogSumExp, &["logsumexp"]),
    // `norm` is one of three, by its argument `ord`; the first is the default.
    (ReduceOp::Norm2, &["norm"]),
    (ReduceOp::Norm1, &["norm"]),
    (ReduceOp::NormInf, &["norm"]),
];

impl ReduceOp {
    /// The reduction with a name; for `norm` the one with the default order, 2.
    ///
    /// ```
    /// # use unishape::expr::ReduceOp;
    /// assert_eq!(ReduceOp::from_name("sum"), Some(ReduceOp::Sum));
    /// ```
    pub fn from_name(name: &str) -> Option<ReduceOp> {
        NAMES.iter().find(|(_, names)| names.contains(&name)).map(|&(op, _)| op)
    }

    /// Names of all reductions.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, names)| names.iter().copied())
    }

    /// Its name; the same for all norms.
    ///
    /// ```
    /// # use unishape::expr::ReduceOp;
    /// assert_eq!(ReduceOp::CountNonzero.name(), "count_nonzero");
    /// ```
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(op, _)| *op == self).map_or("", |(_, names)| names[0])
    }
}
