//! `cargo xtask prove --mutants`: changes definitions and contracts, each of which has to break a proof.

use super::attempts::recorded_parts;
use super::why3::{LIBRARIES, Source, WORK, attempt, recorded};
use crate::command::root;
use std::collections::BTreeSet;
use std::fs;

/// The list of changes.
const LIST: &str = "proof/mutants.txt";

/// The CPU time per part of a goal, in seconds.
const LIMIT: u32 = 5;

/// One change of a text, and the goal whose proof it breaks.
#[derive(Debug, PartialEq)]
struct Mutant<'l> {
    file: &'l str,
    from: &'l str,
    to: &'l str,
    /// The file, the module and the goal.
    breaks: [&'l str; 3],
}

/// Applies each change to a copy of the proof. Fails if the goal that it names is still proven.
pub(super) fn run(files: &[Source]) -> Result<(), String> {
    let list = fs::read_to_string(root().join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let mutants = parse(&list)?;
    let session = recorded()?;
    let copy = format!("{WORK}/mutant");
    fs::create_dir_all(root().join(&copy)).map_err(|error| format!("{copy}: {error}"))?;
    let mut survivors = Vec::new();
    for mutant in &mutants {
        let [file, module, goal] = mutant.breaks;
        let provers: BTreeSet<usize> = recorded_parts(&session, file, module)
            .into_iter()
            .filter_map(|part| (part.goal == goal).then_some(part.prover))
            .collect();
        if provers.is_empty() {
            return Err(format!("{LIST}: {file} {module} {goal} is not recorded"));
        }
        for source in files.iter().filter(|source| source.folder == LIBRARIES[0]) {
            let text = if source.name == mutant.file { mutate(source, mutant)? } else { source.text.clone() };
            fs::write(root().join(&copy).join(&source.name), text)
                .map_err(|error| format!("{copy}: {error}"))?;
        }
        // A part counts as proven if one of the provers that are recorded for the goal proves it.
        let mut proven: Vec<bool> = Vec::new();
        for prover in provers {
            let found =
                attempt(&format!("{copy}/{file}"), module, &[&copy], (prover, LIMIT), &[goal.to_owned()])
                    .map_err(|error| format!("{mutant:?} is no proof any more: {error}"))?;
            for (at, part) in found.iter().flat_map(|(_, parts)| parts).enumerate() {
                proven.resize(proven.len().max(at + 1), false);
                proven[at] |= part.proof.is_some();
            }
        }
        let proven = proven.iter().all(|&proven| proven);
        eprintln!(
            "{} {}: {} -> {}",
            if proven { "SURVIVES" } else { "breaks" },
            goal,
            mutant.from,
            mutant.to
        );
        if proven {
            survivors.push(format!("{}: {} -> {}, {goal}", mutant.file, mutant.from, mutant.to));
        }
    }
    if survivors.is_empty() {
        eprintln!("\nEach of {} changes breaks a proof.", mutants.len());
        Ok(())
    } else {
        Err(format!("\nproven in spite of the change:\n  {}", survivors.join("\n  ")))
    }
}

/// The text of a file with the change, at the one place where it applies.
fn mutate(source: &Source, mutant: &Mutant<'_>) -> Result<String, String> {
    if source.text.matches(mutant.from).count() == 1 {
        Ok(source.text.replace(mutant.from, mutant.to))
    } else {
        Err(format!("{LIST}: {} has not exactly one `{}`", mutant.file, mutant.from))
    }
}

/// Reads the list: paragraphs of four lines; lines that start with `#` are comments.
fn parse(list: &str) -> Result<Vec<Mutant<'_>>, String> {
    let mut mutants = Vec::new();
    for paragraph in list.split("\n\n") {
        let lines: Vec<&str> =
            paragraph.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        let mutant = mutant(&lines);
        mutants.push(mutant.ok_or_else(|| format!("{LIST}: not file, from, to and breaks: {lines:?}"))?);
    }
    Ok(mutants)
}

/// Reads the lines of one change.
fn mutant<'l>(lines: &[&'l str]) -> Option<Mutant<'l>> {
    let [file, from, to, breaks] = lines[..] else { return None };
    let breaks: Vec<&str> = breaks.strip_prefix("breaks: ")?.split(' ').collect();
    Some(Mutant {
        file: file.strip_prefix("file: ")?,
        from: from.strip_prefix("from: ")?,
        to: to.strip_prefix("to: ")?,
        breaks: breaks.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "# comment\n\nfile: a.mlw\nfrom: x < y\nto: x <= y\nbreaks: b.mlw B law\n\n# end\n";

    #[test]
    fn changes_are_read() {
        let expected = Mutant { file: "a.mlw", from: "x < y", to: "x <= y", breaks: ["b.mlw", "B", "law"] };
        assert_eq!(parse(LINES), Ok(vec![expected]));
        for (from, to) in [("to: ", "too: "), ("B law", "law"), ("file: a.mlw\n", "")] {
            assert!(parse(&LINES.replace(from, to)).is_err(), "{from}");
        }
    }

    #[test]
    fn a_change_applies_at_one_place() {
        let source = |text: &str| Source { name: "a.mlw".into(), folder: LIBRARIES[0], text: text.into() };
        let mutant = &parse(LINES).unwrap()[0];
        assert_eq!(mutate(&source("if x < y then"), mutant).unwrap(), "if x <= y then");
        assert!(mutate(&source("x < y or x < y"), mutant).is_err());
        assert!(mutate(&source("y < x"), mutant).is_err());
    }

    /// The list is up to date: every change applies, and every goal is recorded.
    #[test]
    fn every_change_applies() {
        let files = super::super::why3::checked_sources().unwrap();
        let session = recorded().unwrap();
        let list = fs::read_to_string(root().join(LIST)).unwrap();
        let mutants = parse(&list).unwrap();
        assert!(mutants.len() >= 30, "only {} changes", mutants.len());
        for mutant in &mutants {
            let source = files.iter().find(|source| source.name == mutant.file).unwrap();
            mutate(source, mutant).unwrap();
            let [file, module, goal] = mutant.breaks;
            let parts = recorded_parts(&session, file, module);
            assert!(parts.iter().any(|part| part.goal == goal), "{goal} is not recorded");
        }
    }
}
