//! Fused expressions over arrays whose types and ranks are known only at run time.
//!
//! An expression is parsed from text, or built from [lazy values](Lazy) with operators. It is computed in one
//! pass: every array is read once and the result is written once, for any number of operators. Intermediate
//! results stay in blocks that fit the L1 cache. Stretched arrays are not copied.
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
//! | operators, with Python's precedence, element-wise | `+ - * / // % **`, `< <= == != >= >`, `& \| ^ ~ << >>`, `and or not` |
//! | numbers | `12`, `1_000`, `0xff`, `2.5`, `1e-3`, `2j`, `true`, `pi`, `e`, `inf`, `nan` |
//! | functions: see [`Op`], with their names in NumPy, the Array API and C | `sqrt(x)`, `where(c, x, y)` |
//! | casts | `float32(x)`, `cast(x, float32)` |
//!
//! # Types
//!
//! Type promotion is that of NumPy 2. The common dtype of arrays is the smallest that holds them all. A scalar
//! takes the dtype of the arrays it is combined with, unless its kind is higher: `float32 + 2.5` is `float32`,
//! `int16 + 2.5` is `float64`. A function of scalars is a scalar. [`Typing::Strict`] converts nothing, as ONNX.
//!
//! - Integers wrap around. `//` and `%` of integers by 0 are 0.
//! - An integer to a negative power is the reciprocal of the power, rounded toward 0; for 0 it is 0.
//! - A shift by a negative number, or by at least the number of bits, shifts all bits out.
//! - Half precision is computed in single precision and rounded after every operator.

mod bind;
mod cache;
mod compile;
mod contiguous;
mod dag;
mod error;
mod graph;
mod lazy;
mod parse;
mod types;

pub use crate::numeric::Numeric;
pub use bind::{Bound, Value};
pub use cache::Expr;
pub use contiguous::ContiguousCall;
pub use dag::{Dag, Term, Topological};
pub use error::{ExprError, ExprErrorKind};
pub use lazy::{Lazy, lazy};
pub use types::Typing;
pub use unishape_kernels::{Op, Scalar};
