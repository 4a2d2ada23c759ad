//! Integers to negative powers, which are an error, as in NumPy.
//!
//! Exponents that are numbers or arrays on the CPU are checked before anything is computed. Computed exponents, and those on a
//! GPU, are not: their negative powers are rounded toward 0.

use crate::gpu;
use crate::input::Input;
use crate::memory::NumericArray;
use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unishape::DType;
use unishape::expr::{Dag, Expr, Op, ReduceOp, Scalar, Term};
use unishape_kernels::DTypeKind;

/// NumPy's error.
fn error() -> PyErr {
    PyValueError::new_err(
        "integers to negative integer powers are not allowed; cast the base, as in float64(x) ** -1",
    )
}

pub(crate) fn is_integer(dtype: DType) -> bool {
    dtype.kind() <= DTypeKind::Signed
}

/// Whether an expression may have a power.
pub(crate) fn may_have_power(text: &str) -> bool {
    text.contains("**") || text.contains("pow")
}

/// Whether all exponents in an expression are literals without a sign, as in `x ** 2`.
pub(crate) fn has_literals_only(text: &str) -> bool {
    let is_literal = |rest: &str| rest.trim_start().starts_with(|first: char| first.is_ascii_digit());
    !text.contains("pow") && text.split("**").skip(1).all(is_literal)
}

/// Whether an array of integers, given as bytes, has a negative one.
pub(crate) fn has_negative(dtype: DType, bytes: &[u8]) -> bool {
    let size = dtype.item_size();
    let sign = if cfg!(target_endian = "little") { size - 1 } else { 0 };
    dtype.kind() == DTypeKind::Signed && bytes.chunks_exact(size).any(|element| element[sign] >= 0x80)
}

/// Checks an exponent of integers.
pub(crate) fn check_exponent(exponent: &NumericArray<'_>) -> PyResult<()> {
    let is_signed = exponent.dtype().kind() == DTypeKind::Signed;
    if is_signed && !exponent.array().is_empty() && exponent.array().call_method0("min")?.lt(0)? {
        return Err(error());
    }
    Ok(())
}

/// Checks a number that is the exponent of integers, whose dtype is `base` if it is known.
///
/// Unsigned integers cannot hold the number, which is another error.
pub(crate) fn check_number(base: Option<DType>, exponent: Scalar) -> PyResult<()> {
    let is_unsigned = base.is_some_and(|dtype| dtype.kind() == DTypeKind::Unsigned);
    match exponent {
        Scalar::Int(number) if number < 0 && !is_unsigned => Err(error()),
        _ => Ok(()),
    }
}

/// Checks a call of the function `pow`.
pub(crate) fn check_call(inputs: &[Input<'_>]) -> PyResult<()> {
    let [base, exponent] = inputs else { return Ok(()) };
    let Some(base_type) = integer_input(base) else { return Ok(()) };
    match base {
        Input::Array(array) if array.array().is_empty() => Ok(()),
        _ => check_input(base_type, exponent),
    }
}

/// Checks an exponent of a base of integers.
fn check_input(base: Integer, exponent: &Input<'_>) -> PyResult<()> {
    match exponent {
        Input::Scalar(number) => check_number(base.dtype(), *number),
        Input::Array(array) if base.promoted_with_dtype(array.dtype()).is_some() => check_exponent(array),
        Input::Array(_) | Input::Gpu(_) => Ok(()),
    }
}

/// Type of integers: of a number, or of an array.
#[derive(Clone, Copy)]
pub(crate) enum Integer {
    Number,
    Array(DType),
}

impl Integer {
    fn dtype(self) -> Option<DType> {
        match self {
            Integer::Number => None,
            Integer::Array(dtype) => Some(dtype),
        }
    }

    /// The type of a dtype; `None` unless it is one of integers or booleans.
    pub(crate) fn of_dtype(dtype: DType) -> Option<Integer> {
        is_integer(dtype).then_some(Integer::Array(dtype))
    }

    /// The type of a number; `None` unless it is an integer or a boolean.
    pub(crate) fn of_number(number: Scalar) -> Option<Integer> {
        matches!(number, Scalar::Int(_) | Scalar::Bool(_)).then_some(Integer::Number)
    }

    /// The common type; `None` where it is not one of integers, such as that of uint64 and int8.
    fn promoted_with(self, other: Integer) -> Option<Integer> {
        match (self, other) {
            (Integer::Number, Integer::Number) => Some(Integer::Number),
            (Integer::Number, Integer::Array(DType::Bool))
            | (Integer::Array(DType::Bool), Integer::Number) => Some(Integer::Array(DType::I64)),
            (Integer::Number, dtype) | (dtype, Integer::Number) => Some(dtype),
            (Integer::Array(one), Integer::Array(other)) => {
                one.promoted_with(other).and_then(Integer::of_dtype)
            }
        }
    }

    /// As [`promoted_with`](Integer::promoted_with), of an array of any dtype.
    pub(crate) fn promoted_with_dtype(self, dtype: DType) -> Option<Integer> {
        self.promoted_with(Integer::of_dtype(dtype)?)
    }
}

fn integer_input(input: &Input<'_>) -> Option<Integer> {
    match input {
        Input::Array(array) => Integer::of_dtype(array.dtype()),
        Input::Gpu(array) => gpu::describe(array).ok().and_then(|(_, dtype)| Integer::of_dtype(dtype)),
        Input::Scalar(number) => Integer::of_number(*number),
    }
}

/// Checks the powers of an expression with these variables.
pub(crate) fn check_expr(expr: &Expr, names: &[&str], inputs: &[Input<'_>]) -> PyResult<()> {
    let graph = expr.to_dag();
    let input = |name: &str| Some(&inputs[names.iter().position(|own| *own == name)?]);
    for node in graph.topological().iter() {
        let Term::Call(Op::Pow, operands) = node.term() else { continue };
        let [base, exponent] = operands else { continue };
        let are_numbers = [base, exponent].iter().all(|node| matches!(node.term(), Term::Scalar(_)));
        if are_numbers || is_empty(base, &input, MAX_DEPTH) {
            continue;
        }
        let Some(base) = integer_type(base, &input, MAX_DEPTH) else { continue };
        match exponent.term() {
            Term::Scalar(number) => check_number(base.dtype(), number)?,
            Term::Call(Op::Negative, operand) => {
                if let Term::Scalar(Scalar::Int(number)) = operand[0].term() {
                    check_number(base.dtype(), Scalar::Int(-number))?;
                }
            }
            Term::Leaf(name) => input(name).map_or(Ok(()), |exponent| check_input(base, exponent))?,
            _ => {}
        }
    }
    Ok(())
}

/// Deeper expressions are not checked.
const MAX_DEPTH: usize = 100;

/// The type of a node that has integers; `None` where this is not known for certain.
fn integer_type<'a, M>(
    node: &Dag<String, M>,
    input: &impl Fn(&str) -> Option<&'a Input<'a>>,
    depth: usize,
) -> Option<Integer> {
    use Op::*;
    let depth = depth.checked_sub(1)?;
    let integer_type = |node: &Dag<String, M>| integer_type(node, input, depth);
    let common = |of: &[Dag<String, M>]| {
        let (first, rest) = of.split_first()?;
        rest.iter().try_fold(integer_type(first)?, |common, node| common.promoted_with(integer_type(node)?))
    };
    match node.term() {
        Term::Leaf(name) => integer_input(input(name)?),
        Term::Scalar(number) => Integer::of_number(number),
        Term::Cast(dtype, _) => Integer::of_dtype(dtype),
        Term::View(_, of) => integer_type(of),
        Term::Reduce(reduction, of) => match (reduction.dtype, reduction.op) {
            (Some(dtype), _) => Integer::of_dtype(dtype),
            (None, ReduceOp::Min | ReduceOp::Max) => integer_type(&of[0]),
            (None, ReduceOp::Sum | ReduceOp::Prod) => match integer_type(&of[0])?.dtype() {
                Some(dtype) if dtype.kind() == DTypeKind::Unsigned => Some(Integer::Array(DType::U64)),
                _ => Some(Integer::Array(DType::I64)),
            },
            _ => None,
        },
        Term::Call(Add | Subtract | Multiply | FloorDivide | Remainder | Pow | Negative | Positive, of)
        | Term::Call(
            Abs | Square | Min | Max | Clip | And | Or | Xor | Invert | ShiftLeft | ShiftRight,
            of,
        ) => common(of),
        Term::Call(Where, of) => common(&of[1..]),
        Term::CastLike(..) | Term::Call(..) => None,
    }
}

/// Whether a node is known to have no elements.
fn is_empty<'a, M>(
    node: &Dag<String, M>,
    input: &impl Fn(&str) -> Option<&'a Input<'a>>,
    depth: usize,
) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match node.term() {
        Term::Leaf(name) => matches!(input(name), Some(Input::Array(array)) if array.array().is_empty()),
        Term::Cast(_, of) | Term::View(_, of) => is_empty(of, input, depth),
        Term::Call(_, of) => of.iter().any(|node| is_empty(node, input, depth)),
        Term::CastLike(..) | Term::Reduce(..) | Term::Scalar(_) => false,
    }
}
