//! Parser of expressions, with Python's operators and precedence.

use super::error::{ExprError, ExprErrorKind};
use super::graph::{Graph, Node, NodeId, SourceText};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Op;
use unishape_kernels::Scalar;

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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Name,
    Scalar(Scalar),
    /// An operator symbol, punctuation, or one of the words `and`, `or`, `not`.
    Symbol(&'static str),
    End,
}

/// All symbols, longer ones first.
const SYMBOLS: [&str; 24] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "&", "|",
    "^", "~", "(", ")", ",",
];

const WORD_OPERATORS: [&str; 3] = ["and", "or", "not"];

/// Splits a text into tokens, each with its bytes in the text.
fn tokenize(text: &Arc<str>) -> Result<Vec<(Token, Range<usize>)>, ExprError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = || {
            let end = |c: char| !(c.is_alphanumeric() || c == '_');
            &rest[..rest.find(end).unwrap_or(rest.len())]
        };
        let (token, length) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            let digits = number_literal(rest);
            let span = at..at + digits.len();
            let number = Scalar::parse_literal(digits)
                .ok_or_else(|| ExprError::new(ExprErrorKind::NotANumber(digits.into()), text, span))?;
            (Token::Scalar(number), digits.len())
        } else if first.is_alphabetic() || first == '_' {
            let word = word();
            let operator = WORD_OPERATORS.into_iter().find(|&operator| operator == word);
            (operator.map_or(Token::Name, Token::Symbol), word.len())
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let span = at..at + first.len_utf8();
            return Err(ExprError::new(ExprErrorKind::NoSuchSign(first), text, span));
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

/// The number literal at the start of a text: letters, digits, points, and the sign of an exponent.
fn number_literal(text: &str) -> &str {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    let end = text.find(|c: char| {
        let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !hexadecimal;
        before = c;
        !(c.is_alphanumeric() || c == '_' || c == '.' || is_sign)
    });
    &text[..end.unwrap_or(text.len())]
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
        let found = self.text[span.clone()].to_owned();
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

    /// Parses a number, a variable, a function call, or an expression in parentheses.
    fn primary(&mut self) -> Result<NodeId, ExprError> {
        match self.peek() {
            Token::Scalar(number) => {
                let span = self.advance();
                Ok(self.push_node(Node::Scalar(number), span))
            }
            Token::Name => {
                let span = self.advance();
                let name = self.text[span.clone()].to_owned();
                if self.peek() == Token::Symbol("(") {
                    return self.call(&name, span);
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

    /// Parses the arguments of a function call, or of a cast such as `float32(x)`.
    fn call(&mut self, name: &str, span: Range<usize>) -> Result<NodeId, ExprError> {
        let open = self.advance();
        if name == "cast" {
            return self.cast(open, span);
        }
        let dtype = DType::from_name(name);
        let op = Op::from_name(name);
        if op.is_none() && dtype.is_none() {
            return Err(self.error(ExprErrorKind::NoSuchFunction(name.into()), span));
        }
        let mut arguments: SmallVec<[NodeId; 3]> = SmallVec::new();
        while self.peek() != Token::Symbol(")") {
            arguments.push(self.nested(|parser| parser.binary(0))?);
            match self.peek() {
                Token::Symbol(",") => _ = self.advance(),
                Token::Symbol(")") => {}
                Token::End => return Err(self.error(ExprErrorKind::NotClosed, open)),
                _ => return Err(self.unexpected("an operator, a comma or )")),
            }
        }
        self.advance();
        let wrong_arity =
            |wanted| ExprErrorKind::Arguments { name: name.into(), wanted, given: arguments.len() };
        match (op, dtype) {
            // min and max take any number of arguments.
            (Some(op @ (Op::Min | Op::Max)), _) if arguments.len() > 2 => {
                let mut left = arguments[0];
                for &right in &arguments[1..] {
                    left = self.push_node(Node::Call(op, smallvec![left, right]), span.clone());
                }
                Ok(left)
            }
            (Some(op), _) if op.arity() == arguments.len() => {
                Ok(self.push_node(Node::Call(op, arguments), span))
            }
            (Some(op), _) => Err(self.error(wrong_arity(op.arity()), span)),
            (None, Some(dtype)) if arguments.len() == 1 => {
                Ok(self.push_node(Node::Cast(dtype, arguments[0]), span))
            }
            (None, _) => Err(self.error(wrong_arity(1), span)),
        }
    }

    /// Parses the arguments of `cast(x, float32)`.
    fn cast(&mut self, open: Range<usize>, span: Range<usize>) -> Result<NodeId, ExprError> {
        let operand = self.nested(|parser| parser.binary(0))?;
        if self.peek() != Token::Symbol(",") {
            return Err(self.unexpected("a comma and a type, as in cast(x, float32)"));
        }
        self.advance();
        if self.peek() != Token::Name {
            return Err(self.unexpected("a type, as in cast(x, float32)"));
        }
        let type_place = self.advance();
        let name = &self.text[type_place.clone()];
        let Some(dtype) = DType::from_name(name) else {
            return Err(self.error(ExprErrorKind::NoSuchType(name.into()), type_place));
        };
        self.close(open)?;
        Ok(self.push_node(Node::Cast(dtype, operand), span))
    }
}
