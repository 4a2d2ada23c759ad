//! The proven programs are translations of the Rust core: each function is translated to WhyML and compared with its
//! program in `proof/`, whose contracts and ghost code are removed.
//!
//! Names of variables do not count, nor do unnecessary parentheses. Everything else does.

mod rust;
mod whyml;

use rust::{Returns, Translator};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use whyml::Parser;

/// A function of the core, its program (file, module and name), and how the program returns its result.
type Row = (&'static str, &'static str, [&'static str; 3], Returns);

const FUNCTIONS: [Row; 41] = [
    ("rules.rs", "Rules::STANDARD", ["core_rules", "Rules", "standard"], Returns::Plain),
    ("rules.rs", "Rules::SONNX", ["core_rules", "Rules", "sonnx"], Returns::Plain),
    ("rules.rs", "Rules::strict_rank", ["core_rules", "Rules", "strict_rank"], Returns::Plain),
    ("rules.rs", "Rules::stretches_to", ["core_rules", "Rules", "stretches_to"], Returns::Plain),
    ("rules.rs", "Rules::is_strict_rank", ["core_rules", "Rules", "is_strict_rank"], Returns::Plain),
    ("rules.rs", "Rules::min_inputs", ["core_rules", "Rules", "min_inputs"], Returns::Plain),
    ("rules.rs", "Rules::max_inputs", ["core_rules", "Rules", "max_inputs"], Returns::Plain),
    ("size.rs", "broadcast_dim", ["core_size", "Usize", "broadcast_dim"], Returns::Pair),
    ("size.rs", "usize::ONE", ["core_common", "CommonUsize", "one"], Returns::Plain),
    ("size.rs", "usize::join", ["core_common", "CommonUsize", "join"], Returns::Pair),
    ("size.rs", "Extent::ONE", ["core_common", "CommonExtent", "one"], Returns::Plain),
    ("size.rs", "Extent::join", ["core_size", "Extent", "join_extents"], Returns::Pair),
    ("size.rs", "join_unknown", ["core_size", "Extent", "join_unknown"], Returns::Pair),
    ("common.rs", "Common::new", ["core_common", "Common", "new"], Returns::Plain),
    ("common.rs", "Common::resume", ["core_common", "Common", "resume"], Returns::Plain),
    ("common.rs", "Common::push", ["core_common", "Common", "push"], Returns::Push),
    ("common.rs", "Common::shape", ["core_common", "Common", "shape"], Returns::Plain),
    ("common.rs", "Common::from", ["core_common", "Common", "from_inputs"], Returns::Plain),
    ("common.rs", "Common::finish", ["core_common", "Common", "finish"], Returns::Finish),
    ("common.rs", "check_next", ["core_common", "Common", "check_next"], Returns::Next),
    ("common.rs", "Common::inputs", ["core_common", "Common", "inputs_so_far"], Returns::Plain),
    ("common.rs", "join_next", ["core_common", "Common", "join_next"], Returns::Plain),
    ("common.rs", "join_shape", ["core_common", "Common", "join_shape"], Returns::Plain),
    ("common.rs", "FastCommon::new", ["core_common", "Common", "fast_new"], Returns::Plain),
    ("common.rs", "FastCommon::push", ["core_common", "Common", "fast_push"], Returns::Plain),
    ("common.rs", "FastCommon::inputs", ["core_common", "Common", "fast_inputs_so_far"], Returns::Plain),
    ("common.rs", "FastCommon::finish", ["core_common", "Common", "fast_finish"], Returns::Plain),
    ("stretch.rs", "padded_dim", ["core_common", "Common", "padded_dim"], Returns::Plain),
    ("stretch.rs", "padded_dim", ["core_stretch", "Stretch", "padded_dim"], Returns::Counted),
    ("stretch.rs", "check_index", ["core_stretch", "Index", "check_index"], Returns::Layout),
    ("stretch.rs", "source_index", ["core_stretch", "Index", "source_index"], Returns::Layout),
    ("stretch.rs", "size_stretches", ["core_stretch", "Stretch", "size_stretches"], Returns::Plain),
    ("stretch.rs", "check_stretch", ["core_stretch", "Stretch", "check_stretch"], Returns::Stretch),
    ("stretch.rs", "stretch_strides", ["core_stretch", "Stretch", "stretch_strides"], Returns::Stretch),
    ("stretch.rs", "check_broadcast_to", ["core_stretch", "Stretch", "check_broadcast_to"], Returns::Stretch),
    ("stretch.rs", "broadcast_strides", ["core_stretch", "Stretch", "broadcast_strides"], Returns::Stretch),
    ("stretch.rs", "index_map", ["core_stretch", "Index", "index_map"], Returns::Plain),
    ("stretch.rs", "source_offset", ["core_stretch", "Index", "source_offset"], Returns::Layout),
    ("count.rs", "element_count", ["core_count", "Count", "element_count"], Returns::Counted),
    ("count.rs", "byte_count", ["core_count", "Count", "byte_count"], Returns::Counted),
    ("count.rs", "fits_isize", ["core_count", "Count", "fits_isize"], Returns::Counted),
];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn lemmas() -> BTreeSet<String> {
    let files = ["core_common", "core_count", "core_rules", "core_size", "core_stretch", "laws_memory"];
    files.iter().flat_map(|file| whyml::lemmas(&read(&format!("proof/{file}.mlw")))).collect()
}

/// The difference between a function and its program, if there is one.
fn difference(
    rust: &str,
    program: &str,
    (_, name, of, returns): &Row,
    lemmas: &BTreeSet<String>,
) -> Option<String> {
    let [_, module, called] = of;
    let Some((parameters, expected)) = Parser::program(program, module, called, lemmas) else {
        return Some(format!("{module} has no program {called}"));
    };
    let file = syn::parse_file(rust).expect("the core is Rust");
    let Some(function) = rust::function(&file, name) else { return Some(format!("no function {name}")) };
    match Translator::translate(&function, name, &parameters, *returns, *module != "Common") {
        Err(error) => Some(format!("{name}: {error}")),
        Ok(text) => {
            let found = Parser::body(&text, &parameters, lemmas);
            (found != expected)
                .then(|| format!("{name}\n  Rust:  {found}\n  proof: {expected}\n  translated: {text}"))
        }
    }
}

#[test]
fn programs_are_translations_of_the_core() {
    let lemmas = lemmas();
    let differences: Vec<String> = FUNCTIONS
        .iter()
        .filter_map(|row| {
            let rust = read(&format!("crates/core/src/{}", row.0));
            difference(&rust, &read(&format!("proof/{}.mlw", row.2[0])), row, &lemmas)
        })
        .collect();
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n\n"));
}

/// Changes of Rust code and of programs: the function, whether the Rust code is changed, and the change of all texts
/// that are equal to the first. Every kind of construct that the translator knows is changed at least once.
const DRIFTS: [(&str, bool, &str, &str); 63] = [
    ("Rules::stretches_to", true, "self.zero_from_one || size != 0", "self.zero_from_one && size != 0"),
    ("broadcast_dim", true, "a == 1 && rules.stretches_to(b)", "a == 1"),
    ("broadcast_dim", false, "(True, b)", "(True, a)"),
    ("padded_dim", true, "None => S::ONE,\n        },", "None => return shape[0],\n        },"),
    ("element_count", true, "None => return Err(TooLarge)", "None => return Ok(count)"),
    ("join_next", true, "joined == theirs || theirs == S::ONE", "joined == theirs"),
    ("join_shape", false, "let theirs = get_ofs shape k in", "let theirs = get_ofs shape pad in"),
    ("FastCommon::push", true, "self.fits = shape.len() <= rank;", "self.fits = shape.len() < rank;"),
    ("FastCommon::push", false, "c.fits <- c.fits && len = c.fast_rank", "c.fits <- len = c.fast_rank"),
    ("stretch_strides", true, "*to = stride;", "*to = 0;"),
    ("source_index", true, "check_index(target, index)?;", ""),
    ("fits_isize", false, "if size = 0 then 1 else size", "size"),
    ("check_index", true, "if index >= size", "if index > size"),
    ("index_map", true, "{ a } else { 0 }", "{ 0 } else { a }"),
    ("Rules::strict_rank", true, "equal_ranks: true, ..self", "equal_ranks: false, ..self"),
    ("Common::inputs", true, "        self.inputs\n    }", "        self.rank\n    }"),
    // Lengths and dimensions, `get`, `split_at`, `zip`, and `let` with `else`.
    ("padded_dim", true, "rank.saturating_sub(shape.len())", "shape.len().saturating_sub(rank)"),
    ("padded_dim", true, "shape.get(at)", "shape.get(dim)"),
    ("join_shape", true, "split_at_mut_checked(pad)", "split_at_mut_checked(shape.len())"),
    ("join_shape", true, "sizes.len().checked_sub(shape.len())", "shape.len().checked_sub(sizes.len())"),
    ("stretch_strides", true, "pad.saturating_add(dim)", "dim"),
    ("stretch_strides", true, "own_to.iter_mut().zip(own)", "own_to.iter_mut().zip(added)"),
    ("source_index", true, "index_map(a, b, c)", "index_map(a, c, b)"),
    ("FastCommon::push", true, "self.inputs = self.inputs.saturating_add(1);", ""),
    // The type of sizes is that of the program.
    ("size_stretches", true, "Some(joined) => joined == target", "Some(joined) => joined == size"),
    ("check_stretch", true, "if !size_stretches(rules, size, target)", "if size != target"),
    (
        "check_broadcast_to",
        true,
        "check_stretch(rules, shape, target)",
        "check_stretch(rules, target, shape)",
    ),
    (
        "broadcast_strides",
        true,
        "stretch_strides(rules, shape, strides",
        "stretch_strides(rules, target, strides",
    ),
    // Constants, and numbers in both notations.
    ("Rules::STANDARD", true, "most_inputs: usize::MAX", "most_inputs: 0xffff_ffff_ffff_fffe"),
    ("Rules::SONNX", true, "least_inputs: 1, ", "least_inputs: 0, "),
    ("Rules::SONNX", true, "0x7fff_ffff", "0x7fff_fffe"),
    ("Rules::SONNX", false, "most_inputs = 0x7fff_ffff }", "most_inputs = 0x7fff_fffe }"),
    // Items of the trait `Size`.
    ("usize::ONE", true, "const ONE: usize = 1;", "const ONE: usize = 0;"),
    ("usize::join", true, "broadcast_dim(rules, a, b)\n", "broadcast_dim(rules, b, a)\n"),
    (
        "usize::join",
        false,
        "broadcast_dim r a b in if ok then (True, c)",
        "broadcast_dim r a b in if ok then (True, a)",
    ),
    ("Extent::ONE", true, "Extent::Known(1);", "Extent::Unknown;"),
    ("Extent::ONE", false, "= known 1", "= known 0"),
    // A `match` on a pair: the order of arms, or-patterns, guards, `map`.
    (
        "Extent::join",
        true,
        "(Extent::Known(size), unknown) | (unknown, Extent::Known(size))",
        "(Extent::Known(size), unknown)",
    ),
    ("Extent::join", true, "_ if rules.stretches_to(0) =>", "_ if rules.stretches_to(1) =>"),
    (
        "Extent::join",
        true,
        "broadcast_dim(rules, a, b).map(Extent::Known)",
        "broadcast_dim(rules, b, a).map(Extent::Known)",
    ),
    (
        "Extent::join",
        true,
        "(Extent::Positive, Extent::Positive) => Some(Extent::Positive)",
        "(Extent::Positive, Extent::Positive) => Some(Extent::Unknown)",
    ),
    ("Extent::join", false, "a.kind = 1 && b.kind = 1", "a.kind = 1 && b.kind = 2"),
    ("join_unknown", true, "unknown == Extent::Positive", "unknown == Extent::Unknown"),
    ("join_unknown", false, "(True, known size)", "(True, other)"),
    // `fill`, and arguments of a call.
    ("Common::new", true, "sizes.fill(S::ONE);", ""),
    ("Common::new", true, "from.fill(0);", "from.fill(1);"),
    (
        "Common::new",
        true,
        "Common::resume(rules, sizes, from, 0, 0)",
        "Common::resume(rules, sizes, from, 0, 1)",
    ),
    // `min`, a `let` with a pair, `get_mut`, and fields.
    ("Common::resume", true, "rank.min(capacity)", "rank.max(capacity)"),
    ("Common::resume", true, "from.get_mut(more_from..)", "from.get_mut(more_sizes..)"),
    ("Common::resume", false, "from_room = from_len - more_from", "from_room = sizes_len - more_sizes"),
    // The order of the errors, their fields, and what follows a branch.
    ("Common::push", true, "if rank > capacity {", "if rank >= capacity {"),
    (
        "Common::push",
        true,
        "first: self.rank, input: self.inputs, rank: shape.len()",
        "first: shape.len(), input: self.inputs, rank: self.rank",
    ),
    ("Common::push", true, "inputs: [owner, self.inputs]", "inputs: [self.inputs, owner]"),
    ("Common::push", true, "if changes {\n", "if !changes {\n"),
    ("Common::push", true, "        self.rank = rank;\n", ""),
    ("Common::push", true, "sizes.get(dim).copied().unwrap_or(S::ONE)", "padded_dim(shape, rank, dim)"),
    (
        "Common::push",
        false,
        "(1, next.dim, wide, owner, c.inputs, ours, theirs)",
        "(1, next.dim, wide, owner, c.inputs, theirs, ours)",
    ),
    // The start of a slice.
    ("Common::shape", true, "self.sizes.len().saturating_sub(self.rank)", "self.sizes.len()"),
    ("Common::from", true, "self.from.get(skip..)", "self.sizes.get(skip..)"),
    ("Common::finish", true, "(self.rank);\n        Ok(", "(self.inputs);\n        Ok("),
    // An early return in a loop, and `let` with `else`.
    ("check_next", true, "None => return Err(dim)", "None => return Err(rank)"),
    ("source_offset", true, "if stride != 0 {", "if index != 0 {"),
    ("source_offset", true, "offset.checked_add(step) else", "offset.checked_mul(step) else"),
];

#[test]
fn drift_is_detected() {
    let lemmas = lemmas();
    for (name, in_rust, from, to) in DRIFTS {
        let row = FUNCTIONS.iter().find(|row| row.1 == name).expect("a row of the table");
        let mut rust = read(&format!("crates/core/src/{}", row.0));
        let mut program = read(&format!("proof/{}.mlw", row.2[0]));
        let text = if in_rust { &mut rust } else { &mut program };
        assert!(text.contains(from), "{name} has no {from}");
        *text = text.replace(from, to);
        assert!(difference(&rust, &program, row, &lemmas).is_some(), "{name}: {from} -> {to}");
    }
}

/// The program for `==` of `Extent`, which Rust derives.
#[test]
fn derived_equality_is_the_program() {
    let text = read("crates/core/src/size.rs");
    let equality = |text: &str| rust::derived_equality(&syn::parse_file(text).expect("the core is Rust"));
    let program = read("proof/core_size.mlw");
    let (parameters, expected) =
        Parser::program(&program, "Extent", "same_extent", &lemmas()).expect("a program");
    let found = equality(&text).map(|text| Parser::body(&text, &parameters, &lemmas()));
    assert_eq!(found.as_ref(), Ok(&expected));
    for (from, to) in
        [("PartialEq, Eq, Hash)]\npub enum", "Hash)]\npub enum"), ("    Unknown,\n", "    Unknown(usize),\n")]
    {
        assert!(text.contains(from), "no {from}");
        let changed =
            equality(&text.replace(from, to)).map(|text| Parser::body(&text, &parameters, &lemmas()));
        assert_ne!(changed, Ok(expected.clone()), "{from} -> {to}");
    }
}

/// A generic function can use a size only by what the translator knows: `==`, `ONE`, `join` and copies. The trait offers
/// more, for messages.
#[test]
fn other_uses_of_sizes_are_not_translated() {
    let row = FUNCTIONS.iter().find(|row| row.1 == "join_next").expect("a row of the table");
    let (rust, program) = (read("crates/core/src/common.rs"), read("proof/core_common.mlw"));
    for other in [
        "theirs.into() == before.into()",
        "theirs.to_string() == \"1\"",
        "S::other(theirs)",
        "theirs < before",
    ] {
        let changed = rust.replace("theirs == S::ONE", other);
        assert_ne!(rust, changed);
        let found = difference(&changed, &program, row, &lemmas());
        assert!(found.is_some(), "{other}");
    }
}

/// Traits of which nothing is proven: texts, conversions, defaults.
const TRAITS: [&str; 4] = ["Default", "Display", "Error", "From"];

/// Every function and constant of the core has a row, and each of those in docs/verification.md.
#[test]
fn everything_is_translated() {
    let mut items = BTreeSet::new();
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/core/src")).unwrap() {
        let entry = entry.unwrap();
        // A folder would be an error here.
        let (file, text) =
            (entry.file_name().display().to_string(), fs::read_to_string(entry.path()).unwrap());
        for item in syn::parse_file(&text).expect("the core is Rust").items {
            match item {
                syn::Item::Fn(of) => drop(items.insert(of.sig.ident.to_string())),
                syn::Item::Impl(block) => {
                    if rust::trait_name(&block).is_some_and(|of| TRAITS.contains(&of.as_str())) {
                        continue;
                    }
                    let owner = rust::type_name(&block).expect("the name of a type");
                    for item in &block.items {
                        let name = match item {
                            syn::ImplItem::Fn(of) => &of.sig.ident,
                            syn::ImplItem::Const(of) => &of.ident,
                            _ => panic!("{owner} has an item of another kind"),
                        };
                        items.insert(format!("{owner}::{name}"));
                    }
                }
                // Inside of a macro, functions would not be seen.
                syn::Item::Macro(_) => panic!("{file} has a macro"),
                _ => {}
            }
        }
    }
    let rows: BTreeSet<String> = FUNCTIONS.iter().map(|row| row.1.to_owned()).collect();
    assert_eq!(items, rows, "the functions of the core, and those translated");
    let text = read("docs/verification.md");
    let listed = text.lines().filter(|line| line.starts_with("| `") && line.contains(".rs` `"));
    let names = listed.filter_map(|row| row.split('`').nth(3)).filter(|name| !name.starts_with("Size::"));
    assert_eq!(names.map(str::to_owned).collect::<BTreeSet<_>>(), rows, "docs/verification.md");
}
