//! `cargo xtask prove`: checks the formal proof in `proof/` and `sonnx/formal/`.
//!
//! Why3 generates goals from definitions and lemmas, and SMT solvers prove them. `proof/session` records
//! which prover proves which goal, which makes a replay quick; `--from-scratch` creates it again.

mod attempts;
mod mutants;
mod second;
mod smoke;
mod why3;

use crate::command::root;
use std::fs;
use std::time::Instant;
use why3::{BROADCAST, BROADCAST_COPY, LIBRARIES, SESSION, Source, checked_sources, replay, search, set_up};

/// Arguments of `cargo xtask prove`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Search for proofs again and rewrite the session.
    #[arg(long, group = "mode")]
    from_scratch: bool,
    /// Search and replay only in these files; with `--smoke` or `--second`, check only them.
    #[arg(requires = "mode")]
    files: Vec<String>,
    /// Try to prove the negation of every goal with Why3's smoke detector: no context may be contradictory.
    #[arg(long, group = "mode")]
    smoke: bool,
    /// Try a second prover on every goal, and report how many have one. Writes nothing.
    #[arg(long, group = "mode")]
    second: bool,
    /// Apply the changes in proof/mutants.txt, one after another: each has to break a proof. Writes nothing.
    #[arg(long, conflicts_with_all = ["mode", "files"])]
    mutants: bool,
    /// Search for proofs of Broadcast on the tensors of this copy of SONNX's library: the folder that contains
    /// its folder `tensor`. Writes nothing.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["mode", "mutants"])]
    tensor_library: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let files = checked_sources()?;
    set_up()?;
    if let Some(library) = &options.tensor_library {
        let only: Vec<Source> =
            files.into_iter().filter(|file| BROADCAST.contains(&file.name.as_str())).collect();
        let copy = root().join(BROADCAST_COPY);
        fs::create_dir_all(&copy)
            .and_then(|()| only.iter().try_for_each(|file| fs::write(copy.join(&file.name), &file.text)))
            .map_err(|error| format!("cannot write {BROADCAST_COPY}: {error}"))?;
        search(&only, &[], "", &[LIBRARIES[0], library, BROADCAST_COPY])?;
        eprintln!("\nAll goals are proven with that library, in {} s.", start.elapsed().as_secs());
        return Ok(());
    }
    if options.mutants {
        return mutants::run(&files);
    }
    if options.second {
        return second::run(&files, &options.files);
    }
    if options.smoke {
        return smoke::run(&files, &options.files);
    }
    if options.from_scratch {
        let folder = root().join(SESSION);
        let known = fs::read_to_string(folder.join("why3session.xml")).unwrap_or_default();
        let session = search(&files, &options.files, &known, &LIBRARIES)?;
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("why3session.xml"), session))
            .map_err(|error| format!("cannot write the session: {error}"))?;
    }
    replay(&files, &options.files)?;
    let of =
        if options.files.is_empty() { String::new() } else { format!(" of {}", options.files.join(", ")) };
    eprintln!("\nAll goals{of} are proven, in {} s.", start.elapsed().as_secs());
    Ok(())
}

/// The part of `cargo xtask test`: the replay. Without Why3, returns what was skipped; in CI that is an
/// error.
pub(crate) fn replay_if_possible() -> Result<Option<&'static str>, String> {
    let files = checked_sources()?;
    match set_up() {
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("{error}");
            return Ok(Some("the proof"));
        }
        set_up => set_up?,
    }
    replay(&files, &[])?;
    Ok(None)
}
