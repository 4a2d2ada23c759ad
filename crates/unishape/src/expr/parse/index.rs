//! Indexing (`x[1:, None]`), attributes (`x.T`) and methods (`x.sum(axis=1)`).

use super::{Parser, tokens::Token};
use crate::expr::error::{ExprError, ExprErrorKind};
use crate::expr::function::Function;
use crate::expr::graph::{Node, NodeId};
use crate::expr::view::{IndexItem, View};
use smallvec::smallvec;
use unishape_kernels::{Op, Scalar};

/// Prefixes of functions in Python.
const MODULES: [&str; 3] = ["np", "numpy", "math"];

impl Parser {
    /// Parses the indices, attributes and methods after an operand.
    pub(super) fn postfix(&mut self, operand: NodeId) -> Result<NodeId, ExprError> {
        let mut operand = operand;
        loop {
            operand = match self.peek() {
                Token::Symbol("[") => self.index(operand)?,
                Token::Symbol(".") => self.attribute(operand)?,
                _ => return Ok(operand),
            };
        }
    }

    /// Parses `.T`, `.real`, or a method call.
    fn attribute(&mut self, operand: NodeId) -> Result<NodeId, ExprError> {
        self.advance();
        if self.peek() != Token::Name {
            return Err(self.unexpected("the name of an attribute, as in x.T or x.sum()"));
        }
        let span = self.advance();
        let name = self.text[span.clone()].to_owned();
        if name != "T" && self.peek() == Token::Symbol("(") {
            return self.call(&name, span, Some(operand));
        }
        let node = match name.as_str() {
            "T" => Node::View(Box::new(View::Transpose(None)), operand),
            "real" => Node::Call(Op::Real, smallvec![operand]),
            "imag" => Node::Call(Op::Imag, smallvec![operand]),
            _ if Function::of_method(&name).is_some() => {
                return Err(self.error(ExprErrorKind::MethodNotCalled(name), span));
            }
            _ => return Err(self.error(ExprErrorKind::NoSuchAttribute(name), span)),
        };
        Ok(self.push_node(node, span))
    }

    /// Parses an index in brackets.
    fn index(&mut self, operand: NodeId) -> Result<NodeId, ExprError> {
        let open = self.advance();
        let mut items = Vec::new();
        loop {
            if self.peek() == Token::Symbol("]") && !items.is_empty() {
                break;
            }
            let span = self.span();
            let item = self.index_item()?;
            if item == IndexItem::Ellipsis && items.contains(&item) {
                return Err(self.error(ExprErrorKind::TwoEllipses, span));
            }
            items.push(item);
            match self.peek() {
                Token::Symbol(",") => _ = self.advance(),
                Token::Symbol("]") => {}
                Token::End => return Err(self.error(ExprErrorKind::BracketNotClosed, open)),
                Token::Name | Token::Scalar(_) | Token::Text | Token::Symbol(")" | ":" | "=") => {
                    return Err(self.unexpected("a comma or ]"));
                }
                // The first operator of an expression, such as `i + 1`.
                Token::Symbol(_) => return Err(self.unsupported_index(span.start)),
            }
        }
        let close = self.advance();
        let node = Node::View(Box::new(View::Index(items)), operand);
        Ok(self.push_node(node, open.start..close.end))
    }

    fn index_item(&mut self) -> Result<IndexItem, ExprError> {
        let from = self.span().start;
        let start = match self.peek() {
            Token::Symbol("...") => {
                self.advance();
                return Ok(IndexItem::Ellipsis);
            }
            Token::Symbol("]" | "," | ")") => return Err(self.unexpected("an index, as in x[0, 1:, None]")),
            _ => {
                self.reject_module()?;
                self.index_bound()?
            }
        };
        if self.peek() != Token::Symbol(":") {
            // Beyond the range of `i64`, which only a slice may be.
            if start.is_some_and(|start| start.unsigned_abs() == i64::MAX as u64) {
                let span = from..self.tokens[self.next - 1].1.end;
                let index = self.text[span.clone()].to_owned();
                return Err(self.error(ExprErrorKind::IndexTooLarge(index), span));
            }
            return Ok(start.map_or(IndexItem::NewAxis, IndexItem::At));
        }
        self.advance();
        let stop = self.index_bound()?;
        let mut step = None;
        if self.peek() == Token::Symbol(":") {
            self.advance();
            let span = self.span();
            step = self.index_bound()?;
            if step == Some(0) {
                return Err(self.error(ExprErrorKind::ZeroStep, span));
            }
        }
        Ok(IndexItem::Slice { start, stop, step })
    }

    /// Parses an integer of an index; `None` where there is none, or the name `None`.
    fn index_bound(&mut self) -> Result<Option<i64>, ExprError> {
        let from = self.span().start;
        match self.peek() {
            Token::Name if self.is_none() || self.is_name("newaxis") => {
                self.advance();
                Ok(None)
            }
            Token::Symbol(":" | "," | "]" | ")") | Token::End => Ok(None),
            _ => self.integer().map(Some).ok_or_else(|| self.unsupported_index(from)),
        }
    }

    fn unsupported_index(&self, from: usize) -> ExprError {
        let span = from..self.span().end;
        self.error(ExprErrorKind::UnsupportedIndex(self.text[span.clone()].into()), span)
    }

    /// Parses an integer literal with an optional sign. Its value is limited to that of an `i64`: no array has an
    /// axis or an index beyond.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let is_negative = self.peek() == Token::Symbol("-");
        if is_negative || self.peek() == Token::Symbol("+") {
            self.advance();
        }
        let Token::Scalar(Scalar::Int(integer)) = self.peek() else {
            return None;
        };
        self.advance();
        let integer = integer.min(i64::MAX.into()) as i64;
        Some(if is_negative { -integer } else { integer })
    }

    /// Whether the next token is a name.
    pub(super) fn is_name(&self, name: &str) -> bool {
        self.peek() == Token::Name && self.text[self.span()] == *name
    }

    /// Whether the next token is `None`.
    pub(super) fn is_none(&self) -> bool {
        self.is_name("None")
    }

    /// An error where the next tokens are a prefix such as `np.`.
    pub(super) fn reject_module(&self) -> Result<(), ExprError> {
        let [(Token::Name, module), (Token::Symbol("."), _), (Token::Name, name), ..] =
            &self.tokens[self.next..]
        else {
            return Ok(());
        };
        if !MODULES.contains(&&self.text[module.clone()]) {
            return Ok(());
        }
        let kind = ExprErrorKind::ModulePrefix {
            module: self.text[module.clone()].into(),
            name: self.text[name.clone()].into(),
        };
        Err(self.error(kind, module.start..name.end))
    }
}
