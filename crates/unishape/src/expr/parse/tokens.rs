//! Tokens of expressions.

use crate::expr::error::{ExprError, ExprErrorKind};
use std::ops::Range;
use std::sync::Arc;
use unishape_kernels::Scalar;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token {
    Name,
    Scalar(Scalar),
    /// A name in quotes, such as that of a dimension.
    Text,
    /// An operator symbol, punctuation, or one of the words `and`, `or`, `not`.
    Symbol(&'static str),
    End,
}

/// All symbols, longer ones first.
const SYMBOLS: [&str; 30] = [
    "...", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">",
    "&", "|", "^", "~", "(", ")", ",", "[", "]", ":", ".", "=",
];

const WORD_OPERATORS: [&str; 3] = ["and", "or", "not"];

/// Splits a text into tokens, each with its bytes in the text.
pub(super) fn tokenize(text: &Arc<str>) -> Result<Vec<(Token, Range<usize>)>, ExprError> {
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
            // A point is a symbol only where no digit follows: `x.T`, but `.5`.
            let digits = number_literal(rest);
            let span = at..at + digits.len();
            let number = Scalar::parse_literal(digits)
                .ok_or_else(|| ExprError::new(ExprErrorKind::NotANumber(digits.into()), text, span))?;
            (Token::Scalar(number), digits.len())
        } else if first.is_alphabetic() || first == '_' {
            let word = word();
            let operator = WORD_OPERATORS.into_iter().find(|&operator| operator == word);
            (operator.map_or(Token::Name, Token::Symbol), word.len())
        } else if let Some(length) = text_literal(rest) {
            (Token::Text, length)
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

/// Length of the text in quotes at the start of a text, quotes included. There are no escapes.
fn text_literal(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inside = &text[1..];
    let end = inside.find([quote, '\n', '\\'])?;
    inside[end..].starts_with(quote).then_some(end + 2)
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
