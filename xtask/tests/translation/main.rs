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

const FUNCTIONS: [Row; 23] = [
    ("rules.rs", "Rules::strict_rank", ["core_rules", "Rules", "strict_rank"], Returns::Plain),
    ("rules.rs", "Rules::stretches_to", ["core_rules", "Rules", "stretches_to"], Returns::Plain),
    ("rules.rs", "Rules::is_strict_rank", ["core_rules", "Rules", "is_strict_rank"], Returns::Plain),
    ("rules.rs", "Rules::min_inputs", ["core_rules", "Rules", "min_inputs"], Returns::Plain),
    ("rules.rs", "Rules::max_inputs", ["core_rules", "Rules", "max_inputs"], Returns::Plain),
    ("size.rs", "broadcast_dim", ["core_size", "Usize", "broadcast_dim"], Returns::Pair),
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
    ("stretch.rs", "check_broadcast_to", ["core_stretch", "Stretch", "check_broadcast_to"], Returns::Stretch),
    ("stretch.rs", "broadcast_strides", ["core_stretch", "Stretch", "broadcast_strides"], Returns::Stretch),
    ("stretch.rs", "index_map", ["core_stretch", "Index", "index_map"], Returns::Plain),
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
    match Translator::translate(&function, name, &parameters, *returns) {
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

/// Changes of Rust code and of programs: the row, whether the Rust code is changed, and the change.
const DRIFTS: [(&str, bool, &str, &str); 12] = [
    ("Rules::stretches_to", true, "self.zero_from_one || size != 0", "self.zero_from_one && size != 0"),
    ("broadcast_dim", true, "a == 1 && rules.stretches_to(b)", "a == 1"),
    ("broadcast_dim", false, "(True, b)", "(True, a)"),
    ("padded_dim", true, "None => S::ONE,\n        },", "None => return shape[0],\n        },"),
    ("element_count", true, "None => return Err(TooLarge)", "None => return Ok(count)"),
    ("join_next", true, "joined == theirs || theirs == S::ONE", "joined == theirs"),
    ("join_shape", false, "let theirs = get_ofs shape k in", "let theirs = get_ofs shape pad in"),
    ("FastCommon::push", true, "self.fits = shape.len() <= rank;", "self.fits = shape.len() < rank;"),
    ("FastCommon::push", false, "c.fits <- c.fits && len = c.fast_rank", "c.fits <- len = c.fast_rank"),
    ("broadcast_strides", true, "*to = stride;", "*to = 0;"),
    ("source_index", true, "check_index(target, index)?;", ""),
    ("fits_isize", false, "if size = 0 then 1 else size", "size"),
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

/// Functions of the core whose programs are still translated by hand. The comparison of results covers them.
const BY_HAND: [&str; 13] = [
    "Rules::STANDARD",
    "Rules::SONNX",
    "Extent::join",
    "join_unknown",
    "Common::new",
    "Common::resume",
    "Common::push",
    "Common::shape",
    "Common::from",
    "Common::finish",
    "check_next",
    "source_offset",
    "usize::join",
];

/// Every row of docs/verification.md is compared here, or listed as translated by hand.
#[test]
fn every_function_is_translated_or_listed() {
    let text = read("docs/verification.md");
    let rows = text.lines().filter(|line| line.starts_with("| `") && line.contains(".rs` `"));
    let names: BTreeSet<&str> = rows.filter_map(|row| row.split('`').nth(3)).collect();
    assert!(names.len() > 30, "only {} functions", names.len());
    for name in names.iter().filter(|name| !name.ends_with("::ONE") && !name.starts_with("Size::")) {
        let translated = FUNCTIONS.iter().any(|row| row.1 == *name);
        assert!(translated != BY_HAND.contains(name), "{name}: translated {translated}");
    }
    for name in FUNCTIONS.iter().map(|row| row.1).chain(BY_HAND) {
        assert!(names.contains(name), "{name} is not in docs/verification.md");
    }
}
