//! Diagrams of broadcasting, as text, SVG and interactive HTML.
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
//! The size of a diagram is bounded. A long dimension is drawn by its first and last indices, with its size
//! written along it. More than four dimensions become a table, and of many inputs the first few are shown.
//!
//! | module | contents |
//! |---|---|
//! | `explanation` | [`Explanation`]: inputs, forms, cells |
//! | `layout` | which cells of a shape are drawn, and where |
//! | `size` | sizes written along shortened axes |
//! | `words` | sentences, the same in every format |
//! | `text`, `svg`, `html` | the three formats |
//! | `palette` | colors of the SVG file and the page |
//! | `measure` | terminal columns, wrapped paragraphs |

mod explanation;
mod html;
mod layout;
mod measure;
mod palette;
mod size;
mod svg;
mod text;
mod words;

pub use explanation::Explanation;
