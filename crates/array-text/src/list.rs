//! Small arrays: `[1, 2, 3]`, `[[1.5], [2.5]]`.

use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use unishape::Tensor;
use unishape::expr::Scalar;
use unishape::text::truncate;

/// Errors quote at most this many characters.
const MAX_QUOTED: usize = 40;

/// The deepest nesting of lists.
const MAX_DEPTH: usize = 64;

/// Parses a list of numbers, or of lists of the same shape.
///
/// The dtype is the first of `bool`, `int64`, `float64` and `complex128` that represents all numbers.
pub(crate) fn parse(text: &str) -> Result<Tensor, String> {
    let mut parser = Parser { rest: text, shape: Vec::new(), numbers: Vec::new() };
    parser.list(0)?;
    if !parser.rest.trim().is_empty() {
        let rest = truncate(parser.rest.trim(), MAX_QUOTED);
        return Err(format!("unexpected '{rest}' after the end of the list"));
    }
    let shape: Vec<usize> = parser.shape.into_iter().map(|size| size.unwrap_or(0)).collect();
    tensor(&shape, &parser.numbers)
}

struct Parser<'t> {
    rest: &'t str,
    /// The length of the lists at each depth, known once one is complete.
    shape: Vec<Option<usize>>,
    numbers: Vec<Scalar>,
}

impl Parser<'_> {
    /// Skips whitespace and this character, if it comes next.
    fn take(&mut self, expected: char) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Parses a list.
    fn list(&mut self, depth: usize) -> Result<(), String> {
        if !self.take('[') {
            return Err("a list must not mix numbers and lists".into());
        }
        if depth == MAX_DEPTH {
            return Err(format!("lists are nested more than {MAX_DEPTH} deep"));
        }
        if depth == self.shape.len() {
            // Earlier numbers were less deep.
            if !self.numbers.is_empty() {
                return Err("a list must not mix numbers and lists".into());
            }
            self.shape.push(None);
        }
        let mut length = 0;
        while !self.take(']') {
            if length > 0 && !self.take(',') {
                return Err(match self.rest.trim_start() {
                    "" => "unclosed bracket".into(),
                    rest => format!("unexpected '{}': expected a comma or ]", truncate(rest, MAX_QUOTED)),
                });
            }
            match self.rest.trim_start().starts_with('[') {
                true => self.list(depth + 1)?,
                false => self.number(depth)?,
            }
            length += 1;
        }
        match self.shape[depth].replace(length) {
            Some(before) if before != length => {
                Err(format!("lists of different lengths: {before} and {length}"))
            }
            _ => Ok(()),
        }
    }

    fn number(&mut self, depth: usize) -> Result<(), String> {
        if depth + 1 != self.shape.len() {
            return Err("a list must not mix numbers and lists".into());
        }
        let rest = self.rest.trim_start();
        let end = rest.find([',', ']', '[']).unwrap_or(rest.len());
        let word = rest[..end].trim();
        let number = Scalar::parse(word).ok_or_else(|| match word {
            "" => "missing number".into(),
            word => format!("'{}' is not a number", truncate(word, MAX_QUOTED)),
        })?;
        self.numbers.push(number);
        self.rest = &rest[end..];
        Ok(())
    }
}

/// The tensor of these numbers, in one dtype.
fn tensor(shape: &[usize], numbers: &[Scalar]) -> Result<Tensor, String> {
    let is = |kind: fn(&Scalar) -> bool| numbers.iter().any(kind);
    if is(|number| matches!(number, Scalar::Complex(_))) {
        return array(shape, numbers, |number| Ok(complex(number))).map(Tensor::from);
    }
    if numbers.is_empty() || is(|number| matches!(number, Scalar::Float(_))) {
        return array(shape, numbers, |number| Ok(complex(number).re)).map(Tensor::from);
    }
    if is(|number| matches!(number, Scalar::Int(_))) {
        return array(shape, numbers, |number| match number {
            Scalar::Bool(bool) => Ok(i64::from(*bool)),
            Scalar::Int(int) => i64::try_from(*int).map_err(|_| format!("{int} does not fit int64")),
            other => Err(format!("{other} is not an integer")),
        })
        .map(Tensor::from);
    }
    array(shape, numbers, |number| Ok(*number == Scalar::Bool(true))).map(Tensor::from)
}

fn complex(number: &Scalar) -> Complex<f64> {
    match number {
        Scalar::Bool(bool) => f64::from(u8::from(*bool)).into(),
        Scalar::Int(int) => (*int as f64).into(),
        Scalar::Float(float) => (*float).into(),
        Scalar::Complex(complex) => *complex,
    }
}

fn array<T>(
    shape: &[usize],
    numbers: &[Scalar],
    element: impl Fn(&Scalar) -> Result<T, String>,
) -> Result<ArrayD<T>, String> {
    let elements = numbers.iter().map(element).collect::<Result<Vec<T>, _>>()?;
    ArrayD::from_shape_vec(IxDyn(shape), elements).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use ndarray::{arr1, arr2, arr3};
    use num_complex::Complex;

    #[test]
    fn lists_are_parsed() {
        assert_eq!(parse("[1,2,-3]"), Ok(arr1(&[1i64, 2, -3]).into()));
        assert_eq!(parse(" [ [1.5 , 2] , [3, 4] ] "), Ok(arr2(&[[1.5, 2.0], [3.0, 4.0]]).into()));
        assert_eq!(parse("[[[true]], [[false]]]"), Ok(arr3(&[[[true]], [[false]]]).into()));
        assert_eq!(parse("[1, 2j]"), Ok(arr1(&[Complex::new(1.0, 0.0), Complex::new(0.0, 2.0)]).into()));
        assert_eq!(parse("[true, 2]"), Ok(arr1(&[1i64, 2]).into()));
        assert_eq!(parse("[pi, inf]"), Ok(arr1(&[std::f64::consts::PI, f64::INFINITY]).into()));
        assert_eq!(parse("[]"), Ok(arr1::<f64>(&[]).into()));
        assert_eq!(parse("[[],[]]").map(|tensor| tensor.shape().to_vec()), Ok(vec![2, 0]));
    }

    #[test]
    fn invalid_lists_are_errors() {
        for (text, problem) in [
            ("[1,", "missing number"),
            ("[1", "unclosed bracket"),
            ("[1 2]", "'1 2' is not a number"),
            ("[1,,2]", "missing number"),
            ("[one]", "'one' is not a number"),
            ("[1] 2", "unexpected '2' after the end of the list"),
            ("[[1], [2, 3]]", "lists of different lengths: 1 and 2"),
            ("[[1], 2]", "a list must not mix numbers and lists"),
            ("[1, [2]]", "a list must not mix numbers and lists"),
            ("[[1][2]]", "unexpected '[2]]': expected a comma or ]"),
            ("[9223372036854775808]", "9223372036854775808 does not fit int64"),
        ] {
            assert_eq!(parse(text), Err(problem.into()), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn errors_quote_the_start_of_what_is_wrong() {
        let long = "x".repeat(100);
        let quoted = format!("'{}…'", "x".repeat(39));
        for text in [format!("[{long}]"), format!("[1]{long}"), format!("[[1]{long}]")] {
            let error = parse(&text).expect_err("an error");
            assert!(error.contains(&quoted), "{error}");
        }
        assert_eq!(parse("[\u{1b}[1m]"), Err("'\u{fffd}' is not a number".into()));
    }
}
