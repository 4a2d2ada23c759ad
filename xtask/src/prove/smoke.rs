//! `cargo xtask prove --smoke`: looks for contradictory contexts with Why3's smoke detector.
//!
//! The context of a part of a goal is all that it may use. If a context is contradictory, so is each context that
//! contains it. So the detector runs on those that no other context of the file contains, and then on those that only
//! contradictory ones contain.

use super::attempts::{Attempts, Recorded};
use super::why3::{CVC5_DRIVER, LIBRARIES, Source, WORK, modules, recorded, why3};
use crate::command::root;
use std::collections::{BTreeSet, HashMap};
use std::fs;

/// The time limit per part, in seconds. A contradiction is found quickly, if at all.
const LIMIT: u32 = 1;

/// Parts that hold because their own premises exclude each other, with the reasons.
const VACUOUS: &str = "proof/vacuous.txt";

/// Where Why3 writes the contexts.
const TASKS: &str = "target/proof/tasks";

/// Tries to prove the negation of every recorded goal of the files in `only`, or of all, in its context.
pub(super) fn run(files: &[Source], only: &[String]) -> Result<(), String> {
    let session = recorded()?;
    let vacuous = fs::read_to_string(root().join(VACUOUS)).map_err(|error| format!("{VACUOUS}: {error}"))?;
    let vacuous = listed(&vacuous);
    let (mut found, mut unexplained) = (0, Vec::new());
    for file in files.iter().filter(|file| only.is_empty() || only.contains(&file.name)) {
        let Some(attempts) = Attempts::new(files, &session, file)? else { continue };
        let contexts = contexts(file, &attempts.parts)?;
        let (mut verdicts, mut runs) = (vec![None; contexts.len()], 0);
        loop {
            let chosen = maximal(&contexts, &verdicts);
            if chosen.is_empty() {
                break;
            }
            runs += chosen.len();
            for module in modules(&file.text) {
                let chosen: Vec<usize> =
                    chosen.iter().copied().filter(|&at| attempts.parts[at].module == module).collect();
                let detected = detect(&attempts, &module, &chosen)?;
                for at in chosen {
                    verdicts[at] = Some(detected.contains(&attempts.parts[at].name()));
                }
            }
            spread(&contexts, &mut verdicts);
        }
        let contradictory: Vec<String> = (0..verdicts.len())
            .filter(|&at| verdicts[at] == Some(true))
            .map(|at| attempts.parts[at].name())
            .collect();
        eprintln!(
            "{}: {} parts, {runs} runs of the detector, contradictory: {}",
            file.path(),
            contexts.len(),
            contradictory.len()
        );
        found += contradictory.len();
        unexplained.extend(contradictory.into_iter().filter(|part| !vacuous.contains(part)));
    }
    eprintln!("\n{found} parts have a contradictory context, {} of them unexplained", unexplained.len());
    match unexplained.is_empty() {
        true => Ok(()),
        false => Err(format!("\nnot in {VACUOUS}:\n  {}", unexplained.join("\n  "))),
    }
}

/// The names of the parts in a list like [`VACUOUS`].
fn listed(vacuous: &str) -> BTreeSet<String> {
    let lines = vacuous.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.filter_map(|line| line.split_once(": ")?.0.split_once('.'));
    parts
        .flat_map(|(goal, numbers)| numbers.split(", ").map(move |number| format!("{goal}.{number}")))
        .collect()
}

/// Runs the detector on these parts of a module, with their recorded provers. Returns the names of those whose context
/// is contradictory.
fn detect(attempts: &Attempts, module: &str, parts: &[usize]) -> Result<BTreeSet<String>, String> {
    if parts.is_empty() {
        return Ok(BTreeSet::new());
    }
    let chosen: Vec<(usize, usize)> = parts.iter().map(|&at| (at, attempts.parts[at].prover)).collect();
    let (success, messages) = attempts.run(module, &chosen, LIMIT, &["--smoke-detector=top"])?;
    let found = found(&messages);
    // Why3 fails if it finds something. Without a result it has not run to its end.
    if success == found.is_empty() && success == messages.contains("No smoke detected") {
        Ok(found)
    } else {
        Err(format!("{messages}\nthe smoke detector has no result"))
    }
}

/// The parts that the smoke detector has found.
fn found(messages: &str) -> BTreeSet<String> {
    // "goal 'f'vc.1.0', prover …", and then "Smoke detected!" in the same line or in the next one.
    let goals = messages.split("goal '").skip(1).filter(|goal| goal.contains("Smoke detected!"));
    let names = goals.filter_map(|goal| goal.split_once("', prover")).map(|(name, _)| name);
    names.map(|name| name.strip_suffix(".0").unwrap_or(name).to_owned()).collect()
}

/// The contexts of the parts: the statements of each, as numbers.
fn contexts(file: &Source, parts: &[Recorded]) -> Result<Vec<BTreeSet<usize>>, String> {
    let folder = root().join(TASKS);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{TASKS}: {error}"))?;
    }
    fs::create_dir_all(&folder).map_err(|error| format!("{TASKS}: {error}"))?;
    let driver = format!("{WORK}/{CVC5_DRIVER}");
    let output = why3("prove", &LIBRARIES, &["-D", &driver, "-a", "split_vc", "-o", TASKS, &file.path()])
        .output()
        .map_err(|error| format!("cannot run why3: {error}"))?;
    let mut numbers = HashMap::new();
    let stem = file.name.trim_end_matches(".mlw");
    let read = |part: &Recorded| {
        let number = if part.number == 0 { String::new() } else { part.number.to_string() };
        let task = format!("{stem}-{}-{}{number}.smt2", part.module, part.goal.replace('\'', "qt"));
        let text = fs::read_to_string(folder.join(&task))
            .map_err(|error| format!("{task}: {error}\n{}", String::from_utf8_lossy(&output.stderr)))?;
        Ok(statements(&text)
            .into_iter()
            .map(|statement| {
                let next = numbers.len();
                *numbers.entry(statement).or_insert(next)
            })
            .collect())
    };
    parts.iter().map(read).collect()
}

/// The statements of a task before its goal, without comments.
fn statements(task: &str) -> Vec<String> {
    let context = task.rsplit_once("\n;; Goal ").map_or(task, |(context, _)| context);
    let paragraph = |text: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(";;")).collect();
        lines.join("\n")
    };
    context.split("\n\n").map(paragraph).filter(|statement| !statement.trim().is_empty()).collect()
}

/// The contexts without a verdict that no other such context contains. Of equal ones, the last.
fn maximal(contexts: &[BTreeSet<usize>], verdicts: &[Option<bool>]) -> Vec<usize> {
    let open: Vec<usize> = (0..contexts.len()).filter(|&at| verdicts[at].is_none()).collect();
    let contained = |at: usize| {
        open.iter().any(|&other| {
            let larger = contexts[other].len() > contexts[at].len()
                || contexts[other].len() == contexts[at].len() && other > at;
            larger && contexts[at].is_subset(&contexts[other])
        })
    };
    open.iter().copied().filter(|&at| !contained(at)).collect()
}

/// Contexts that a consistent one contains are consistent.
fn spread(contexts: &[BTreeSet<usize>], verdicts: &mut [Option<bool>]) {
    let consistent: Vec<usize> = (0..contexts.len()).filter(|&at| verdicts[at] == Some(false)).collect();
    for at in 0..contexts.len() {
        if verdicts[at].is_none() && consistent.iter().any(|&other| contexts[at].is_subset(&contexts[other]))
        {
            verdicts[at] = Some(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::attempts::recorded_parts;
    use crate::prove::why3::checked_sources;

    #[test]
    fn detected_parts_are_read() {
        let messages = "Progress: 0/0/1   7/7 (replay failed)\n   goal 'f'vc.1.0', prover 'CVC5 any': result is: \
            Valid\n(0.03s) -> Smoke detected!\n   goal 'g.28.0', prover 'Z3 any': result is: Valid\n(0.03s) -> \
            Smoke detected!\nReplay failed.\n";
        assert_eq!(found(messages), BTreeSet::from(["f'vc.1".to_owned(), "g.28".to_owned()]));
        assert!(found("7/7 No smoke detected").is_empty());
    }

    #[test]
    fn explained_parts_are_accepted() {
        let parts = listed("# g.28: no\nf'vc.1, 23: reason: two\n");
        assert_eq!(parts, BTreeSet::from(["f'vc.1", "f'vc.23"].map(str::to_owned)));
    }

    #[test]
    fn contexts_end_before_the_goal() {
        let task = ";; A\n;;\n(assert a)\n\n(declare-fun b () Int)\n\n;; Goal g\n;; File \"f\"\n(assert\n  (not g))\n\n\
            (check-sat)\n";
        assert_eq!(statements(task), ["(assert a)", "(declare-fun b () Int)"]);
    }

    #[test]
    fn contained_contexts_follow_from_consistent_ones_only() {
        let contexts = [vec![1], vec![1, 2], vec![1, 2], vec![1, 3], vec![1, 4]];
        let contexts = contexts.map(BTreeSet::from_iter);
        let mut verdicts = [None; 5];
        assert_eq!(maximal(&contexts, &verdicts), [2, 3, 4]);
        verdicts = [None, None, Some(true), Some(true), Some(true)];
        spread(&contexts, &mut verdicts);
        assert_eq!(maximal(&contexts, &verdicts), [1]);
        verdicts = [None, None, Some(true), Some(false), Some(true)];
        spread(&contexts, &mut verdicts);
        assert_eq!(verdicts, [Some(false), None, Some(true), Some(false), Some(true)]);
    }

    #[test]
    fn vacuous_parts_are_recorded() {
        let session = recorded().unwrap();
        let mut parts = BTreeSet::new();
        for file in checked_sources().unwrap() {
            for module in modules(&file.text) {
                parts.extend(recorded_parts(&session, &file.name, &module).iter().map(Recorded::name));
            }
        }
        let vacuous = fs::read_to_string(root().join(VACUOUS)).unwrap();
        assert!(vacuous.lines().all(|line| line.starts_with('#') || line.contains(": ")), "{vacuous}");
        let unknown: Vec<String> =
            listed(&vacuous).into_iter().filter(|part| !parts.contains(part)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
