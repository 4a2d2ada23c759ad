//! docs/traceability.md leads from every requirement to code and tests that exist, and to every test
//! that carries a requirement's number in its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const REQUIREMENTS: usize = 14;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// One line of the table: what is named under each file, for code and for tests.
struct Row {
    code: Vec<(String, Vec<String>)>,
    tests: Vec<(String, Vec<String>)>,
}

/// What stands in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// A cell: files, each followed by what is named in it, set apart by line breaks.
fn files(cell: &str) -> Vec<(String, Vec<String>)> {
    cell.split("<br>")
        .map(quoted)
        .filter(|names| !names.is_empty())
        .map(|mut names| (names.remove(0), names))
        .collect()
}

fn table() -> BTreeMap<usize, Row> {
    let text = fs::read_to_string(root().join("docs/traceability.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| BC-")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "requirement, what it says, code, tests: {line}");
        let number: usize = cells[0].trim_start_matches("BC-").parse().unwrap();
        let row = Row { code: files(cells[2]), tests: files(cells[3]) };
        assert!(rows.insert(number, row).is_none(), "BC-{number} has two rows");
    }
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

#[test]
fn every_requirement_has_code_and_tests_that_exist() {
    let rows = table();
    let expected: Vec<usize> = (1..=REQUIREMENTS).collect();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), expected, "one row for each requirement");
    let mut problems = Vec::new();
    for (number, row) in &rows {
        let named =
            |files: &[(String, Vec<String>)]| files.iter().map(|(_, names)| names.len()).sum::<usize>();
        if named(&row.code) == 0 || named(&row.tests) == 0 {
            problems.push(format!("BC-{number} has no code or no test"));
        }
        for (files, is_test) in [(&row.code, false), (&row.tests, true)] {
            for (file, names) in files {
                let Ok(text) = fs::read_to_string(root().join(file)) else {
                    problems.push(format!("BC-{number}: there is no file {file}"));
                    continue;
                };
                for name in names {
                    if is_test && !is_a_test(&text, name) {
                        problems.push(format!("BC-{number}: {file} has no test {name}"));
                    } else if !declares(&text, name) {
                        problems.push(format!("BC-{number}: {file} has no {name}"));
                    }
                }
            }
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
    let rows = table();
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut listed = BTreeSet::new();
    for (number, row) in &rows {
        for (file, names) in &row.tests {
            listed.extend(names.iter().map(|name| (*number, file.clone(), name.clone())));
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
}
