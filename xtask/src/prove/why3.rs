//! Why3 and its provers: the files of the proof, searches, and replays of the recorded session.

use crate::assumptions::{self, without_comments};
use crate::command::{command, root, succeeds};
use crate::install::apt_install;
use std::fmt::Write as _;
use std::{fs, io};

/// Debian packages of Why3 and the provers.
pub(super) const PACKAGES: [&str; 4] = ["why3", "cvc5", "cvc4", "z3"];

/// The folders of the files. Names of files are unique among them.
pub(super) const FOLDERS: [&str; 3] = ["proof", "sonnx/formal", "sonnx/formal/tensor"];

/// Where Why3 looks for modules of other files. The last is this project's part of SONNX's tensor library, which
/// `--tensor-library` replaces.
pub(super) const LIBRARIES: [&str; 2] = ["proof", "sonnx/formal"];

/// The files that use SONNX's tensor library. The second uses the first, of which it finds a copy.
pub(super) const BROADCAST: [&str; 2] = ["broadcast.mlw", "cbroadcast.mlw"];
pub(super) const BROADCAST_COPY: &str = "target/proof/broadcast";

/// The folder of the recorded proof.
pub(super) const SESSION: &str = "proof/session";

/// The folder for Why3's configuration and for replays.
pub(super) const WORK: &str = "target/proof";

/// A prover as in Why3's configuration. Any version is accepted. Why3 itself limits the CPU time, so that limits do
/// not depend on the load of the machine.
pub(super) struct Prover {
    pub(super) name: &'static str,
    pub(super) command: &'static str,
    /// A driver of Why3, or [`CVC5_DRIVER`].
    pub(super) driver: &'static str,
}

pub(super) const PROVERS: [Prover; 3] = [
    Prover { name: "CVC5", command: "cvc5 --lang=smt2 %f", driver: CVC5_DRIVER },
    Prover {
        name: "Z3",
        command: "z3 -smt2 sat.random_seed=42 nlsat.randomize=false smt.random_seed=42 %f",
        driver: "z3_471",
    },
    Prover { name: "CVC4", command: "cvc4 --lang=smt2 %f", driver: "cvc4_17" },
];

/// A driver for CVC5, which Why3 1.5 lacks. The input format is that of CVC4.
pub(super) const CVC5_DRIVER: &str = "cvc5.drv";

/// The provers of a search in order, by index, with the time limit per goal in seconds.
pub(super) const SEARCH: [(usize, u32); 4] = [(0, 5), (0, 15), (2, 10), (1, 10)];

/// The time limit per goal in a replay, in seconds: generous, for slow machines.
pub(super) const REPLAY_LIMIT: u32 = 60;

/// The files of the proof; fails if they contain assumptions.
pub(super) fn checked_sources() -> Result<Vec<Source>, String> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let found = sources(folder).map_err(|error| format!("cannot read {folder}/: {error}"))?;
        files.extend(found);
    }
    for file in &files {
        assumptions::check(&file.path(), &file.text)?;
    }
    Ok(files)
}

/// A file of the proof.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) folder: &'static str,
    pub(super) text: String,
}

impl Source {
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }
}

/// The files in a folder, in order.
pub(super) fn sources(folder: &'static str) -> io::Result<Vec<Source>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join(folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "mlw")
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
        {
            files.push(Source { name: name.to_owned(), folder, text: fs::read_to_string(&path)? });
        }
    }
    files.sort();
    Ok(files)
}

/// Installs Why3 and the provers, and writes the configuration.
pub(super) fn set_up() -> Result<(), String> {
    let missing: Vec<_> =
        PACKAGES.into_iter().filter(|package| !succeeds(command(package, &["--version"]))).collect();
    if !missing.is_empty() && !apt_install(&missing) {
        return Err(format!("missing programs: {}; install them and try again", missing.join(", ")));
    }
    let data = command("why3", &["--print-datadir"])
        .output()
        .map_err(|error| format!("cannot run why3: {error}"))?;
    let data = String::from_utf8_lossy(&data.stdout).trim().to_owned();
    let work = root().join(WORK);
    let driver = format!(
        "prelude \"(set-logic ALL)\"\nimport \"{data}/drivers/cvc4_16.gen\"\n\
         theory BuiltIn\n  meta \"supports_smt_get_info_unknown_reason\" \"\"\nend\n"
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut config = format!(
        "[main]\nmagic = 14\ndatadir = \"{data}\"\nmemlimit = 2000\nrunning_provers_max = {cores}\n\
         timelimit = 5\n"
    );
    for Prover { name, command, driver } in &PROVERS {
        let ours = work.join(driver);
        let driver = if *driver == CVC5_DRIVER { ours.to_string_lossy() } else { (*driver).into() };
        let _ = write!(
            config,
            "\n[prover]\nname = \"{name}\"\nversion = \"any\"\ncommand = \"{command}\"\n\
             driver = \"{driver}\"\neditor = \"\"\nin_place = false\ninteractive = false\n"
        );
    }
    fs::create_dir_all(&work)
        .and_then(|()| fs::write(work.join(CVC5_DRIVER), driver))
        .and_then(|()| fs::write(work.join("why3.conf"), config))
        .map_err(|error| format!("cannot write {WORK}: {error}"))
}

/// Why3 with our configuration, which looks for modules in these folders.
pub(super) fn why3(subcommand: &str, libraries: &[&str], args: &[&str]) -> std::process::Command {
    let config = format!("{WORK}/why3.conf");
    let mut why3 = command("why3", &[subcommand, "--config", &config]);
    why3.args(libraries.iter().flat_map(|library| ["--library", library]));
    why3.args(args);
    why3
}

/// Proves every recorded goal again, or those of the files in `only` if it names any. Fails on a goal without a
/// record and on a record without a goal.
pub(super) fn replay(files: &[Source], only: &[String]) -> Result<(), String> {
    replay_session(files, &recorded_of(files, only)?)
}

/// The recorded proof of the files in `only`, or of all if it names none.
pub(super) fn recorded_of(files: &[Source], only: &[String]) -> Result<String, String> {
    let mut session = recorded()?;
    for file in files.iter().filter(|file| !only.is_empty() && !only.contains(&file.name)) {
        let head = file_head(&file.name);
        let Some((before, rest)) = session.split_once(&head) else { continue };
        let after = rest.split_once(FILE_END).map_or("", |(_, after)| after);
        session = format!("{before}{after}");
    }
    Ok(session)
}

/// The recorded proof.
pub(super) fn recorded() -> Result<String, String> {
    fs::read_to_string(root().join(SESSION).join("why3session.xml"))
        .map_err(|error| format!("{SESSION}: {error}; create it with `cargo xtask prove --from-scratch`"))
}

/// Replays a session, and fails if a goal is not proven.
fn replay_session(files: &[Source], session: &str) -> Result<(), String> {
    write_session(files, session)?;
    eprintln!("\n=== replay of the proof");
    let (success, messages) = replay_output(&[])?;
    let last = messages.rsplit(['\r', '\n']).find(|line| line.contains("replay")).unwrap_or_default().trim();
    // "12/12 (replay OK)"
    let all = last
        .split_once(' ')
        .and_then(|(counts, _)| counts.split_once('/'))
        .is_some_and(|(proven, all)| proven == all && proven != "0");
    if success && all && last.contains("replay OK") {
        eprintln!("{last}");
        Ok(())
    } else {
        Err(format!("{messages}\nnot every goal is proven"))
    }
}

/// The session that is replayed: a copy, because Why3 writes to it.
pub(super) const REPLAYED: &str = "target/proof/session";

/// Writes a session to [`REPLAYED`], and the files beside it.
pub(super) fn write_session(files: &[Source], session: &str) -> Result<(), String> {
    let (work, copy) = (root().join(WORK), root().join(REPLAYED));
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(|error| format!("{WORK}: {error}"))?;
    }
    fs::create_dir_all(&copy)
        .and_then(|()| fs::write(copy.join("why3session.xml"), session))
        .and_then(|()| files.iter().try_for_each(|file| fs::write(work.join(&file.name), &file.text)))
        .map_err(|error| format!("cannot write {WORK}: {error}"))
}

/// Replays the session in [`REPLAYED`] with these options. Returns whether Why3 succeeds, and what it prints.
pub(super) fn replay_output(args: &[&str]) -> Result<(bool, String), String> {
    let output = why3("replay", &LIBRARIES, &[args, &[REPLAYED]].concat())
        .output()
        .map_err(|error| format!("cannot run why3: {error}"))?;
    let messages =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), messages))
}

/// The start of the record of a file.
pub(super) fn file_head(name: &str) -> String {
    format!("<file format=\"whyml\" proved=\"true\">\n<path name=\"..\"/><path name=\"{name}\"/>\n")
}

/// The end of the record of a file.
pub(super) const FILE_END: &str = "</file>\n";

/// A part of a goal.
pub(super) struct Part {
    /// Why3's description of it.
    pub(super) explanation: String,
    /// The prover that proves it, by index, and the time in seconds.
    pub(super) proof: Option<(usize, f64)>,
}

/// The name of a goal and its parts, in Why3's order.
type Goal = (String, Vec<Part>);

/// Searches for a proof of every goal and returns the text of the session. If `only` names files, the records
/// of the others are copied from `known`.
pub(super) fn search(
    files: &[Source],
    only: &[String],
    known: &str,
    libraries: &[&str],
) -> Result<String, String> {
    let mut session = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE why3session PUBLIC \"-//Why3//proof session v5//EN\"\n\
         \"http://why3.lri.fr/why3session.dtd\">\n<why3session shape_version=\"6\">\n",
    );
    for (id, prover) in PROVERS.iter().enumerate() {
        let _ = writeln!(
            session,
            "<prover id=\"{id}\" name=\"{}\" version=\"any\" timelimit=\"{REPLAY_LIMIT}\" \
             steplimit=\"0\" memlimit=\"2000\"/>",
            prover.name
        );
    }
    let mut unproven = Vec::new();
    for file in files {
        let name = &file.name;
        let head = file_head(name);
        let kept = known.split_once(&head).and_then(|(_, rest)| rest.split_once(FILE_END));
        session.push_str(&head);
        if let Some((kept, _)) = kept.filter(|_| !only.is_empty() && !only.contains(name)) {
            session.push_str(kept);
            session.push_str(FILE_END);
            continue;
        }
        for module in modules(&file.text) {
            let goals = search_module(&file.path(), &module, libraries)?;
            if goals.is_empty() {
                continue;
            }
            let _ = writeln!(session, "<theory name=\"{module}\" proved=\"true\">");
            for (goal, parts) in goals {
                let goal = goal.replace('\'', "&#39;");
                let _ = writeln!(
                    session,
                    " <goal name=\"{goal}\" proved=\"true\">\n <transf name=\"split_vc\" proved=\"true\">"
                );
                for (number, Part { explanation, proof }) in parts.iter().enumerate() {
                    let Some((prover, seconds)) = proof else {
                        unproven.push(format!("{name}, {module}: {goal}, part {number}: {explanation}"));
                        continue;
                    };
                    let explanation = explanation.replace('\'', "&#39;");
                    let _ = writeln!(
                        session,
                        "  <goal name=\"{goal}.{number}\" expl=\"{explanation}\" proved=\"true\"><proof \
                         prover=\"{prover}\"><result status=\"valid\" time=\"{seconds:.2}\"/></proof></goal>"
                    );
                }
                session.push_str(" </transf>\n </goal>\n");
            }
            session.push_str("</theory>\n");
        }
        session.push_str(FILE_END);
    }
    session.push_str("</why3session>\n");
    if unproven.is_empty() {
        Ok(session)
    } else {
        Err(format!("\nno prover proves\n  {}", unproven.join("\n  ")))
    }
}

/// The modules of a file, in order.
pub(super) fn modules(text: &str) -> Vec<String> {
    let text = without_comments(text);
    let names = text.lines().filter_map(|line| line.strip_prefix("module "));
    names.map(|name| name.trim().to_owned()).collect()
}

/// The goals of a module. Tries one prover after another on those not proven yet.
pub(super) fn search_module(path: &str, module: &str, libraries: &[&str]) -> Result<Vec<Goal>, String> {
    eprintln!("\n=== {path}, {module}");
    let mut goals: Vec<Goal> = Vec::new();
    for (round, (prover, seconds)) in SEARCH.into_iter().enumerate() {
        let open: Vec<String> = goals
            .iter()
            .filter(|(_, parts)| parts.iter().any(|part| part.proof.is_none()))
            .map(|(goal, _)| goal.clone())
            .collect();
        if round > 0 && open.is_empty() {
            break;
        }
        let found = attempt(path, module, libraries, (prover, seconds), &open)?;
        if round == 0 {
            goals = found;
        } else {
            for (goal, again) in found {
                let known = goals.iter_mut().filter(|(name, _)| *name == goal).flat_map(|(_, parts)| parts);
                for (part, other) in known.zip(again) {
                    part.proof = part.proof.or(other.proof);
                }
            }
        }
        let parts = || goals.iter().flat_map(|(_, parts)| parts);
        let proven = parts().filter(|part| part.proof.is_some()).count();
        eprintln!("{}, {seconds} s: {proven} of {}", PROVERS[prover].name, parts().count());
    }
    Ok(goals)
}

/// Runs one prover on these goals, or on all if none is named.
pub(super) fn attempt(
    path: &str,
    module: &str,
    libraries: &[&str],
    (prover, seconds): (usize, u32),
    goals: &[String],
) -> Result<Vec<Goal>, String> {
    let limit = seconds.to_string();
    let args = ["-P", PROVERS[prover].name, "-a", "split_vc", "-t", &limit, path, "-T", module];
    let mut prove = why3("prove", libraries, &args);
    for goal in goals {
        prove.args(["-G", goal]);
    }
    // Why3 fails if a goal is not proven, too. After an error in the text there are no results.
    let output = prove.output().map_err(|error| format!("cannot run why3: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !messages.trim().is_empty() {
        if output.stdout.is_empty() {
            return Err(messages.into_owned());
        }
        eprintln!("{}", messages.trim());
    }
    let mut found: Vec<Goal> = Vec::new();
    let mut explanation = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let goal = if let Some(part) = line.strip_prefix("Sub-goal ") {
            part.split_once(" of goal ")
        } else {
            line.strip_prefix("Goal ").map(|goal| ("", goal))
        };
        if let Some((title, goal)) = goal {
            let goal = goal.trim_end_matches('.');
            title.clone_into(&mut explanation);
            if found.last().is_none_or(|(name, _)| name != goal) {
                found.push((goal.to_owned(), Vec::new()));
            }
        } else if let Some(result) = line.strip_prefix("Prover result is: ")
            && let Some((_, parts)) = found.last_mut()
        {
            // "Valid (0.03s)."
            let proof = result.strip_prefix("Valid").map(|rest| {
                let time = rest.trim_matches([' ', '(', ')', '.']).split('s').next().unwrap_or_default();
                (prover, time.parse().unwrap_or_default())
            });
            parts.push(Part { explanation: explanation.clone(), proof });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::modules;

    #[test]
    fn modules_are_found() {
        assert_eq!(modules("(* module A *)\nmodule B\nend\nmodule C\nend\n"), ["B", "C"]);
    }
}
