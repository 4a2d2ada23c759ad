//! Errors of expressions, with messages that mark the span in the text.

use super::function::{ATTRIBUTES, Function};
use super::reduce_op::ReduceOp;
use crate::error::Error;
use crate::notation::short_shape_text;
use crate::text;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Op;

/// Error of an expression: its kind, and its span in the text.
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
    kind: ExprErrorKind,
    span: Option<(Arc<str>, Range<usize>)>,
}

/// What is wrong with an expression.
///
/// ```
/// use unishape::expr::{Expr, ExprErrorKind};
///
/// let error = Expr::parse("sqrt(a, b)").unwrap_err();
/// assert!(matches!(error.kind(), ExprErrorKind::Arguments { wanted: 1, given: 2, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExprErrorKind {
    /// An invalid number literal.
    NotANumber(String),
    /// A character that is not part of the syntax.
    NoSuchSign(char),
    /// An unexpected token.
    Unexpected {
        /// The token; empty at the end of the text.
        found: String,
        /// The expected tokens.
        wanted: &'static str,
    },
    /// Too many nested parentheses, function calls or unary operators.
    TooDeep,
    /// A chained comparison: `a < b < c`.
    Chained,
    /// `&&` or `||` instead of `and` or `or`.
    NotPython(&'static str),
    /// An opening parenthesis without a closing one.
    NotClosed,
    /// An opening bracket without a closing one.
    BracketNotClosed,
    /// An unknown function.
    NoSuchFunction(String),
    /// An unknown attribute or method.
    NoSuchAttribute(String),
    /// A method without parentheses.
    MethodNotCalled(String),
    /// The prefix of a Python module, such as `np.`.
    ModulePrefix {
        /// The module.
        module: String,
        /// The name after it.
        name: String,
    },
    /// An index that is not an integer literal, a slice, `None` or `...`.
    UnsupportedIndex(String),
    /// An index that no axis has: its text.
    IndexTooLarge(String),
    /// A slice with step 0.
    ZeroStep,
    /// An index with more than one `...`.
    TwoEllipses,
    /// `None` in place of a value.
    NoneAsValue,
    /// An unknown dtype.
    NoSuchType(String),
    /// A function call with a wrong number of arguments.
    Arguments {
        /// Name of the function.
        name: String,
        /// Number of arguments that it takes.
        wanted: usize,
        /// Number of arguments in the call.
        given: usize,
    },
    /// A function call without a required argument.
    MissingArgument {
        /// Name of the function.
        name: String,
        /// Name of the argument.
        argument: &'static str,
    },
    /// A function call with too many positional arguments.
    TooManyArguments {
        /// Name of the function.
        name: String,
        /// The largest number of positional arguments.
        most: usize,
        /// Arguments that are given by keyword only.
        keywords: Vec<&'static str>,
    },
    /// A positional argument after a keyword argument.
    PositionalAfterKeyword,
    /// An unknown keyword argument.
    NoSuchKeyword {
        /// Name of the function.
        name: String,
        /// The keyword.
        keyword: String,
        /// Keywords of the function.
        known: Vec<&'static str>,
    },
    /// An argument that is not one of the literals that the function takes.
    InvalidArgument {
        /// Name of the function.
        name: String,
        /// Name of the argument.
        argument: &'static str,
        /// The literals that the function takes.
        expected: &'static str,
    },
    /// A variable without a value.
    UnknownName {
        /// Name of the variable.
        name: String,
        /// Names that have values.
        known: Vec<String>,
    },
    /// A value without a variable in the expression.
    UnusedName {
        /// Name of the value.
        name: String,
        /// Variables of the expression.
        wanted: Vec<String>,
    },
    /// Two values for one variable, or for one argument of a function.
    GivenTwice(String),
    /// A wrong number of positional values.
    Values {
        /// Number of values.
        given: usize,
        /// Variables of the expression.
        names: Vec<String>,
    },
    /// A function that does not support these dtypes.
    WrongType {
        /// The function.
        op: Op,
        /// Dtypes of its arguments.
        types: Vec<DType>,
    },
    /// Dtypes without a common dtype.
    NoCommonType(Vec<DType>),
    /// Different dtypes under [`Typing::Strict`](super::Typing::Strict).
    DifferentTypes(Vec<DType>),
    /// A number that its dtype cannot hold.
    DoesNotFit {
        /// The number.
        number: String,
        /// The dtype.
        dtype: DType,
    },
    /// An unsupported cast.
    NoCast {
        /// Dtype of the operand.
        from: DType,
        /// Dtype of the cast.
        to: DType,
    },
    /// Strings, which expressions do not support.
    Strings,
    /// An output whose dtype is not that of the result.
    OutputType {
        /// Dtype of the result.
        result: DType,
        /// Dtype of the output.
        output: DType,
    },
    /// An output whose shape is not that of the result.
    OutputShape {
        /// Shape of the result.
        result: Vec<usize>,
        /// Shape of the output.
        output: Vec<usize>,
    },
    /// An axis that an array does not have.
    Axis {
        /// The axis.
        axis: i64,
        /// Number of dimensions of the array.
        rank: usize,
    },
    /// An axis that is given twice.
    RepeatedAxis(i64),
    /// A permutation that does not have all axes.
    Permutation {
        /// Number of axes that are given.
        given: usize,
        /// Number of dimensions of the array.
        rank: usize,
    },
    /// A squeezed axis whose size is not 1.
    Squeeze {
        /// The axis.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// More indices than dimensions.
    TooManyIndices {
        /// Number of indices.
        given: usize,
        /// Number of dimensions of the array.
        rank: usize,
    },
    /// An index beyond the size of its axis.
    IndexOutOfBounds {
        /// The index.
        index: i64,
        /// The axis.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// A reduction of named dimensions, where arrays have none.
    NamedDims(ReduceOp),
    /// A view or a reduction where only element-wise expressions are supported.
    NotElementWise,
    /// A reduction without a neutral element of no elements.
    EmptyReduction(ReduceOp),
    /// A reduction with a mask that needs an initial value.
    NeedsInitial(ReduceOp),
    /// A mask of a reduction that has another dtype than `bool`.
    MaskType(DType),
    /// A reduction that does not support a dtype.
    ReductionType {
        /// The reduction.
        op: ReduceOp,
        /// The dtype.
        dtype: DType,
    },
    /// Incompatible shapes, or a result that is too large or cannot be allocated.
    Shapes(Error),
    /// The computation was cancelled.
    Stopped,
}

impl ExprError {
    pub(crate) fn new(kind: ExprErrorKind, text: &Arc<str>, span: Range<usize>) -> ExprError {
        ExprError { kind, span: Some((text.clone(), span)) }
    }

    pub(crate) fn at(kind: ExprErrorKind, span: Option<(&Arc<str>, Range<usize>)>) -> ExprError {
        ExprError { kind, span: span.map(|(text, span)| (text.clone(), span)) }
    }

    /// What is wrong.
    ///
    /// ```
    /// use unishape::expr::{Expr, ExprErrorKind};
    ///
    /// let error = Expr::parse("(a").unwrap_err();
    /// assert_eq!(error.kind(), &ExprErrorKind::NotClosed);
    /// ```
    pub fn kind(&self) -> &ExprErrorKind {
        &self.kind
    }

    /// Byte range of the error in the text, for expressions parsed from text.
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert_eq!(Expr::parse("a + $").unwrap_err().span(), Some(4..5));
    /// ```
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.as_ref().map(|(_, span)| span.clone())
    }

    /// The text of the expression, for expressions parsed from text.
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert_eq!(Expr::parse("a + $").unwrap_err().text(), Some("a + $"));
    /// ```
    pub fn text(&self) -> Option<&str> {
        self.span.as_ref().map(|(text, _)| &**text)
    }
}

impl From<ExprErrorKind> for ExprError {
    fn from(kind: ExprErrorKind) -> ExprError {
        ExprError { kind, span: None }
    }
}

impl From<Error> for ExprError {
    fn from(error: Error) -> ExprError {
        ExprErrorKind::Shapes(error).into()
    }
}

impl std::error::Error for ExprError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ExprErrorKind::Shapes(error) => Some(error),
            _ => None,
        }
    }
}

/// Characters of the text shown before and after the span, at most.
const MAX_CONTEXT: usize = 60;

/// The error, and below it the line of the text with the span marked.
impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        let Some((text, span)) = &self.span else {
            return Ok(());
        };
        // `min(x, 2)`, where a number is an axis, but not `x.min(2)` and `min(x, axis=2)`.
        if let (ExprErrorKind::Axis { axis, .. }, name @ ("min" | "max")) = (&self.kind, &text[span.clone()])
            && !text[..span.start].ends_with('.')
            && !text[span.end..].contains("axis")
        {
            let function = if name == "min" { "minimum" } else { "maximum" };
            let what = if name == "min" { "smaller" } else { "larger" };
            write!(f, "; the {what} of two values is {function}(x, {axis})")?;
        }
        if let ExprErrorKind::Shapes(Error::Incompatible(e1)) = &self.kind {
            let [a, b] = e1.inputs().map(|input| {
                let shape = e1.shapes().iter().find(|(inputs, _)| inputs.contains(&input));
                let shape = shape.map_or_else(String::new, |(_, shape)| short_shape_text(shape));
                format!("{} ({shape})", e1.name(input))
            });
            write!(f, "\n\n{a} with {b}:")?;
        }
        let from = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
        let to = text[span.start..].find('\n').map_or(text.len(), |newline| span.start + newline);
        let marked = &text[span.start..span.end.min(to)];
        let marks = text::width(&text::truncate(marked, MAX_CONTEXT)).max(1);
        let (before, after) = (&text[from..span.start], &text[span.start + marked.len()..to]);
        let before = text::truncate_front(&text::sanitize(before), MAX_CONTEXT);
        let indent = text::width(&before);
        let (marked, after) = (text::truncate(marked, MAX_CONTEXT), text::truncate(after, MAX_CONTEXT));
        write!(f, "\n  {before}{marked}{after}\n  {:indent$}{:^<marks$}", "", "")
    }
}

/// Longest name in a message, in characters.
const MAX_NAME_LENGTH: usize = 40;

/// Largest number of names in a message.
const MAX_NAMES: usize = 12;

/// A list of names: `a`, `a and b`, `a, b and c`.
fn list<T: fmt::Display>(names: &[T]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => one.to_string(),
        [first @ .., _] if first.len() >= MAX_NAMES => {
            let first: Vec<String> = first[..MAX_NAMES].iter().map(T::to_string).collect();
            format!("{} and {} more", first.join(", "), names.len() - MAX_NAMES)
        }
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(T::to_string).collect();
            format!("{} and {last}", most.join(", "))
        }
    }
}

/// `; did you mean sqrt?`, if one of the names is near: `x1` is not near `y1`.
fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let close = |name: &&str| {
        let distance = strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase());
        let length = written.chars().count().max(name.chars().count());
        // At most a third of the characters differ.
        (3 * distance <= length).then_some(distance)
    };
    let nearest = names.into_iter().filter_map(|name| Some((close(&name)?, name))).min();
    nearest.map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}

/// Writes a problem with a name, and a similar name from `names`, or all of them if none is similar.
fn write_unknown_name(
    f: &mut fmt::Formatter<'_>,
    problem: &str,
    name: &str,
    introduction: &str,
    names: &[String],
) -> fmt::Result {
    let suggestion = did_you_mean(name, names.iter().map(String::as_str));
    write!(f, "{problem} {}", text::truncate(name, MAX_NAME_LENGTH))?;
    match suggestion.as_str() {
        "" => {
            let names: Vec<String> = names.iter().map(|name| text::truncate(name, MAX_NAME_LENGTH)).collect();
            write!(f, "; {introduction} {}", list(&names))
        }
        suggestion => f.write_str(&text::truncate(suggestion, 2 * MAX_NAME_LENGTH)),
    }
}

/// `1 dimension`, `2 dimensions`.
fn dimensions(rank: usize) -> String {
    if rank == 1 { "1 dimension".into() } else { format!("{rank} dimensions") }
}

/// The error as a sentence.
impl fmt::Display for ExprErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExprErrorKind::NotANumber(text) => {
                write!(
                    f,
                    "{} is not a number; write 12, 2.5, 1e-3, 0xff or 2j",
                    text::truncate(text, MAX_NAME_LENGTH)
                )
            }
            ExprErrorKind::NoSuchSign(character) => {
                match character.is_control() {
                    true => write!(f, "expressions have no U+{:04X}", u32::from(*character))?,
                    false => write!(f, "expressions have no {}", text::sanitize(&character.to_string()))?,
                }
                match character {
                    '=' => f.write_str("; compare with =="),
                    '!' => f.write_str("; write not, or != for unequal"),
                    '"' | '\'' => f.write_str("; only dimensions have names in quotes, as in dim=\"time\""),
                    '×' | '·' => f.write_str("; multiply with *"),
                    '÷' => f.write_str("; divide with /"),
                    '−' | '–' => f.write_str("; subtract with -"),
                    '≤' => f.write_str("; write <="),
                    '≥' => f.write_str("; write >="),
                    '≠' => f.write_str("; write !="),
                    _ => Ok(()),
                }
            }
            ExprErrorKind::Unexpected { found, wanted } if found.is_empty() => {
                write!(f, "unexpected end of expression: expected {wanted}")
            }
            ExprErrorKind::Unexpected { found, .. } if found == "if" => {
                f.write_str("expressions have no if; for a if c else b write where(c, a, b)")
            }
            ExprErrorKind::Unexpected { found, wanted } => {
                write!(f, "unexpected {}: expected {wanted}", text::truncate(found, MAX_NAME_LENGTH))
            }
            ExprErrorKind::TooDeep => f.write_str("nested too deeply; compute a part of it first"),
            ExprErrorKind::Chained => f.write_str("comparisons do not chain; write a < b and b < c"),
            ExprErrorKind::NotPython(symbol) => {
                let word = if *symbol == "&&" { "and" } else { "or" };
                write!(f, "expressions have no {symbol}; write {word}")
            }
            ExprErrorKind::NotClosed => f.write_str("this parenthesis is never closed"),
            ExprErrorKind::BracketNotClosed => f.write_str("this bracket is never closed"),
            ExprErrorKind::NoSuchFunction(name) => {
                let more = did_you_mean(name, Function::names());
                write!(f, "unknown function {}{more}", text::truncate(name, MAX_NAME_LENGTH))
            }
            // Its arguments have another order as a method of other libraries.
            ExprErrorKind::NoSuchAttribute(name) if name == "where" => {
                f.write_str("where is not a method; write where(condition, x, y)")
            }
            ExprErrorKind::NoSuchAttribute(name) if matches!(&name[..], "shape" | "size" | "ndim") => {
                write!(f, "expressions have no x.{name}; pass it as a value, as in n = x.{name}")
            }
            ExprErrorKind::NoSuchAttribute(name) => {
                let more = did_you_mean(name, ATTRIBUTES.into_iter().chain(Function::names()));
                write!(f, "unknown attribute {}", text::truncate(name, MAX_NAME_LENGTH))?;
                f.write_str(if more.is_empty() { "; write x.T, or call x.sum()" } else { &more })
            }
            ExprErrorKind::MethodNotCalled(name) => write!(f, "{name} is a method; call it as x.{name}()"),
            ExprErrorKind::ModulePrefix { module, name } => {
                let name = text::truncate(name, MAX_NAME_LENGTH);
                write!(f, "names have no prefix; write {name} instead of {module}.{name}")
            }
            ExprErrorKind::UnsupportedIndex(index) => write!(
                f,
                "unsupported index {}; use integer literals, slices, None and ..., as in x[0, 1:, None]",
                text::truncate(index, MAX_NAME_LENGTH)
            ),
            ExprErrorKind::IndexTooLarge(index) => {
                write!(f, "index {} is out of bounds for any axis", text::truncate(index, MAX_NAME_LENGTH))
            }
            ExprErrorKind::ZeroStep => f.write_str("the step of a slice must not be 0"),
            ExprErrorKind::TwoEllipses => f.write_str("an index has at most one ..."),
            ExprErrorKind::NoneAsValue => {
                f.write_str("None is not a value; write it in an index, as in x[:, None], or as axis=None")
            }
            ExprErrorKind::NoSuchType(name) => {
                let names = DType::ALL.iter().filter(|&&dtype| dtype != DType::Str).map(|dtype| dtype.name());
                let more = did_you_mean(name, names.clone());
                let name = text::truncate(name, MAX_NAME_LENGTH);
                match more.as_str() {
                    "" => {
                        write!(f, "unknown dtype {name}; dtypes are {}", list(&names.collect::<Vec<_>>()))
                    }
                    more => write!(f, "unknown dtype {name}{more}"),
                }
            }
            ExprErrorKind::Arguments { name, wanted, given } => {
                let plural = if *wanted == 1 { "" } else { "s" };
                write!(f, "{name} takes {wanted} argument{plural}, but {given} given")
            }
            ExprErrorKind::MissingArgument { name, argument } => {
                write!(f, "{name} needs the argument {argument}")
            }
            ExprErrorKind::TooManyArguments { name, most, keywords } => {
                let plural = if *most == 1 { "" } else { "s" };
                write!(f, "{name} takes at most {most} positional argument{plural}")?;
                match &keywords[..] {
                    [] => Ok(()),
                    keywords => write!(f, "; by keyword it takes {}", list(keywords)),
                }
            }
            ExprErrorKind::PositionalAfterKeyword => f.write_str(
                "positional argument after a keyword argument; write it before, or give its keyword",
            ),
            ExprErrorKind::NoSuchKeyword { name, known, .. } if known.is_empty() => {
                write!(f, "{name} takes no keyword arguments")
            }
            ExprErrorKind::NoSuchKeyword { name, keyword, known } => {
                let keyword = text::truncate(keyword, MAX_NAME_LENGTH);
                write!(f, "{name} has no keyword argument {keyword}; it takes {}", list(known))
            }
            ExprErrorKind::InvalidArgument { name, argument, expected } => {
                write!(f, "{argument} of {name} must be {expected}")
            }
            ExprErrorKind::UnknownName { name, known } if known.is_empty() => {
                write!(f, "no value for {}", text::truncate(name, MAX_NAME_LENGTH))
            }
            ExprErrorKind::UnknownName { name, known } => {
                write_unknown_name(f, "no value for", name, "given:", known)
            }
            ExprErrorKind::UnusedName { name, wanted } => {
                write_unknown_name(f, "the expression has no variable", name, "it has", wanted)
            }
            ExprErrorKind::GivenTwice(name) => {
                write!(f, "{} is given twice", text::truncate(name, MAX_NAME_LENGTH))
            }
            ExprErrorKind::Values { given, names } => {
                let count = |number: usize, what: &str| match number {
                    1 => format!("1 {what}"),
                    _ => format!("{number} {what}s"),
                };
                let is = if *given == 1 { "is" } else { "are" };
                write!(f, "{} {is} given for {}", count(*given, "value"), count(names.len(), "name"))?;
                let names: Vec<String> =
                    names.iter().map(|name| text::truncate(name, MAX_NAME_LENGTH)).collect();
                if names.is_empty() { Ok(()) } else { write!(f, ": {}", list(&names)) }
            }
            ExprErrorKind::WrongType { op, types } => {
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
            ExprErrorKind::NoCommonType(types) => {
                write!(f, "{} have no common type; cast one, as in float64(x)", list(types))
            }
            ExprErrorKind::DifferentTypes(types) => {
                write!(
                    f,
                    "{} differ, and strict typing converts nothing; cast one, as in float64(x)",
                    list(types)
                )
            }
            ExprErrorKind::DoesNotFit { number, dtype } => {
                write!(f, "{number} does not fit {dtype}; use a wider type, as in int64(x) or float64(x)")
            }
            ExprErrorKind::NoCast { from, to } => write!(f, "cannot cast {from} to {to}"),
            ExprErrorKind::Strings => f.write_str("strings are not supported in expressions"),
            ExprErrorKind::OutputType { result, output } => {
                write!(
                    f,
                    "the result has dtype {result}, but the output has dtype {output}; cast the result, as in {output}(…)"
                )
            }
            ExprErrorKind::OutputShape { result, output } => {
                write!(
                    f,
                    "the result has shape {}, but the output has shape {}",
                    short_shape_text(result),
                    short_shape_text(output)
                )
            }
            ExprErrorKind::Axis { axis, rank } => {
                write!(f, "axis {axis} is out of bounds for an array with {}", dimensions(*rank))?;
                match *rank as i64 {
                    0 => Ok(()),
                    rank => write!(f, "; axes are {} to {}", -rank, rank - 1),
                }
            }
            ExprErrorKind::RepeatedAxis(axis) => write!(f, "axis {axis} is given twice"),
            ExprErrorKind::Permutation { given, rank } => {
                let plural = if *given == 1 { "axis" } else { "axes" };
                write!(
                    f,
                    "{given} {plural} given for an array with {}; give each axis once",
                    dimensions(*rank)
                )
            }
            ExprErrorKind::Squeeze { axis, size } => {
                write!(f, "axis {axis} has size {size}; only axes of size 1 can be squeezed")
            }
            ExprErrorKind::TooManyIndices { given, rank } => {
                write!(f, "{given} indices for an array with {}", dimensions(*rank))
            }
            ExprErrorKind::IndexOutOfBounds { index, axis, size } => {
                write!(f, "index {index} is out of bounds for axis {axis} with size {size}")
            }
            ExprErrorKind::NamedDims(op) => write!(
                f,
                "{} has dim=, which needs arrays with named dimensions: evaluate xarray objects with unishape.xarray, or \
                 write axis=",
                op.name()
            ),
            ExprErrorKind::NotElementWise => f.write_str("only element-wise expressions are supported here"),
            ExprErrorKind::EmptyReduction(op) => {
                write!(f, "{} of no elements is not defined: an axis that is reduced has size 0", op.name())?;
                match op {
                    ReduceOp::Min | ReduceOp::Max => f.write_str("; give a value to start with, as initial="),
                    _ => Ok(()),
                }
            }
            ExprErrorKind::NeedsInitial(op) => {
                write!(f, "{} with where= needs a value to start with; give initial=", op.name())
            }
            ExprErrorKind::MaskType(dtype) => {
                write!(f, "where= takes booleans, not {dtype}; write where=mask != 0")
            }
            ExprErrorKind::ReductionType { op, dtype } => write!(f, "{} does not support {dtype}", op.name()),
            ExprErrorKind::Shapes(error) => error.fmt(f),
            ExprErrorKind::Stopped => f.write_str("stopped"),
        }
    }
}
