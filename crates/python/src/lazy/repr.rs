//! `repr` of lazy values: dtype, shape, expression and arrays.

use super::graph::{Graph, Leaf, Meta};
use crate::memory;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::fmt::Write;
use unishape::expr::{Op, Term, Topological};

/// Deeper nested operators are abbreviated.
const MAX_DEPTH: usize = 32;

/// Longer expressions are abbreviated, in bytes.
const MAX_LENGTH: usize = 400;

/// Number of arrays that are listed.
const MAX_ARRAYS: usize = 10;

pub(super) fn repr(py: Python<'_>, graph: &Graph) -> PyResult<String> {
    let order = graph.topological();
    let arrays: Vec<&Graph> = order.iter().filter(|node| matches!(node.term(), Term::Leaf(_))).collect();
    let positions: Vec<usize> = arrays.iter().map(|array| order.position(array)).collect();
    let mut formatter = Formatter { order: &order, arrays: &positions, text: String::new() };
    formatter.write(graph, 0, MAX_DEPTH);
    let mut text = format!("lazy {}: {}", dtype_and_shape(py, graph.meta())?, formatter.text);
    for (index, array) in arrays.iter().take(MAX_ARRAYS).enumerate() {
        let _ = write!(text, "\n  x{}  {}", index + 1, dtype_and_shape(py, array.meta())?);
    }
    if arrays.len() > MAX_ARRAYS {
        let _ = write!(text, "\n  … {} more", arrays.len() - MAX_ARRAYS);
    }
    Ok(text)
}

fn dtype_and_shape(py: Python<'_>, meta: &Meta) -> PyResult<String> {
    let dtype = match meta.dtype {
        Some(dtype) => memory::to_descr(py, dtype)?.str()?.to_string(),
        None => "number".into(),
    };
    Ok(match &meta.shape {
        Some(shape) => format!("{dtype} {}", PyTuple::new(py, shape)?),
        None => format!("{dtype} of unknown shape"),
    })
}

struct Formatter<'g> {
    order: &'g Topological<'g, Leaf, Meta>,
    /// Positions of the arrays, ascending.
    arrays: &'g [usize],
    text: String,
}

impl Formatter<'_> {
    /// Writes a node, in parentheses where its operator binds less tightly than `min_precedence`.
    fn write(&mut self, node: &Graph, min_precedence: u8, depth: usize) {
        if depth == 0 || self.text.len() > MAX_LENGTH {
            return self.text.push('…');
        }
        match node.term() {
            Term::Leaf(_) => {
                let index = self.arrays.partition_point(|&array| array < self.order.position(node));
                let _ = write!(self.text, "x{}", index + 1);
            }
            Term::Scalar(scalar) => {
                let _ = write!(self.text, "{scalar}");
            }
            Term::Cast(dtype, input) => {
                let _ = write!(self.text, "{dtype}(");
                self.write(input, 0, depth - 1);
                self.text.push(')');
            }
            Term::Call(op, inputs) => match (op.symbol(), precedence(op), inputs) {
                (Some(symbol), Some(own), [left, right]) => {
                    let needs_parentheses = own < min_precedence;
                    self.text.push_str(if needs_parentheses { "(" } else { "" });
                    // `**` associates to the right, all others to the left.
                    let (of_left, of_right) = if op == Op::Pow { (own + 1, own) } else { (own, own + 1) };
                    self.write(left, of_left, depth - 1);
                    let _ = write!(self.text, " {symbol} ");
                    self.write(right, of_right, depth - 1);
                    self.text.push_str(if needs_parentheses { ")" } else { "" });
                }
                _ => {
                    let _ = write!(self.text, "{}(", op.name());
                    for (index, input) in inputs.iter().enumerate() {
                        self.text.push_str(if index > 0 { ", " } else { "" });
                        self.write(input, 0, depth - 1);
                    }
                    self.text.push(')');
                }
            },
        }
    }
}

/// Precedence of a binary operator, as in Python.
fn precedence(op: Op) -> Option<u8> {
    Some(match op {
        Op::Less | Op::LessEqual | Op::Equal | Op::NotEqual | Op::Greater | Op::GreaterEqual => 1,
        Op::Or => 2,
        Op::Xor => 3,
        Op::And => 4,
        Op::ShiftLeft | Op::ShiftRight => 5,
        Op::Add | Op::Subtract => 6,
        Op::Multiply | Op::Divide | Op::FloorDivide | Op::Remainder => 7,
        Op::Pow => 8,
        _ => return None,
    })
}
