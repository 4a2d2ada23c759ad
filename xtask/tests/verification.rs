//! docs/verification.md maps every function of the core to an existing proven program that `crates/proven`
//! compares with it, and lists every program.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use support::{cells, quoted, root};

/// The file, the module and the name of a program.
type Program = (String, String, String);

/// The functions and programs in the sources.
#[derive(Default)]
struct Found {
    /// The functions and constants of the core by file and name, and whether they are public.
    functions: BTreeMap<(String, String), bool>,
    /// Its implementations of traits of other crates, as `Default for Rules`.
    implementations: BTreeSet<String>,
    /// Every program.
    programs: BTreeSet<Program>,
    /// The source code of `crates/proven`, which calls the programs.
    calls: String,
}

/// The name at the start of a text.
fn name(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'').next().unwrap_or_default()
}

/// The name after `const `, `fn ` or `const fn `, and whether it is `pub`.
fn declared(line: &str) -> Option<(&str, bool)> {
    let (line, public) = match line.strip_prefix("pub ") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    ["const fn ", "fn ", "const "]
        .iter()
        .find_map(|kind| line.strip_prefix(kind))
        .map(|rest| (name(rest), public))
}

/// A type's name without its path, lifetimes and parameters: `Common` of `crate::Common<'b, S> {`.
fn plain(path: &str) -> &str {
    let path = path.split(['<', ' ', ':']).find(|part| part.starts_with(|c: char| c.is_uppercase()));
    path.unwrap_or_default()
}

impl Found {
    /// Reads a file of the core. In formatted code, items are not indented, and those of an `impl` or a
    /// `trait` are indented by four spaces.
    fn add_rust(&mut self, file: &str, text: &str) {
        // The type of the functions, and whether all of them are public; `None` outside `impl` and `trait`,
        // and in implementations of other crates' traits.
        let mut owner: Option<(String, bool)> = None;
        for line in text.lines() {
            if line == "}" {
                owner = None;
            } else if let Some(rest) = line.strip_prefix("pub trait ") {
                owner = Some((name(rest).into(), true));
            } else if let Some(rest) = line.strip_prefix("impl") {
                // `impl<'b, S: Size> Common<'b, S> {`: parameters end at the first `> `.
                let rest = match rest.strip_prefix('<') {
                    Some(rest) => rest.split_once("> ").map_or("", |(_, rest)| rest),
                    None => rest.trim_start(),
                };
                owner = match rest.split_once(" for ") {
                    None => Some((plain(rest).into(), false)),
                    Some(("Size", of)) => Some((name(of).into(), true)),
                    Some((of, to)) => {
                        let of = of.rsplit("::").next().unwrap_or(of);
                        self.implementations.insert(format!("{of} for {}", name(to)));
                        None
                    }
                };
            } else if let Some((name, public)) = declared(line) {
                self.functions.insert((file.into(), name.into()), public);
            } else if let Some((owner, all)) = &owner
                && let Some(item) = line.strip_prefix("    ")
                && let Some((name, public)) = declared(item)
            {
                self.functions.insert((file.into(), format!("{owner}::{name}")), public || *all);
            }
        }
    }

    /// Reads a file of programs, whose declarations are indented by two spaces. Lemmas and ghost code are no
    /// programs.
    fn add_programs(&mut self, file: &str, text: &str) {
        let mut module = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("module ") {
                module = name(rest);
            } else if let Some(rest) = line.strip_prefix("  let ") {
                let rest = rest.strip_prefix("rec ").unwrap_or(rest);
                let name = name(rest);
                if !["lemma", "ghost"].contains(&name) {
                    self.programs.insert((file.into(), module.into(), name.into()));
                }
            }
        }
    }

    /// Whether the C functions of this program are called: one, or one per type of sizes.
    fn calls(&self, (_, module, name): &Program) -> bool {
        let prefixes: &[&str] = match module.as_str() {
            "Common" => &["common_usize", "common_extent"],
            "CommonUsize" => &["common_usize"],
            "CommonExtent" => &["common_extent"],
            _ => &["core"],
        };
        let words: BTreeSet<&str> = self.calls.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        prefixes.iter().all(|prefix| words.contains(format!("{prefix}_{name}").as_str()))
    }
}

/// Reads all sources. `core_fold.mlw` has no programs that are extracted.
fn found() -> Found {
    let mut found = Found::default();
    let read = |folder: &str| {
        let mut files: Vec<_> = fs::read_dir(root().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| {
                (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
            })
            .collect();
        files.sort();
        files
    };
    for (file, text) in read("crates/core/src") {
        found.add_rust(&file, &text);
    }
    for (file, text) in read("proof") {
        if file.starts_with("core_") && file != "core_fold.mlw" {
            found.add_programs(&file, &text);
        }
    }
    for (_, text) in read("crates/proven/src") {
        found.calls += &text;
    }
    found
}

/// The programs in a cell: file, module and names, separated by line breaks.
fn programs(cell: &str) -> Vec<Program> {
    let parts = cell.split("<br>").map(quoted);
    parts
        .flat_map(|part| match part.as_slice() {
            [file, module, names @ ..] => {
                names.iter().map(|name| (file.clone(), module.clone(), name.clone())).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}

/// The errors in the document.
fn problems(found: &Found, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (mut functions, mut listed) = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells = cells(line);
        let of_row = match cells[..] {
            [rust, of, contract, requirements] => {
                let [file, name] = &quoted(rust)[..] else {
                    problems.push(format!("not a file and a function: {rust}"));
                    continue;
                };
                let public = found.functions.get(&(file.clone(), name.clone()));
                if public.is_none() {
                    problems.push(format!("{file} has no {name}"));
                }
                if !functions.insert((file.clone(), name.clone())) {
                    problems.push(format!("{name} has two rows"));
                }
                let mut numbers =
                    requirements.split(", ").map(|number| number.strip_prefix("BC-")?.parse().ok());
                let known = |number: Option<usize>| number.is_some_and(|number| (1..=14).contains(&number));
                if contract.is_empty() || !numbers.all(known) {
                    problems.push(format!("{name}: no contract, or no requirement"));
                }
                let of_row = programs(of);
                // Constants are no functions, and private functions are called by public ones.
                let called = public == Some(&true) && name.ends_with(|c: char| c.is_lowercase());
                for (file, module, program) in of_row.iter().filter(|of| called && !found.calls(of)) {
                    problems.push(format!("crates/proven does not call {program} of {file} {module}"));
                }
                of_row
            }
            [of, meaning] if !meaning.is_empty() => programs(of),
            _ => {
                problems.push(format!("a row of neither table: {line}"));
                continue;
            }
        };
        if of_row.is_empty() {
            problems.push(format!("no program: {line}"));
        }
        for (file, module, name) in of_row.iter().filter(|of| !found.programs.contains(of)) {
            problems.push(format!("{file} has no program {name} in module {module}"));
        }
        listed.extend(of_row);
    }
    for ((file, name), public) in &found.functions {
        if *public && !functions.contains(&(file.clone(), name.clone())) {
            problems.push(format!("{name} of {file} has no row"));
        }
    }
    for (file, module, name) in found.programs.difference(&listed) {
        problems.push(format!("{name} of {file} {module} is not listed"));
    }
    // Lines may break within backticks.
    let named: BTreeSet<String> = quoted(&text.replace('\n', " ")).into_iter().collect();
    for implementation in found.implementations.difference(&named) {
        problems.push(format!("`{implementation}` is not mentioned"));
    }
    for stale in named.iter().filter(|name| name.contains(" for ")) {
        if !found.implementations.contains(stale) {
            problems.push(format!("the core has no {stale}"));
        }
    }
    problems
}

#[test]
fn every_function_of_the_core_has_its_program() {
    let found = found();
    let text = fs::read_to_string(root().join("docs/verification.md")).unwrap();
    let problems = problems(&found, &text);
    assert!(problems.is_empty(), "docs/verification.md:\n{}", problems.join("\n"));
}

/// A second way to count finds as many functions.
#[test]
fn no_function_is_overlooked() {
    let mut public = 0;
    for entry in fs::read_dir(root().join("crates/core/src")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let items =
            |line: &&str| ["pub fn ", "pub const "].iter().any(|kind| line.trim_start().starts_with(kind));
        public += text.lines().filter(items).count();
    }
    let found = found();
    // The two items of the trait, and those of its two implementations, are public without `pub`.
    let listed = found.functions.values().filter(|public| **public).count();
    assert_eq!(listed, public + 6);
    assert!(found.programs.len() > 50, "only {} programs were found", found.programs.len());
}

const RUST: &str = "\
impl Default for Rules {
    fn default() -> Rules {
}
impl<'b, S: Size> Common<'b, S> {
    pub fn push(&mut self) {
    fn hidden(&mut self) {
}
fn check_index() {
";
const PROGRAMS: &str = "\
module Common
  let lemma known (n: int)
  let rec ghost function also_known (n: int)
  let push (r: rules)
  = let inner = 1 in
    let deeper = 2 in
  let check_index (n: int)
  let helper () : int
end
";
const TABLE: &str = "\
| Rust | program | contract | requirements |
|---|---|---|---|
| `a.rs` `Common::push` | `core_a.mlw` `Common` `push` | something | BC-1, BC-9 |
| `a.rs` `check_index` | `core_a.mlw` `Common` `check_index` | something | BC-7 |

| `core_a.mlw` `Common` `helper` | something |

Not in it: `Default for
Rules`.
";

/// The errors in a table for the sources above.
fn problems_of(table: &str) -> Vec<String> {
    let mut found =
        Found { calls: "fn common_usize_push(); (common_extent_push)".into(), ..Found::default() };
    found.add_rust("a.rs", RUST);
    found.add_programs("core_a.mlw", PROGRAMS);
    problems(&found, table)
}

#[test]
fn errors_are_detected() {
    assert_eq!(problems_of(TABLE), [""; 0]);
    let wrong = [
        // a missing row, and a stale one
        ("| `a.rs` `Common::push`", "| `a.rs` `Common::pull`", "a.rs has no Common::pull"),
        ("| `a.rs` `Common::push`", "| `a.rs` `Common::pull`", "Common::push of a.rs has no row"),
        ("| `a.rs` `Common::push`", "| `a.rs` `check_index`", "check_index has two rows"),
        // programs that do not exist: by name, by module, by file
        ("`push` | s", "`pull` | s", "core_a.mlw has no program pull in module Common"),
        ("`Common` `push`", "`Uncommon` `push`", "core_a.mlw has no program push in module Uncommon"),
        (
            "`core_a.mlw` `Common` `push`",
            "`core_b.mlw` `Common` `push`",
            "core_b.mlw has no program push in module Common",
        ),
        ("`Common` `helper`", "`Common` `known`", "core_a.mlw has no program known in module Common"),
        // a program that is not listed, and one that is not called
        ("`Common` `helper`", "`Common` `push`", "helper of core_a.mlw Common is not listed"),
        ("`Common` `push`", "`Common` `helper`", "crates/proven does not call helper of core_a.mlw Common"),
        // the rest of a row
        ("BC-1, BC-9", "BC-15", "Common::push: no contract, or no requirement"),
        ("BC-1, BC-9", "–", "Common::push: no contract, or no requirement"),
        // implementations
        ("`Default for\nRules`", "nothing", "`Default for Rules` is not mentioned"),
        ("`Default for\nRules`", "`Clone for Rules`", "the core has no Clone for Rules"),
    ];
    for (from, to, problem) in wrong {
        let table = TABLE.replacen(from, to, 1);
        assert_ne!(table, TABLE, "{from}");
        let problems = problems_of(&table);
        assert!(problems.iter().any(|found| found == problem), "{problem} is not among {problems:?}");
    }
}
