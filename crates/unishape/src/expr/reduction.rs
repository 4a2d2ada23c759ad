//! Reductions with their options.

use super::reduce_op::ReduceOp;
use std::ops::RangeFull;
use unishape_kernels::{DType, Scalar};

/// A reduction and its options, with NumPy's meanings and defaults.
///
/// ```
/// use unishape::DType;
/// use unishape::expr::{ReduceOp, Reduction, lazy};
///
/// let a = ndarray::arr2(&[[1.0f32, 3.0], [5.0, 5.0]]);
/// let variance = Reduction::new(ReduceOp::Var).axes(1).keep_dims(true).ddof(1).dtype(DType::F64);
/// assert_eq!(lazy(&a).reduce(variance).compute()?, ndarray::arr2(&[[2.0], [0.0]]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// What is computed.
    pub op: ReduceOp,
    /// The reduced axes; all without any. Negative axes count from the end.
    pub axes: Option<Vec<i64>>,
    /// Names of the reduced dimensions, in place of axes.
    ///
    /// For libraries of arrays with named dimensions.
    ///
    /// Such a library replaces them by axes ([`Expr::to_dag`](super::Expr::to_dag)). Binding a reduction with names
    /// is an error.
    pub dims: Option<Vec<String>>,
    /// Whether reduced axes stay, with size 1.
    pub keep_dims: bool,
    /// What variances and standard deviations subtract from the number of elements.
    pub ddof: Scalar,
    /// Dtype of sums, products, means and variances, and of their computation.
    pub dtype: Option<DType>,
    /// Value that sums, products, minima and maxima start with.
    pub initial: Option<Scalar>,
}

impl Reduction {
    /// A reduction of all axes without options.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// assert_eq!(Reduction::new(ReduceOp::Sum).axes, None);
    /// ```
    pub fn new(op: ReduceOp) -> Reduction {
        Reduction {
            op,
            axes: None,
            dims: None,
            keep_dims: false,
            ddof: Scalar::Int(0),
            dtype: None,
            initial: None,
        }
    }

    /// Sets the reduced axes: `..` for all, an axis, or several.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// assert_eq!(Reduction::new(ReduceOp::Sum).axes([0, -1]).axes, Some(vec![0, -1]));
    /// ```
    #[must_use]
    pub fn axes(self, axes: impl Into<Axes>) -> Reduction {
        Reduction { axes: axes.into().0, ..self }
    }

    /// Sets whether reduced axes stay, with size 1.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// assert!(Reduction::new(ReduceOp::Sum).keep_dims(true).keep_dims);
    /// ```
    #[must_use]
    pub fn keep_dims(self, keep_dims: bool) -> Reduction {
        Reduction { keep_dims, ..self }
    }

    /// Sets what variances subtract from the number of elements.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction, Scalar};
    /// assert_eq!(Reduction::new(ReduceOp::Std).ddof(1).ddof, Scalar::Int(1));
    /// ```
    #[must_use]
    pub fn ddof(self, ddof: impl Into<Scalar>) -> Reduction {
        Reduction { ddof: ddof.into(), ..self }
    }

    /// Sets the dtype of the result, and of its computation.
    ///
    /// ```
    /// # use unishape::{DType, expr::{ReduceOp, Reduction}};
    /// assert_eq!(Reduction::new(ReduceOp::Sum).dtype(DType::F64).dtype, Some(DType::F64));
    /// ```
    #[must_use]
    pub fn dtype(self, dtype: DType) -> Reduction {
        Reduction { dtype: Some(dtype), ..self }
    }

    /// Sets the value that the reduction starts with.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction, Scalar};
    /// assert_eq!(Reduction::new(ReduceOp::Max).initial(0).initial, Some(Scalar::Int(0)));
    /// ```
    #[must_use]
    pub fn initial(self, initial: impl Into<Scalar>) -> Reduction {
        Reduction { initial: Some(initial.into()), ..self }
    }
}

/// Axes of an array: all of them (`..`), one, or several.
///
/// ```
/// use unishape::expr::lazy;
///
/// let a = ndarray::arr2(&[[1, 2], [3, 4]]);
/// for total in [lazy(&a).sum(..), lazy(&a).sum([0, 1]), lazy(&a).sum(-1).sum(0)] {
///     assert_eq!(total.compute()?, ndarray::arr0(10i64).into());
/// }
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes(pub(crate) Option<Vec<i64>>);

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Axes {
        Axes(None)
    }
}

impl From<i64> for Axes {
    fn from(axis: i64) -> Axes {
        Axes(Some(vec![axis]))
    }
}

impl<const N: usize> From<[i64; N]> for Axes {
    fn from(axes: [i64; N]) -> Axes {
        Axes(Some(axes.into()))
    }
}

impl From<&[i64]> for Axes {
    fn from(axes: &[i64]) -> Axes {
        Axes(Some(axes.into()))
    }
}

impl From<Vec<i64>> for Axes {
    fn from(axes: Vec<i64>) -> Axes {
        Axes(Some(axes))
    }
}

/// All axes for `None`.
impl From<Option<Vec<i64>>> for Axes {
    fn from(axes: Option<Vec<i64>>) -> Axes {
        Axes(axes)
    }
}
