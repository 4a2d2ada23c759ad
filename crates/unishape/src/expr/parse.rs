//! Expressions read from text. Written as in Python: the same operators, and the same order among them.

use super::error::{ExprError, Problem};
use super::graph::{At, Graph, Node, Source};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::DType;
use unishape_kernels::Op;
use unishape_kernels::Scalar;

/// Parentheses, functions and signs within each other to this depth; a text is no reason for a deep stack.
const DEEPEST: usize = 200;

/// Reads an expression.
pub(crate) fn parse(text: &str) -> Result<Graph, ExprError> {
    let text: Arc<str> = text.into();
    let tokens = tokens(&text)?;
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        nodes: Vec::new(),
        places: Vec::new(),
        names: Vec::new(),
        numbers: HashMap::new(),
        text,
    };
    parser.binary(0)?;
    match parser.peek() {
        Token::End => Ok(Graph {
            nodes: parser.nodes,
            names: parser.names,
            source: Some(Source { text: parser.text, places: parser.places }),
        }),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Name,
    Scalar(Scalar),
    /// A sign, or one of the words `and`, `or`, `not`.
    Sign(&'static str),
    End,
}

/// All signs, the longer ones first.
const SIGNS: [&str; 24] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "&", "|",
    "^", "~", "(", ")", ",",
];

const WORDS: [&str; 3] = ["and", "or", "not"];

fn tokens(text: &Arc<str>) -> Result<Vec<(Token, Range<usize>)>, ExprError> {
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
            let digits = number(rest);
            let place = at..at + digits.len();
            let number = Scalar::parse_literal(digits)
                .ok_or_else(|| ExprError::new(Problem::NotANumber(digits.into()), text, place))?;
            (Token::Scalar(number), digits.len())
        } else if first.is_alphabetic() || first == '_' {
            let word = word();
            let sign = WORDS.into_iter().find(|&sign| sign == word);
            (sign.map_or(Token::Name, Token::Sign), word.len())
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            let place = at..at + first.len_utf8();
            return Err(ExprError::new(Problem::NoSuchSign(first), text, place));
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

/// What of a text that begins with a digit or a point is a number: letters and digits, points, and the sign
/// of an exponent.
fn number(text: &str) -> &str {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    let end = text.find(|c: char| {
        let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !hexadecimal;
        before = c;
        !(c.is_alphanumeric() || c == '_' || c == '.' || is_sign)
    });
    &text[..end.unwrap_or(text.len())]
}

/// Operators between two values, from the loosest to the tightest.
const LEVELS: [&[(&str, Op)]; 8] = [
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

/// And these, which are tighter still.
const PRODUCTS: &[(&str, Op)] =
    &[("*", Op::Multiply), ("/", Op::Divide), ("//", Op::FloorDivide), ("%", Op::Remainder)];

/// The level of comparisons, which come after `not`.
const COMPARISONS: usize = 2;

struct Parser {
    text: Arc<str>,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
    nodes: Vec<Node>,
    places: Vec<Range<usize>>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens[self.next].0
    }

    fn place(&self) -> Range<usize> {
        self.tokens[self.next].1.clone()
    }

    /// The next token's place, which is then behind.
    fn step(&mut self) -> Range<usize> {
        let place = self.place();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        place
    }

    fn add(&mut self, node: Node, place: Range<usize>) -> At {
        self.nodes.push(node);
        self.places.push(place);
        (self.nodes.len() - 1) as At
    }

    fn error(&self, problem: Problem, place: Range<usize>) -> ExprError {
        ExprError::new(problem, &self.text, place)
    }

    fn unexpected(&self, wanted: &'static str) -> ExprError {
        let place = self.place();
        let found = self.text[place.clone()].to_owned();
        self.error(Problem::Unexpected { found, wanted }, place)
    }

    /// Runs a rule one level deeper.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Parser) -> Result<T, ExprError>) -> Result<T, ExprError> {
        if self.depth == DEEPEST {
            return Err(self.error(Problem::TooDeep, self.place()));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Operators of this level and of all tighter ones.
    fn binary(&mut self, level: usize) -> Result<At, ExprError> {
        let (operators, is_last) = match LEVELS.get(level) {
            Some(operators) => (*operators, false),
            None => (PRODUCTS, true),
        };
        if level == COMPARISONS && self.peek() == Token::Sign("not") {
            let place = self.step();
            let of = self.deeper(|parser| parser.binary(COMPARISONS))?;
            return Ok(self.add(Node::Call(Op::LogicalNot, smallvec![of]), place));
        }
        let operand = |parser: &mut Parser| if is_last { parser.unary() } else { parser.binary(level + 1) };
        let mut left = operand(self)?;
        let mut compared = false;
        while let Token::Sign(sign) = self.peek() {
            let Some(&(_, op)) = operators.iter().find(|(its, _)| *its == sign) else {
                break;
            };
            if std::mem::replace(&mut compared, level == COMPARISONS) {
                return Err(self.error(Problem::Chained, self.place()));
            }
            let place = self.step();
            let right = operand(self)?;
            left = self.add(Node::Call(op, smallvec![left, right]), place);
        }
        match self.peek() {
            Token::Sign(sign @ ("&&" | "||")) => Err(self.error(Problem::NotPython(sign), self.place())),
            _ => Ok(left),
        }
    }

    /// Signs before a value; looser than `**`, so that `-x**2` is `-(x**2)`.
    fn unary(&mut self) -> Result<At, ExprError> {
        let op = match self.peek() {
            Token::Sign("-") => Op::Negative,
            Token::Sign("+") => Op::Positive,
            Token::Sign("~") => Op::Invert,
            _ => return self.power(),
        };
        let place = self.step();
        let of = self.deeper(Parser::unary)?;
        Ok(self.add(Node::Call(op, smallvec![of]), place))
    }

    /// `x ** y`, from right to left.
    fn power(&mut self) -> Result<At, ExprError> {
        let base = self.atom()?;
        if self.peek() != Token::Sign("**") {
            return Ok(base);
        }
        let place = self.step();
        let exponent = self.deeper(Parser::unary)?;
        Ok(self.add(Node::Call(Op::Pow, smallvec![base, exponent]), place))
    }

    fn atom(&mut self) -> Result<At, ExprError> {
        match self.peek() {
            Token::Scalar(number) => {
                let place = self.step();
                Ok(self.add(Node::Scalar(number), place))
            }
            Token::Name => {
                let place = self.step();
                let name = self.text[place.clone()].to_owned();
                if self.peek() == Token::Sign("(") {
                    return self.call(&name, place);
                }
                let names = &mut self.names;
                let number = *self.numbers.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() as u32 - 1
                });
                Ok(self.add(Node::Name(number), place))
            }
            Token::Sign("(") => {
                let open = self.step();
                let inside = self.deeper(|parser| parser.binary(0))?;
                self.close(open)?;
                Ok(inside)
            }
            _ => Err(self.unexpected("a name, a number or a parenthesis")),
        }
    }

    fn close(&mut self, open: Range<usize>) -> Result<(), ExprError> {
        match self.peek() {
            Token::Sign(")") => {
                self.step();
                Ok(())
            }
            Token::End => Err(self.error(Problem::NotClosed, open)),
            _ => Err(self.unexpected("an operator or )")),
        }
    }

    /// A function with its arguments, or a type with what is cast to it.
    fn call(&mut self, name: &str, place: Range<usize>) -> Result<At, ExprError> {
        let open = self.step();
        if name == "cast" {
            return self.cast(open, place);
        }
        let dtype = DType::from_name(name);
        let op = Op::from_name(name);
        if op.is_none() && dtype.is_none() {
            return Err(self.error(Problem::NoSuchFunction(name.into()), place));
        }
        let mut arguments: SmallVec<[At; 3]> = SmallVec::new();
        while self.peek() != Token::Sign(")") {
            arguments.push(self.deeper(|parser| parser.binary(0))?);
            match self.peek() {
                Token::Sign(",") => _ = self.step(),
                Token::Sign(")") => {}
                Token::End => return Err(self.error(Problem::NotClosed, open)),
                _ => return Err(self.unexpected("an operator, a comma or )")),
            }
        }
        self.step();
        let wrong = |wanted| Problem::Arguments { name: name.into(), wanted, given: arguments.len() };
        match (op, dtype) {
            // The smallest or largest of any number of values.
            (Some(op @ (Op::Min | Op::Max)), _) if arguments.len() > 2 => {
                let mut left = arguments[0];
                for &right in &arguments[1..] {
                    left = self.add(Node::Call(op, smallvec![left, right]), place.clone());
                }
                Ok(left)
            }
            (Some(op), _) if op.arity() == arguments.len() => Ok(self.add(Node::Call(op, arguments), place)),
            (Some(op), _) => Err(self.error(wrong(op.arity()), place)),
            (None, Some(dtype)) if arguments.len() == 1 => {
                Ok(self.add(Node::Cast(dtype, arguments[0]), place))
            }
            (None, _) => Err(self.error(wrong(1), place)),
        }
    }

    /// `cast(x, float32)`.
    fn cast(&mut self, open: Range<usize>, place: Range<usize>) -> Result<At, ExprError> {
        let of = self.deeper(|parser| parser.binary(0))?;
        if self.peek() != Token::Sign(",") {
            return Err(self.unexpected("a comma and a type, as in cast(x, float32)"));
        }
        self.step();
        if self.peek() != Token::Name {
            return Err(self.unexpected("a type, as in cast(x, float32)"));
        }
        let type_place = self.step();
        let name = &self.text[type_place.clone()];
        let Some(dtype) = DType::from_name(name) else {
            return Err(self.error(Problem::NoSuchType(name.into()), type_place));
        };
        self.close(open)?;
        Ok(self.add(Node::Cast(dtype, of), place))
    }
}
