//! Scalars: numbers without a dtype, which take the dtype of the arrays in the same operation.

use half::{bf16, f16};
use num_complex::Complex;
use std::fmt;

/// A number without a dtype.
///
/// A literal in an expression, or a value in place of an array.
///
/// It does not promote arrays to a wider dtype: with a `float32` array, 0.1 is a `float32`.
///
/// ```
/// # use unishape_kernels::Scalar;
/// assert_eq!(Scalar::from(2.5), Scalar::Float(2.5));
/// assert_eq!(Scalar::parse("0x1F"), Some(Scalar::Int(31)));
/// assert_eq!(Scalar::parse("x"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A number with an imaginary part.
    Complex(Complex<f64>),
}

impl Scalar {
    /// Parses a number as in expressions; `None` if it is not one.
    ///
    /// That is a [literal](Scalar::parse_literal) (`12`, `1_000`, `0xff`, `0b101`, `2.5`, `1e-3`, `.5`, `3j`)
    /// or a [name](Scalar::from_name) (`true`, `False`, `pi`, `e`, `inf`, `nan`), optionally with a minus
    /// sign.
    ///
    /// ```
    /// # use unishape_kernels::Scalar;
    /// assert_eq!(Scalar::parse("-1_000"), Some(Scalar::Int(-1000)));
    /// assert_eq!(Scalar::parse("1e3"), Some(Scalar::Float(1000.0)));
    /// assert_eq!(Scalar::parse("1e"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Scalar> {
        match text.strip_prefix('-') {
            Some(positive) if !positive.starts_with('-') => Scalar::parse(positive)?.negated(),
            Some(_) => None,
            None => Scalar::from_name(text).or_else(|| Scalar::parse_literal(text)),
        }
    }

    fn negated(self) -> Option<Scalar> {
        Some(match self {
            Scalar::Bool(_) => return None,
            Scalar::Int(int) => Scalar::Int(int.checked_neg()?),
            Scalar::Float(float) => Scalar::Float(-float),
            Scalar::Complex(complex) => Scalar::Complex(-complex),
        })
    }

    /// The number with this name.
    ///
    /// Names are `true`, `True`, `false`, `False`, `pi`, `e`, `inf` and `nan`.
    ///
    /// ```
    /// # use unishape_kernels::Scalar;
    /// assert_eq!(Scalar::from_name("inf"), Some(Scalar::Float(f64::INFINITY)));
    /// assert_eq!(Scalar::from_name("x"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Scalar> {
        Some(match name {
            "true" | "True" => Scalar::Bool(true),
            "false" | "False" => Scalar::Bool(false),
            "pi" => Scalar::Float(std::f64::consts::PI),
            "e" => Scalar::Float(std::f64::consts::E),
            "inf" => Scalar::Float(f64::INFINITY),
            "nan" => Scalar::Float(f64::NAN),
            _ => return None,
        })
    }

    /// Parses an unsigned literal.
    ///
    /// It starts with a digit, or with a point and a digit.
    ///
    /// ```
    /// # use unishape_kernels::Scalar;
    /// assert_eq!(Scalar::parse_literal(".5"), Some(Scalar::Float(0.5)));
    /// assert_eq!(Scalar::parse_literal("-1"), None);
    /// ```
    pub fn parse_literal(text: &str) -> Option<Scalar> {
        let digits = |text: &str| {
            let fits = text.split('_').all(|group| !group.is_empty());
            fits.then(|| text.replace('_', ""))
        };
        for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)] {
            if let Some(rest) = text.strip_prefix(prefix) {
                let digits = digits(rest)?;
                let is_plain = !digits.starts_with(['+', '-']);
                return is_plain.then(|| i128::from_str_radix(&digits, radix).ok())?.map(Scalar::Int);
            }
        }
        if !text.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if let Some(imaginary) = text.strip_suffix(['j', 'J']) {
            return Some(Scalar::Complex(Complex::new(0.0, digits(imaginary)?.parse().ok()?)));
        }
        let digits = digits(text)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return digits.parse().ok().map(Scalar::Int);
        }
        digits.parse().ok().map(Scalar::Float)
    }
}

/// As in expressions.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(bool) => bool.fmt(f),
            Scalar::Int(int) => int.fmt(f),
            Scalar::Float(float) if float.is_nan() => f.write_str("nan"),
            // With a decimal point, so that it is not read as an integer.
            Scalar::Float(float) => write!(f, "{float:?}"),
            Scalar::Complex(complex) => match (complex.re, complex.im) {
                (0.0, im) => write!(f, "{im}j"),
                (re, im) => write!(f, "({re}{im:+}j)"),
            },
        }
    }
}

macro_rules! from {
    ($variant:ident: $($type:ty),+) => {
        $(impl From<$type> for Scalar {
            fn from(value: $type) -> Scalar {
                Scalar::$variant(value.into())
            }
        })+
    };
}
from!(Bool: bool);
from!(Int: i8, i16, i32, i64, i128, u8, u16, u32, u64);
from!(Float: f16, bf16, f32, f64);
from!(Complex: Complex<f64>);

impl From<usize> for Scalar {
    fn from(value: usize) -> Scalar {
        Scalar::Int(value as i128) // no target has a `usize` of more than 64 bits
    }
}

impl From<isize> for Scalar {
    fn from(value: isize) -> Scalar {
        Scalar::Int(value as i128)
    }
}

impl From<Complex<f32>> for Scalar {
    fn from(value: Complex<f32>) -> Scalar {
        Scalar::Complex(Complex::new(value.re.into(), value.im.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar::{self, *};
    use num_complex::Complex as C;
    use std::f64::consts;

    #[test]
    fn numbers_are_parsed() {
        for (text, expected) in [
            ("12", Int(12)),
            ("-1_000", Int(-1000)),
            ("0xfF", Int(255)),
            ("-0B101", Int(-5)),
            ("0o17", Int(15)),
            ("2.5", Float(2.5)),
            ("-.5", Float(-0.5)),
            ("1e-3", Float(1e-3)),
            ("1_0.5", Float(10.5)),
            ("3j", Complex(C::new(0.0, 3.0))),
            ("-2.5J", Complex(C::new(0.0, -2.5))),
            ("true", Bool(true)),
            ("False", Bool(false)),
            ("pi", Float(consts::PI)),
            ("-e", Float(-consts::E)),
            ("-inf", Float(f64::NEG_INFINITY)),
        ] {
            assert_eq!(Scalar::parse(text), Some(expected), "{text}");
        }
        assert!(matches!(Scalar::parse("nan"), Some(Float(nan)) if nan.is_nan()));
    }

    #[test]
    fn imaginary_numbers_may_exceed_integers() {
        let large = C::new(0.0, 1e300);
        assert_eq!(Scalar::parse(&format!("1{}j", "0".repeat(300))), Some(Complex(large)));
        assert_eq!(Scalar::parse(&Complex(large).to_string()), Some(Complex(large)));
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for text in [
            "", "-", "--1", "x", "-true", "1__0", "_1", "1_", "0x", "0x_1", "0x-1", "0x+1", "0b2", "1.2.3",
            "j", ".", "..", "+1", "1 ", "infinity", "NaN", "1jj", "0xffj",
        ] {
            assert_eq!(Scalar::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_displayed_as_in_expressions() {
        for (scalar, text) in [
            (Bool(true), "true"),
            (Int(-7), "-7"),
            (Float(2.0), "2.0"),
            (Float(-0.25), "-0.25"),
            (Float(f64::NAN), "nan"),
            (Float(f64::INFINITY), "inf"),
            (Complex(C::new(0.0, 3.0)), "3j"),
            (Complex(C::new(1.5, -2.0)), "(1.5-2j)"),
        ] {
            assert_eq!(scalar.to_string(), text);
        }
    }
}
