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

#[cfg(test)]
mod tests {
    use super::Literal;
    use crate::Arange;
    use ndarray::arr1;
    use unishape::expr::Scalar;

    #[test]
    fn values_are_numbers_ranges_or_lists() {
        let range = Arange::parse("0:3").expect("a range").expect("a valid range");
        for (text, expected) in [
            ("2", Some(Literal::Scalar(Scalar::Int(2)))),
            (" +2.5 ", Some(Literal::Scalar(Scalar::Float(2.5)))),
            ("0:3", Some(Literal::Range(range))),
            (" [1, 2]", Some(Literal::List(arr1(&[1i64, 2]).into()))),
            ("a.npy", None),
            ("", None),
        ] {
            assert_eq!(Literal::parse(text), Ok(expected), "{text}");
        }
        assert_eq!(Literal::parse("[1, 2"), Err("unclosed bracket".into()));
        assert_eq!(Literal::parse("0:1:0"), Err("the step of a range must not be 0".into()));
    }
}
