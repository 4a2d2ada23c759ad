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
    match inputs {
        [base, exponent] if is_integer_input(base) => match (base, exponent) {
            (Input::Scalar(_), Input::Scalar(_)) => Ok(()),
            (base, Input::Scalar(number)) => check_number(dtype_of(base), *number),
            (_, Input::Array(array)) => check_exponent(array),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn dtype_of(input: &Input<'_>) -> Option<DType> {
    match input {
        Input::Array(array) => Some(array.dtype()),
        Input::Gpu(array) => gpu::describe(array).ok().map(|(_, dtype)| dtype),
        Input::Scalar(_) => None,
    }
}

fn is_integer_input(input: &Input<'_>) -> bool {
    match input {
        Input::Scalar(number) => matches!(number, Scalar::Int(_) | Scalar::Bool(_)),
        input => dtype_of(input).is_some_and(is_integer),
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
        if are_numbers || !is_integer_node(base, &input, MAX_DEPTH) {
            continue;
        }
        let dtype = match base.term() {
            Term::Leaf(name) => input(name).and_then(dtype_of),
            _ => None,
        };
        match exponent.term() {
            Term::Scalar(number) => check_number(dtype, number)?,
            Term::Call(Op::Negative, operand) => {
                if let Term::Scalar(Scalar::Int(number)) = operand[0].term() {
                    check_number(dtype, Scalar::Int(-number))?;
                }
            }
            Term::Leaf(name) => match input(name) {
                Some(Input::Scalar(number)) => check_number(dtype, *number)?,
                Some(Input::Array(array)) => check_exponent(array)?,
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

/// Deeper expressions are not checked.
const MAX_DEPTH: usize = 100;

/// Whether a node has integers. A type that is not known for certain has none.
fn is_integer_node<'a, M>(
    node: &Dag<String, M>,
    input: &impl Fn(&str) -> Option<&'a Input<'a>>,
    depth: usize,
) -> bool {
    use Op::*;
    if depth == 0 {
        return false;
    }
    let is_integer_node = |node: &Dag<String, M>| is_integer_node(node, input, depth - 1);
    match node.term() {
        Term::Leaf(name) => input(name).is_some_and(is_integer_input),
        Term::Scalar(number) => matches!(number, Scalar::Int(_) | Scalar::Bool(_)),
        Term::Cast(dtype, _) => is_integer(dtype),
        Term::View(_, of) => is_integer_node(of),
        Term::Reduce(reduction, of) => match (reduction.dtype, reduction.op) {
            (Some(dtype), _) => is_integer(dtype),
            (None, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max) => is_integer_node(&of[0]),
            _ => false,
        },
        Term::Call(Add | Subtract | Multiply | FloorDivide | Remainder | Pow | Negative | Positive, of)
        | Term::Call(
            Abs | Square | Min | Max | Clip | And | Or | Xor | Invert | ShiftLeft | ShiftRight,
            of,
        ) => of.iter().all(is_integer_node),
        Term::Call(Where, of) => of[1..].iter().all(is_integer_node),
        Term::CastLike(..) | Term::Call(..) => false,
    }
}
