//! A value that is typed: a number, a range or a list.

use crate::list;
use crate::range::Arange;
use unishape::Tensor;
use unishape::expr::Scalar;

/// A number, a range or a list of numbers.
///
/// ```
/// use unishape_array_text::Literal;
///
/// assert!(matches!(Literal::parse("2.5"), Ok(Some(Literal::Scalar(_)))));
/// assert!(matches!(Literal::parse("0:10x1"), Ok(Some(Literal::Range(_)))));
/// assert!(matches!(Literal::parse("[[1, 2], [3, 4]]"), Ok(Some(Literal::List(_)))));
/// assert_eq!(Literal::parse("a.npy"), Ok(None));
/// assert_eq!(Literal::parse("[1, 2"), Err("unclosed bracket".into()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A number, which takes the dtype of the arrays.
    Scalar(Scalar),
    /// `0:10`, `0:1:0.1` or `0:10x1`.
    Range(Arange),
    /// `[1, 2, 3]`; nested lists are rows.
    List(Tensor),
}

impl Literal {
    /// Parses a value; `None` if it is neither a number nor a range nor a list.
    ///
    /// ```
    /// # use unishape_array_text::Literal;
    /// assert!(matches!(Literal::parse(" +2j "), Ok(Some(Literal::Scalar(_)))));
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with a range or a list.
    pub fn parse(text: &str) -> Result<Option<Literal>, String> {
        let text = text.trim();
        if let Some(number) = Scalar::parse(text.strip_prefix('+').unwrap_or(text)) {
            return Ok(Some(Literal::Scalar(number)));
        }
        if text.starts_with('[') {
            return list::parse(text).map(Literal::List).map(Some);
        }
        Ok(Arange::parse(text).transpose()?.map(Literal::Range))
    }
}
