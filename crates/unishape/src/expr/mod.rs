//! Fused expressions over arrays whose types and ranks are known only at run time.
//!
//! An expression is read from text, or built from [lazy values](Lazy) by operators. It is computed in one
//! pass: every array is read once and the result written once, however many operators there are, and what
//! is between them stays in blocks that fit the first cache. Nothing is stretched in memory.
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
//! # What can be written
//!
//! Operators are Python's, in Python's order: `+ - * / // % **`, the comparisons, `& | ^ ~ << >>`, and
//! `and or not`, element by element. Numbers are `12`, `1_000`, `0xff`, `2.5`, `1e-3`, `2j`, `true`, `pi`,
//! `e`, `inf` and `nan`. `float32(x)` and `cast(x, float32)` change the type. [`Op`] lists the functions, with
//! their names in NumPy, the Array API and C.
//!
//! # Types
//!
//! As NumPy 2 has them: arrays meet at the smallest type that holds them all, and a written number takes the
//! type of the arrays it meets, unless it is of another kind: `int16 + 2.5` is `float64`, `float32 + 2.5` is
//! `float32`. What only numbers go into is a number itself. [`Typing::Strict`] converts nothing, as ONNX.
//!
//! Integers wrap. Division of integers by 0 gives 0, with `//`, `%` and the like. An integer to a negative
//! power is 1 over the power, rounded toward 0; 0 gives 0. A shift by more bits than there are, or by a negative number, shifts all bits
//! out. Half precision is computed in single precision and rounded after every operator.

mod bind;
mod cache;
mod compile;
mod dag;
mod error;
mod graph;
mod lazy;
mod parse;
mod types;

pub use crate::numeric::Numeric;
pub use bind::{Bound, Value};
pub use cache::Expr;
pub use dag::{Dag, Term, Topological};
pub use error::{ExprError, Problem};
pub use lazy::{Lazy, lazy};
pub use types::Typing;
pub use unishape_kernels::{Op, Scalar};
