//! What can be wrong with an expression, shown where it is wrong.

use crate::error::Error;
use crate::notation::short_shape_text;
use crate::text;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Op;

/// What is wrong with an expression, and where in its text.
///
/// ```
/// use unishape::expr::Expr;
///
/// let error = Expr::parse("a * sqr(b)").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown function sqr; did you mean sqrt?\n  a * sqr(b)\n      ^^^"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExprError {
    problem: Problem,
    place: Option<(Arc<str>, Range<usize>)>,
}

/// What is wrong.
///
/// ```
/// use unishape::expr::{Expr, Problem};
///
/// let error = Expr::parse("sqrt(a, b)").unwrap_err();
/// assert!(matches!(error.problem(), Problem::Arguments { wanted: 1, given: 2, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// It looks like a number and is none.
    NotANumber(String),
    /// A sign that expressions do not have.
    NoSuchSign(char),
    /// Something else was to come here.
    Unexpected {
        /// What came; nothing at the end.
        found: String,
        /// What could have come.
        wanted: &'static str,
    },
    /// Too many parentheses, functions or signs within each other.
    TooDeep,
    /// `a < b < c`.
    Chained,
    /// `&&` or `||`.
    NotPython(&'static str),
    /// A parenthesis without its other half.
    NotClosed,
    /// A function that is not there.
    NoSuchFunction(String),
    /// An element type that is not there.
    NoSuchType(String),
    /// A function with too many or too few arguments.
    Arguments {
        /// Its name.
        name: String,
        /// How many it takes.
        wanted: usize,
        /// How many it was given.
        given: usize,
    },
    /// A name that nothing was given for.
    UnknownName {
        /// The name.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Something was given that the expression does not ask for.
    UnusedName {
        /// Its name.
        name: String,
        /// What the expression asks for.
        wanted: Vec<String>,
    },
    /// The same name was given twice.
    GivenTwice(String),
    /// More or fewer values than names.
    Values {
        /// How many values.
        given: usize,
        /// The names.
        names: Vec<String>,
    },
    /// A function does not take elements of these types.
    WrongType {
        /// The function.
        op: Op,
        /// The types of its arguments.
        types: Vec<DType>,
    },
    /// Types that have no common one.
    NoCommonType(Vec<DType>),
    /// Types that differ, where conversion is not wanted.
    DifferentTypes(Vec<DType>),
    /// A number that its type cannot hold.
    DoesNotFit {
        /// The number.
        number: String,
        /// The type.
        dtype: DType,
    },
    /// Elements that cannot be made into such of another type.
    NoCast {
        /// What they are.
        from: DType,
        /// What they were to be.
        to: DType,
    },
    /// Strings are not computed with.
    Strings,
    /// An output of another type than the result's.
    OutputType {
        /// The result's.
        result: DType,
        /// The output's.
        output: DType,
    },
    /// An output of another shape than the result's.
    OutputShape {
        /// The result's.
        result: Vec<usize>,
        /// The output's.
        output: Vec<usize>,
    },
    /// The shapes are incompatible, or the result is too large.
    Shapes(Error),
    /// The work was stopped.
    Stopped,
}

impl ExprError {
    pub(crate) fn new(problem: Problem, text: &Arc<str>, place: Range<usize>) -> ExprError {
        ExprError { problem, place: Some((text.clone(), place)) }
    }

    pub(crate) fn at(problem: Problem, place: Option<(&Arc<str>, Range<usize>)>) -> ExprError {
        ExprError { problem, place: place.map(|(text, place)| (text.clone(), place)) }
    }

    /// What is wrong.
    ///
    /// ```
    /// use unishape::expr::{Expr, Problem};
    ///
    /// let error = Expr::parse("(a").unwrap_err();
    /// assert_eq!(error.problem(), &Problem::NotClosed);
    /// ```
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Which bytes of the text are at fault, where the expression was read from one.
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert_eq!(Expr::parse("a + $").unwrap_err().place(), Some(4..5));
    /// ```
    pub fn place(&self) -> Option<Range<usize>> {
        self.place.as_ref().map(|(_, place)| place.clone())
    }
}

impl From<Problem> for ExprError {
    fn from(problem: Problem) -> ExprError {
        ExprError { problem, place: None }
    }
}

impl From<Error> for ExprError {
    fn from(error: Error) -> ExprError {
        Problem::Shapes(error).into()
    }
}

impl std::error::Error for ExprError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Shapes(error) => Some(error),
            _ => None,
        }
    }
}

/// So many characters before the place are shown, and after it.
const CONTEXT: usize = 60;

/// What is wrong, and below it the line of the text with the place marked.
impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)?;
        let Some((text, place)) = &self.place else {
            return Ok(());
        };
        if let Problem::Shapes(Error::Incompatible(e1)) = &self.problem {
            let [a, b] = e1.inputs().map(|input| {
                let shape = e1.shapes().iter().find(|(inputs, _)| inputs.contains(&input));
                let shape = shape.map_or_else(String::new, |(_, shape)| short_shape_text(shape));
                format!("{} ({shape})", e1.name(input))
            });
            write!(f, "\n\n{a} with {b}:")?;
        }
        let from = text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
        let to = text[place.start..].find('\n').map_or(text.len(), |newline| place.start + newline);
        let marked = &text[place.start..place.end.min(to)];
        let marks = text::width(&text::truncate(marked, CONTEXT)).max(1);
        let (before, after) = (&text[from..place.start], &text[place.start + marked.len()..to]);
        let before = text::truncate_front(&text::sanitize(before), CONTEXT);
        let indent = text::width(&before);
        let (marked, after) = (text::truncate(marked, CONTEXT), text::truncate(after, CONTEXT));
        write!(f, "\n  {before}{marked}{after}\n  {:indent$}{:^<marks$}", "", "")
    }
}

/// So many characters of a name are shown.
const NAME: usize = 40;

/// More names than this are not all told.
const MOST_NAMES: usize = 12;

/// Names in a row: `a`, `a and b`, `a, b and c`.
fn list<T: fmt::Display>(names: &[T]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => one.to_string(),
        [first @ .., _] if first.len() >= MOST_NAMES => {
            let first: Vec<String> = first[..MOST_NAMES].iter().map(T::to_string).collect();
            format!("{} and {} more", first.join(", "), names.len() - MOST_NAMES)
        }
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(T::to_string).collect();
            format!("{} and {last}", most.join(", "))
        }
    }
}

/// `; did you mean sqrt?`, if one of the names is close to what was written.
fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let close = |name: &&str| {
        let distance = strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase());
        (distance <= 1 + name.len() / 4 && distance < name.len()).then_some(distance)
    };
    let nearest = names.into_iter().filter_map(|name| Some((close(&name)?, name))).min();
    nearest.map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}

/// A name that does not fit: the one that was meant, if one is close, or all that there are.
fn misnamed(
    f: &mut fmt::Formatter<'_>,
    problem: &str,
    name: &str,
    there_are: &str,
    names: &[String],
) -> fmt::Result {
    let meant = did_you_mean(name, names.iter().map(String::as_str));
    write!(f, "{problem} {}", text::truncate(name, NAME))?;
    match meant.as_str() {
        "" => {
            let names: Vec<String> = names.iter().map(|name| text::truncate(name, NAME)).collect();
            write!(f, "; {there_are} {}", list(&names))
        }
        meant => f.write_str(&text::truncate(meant, 2 * NAME)),
    }
}

/// What is wrong, in a sentence.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotANumber(text) => {
                write!(f, "{} is not a number; write 12, 2.5, 1e-3, 0xff or 2j", text::truncate(text, NAME))
            }
            Problem::NoSuchSign(sign) => {
                write!(f, "expressions have no {}", text::sanitize(&sign.to_string()))?;
                match sign {
                    '=' => f.write_str("; compare with =="),
                    '!' => f.write_str("; write not, or != for unequal"),
                    '[' | ']' => f.write_str("; indexing is not supported"),
                    '"' | '\'' => f.write_str("; strings are not supported"),
                    '.' => f.write_str("; call functions as sqrt(x), and cast as float32(x)"),
                    '×' | '·' => f.write_str("; multiply with *"),
                    '÷' => f.write_str("; divide with /"),
                    '−' | '–' => f.write_str("; subtract with -"),
                    '≤' => f.write_str("; write <="),
                    '≥' => f.write_str("; write >="),
                    '≠' => f.write_str("; write !="),
                    _ => Ok(()),
                }
            }
            Problem::Unexpected { found, wanted } if found.is_empty() => {
                write!(f, "unexpected end of expression: expected {wanted}")
            }
            Problem::Unexpected { found, wanted } => {
                write!(f, "unexpected {}: expected {wanted}", text::truncate(found, NAME))
            }
            Problem::TooDeep => f.write_str("nested too deeply; compute a part of it first"),
            Problem::Chained => f.write_str("comparisons do not chain; write a < b and b < c"),
            Problem::NotPython(sign) => {
                let word = if *sign == "&&" { "and" } else { "or" };
                write!(f, "expressions have no {sign}; write {word}")
            }
            Problem::NotClosed => f.write_str("this parenthesis is never closed"),
            Problem::NoSuchFunction(name) => {
                let names = Op::ALL.iter().flat_map(|op| op.names()).copied();
                let more = did_you_mean(name, names.chain(DType::ALL.iter().map(|dtype| dtype.name())));
                write!(f, "unknown function {}{more}", text::truncate(name, NAME))
            }
            Problem::NoSuchType(name) => {
                let names = DType::ALL.iter().filter(|&&dtype| dtype != DType::Str).map(|dtype| dtype.name());
                let more = did_you_mean(name, names.clone());
                let name = text::truncate(name, NAME);
                match more.as_str() {
                    "" => {
                        write!(f, "unknown dtype {name}; dtypes are {}", list(&names.collect::<Vec<_>>()))
                    }
                    more => write!(f, "unknown dtype {name}{more}"),
                }
            }
            Problem::Arguments { name, wanted, given } => {
                let plural = if *wanted == 1 { "" } else { "s" };
                write!(f, "{name} takes {wanted} argument{plural}, but {given} given")
            }
            Problem::UnknownName { name, known } if known.is_empty() => {
                write!(f, "no value for {}", text::truncate(name, NAME))
            }
            Problem::UnknownName { name, known } => misnamed(f, "no value for", name, "given:", known),
            Problem::UnusedName { name, wanted } => {
                misnamed(f, "the expression has no variable", name, "it has", wanted)
            }
            Problem::GivenTwice(name) => write!(f, "{} is given twice", text::truncate(name, NAME)),
            Problem::Values { given, names } => {
                let count = |number: usize, what: &str| match number {
                    1 => format!("1 {what}"),
                    _ => format!("{number} {what}s"),
                };
                let is = if *given == 1 { "is" } else { "are" };
                write!(f, "{} {is} given for {}", count(*given, "value"), count(names.len(), "name"))?;
                let names: Vec<String> = names.iter().map(|name| text::truncate(name, NAME)).collect();
                if names.is_empty() { Ok(()) } else { write!(f, ": {}", list(&names)) }
            }
            Problem::WrongType { op, types } => {
                let what = op.symbol().unwrap_or(op.name());
                write!(f, "{what} does not support {}", list(types))?;
                let is = |dtype: DType| types.contains(&dtype);
                match op {
                    Op::Subtract if is(DType::Bool) => f.write_str("; use ^ for exclusive or"),
                    Op::Negative if is(DType::Bool) => f.write_str("; use not or ~"),
                    Op::Xor => f.write_str("; the power is written **"),
                    Op::And | Op::Or | Op::Invert => {
                        write!(
                            f,
                            "; for booleans write {}",
                            match op {
                                Op::And => "and",
                                Op::Or => "or",
                                _ => "not",
                            }
                        )
                    }
                    _ => Ok(()),
                }
            }
            Problem::NoCommonType(types) => {
                write!(f, "{} have no common type; cast one, as in float64(x)", list(types))
            }
            Problem::DifferentTypes(types) => {
                write!(
                    f,
                    "{} differ, and strict typing converts nothing; cast one, as in float64(x)",
                    list(types)
                )
            }
            Problem::DoesNotFit { number, dtype } => {
                write!(f, "{number} does not fit {dtype}; use a wider type, as in int64(x) or float64(x)")
            }
            Problem::NoCast { from, to } => write!(f, "cannot cast {from} to {to}"),
            Problem::Strings => f.write_str("strings are not supported in expressions"),
            Problem::OutputType { result, output } => {
                write!(
                    f,
                    "the result has dtype {result}, but the output has dtype {output}; cast the result, as in {output}(…)"
                )
            }
            Problem::OutputShape { result, output } => {
                write!(
                    f,
                    "the result has shape {}, but the output has shape {}",
                    short_shape_text(result),
                    short_shape_text(output)
                )
            }
            Problem::Shapes(error) => error.fmt(f),
            Problem::Stopped => f.write_str("stopped"),
        }
    }
}
