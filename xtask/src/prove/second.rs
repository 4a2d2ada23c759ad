//! `cargo xtask prove --second`: counts the parts of goals that a second prover proves.

use super::why3::{LIBRARIES, PROVERS, Source, attempt, file_head, modules, recorded};

/// The provers that are tried beside the recorded one, by index, with the CPU time per part in seconds.
const TRIED: [(usize, u32); 2] = [(1, 3), (2, 3)];

/// Tries further provers on every part of every goal, and reports how many have two. `only` names files; none means
/// all. Nothing is written.
pub(super) fn run(files: &[Source], only: &[String]) -> Result<(), String> {
    let session = recorded()?;
    let (mut proven, mut all) = (0, 0);
    for file in files.iter().filter(|file| only.is_empty() || only.contains(&file.name)) {
        let (mut twice, mut parts) = (0, 0);
        for module in modules(&file.text) {
            let first = recorded_provers(&session, &file.name, &module);
            let mut open: Vec<String> = first.iter().map(|(goal, _)| goal.clone()).collect();
            let mut second = vec![false; first.len()];
            for (prover, seconds) in TRIED {
                open.dedup();
                if open.is_empty() {
                    break;
                }
                let found = attempt(&file.path(), &module, &LIBRARIES, (prover, seconds), &open)?;
                for (goal, again) in found {
                    let of_goal = (0..first.len()).filter(|&at| first[at].0 == goal);
                    for (at, part) in of_goal.zip(again) {
                        second[at] |= part.proof.is_some() && first[at].1 != prover;
                    }
                }
                open = (0..first.len()).filter(|&at| !second[at]).map(|at| first[at].0.clone()).collect();
            }
            twice += second.iter().filter(|&&second| second).count();
            parts += first.len();
        }
        if parts > 0 {
            eprintln!("{}: {twice} of {parts}", file.path());
        }
        proven += twice;
        all += parts;
    }
    let names = TRIED.map(|(prover, seconds)| format!("{} ({seconds} s)", PROVERS[prover].name));
    eprintln!("\n{proven} of {all} parts are proven by a second prover: {}.", names.join(" or "));
    Ok(())
}

/// The parts of a module in the recorded proof: the name of the goal, and the prover by index.
pub(super) fn recorded_provers(session: &str, file: &str, module: &str) -> Vec<(String, usize)> {
    let of_file = session.split_once(&file_head(file)).and_then(|(_, rest)| rest.split("</file>").next());
    let theory = format!("<theory name=\"{module}\"");
    let of_module = of_file
        .and_then(|text| text.split_once(&theory))
        .and_then(|(_, rest)| rest.split("</theory>").next())
        .unwrap_or_default();
    let part = |line: &str| {
        let (_, rest) = line.split_once("<goal name=\"")?;
        let (name, rest) = rest.split_once('"')?;
        let (_, prover) = rest.split_once("<proof prover=\"")?;
        let prover = prover.split('"').next()?.parse().ok()?;
        let (goal, _) = name.rsplit_once('.')?;
        Some((goal.replace("&#39;", "'"), prover))
    };
    of_module.lines().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provers_are_read_from_the_record() {
        let session = format!(
            "{}<theory name=\"A\" proved=\"true\">\n <goal name=\"f&#39;vc\" proved=\"true\">\n\
             <goal name=\"f&#39;vc.0\" expl=\"x\"><proof prover=\"0\"><result/></proof></goal>\n\
             <goal name=\"f&#39;vc.1\" expl=\"x\"><proof prover=\"2\"><result/></proof></goal>\n\
             </theory>\n<theory name=\"B\">\n</theory>\n</file>\n",
            file_head("a.mlw")
        );
        let expected = [("f'vc".to_owned(), 0), ("f'vc".to_owned(), 2)];
        assert_eq!(recorded_provers(&session, "a.mlw", "A"), expected);
        assert!(recorded_provers(&session, "a.mlw", "B").is_empty());
        assert!(recorded_provers(&session, "b.mlw", "A").is_empty());
    }
}
