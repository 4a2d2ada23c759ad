//! Expressions built from values by operators and methods.

use super::bind::{Bound, Value, Values};
use super::compile::{InputType, compile};
use super::dag::{Dag, Term};
use super::error::ExprError;
use super::graph::{Graph, Node, NodeId};
use super::types::Typing;
use crate::tensor::Tensor;
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
        let (mut graph, mut values) = (Graph::default(), Values::new());
        let order = self.0.topological();
        for node in order.iter() {
            let at = |input: &Dag<Value<'a>>| order.position(input) as NodeId;
            graph.nodes.push(match node.term() {
                Term::Scalar(scalar) | Term::Leaf(&Value::Scalar(scalar)) => Node::Scalar(scalar),
                Term::Leaf(value) => {
                    values.push(value.clone());
                    graph.names.push(format!("array {}", values.len()));
                    Node::Variable(values.len() as u32 - 1)
                }
                Term::Call(op, inputs) => Node::Call(op, inputs.iter().map(at).collect()),
                Term::Cast(dtype, input) => Node::Cast(dtype, at(input)),
            });
        }
        (graph, values)
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

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl From<$type> for Lazy<'_> {
            fn from(number: $type) -> Self {
                lazy(Scalar::from(number))
            }
        })+
    };
}
numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

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

            operators!(@ $Trait $method $op f64 i32 bool);
        )+
    };
    (@ $Trait:ident $method:ident $op:ident $($type:ident)+) => {
        $(impl<'a> ops::$Trait<Lazy<'a>> for $type {
            type Output = Lazy<'a>;

            fn $method(self, other: Lazy<'a>) -> Lazy<'a> {
                Lazy::call(Op::$op, [self.into(), other])
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
