//! Expressions built in Rust: values that remember what was done to them.

use super::bind::{Bound, Value, Values};
use super::compile::{Given, compile};
use super::error::ExprError;
use super::graph::{At, Graph, Node};
use super::types::Typing;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Scalar;
use unishape_kernels::{Op, for_each_op};

/// A value that has not been computed yet: an array, a number, or what operators and functions made of
/// others.
///
/// Operators and methods only remember what is to be done; [`compute`](Lazy::compute) then does all of it in
/// one pass. A value that is used twice is computed once.
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
pub struct Lazy<'a>(Arc<Term<'a>>);

/// What a lazy value is.
#[derive(Debug)]
enum Term<'a> {
    Value(Value<'a>),
    Call(Op, SmallVec<[Lazy<'a>; 3]>),
    Cast(DType, Lazy<'a>),
}

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
    Lazy(Arc::new(Term::Value(value.into())))
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
    pub fn call(op: Op, from: impl IntoIterator<Item = Lazy<'a>>) -> Lazy<'a> {
        let from: SmallVec<[Lazy<'a>; 3]> = from.into_iter().collect();
        assert!(from.len() == op.arity(), "{} takes {} arguments", op.name(), op.arity());
        Lazy(Arc::new(Term::Call(op, from)))
    }

    /// The elements as those of another type.
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
        Lazy(Arc::new(Term::Cast(dtype, self)))
    }

    /// Settles the result's type and shape.
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
    /// Where types or shapes are incompatible.
    pub fn bind(&self) -> Result<Bound<'a>, ExprError> {
        self.bind_typed(Typing::Promote)
    }

    /// The same with other rules for types.
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
    /// Where types or shapes are incompatible.
    pub fn bind_typed(&self, typing: Typing) -> Result<Bound<'a>, ExprError> {
        let (graph, values) = self.flat();
        let given: Vec<Given> = values.iter().map(Value::given).collect();
        let compiled = Arc::new(compile(&graph, &given, typing)?);
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
    /// Where types or shapes are incompatible, or there is no memory for the result.
    pub fn compute(&self) -> Result<Tensor, ExprError> {
        self.bind()?.compute()
    }

    /// All that the value is made of, in an order in which it can be computed. Without recursion: a value may
    /// be a chain of a hundred thousand operators.
    fn flat(&self) -> (Graph, Values<'a>) {
        let (mut graph, mut values) = (Graph::default(), Values::new());
        let mut known: HashMap<*const Term<'a>, At> = HashMap::new();
        let mut open: Vec<(&Lazy<'a>, bool)> = vec![(self, false)];
        while let Some((lazy, is_ready)) = open.pop() {
            let key = Arc::as_ptr(&lazy.0);
            if known.contains_key(&key) {
                continue;
            }
            if !is_ready {
                open.push((lazy, true));
                open.extend(lazy.0.from().iter().rev().map(|from| (from, false)));
                continue;
            }
            let at = |from: &Lazy<'a>| known[&Arc::as_ptr(&from.0)];
            let node = match &*lazy.0 {
                Term::Value(Value::Scalar(number)) => Node::Scalar(*number),
                Term::Value(value) => {
                    values.push(value.clone());
                    graph.names.push(format!("array {}", values.len()));
                    Node::Name(values.len() as u32 - 1)
                }
                Term::Call(op, from) => Node::Call(*op, from.iter().map(at).collect()),
                Term::Cast(dtype, from) => Node::Cast(*dtype, at(from)),
            };
            known.insert(key, graph.nodes.len() as At);
            graph.nodes.push(node);
        }
        (graph, values)
    }
}

impl<'a> Term<'a> {
    fn from(&self) -> &[Lazy<'a>] {
        match self {
            Term::Value(_) => &[],
            Term::Call(_, from) => from,
            Term::Cast(_, from) => std::slice::from_ref(from),
        }
    }
}

/// Without recursion, as long chains want it.
impl Drop for Term<'_> {
    fn drop(&mut self) {
        fn children<'a>(term: &mut Term<'a>, into: &mut Vec<Lazy<'a>>) {
            match term {
                Term::Value(_) => {}
                Term::Call(_, from) => into.extend(from.drain(..)),
                Term::Cast(_, from) => into.push(std::mem::replace(from, lazy(0))),
            }
        }
        let mut open = Vec::new();
        children(self, &mut open);
        while let Some(Lazy(term)) = open.pop() {
            if let Some(mut term) = Arc::into_inner(term) {
                children(&mut term, &mut open);
            }
        }
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

/// Every bit the other way round; of booleans, what is not true.
impl<'a> ops::Not for Lazy<'a> {
    type Output = Lazy<'a>;

    fn not(self) -> Lazy<'a> {
        Lazy::call(Op::Invert, [self])
    }
}
