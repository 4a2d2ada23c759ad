//! Elementary functions of `f32`, `f64` and complex slices, written to be vectorized.
//!
//! ```
//! use unishape_vecmath::{BinaryFunction, Exp, Pow, UnaryFunction};
//!
//! let x: Vec<f32> = (0..1000).map(|i| i as f32 * 0.01).collect();
//! let mut y = vec![0.0; 1000];
//! Exp::map(&x, &mut y); // with AVX-512 or AVX2, if the CPU has it
//! assert_eq!(y[0], 1.0);
//!
//! Pow::map(&x, &[2.0], &mut y); // a single element is a broadcast scalar
//! assert_eq!(y[200], 4.0);
//!
//! assert_eq!(Exp::eval(f64::NEG_INFINITY), 0.0); // one number
//! ```
//!
//! Each function is a type that implements [`UnaryFunction`] or [`BinaryFunction`] for `f32` and `f64`, most
//! of them also for `Complex<f32>` and `Complex<f64>`. Errors of real functions are at most 1.5 units
//! in the last place; `docs/accuracy.md` lists the measured maximum of each.
//!
//! # Design
//!
//! Function bodies have no branches, no tables and no calls: they compute all cases and select one. The
//! compiler then computes 4 to 16 arguments at a time. `mul_add` rounds once on every CPU, by an instruction
//! or by a slow call, so results have the same bits everywhere.
//!
//! A few arguments would make a body slow for all others, for example sines of huge numbers. They take a
//! fallback, one by one, after the vectorized loop.
//!
//! Polynomials are the best of their degree for the error of the result (Remez algorithm, with 300 bits); a
//! comment at each one gives its error. Most functions of `f32` are computed in `f64` with shorter
//! polynomials, and rounded once.
//!
//! | module | contents |
//! |---|---|
//! | `apply` | the traits, and loops over slices |
//! | `double_double` | double-double arithmetic, polynomials, powers of two |
//! | `exp` | [`Exp`], [`Exp2`], [`Expm1`], [`Sigmoid`] |
//! | `log` | [`Log`], [`Log2`], [`Log10`], [`Log1p`] |
//! | `trig` | [`Sin`], [`Cos`], [`Tan`] |
//! | `inverse_trig` | [`Asin`], [`Acos`], [`Atan`], [`Atan2`] |
//! | `hyperbolic` | [`Sinh`], [`Cosh`], [`Tanh`], [`Asinh`], [`Acosh`], [`Atanh`] |
//! | `root` | [`Cbrt`], [`Hypot`] |
//! | `power` | [`Pow`] |
//! | `logaddexp` | [`Logaddexp`] |
//! | `erf` | [`Erf`] |
//! | `single` | [`Exp`], [`Sigmoid`], [`Tanh`] and [`Erf`] of `f32` |
//! | [`complex`] | most of these for complex numbers, and [`Sqrt`](complex::Sqrt) and [`Sign`](complex::Sign) |

mod apply;
pub mod complex;
mod double_double;
mod erf;
mod exp;
mod hyperbolic;
mod inverse_trig;
mod log;
mod logaddexp;
mod power;
mod root;
mod single;
mod trig;

pub use apply::{BinaryFunction, UnaryFunction, apply_binary, apply_unary};
pub use erf::Erf;
pub use exp::{Exp, Exp2, Expm1, Sigmoid};
pub use hyperbolic::{Acosh, Asinh, Atanh, Cosh, Sinh, Tanh};
pub use inverse_trig::{Acos, Asin, Atan, Atan2};
pub use log::{Log, Log1p, Log2, Log10};
pub use logaddexp::Logaddexp;
pub use power::Pow;
pub use root::{Cbrt, Hypot};
pub use trig::{Cos, Sin, Tan};

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
