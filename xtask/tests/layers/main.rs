//! The layers of the project: crates depend on lower layers only, and no modules of a crate form a cycle.

mod modules;
#[path = "../support/mod.rs"]
mod support;

use modules::Crate;
use std::fs;
use std::path::{Path, PathBuf};
use support::{packages, rust_files};

/// Folders of `crates/`, from the highest layer to the lowest. A crate may depend on lower layers only.
const LAYERS: [&[&str]; 12] = [
    &["python", "playground"],
    &["cli"],
    &["zarr"],
    &["files"],
    &["npy", "explain", "array-text", "onnx"],
    &["unishape"],
    &["cuda"],
    &["engine"],
    &["jit"],
    &["kernels"],
    &["vecmath"],
    &["atomic-file", "core", "simd"],
];

/// Folders of the workspace without a layer: only tests and tools use them.
const OUTSIDE: [&str; 6] = ["oracle", "proven", "exported", "examples", "fuzz", "xtask"];

/// Modules that re-export an item of a child that uses them, by folder and path. The child extends a type or
/// calls a function of its parent; users import both from the parent.
const PARENTS_THAT_RE_EXPORT: [(&str, &str); 2] = [("engine", "crate::nest"), ("engine", "crate::parallel")];

fn name(folder: &Path) -> &str {
    folder.file_name().unwrap().to_str().unwrap()
}

/// The number of a crate's layer; 0 is the highest.
fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// A crate without a layer, and dependencies of a crate, by name, that are in no lower layer.
fn wrong_dependencies(name: &str, dependencies: &[&str]) -> Vec<String> {
    let Some(own) = layer(name) else {
        return match OUTSIDE.contains(&name) {
            true => Vec::new(),
            false => vec![format!("{name} has no layer")],
        };
    };
    let mut wrong = Vec::new();
    for dependency in dependencies {
        match layer(dependency) {
            None => wrong.push(format!("{name} depends on {dependency}, which has no layer")),
            Some(other) if other <= own => {
                wrong.push(format!("{name} depends on {dependency}, which is in no lower layer"))
            }
            Some(_) => {}
        }
    }
    wrong
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let mut wrong = Vec::new();
    let packages = packages();
    for package in &packages {
        let dependencies: Vec<&str> = package.dependencies.iter().map(|folder| name(folder)).collect();
        wrong.extend(wrong_dependencies(name(&package.folder), &dependencies));
    }
    for expected in LAYERS.concat() {
        if !packages.iter().any(|package| name(&package.folder) == expected) {
            wrong.push(format!("the workspace has no crate {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_modules_form_a_cycle() {
    let mut cycles = Vec::new();
    for package in packages() {
        let files = rust_files(package.root.parent().unwrap()).into_iter();
        let files = files.map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect();
        for cycle in Crate::parse(&files, &package.root).cycles() {
            let is_exempt = |found: &modules::Use| {
                PARENTS_THAT_RE_EXPORT.iter().any(|&(folder, parent)| {
                    folder == name(&package.folder)
                        && [&found.from, &found.to].iter().any(|path| *path == parent)
                })
            };
            if cycle.len() == 2 && cycle.iter().all(is_exempt) {
                continue;
            }
            cycles.push(format!("\na cycle in {}:", name(&package.folder)));
            for found in cycle {
                let file = found.file.strip_prefix(package.folder.parent().unwrap()).unwrap();
                cycles.push(format!("  {}:{}: {} uses {}", file.display(), found.line, found.from, found.to));
            }
        }
    }
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
}

#[test]
fn dependencies_on_other_layers_are_detected() {
    assert_eq!(wrong_dependencies("unishape", &["engine", "core", "kernels"]), [""; 0]);
    assert_eq!(wrong_dependencies("cli", &["onnx", "unishape"]), [""; 0]);
    assert_eq!(wrong_dependencies("oracle", &["unishape"]), [""; 0]);
    for other in ["unishape", "engine"] {
        let expected = format!("engine depends on {other}, which is in no lower layer");
        assert_eq!(wrong_dependencies("engine", &[other]), [expected]);
    }
    assert_eq!(wrong_dependencies("core", &["oracle"]), ["core depends on oracle, which has no layer"]);
    assert_eq!(wrong_dependencies("unknown", &[]), ["unknown has no layer"]);
}

/// The cycles of a crate with these files, as `file:line from>to`.
fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let sources = files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect();
    let show = |found: modules::Use| {
        let [from, to] = [&found.from, &found.to].map(|path| path.replace("crate::", ""));
        format!("{}:{} {from}>{to}", found.file.display(), found.line)
    };
    let cycles = Crate::parse(&sources, Path::new("lib.rs")).cycles();
    cycles.into_iter().map(|cycle| cycle.into_iter().map(show).collect()).collect()
}

const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;\n");

#[test]
fn modules_that_use_each_other_are_a_cycle() {
    let b = ("b.rs", "pub fn g() {\n    crate::a::f()\n}");
    for (a, line) in [
        ("use crate::b::g;\npub fn f() {}", 1),
        ("\npub fn f() { super::b::g() }", 2),
        ("pub fn f() -> Vec<crate::b::T> {}", 1),
        ("pub fn f() {\n    println!(\"{}\", crate::b::g());\n}", 2),
        ("pub fn f() { use crate::b; b::g() }", 1),
        ("use {crate::{b::{self, g}}};\npub fn f() {}", 1),
        ("use super::*;\npub fn f() { b::g() }", 2),
    ] {
        let expected = [format!("a.rs:{line} a>b"), "b.rs:2 b>a".into()];
        assert_eq!(cycles(&[ROOT, ("a.rs", a), b]), [expected], "{a}");
    }
}

#[test]
fn uses_in_one_direction_are_no_cycle() {
    let b = ("b.rs", "pub fn g() {}\npub struct T;");
    for a in [
        "use crate::b::g;\npub fn f() { crate::b::g() }",
        // The other direction only in tests, in documentation, or for a macro.
        "use crate::b::g;\n#[cfg(test)]\nmod tests { use crate::a; }",
    ] {
        assert_eq!(cycles(&[ROOT, ("a.rs", a), b]), [[""; 0]; 0], "{a}");
    }
    let a = ("a.rs", "macro_rules! m { () => { $crate::b::g() } }\npub(crate) use m;\npub fn f() {}");
    let b = ("b.rs", "use crate::a::m;\nuse crate::a;\n/// [`crate::a`]\npub(in crate::b) fn g() { m!() }");
    assert_eq!(cycles(&[ROOT, a, b]), [[""; 0]; 0]);
}

#[test]
fn parents_and_children_are_modules_like_others() {
    let root = ("lib.rs", "mod a;");
    let child = ("a/c.rs", "use super::f;\npub fn g() { f() }");
    let expected = ["a.rs:2 a>a::c", "a/c.rs:1 a::c>a"];
    let parent = ("a.rs", "mod c;\npub fn f() { c::g() }");
    assert_eq!(cycles(&[root, parent, child]), [expected]);
    let parent = ("a/mod.rs", "mod c;\npub fn f() { c::g() }");
    assert_eq!(cycles(&[root, parent, child]), [["a/mod.rs:2 a>a::c", "a/c.rs:1 a::c>a"]]);
    // A module that is declared inline belongs to its file.
    let inline = ("lib.rs", "mod a { pub fn f() { c::g() } pub mod c { pub fn g() { super::f() } } }");
    assert_eq!(cycles(&[inline]), [[""; 0]; 0]);
}

#[test]
fn re_exports_lead_to_the_module_of_the_item() {
    // `crate::Error` and `crate::T` are used in `b`, and defined in `a`, which uses nothing.
    let a = ("a.rs", "pub struct Error;\npub struct T;\npub fn f() {}");
    let b = ("b.rs", "use crate::{Error, T as U};\npub fn g() { crate::f() }");
    for root in ["mod a;\nmod b;\npub use a::{Error, T, f};\npub use b::g;", "mod a;\nmod b;\npub use a::*;"]
    {
        assert_eq!(cycles(&[("lib.rs", root), a, b]), [[""; 0]; 0], "{root}");
    }
    // Through two re-exports.
    let root = ("lib.rs", "mod a;\nmod b;\npub use b::g;\n");
    let b = ("b/mod.rs", "mod c;\npub use c::g;");
    let c = ("b/c.rs", "pub fn g() {\n    crate::a::f() }");
    let a = ("a.rs", "pub fn f() { crate::g() }");
    assert_eq!(cycles(&[root, a, b, c]), [["a.rs:1 a>b::c", "b/c.rs:2 b::c>a"]]);
    // A re-export is a use.
    let root = ("lib.rs", "mod a;\npub use a::g;\npub struct T;");
    let a = ("a.rs", "use crate::T;\npub fn g() -> T {}");
    assert_eq!(cycles(&[root, a]), [["lib.rs:2 crate>a", "a.rs:1 a>crate"]]);
}

#[test]
fn long_cycles_are_found_as_a_whole() {
    let root = ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;");
    let files = [
        root,
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c::X;"),
        ("c.rs", "use crate::{a, d};\npub struct X;"),
        ("d.rs", ""),
    ];
    assert_eq!(cycles(&files), [["a.rs:1 a>b", "b.rs:1 b>c", "c.rs:1 c>a"]]);
}
