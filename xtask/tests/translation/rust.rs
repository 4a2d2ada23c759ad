//! Translates functions of the Rust core to WhyML.
//!
//! The constructs are those that the core uses. Others are an error, so that nothing is skipped silently.
//!
//! | Rust | WhyML |
//! |---|---|
//! | a slice | a pointer and a length |
//! | `for` over slices, with `zip` and `enumerate` | `while` over an index, up to the length of the first slice |
//! | `match` on an `Option` | `let` with a pair, or a record of `Checked` arithmetic, and `if` |
//! | `match` on a pair of `Extent`s | `if` on their kinds, arm by arm |
//! | `saturating_sub`, `saturating_add(1)`, `min`, `max`, `get(n)` | `if` |
//! | `get_mut(n..)`, and `get(n..)` as the result | `incr` |
//! | `fill` | `while` over an index |
//! | a function that returns a tuple in WhyML | its statements after an `if` or a `match` that returns, in each branch |
//!
//! Slices that are zipped can be longer than the first one, but not shorter: the proof requires that every access is
//! in bounds. A slice that is returned is a pointer.

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
    /// `Result<(), LayoutError>`, `Result<isize, LayoutError>`.
    Layout,
    /// `Result<bool, usize>`: `next_ok changes` or `next_fault dim`.
    Next,
    /// `Result<(), FoldError>`: a kind and the fields of the error.
    Push,
    /// `Result<&[S], FoldError>`: a kind, the number of inputs required, and where the slice starts.
    Finish,
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

/// The function or constant of this name, as `check_next`, `FastCommon::push` or `Rules::SONNX`. Of the traits, only
/// `Size` is searched.
pub(crate) fn function(file: &syn::File, path: &str) -> Option<(syn::Signature, Block)> {
    let (owner, name) = path.rsplit_once("::").unwrap_or(("", path));
    for item in &file.items {
        match item {
            Item::Fn(function) if owner.is_empty() && function.sig.ident == name => {
                return Some((function.sig.clone(), (*function.block).clone()));
            }
            Item::Impl(block) if trait_name(block).is_none_or(|of| of == "Size") => {
                if type_name(block).is_none_or(|of| of != owner) {
                    continue;
                }
                for item in &block.items {
                    match item {
                        syn::ImplItem::Fn(function) if function.sig.ident == name => {
                            return Some((function.sig.clone(), function.block.clone()));
                        }
                        syn::ImplItem::Const(constant) if constant.ident == name => {
                            let signature = syn::parse_str("fn constant()").ok()?;
                            let stmts = vec![Stmt::Expr(constant.expr.clone(), None)];
                            return Some((
                                signature,
                                Block { brace_token: syn::token::Brace::default(), stmts },
                            ));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// The trait that a block implements, if it does.
pub(crate) fn trait_name(block: &syn::ItemImpl) -> Option<String> {
    let (path, _) = block.trait_.as_ref()?;
    path.segments.last().map(|segment| segment.ident.to_string())
}

/// The type of a block.
pub(crate) fn type_name(block: &syn::ItemImpl) -> Option<String> {
    let syn::Type::Path(of) = &*block.self_ty else { return None };
    of.path.segments.last().map(|segment| segment.ident.to_string())
}

/// The kinds of `Extent` in WhyML, by variant.
const EXTENTS: [&str; 3] = ["Known", "Unknown", "Positive"];

/// `==` as Rust derives it for `Extent`, or the reason why it is not derived.
pub(crate) fn derived_equality(file: &syn::File) -> Result<String> {
    let extents = file.items.iter().find_map(|item| match item {
        Item::Enum(of) if of.ident == "Extent" => Some(of),
        _ => None,
    });
    let extents = extents.ok_or("no enum Extent")?;
    let derived = extents.attrs.iter().filter_map(|attribute| attribute.meta.require_list().ok());
    let derived = derived.filter(|list| list.path.is_ident("derive")).any(|list| {
        let names = list.tokens.to_string();
        names.split(',').any(|name| name.trim() == "PartialEq")
    });
    let names: Vec<String> = extents.variants.iter().map(|variant| variant.ident.to_string()).collect();
    if !derived || names != EXTENTS {
        return Err(format!("Extent has variants {names:?}; derives PartialEq: {derived}"));
    }
    let mut text = String::from("a.kind = b.kind");
    for (kind, variant) in extents.variants.iter().enumerate() {
        match variant.fields.len() {
            0 => {}
            1 => text = format!("{text} && (a.kind <> {kind} || a.size = b.size)"),
            _ => return unsupported(variant),
        }
    }
    Ok(text)
}

/// Whether a `return` is somewhere in an expression, loops not considered.
fn returns(expr: &Expr) -> bool {
    let in_block = |block: &Block| {
        block.stmts.iter().any(|statement| match statement {
            Stmt::Expr(expr, _) => returns(expr),
            Stmt::Local(local) => local.init.as_ref().is_some_and(|init| init.diverge.is_some()),
            _ => false,
        })
    };
    match expr {
        Expr::Return(_) => true,
        Expr::Block(of) => in_block(&of.block),
        Expr::If(of) => {
            in_block(&of.then_branch) || of.else_branch.as_ref().is_some_and(|(_, other)| returns(other))
        }
        Expr::Match(of) => of.arms.iter().any(|arm| returns(&arm.body)),
        _ => false,
    }
}

type Values = BTreeMap<String, Value>;

/// The names of its parameters in WhyML, in the order of the program's.
pub(crate) struct Translator {
    values: Values,
    /// Prefix of the fields of `self`.
    prefix: &'static str,
    returns: Returns,
    /// The program is for known sizes, and not for the generic type `S`.
    known: bool,
    /// Variables so far, which get distinct names.
    count: usize,
    /// The statement is one of the function's own, and what it returns is a tuple: Why3 cannot extract an early return of
    /// a tuple, so that a branch contains what follows it.
    tail: bool,
    /// What follows in the enclosing blocks, with their variables; the innermost one is the last.
    after: Vec<(Values, Vec<Stmt>)>,
}

type Result<T> = std::result::Result<T, String>;

fn unsupported<T>(what: &impl Spanned) -> Result<T> {
    Err(format!("no translation for line {}", what.span().start().line))
}

impl Translator {
    /// Translates a function. `parameters` are those of the program, and `known` is whether its sizes are known.
    pub(crate) fn translate(
        (signature, body): &(syn::Signature, Block),
        path: &str,
        parameters: &[String],
        returns: Returns,
        known: bool,
    ) -> Result<String> {
        let prefix = if path.starts_with("FastCommon") { "fast_" } else { "" };
        let tail = [Returns::Push, Returns::Finish].contains(&returns);
        let (values, after) = (BTreeMap::new(), Vec::new());
        let mut this = Translator { values, prefix, returns, known, count: 0, tail, after };
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
        if let [Stmt::Expr(expr, None)] = &body.stmts[..] {
            return if this.tail { this.statements(&body.stmts) } else { this.result(expr) };
        }
        this.statements(&body.stmts)
    }

    fn fresh(&mut self, name: &str) -> String {
        self.count += 1;
        format!("{name}'{}", self.count)
    }

    /// A new variable of WhyML for a variable of Rust.
    fn bind(&mut self, name: &str, is_size: bool) -> String {
        let text = self.fresh(name);
        self.values.insert(name.to_owned(), Value::Plain(text.clone(), is_size));
        text
    }

    fn block(&mut self, block: &Block) -> Result<String> {
        let outer = self.values.clone();
        let (tail, after) = (std::mem::take(&mut self.tail), std::mem::take(&mut self.after));
        let text = self.statements(&block.stmts)?;
        (self.values, self.tail, self.after) = (outer, tail, after);
        Ok(format!("begin {text} end"))
    }

    /// A branch of the function's own statements, with what follows it.
    fn branch(&mut self, statements: &[Stmt]) -> Result<String> {
        let outer = self.values.clone();
        let text = self.statements(statements)?;
        self.values = outer;
        Ok(format!("begin {text} end"))
    }

    /// An arm, or the branch of an `else`.
    fn branch_expr(&mut self, expr: &Expr) -> Result<String> {
        match expr {
            Expr::Block(of) => self.branch(&of.block.stmts),
            expr => self.branch(&[Stmt::Expr(expr.clone(), None)]),
        }
    }

    /// A statement of the function's own that ends it, or may do so.
    fn tail_statement(&mut self, expr: &Expr, rest: &[Stmt]) -> Result<String> {
        if let Expr::Return(of) = expr {
            return of.expr.as_ref().map_or_else(|| unsupported(of), |value| self.result(value));
        }
        let after = self.after.clone();
        if !rest.is_empty() {
            self.after.push((self.values.clone(), rest.to_vec()));
        }
        let text = match expr {
            Expr::If(of) => {
                let condition = self.expr(&of.cond, false)?;
                let yes = self.branch(&of.then_branch.stmts)?;
                let no = match &of.else_branch {
                    Some((_, other)) => self.branch_expr(other)?,
                    None => self.branch(&[])?,
                };
                Ok(format!("if {condition} then {yes} else {no}"))
            }
            Expr::Match(of) => self.option_match(of, false),
            other => unsupported(other),
        };
        self.after = after;
        text
    }

    fn statements(&mut self, statements: &[Stmt]) -> Result<String> {
        let Some((first, rest)) = statements.split_first() else {
            let Some((values, rest)) = self.after.pop() else { return Ok(String::new()) };
            let inner = std::mem::replace(&mut self.values, values.clone());
            let text = self.statements(&rest);
            self.after.push((values, rest));
            self.values = inner;
            return text;
        };
        match first {
            Stmt::Local(local) => self.local(local, rest),
            Stmt::Expr(expr, _) if self.tail && returns(expr) => self.tail_statement(expr, rest),
            Stmt::Expr(expr, None) if self.tail && rest.is_empty() && self.after.is_empty() => {
                self.result(expr)
            }
            Stmt::Expr(expr, semicolon) => {
                let text = match expr {
                    Expr::ForLoop(each) => self.for_loop(each)?,
                    Expr::MethodCall(call) if call.method == "fill" => self.fill(call)?,
                    Expr::Try(of) if self.returns == Returns::Layout => {
                        let checked = self.expr(&of.expr, false)?;
                        let name = self.fresh("checked");
                        let rest = self.statements(rest)?;
                        return Ok(format!(
                            "let {name} = {checked} in if {name}.code <> 0 then begin return {name} end; {rest}"
                        ));
                    }
                    expr => {
                        self.expr(expr, semicolon.is_none() && rest.is_empty() && self.after.is_empty())?
                    }
                };
                if rest.is_empty() && self.after.is_empty() {
                    return Ok(text);
                }
                Ok(format!("{text}; {}", self.statements(rest)?))
            }
            other => unsupported(other),
        }
    }

    fn local(&mut self, local: &syn::Local, rest: &[Stmt]) -> Result<String> {
        let Some(init) = &local.init else { return unsupported(local) };
        if let Some((_, diverge)) = &init.diverge {
            // `let Some(pad) = a.checked_sub(b) else { return false; };`
            let Pat::TupleStruct(pattern) = &local.pat else { return unsupported(local) };
            let Some(Pat::Ident(name)) = pattern.elems.first() else { return unsupported(local) };
            let name = name.ident.to_string();
            if let Expr::MethodCall(call) = &*init.expr
                && call.method == "checked_sub"
            {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                let otherwise = self.expr(diverge, false)?;
                let name = self.bind(&name, false);
                let rest = self.statements(rest)?;
                return Ok(format!("if {a} < {b} then {otherwise}; let {name} = {a} - {b} in {rest}"));
            }
            let (value, number) = self.checked(&init.expr)?;
            let otherwise = self.expr(diverge, false)?;
            let checked = self.fresh(&name);
            self.values.insert(name, Value::Plain(format!("{checked}.{number}"), false));
            let rest = self.statements(rest)?;
            return Ok(format!("let {checked} = {value} in if not {checked}.fits then {otherwise}; {rest}"));
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
                    && let Some((get, start)) = part(call)
                {
                    let (pointer, length, None) = self.slice(&get.receiver)? else { return unsupported(get) };
                    let start = self.plain(start)?;
                    let length = format!("({length} - {start})");
                    if get.method == "get" {
                        // `let index = index.get(pad..).unwrap_or_default();`
                        self.values.insert(ident, Value::Slice(pointer, length, Some(start)));
                        return self.statements(rest);
                    }
                    // `let sizes = sizes.get_mut(skip..).unwrap_or_default();`
                    let own = self.fresh(&ident);
                    self.values.insert(ident, Value::Slice(own.clone(), length, None));
                    let rest = self.statements(rest)?;
                    return Ok(format!("let {own} = incr {pointer} {start} in {rest}"));
                }
                if let Expr::MethodCall(call) = value
                    && let Expr::Call(join) = &*call.receiver
                    && call.method == "unwrap_or"
                    && path(&join.func) == "S::join"
                {
                    let joined = self.call("join", join.args.iter().collect())?;
                    let otherwise = self.plain(&call.args[0])?;
                    let (ok, c) = (self.fresh("ok"), self.fresh("c"));
                    let ident = self.bind(&ident, true);
                    let rest = self.statements(rest)?;
                    return Ok(format!(
                        "let ({ok}, {c}) = {joined} in let {ident} = if {ok} then {c} else {otherwise} in {rest}"
                    ));
                }
                let is_size = self.is_size(value);
                let text = self.expr(value, false)?;
                let ident = self.bind(&ident, is_size);
                let kind = if name.mutability.is_some() { "ref " } else { "" };
                Ok(format!("let {kind}{ident} = {text} in {}", self.statements(rest)?))
            }
            (Pat::Tuple(pair), Expr::Tuple(values)) if pair.elems.len() == values.elems.len() => {
                let texts: Vec<_> =
                    values.elems.iter().map(|value| self.plain(value)).collect::<Result<_>>()?;
                let mut bound = String::new();
                for (pattern, text) in pair.elems.iter().zip(texts) {
                    let Pat::Ident(name) = pattern else { return unsupported(pattern) };
                    let name = self.bind(&name.ident.to_string(), false);
                    bound = format!("{bound} let {name} = {text} in");
                }
                Ok(format!("{bound} {}", self.statements(rest)?))
            }
            (pattern, _) => unsupported(pattern),
        }
    }

    /// `slice.fill(value)`
    fn fill(&mut self, call: &syn::ExprMethodCall) -> Result<String> {
        let (pointer, length, None) = self.slice(&call.receiver)? else { return unsupported(call) };
        let value = self.plain(&call.args[0])?;
        let at = self.fresh("at");
        let body = format!("set_ofs {pointer} {at} {value}; {at} <- {at} + 1");
        Ok(format!("let ref {at} = 0 in while {at} < {length} do {body} done"))
    }

    /// Arithmetic that detects overflow, or a function that returns it, and the field of the result.
    fn checked(&mut self, expr: &Expr) -> Result<(String, &'static str)> {
        let is_offset = self.returns == Returns::Layout;
        let (kind, number) = if is_offset { ("isize", "value") } else { ("usize", "number") };
        match expr {
            Expr::MethodCall(call)
                if call.method == "checked_mul" || (is_offset && call.method == "checked_add") =>
            {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                Ok((format!("{}_{kind} {a} {b}", call.method), number))
            }
            Expr::Call(call) if path(&call.func) == "isize::try_from" && is_offset => {
                Ok((format!("isize_try_from {}", self.plain(&call.args[0])?), number))
            }
            Expr::Call(call) if !is_offset => {
                Ok((self.call(&path(&call.func), call.args.iter().collect())?, number))
            }
            other => unsupported(other),
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
                        let name = self.bind(&name.ident.to_string(), is_size);
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
        let (index, pattern, iterator) = match (&*each.pat, &*each.expr) {
            (Pat::Tuple(pair), Expr::MethodCall(call)) if call.method == "enumerate" => {
                let Pat::Ident(index) = &pair.elems[0] else { return unsupported(pair) };
                (self.bind(&index.ident.to_string(), false), &pair.elems[1], &*call.receiver)
            }
            (pattern, iterator) => (self.fresh("index"), pattern, iterator),
        };
        let (reads, bound) = self.iterate(pattern, iterator, &index)?;
        let body = self.block(&each.body)?;
        self.values = outer;
        let body = format!("{reads} {body}; {index} <- {index} + 1");
        Ok(format!("let ref {index} = 0 in while {index} < {bound} do {body} done"))
    }

    /// Whether the elements of a slice have the generic type `S`.
    fn holds_sizes(&self, pointer: &str) -> bool {
        !self.known && !pointer.contains("from")
    }

    /// Whether an expression has the generic type `S`.
    fn is_size(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(_) => {
                let is_one = path(expr) == "S::ONE" && !self.known;
                is_one || matches!(self.values.get(&path(expr)), Some(Value::Plain(_, true)))
            }
            Expr::Unary(of) => match &*of.expr {
                Expr::Path(_) => matches!(self.values.get(&path(&of.expr)), Some(Value::Place(_, _, true))),
                _ => false,
            },
            Expr::Call(call) => !self.known && path(&call.func) == "padded_dim",
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
            && path(&field.base) == "self"
        {
            return match (self.prefix, name.to_string().as_str()) {
                ("fast_", "sizes") => Ok(("c.fast_sizes".into(), "c.fast_rank".into(), None)),
                ("", "sizes") => Ok(("c.sizes".into(), "c.room".into(), None)),
                ("", "from") => Ok(("c.from".into(), "c.from_room".into(), None)),
                _ => unsupported(field),
            };
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
                let extents = [&of.left, &of.right].iter().any(|side| path(side).starts_with("Extent::"));
                let (left, right) = (self.plain(&of.left)?, self.plain(&of.right)?);
                let operator = match of.op {
                    BinOp::Eq(_) if extents => return Ok(format!("same_extent {left} {right}")),
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
            Expr::Match(of) if matches!(&*of.expr, Expr::Tuple(_)) && is_result => self.extent_match(of),
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
            "S::ONE" if self.known => Ok("1".into()),
            "Extent::Unknown" => Ok("unknown ()".into()),
            "Extent::Positive" => Ok("positive ()".into()),
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
        if let Expr::MethodCall(map) = expr
            && let (true, Returns::Pair, "Extent::Known") =
                (map.method == "map", self.returns, map.args.first().map(path).unwrap_or_default().as_str())
        {
            let (value, ok, c) = (self.expr(&map.receiver, false)?, self.fresh("ok"), self.fresh("c"));
            return Ok(format!("let ({ok}, {c}) = {value} in ({ok}, known {c})"));
        }
        // The same error for known sizes.
        if let Expr::MethodCall(map) = expr
            && let (true, Returns::Stretch, "StretchError::from") = (
                map.method == "map_err",
                self.returns,
                map.args.first().map(path).unwrap_or_default().as_str(),
            )
        {
            return self.expr(&map.receiver, false);
        }
        let Expr::Call(call) = expr else { return self.expr(expr, true) };
        let value = call.args.first();
        match (path(&call.func).as_str(), self.returns, value) {
            ("Some", Returns::Pair, Some(value)) => Ok(format!("(True, {})", self.expr(value, false)?)),
            ("Ok", Returns::Counted, Some(value)) => Ok(format!("fitting {}", self.plain(value)?)),
            ("Err", Returns::Counted, Some(value)) if path(value) == "TooLarge" => Ok("too_large ()".into()),
            ("Ok", Returns::Stretch, Some(Expr::Tuple(_))) => Ok("stretch_ok ()".into()),
            ("Err", Returns::Stretch, Some(error)) => self.error("Misfit::", "stretch_", error),
            ("Ok", Returns::Layout, Some(Expr::Tuple(_))) => Ok("layout_ok 0".into()),
            ("Ok", Returns::Layout, Some(value)) => Ok(format!("layout_ok {}", self.plain(value)?)),
            ("Err", Returns::Layout, Some(error)) => self.error("LayoutError::", "layout_", error),
            ("Ok", Returns::Next, Some(value)) => Ok(format!("next_ok {}", self.plain(value)?)),
            ("Err", Returns::Next, Some(value)) => Ok(format!("next_fault {}", self.plain(value)?)),
            ("Ok", Returns::Push, Some(Expr::Tuple(_))) => Ok("(0, 0, 0, 0, 0, one (), one ())".into()),
            ("Err", Returns::Push | Returns::Finish, Some(error)) => self.fold_error(error),
            ("Ok", Returns::Finish, Some(Expr::MethodCall(call))) => {
                let Some((get, start)) = part(call) else { return unsupported(call) };
                match self.slice(&get.receiver)? {
                    (pointer, _, None) if pointer == "c.sizes" => {
                        Ok(format!("(0, 0, {})", self.plain(start)?))
                    }
                    _ => unsupported(get),
                }
            }
            ("Ok" | "Err" | "Some", _, _) => unsupported(call),
            _ => self.call(&path(&call.func), call.args.iter().collect()),
        }
    }

    /// An error: the program that constructs it has the name of the variant, and the fields as arguments.
    fn error(&mut self, of: &str, prefix: &str, error: &Expr) -> Result<String> {
        let (name, fields) = match error {
            Expr::Struct(error) => (path_text(&error.path), error.fields.iter().collect()),
            Expr::Path(error) => (path_text(&error.path), Vec::new()),
            other => return unsupported(other),
        };
        let Some(variant) = name.strip_prefix(of) else { return unsupported(error) };
        let mut text = format!("{prefix}{}", variant.to_lowercase());
        if fields.is_empty() {
            text.push_str(" ()");
        }
        for field in fields {
            text = format!("{text} {}", self.plain(&field.expr)?);
        }
        Ok(text)
    }

    /// A [`FoldError`](unishape_core::FoldError): its kind and fields.
    fn fold_error(&mut self, error: &Expr) -> Result<String> {
        let error = match error {
            // `FoldError::Mismatch(Mismatch { .. })`
            Expr::Call(call) if path(&call.func) == "FoldError::Mismatch" => &call.args[0],
            error => error,
        };
        let Expr::Struct(of) = error else { return unsupported(error) };
        let mut fields = BTreeMap::new();
        for field in &of.fields {
            let syn::Member::Named(name) = &field.member else { return unsupported(field) };
            match &field.expr {
                Expr::Array(pair) if pair.elems.len() == 2 => {
                    for (number, value) in pair.elems.iter().enumerate() {
                        fields.insert(format!("{name}{number}"), self.plain(value)?);
                    }
                }
                value => {
                    fields.insert(name.to_string(), self.plain(value)?);
                }
            }
        }
        let (kind, names): (u8, [&str; 6]) = match path_text(&of.path).as_str() {
            "Mismatch" => (1, ["dim", "rank", "inputs0", "inputs1", "sizes0", "sizes1"]),
            "FoldError::UnequalRank" => (2, ["first", "rank", "input", "0", "1", "1"]),
            "FoldError::TooManyInputs" => (4, ["0", "0", "limit", "0", "1", "1"]),
            "FoldError::BufferTooSmall" => (5, ["rank", "capacity", "0", "0", "1", "1"]),
            "FoldError::TooFewInputs" if self.returns == Returns::Finish => {
                let least = fields.remove("least");
                return least.map_or_else(|| unsupported(of), |least| Ok(format!("(3, {least}, 0)")));
            }
            _ => return unsupported(of),
        };
        let mut text = kind.to_string();
        for name in names {
            let value = match name {
                "0" => "0".to_owned(),
                "1" => "one ()".to_owned(),
                name => fields.remove(name).ok_or_else(|| format!("no field {name}"))?,
            };
            text = format!("{text}, {value}");
        }
        if fields.is_empty() { Ok(format!("({text})")) } else { unsupported(of) }
    }

    fn call(&mut self, name: &str, arguments: Vec<&Expr>) -> Result<String> {
        let name = match (name, name.rsplit("::").next().unwrap_or(name)) {
            ("Extent::Known", _) => "known",
            ("S::join", _) if self.known => "broadcast_dim",
            ("S::join", _) => "join",
            ("Common::resume", _) => "resume",
            // Nothing else is done with a size.
            (qualified, name) if qualified == name => name,
            _ => return Err(format!("no translation for a call of {name}")),
        };
        let mut text = name.to_owned();
        for argument in arguments {
            // The rules of a fold are an argument of the programs that need them.
            if name == "resume" && path(argument) == "rules" {
                continue;
            }
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
            "min" | "max" => {
                let (a, b) = (self.plain(&call.receiver)?, self.plain(&call.args[0])?);
                let (yes, no) = if name == "min" { (&a, &b) } else { (&b, &a) };
                Ok(format!("if {a} < {b} then {yes} else {no}"))
            }
            "unwrap_or_default" | "unwrap_or" => {
                if let Some((get, start)) = part(call) {
                    // A slice as the result of the function: `self.sizes.get(skip..).unwrap_or_default()`
                    let (pointer, _, None) = self.slice(&get.receiver)? else { return unsupported(get) };
                    return Ok(format!("incr {pointer} {}", self.plain(start)?));
                }
                // `from.get(dim).copied().unwrap_or_default()`
                let Expr::MethodCall(copied) = &*call.receiver else { return unsupported(call) };
                let Expr::MethodCall(get) = &*copied.receiver else { return unsupported(call) };
                if copied.method != "copied" || get.method != "get" {
                    return unsupported(call);
                }
                let (pointer, length, None) = self.slice(&get.receiver)? else { return unsupported(get) };
                let at = self.plain(&get.args[0])?;
                let other = match call.args.first() {
                    Some(other) => self.plain(other)?,
                    None if self.holds_sizes(&pointer) => return unsupported(call),
                    None => "0".into(),
                };
                Ok(format!("if {at} < {length} then get_ofs {pointer} {at} else {other}"))
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

    /// A record: the fields of `Rules`, of `Common` and of `FastCommon`.
    fn record(&mut self, of: &syn::ExprStruct) -> Result<String> {
        let mut fields = Vec::new();
        for field in &of.fields {
            let syn::Member::Named(name) = &field.member else { return unsupported(field) };
            let name = name.to_string();
            match (path_text(&of.path).as_str(), name.as_str()) {
                ("FastCommon" | "Common", "rules") => {}
                ("Common", "sizes") => {
                    let (pointer, length, None) = self.slice(&field.expr)? else { return unsupported(field) };
                    fields.push(format!("sizes = {pointer}; room = {length}"));
                }
                ("Common", "from") => {
                    let (pointer, length, None) = self.slice(&field.expr)? else { return unsupported(field) };
                    fields.push(format!("from = {pointer}; from_room = {length}"));
                }
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
            if this.tail {
                this.branch_expr(arm)
            } else if is_result && !matches!(arm, Expr::Return(_)) {
                this.result(arm)
            } else {
                this.expr(arm, false)
            }
        };
        if let Expr::Call(call) = &*of.expr
            && path(&call.func).ends_with("::join")
        {
            let joined = self.call(&path(&call.func), call.args.iter().collect())?;
            let outer = self.values.get(&name).cloned();
            let (ok, value) = (self.fresh("ok"), self.bind(&name, !self.known));
            let yes = arm(self, &yes.body)?;
            self.restore(&name, outer);
            let no = arm(self, &no.body)?;
            return Ok(format!(
                "let ({ok}, {value}) = {joined} in if {ok} then begin {yes} end else begin {no} end"
            ));
        }
        if let (Expr::Call(call), Pat::TupleStruct(error)) = (&*of.expr, &no.pat)
            && path(&call.func) == "check_next"
            && error.path.is_ident("Err")
            && let Some(Pat::Ident(dim)) = error.elems.first()
        {
            let checked = self.call("check_next", call.args.iter().collect())?;
            let (next, outer) = (self.fresh("next"), self.values.clone());
            self.values.insert(name, Value::Plain(format!("{next}.changes"), false));
            let yes = arm(self, &yes.body)?;
            self.values = outer.clone();
            self.values.insert(dim.ident.to_string(), Value::Plain(format!("{next}.dim"), false));
            let no = arm(self, &no.body)?;
            self.values = outer;
            return Ok(format!("let {next} = {checked} in if {next}.joinable then {yes} else {no}"));
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
                let bound = self.bind(&name, false);
                (format!("{a} < {b}"), format!("let {bound} = {a} - {b} in"))
            };
            let yes = arm(self, &yes.body)?;
            self.restore(&name, outer);
            let no = arm(self, &no.body)?;
            return Ok(match start.as_str() {
                "" => format!("if {condition} then begin {yes} end else begin {no} end"),
                start => format!("if {condition} then begin {no} end else begin {start} {yes} end"),
            });
        }
        let (value, number) = self.checked(&of.expr)?;
        let checked = self.fresh(&name);
        let outer = self.values.insert(name.clone(), Value::Plain(format!("{checked}.{number}"), false));
        let yes = arm(self, &yes.body)?;
        self.restore(&name, outer);
        let no = arm(self, &no.body)?;
        Ok(format!("let {checked} = {value} in if {checked}.fits then begin {yes} end else begin {no} end"))
    }

    /// A `match` on a pair of `Extent`s: the arms one after another, or-patterns in their order.
    fn extent_match(&mut self, of: &syn::ExprMatch) -> Result<String> {
        let Expr::Tuple(pair) = &*of.expr else { return unsupported(of) };
        let values: Vec<_> = pair.elems.iter().map(|value| self.plain(value)).collect::<Result<_>>()?;
        let (mut text, mut closed) = (String::new(), String::new());
        for arm in &of.arms {
            let (pattern, guard) = match &arm.pat {
                Pat::Guard(of) => (&*of.pat, Some(&of.guard)),
                pattern => (pattern, None),
            };
            let alternatives: Vec<&Pat> = match pattern {
                Pat::Or(of) => of.cases.iter().collect(),
                pattern => vec![pattern],
            };
            for pattern in alternatives {
                let outer = self.values.clone();
                let mut conditions = Vec::new();
                match pattern {
                    Pat::Wild(_) => {}
                    Pat::Tuple(of) if of.elems.len() == values.len() => {
                        for (pattern, value) in of.elems.iter().zip(&values) {
                            conditions.extend(self.extent_pattern(pattern, value)?);
                        }
                    }
                    other => return unsupported(other),
                }
                if let Some(guard) = guard {
                    conditions.push(self.plain(guard)?);
                }
                let body = self.result(&arm.body)?;
                self.values = outer;
                if conditions.is_empty() {
                    return Ok(format!("{text} {body} {closed}"));
                }
                text = format!("{text} if {} then begin {body} end else begin", conditions.join(" && "));
                closed.push_str(" end");
            }
        }
        unsupported(of)
    }

    /// The condition of a pattern of an `Extent`, if it has one.
    fn extent_pattern(&mut self, pattern: &Pat, value: &str) -> Result<Option<String>> {
        let (variant, name) = match pattern {
            Pat::Wild(_) => return Ok(None),
            Pat::Ident(name) => (None, Some((name, value.to_owned()))),
            Pat::Path(of) => (Some(path_text(&of.path)), None),
            Pat::TupleStruct(of) => match (of.elems.first(), of.elems.len()) {
                (Some(Pat::Ident(name)), 1) => {
                    (Some(path_text(&of.path)), Some((name, format!("({value}.size)"))))
                }
                _ => return unsupported(pattern),
            },
            other => return unsupported(other),
        };
        if let Some((name, value)) = name {
            self.values.insert(name.ident.to_string(), Value::Plain(value, false));
        }
        let Some(variant) = variant else { return Ok(None) };
        let kind = EXTENTS.iter().position(|name| variant == format!("Extent::{name}"));
        kind.map_or_else(|| unsupported(pattern), |kind| Ok(Some(format!("{value}.kind = {kind}"))))
    }

    fn restore(&mut self, name: &str, outer: Option<Value>) {
        match outer {
            Some(value) => self.values.insert(name.to_owned(), value),
            None => self.values.remove(name),
        };
    }
}

/// The call of `get` and the start in `slice.get(start..).unwrap_or_default()`, also with `get_mut`.
fn part(call: &syn::ExprMethodCall) -> Option<(&syn::ExprMethodCall, &Expr)> {
    let Expr::MethodCall(get) = &*call.receiver else { return None };
    let is_part = call.method == "unwrap_or_default" && (get.method == "get" || get.method == "get_mut");
    match get.args.first() {
        Some(Expr::Range(syn::ExprRange { start: Some(start), end: None, .. })) if is_part => {
            Some((get, start))
        }
        _ => None,
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
