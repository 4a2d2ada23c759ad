//! Fused expressions over arrays whose types and ranks are known only at run time.
//!
//! An expression is parsed from text, or built from [lazy values](Lazy) with operators. Element-wise work is done in
//! one pass: every array is read once and the result is written once, for any number of operators. Intermediate results
//! stay in blocks that fit the L1 cache. Stretched arrays are not copied.
//!
//! ```
//! use ndarray::{arr0, arr1, arr2};
//! use unishape::expr::{Expr, Value};
//!
//! let x = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let (mean, spread) = (arr2(&[[2.0], [5.0]]), arr0(0.5));
//! let expr = Expr::parse("(x - mean) / sqrt(spread * 2)")?;
//! let result = expr.evaluate([
//!     ("x", Value::from(&x)),
//!     ("mean", Value::from(&mean)),
//!     ("spread", Value::from(&spread)),
//! ])?;
//! assert_eq!(result, arr2(&[[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]).into());
//! # Ok::<(), unishape::expr::ExprError>(())
//! ```
//!
//! # Syntax
//!
//! | syntax | examples |
//! |---|---|
//! | arithmetic and bitwise operators, with Python's precedence | `+ - * / // % **`, `& \| ^ ~ << >>` |
//! | comparisons and logical operators, element-wise | `< <= == != >= >`, `and or not` |
//! | numbers | `12`, `1_000`, `0xff`, `2.5`, `1e-3`, `2j`, `true`, `pi`, `e`, `inf`, `nan` |
//! | functions: see [`Op`], with their names in NumPy, the Array API and C | `sqrt(x)`, `where(c, x, y)` |
//! | casts | `float32(x)`, `cast(x, float32)`, `x.astype(float32)` |
//! | indices: integer literals, slices, `None` and `...` | `x[0]`, `x[1:, ::-1]`, `x[..., None, :]` |
//! | permuted axes | `x.T`, `transpose(x, (2, 0, 1))`, `swapaxes(x, 0, 1)` |
//! | other views | `expand_dims(x, 0)`, `squeeze(x)`, `broadcast_to(x, (3, 4))` |
//! | reductions: see [`ReduceOp`] | `sum(x)`, `mean(x, axis=(0, 1))`, `argmax(x, axis=0, keepdims=True)` |
//! | options of reductions, as in NumPy | `var(x, ddof=1)`, `sum(x, dtype=float64)`, `mean(x, where=x > 0)` |
//! | names of dimensions, for libraries such as xarray | `sum(x, dim="time")`, `max(x, dim=("lat", "lon"))` |
//! | normalizations | `softmax(x, axis=-1)`, `log_softmax(x)`, `layer_norm(x, weight=w, bias=b)`, `rms_norm(x)` |
//! | methods: functions of the array before the point | `x.sum(axis=1)`, `x.transpose(2, 0, 1)`, `(a + b).sqrt()` |
//!
//! `max(x)`, `max(x, 0)` and `max(x, axis=0)` are reductions, as in NumPy; so is `min`. With two expressions or more
//! than two arguments, as in `max(x, y)`, they are element-wise. `maximum` and `minimum` always are. `norm` is a
//! vector norm, of order 1, 2 or infinity.
//!
//! # Axes and reductions
//!
//! Reductions stand anywhere in an expression. Element-wise work before a reduction is fused with it, so that nothing
//! as large as the loops is kept in memory. Views cost nothing.
//!
//! ```
//! use ndarray::arr2;
//! use unishape::expr::Expr;
//!
//! // Index of the nearest point of `y`, for each point of `x`.
//! let (x, y) = (arr2(&[[0.0, 0.0], [5.0, 5.0]]), arr2(&[[4.0, 4.0], [1.0, 0.0], [9.0, 9.0]]));
//! let nearest = Expr::parse("argmin(sum((x[:, None] - y)**2, axis=-1), axis=1)")?;
//! assert_eq!(nearest.evaluate([("x", &x), ("y", &y)])?, ndarray::arr1(&[1i64, 0]).into());
//! # Ok::<(), unishape::expr::ExprError>(())
//! ```
//!
//! [`Bound::plan`] prints how an expression is computed. Sums are as accurate as pairwise ones and have the same bits
//! on any number of threads.
//!
//! # Types
//!
//! Type promotion is that of NumPy 2. The common dtype of arrays is the smallest that holds them all. A scalar
//! takes the dtype of the arrays it is combined with, unless its kind is higher: `float32 + 2.5` is `float32`,
//! `int16 + 2.5` is `float64`; but `bfloat16 + 2.5` is `float32`, as with ml_dtypes. A function of scalars is a scalar. [`Typing::Strict`] converts nothing, as ONNX.
//!
//! - Sums and products of integers are 64 bits wide, means and variances of integers are `float64`.
//! - Integers wrap around. `//` and `%` of integers by 0 are 0.
//! - An integer to a negative power is the reciprocal of the power, rounded toward 0; for 0 it is 0. (In Python it is
//!   an error, as in NumPy.)
//! - A shift by a negative number, or by at least the number of bits, shifts all bits out.
//! - Floating-point numbers that an integer dtype cannot hold become what NumPy makes of them on x86-64.
//! - Half precision is computed in single precision and rounded after every operator. Within a softmax or a normalization
//!   it is not rounded; integers are computed as floating-point numbers there.

mod axes;
mod bind;
mod bind_all;
mod cache;
mod compile;
mod composite;
mod contiguous;
mod dag;
mod describe;
mod error;
mod float_cast;
mod function;
mod graph;
mod group;
mod join;
mod joint_plan;
mod lazy;
mod lower;
mod pair;
mod parse;
mod pass;
mod reduce_op;
mod reduction;
mod stage;
mod staged;
#[cfg(feature = "cuda")]
mod stages;
mod typed;
mod types;
mod value;
mod view;

pub use crate::numeric::Numeric;
pub use bind::Bound;
pub use cache::Expr;
pub use contiguous::ContiguousCall;
pub use dag::{Dag, Term, Topological};
pub use error::{ExprError, ExprErrorKind};
pub use float_cast::FloatCast;
pub use lazy::{Lazy, lazy};
pub use pass::OutputMut;
pub use reduce_op::ReduceOp;
pub use reduction::{Axes, Reduction};
pub use types::Typing;
pub use unishape_engine::flags::{FloatFlags, watch as watch_flags};
pub use unishape_kernels::{Op, Scalar};
pub use value::Value;
pub use view::{IndexItem, View};
