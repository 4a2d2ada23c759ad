//! A lazy value told: its expression, its shape and type, and the arrays it begins with.

use super::{Node, Term};
use crate::types;
use pyo3::prelude::*;
use std::fmt::Write;
use std::sync::Arc;
use unishape::expr::Op;

/// Expressions are told to so many operators within each other, and so many characters.
const DEEPEST: usize = 32;
const LONGEST: usize = 400;

/// More arrays than this are not told.
const MOST_ARRAYS: usize = 10;

pub(super) fn told(py: Python<'_>, node: &Arc<Node>) -> PyResult<String> {
    let (order, _) = node.flat();
    let arrays: Vec<&Arc<Node>> =
        order.iter().filter(|node| matches!(node.term, Term::Array(_) | Term::Later(_))).collect();
    let mut text = format!("lazy {}: ", kind(py, node)?);
    let mut teller = Teller { arrays: &arrays, text: String::new() };
    teller.tell(node, 0, DEEPEST);
    text.push_str(&teller.text);
    for (number, array) in arrays.iter().take(MOST_ARRAYS).enumerate() {
        let _ = write!(text, "\n  x{}  {}", number + 1, kind(py, array)?);
    }
    if arrays.len() > MOST_ARRAYS {
        let _ = write!(text, "\n  … {} more", arrays.len() - MOST_ARRAYS);
    }
    Ok(text)
}

/// Its type and shape.
fn kind(py: Python<'_>, node: &Node) -> PyResult<String> {
    let dtype = match node.dtype {
        Some(dtype) => types::descr(py, dtype)?.str()?.to_string(),
        None => "number".into(),
    };
    Ok(match &node.shape {
        Some(shape) => format!("{dtype} {}", pyo3::types::PyTuple::new(py, shape)?),
        None => format!("{dtype} of unknown shape"),
    })
}

struct Teller<'n> {
    arrays: &'n [&'n Arc<Node>],
    text: String,
}

impl Teller<'_> {
    /// Tells a value that stands beside an operator which binds so much.
    fn tell(&mut self, node: &Arc<Node>, binding: u8, deep: usize) {
        if deep == 0 || self.text.len() > LONGEST {
            return self.text.push('…');
        }
        match &node.term {
            Term::Array(_) | Term::Later(_) => {
                let at = self.arrays.iter().position(|array| Arc::ptr_eq(array, node)).unwrap_or(0);
                let _ = write!(self.text, "x{}", at + 1);
            }
            Term::Scalar(number) => {
                let _ = write!(self.text, "{number}");
            }
            Term::Cast(dtype, from) => {
                let _ = write!(self.text, "{dtype}(");
                self.tell(from, 0, deep - 1);
                self.text.push(')');
            }
            Term::Call(op, from) => match (op.symbol(), bound(*op), &from[..]) {
                (Some(sign), Some(own), [left, right]) => {
                    let open = own < binding;
                    self.text.push_str(if open { "(" } else { "" });
                    // `**` binds to the right, all others to the left.
                    let (before, after) = if *op == Op::Pow { (own + 1, own) } else { (own, own + 1) };
                    self.tell(left, before, deep - 1);
                    let _ = write!(self.text, " {sign} ");
                    self.tell(right, after, deep - 1);
                    self.text.push_str(if open { ")" } else { "" });
                }
                _ => {
                    let _ = write!(self.text, "{}(", op.name());
                    for (number, from) in from.iter().enumerate() {
                        self.text.push_str(if number > 0 { ", " } else { "" });
                        self.tell(from, 0, deep - 1);
                    }
                    self.text.push(')');
                }
            },
        }
    }
}

/// How much an operator of two values binds, in Python's order.
fn bound(op: Op) -> Option<u8> {
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
