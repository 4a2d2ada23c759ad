//! Arrays as text: what people type for small arrays, and how results are printed.
//!
//! The command and the playground of the site share them, so that both read and print the same.
//!
//! | module | contents |
//! |---|---|
//! | `literal` | [`Literal`]: a number, a range or a list |
//! | `range`, `list` | the last two |
//! | `format` | arrays printed much as NumPy prints them |

mod format;
mod list;
mod literal;
mod range;

pub use format::{IndexRanges, format_array, is_small};
pub use literal::Literal;
pub use range::Arange;

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
