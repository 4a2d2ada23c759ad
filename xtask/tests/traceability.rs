//! docs/traceability.md leads from every requirement to code, tests, definitions, laws and programs that
//! exist, and to every test that carries a requirement's number in its name.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use support::{cells, quoted, root};

const REQUIREMENTS: usize = 14;

/// What a cell names: files, and things in them.
type Cell = Vec<(String, Vec<String>)>;

/// A cell: files, each followed by what is named in it, set apart by line breaks.
fn files(cell: &str) -> Cell {
    cell.split("<br>")
        .map(quoted)
        .filter(|names| !names.is_empty())
        .map(|mut names| (names.remove(0), names))
        .collect()
}

/// Before this heading stand code and tests, after it definitions, laws and programs.
const PROOF: &str = "## In the proof";

/// The rows of one of the two tables: what is named in their last columns.
fn table<const COLUMNS: usize>(proof: bool) -> BTreeMap<usize, [Cell; COLUMNS]> {
    let text = fs::read_to_string(root().join("docs/traceability.md")).unwrap();
    let (code, rest) = text.split_once(PROOF).expect("two tables");
    let mut rows = BTreeMap::new();
    for line in if proof { rest } else { code }.lines().filter(|line| line.starts_with("| BC-")) {
        let cells = cells(line);
        let named = cells.last_chunk::<COLUMNS>().unwrap_or_else(|| panic!("too few cells: {line}"));
        let number: usize = cells[0].trim_start_matches("BC-").parse().unwrap();
        assert!(rows.insert(number, named.map(files)).is_none(), "BC-{number} has two rows");
    }
    let expected: Vec<usize> = (1..=REQUIREMENTS).collect();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), expected, "one row for each requirement");
    rows
}

/// Whether a Rust file has a function of this name with `#[test]` among the attributes above it.
fn is_a_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let Some(at) = lines
        .iter()
        .position(|line| line.strip_prefix("fn ").is_some_and(|rest| rest.starts_with(&format!("{name}("))))
    else {
        return false;
    };
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("///"));
    above.into_iter().any(|line| *line == "#[test]")
}

/// Whether a Rust file declares something of this name, `Type::method` by its last part.
fn declares(text: &str, name: &str) -> bool {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let text = code.join("\n");
    let name = name.rsplit("::").next().unwrap_or(name);
    let kinds = ["fn", "struct", "enum", "trait", "const", "type", "mod"];
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    kinds.iter().any(|kind| {
        let declaration = format!("{kind} {name}");
        text.match_indices(&declaration).any(|(at, found)| ends(&text[at + found.len()..]))
    })
}

/// Whether a file of the proof declares something of this name.
fn states(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.trim_start().split([' ', ':']).filter(|word| !word.is_empty());
        let kind = words.next();
        let kinds = ["let", "lemma", "function", "predicate", "type"];
        kind.is_some_and(|kind| kinds.contains(&kind))
            && words.find(|word| !["rec", "ghost", "lemma", "function"].contains(word)) == Some(name)
    })
}

/// Fails on a cell that is empty, and on what is named and does not exist.
fn check_cell(number: usize, what: &str, cell: &Cell, exists: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    if cell.iter().all(|(_, names)| names.is_empty()) {
        problems.push(format!("BC-{number} has no {what}"));
    }
    for (file, names) in cell {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let missing = names.iter().filter(|name| !exists(&text, name));
        problems.extend(missing.map(|name| format!("BC-{number}: {file} has no {what} {name}")));
    }
    problems
}

#[test]
fn every_requirement_has_code_and_tests_that_exist() {
    let mut problems = Vec::new();
    for (number, [code, tests]) in table(false) {
        problems.extend(check_cell(number, "code", &code, declares));
        problems.extend(check_cell(number, "test", &tests, is_a_test));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Requirements on elements, which no program of the core touches.
const WITHOUT_PROGRAM: [usize; 3] = [2, 3, 8];

#[test]
fn every_requirement_has_definitions_laws_and_programs_that_exist() {
    let mut problems = Vec::new();
    for (number, [definitions, laws, programs]) in table(true) {
        problems.extend(check_cell(number, "definition", &definitions, states));
        problems.extend(check_cell(number, "law", &laws, states));
        if WITHOUT_PROGRAM.contains(&number) {
            assert!(programs.is_empty(), "BC-{number} has a program after all");
        } else {
            problems.extend(check_cell(number, "program", &programs, states));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The requirements in a test's name: `bc5_bc7_pairs` shows BC-5 and BC-7.
fn numbers(name: &str) -> Vec<usize> {
    name.split('_').map_while(|part| part.strip_prefix("bc")?.parse().ok()).collect()
}

#[test]
fn every_test_that_names_a_requirement_is_listed() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut listed = BTreeSet::new();
    for (number, [tests]) in table(false) {
        for (file, names) in tests {
            listed.extend(names.into_iter().map(|name| (number, file.clone(), name)));
        }
    }
    let (mut missing, mut found) = (Vec::new(), 0);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        for line in text.lines() {
            let Some(rest) = line.trim_start().strip_prefix("fn bc") else { continue };
            let name: String =
                format!("bc{rest}").chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            for number in numbers(&name) {
                found += 1;
                if !listed.contains(&(number, file.clone(), name.clone())) {
                    missing.push(format!("BC-{number}: `{file}` `{name}`"));
                }
            }
        }
    }
    assert!(found >= REQUIREMENTS, "only {found} tests carry a number");
    assert!(missing.is_empty(), "not in docs/traceability.md:\n{}", missing.join("\n"));
}

#[test]
fn numbers_are_read_from_names() {
    assert_eq!(numbers("bc5_bc7_pairs_of_bc9"), [5, 7]);
    assert_eq!(numbers("plain_bc5"), []);
    assert!(declares("pub fn join_shape<S>(", "join_shape"));
    assert!(!declares("pub fn join_shapes(", "Common::join_shape"));
    assert!(!declares("// fn join_shape(", "join_shape"));
    assert!(is_a_test("    #[test]\n    #[ignore]\n    fn it_works() {", "it_works"));
    assert!(!is_a_test("#[test]\nfn other() {}\n\nfn it_works() {", "it_works"));
    for declared in ["  lemma law: true", "  let rec lemma law (n: int)", "  let rec ghost function law (n)"]
    {
        assert!(states(declared, "law"), "{declared}");
    }
    assert!(!states("  (** the law *)", "law"));
    assert!(!states("  let lemma laws (n: int)", "law"));
}
