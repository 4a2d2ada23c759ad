//! docs/traceability.md maps every requirement to existing code, tests, definitions, laws and programs, and
//! lists every test with the number of a requirement in its name. docs/requirements.md has the text of every
//! requirement. sonnx/README.md maps every tag of SONNX's specification to definitions, laws, programs, code and tests.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use support::{cells, quoted, root, rust_files};

const REQUIREMENTS: usize = 14;

/// The content of a cell: files, and names of items in them.
type Cell = Vec<(String, Vec<String>)>;

/// Reads a cell: files with names of items, separated by line breaks.
fn parse_cell(cell: &str) -> Cell {
    cell.split("<br>")
        .map(quoted)
        .filter(|names| !names.is_empty())
        .map(|mut names| (names.remove(0), names))
        .collect()
}

/// The heading between the table of code and tests and the one of definitions, laws and programs.
const PROOF: &str = "## In the proof";

/// The last columns of one of the two tables, by requirement.
fn table<const COLUMNS: usize>(proof: bool) -> BTreeMap<usize, [Cell; COLUMNS]> {
    let text = fs::read_to_string(root().join("docs/traceability.md")).unwrap();
    let (code, rest) = text.split_once(PROOF).expect("two tables");
    let mut rows = BTreeMap::new();
    for line in if proof { rest } else { code }.lines().filter(|line| line.starts_with("| BC-")) {
        let cells = cells(line);
        let named = cells.last_chunk::<COLUMNS>().unwrap_or_else(|| panic!("too few cells: {line}"));
        let number: usize = cells[0].trim_start_matches("BC-").parse().unwrap();
        assert!(rows.insert(number, named.map(parse_cell)).is_none(), "BC-{number} has two rows");
    }
    let expected: Vec<usize> = (1..=REQUIREMENTS).collect();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), expected, "one row for each requirement");
    rows
}

/// Whether a Rust file has a function of this name with the attribute `#[test]`.
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

/// Whether a Rust file declares an item of this name; of `Type::method`, the last part counts.
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

/// Whether a file of the proof declares an item of this name.
fn states(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.trim_start().split([' ', ':']).filter(|word| !word.is_empty());
        let kind = words.next();
        let kinds = ["let", "lemma", "function", "predicate", "type"];
        kind.is_some_and(|kind| kinds.contains(&kind))
            && words.find(|word| !["rec", "ghost", "lemma", "function"].contains(word)) == Some(name)
    })
}

/// The errors in a cell: no names, or names that do not exist.
fn check_cell(of: &str, kind: &str, cell: &Cell, exists: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    if cell.iter().all(|(_, names)| names.is_empty()) {
        problems.push(format!("{of} has no {kind}"));
    }
    for (file, names) in cell {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let missing = names.iter().filter(|name| !exists(&text, name));
        problems.extend(missing.map(|name| format!("{of}: {file} has no {kind} {name}")));
    }
    problems
}

#[test]
fn every_requirement_has_code_and_tests_that_exist() {
    let mut problems = Vec::new();
    for (number, [code, tests]) in table(false) {
        let number = &format!("BC-{number}");
        problems.extend(check_cell(number, "code", &code, declares));
        problems.extend(check_cell(number, "test", &tests, is_a_test));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Requirements on elements, which the core does not handle.
const WITHOUT_PROGRAM: [usize; 3] = [2, 3, 8];

#[test]
fn every_requirement_has_definitions_laws_and_programs_that_exist() {
    let mut problems = Vec::new();
    for (number, [definitions, laws, programs]) in table(true) {
        let of = &format!("BC-{number}");
        problems.extend(check_cell(of, "definition", &definitions, states));
        problems.extend(check_cell(of, "law", &laws, states));
        if WITHOUT_PROGRAM.contains(&number) {
            assert!(programs.is_empty(), "BC-{number} has a program");
        } else {
            problems.extend(check_cell(of, "program", &programs, states));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_requirement_has_a_text() {
    let text = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| <a id=\"BC-")).collect();
    assert_eq!(rows.len(), REQUIREMENTS);
    for (number, row) in (1..).zip(rows) {
        let [name, requirement, from] = cells(row)[..] else { panic!("{row}") };
        assert_eq!(name, format!("<a id=\"BC-{number}\"></a>BC-{number}"));
        assert!(requirement.len() > 40 && !from.is_empty(), "{row}");
    }
    // Every document that a requirement names is identified.
    let (_, sources) = text.split_once("## Source documents").unwrap();
    for document in ["000", "001", "002", "003", "004", "Array API"] {
        let row = sources.lines().find(|line| line.starts_with(&format!("| {document} | "))).unwrap();
        assert!(cells(row).len() == 4, "title, file, and date: {row}");
    }
}

/// The requirements in the name of a test: `bc5_bc7_pairs` tests BC-5 and BC-7.
fn numbers(name: &str) -> Vec<usize> {
    name.split('_').map_while(|part| part.strip_prefix("bc")?.parse().ok()).collect()
}

#[test]
fn every_test_that_names_a_requirement_is_listed() {
    let mut listed = BTreeSet::new();
    for (number, [tests]) in table(false) {
        for (file, names) in tests {
            listed.extend(names.into_iter().map(|name| (number, file.clone(), name)));
        }
    }
    let (mut missing, mut found) = (Vec::new(), 0);
    for path in rust_files(&root().join("crates")) {
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
    assert!(found >= REQUIREMENTS, "only {found} tests have a number");
    assert!(missing.is_empty(), "not in docs/traceability.md:\n{}", missing.join("\n"));
}

/// The tags that a text declares: `[T1]` with an anchor, and E1.
fn declared_tags(text: &str) -> Vec<String> {
    let is_tag = |tag: &str| tag == "E1" || (tag.starts_with('[') && tag.ends_with(']'));
    let before_anchors = text.split("<a id=").map(str::trim_end).filter(|before| before.ends_with('`'));
    before_anchors.filter_map(|before| quoted(before).pop()).filter(|tag| is_tag(tag)).collect()
}

#[test]
fn every_tag_of_the_sonnx_specification_is_traced() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let (formal, specification) = (read("sonnx/formal/broadcast.mlw"), read("proof/specification.mlw"));
    let programs = read("sonnx/formal/cbroadcast.mlw");
    let mut expected = declared_tags(&read("sonnx/broadcast.md"));
    let readme = read("sonnx/README.md");
    let mut problems = Vec::new();
    let (mut found, mut in_rust) = (Vec::new(), Vec::new());
    for row in readme.lines().filter(|line| line.starts_with("| `[") || line.starts_with("| `E")) {
        let cells = cells(row);
        let tag = quoted(cells[0]).remove(0);
        match cells[1..] {
            [definition, law, specified, program, requirements] => {
                let columns = [
                    (&formal, definition),
                    (&formal, law),
                    (&specification, specified),
                    (&programs, program),
                ];
                for (text, name) in columns.map(|(text, cell)| (text, quoted(cell).remove(0))) {
                    if !states(text, &name) {
                        problems.push(format!("{tag}: {name} does not exist"));
                    }
                }
                if !formal.contains(&tag) {
                    problems.push(format!("{tag} is not in formal/broadcast.mlw"));
                }
                assert!(requirements.split(", ").all(|requirement| requirement.starts_with("BC-")), "{row}");
                found.push(tag);
            }
            [code, test] => {
                problems.extend(check_cell(&tag, "code", &parse_cell(code), declares));
                problems.extend(check_cell(&tag, "test", &parse_cell(test), is_a_test));
                in_rust.push(tag);
            }
            _ => panic!("{row}"),
        }
    }
    assert_eq!(found, in_rust, "the same tags in both tables");
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "one row for each tag");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn numbers_are_read_from_names() {
    assert_eq!(numbers("bc5_bc7_pairs_of_bc9"), [5, 7]);
    assert!(numbers("plain_bc5").is_empty());
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
