//! A pull parser of the Python literals in headers.
//!
//! It builds no tree: the caller requests the value that must come next, so that a hostile header
//! allocates no memory beyond its own text.

use crate::error::{MAX_SHOWN, NpyError};
use std::ops::Range;
use unishape::text::truncate;

/// Maximum nesting of brackets. NumPy nests one level per nested structure.
const MAX_NESTING: usize = 32;

/// Largest rank of a shape that is read or written. NumPy's limit is 64.
pub(crate) const MAX_NPY_RANK: usize = 1024;

/// A position in a text of Python literals.
pub(crate) struct LiteralParser<'t> {
    text: &'t str,
    at: usize,
    nesting: usize,
}

impl<'t> LiteralParser<'t> {
    pub(crate) fn new(text: &'t str) -> LiteralParser<'t> {
        LiteralParser { text, at: 0, nesting: 0 }
    }

    /// A syntax error at the current position.
    pub(crate) fn error(&self, problem: impl Into<String>) -> NpyError {
        NpyError::Syntax { at: self.at, problem: problem.into() }
    }

    /// Skips white space; returns the next character without consuming it.
    pub(crate) fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']).len();
        self.text[self.at..].chars().next()
    }

    /// Consumes a character if it is next.
    pub(crate) fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    /// Consumes a character that must be next.
    pub(crate) fn expect(&mut self, expected: char) -> Result<(), NpyError> {
        if self.take(expected) { Ok(()) } else { Err(self.unexpected(&format!("'{expected}'"))) }
    }

    /// The error of finding something else than expected.
    pub(crate) fn unexpected(&mut self, expected: &str) -> NpyError {
        match self.peek() {
            Some(found) => {
                let found = truncate(&found.to_string(), MAX_SHOWN);
                self.error(format!("{expected} is expected here, not '{found}'"))
            }
            None => self.error(format!("{expected} is expected, but the header ends here")),
        }
    }

    /// Checks that only white space is left.
    pub(crate) fn end(&mut self) -> Result<(), NpyError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("unexpected text after the header's dictionary")),
        }
    }

    /// Parses comma-separated items after an opening bracket up to the closing one.
    ///
    /// A trailing comma is allowed. Returns whether there was any comma.
    pub(crate) fn items(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), NpyError>,
    ) -> Result<bool, NpyError> {
        let mut comma = false;
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.error(format!("brackets are nested more than {MAX_NESTING} deep")));
        }
        while !self.take(close) {
            item(self)?;
            if self.take(',') {
                comma = true;
            } else if self.peek() != Some(close) {
                return Err(self.unexpected(&format!("',' or '{close}'")));
            }
        }
        self.nesting -= 1;
        Ok(comma)
    }

    /// Runs `read`; returns its result and the text it consumed.
    pub(crate) fn verbatim<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, NpyError>,
    ) -> Result<(T, &'t str), NpyError> {
        self.peek();
        let start = self.at;
        let value = read(self)?;
        Ok((value, &self.text[start..self.at]))
    }

    /// Parses `True` or `False`.
    pub(crate) fn boolean(&mut self) -> Result<bool, NpyError> {
        self.peek();
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        match &self.text[word.clone()] {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => {
                self.at = word.start;
                Err(self.unexpected("True or False"))
            }
        }
    }

    /// Parses a size: an integer from 0 to `usize::MAX`.
    pub(crate) fn size(&mut self) -> Result<usize, NpyError> {
        if self.peek() == Some('-') {
            return Err(self.error("a size cannot be negative"));
        }
        self.take('+');
        let digits = self.take_while(|c| c.is_ascii_digit());
        let text = &self.text[digits.clone()];
        if text.is_empty() {
            return Err(self.unexpected("an integer"));
        }
        if text.len() > 1 && text.starts_with('0') {
            self.at = digits.start;
            return Err(self.error("an integer cannot begin with 0"));
        }
        let Ok(size) = text.parse() else {
            self.at = digits.start;
            return Err(self.error(format!(
                "{} is larger than {}, the largest size",
                truncate(text, MAX_SHOWN),
                usize::MAX
            )));
        };
        if self.text[self.at..].starts_with(['L', 'l']) {
            self.at += 1; // a long integer of Python 2
        }
        if self.text[self.at..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_')) {
            self.at = digits.start;
            return Err(self.error("this is not an integer"));
        }
        Ok(size)
    }

    /// Parses at most `limit` sizes as [`items`](Self::items).
    pub(crate) fn sizes(&mut self, close: char, limit: usize) -> Result<(Vec<usize>, bool), NpyError> {
        let mut sizes = Vec::new();
        let comma = self.items(close, |parser| {
            if sizes.len() == limit {
                return Err(NpyError::TooManyDimensions { limit });
            }
            sizes.push(parser.size()?);
            Ok(())
        })?;
        Ok((sizes, comma))
    }

    /// Parses a string in single or double quotes.
    pub(crate) fn string(&mut self) -> Result<String, NpyError> {
        let mut next = self.peek();
        if matches!(next, Some('u' | 'U')) {
            self.at += 1; // a Unicode string of Python 2
            next = self.text[self.at..].chars().next();
        }
        let quote = match next {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.unexpected("a string")),
        };
        self.at += 1;
        let mut string = String::new();
        loop {
            let plain = self.take_while(|c| c != quote && !matches!(c, '\\' | '\n' | '\r'));
            string.push_str(&self.text[plain]);
            match self.text[self.at..].chars().next() {
                Some('\\') => string.extend(self.escape()?),
                Some(end) if end == quote => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(_) => return Err(self.error("a string must end on its line")),
                None => return Err(self.error("the header ends inside a string")),
            }
        }
    }

    /// Parses an escape; `None` for an escaped line break, which Python ignores.
    fn escape(&mut self) -> Result<Option<char>, NpyError> {
        let start = self.at;
        let mut rest = self.text[start + 1..].chars();
        let Some(character) = rest.next() else { return Err(self.error("the header ends inside a string")) };
        self.at += 1 + character.len_utf8();
        let plain = match character {
            '\n' => return Ok(None),
            '\\' | '\'' | '"' => character,
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => return self.code(start, start + 2, 2, 16).map(Some),
            'u' => return self.code(start, start + 2, 4, 16).map(Some),
            'U' => return self.code(start, start + 2, 8, 16).map(Some),
            '0'..='7' => {
                let digits = self.text[start + 1..].bytes().take(3).take_while(|b| (b'0'..b'8').contains(b));
                let count = digits.count();
                return self.code(start, start + 1, count, 8).map(Some);
            }
            other => {
                self.at = start;
                let other = truncate(&other.to_string(), MAX_SHOWN);
                return Err(self.error(format!("unknown escape \\{other}")));
            }
        };
        Ok(Some(plain))
    }

    /// The character with the code point in the next `count` digits.
    fn code(&mut self, start: usize, digits: usize, count: usize, radix: u32) -> Result<char, NpyError> {
        let text = self.text.get(digits..digits + count);
        let code = text
            .filter(|text| text.chars().all(|c| c.is_digit(radix)))
            .and_then(|text| u32::from_str_radix(text, radix).ok());
        match code.and_then(char::from_u32) {
            Some(character) => {
                self.at = digits + count;
                Ok(character)
            }
            None => {
                self.at = start;
                Err(self.error("this escape is not a character"))
            }
        }
    }

    /// Consumes characters while `matches` holds; returns their range in the text.
    fn take_while(&mut self, matches: impl Fn(char) -> bool) -> Range<usize> {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !matches(c)).unwrap_or(rest.len());
        self.at += length;
        self.at - length..self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_with_escapes() {
        let rows = [
            (r"'<f8'", "<f8"),
            (r#""it's""#, "it's"),
            (r"'it\'s \\ \x41\u00e9\U0001F600\101\0'", "it's \\ Aé😀A\0"),
            (r"u'\n\t\a\b\f\v\r'", "\n\t\x07\x08\x0c\x0b\r"),
            ("'a\\\nb'", "ab"),
            ("''", ""),
        ];
        for (text, string) in rows {
            assert_eq!(LiteralParser::new(text).string().unwrap(), string, "{text}");
        }
    }

    #[test]
    fn invalid_strings_are_errors() {
        for text in
            ["", "'", "'a", "'a\n'", r"'\", r"'\q'", r"'\x4'", r"'\xé'", r"'\ud800'", "u", "uu''", "f8"]
        {
            assert!(LiteralParser::new(text).string().is_err(), "{text}");
        }
    }

    #[test]
    fn integers() {
        for (text, size) in
            [("0", Some(0)), ("3L", Some(3)), ("+7 ", Some(7)), ("18446744073709551616", None)]
        {
            assert_eq!(LiteralParser::new(text).size().ok(), size, "{text}");
        }
        for text in ["", "-1", "03", "1.5", "1e3", "x", "3LL", "1_0", "０"] {
            assert!(LiteralParser::new(text).size().is_err(), "{text}");
        }
    }
}
