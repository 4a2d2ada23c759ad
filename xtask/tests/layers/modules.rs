//! The module graph of a crate, from its sources: which module uses which, and the cycles in it.
//!
//! A module is a file; modules declared inline belong to their file. A path counts as a use of the module
//! that defines the item: re-exports are followed, and are uses themselves. Not counted are
//! - code for tests (`#[cfg(test)]`),
//! - macros by `macro_rules!` and the paths in their definitions,
//! - methods and fields, since the sources do not say what a value's type is.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Longer chains of re-exports are circular.
const LONGEST: usize = 16;

/// The path of a module below the crate root, such as `["a", "b"]` for `crate::a::b`.
type ModulePath = Vec<String>;

/// A use of one module in another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// A module, inline or of its own file.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// The module whose file this is: itself, or an ancestor if it is inline.
    owner: ModulePath,
    items: BTreeSet<String>,
    macros: BTreeSet<String>,
    /// Imported names and the paths that they stand for.
    imports: BTreeMap<String, Vec<String>>,
    glob_imports: Vec<Vec<String>>,
}

/// A path in the code of a module.
struct Mention {
    module: ModulePath,
    segments: Vec<String>,
    line: usize,
}

/// Where a path leads.
#[derive(Debug, PartialEq)]
enum Target {
    Module(ModulePath),
    Item(ModulePath),
    /// Another crate, or a macro.
    Other,
}

/// The modules of a crate and the paths in their code.
#[derive(Default)]
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
    mentions: Vec<Mention>,
}

impl Crate {
    /// Parses the sources of a crate, by file, from its root file on.
    pub(crate) fn parse(sources: &BTreeMap<PathBuf, String>, root: &Path) -> Crate {
        let mut parsed = Crate::default();
        let mut files = VecDeque::from([(root.to_owned(), ModulePath::new())]);
        while let Some((file, path)) = files.pop_front() {
            let text = sources.get(&file).unwrap_or_else(|| panic!("{} does not exist", file.display()));
            let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            parsed.modules.insert(
                path.clone(),
                Module { file: file.clone(), owner: path.clone(), ..Module::default() },
            );
            let mut reader = Reader { parsed: &mut parsed, path, children: Vec::new() };
            reader.visit_file(&syntax);
            for child in reader.children {
                files.push_back((file_of(sources, root, &child), child));
            }
        }
        parsed
    }

    /// Uses of one module in another, each pair of modules once.
    pub(crate) fn uses(&self) -> Vec<Use> {
        let mut uses: BTreeMap<(String, String), Use> = BTreeMap::new();
        for mention in &self.mentions {
            let (Target::Module(target) | Target::Item(target)) =
                self.resolve(&mention.module, &mention.segments, 0)
            else {
                continue;
            };
            let from = &self.modules[&mention.module];
            let to = &self.modules[&target].owner;
            if from.owner == *to {
                continue;
            }
            let found = Use {
                from: display(&from.owner),
                to: display(to),
                file: from.file.clone(),
                line: mention.line,
            };
            uses.entry((found.from.clone(), found.to.clone())).or_insert(found);
        }
        uses.into_values().collect()
    }

    /// Groups of modules that use each other in a cycle, each as the uses within the group.
    pub(crate) fn cycles(&self) -> Vec<Vec<Use>> {
        let uses = self.uses();
        let reachable = |start: &str| {
            let mut seen = BTreeSet::new();
            let mut next = vec![start.to_owned()];
            while let Some(module) = next.pop() {
                for found in uses.iter().filter(|found| found.from == module) {
                    if seen.insert(found.to.clone()) {
                        next.push(found.to.clone());
                    }
                }
            }
            seen
        };
        let modules: BTreeSet<&String> = uses.iter().map(|found| &found.from).collect();
        let reached: BTreeMap<&String, BTreeSet<String>> =
            modules.into_iter().map(|module| (module, reachable(module))).collect();
        let is_mutual = |a: &String, b: &String| {
            reached.get(a).is_some_and(|all| all.contains(b))
                && reached.get(b).is_some_and(|all| all.contains(a))
        };
        let mut grouped: BTreeSet<&String> = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in reached.keys().copied().filter(|module| is_mutual(module, module)) {
            if grouped.contains(module) {
                continue;
            }
            let group: BTreeSet<&String> =
                reached.keys().copied().filter(|other| is_mutual(module, other)).collect();
            let within = |found: &&Use| group.contains(&found.from) && group.contains(&found.to);
            cycles.push(uses.iter().filter(within).cloned().collect());
            grouped.extend(group);
        }
        cycles
    }

    /// Follows a path that begins in a module.
    fn resolve(&self, module: &[String], segments: &[String], depth: usize) -> Target {
        let mut current = module.to_vec();
        let mut rest = segments;
        match rest.first().map(String::as_str) {
            Some("crate") => (current, rest) = (ModulePath::new(), &rest[1..]),
            Some("self") => rest = &rest[1..],
            Some("super") => {}
            Some(first) => {
                let known = &self.modules[module];
                let is_local = self.child(module, first).is_some()
                    || known.items.contains(first)
                    || known.macros.contains(first)
                    || known.imports.get(first).is_some_and(|path| path != segments);
                if !is_local && self.lookup_in_globs(module, first, depth + 1).is_none() {
                    return Target::Other;
                }
            }
            None => return Target::Other,
        }
        while let Some((segment, after)) = rest.split_first() {
            rest = after;
            if segment == "super" {
                current.pop();
                continue;
            }
            if let Some(child) = self.child(&current, segment) {
                current = child;
                continue;
            }
            return match self.lookup(&current, segment, depth) {
                // An imported module: the rest of the path begins there.
                Target::Module(module) if !rest.is_empty() => {
                    let rest: Vec<String> =
                        std::iter::once("self".to_owned()).chain(rest.iter().cloned()).collect();
                    self.resolve(&module, &rest, depth + 1)
                }
                target => target,
            };
        }
        Target::Module(current)
    }

    /// What a name means in a module in which no module of that name is declared.
    fn lookup(&self, module: &[String], name: &str, depth: usize) -> Target {
        let known = &self.modules[module];
        if known.macros.contains(name) || depth > LONGEST {
            return Target::Other;
        }
        if known.items.contains(name) {
            return Target::Item(module.to_vec());
        }
        if let Some(path) = known.imports.get(name) {
            return self.resolve(module, path, depth + 1);
        }
        self.lookup_in_globs(module, name, depth).unwrap_or_else(|| Target::Item(module.to_vec()))
    }

    /// What a name means in a module that imports it by `*`. Variants of enums and generated items are
    /// unknown.
    fn lookup_in_globs(&self, module: &[String], name: &str, depth: usize) -> Option<Target> {
        if depth > LONGEST {
            return None;
        }
        // Other paths begin with the name of a crate.
        let is_local = |path: &&Vec<String>| {
            ["crate", "self", "super"].contains(&path[0].as_str()) || self.child(module, &path[0]).is_some()
        };
        self.modules[module].glob_imports.iter().filter(is_local).find_map(|path| {
            let Target::Module(source) = self.resolve(module, path, depth + 1) else { return None };
            if source == module {
                return None;
            }
            match self.child(&source, name) {
                Some(child) => Some(Target::Module(child)),
                None if self.knows(&source, name) => Some(self.lookup(&source, name, depth + 1)),
                None => None,
            }
        })
    }

    fn knows(&self, module: &[String], name: &str) -> bool {
        let known = &self.modules[module];
        known.items.contains(name) || known.macros.contains(name) || known.imports.contains_key(name)
    }

    fn child(&self, module: &[String], name: &str) -> Option<ModulePath> {
        let mut child = module.to_vec();
        child.push(name.to_owned());
        self.modules.contains_key(&child).then_some(child)
    }
}

/// `crate::a::b`.
fn display(path: &[String]) -> String {
    let mut text = String::from("crate");
    for name in path {
        text.push_str("::");
        text.push_str(name);
    }
    text
}

/// The file of a module: `a/b.rs` or `a/b/mod.rs`.
fn file_of(sources: &BTreeMap<PathBuf, String>, root: &Path, module: &[String]) -> PathBuf {
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    let path = module.iter().fold(folder, |path, name| path.join(name));
    let file = path.with_extension("rs");
    if sources.contains_key(&file) { file } else { path.join("mod.rs") }
}

/// Collects declarations and paths of one file.
struct Reader<'c> {
    parsed: &'c mut Crate,
    /// The module that is read, an inline one within its braces.
    path: ModulePath,
    /// Modules that have files.
    children: Vec<ModulePath>,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.parsed.modules.get_mut(&self.path).expect("the module that is read is known")
    }

    fn mention(&mut self, segments: Vec<String>, line: usize) {
        self.parsed.mentions.push(Mention { module: self.path.clone(), segments, line });
    }

    /// Registers the names that a tree of `use` imports.
    fn import(&mut self, tree: &syn::UseTree, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let line = tree.span().start().line;
        let (name, ident) = match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.import(&inner.tree, &path);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.import(item, &path));
            }
            syn::UseTree::Glob(_) => {
                self.module().glob_imports.push(path.clone());
                return self.mention(path, line);
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            syn::UseTree::Rename(rename) => (rename.rename.to_string(), rename.ident.to_string()),
        };
        let name = match ident.as_str() {
            // `use a::{self}` imports `a`.
            "self" if name == "self" => path.last().cloned().unwrap_or_default(),
            "self" => name,
            _ => {
                path.push(ident);
                name
            }
        };
        self.mention(path.clone(), line);
        self.module().imports.insert(name, path);
    }

    /// Paths among the tokens of a macro call.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon =
            |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(sign)) if sign.as_char() == ':');
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let mut segments = vec![ident.to_string()];
                    while is_colon(at + 1)
                        && is_colon(at + 2)
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        segments.push(next.to_string());
                        at += 3;
                    }
                    self.code_path(segments, line);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// A path in code.
    fn code_path(&mut self, segments: Vec<String>, line: usize) {
        if segments.len() > 1 {
            self.mention(segments, line);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_for_tests) {
            return;
        }
        let ident = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(ident) = ident {
            self.module().items.insert(ident.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let mut path = self.path.clone();
        path.push(item.ident.to_string());
        match &item.content {
            None => self.children.push(path),
            Some((_, items)) => {
                let (file, owner) = (self.module().file.clone(), self.module().owner.clone());
                self.parsed.modules.insert(path.clone(), Module { file, owner, ..Module::default() });
                let outer = std::mem::replace(&mut self.path, path);
                items.iter().for_each(|item| self.visit_item(item));
                self.path = outer;
            }
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[]);
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match &item.ident {
            // `macro_rules! name`
            Some(name) => _ = self.module().macros.insert(name.to_string()),
            None => visit::visit_item_macro(self, item),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // The macro's own name is not a use, its arguments are.
        self.tokens(call.tokens.clone());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.code_path(segments, path.span().start().line);
        }
        visit::visit_path(self, path); // arguments of generic types
    }

    // `pub(in crate::a)` and attributes use nothing.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, alone or within `all(...)`.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let is_test = |condition: &str| {
        let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        condition == "test"
            || (words[0] == "all"
                && words.contains(&"test")
                && !words.contains(&"not")
                && !words.contains(&"any"))
    };
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|list| is_test(&list.tokens.to_string()))
}
