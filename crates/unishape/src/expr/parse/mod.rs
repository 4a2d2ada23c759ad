//! Parser of expressions, with Python's operators and precedence.

mod call;
mod composite;
mod index;
mod tokens;

#[cfg(test)]
mod tests;

use super::error::{ExprError, ExprErrorKind};
use super::graph::{Graph, Node, NodeId, SourceText};
use smallvec::smallvec;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use tokens::{Token, tokenize};
use unishape_kernels::Op;

/// Largest depth of nested parentheses, function calls and unary operators: the parser is recursive.
const MAX_DEPTH: usize = 200;

/// Parses an expression.
pub(crate) fn parse(text: &str) -> Result<Graph, ExprError> {
    let text: Arc<str> = text.into();
    let tokens = tokenize(&text)?;
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        nodes: Vec::new(),
        spans: Vec::new(),
        names: Vec::new(),
        variables: HashMap::new(),
        text,
    };
    parser.binary(0)?;
    match parser.peek() {
        Token::End => Ok(Graph {
            nodes: parser.nodes,
            names: parser.names,
            source: Some(SourceText { text: parser.text, spans: parser.spans }),
        }),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// Binary operators by precedence, lowest first.
const PRECEDENCE_LEVELS: [&[(&str, Op)]; 8] = [
    &[("or", Op::LogicalOr)],
    &[("and", Op::LogicalAnd)],
    &[
        ("==", Op::Equal),
        ("!=", Op::NotEqual),
        ("<=", Op::LessEqual),
        (">=", Op::GreaterEqual),
        ("<", Op::Less),
        (">", Op::Greater),
    ],
    &[("|", Op::Or)],
    &[("^", Op::Xor)],
    &[("&", Op::And)],
    &[("<<", Op::ShiftLeft), (">>", Op::ShiftRight)],
    &[("+", Op::Add), ("-", Op::Subtract)],
];

/// Binary operators with a higher precedence than all [`PRECEDENCE_LEVELS`].
const MULTIPLICATIVE: &[(&str, Op)] =
    &[("*", Op::Multiply), ("/", Op::Divide), ("//", Op::FloorDivide), ("%", Op::Remainder)];

/// Level of comparisons; `not` has the next lower precedence.
const COMPARISON_LEVEL: usize = 2;

struct Parser {
    text: Arc<str>,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
    nodes: Vec<Node>,
    spans: Vec<Range<usize>>,
    names: Vec<String>,
    /// Index of each name.
    variables: HashMap<String, u32>,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens[self.next].0
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.next].1.clone()
    }

    /// Moves to the next token, and returns the span of this one.
    fn advance(&mut self) -> Range<usize> {
        let span = self.span();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        span
    }

    fn push_node(&mut self, node: Node, span: Range<usize>) -> NodeId {
        self.nodes.push(node);
        self.spans.push(span);
        (self.nodes.len() - 1) as NodeId
    }

    fn error(&self, kind: ExprErrorKind, span: Range<usize>) -> ExprError {
        ExprError::new(kind, &self.text, span)
    }

    fn unexpected(&self, wanted: &'static str) -> ExprError {
        let span = self.span();
        if self.peek() == Token::Symbol("=") {
            return self.error(ExprErrorKind::NoSuchSign('='), span);
        }
        let found = self.text[span.clone()].to_owned();
        if let (Token::Text, Some(quote)) = (self.peek(), found.chars().next()) {
            return self.error(ExprErrorKind::NoSuchSign(quote), span);
        }
        self.error(ExprErrorKind::Unexpected { found, wanted }, span)
    }

    /// Runs a rule one nesting level deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Parser) -> Result<T, ExprError>) -> Result<T, ExprError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(ExprErrorKind::TooDeep, self.span()));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Parses binary operators of at least this precedence.
    fn binary(&mut self, level: usize) -> Result<NodeId, ExprError> {
        let (operators, is_last) = match PRECEDENCE_LEVELS.get(level) {
            Some(operators) => (*operators, false),
            None => (MULTIPLICATIVE, true),
        };
        if level == COMPARISON_LEVEL && self.peek() == Token::Symbol("not") {
            let span = self.advance();
            let operand = self.nested(|parser| parser.binary(COMPARISON_LEVEL))?;
            return Ok(self.push_node(Node::Call(Op::LogicalNot, smallvec![operand]), span));
        }
        let operand = |parser: &mut Parser| if is_last { parser.unary() } else { parser.binary(level + 1) };
        let mut left = operand(self)?;
        let mut compared = false;
        while let Token::Symbol(symbol) = self.peek() {
            let Some(&(_, op)) = operators.iter().find(|(operator, _)| *operator == symbol) else {
                break;
            };
            if std::mem::replace(&mut compared, level == COMPARISON_LEVEL) {
                return Err(self.error(ExprErrorKind::Chained, self.span()));
            }
            let span = self.advance();
            let right = operand(self)?;
            left = self.push_node(Node::Call(op, smallvec![left, right]), span);
        }
        match self.peek() {
            Token::Symbol(symbol @ ("&&" | "||")) => {
                Err(self.error(ExprErrorKind::NotPython(symbol), self.span()))
            }
            _ => Ok(left),
        }
    }

    /// Parses unary operators. Their precedence is lower than that of `**`: `-x**2` is `-(x**2)`.
    fn unary(&mut self) -> Result<NodeId, ExprError> {
        let op = match self.peek() {
            Token::Symbol("-") => Op::Negative,
            Token::Symbol("+") => Op::Positive,
            Token::Symbol("~") => Op::Invert,
            _ => return self.power(),
        };
        let span = self.advance();
        let operand = self.nested(Parser::unary)?;
        Ok(self.push_node(Node::Call(op, smallvec![operand]), span))
    }

    /// Parses `x ** y`, which associates to the right.
    fn power(&mut self) -> Result<NodeId, ExprError> {
        let base = self.primary()?;
        if self.peek() != Token::Symbol("**") {
            return Ok(base);
        }
        let span = self.advance();
        let exponent = self.nested(Parser::unary)?;
        Ok(self.push_node(Node::Call(Op::Pow, smallvec![base, exponent]), span))
    }

    /// Parses an operand, and the indices, attributes and methods after it.
    fn primary(&mut self) -> Result<NodeId, ExprError> {
        let operand = self.operand()?;
        self.postfix(operand)
    }

    /// Parses a number, a variable, a function call, or an expression in parentheses.
    fn operand(&mut self) -> Result<NodeId, ExprError> {
        match self.peek() {
            Token::Scalar(number) => {
                let span = self.advance();
                Ok(self.push_node(Node::Scalar(number), span))
            }
            Token::Name => {
                self.reject_module()?;
                let span = self.advance();
                let name = self.text[span.clone()].to_owned();
                if self.peek() == Token::Symbol("(") {
                    return self.call(&name, span, None);
                }
                if name == "None" {
                    return Err(self.error(ExprErrorKind::NoneAsValue, span));
                }
                let names = &mut self.names;
                let variable = *self.variables.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() as u32 - 1
                });
                Ok(self.push_node(Node::Variable(variable), span))
            }
            Token::Symbol("(") => {
                let open = self.advance();
                let inside = self.nested(|parser| parser.binary(0))?;
                self.close(open)?;
                Ok(inside)
            }
            _ => Err(self.unexpected("a name, a number or a parenthesis")),
        }
    }

    fn close(&mut self, open: Range<usize>) -> Result<(), ExprError> {
        match self.peek() {
            Token::Symbol(")") => {
                self.advance();
                Ok(())
            }
            Token::End => Err(self.error(ExprErrorKind::NotClosed, open)),
            _ => Err(self.unexpected("an operator or )")),
        }
    }
}
