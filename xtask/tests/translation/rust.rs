//! Translates functions of the Rust core to WhyML.
//!
//! The constructs are those that the core uses. Others are an error, so that nothing is skipped silently.
//!
//! | Rust | WhyML |
//! |---|---|
//! | a slice | a pointer and a length |
//! | `for` over slices, with `zip` and `enumerate` | `while` over an index, up to the length of the first slice |
//! | `match` on an `Option` | `let` with a pair, or a record of `Checked` arithmetic, and `if` |
//! | `saturating_sub`, `saturating_add(1)` | `if` |
//!
//! Slices that are zipped can be longer than the first one, but not shorter: the proof requires that every access is
//! in bounds.

use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::{BinOp, Block, Expr, Item, Lit, Pat, Stmt, UnOp};

/// How the program returns the result of the function.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Returns {
    Plain,
    /// `Option`: `(True, x)` or `(False, _)`.
    Pair,
    /// `Result<usize, TooLarge>` and `Option<usize>`: `fitting x` or `too_large ()`.
    Counted,
    /// `Result<(), StretchError>`.
    Stretch,
    /// `Result<(), LayoutError>`.
    Layout,
}

/// What a variable of the Rust function is in WhyML.
#[derive(Clone, Debug)]
enum Value {
    /// An expression, and whether it is a size of the generic type `S`.
    Plain(String, bool),
    /// A pointer, a length and an offset.
    Slice(String, String, Option<String>),
    /// An element of a slice that can be written: pointer, index, and whether it is of type `S`.
    Place(String, String, bool),
}

/// The function of this name, as `push` or `FastCommon::push`.
pub(crate) fn function(file: &syn::File, path: &str) -> Option<(syn::Signature, Block)> {
    let (owner, name) = path.rsplit_once("::").unwrap_or(("", path));
    for item in &file.items {
        match item {
            Item::Fn(function) if owner.is_empty() && function.sig.ident == name => {
                return Some((function.sig.clone(), (*function.block).clone()));
            }
            Item::Impl(block) if block.trait_.is_none() => {
                let syn::Type::Path(of) = &*block.self_ty else { continue };
                if of.path.segments.last().is_none_or(|segment| segment.ident != owner) {
                    continue;
                }
                for item in &block.items {
                    if let syn::ImplItem::Fn(function) = item
                        && function.sig.ident == name
                    {
                        return Some((function.sig.clone(), function.block.clone()));
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// The names of its parameters in WhyML, in the order of the program's.
pub(crate) struct Translator {
    values: BTreeMap<String, Value>,
    /// Prefix of the fields of `self`.
    prefix: &'static str,
    returns: Returns,
    loops: usize,
}

type Result<T> = std::result::Result<T, String>;

fn unsupported<T>(what: &impl Spanned) -> Result<T> {
    Err(format!("no translation for line {}", what.span().start().line))
}

impl Translator {
    /// Translates a function. `parameters` are those of the program.
    pub(crate) fn translate(
        (signature, body): &(syn::Signature, Block),
        path: &str,
        parameters: &[String],
        returns: Returns,
    ) -> Result<String> {
        let prefix = if path.starts_with("FastCommon") { "fast_" } else { "" };
        let mut this = Translator { values: BTreeMap::new(), prefix, returns, loops: 0 };
        let mut names = parameters.iter().cloned();
        let mut name = || names.next().ok_or_else(|| "too few parameters in the program".to_owned());
        // The rules of a fold are a separate parameter of its programs.
        let has_rules = parameters.first().is_some_and(|first| first == "r");
        if has_rules {
            let rules = name()?;
            this.values.insert("rules".into(), Value::Plain(rules, false));
        }
        for input in &signature.inputs {
            match input {
                syn::FnArg::Receiver(_) if has_rules && parameters.len() > 1 && parameters[1] == "c" => {
                    this.values.insert("self".into(), Value::Plain(name()?, false));
                }
                syn::FnArg::Receiver(_) if has_rules => {
                    this.values.insert("self".into(), Value::Plain("r".into(), false));
                }
                syn::FnArg::Receiver(_) => {
                    this.values.insert("self".into(), Value::Plain(name()?, false));
                }
                syn::FnArg::Typed(argument) => {
                    let Pat::Ident(ident) = &*argument.pat else { return unsupported(&argument.pat) };
                    let ident = ident.ident.to_string();
                    if ident == "rules" {
                        continue;
                    }
                    let value = match &*argument.ty {
                        syn::Type::Reference(of) if matches!(&*of.elem, syn::Type::Slice(_)) => {
                            Value::Slice(name()?, name()?, None)
                        }
                        _ => Value::Plain(name()?, false),
                    };
                    this.values.insert(ident, value);
                }
            }
        }
        if let Some(rest) = names.next() {
            return Err(format!("the program has one more parameter, {rest}"));
        }
        this.block(body)
    }

    fn block(&mut self, block: &Block) -> Result<String> {
        let outer = self.values.clone();
        let text = self.statements(&block.stmts)?;
        self.values = outer;
        Ok(format!("begin {text} end"))
    }

    fn statements(&mut self, statements: &[Stmt]) -> Result<String> {
        let Some((first, rest)) = statements.split_first() else { return Ok(String::new()) };
        match first {
            Stmt::Local(local) => self.local(local, rest),
            Stmt::Expr(expr, semicolon) => {
                let text = match expr {
                    Expr::ForLoop(each) => self.for_loop(each)?,
                    Expr::Try(of) if self.returns == Returns::Layout => {
                        let checked = self.expr(&of.expr, false)?;
                        let rest = self.statements(rest)?;
                        return Ok(format!(
                            "let checked = {checked} in if checked.code <> 0 then begin return checked end; {rest}"
                        ));
                    }
                    expr => self.expr(expr, semicolon.is_none() && rest.is_empty())?,
                };
                if rest.is_empty() { Ok(text) } else { Ok(format!("{text}; {}", self.statements(rest)?)) }
            }
            other => unsupported(other),
        }
    }

    fn local(&mut self, local: &syn::Local, rest: &[Stmt]) -> Result<String> {
        let Some(init) = &local.init else { return unsupported(local) };
        if let Some((_, diverge)) = &init.diverge {
            // `let Some(pad) = a.checked_sub(b) else { return false; };`
            let (Pat::TupleStruct(pattern), Expr::MethodCall(call)) = (&local.pat, &*init.expr) else {
                return unsupported(local);
            };
            let (Some(Pat::Ident(name)), true) = (pattern.elems.first(), call.method == "checked_sub") else {
                return unsupported(local);
            };
            let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
            let otherwise = self.expr(diverge, false)?;
            let name = name.ident.to_string();
            self.values.insert(name.clone(), Value::Plain(name.clone(), false));
            let rest = self.statements(rest)?;
            return Ok(format!("if {a} < {b} then {otherwise}; let {name} = {a} - {b} in {rest}"));
        }
        match (&local.pat, &*init.expr) {
            (Pat::Tuple(pair), Expr::MethodCall(call)) if call.method == "unwrap_or_default" => {
                // `let (added, own) = sizes.split_at_mut_checked(pad).unwrap_or_default();`
                let Expr::MethodCall(split) = &*call.receiver else { return unsupported(call) };
                let is_split =
                    ["split_at_checked", "split_at_mut_checked"].iter().any(|name| split.method == name);
                let (Some(Pat::Ident(before)), Some(Pat::Ident(after)), true) =
                    (pair.elems.first(), pair.elems.last(), is_split)
                else {
                    return unsupported(pair);
                };
                let (pointer, length, None) = self.slice(&split.receiver)? else { return unsupported(split) };
                let at = self.plain(&split.args[0])?;
                let first = Value::Slice(pointer.clone(), at.clone(), None);
                self.values.insert(before.ident.to_string(), first);
                let second = Value::Slice(pointer, format!("({length} - {at})"), Some(at));
                self.values.insert(after.ident.to_string(), second);
                self.statements(rest)
            }
            (Pat::Ident(name), value) => {
                let ident = name.ident.to_string();
                if let Expr::MethodCall(call) = value
                    && call.method == "len"
                {
                    let (_, length, _) = self.slice(&call.receiver)?;
                    self.values.insert(ident, Value::Plain(length, false));
                    return self.statements(rest);
                }
                if let Expr::MethodCall(call) = value
                    && let Expr::MethodCall(get) = &*call.receiver
                    && call.method == "unwrap_or_default"
                    && get.method == "get"
                    && let Some(Expr::Range(syn::ExprRange { start: Some(start), end: None, .. })) =
                        get.args.first()
                {
                    // `let index = index.get(pad..).unwrap_or_default();`
                    let (pointer, length, None) = self.slice(&get.receiver)? else { return unsupported(get) };
                    let start = self.plain(start)?;
                    self.values
                        .insert(ident, Value::Slice(pointer, format!("({length} - {start})"), Some(start)));
                    return self.statements(rest);
                }
                if let Expr::MethodCall(call) = value
                    && let Expr::Call(join) = &*call.receiver
                    && call.method == "unwrap_or"
                    && path(&join.func) == "S::join"
                {
                    let joined = self.call("join", join.args.iter().collect())?;
                    let otherwise = self.plain(&call.args[0])?;
                    self.values.insert(ident.clone(), Value::Plain(ident.clone(), true));
                    let rest = self.statements(rest)?;
                    return Ok(format!(
                        "let (ok, c) = {joined} in let {ident} = if ok then c else {otherwise} in {rest}"
                    ));
                }
                let is_size = self.is_size(value);
                let text = self.expr(value, false)?;
                self.values.insert(ident.clone(), Value::Plain(ident.clone(), is_size));
                let kind = if name.mutability.is_some() { "ref " } else { "" };
                Ok(format!("let {kind}{ident} = {text} in {}", self.statements(rest)?))
            }
            (pattern, _) => unsupported(pattern),
        }
    }

    /// The slices of an iterator bound to the parts of a pattern. Returns the reads of elements, and the first length.
    fn iterate(&mut self, pattern: &Pat, iterator: &Expr, index: &str) -> Result<(String, String)> {
        match iterator {
            Expr::MethodCall(call) if call.method == "iter" || call.method == "iter_mut" => {
                self.iterate(pattern, &call.receiver, index)
            }
            Expr::MethodCall(call) if call.method == "zip" => {
                let Pat::Tuple(pair) = pattern else { return unsupported(pattern) };
                let (first, bound) = self.iterate(&pair.elems[0], &call.receiver, index)?;
                let (second, other) = self.iterate(&pair.elems[1], &call.args[0], index)?;
                // The rest of a slice is as long as what it is zipped with.
                let bound = if bound.starts_with('(') { other } else { bound };
                Ok((format!("{first} {second}"), bound))
            }
            base => {
                let (pointer, length, offset) = self.slice(base)?;
                let at = match &offset {
                    Some(offset) => format!("({offset} + {index})"),
                    None => index.to_owned(),
                };
                let is_size = self.holds_sizes(&pointer);
                match pattern {
                    Pat::Reference(read) => {
                        let Pat::Ident(name) = &*read.pat else { return unsupported(pattern) };
                        let name = name.ident.to_string();
                        self.values.insert(name.clone(), Value::Plain(name.clone(), is_size));
                        Ok((format!("let {name} = get_ofs {pointer} {at} in"), length))
                    }
                    Pat::Ident(name) => {
                        self.values.insert(name.ident.to_string(), Value::Place(pointer, at, is_size));
                        Ok((String::new(), length))
                    }
                    other => unsupported(other),
                }
            }
        }
    }

    fn for_loop(&mut self, each: &syn::ExprForLoop) -> Result<String> {
        let outer = self.values.clone();
        self.loops += 1;
        let (index, pattern, iterator) = match (&*each.pat, &*each.expr) {
            (Pat::Tuple(pair), Expr::MethodCall(call)) if call.method == "enumerate" => {
                let Pat::Ident(index) = &pair.elems[0] else { return unsupported(pair) };
                let index = index.ident.to_string();
                self.values.insert(index.clone(), Value::Plain(index.clone(), false));
                (index, &pair.elems[1], &*call.receiver)
            }
            (pattern, iterator) => (format!("index{}", self.loops), pattern, iterator),
        };
        let (reads, bound) = self.iterate(pattern, iterator, &index)?;
        let body = self.block(&each.body)?;
        self.values = outer;
        let body = format!("{reads} {body}; {index} <- {index} + 1");
        Ok(format!("let ref {index} = 0 in while {index} < {bound} do {body} done"))
    }

    /// Whether the elements of a slice have the generic type `S`.
    fn holds_sizes(&self, pointer: &str) -> bool {
        !self.sizes_are_known() && pointer != "from"
    }

    fn sizes_are_known(&self) -> bool {
        [Returns::Counted, Returns::Stretch, Returns::Layout].contains(&self.returns)
    }

    /// Whether an expression has the generic type `S`.
    fn is_size(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(_) => {
                matches!(self.values.get(&path(expr)), Some(Value::Plain(_, true))) || path(expr) == "S::ONE"
            }
            Expr::Unary(of) => match &*of.expr {
                Expr::Path(_) => matches!(self.values.get(&path(&of.expr)), Some(Value::Place(_, _, true))),
                _ => false,
            },
            Expr::Call(call) => !self.sizes_are_known() && path(&call.func) == "padded_dim",
            Expr::MethodCall(call) => call.method == "unwrap_or" && self.is_size(&call.args[0]),
            _ => false,
        }
    }

    fn slice(&self, expr: &Expr) -> Result<(String, String, Option<String>)> {
        let expr = match expr {
            Expr::Reference(of) => &*of.expr,
            expr => expr,
        };
        if let Expr::Field(field) = expr
            && let syn::Member::Named(name) = &field.member
            && name == "sizes"
        {
            return Ok(("c.fast_sizes".into(), "c.fast_rank".into(), None));
        }
        match self.values.get(&path(expr)) {
            Some(Value::Slice(pointer, length, offset)) => {
                Ok((pointer.clone(), length.clone(), offset.clone()))
            }
            _ => unsupported(expr),
        }
    }

    fn plain(&mut self, expr: &Expr) -> Result<String> {
        self.expr(expr, false).map(|text| format!("({text})"))
    }

    /// An expression. `is_result` where its value is that of the function.
    fn expr(&mut self, expr: &Expr, is_result: bool) -> Result<String> {
        match expr {
            Expr::Paren(of) => self.plain(&of.expr),
            Expr::Lit(of) => match &of.lit {
                Lit::Int(number) => Ok(number.base10_digits().to_owned()),
                Lit::Bool(value) => Ok(if value.value { "true" } else { "false" }.to_owned()),
                other => unsupported(other),
            },
            Expr::Path(_) => self.named(&path(expr)),
            Expr::Field(field) => {
                let syn::Member::Named(name) = &field.member else { return unsupported(field) };
                if name == "rules" {
                    return Ok("r".into());
                }
                let owner = self.expr(&field.base, false)?;
                let prefix = if owner == "c" && name != "fits" { self.prefix } else { "" };
                Ok(format!("{owner}.{prefix}{name}"))
            }
            Expr::Unary(of) => match (&of.op, &*of.expr) {
                (UnOp::Not(_), inner) => Ok(format!("not {}", self.plain(inner)?)),
                (UnOp::Deref(_), inner) => match self.values.get(&path(inner)) {
                    Some(Value::Place(pointer, at, _)) => Ok(format!("get_ofs {pointer} {at}")),
                    _ => unsupported(inner),
                },
                (op, _) => unsupported(op),
            },
            Expr::Binary(of) => {
                let sizes = self.is_size(&of.left) || self.is_size(&of.right);
                let (left, right) = (self.plain(&of.left)?, self.plain(&of.right)?);
                let operator = match of.op {
                    BinOp::Eq(_) if sizes => return Ok(format!("same {left} {right}")),
                    BinOp::Ne(_) if sizes => return Ok(format!("not (same {left} {right})")),
                    BinOp::Eq(_) => "=",
                    BinOp::Ne(_) => "<>",
                    BinOp::Lt(_) => "<",
                    BinOp::Le(_) => "<=",
                    BinOp::Gt(_) => ">",
                    BinOp::Ge(_) => ">=",
                    BinOp::And(_) => "&&",
                    BinOp::Or(_) => "||",
                    ref other => return unsupported(other),
                };
                Ok(format!("{left} {operator} {right}"))
            }
            Expr::Assign(of) => {
                let value = self.expr(&of.right, false)?;
                match &*of.left {
                    Expr::Unary(place) => match self.values.get(&path(&place.expr)) {
                        Some(Value::Place(pointer, at, _)) => Ok(format!("set_ofs {pointer} {at} ({value})")),
                        _ => unsupported(place),
                    },
                    place => Ok(format!("{} <- {value}", self.expr(place, false)?)),
                }
            }
            Expr::If(of) => {
                let condition = self.expr(&of.cond, false)?;
                let outer = self.values.clone();
                let yes = self.block_result(&of.then_branch, is_result)?;
                self.values = outer;
                match &of.else_branch {
                    Some((_, otherwise)) => {
                        let no = self.expr(otherwise, is_result)?;
                        Ok(format!("if {condition} then {yes} else {no}"))
                    }
                    None => Ok(format!("if {condition} then {yes}")),
                }
            }
            Expr::Block(of) => self.block_result(&of.block, is_result),
            Expr::Return(of) => match &of.expr {
                Some(value) => Ok(format!("return {}", self.result(value)?)),
                None => Ok("return ()".into()),
            },
            Expr::Match(of) => self.option_match(of, is_result),
            Expr::Call(call) if is_result && self.is_result(call) => self.result(expr),
            Expr::Call(call) => self.call(&path(&call.func), call.args.iter().collect()),
            Expr::MethodCall(call) => self.method(call),
            Expr::Struct(of) => self.record(of),
            Expr::Cast(of) if path(&of.expr) == "isize::MAX" => Ok("0x7fff_ffff_ffff_ffff".into()),
            other => unsupported(other),
        }
    }

    fn block_result(&mut self, block: &Block, is_result: bool) -> Result<String> {
        if let ([Stmt::Expr(expr, None)], true) = (&block.stmts[..], is_result) {
            return self.result(expr).map(|text| format!("begin {text} end"));
        }
        self.block(block)
    }

    fn named(&self, name: &str) -> Result<String> {
        match name {
            "S::ONE" if self.returns == Returns::Counted => Ok("1".into()),
            "S::ONE" => Ok("one ()".into()),
            "usize::MAX" => Ok("0xffff_ffff_ffff_ffff".into()),
            "None" => self.none(),
            name => match self.values.get(name) {
                Some(Value::Plain(text, _)) => Ok(text.clone()),
                other => Err(format!("no translation for the name {name}: {other:?}")),
            },
        }
    }

    fn none(&self) -> Result<String> {
        match self.returns {
            Returns::Pair => Ok("(False, 0)".into()),
            Returns::Counted => Ok("too_large ()".into()),
            _ => Err("None".into()),
        }
    }

    fn is_result(&self, call: &syn::ExprCall) -> bool {
        ["Ok", "Err", "Some"].contains(&path(&call.func).as_str())
    }

    /// The value of the function.
    fn result(&mut self, expr: &Expr) -> Result<String> {
        let Expr::Call(call) = expr else { return self.expr(expr, true) };
        let value = call.args.first();
        match (path(&call.func).as_str(), self.returns, value) {
            ("Some", Returns::Pair, Some(value)) => Ok(format!("(True, {})", self.expr(value, false)?)),
            ("Ok", Returns::Counted, Some(value)) => Ok(format!("fitting {}", self.plain(value)?)),
            ("Err", Returns::Counted, Some(value)) if path(value) == "TooLarge" => Ok("too_large ()".into()),
            ("Ok", Returns::Stretch, Some(_)) => Ok("stretch_ok ()".into()),
            ("Err", Returns::Stretch, Some(Expr::Struct(error))) => {
                let variant = path_text(&error.path).to_lowercase().replace("stretcherror::", "stretch_");
                let mut text = variant;
                for field in &error.fields {
                    text = format!("{text} {}", self.plain(&field.expr)?);
                }
                Ok(text)
            }
            ("Err", Returns::Stretch, Some(Expr::Path(_))) => Ok("stretch_length ()".into()),
            ("Ok", Returns::Layout, Some(Expr::Tuple(_))) => Ok("layout_ok 0".into()),
            ("Err", Returns::Layout, Some(Expr::Path(_))) => Ok("layout_length ()".into()),
            ("Err", Returns::Layout, Some(Expr::Struct(error))) => {
                let mut text = path_text(&error.path).to_lowercase().replace("layouterror::", "layout_");
                for field in &error.fields {
                    text = format!("{text} {}", self.plain(&field.expr)?);
                }
                Ok(text)
            }
            _ => self.call(&path(&call.func), call.args.iter().collect()),
        }
    }

    fn call(&mut self, name: &str, arguments: Vec<&Expr>) -> Result<String> {
        let name = name.rsplit("::").next().unwrap_or(name);
        let mut text = name.to_owned();
        for argument in arguments {
            if let Ok((pointer, length, None)) = self.slice(argument) {
                text = format!("{text} {pointer} {length}");
            } else {
                text = format!("{text} {}", self.plain(argument)?);
            }
        }
        Ok(text)
    }

    fn method(&mut self, call: &syn::ExprMethodCall) -> Result<String> {
        let name = call.method.to_string();
        match name.as_str() {
            "len" => self.slice(&call.receiver).map(|(_, length, _)| length),
            "stretches_to" | "is_strict_rank" | "min_inputs" | "max_inputs" => {
                let rules = self.plain(&call.receiver)?;
                let call = self.call(&name, call.args.iter().collect())?;
                let arguments = call.strip_prefix(&name).unwrap_or_default();
                Ok(format!("{name} {rules}{arguments}"))
            }
            "saturating_sub" => {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                Ok(format!("if {a} < {b} then 0 else {a} - {b}"))
            }
            "saturating_add" => {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                // Ranks and dimensions do not overflow: that is proven. The number of inputs can.
                let is_rank = matches!(&*call.receiver, Expr::Path(_));
                match (is_rank, b.as_str()) {
                    (true, _) => Ok(format!("{a} + {b}")),
                    (false, "(1)") => Ok(format!("if {a} = 0xffff_ffff_ffff_ffff then {a} else {a} + 1")),
                    _ => unsupported(call),
                }
            }
            _ => unsupported(call),
        }
    }

    /// A record: the fields of `Rules` and of `FastCommon`.
    fn record(&mut self, of: &syn::ExprStruct) -> Result<String> {
        let mut fields = Vec::new();
        for field in &of.fields {
            let syn::Member::Named(name) = &field.member else { return unsupported(field) };
            let name = name.to_string();
            match (path_text(&of.path).as_str(), name.as_str()) {
                ("FastCommon", "rules") => {}
                ("FastCommon", "sizes") => {
                    let (pointer, length, _) = self.slice(&field.expr)?;
                    fields.push(format!("fast_sizes = {pointer}; fast_rank = {length}"));
                }
                ("FastCommon", "inputs") => {
                    fields.push(format!("fast_inputs = {}", self.expr(&field.expr, false)?))
                }
                _ => fields.push(format!("{name} = {}", self.expr(&field.expr, false)?)),
            }
        }
        match &of.rest {
            Some(rest) => Ok(format!("{{ {} with {} }}", self.expr(rest, false)?, fields.join("; "))),
            None => Ok(format!("{{ {} }}", fields.join("; "))),
        }
    }

    /// A `match` on an `Option` or a `Result` with two arms.
    fn option_match(&mut self, of: &syn::ExprMatch, is_result: bool) -> Result<String> {
        let [yes, no] = &of.arms[..] else { return unsupported(of) };
        let Pat::TupleStruct(some) = &yes.pat else { return unsupported(&yes.pat) };
        let pattern = match some.elems.first() {
            Some(Pat::Reference(read)) => Some(&*read.pat),
            pattern => pattern,
        };
        let Some(Pat::Ident(name)) = pattern else { return unsupported(&yes.pat) };
        let name = name.ident.to_string();
        let arm = |this: &mut Translator, arm: &Expr| {
            if is_result && !matches!(arm, Expr::Return(_)) {
                this.result(arm)
            } else {
                this.expr(arm, false)
            }
        };
        if let Expr::Call(call) = &*of.expr
            && path(&call.func).ends_with("::join")
        {
            let joined = self.call("join", call.args.iter().collect())?;
            let outer = self.values.insert(name.clone(), Value::Plain(name.clone(), true));
            let yes = arm(self, &yes.body)?;
            self.restore(&name, outer);
            let no = arm(self, &no.body)?;
            return Ok(format!(
                "let (ok, {name}) = {joined} in if ok then begin {yes} end else begin {no} end"
            ));
        }
        if let Expr::MethodCall(call) = &*of.expr
            && (call.method == "checked_sub" || call.method == "get")
        {
            let outer = self.values.get(&name).cloned();
            let (condition, start) = if call.method == "get" {
                let (pointer, length, None) = self.slice(&call.receiver)? else { return unsupported(call) };
                let at = self.plain(&call.args[0])?;
                let element = Value::Plain(format!("(get_ofs {pointer} {at})"), self.holds_sizes(&pointer));
                self.values.insert(name.clone(), element);
                (format!("{at} < {length}"), String::new())
            } else {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                self.values.insert(name.clone(), Value::Plain(name.clone(), false));
                (format!("{a} < {b}"), format!("let {name} = {a} - {b} in"))
            };
            let yes = arm(self, &yes.body)?;
            self.restore(&name, outer);
            let no = arm(self, &no.body)?;
            return Ok(match start.as_str() {
                "" => format!("if {condition} then begin {yes} end else begin {no} end"),
                start => format!("if {condition} then begin {no} end else begin {start} {yes} end"),
            });
        }
        let (value, number) = match &*of.expr {
            Expr::MethodCall(call) if call.method == "checked_mul" => {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                (format!("checked_mul_usize {a} {b}"), "number")
            }
            Expr::Call(call) => (self.call(&path(&call.func), call.args.iter().collect())?, "number"),
            other => return unsupported(other),
        };
        let checked = format!("{name}_checked");
        let outer = self.values.insert(name.clone(), Value::Plain(format!("{checked}.{number}"), false));
        let yes = arm(self, &yes.body)?;
        self.restore(&name, outer);
        let no = arm(self, &no.body)?;
        Ok(format!("let {checked} = {value} in if {checked}.fits then begin {yes} end else begin {no} end"))
    }

    fn restore(&mut self, name: &str, outer: Option<Value>) {
        match outer {
            Some(value) => self.values.insert(name.to_owned(), value),
            None => self.values.remove(name),
        };
    }
}

fn path_text(path: &syn::Path) -> String {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::")
}

/// The text of a path, or nothing.
fn path(expr: &Expr) -> String {
    match expr {
        Expr::Path(of) => path_text(&of.path),
        _ => String::new(),
    }
}
