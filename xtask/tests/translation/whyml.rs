//! Programs of WhyML in a canonical form: without contracts and ghost code, with bound variables numbered.

use std::collections::{BTreeMap, BTreeSet};

/// Words that start a contract, an invariant or an assertion in braces.
const ANNOTATIONS: [&str; 6] = ["requires", "ensures", "variant", "invariant", "assert", "pure"];

/// Splits a text into words, numbers and symbols. Comments are removed.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut at, mut depth) = (Vec::new(), 0, 0usize);
    while at < chars.len() {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        let start = at;
        if chars[at] == '(' && next == '*' {
            depth += 1;
            at += 2;
        } else if depth > 0 && chars[at] == '*' && next == ')' {
            depth -= 1;
            at += 2;
        } else if depth > 0 || chars[at].is_whitespace() {
            at += 1;
        } else if chars[at].is_alphanumeric() || chars[at] == '_' {
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_' || chars[at] == '\'') {
                at += 1;
            }
            found.push(number(chars[start..at].iter().collect()));
        } else {
            let two: String = [chars[at], next].iter().collect();
            let long = ["<-", "<=", ">=", "<>", "&&", "||", "->", "/\\", "\\/", "=="].contains(&two.as_str());
            at += if long { 2 } else { 1 };
            found.push(chars[start..at].iter().collect());
        }
    }
    found
}

/// A number in decimal notation; other words are unchanged.
fn number(word: String) -> String {
    let digits = word.replace('_', "");
    let value = digits.strip_prefix("0x").map_or(digits.parse(), |hex| u128::from_str_radix(hex, 16));
    value.map_or(word, |value| value.to_string())
}

/// The names of lemmas and of ghost functions, whose calls do nothing at run time.
pub(crate) fn lemmas(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let is_ghost = |at: usize| ["lemma", "ghost"].contains(&tokens[at].as_str());
    let has_parameters = |at: usize| tokens.get(at + 2).is_some_and(|token| token == "(");
    let declared =
        (1..tokens.len()).filter(|&at| is_ghost(at) && has_parameters(at) && tokens[at - 1] != "(");
    declared.filter_map(|at| tokens.get(at + 1).cloned()).collect()
}

/// Tokens that are read one after another.
pub(crate) struct Parser<'t> {
    tokens: Vec<String>,
    at: usize,
    lemmas: &'t BTreeSet<String>,
    /// Canonical names of the variables in scope.
    names: BTreeMap<String, String>,
    count: usize,
}

impl<'t> Parser<'t> {
    /// The program of this name in a module: its parameters and its body, in canonical form.
    pub(crate) fn program(
        text: &str,
        module: &str,
        name: &str,
        lemmas: &'t BTreeSet<String>,
    ) -> Option<(Vec<String>, String)> {
        let start = text.find(&format!("\nmodule {module}\n"))?;
        let text = text[start..].split("\nend\n").next()?;
        let start = text.find(&format!("\n  let {name} "))?;
        // Declarations are indented by two spaces.
        let body = &text[start + 1..];
        let ends =
            ["\n\n  let ", "\n\n  (**", "\n\n  type ", "\n\n  predicate ", "\n\n  function ", "\n\n  clone "];
        let end = ends.iter().filter_map(|end| body.find(end)).min().unwrap_or(body.len());
        let mut parser =
            Parser { tokens: tokens(&body[..end]), at: 2, lemmas, names: BTreeMap::new(), count: 0 };
        let parameters = parser.parameters();
        for parameter in &parameters {
            parser.bind(parameter);
        }
        while parser.peek() != "=" {
            parser.skip_item();
        }
        parser.at += 1;
        Some((parameters, parser.sequence()))
    }

    /// A body that is translated from Rust, with these parameters.
    pub(crate) fn body(text: &str, parameters: &[String], lemmas: &'t BTreeSet<String>) -> String {
        let mut parser = Parser { tokens: tokens(text), at: 0, lemmas, names: BTreeMap::new(), count: 0 };
        parameters.iter().for_each(|parameter| parser.bind(parameter));
        parser.sequence()
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) {
        let near = self.tokens.get(self.at.saturating_sub(6)..self.at + 3).unwrap_or_default().join(" ");
        assert!(self.accept(token), "no '{token}' near: {near}");
    }

    fn bind(&mut self, name: &str) {
        self.count += 1;
        self.names.insert(name.to_owned(), format!("v{}", self.count));
    }

    /// Skips one token, or everything in a pair of brackets.
    fn skip_item(&mut self) {
        let open = self.next();
        if ["(", "{"].contains(&open.as_str()) {
            while !["", ")", "}"].contains(&self.peek()) {
                self.skip_item();
            }
            self.at += 1;
        }
    }

    /// Parameters in parentheses, without ghosts.
    fn parameters(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        while self.peek() == "(" {
            self.at += 1;
            while ![":", ")", "ghost"].contains(&self.peek()) {
                names.push(self.next());
            }
            while !self.accept(")") {
                self.skip_item();
            }
        }
        names
    }

    fn ends(&self) -> bool {
        ["", "end", "done", ")", "else", "in"].contains(&self.peek())
    }

    /// Statements, separated by semicolons.
    fn sequence(&mut self) -> String {
        let mut all = Vec::new();
        while !self.ends() {
            let statement = self.statement();
            if !statement.is_empty() {
                all.push(statement);
            }
            if !self.accept(";") {
                break;
            }
        }
        all.join("; ")
    }

    fn statement(&mut self) -> String {
        let word = self.peek().to_owned();
        if ANNOTATIONS.contains(&word.as_str()) {
            self.at += 1;
            self.skip_item();
            // Invariants are followed by the next statement, without a semicolon.
            return if ["variant", "invariant"].contains(&word.as_str()) {
                self.statement()
            } else {
                String::new()
            };
        }
        if self.lemmas.contains(&word) && !self.names.contains_key(&word) {
            while !self.ends() && self.peek() != ";" {
                self.skip_item();
            }
            return String::new();
        }
        match word.as_str() {
            "let" => self.binding(),
            "if" => self.conditional(),
            "while" => {
                self.at += 1;
                let condition = self.expression(0);
                self.expect("do");
                let body = self.sequence();
                self.expect("done");
                format!("while {condition} do {body} done")
            }
            "return" => {
                self.at += 1;
                format!("return {}", self.expression(0))
            }
            _ => {
                let place = self.expression(0);
                if self.accept("<-") { format!("{place} <- {}", self.expression(0)) } else { place }
            }
        }
    }

    fn binding(&mut self) -> String {
        self.expect("let");
        if ["ghost", "lemma"].contains(&self.peek()) {
            let mut depth = 0usize;
            while depth > 0 || self.peek() != "in" {
                match self.peek() {
                    "let" => depth += 1,
                    "in" => depth -= 1,
                    _ => {}
                }
                self.skip_item();
            }
            self.at += 1;
            return self.sequence();
        }
        let kind = if self.accept("ref") { "ref " } else { "" };
        let names = if self.accept("(") {
            let mut names = vec![self.next()];
            while self.accept(",") {
                names.push(self.next());
            }
            self.expect(")");
            names
        } else {
            vec![self.next()]
        };
        self.expect("=");
        let value = self.expression(0);
        self.expect("in");
        let outer = self.names.clone();
        names.iter().for_each(|name| self.bind(name));
        let bound: Vec<String> = names.iter().map(|name| self.names[name].clone()).collect();
        let rest = self.sequence();
        self.names = outer;
        // What is only passed on: `let x = e in x`, and a pair of `Option`.
        let is_passed = match &bound[..] {
            [one] => rest == *one,
            [ok, some] => rest == format!("if {ok} then {{(True, {some})}} else {{(False)}}"),
            _ => false,
        };
        if is_passed && kind.is_empty() {
            return value;
        }
        format!("let {kind}{} = {value} in {rest}", bound.join(", "))
    }

    fn conditional(&mut self) -> String {
        self.expect("if");
        let condition = self.expression(0);
        self.expect("then");
        let yes = self.statement();
        let no = if self.accept("else") { self.statement() } else { String::new() };
        format!("if {condition} then {{{yes}}} else {{{no}}}")
    }

    /// An expression whose operators bind at least as strongly as `level`.
    fn expression(&mut self, level: usize) -> String {
        const LEVELS: [&[&str]; 5] =
            [&["||"], &["&&"], &["=", "<>", "<", "<=", ">", ">="], &["+", "-"], &["*", "/"]];
        let Some(operators) = LEVELS.get(level) else { return self.application() };
        if level == 2 && self.accept("not") {
            return format!("not ({})", self.expression(2));
        }
        let mut left = self.expression(level + 1);
        while operators.contains(&self.peek()) {
            let operator = self.next();
            let right = self.expression(level + 1);
            left = format!("({left} {operator} {right})");
        }
        left
    }

    fn application(&mut self) -> String {
        if self.peek() == "if" {
            return self.conditional();
        }
        if self.peek() == "let" {
            return self.binding();
        }
        let mut parts = vec![self.atom()];
        let stops = |token: &str| {
            let starts =
                token.starts_with(|c: char| c.is_alphanumeric() || c == '_') || token == "(" || token == "{";
            let words = ["then", "else", "do", "done", "in", "end", "begin", "with", "variant", "invariant"];
            !starts || words.contains(&token)
        };
        while !stops(self.peek()) {
            parts.push(self.atom());
        }
        if parts.len() == 1 { parts.remove(0) } else { format!("[{}]", parts.join(" ")) }
    }

    fn atom(&mut self) -> String {
        let token = self.next();
        let mut atom = match token.as_str() {
            "begin" => {
                let inner = self.sequence();
                self.expect("end");
                inner
            }
            "(" if self.accept(")") => "()".to_owned(),
            "(" => {
                let mut parts = vec![self.sequence()];
                if self.accept(":") {
                    self.at += 1; // a type
                }
                while self.accept(",") {
                    parts.push(self.expression(0));
                }
                self.expect(")");
                match parts.first().map(String::as_str) {
                    // What stands beside `False` is not used.
                    Some("False") => "(False)".to_owned(),
                    _ if parts.len() == 1 => parts.remove(0),
                    _ => format!("({})", parts.join(", ")),
                }
            }
            "{" => {
                let mut fields = Vec::new();
                if self.tokens.get(self.at + 1).is_none_or(|next| next != "=") {
                    fields.push(format!("{} with", self.expression(0)));
                    self.expect("with");
                }
                while !self.accept("}") {
                    let name = self.next();
                    self.expect("=");
                    fields.push(format!("{name} = {}", self.expression(0)));
                    self.accept(";");
                }
                format!("{{{}}}", fields.join("; "))
            }
            "true" => "True".to_owned(),
            "false" => "False".to_owned(),
            _ => self.names.get(&token).cloned().unwrap_or(token),
        };
        while self.accept(".") {
            atom = format!("{atom}.{}", self.next());
        }
        atom
    }
}
