//! Attempts at parts of goals that are chosen one by one.
//!
//! Why3 runs provers on whole goals, or replays the attempts that a session has. So a session is written that has the
//! attempts, and is replayed.

use super::why3::{PROVERS, REPLAYED, Source, file_head, modules, recorded_of, replay_output, write_session};
use crate::command::root;
use std::fmt::Write as _;
use std::fs;

/// A part of a goal in the recorded proof.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recorded {
    pub(super) module: String,
    pub(super) goal: String,
    /// The number of the part in the goal.
    pub(super) number: usize,
    /// The prover by index.
    pub(super) prover: usize,
}

impl Recorded {
    /// The name of the part in Why3's messages.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.goal, self.number)
    }
}

/// The parts of a module in the recorded proof, in order.
pub(super) fn recorded_parts(session: &str, file: &str, module: &str) -> Vec<Recorded> {
    let of_file = session.split_once(&file_head(file));
    let of_file = of_file.and_then(|(_, rest)| rest.split("</file>").next());
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
        let (goal, number) = name.rsplit_once('.')?;
        let goal = goal.replace("&#39;", "'");
        Some(Recorded { module: module.to_owned(), goal, number: number.parse().ok()?, prover })
    };
    of_module.lines().filter_map(part).collect()
}

/// A file of the proof whose parts are attempted.
pub(super) struct Attempts {
    /// All parts of the file.
    pub(super) parts: Vec<Recorded>,
    /// A session with these parts and without attempts, as Why3 writes it. Why3 takes others for outdated.
    skeleton: String,
}

impl Attempts {
    /// The recorded parts of a file; `None` if it has none.
    pub(super) fn new(files: &[Source], session: &str, file: &Source) -> Result<Option<Self>, String> {
        let parts: Vec<Recorded> = modules(&file.text)
            .iter()
            .flat_map(|module| recorded_parts(session, &file.name, module))
            .collect();
        if parts.is_empty() {
            return Ok(None);
        }
        let recorded = recorded_of(files, std::slice::from_ref(&file.name))?;
        write_session(files, &without_attempts(&recorded))?;
        let messages = replay_output(&["--force"])?.1;
        let skeleton = fs::read_to_string(root().join(REPLAYED).join("why3session.xml"))
            .map_err(|error| format!("{REPLAYED}: {error}"))?;
        if !messages.contains("obsolete session") {
            return Err(format!("{messages}\nWhy3 has not written the session of {}", file.path()));
        }
        Ok(Some(Attempts { parts, skeleton }))
    }

    /// Runs a prover on each of these parts of one module, which are given by index, and returns
    /// whether Why3 succeeds and what it prints.
    pub(super) fn run(
        &self,
        module: &str,
        attempts: &[(usize, usize)],
        seconds: u32,
        args: &[&str],
    ) -> Result<(bool, String), String> {
        let chosen: Vec<(String, usize)> =
            attempts.iter().map(|&(part, prover)| (self.parts[part].name(), prover)).collect();
        let session = with_attempts(&self.skeleton, module, &chosen, seconds)?;
        let path = root().join(REPLAYED).join("why3session.xml");
        fs::write(path, session).map_err(|error| format!("{REPLAYED}: {error}"))?;
        replay_output(args)
    }
}

/// A recorded session without its attempts.
fn without_attempts(session: &str) -> String {
    let line = |line: &str| match (line.split_once("<proof "), line.rsplit_once("</proof>")) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}\n"),
        _ => format!("{line}\n"),
    };
    session.lines().filter(|line| !line.starts_with("<prover ")).map(line).collect()
}

/// A session with attempts at these parts of a module, and the provers by index.
fn with_attempts(
    skeleton: &str,
    module: &str,
    attempts: &[(String, usize)],
    seconds: u32,
) -> Result<String, String> {
    let (mut session, mut inside, mut count) = (String::new(), false, 0);
    let theory = format!("<theory name=\"{module}\"");
    for line in skeleton.lines() {
        session.push_str(line);
        session.push('\n');
        if line.starts_with("<why3session ") {
            for (id, prover) in PROVERS.iter().enumerate() {
                let _ = writeln!(
                    session,
                    "<prover id=\"{id}\" name=\"{}\" version=\"any\" timelimit=\"{seconds}\" steplimit=\"0\" \
                     memlimit=\"2000\"/>",
                    prover.name
                );
            }
        }
        inside = inside && !line.contains("</theory>") || line.contains(&theory);
        let goal = line.split_once("<goal name=\"").and_then(|(_, rest)| rest.split('"').next());
        let Some(goal) = goal.filter(|_| inside).map(|goal| goal.replace("&#39;", "'")) else { continue };
        for (_, prover) in attempts.iter().filter(|(part, _)| *part == goal) {
            let _ = writeln!(
                session,
                "<proof prover=\"{prover}\"><result status=\"valid\" time=\"0.01\"/></proof>"
            );
            count += 1;
        }
    }
    match count == attempts.len() {
        true => Ok(session),
        false => Err(format!("{module}: Why3 has {count} of {} parts", attempts.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> String {
        format!(
            "<why3session shape_version=\"6\">\n<prover id=\"0\"/>\n{}<theory name=\"A\" proved=\"true\">\n \
             <goal name=\"f&#39;vc\" proved=\"true\">\n\
             <goal name=\"f&#39;vc.0\" expl=\"x\"><proof prover=\"0\"><result/></proof></goal>\n\
             <goal name=\"f&#39;vc.1\" expl=\"x\"><proof prover=\"2\"><result/></proof></goal>\n\
             </theory>\n<theory name=\"B\">\n</theory>\n</file>\n",
            file_head("a.mlw")
        )
    }

    #[test]
    fn parts_are_read_from_the_record() {
        let part = |number, prover| Recorded { module: "A".into(), goal: "f'vc".into(), number, prover };
        let session = session();
        assert_eq!(recorded_parts(&session, "a.mlw", "A"), [part(0, 0), part(1, 2)]);
        assert_eq!(part(1, 2).name(), "f'vc.1");
        assert!(recorded_parts(&session, "a.mlw", "B").is_empty());
        assert!(recorded_parts(&session, "b.mlw", "A").is_empty());
    }

    #[test]
    fn attempts_are_exchanged() {
        let skeleton = without_attempts(&session());
        assert!(!skeleton.contains("prover"), "{skeleton}");
        assert_eq!(skeleton.matches("<goal").count(), 3);
        let skeleton = skeleton.replace("expl=\"x\"></goal>", "expl=\"x\">\n</goal>");
        let chosen = [("f'vc.1".to_owned(), 1)];
        let session = with_attempts(&skeleton, "A", &chosen, 3).unwrap();
        assert_eq!(session.matches("<proof ").count(), 1);
        assert!(session.contains("f&#39;vc.1\" expl=\"x\">\n<proof prover=\"1\">"), "{session}");
        assert_eq!(session.matches("timelimit=\"3\"").count(), PROVERS.len());
        assert!(with_attempts(&skeleton, "B", &chosen, 3).is_err());
    }
}
