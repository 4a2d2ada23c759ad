//! Expressions built from values by operators and methods.

use super::bind::Bound;
use super::compile::{InputType, compile};
use super::composite::{Composite, EPSILON, GraphBuilder, compose, kept};
use super::dag::Dag;
use super::error::ExprError;
use super::float_cast::FloatCast;
use super::graph::Graph;
use super::lower::{Sharing, lower};
use super::reduce_op::ReduceOp;
use super::reduction::{Axes, Reduction};
use super::typed::InputInfo;
use super::types::Typing;
use super::value::{Value, Values, for_each_number};
use super::view::{IndexItem, View};
use crate::tensor::{Element, Tensor, TensorView};
use half::{bf16, f16};
use ndarray::{ArrayBase, Data, Dimension};
use num_complex::Complex;
use std::ops;
use std::sync::Arc;
use unishape_kernels::{DType, Op, Scalar, for_each_op};

/// A lazy value: an array, a scalar, or an expression of lazy values.
///
/// Operators and methods only build the expression; [`compute`](Lazy::compute) computes it in one pass. A value
/// that is used twice is computed once.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::expr::lazy;
///
/// let (x, mean, spread) = (arr2(&[[1.0, 3.0], [5.0, 9.0]]), arr2(&[[2.0], [7.0]]), arr1(&[4.0]));
/// let (x, mean, spread) = (lazy(&x), lazy(&mean), lazy(&spread));
/// let result = ((x - mean) / spread.sqrt() * 2).compute()?;
/// assert_eq!(result, arr2(&[[-1.0, 1.0], [-2.0, 2.0]]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
///
/// Operators take lazy values and references to them, arrays, and numbers of any type on either side. A number on the
/// left of a reference needs a type, since the compiler does not choose one for a literal there: write `2 * x` or
/// `2i64 * &x`.
///
/// ```
/// use unishape::expr::lazy;
///
/// let (a, b) = (ndarray::arr1(&[1.0f32, 2.0]), ndarray::arr1(&[10.0f32, 20.0]));
/// let x = lazy(&a);
/// let result = (1f32 - &x) * 2u8 + &b;
/// assert_eq!(result.compute()?, ndarray::arr1(&[10.0f32, 18.0]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lazy<'a>(Dag<Value<'a>>);

/// A lazy value from an array, a view, a tensor or a number.
///
/// ```
/// use unishape::expr::lazy;
///
/// let a = ndarray::arr1(&[1, 2, 3]);
/// assert_eq!((lazy(&a) * 2 + 1).compute()?, ndarray::arr1(&[3, 5, 7]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
pub fn lazy<'a>(value: impl Into<Value<'a>>) -> Lazy<'a> {
    Lazy(match value.into() {
        Value::Scalar(scalar) => Dag::scalar(scalar, ()),
        array => Dag::leaf(array, ()),
    })
}

impl<'a> Lazy<'a> {
    /// A function of lazy values.
    ///
    /// ```
    /// use unishape::expr::{Lazy, Op, lazy};
    ///
    /// let sum = Lazy::call(Op::Add, [lazy(1), lazy(2)]);
    /// assert_eq!(sum.compute()?, ndarray::arr0(3i64).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where the function takes another number of arguments.
    pub fn call(op: Op, inputs: impl IntoIterator<Item = Lazy<'a>>) -> Lazy<'a> {
        Lazy(Dag::call(op, inputs.into_iter().map(|Lazy(input)| input), ()))
    }

    /// Casts the elements to a dtype.
    ///
    /// ```
    /// use unishape::{DType, expr::lazy};
    ///
    /// let a = ndarray::arr1(&[1.5, -2.5]);
    /// assert_eq!(lazy(&a).cast(DType::I8).compute()?, ndarray::arr1(&[1i8, -2]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn cast(self, dtype: DType) -> Lazy<'a> {
        Lazy(Dag::cast(dtype, self.0, ()))
    }

    /// Casts the elements to a dtype that depends on that of `like`.
    ///
    /// ```
    /// use unishape::{DType, expr::{FloatCast, lazy}};
    ///
    /// let array = ndarray::arr1(&[1i16, 2]);
    /// let a = lazy(&array);
    /// assert_eq!(a.clone().cast_like(FloatCast::WidenToExp, &a).bind()?.dtype(), DType::F32);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn cast_like(self, cast: FloatCast, like: impl Into<Lazy<'a>>) -> Lazy<'a> {
        Lazy(Dag::cast_like(cast, self.0, like.into().0, ()))
    }

    /// A view of the value. Axes that do not exist are errors of [`bind`](Lazy::bind).
    ///
    /// ```
    /// use unishape::expr::{View, lazy};
    ///
    /// let a = ndarray::arr1(&[1, 2]);
    /// assert_eq!(lazy(&a).view(View::ExpandDims(vec![0, 1])).bind()?.shape(), [1, 1, 2]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn view(self, view: View) -> Lazy<'a> {
        Lazy(Dag::view(view, self.0, ()))
    }

    /// Basic indexing: integers, slices, new axes and an ellipsis, as in NumPy.
    ///
    /// ```
    /// use unishape::expr::{IndexItem, lazy};
    ///
    /// let a = ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]);
    /// let tail = lazy(&a).index([IndexItem::At(-1), IndexItem::from(1..), IndexItem::NewAxis]);
    /// assert_eq!(tail.compute()?, ndarray::arr2(&[[5], [6]]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn index(self, items: impl IntoIterator<Item = IndexItem>) -> Lazy<'a> {
        self.view(View::Index(items.into_iter().collect()))
    }

    /// An index of one axis: an integer, which drops the axis, or a slice.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let a = ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(lazy(&a).index_axis(-1, ..2).compute()?, ndarray::arr2(&[[1, 2], [4, 5]]).into());
    /// assert_eq!(lazy(&a).index_axis(0, 1).compute()?, ndarray::arr1(&[4, 5, 6]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn index_axis(self, axis: i64, item: impl Into<IndexItem>) -> Lazy<'a> {
        let full = |count: i64| (0..count).map(|_| IndexItem::FULL);
        match axis < 0 {
            true => self.index([IndexItem::Ellipsis, item.into()].into_iter().chain(full(-1 - axis))),
            false => self.index(full(axis).chain([item.into()])),
        }
    }

    /// Permutes the axes: axis `d` of the result is axis `axes[d]`.
    ///
    /// ```
    /// let a = ndarray::Array3::<f32>::zeros((2, 3, 4));
    /// assert_eq!(unishape::expr::lazy(&a).transpose([2, 0, 1]).bind()?.shape(), [4, 2, 3]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn transpose(self, axes: impl Into<Vec<i64>>) -> Lazy<'a> {
        self.view(View::Transpose(Some(axes.into())))
    }

    /// Reverses the axes.
    ///
    /// ```
    /// let a = ndarray::Array3::<f32>::zeros((2, 3, 4));
    /// assert_eq!(unishape::expr::lazy(&a).t().bind()?.shape(), [4, 3, 2]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn t(self) -> Lazy<'a> {
        self.view(View::Transpose(None))
    }

    /// Swaps two axes.
    ///
    /// ```
    /// let a = ndarray::Array3::<f32>::zeros((2, 3, 4));
    /// assert_eq!(unishape::expr::lazy(&a).swap_axes(0, -1).bind()?.shape(), [4, 3, 2]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn swap_axes(self, a: i64, b: i64) -> Lazy<'a> {
        self.view(View::SwapAxes(a, b))
    }

    /// Adds axes of size 1, at these positions of the result.
    ///
    /// ```
    /// let a = ndarray::Array2::<f32>::zeros((2, 3));
    /// assert_eq!(unishape::expr::lazy(&a).expand_dims([0, -1]).bind()?.shape(), [1, 2, 3, 1]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn expand_dims(self, axes: impl Into<Vec<i64>>) -> Lazy<'a> {
        self.view(View::ExpandDims(axes.into()))
    }

    /// Removes axes of size 1: all of them for `..`.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let a = ndarray::Array3::<f32>::zeros((1, 3, 1));
    /// assert_eq!(lazy(&a).squeeze(0).bind()?.shape(), [3, 1]);
    /// assert_eq!(lazy(&a).squeeze(..).bind()?.shape(), [3]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn squeeze(self, axes: impl Into<Axes>) -> Lazy<'a> {
        self.view(View::Squeeze(axes.into().0))
    }

    /// Broadcasts to a shape.
    ///
    /// ```
    /// let a = ndarray::arr2(&[[1], [2]]);
    /// assert_eq!(unishape::expr::lazy(&a).broadcast_to([2, 3]).bind()?.shape(), [2, 3]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn broadcast_to(self, shape: impl Into<Vec<usize>>) -> Lazy<'a> {
        self.view(View::BroadcastTo(shape.into()))
    }

    /// A reduction with options.
    ///
    /// [`sum`](Lazy::sum) and the like are reductions without.
    ///
    /// ```
    /// use unishape::expr::{ReduceOp, Reduction, lazy};
    ///
    /// let a = ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]);
    /// let sum = Reduction::new(ReduceOp::Sum).axes(-1).keep_dims(true).initial(100);
    /// assert_eq!(lazy(&a).reduce(sum).compute()?, ndarray::arr2(&[[106i64], [115]]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn reduce(self, reduction: Reduction) -> Lazy<'a> {
        Lazy(Dag::reduce(reduction, self.0, None, ()))
    }

    /// A reduction of the elements for which a mask is true, as NumPy's `where=`.
    ///
    /// ```
    /// use unishape::expr::{ReduceOp, Reduction, lazy};
    ///
    /// let a = ndarray::arr1(&[1.0, -2.0, 3.0]);
    /// let is_positive = lazy(&a).greater(0);
    /// let mean = lazy(&a).reduce_where(Reduction::new(ReduceOp::Mean), is_positive);
    /// assert_eq!(mean.compute()?, ndarray::arr0(2.0).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn reduce_where(self, reduction: Reduction, mask: impl Into<Lazy<'a>>) -> Lazy<'a> {
        Lazy(Dag::reduce(reduction, self.0, Some(mask.into().0), ()))
    }

    /// `exp(x) / sum(exp(x))` along some axes, without overflow.
    ///
    /// Its rows are computed while they are in the cache.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let a = ndarray::arr2(&[[1.0, 1.0], [0.0, 1000.0]]);
    /// assert_eq!(lazy(&a).softmax(-1).compute()?, ndarray::arr2(&[[0.5, 0.5], [0.0, 1.0]]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn softmax(self, axes: impl Into<Axes>) -> Lazy<'a> {
        self.composite(Composite::Softmax, axes, EPSILON)
    }

    /// The logarithm of [`softmax`](Lazy::softmax), without its loss of precision.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let a = ndarray::arr1(&[0.0, 1000.0]);
    /// assert_eq!(lazy(&a).log_softmax(0).compute()?, ndarray::arr1(&[-1000.0, 0.0]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn log_softmax(self, axes: impl Into<Axes>) -> Lazy<'a> {
        self.composite(Composite::LogSoftmax, axes, EPSILON)
    }

    /// `(x - mean(x)) / sqrt(var(x) + eps)` along some axes.
    ///
    /// Multiply it by a weight and add a bias where there are some.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let a = ndarray::arr2(&[[1.0, 3.0], [20.0, 60.0]]);
    /// let (weight, bias) = (ndarray::arr1(&[1.0, 2.0]), ndarray::arr1(&[0.0, 10.0]));
    /// let scaled = lazy(&a).layer_norm(-1, 0.0) * &weight + &bias;
    /// assert_eq!(scaled.compute()?, ndarray::arr2(&[[-1.0, 12.0], [-1.0, 12.0]]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn layer_norm(self, axes: impl Into<Axes>, eps: f64) -> Lazy<'a> {
        self.composite(Composite::LayerNorm, axes, eps)
    }

    /// `x / sqrt(mean(x²) + eps)` along some axes.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let a = ndarray::arr1(&[3.0, -3.0]);
    /// assert_eq!(lazy(&a).rms_norm(0, 0.0).compute()?, ndarray::arr1(&[1.0, -1.0]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn rms_norm(self, axes: impl Into<Axes>, eps: f64) -> Lazy<'a> {
        self.composite(Composite::RmsNorm, axes, eps)
    }

    fn composite(self, function: Composite, axes: impl Into<Axes>, eps: f64) -> Lazy<'a> {
        compose(&mut axes.into(), function, self, |_| lazy(eps))
    }

    /// Determines the dtype and shape of the result. Nothing is computed yet.
    ///
    /// ```
    /// use unishape::expr::lazy;
    ///
    /// let (a, b) = (ndarray::arr2(&[[1], [2]]), ndarray::arr1(&[1, 2, 3]));
    /// assert_eq!((lazy(&a) + lazy(&b)).bind()?.shape(), [2, 3]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where dtypes or shapes are incompatible.
    pub fn bind(&self) -> Result<Bound<'a>, ExprError> {
        self.bind_typed(Typing::Promote)
    }

    /// [`bind`](Lazy::bind) with other rules of type promotion.
    ///
    /// ```
    /// use unishape::expr::{Typing, lazy};
    ///
    /// let (a, b) = (ndarray::arr1(&[1i8]), ndarray::arr1(&[1i16]));
    /// assert!((lazy(&a) + lazy(&b)).bind_typed(Typing::Strict).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Where dtypes or shapes are incompatible.
    pub fn bind_typed(&self, typing: Typing) -> Result<Bound<'a>, ExprError> {
        let (graph, values) = self.flatten();
        if !graph.is_element_wise() {
            let inputs: Vec<InputInfo<'_>> = values.iter().map(Value::info).collect();
            let staged = Arc::new(lower(&graph, &inputs, typing, Sharing::WithinGroups)?);
            return Ok(Bound::staged(staged, Vec::new(), values));
        }
        let input_types: Vec<InputType> = values.iter().map(Value::input_type).collect();
        let compiled = Arc::new(compile(&graph, &input_types, typing)?);
        Bound::new(&graph, values, compiled)
    }

    /// Computes the value.
    ///
    /// ```
    /// # use unishape::expr::lazy;
    /// let a = ndarray::arr1(&[4.0f32, 9.0]);
    /// assert_eq!(lazy(&a).sqrt().compute()?, ndarray::arr1(&[2.0f32, 3.0]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where dtypes or shapes are incompatible, or the result cannot be allocated.
    pub fn compute(&self) -> Result<Tensor, ExprError> {
        self.bind()?.compute()
    }

    /// The flat graph of the expression, and its arrays.
    fn flatten(&self) -> (Graph, Values<'a>) {
        let as_scalar = |value: &Value<'a>| match value {
            Value::Scalar(scalar) => Some(*scalar),
            Value::Array(_) => None,
        };
        let (graph, values) = Graph::from_dag(&self.0, as_scalar);
        (graph, values.into_iter().cloned().collect())
    }
}

/// Builds composite functions of lazy values along these axes.
impl<'a> GraphBuilder<Lazy<'a>> for Axes {
    fn call<const COUNT: usize>(&mut self, op: Op, inputs: [Lazy<'a>; COUNT]) -> Lazy<'a> {
        Lazy::call(op, inputs)
    }

    fn reduce(&mut self, op: ReduceOp, input: Lazy<'a>) -> Lazy<'a> {
        input.reduce(kept(op).axes(self.clone()))
    }

    fn cast_like(&mut self, cast: FloatCast, input: Lazy<'a>, like: Lazy<'a>) -> Lazy<'a> {
        input.cast_like(cast, like)
    }
}

/// An expression over arrays, as bindings to other languages build it.
impl<'a> From<Dag<Value<'a>>> for Lazy<'a> {
    fn from(dag: Dag<Value<'a>>) -> Lazy<'a> {
        Lazy(dag)
    }
}

macro_rules! methods {
    ($($op:ident $method:ident $arity:tt [$name:literal $(, $alias:literal)*] $what:literal;)+) => {
        impl<'a> Lazy<'a> {
            $(methods!(@ $op $method $arity $what);)+
        }
    };
    (@ $op:ident $method:ident 1 $what:literal) => {
        #[doc = $what]
        ///
        #[doc = concat!("[`Op::", stringify!($op), "`].")]
        ///
        /// ```
        #[doc = concat!("let value = unishape::expr::lazy(1).", stringify!($method), "();")]
        /// assert_eq!(value.compute()?.shape(), []);
        /// # Ok::<(), unishape::expr::ExprError>(())
        /// ```
        #[must_use]
        pub fn $method(self) -> Lazy<'a> {
            Lazy::call(Op::$op, [self])
        }
    };
    (@ $op:ident $method:ident 2 $what:literal) => {
        #[doc = $what]
        ///
        #[doc = concat!("[`Op::", stringify!($op), "`], where `x` is this value and `y` the other one.")]
        ///
        /// ```
        #[doc = concat!("let value = unishape::expr::lazy(1).", stringify!($method), "(2);")]
        /// assert_eq!(value.compute()?.shape(), []);
        /// # Ok::<(), unishape::expr::ExprError>(())
        /// ```
        #[must_use]
        pub fn $method(self, y: impl Into<Lazy<'a>>) -> Lazy<'a> {
            Lazy::call(Op::$op, [self, y.into()])
        }
    };
    (@ $op:ident $method:ident 3 $what:literal) => {
        #[doc = $what]
        ///
        #[doc = concat!("[`Op::", stringify!($op), "`], of which this value is the first argument.")]
        ///
        /// ```
        #[doc = concat!("let value = unishape::expr::lazy(1).", stringify!($method), "(2, 3);")]
        /// assert_eq!(value.compute()?.shape(), []);
        /// # Ok::<(), unishape::expr::ExprError>(())
        /// ```
        #[must_use]
        pub fn $method(self, y: impl Into<Lazy<'a>>, z: impl Into<Lazy<'a>>) -> Lazy<'a> {
            Lazy::call(Op::$op, [self, y.into(), z.into()])
        }
    };
}
for_each_op!(methods);

macro_rules! reductions {
    ($($op:ident $method:ident $what:literal;)+) => {
        /// Reductions without options; [`reduce`](Lazy::reduce) has more.
        impl<'a> Lazy<'a> {
            $(
                #[doc = $what]
                ///
                #[doc = concat!("[`ReduceOp::", stringify!($op), "`] of some axes, or of all: `..`.")]
                ///
                /// ```
                /// let a = ndarray::arr2(&[[1.0, 2.0, 3.0]]);
                #[doc = concat!("let value = unishape::expr::lazy(&a).", stringify!($method), "(-1);")]
                /// assert_eq!(value.compute()?.shape(), [1]);
                /// # Ok::<(), unishape::expr::ExprError>(())
                /// ```
                #[must_use]
                pub fn $method(self, axes: impl Into<Axes>) -> Lazy<'a> {
                    self.reduce(Reduction::new(ReduceOp::$op).axes(axes))
                }
            )+
        }
    };
}
reductions! {
    Sum sum "Sum.";
    Prod prod "Product.";
    Min amin "Minimum; [`min`](Lazy::min) is element-wise.";
    Max amax "Maximum; [`max`](Lazy::max) is element-wise.";
    Mean mean "Arithmetic mean.";
    Var var "Variance.";
    Std std "Standard deviation.";
    Any any "Whether any element is true.";
    All all "Whether all elements are true.";
    CountNonzero count_nonzero "Number of elements that are not zero.";
    ArgMin argmin "Index of the first minimum.";
    ArgMax argmax "Index of the first maximum.";
    LogSumExp logsumexp "Logarithm of the sum of exponentials.";
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl From<$type> for Lazy<'_> {
            fn from(number: $type) -> Self {
                lazy(Scalar::from(number))
            }
        })+
    };
}
for_each_number!(numbers! Scalar,);

/// An array that is used as a lazy value.
impl<'a, S: Data<Elem: Element>, D: Dimension> From<&'a ArrayBase<S, D>> for Lazy<'a> {
    fn from(array: &'a ArrayBase<S, D>) -> Lazy<'a> {
        lazy(array)
    }
}

/// A tensor that is used as a lazy value.
impl<'a> From<&'a Tensor> for Lazy<'a> {
    fn from(tensor: &'a Tensor) -> Lazy<'a> {
        lazy(tensor)
    }
}

/// A view that is used as a lazy value.
impl<'a> From<TensorView<'a>> for Lazy<'a> {
    fn from(view: TensorView<'a>) -> Lazy<'a> {
        lazy(view)
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $op:ident),+) => {
        $(
            impl<'a, T: Into<Lazy<'a>>> ops::$Trait<T> for Lazy<'a> {
                type Output = Lazy<'a>;

                fn $method(self, other: T) -> Lazy<'a> {
                    Lazy::call(Op::$op, [self, other.into()])
                }
            }

            impl<'a, T: Into<Lazy<'a>>> ops::$Trait<T> for &Lazy<'a> {
                type Output = Lazy<'a>;

                fn $method(self, other: T) -> Lazy<'a> {
                    Lazy::call(Op::$op, [self.clone(), other.into()])
                }
            }

            // Not all numbers: of several integer types, the compiler could not choose one for a literal.
            operators!(@ $Trait $method $op, Lazy<'a>, f64, i32, bool);
            for_each_number!(operators! @ $Trait $method $op, &Lazy<'a>,);
        )+
    };
    (@ $Trait:ident $method:ident $op:ident, $Other:ty, $($type:ty),+) => {
        $(impl<'a> ops::$Trait<$Other> for $type {
            type Output = Lazy<'a>;

            fn $method(self, other: $Other) -> Lazy<'a> {
                Lazy::call(Op::$op, [self.into(), other.into()])
            }
        })+
    };
}
operators! {
    Add add Add,
    Sub sub Subtract,
    Mul mul Multiply,
    Div div Divide,
    Rem rem Remainder,
    BitAnd bitand And,
    BitOr bitor Or,
    BitXor bitxor Xor,
    Shl shl ShiftLeft,
    Shr shr ShiftRight
}

impl<'a> From<&Lazy<'a>> for Lazy<'a> {
    fn from(lazy: &Lazy<'a>) -> Lazy<'a> {
        lazy.clone()
    }
}

impl<'a> ops::Neg for &Lazy<'a> {
    type Output = Lazy<'a>;

    fn neg(self) -> Lazy<'a> {
        -self.clone()
    }
}

impl<'a> ops::Not for &Lazy<'a> {
    type Output = Lazy<'a>;

    fn not(self) -> Lazy<'a> {
        !self.clone()
    }
}

impl<'a> ops::Neg for Lazy<'a> {
    type Output = Lazy<'a>;

    fn neg(self) -> Lazy<'a> {
        Lazy::call(Op::Negative, [self])
    }
}

/// Inverts every bit; of booleans, the logical not.
impl<'a> ops::Not for Lazy<'a> {
    type Output = Lazy<'a>;

    fn not(self) -> Lazy<'a> {
        Lazy::call(Op::Invert, [self])
    }
}

#[cfg(test)]
mod tests {
    use super::lazy;
    use crate::expr::{ReduceOp, Reduction};
    use ndarray::{arr0, arr1, arr2};

    #[test]
    fn an_index_of_one_axis_counts_from_either_end() {
        let a = arr2(&[[1, 2, 3], [4, 5, 6]]);
        for axis in [1, -1] {
            assert_eq!(lazy(&a).index_axis(axis, ..2).compute().unwrap(), arr2(&[[1, 2], [4, 5]]).into());
            assert_eq!(lazy(&a).index_axis(axis, 0).compute().unwrap(), arr1(&[1, 4]).into());
        }
        for axis in [0, -2] {
            assert_eq!(lazy(&a).index_axis(axis, 1).compute().unwrap(), arr1(&[4, 5, 6]).into());
        }
        assert!(
            lazy(&a).index_axis(2, 0).compute().is_err() && lazy(&a).index_axis(-3, 0).compute().is_err()
        );
    }

    #[test]
    fn axes_are_swapped() {
        let a = ndarray::Array3::<u8>::zeros((2, 3, 4));
        assert_eq!(lazy(&a).swap_axes(0, -1).bind().unwrap().shape(), [4, 3, 2]);
    }

    #[test]
    fn only_elements_under_a_mask_are_reduced() {
        let a = arr1(&[1.0, -2.0, 3.0]);
        let mean = lazy(&a).reduce_where(Reduction::new(ReduceOp::Mean), lazy(&a).greater(0));
        assert_eq!(mean.compute().unwrap(), arr0(2.0).into());
    }
}
