//! Diagrams of broadcasting and of reductions, as text, SVG and interactive HTML.
//!
//! Each input X is drawn in three forms: as it is, with 1s added on the left (Y), and stretched (Z). Colors show
//! which cell of Z reads which element of X.
//!
//! ```
//! use unishape::Rules;
//! use unishape_explain::Explanation;
//!
//! let explanation = Explanation::new(Rules::STANDARD, &[&[3, 1][..], &[4]])?;
//! assert_eq!(explanation.shape(), [3, 4]);
//! println!("{}", explanation.text(true, 80));
//! # Ok::<(), unishape::Error>(())
//! ```
//!
//! [`ReductionExplanation`] shows which axes of an array collapse, in the same style.
//!
//! The size of a diagram is bounded. A long dimension is drawn by its first and last indices, with its size
//! written along it. More than four dimensions become a table, and of many inputs the first few are shown.
//!
//! | module | contents |
//! |---|---|
//! | `diagram` | what every format draws: arrays, steps, sentences |
//! | `explanation` | [`Explanation`]: inputs, forms, cells |
//! | `broadcast` | its diagram |
//! | `dim_names` | names of dimensions, which stand for their sizes |
//! | `reduction` | [`ReductionExplanation`] and its diagram |
//! | `layout` | which cells of a shape are drawn, and where |
//! | `size` | sizes written along shortened axes |
//! | `words` | sentences about broadcasting |
//! | `text`, `svg`, `html` | the three formats |
//! | `palette` | colors of the SVG file and the page |
//! | `measure` | terminal columns, wrapped paragraphs |

mod broadcast;
mod diagram;
mod dim_names;
mod explanation;
mod html;
mod layout;
mod measure;
mod palette;
mod reduction;
mod size;
mod svg;
mod text;
mod words;

pub use explanation::Explanation;
pub use reduction::ReductionExplanation;

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
