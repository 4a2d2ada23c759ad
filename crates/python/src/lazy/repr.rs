//! `repr` of lazy values: dtype, shape, expression and arrays.

use super::graph::{LazyDag, Leaf, Meta};
use crate::memory;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::fmt::Write;
use unishape::expr::{IndexItem, Op, ReduceOp, Reduction, Scalar, Term, Topological, View};

/// Deeper nested operators are abbreviated.
const MAX_DEPTH: usize = 32;

/// Longer expressions are abbreviated, in bytes.
const MAX_LENGTH: usize = 400;

/// Number of arrays that are listed.
const MAX_ARRAYS: usize = 10;

pub(super) fn repr(py: Python<'_>, graph: &LazyDag) -> PyResult<String> {
    let order = graph.topological();
    let arrays: Vec<&LazyDag> = order.iter().filter(|node| matches!(node.term(), Term::Leaf(_))).collect();
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
    fn write(&mut self, node: &LazyDag, min_precedence: u8, depth: usize) {
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
            // The casts of a softmax and the like are part of the function.
            Term::CastLike(_, [input, _]) => self.write(input, min_precedence, depth - 1),
            Term::View(View::Index(items), input) => {
                self.write(input, MAX_PRECEDENCE, depth - 1);
                let items: Vec<String> = items.iter().map(index_text).collect();
                let _ = write!(self.text, "[{}]", items.join(", "));
            }
            Term::View(view, input) => {
                let (name, arguments) = view_text(view);
                let _ = write!(self.text, "{name}(");
                self.write(input, 0, depth - 1);
                let _ = write!(self.text, "{arguments})");
            }
            Term::Reduce(reduction, inputs) => {
                let _ = write!(self.text, "{}(", reduction.op.name());
                self.write(&inputs[0], 0, depth - 1);
                self.text.push_str(&options_text(reduction));
                if let [_, mask] = inputs {
                    self.text.push_str(", where=");
                    self.write(mask, 0, depth - 1);
                }
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

/// An item of an index, as in Python.
fn index_text(item: &IndexItem) -> String {
    let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    match *item {
        IndexItem::At(index) => index.to_string(),
        IndexItem::Slice { start, stop, step: None } => format!("{}:{}", number(start), number(stop)),
        IndexItem::Slice { start, stop, step } => {
            format!("{}:{}:{}", number(start), number(stop), number(step))
        }
        IndexItem::NewAxis => "None".into(),
        IndexItem::Ellipsis => "...".into(),
    }
}

/// Function of a view, and its arguments after the array.
fn view_text(view: &View) -> (&'static str, String) {
    let optional = |axes: &Option<Vec<i64>>| match axes {
        Some(axes) => format!(", {}", tuple(axes)),
        None => String::new(),
    };
    match view {
        View::Index(items) => ("index", format!(", {items:?}")),
        View::Transpose(axes) => ("transpose", optional(axes)),
        View::SwapAxes(one, other) => ("swapaxes", format!(", {one}, {other}")),
        View::ExpandDims(axes) => ("expand_dims", format!(", {}", tuple(axes))),
        View::Squeeze(axes) => ("squeeze", optional(axes)),
        View::BroadcastTo(shape) => ("broadcast_to", format!(", {}", tuple(shape))),
    }
}

/// Options of a reduction that are not the default.
fn options_text(reduction: &Reduction) -> String {
    let mut text = String::new();
    match reduction.op {
        ReduceOp::Norm1 => text.push_str(", 1"),
        ReduceOp::NormInf => text.push_str(", inf"),
        _ => {}
    }
    match reduction.axes.as_deref() {
        None => {}
        Some([axis]) => drop(write!(text, ", axis={axis}")),
        Some(axes) => drop(write!(text, ", axis={}", tuple(axes))),
    }
    if reduction.keep_dims {
        text.push_str(", keepdims=True");
    }
    if reduction.ddof != Scalar::Int(0) {
        let _ = write!(text, ", ddof={}", reduction.ddof);
    }
    if let Some(dtype) = reduction.dtype {
        let _ = write!(text, ", dtype={dtype}");
    }
    if let Some(initial) = reduction.initial {
        let _ = write!(text, ", initial={initial}");
    }
    text
}

/// Numbers as a Python tuple.
pub(super) fn tuple<T: ToString>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    match &numbers[..] {
        [number] => format!("({number},)"),
        numbers => format!("({})", numbers.join(", ")),
    }
}

/// Binds more tightly than all operators.
const MAX_PRECEDENCE: u8 = 9;

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
