//! `cargo xtask prove --second`: counts the parts of goals that a second prover proves.

use super::attempts::Attempts;
use super::why3::{PROVERS, Source, modules, recorded};
use std::collections::BTreeSet;

/// The provers that are tried beside the recorded one, by index, with the CPU time per part in seconds. CVC4 is first,
/// because it proves more parts than Z3 does.
const TRIED: [(usize, u32); 3] = [(2, 3), (1, 3), (0, 3)];

/// Tries further provers on every part of every goal, and reports how many have two. `only` names files; none means
/// all. Nothing is written.
pub(super) fn run(files: &[Source], only: &[String]) -> Result<(), String> {
    let session = recorded()?;
    let (mut proven, mut all) = (0, 0);
    for file in files.iter().filter(|file| only.is_empty() || only.contains(&file.name)) {
        let Some(attempts) = Attempts::new(files, &session, file)? else { continue };
        let parts = &attempts.parts;
        let mut second: Vec<Option<usize>> = vec![None; parts.len()];
        for (prover, seconds) in TRIED {
            for module in modules(&file.text) {
                let open: Vec<usize> = (0..parts.len())
                    .filter(|&at| parts[at].module == module && parts[at].prover != prover)
                    .filter(|&at| second[at].is_none())
                    .collect();
                if open.is_empty() {
                    continue;
                }
                let tries: Vec<(usize, usize)> = open.iter().map(|&at| (at, prover)).collect();
                let (success, messages) = attempts.run(&module, &tries, seconds, &[])?;
                let failed = failed(&messages);
                if !messages.contains("(replay ") || success != failed.is_empty() {
                    return Err(format!("{messages}\nthe attempts have no result"));
                }
                for at in open {
                    if !failed.contains(&parts[at].name()) {
                        second[at] = Some(prover);
                    }
                }
            }
        }
        let count = second.iter().flatten().count();
        let by = TRIED.map(|(prover, _)| {
            let count = second.iter().filter(|&&second| second == Some(prover)).count();
            format!("{} {count}", PROVERS[prover].name)
        });
        eprintln!("{}: {count} of {} ({})", file.path(), parts.len(), by.join(", "));
        proven += count;
        all += parts.len();
    }
    let names = TRIED.map(|(prover, seconds)| format!("{} ({seconds} s)", PROVERS[prover].name));
    eprintln!("\n{proven} of {all} parts are proven by a second prover: {}.", names.join(" or "));
    Ok(())
}

/// The parts that were not proven in a replay, by name.
fn failed(messages: &str) -> BTreeSet<String> {
    // "goal 'f'vc.1', prover 'Z3 any': Timeout (3.00s) instead of Valid (0.01s) …"
    let goals = messages.split("goal '").skip(1).filter(|goal| goal.contains("instead of"));
    goals.filter_map(|goal| goal.split_once("', prover")).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read() {
        let messages = " 2/17 (replay failed)\n   goal 'f'vc.1', prover 'Z3 any': Timeout (1.00s) instead of Valid \
            (0.01s) (timelimit=1)\n   goal 'g.0', prover 'Z3 any': Unknown\n(0.1s) instead of Valid (0.01s)\n";
        assert_eq!(failed(messages), BTreeSet::from(["f'vc.1".to_owned(), "g.0".to_owned()]));
        assert!(failed(" 7/7 (replay OK)\n").is_empty());
    }
}
